#include "api/host/routes/model_path.h"

#include <string.h>
#include <strings.h>

#include "base/percent.h"

static bool take_word(sp_bytes *rest, const char *word)
{
	size_t size = strlen(word);

	if (rest->size < size || strncasecmp(rest->data, word, size) != 0)
		return false;
	*rest = (sp_bytes){rest->data + size, rest->size - size};
	return true;
}

/* Everything up to the next "/" or ":". */
static bool take_name(sp_bytes *rest, char *out, size_t room)
{
	size_t n = 0;

	while (n < rest->size && rest->data[n] != '/' && rest->data[n] != ':')
		n++;
	if (n == 0 || !sp_percent_decode(out, room, (sp_bytes){rest->data, n}))
		return false;
	*rest = (sp_bytes){rest->data + n, rest->size - n};
	return true;
}

/* Reads digits; false if there are none.  *fits is false if they exceed int64. */
static bool take_version(sp_bytes *rest, int64_t *out, bool *fits)
{
	size_t n = 0;

	*out = 0;
	*fits = true;
	while (n < rest->size && rest->data[n] >= '0' && rest->data[n] <= '9') {
		if (__builtin_mul_overflow(*out, 10, out) ||
		    __builtin_add_overflow(*out, rest->data[n] - '0', out))
			*fits = false;
		n++;
	}
	*rest = (sp_bytes){rest->data + n, rest->size - n};
	return n != 0;
}

/* What may stand between the name of the model and the ending. */
typedef enum selection { ANY, NOTHING, STEPS } selection;

static const struct {
	const char *word;
	sp_model_verb verb;
	bool post;
	selection selection;
} endings[] = {
	{"", SP_MODEL_STATUS, false, ANY},
	{"/metadata", SP_MODEL_METADATA, false, ANY},
	{":predict", SP_MODEL_PREDICT, true, ANY},
	{":classify", SP_MODEL_CLASSIFY, true, ANY},
	{":regress", SP_MODEL_REGRESS, true, ANY},
	{"/versions", SP_MODEL_VERSIONS, false, NOTHING},
	{":reload", SP_MODEL_RELOAD, true, NOTHING},
	{":rollback", SP_MODEL_ROLLBACK, true, NOTHING},
	{":unpin", SP_MODEL_UNPIN, true, NOTHING},
	{":pin", SP_MODEL_PIN, true, STEPS},
};

static bool is_selected(const sp_model_path *path, selection may)
{
	switch (may) {
	case ANY:
		return !path->has_delta;
	case NOTHING:
		return !path->has_version && !path->has_label;
	case STEPS:
		return path->has_version;
	}
	return false;
}

static bool take_ending(sp_model_path *out, sp_bytes rest, bool post)
{
	for (size_t i = 0; i < sizeof(endings) / sizeof(endings[0]); i++) {
		sp_bytes left = rest;

		if (endings[i].post == post && take_word(&left, endings[i].word) &&
		    left.size == 0 && is_selected(out, endings[i].selection)) {
			out->verb = endings[i].verb;
			return true;
		}
	}
	return false;
}

/* False if the path matches no route; *fits as in take_version(). */
static bool read_path(sp_model_path *out, sp_bytes rest, bool post, bool *fits)
{
	*fits = true;
	if (!take_word(&rest, "/v1/models/") || !take_name(&rest, out->name, sizeof(out->name)))
		return false;
	if (take_word(&rest, "/versions/")) {
		out->has_version = true;
		if (!take_version(&rest, &out->version, fits))
			return false;
		if (*fits && take_word(&rest, "/deltas/")) {
			out->has_delta = true;
			if (!take_version(&rest, &out->delta, fits))
				return false;
		}
	} else if (take_word(&rest, "/labels/")) {
		out->has_label = true;
		if (!take_name(&rest, out->label, sizeof(out->label)))
			return false;
	}
	return take_ending(out, rest, post);
}

sp_status sp_model_path_parse(sp_model_path *out, const sp_http_head *head, sp_error *err)
{
	sp_bytes path = head->path, rest = head->path;
	bool post = head->method == SP_HTTP_POST;
	bool get = head->method == SP_HTTP_GET || head->method == SP_HTTP_HEAD;
	int shown = path.size < 200 ? (int)path.size : 200;
	bool fits;

	memset(out, 0, sizeof(*out));
	if (!take_word(&rest, "/v1/"))
		return sp_error_set(err, SP_NOT_FOUND, "Not found: %.*s", shown, path.data);
	if (get && take_word(&rest, "models") && rest.size == 0)
		return sp_error_set(err, SP_INVALID, "Missing model name in request.");
	if ((!get && !post) || !read_path(out, path, post, &fits))
		return sp_error_set(err, SP_INVALID,
				    "Malformed request: %.*s %.*s (expected GET "
				    "/v1/models/NAME[/versions/N|/labels/L][/metadata] or POST "
				    "/v1/models/NAME[/versions/N|/labels/L]:predict)",
				    head->method_name.size < 20 ? (int)head->method_name.size : 20,
				    head->method_name.data, shown, path.data);
	if (!fits)
		return sp_error_set(err, SP_INVALID, "Failed to convert version: %.*s", shown,
				    path.data);
	return SP_OK;
}
