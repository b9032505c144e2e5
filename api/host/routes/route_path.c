#include "api/host/routes/route_path.h"

#include <string.h>

#include "base/percent.h"
#include "base/words.h"

static bool take(sp_bytes *rest, const char *word)
{
	if (!sp_bytes_starts_with(*rest, word))
		return false;
	*rest = (sp_bytes){rest->data + strlen(word), rest->size - strlen(word)};
	return true;
}

static bool is_one_of(char c, const char *ends)
{
	while (*ends != '\0' && *ends != c)
		ends++;
	return *ends != '\0';
}

/* Decodes everything up to the next of `ends`; false if it is empty or too long. */
static bool take_name(sp_bytes *rest, const char *ends, char *out, size_t room)
{
	size_t n = 0;

	while (n < rest->size && !is_one_of(rest->data[n], ends))
		n++;
	if (n == 0 || !sp_percent_decode(out, room, (sp_bytes){rest->data, n}))
		return false;
	*rest = (sp_bytes){rest->data + n, rest->size - n};
	return true;
}

/* Reads a decimal number; false if no digit comes.  *fits is false if the number exceeds int64. */
static bool take_version(sp_bytes *rest, int64_t *out, bool *fits)
{
	size_t n = 0;

	*out = 0;
	*fits = true;
	for (; n < rest->size && rest->data[n] >= '0' && rest->data[n] <= '9'; n++)
		if (__builtin_mul_overflow(*out, 10, out) ||
		    __builtin_add_overflow(*out, rest->data[n] - '0', out))
			*fits = false;
	*rest = (sp_bytes){rest->data + n, rest->size - n};
	return n != 0;
}

/* --------------------------------------------------------- TensorFlow Serving */

/* What may stand between the name of the model and the ending. */
typedef enum selection {
	ANY, /* a version, or a label */
	NOTHING,
	STEPS,       /* of a version, and perhaps of a delta */
	VERSION,     /* or nothing */
	LABEL,       /* of no version in particular */
	LABEL_OF_ANY /* the same, or of a version */
} selection;

static const struct {
	const char *word;
	sp_route_verb verb;
	bool post;
	selection selection;
} endings[] = {
	{"", SP_MODEL_STATUS, false, ANY},
	{"/metadata", SP_MODEL_METADATA, false, ANY},
	{":predict", SP_MODEL_PREDICT, true, ANY},
	{":classify", SP_MODEL_CLASSIFY, true, ANY},
	{":regress", SP_MODEL_REGRESS, true, ANY},
	{"/versions", SP_MODEL_VERSIONS, false, NOTHING},
	{":profile", SP_MODEL_PROFILE, false, NOTHING},
	{":reload", SP_MODEL_RELOAD, true, NOTHING},
	{":rollback", SP_MODEL_ROLLBACK, true, NOTHING},
	{":unpin", SP_MODEL_UNPIN, true, NOTHING},
	{":pin", SP_MODEL_PIN, true, STEPS},
	{":load", SP_MODEL_LOAD, true, VERSION},
	{":unload", SP_MODEL_UNLOAD, true, VERSION},
	{":assign", SP_MODEL_ASSIGN, true, LABEL_OF_ANY},
	{":remove", SP_MODEL_REMOVE, true, LABEL},
};

static bool is_selected(const sp_route_path *path, selection may)
{
	switch (may) {
	case ANY:
		return !path->has_delta && !(path->has_version && path->has_label);
	case NOTHING:
		return !path->has_version && !path->has_label;
	case STEPS:
		return path->has_version && !path->has_label;
	case VERSION:
		return !path->has_delta && !path->has_label;
	case LABEL:
		return path->has_label && !path->has_version;
	case LABEL_OF_ANY:
		return path->has_label && !path->has_delta;
	}
	return false;
}

static bool take_ending(sp_route_path *out, sp_bytes rest, bool post)
{
	for (size_t i = 0; i < sizeof(endings) / sizeof(endings[0]); i++) {
		sp_bytes left = rest;

		if (endings[i].post == post && sp_words_take(&left, endings[i].word) &&
		    left.size == 0 && is_selected(out, endings[i].selection)) {
			out->verb = endings[i].verb;
			return true;
		}
	}
	return false;
}

/* False if the path matches no route; *fits as in take_version(). */
static bool read_model(sp_route_path *out, sp_bytes rest, bool post, bool *fits)
{
	*fits = true;
	if (!sp_words_take(&rest, "/v1/models/") ||
	    !take_name(&rest, "/:", out->name, sizeof(out->name)))
		return false;
	if (sp_words_take(&rest, "/versions/")) {
		out->has_version = true;
		if (!take_version(&rest, &out->version, fits))
			return false;
		if (*fits && sp_words_take(&rest, "/deltas/")) {
			out->has_delta = true;
			if (!take_version(&rest, &out->delta, fits))
				return false;
		}
	}
	if (sp_words_take(&rest, "/labels/")) {
		out->has_label = true;
		if (!take_name(&rest, "/:", out->label, sizeof(out->label)))
			return false;
	}
	return take_ending(out, rest, post);
}

static sp_status not_found(sp_bytes path, sp_error *err)
{
	return sp_error_set(err, SP_NOT_FOUND, "Not found: %.*s", sp_bytes_shown(path, 200),
			    path.data);
}

static sp_status parse_v1(sp_route_path *out, const sp_http_head *head, sp_error *err)
{
	sp_bytes path = head->path, rest = head->path;
	bool post = head->method == SP_HTTP_POST;
	bool get = head->method == SP_HTTP_GET || head->method == SP_HTTP_HEAD;
	int shown = sp_bytes_shown(path, 200);
	bool fits;

	if (!sp_words_take(&rest, "/v1/"))
		return not_found(path, err);
	if (get && sp_words_take(&rest, "models") && rest.size == 0)
		return sp_error_set(err, SP_INVALID, "Missing model name in request.");
	if ((!get && !post) || !read_model(out, path, post, &fits))
		return sp_error_set(err, SP_INVALID,
				    "Malformed request: %.*s %.*s (expected GET "
				    "/v1/models/NAME[/versions/N|/labels/L][/metadata] or POST "
				    "/v1/models/NAME[/versions/N|/labels/L]:predict)",
				    sp_bytes_shown(head->method_name, 20), head->method_name.data,
				    shown, path.data);
	if (!fits)
		return sp_error_set(err, SP_INVALID, "Failed to convert version: %.*s", shown,
				    path.data);
	return SP_OK;
}

/* ------------------------------------------------------------------------- V2 */

typedef struct ending {
	const char *word;
	sp_route_verb verb;
} ending;

static const ending server_endings[] = {
	{"", SP_V2_SERVER},
	{"/", SP_V2_SERVER},
	{"/health/live", SP_V2_LIVE},
	{"/health/ready", SP_V2_READY},
	{"/models/stats", SP_V2_ALL_STATS},
	{"/repository/index", SP_V2_INDEX},
	{NULL, 0},
};
static const ending model_endings[] = {
	{"", SP_V2_MODEL},
	{"/ready", SP_V2_MODEL_READY},
	{"/config", SP_V2_MODEL_CONFIG},
	{"/stats", SP_V2_MODEL_STATS},
	{"/infer", SP_V2_INFER},
	{NULL, 0},
};
static const ending repository_endings[] = {
	{"/load", SP_V2_LOAD}, {"/unload", SP_V2_UNLOAD}, {NULL, 0}};

static bool find(sp_route_verb *out, const ending *list, sp_bytes rest)
{
	while (list->word != NULL && !sp_bytes_equal_text(rest, list->word))
		list++;
	*out = list->verb;
	return list->word != NULL;
}

static sp_status take_v2_version(sp_route_path *out, sp_bytes *rest, sp_bytes path, sp_error *err)
{
	const char *slash = memchr(rest->data, '/', rest->size);
	sp_bytes text = {rest->data, slash != NULL ? (size_t)(slash - rest->data) : rest->size};
	sp_bytes left = text;
	bool fits;

	if (text.size == 0)
		return not_found(path, err);
	*rest = (sp_bytes){text.data + text.size, rest->size - text.size};
	out->has_version = true;
	if (take_version(&left, &out->version, &fits) && left.size == 0 && fits)
		return SP_OK;
	return sp_error_set(err, SP_INVALID,
			    "failed to get model version from specified version string '%.*s'",
			    sp_bytes_shown(text, 64), text.data);
}

/* `rest` is what follows "/v2" in the path. */
static sp_status parse_v2(sp_route_path *out, sp_bytes path, sp_bytes rest, sp_error *err)
{
	const ending *list = model_endings;

	if (find(&out->verb, server_endings, rest))
		return SP_OK;
	if (take(&rest, "/repository"))
		list = repository_endings;
	if (!take(&rest, "/models/") || !take_name(&rest, "/", out->name, sizeof(out->name)))
		return not_found(path, err);
	if (list == model_endings && take(&rest, "/versions/"))
		SP_TRY(take_v2_version(out, &rest, path, err));
	return find(&out->verb, list, rest) ? SP_OK : not_found(path, err);
}

/* ------------------------------------------------------------------------ EAS */

static sp_status parse_eas(sp_route_path *out, sp_bytes path, sp_error *err)
{
	sp_bytes rest = path;

	out->verb = SP_EAS_PREDICT;
	if (!take(&rest, SP_ROUTE_EAS) || !take_name(&rest, "/", out->name, sizeof(out->name)) ||
	    (rest.size != 0 && !sp_bytes_equal_text(rest, "/")))
		return not_found(path, err);
	return SP_OK;
}

sp_status sp_route_path_parse(sp_route_path *out, const sp_http_head *head, sp_error *err)
{
	sp_bytes rest = head->path;

	/* The rest of name and label is not cleared: paths are parsed twice a request. */
	out->name[0] = out->label[0] = '\0';
	out->has_version = out->has_delta = out->has_label = false;
	out->version = out->delta = 0;
	out->verb = SP_MODEL_STATUS;
	if (take(&rest, "/v2") && (rest.size == 0 || *rest.data == '/'))
		return parse_v2(out, head->path, rest, err);
	if (sp_bytes_starts_with(head->path, SP_ROUTE_EAS))
		return parse_eas(out, head->path, err);
	return parse_v1(out, head, err);
}
