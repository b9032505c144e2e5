#include "api/host/v2/v2_path.h"

#include <string.h>

#include "base/percent.h"

static bool take(sp_bytes *rest, const char *word)
{
	if (!sp_bytes_starts_with(*rest, word))
		return false;
	*rest = (sp_bytes){rest->data + strlen(word), rest->size - strlen(word)};
	return true;
}

/* Decodes everything up to the next slash; false if it is empty or too long. */
static bool take_name(sp_bytes *rest, char *out, size_t room)
{
	const char *slash = memchr(rest->data, '/', rest->size);
	size_t size = slash != NULL ? (size_t)(slash - rest->data) : rest->size;

	if (size == 0 || !sp_percent_decode(out, room, (sp_bytes){rest->data, size}))
		return false;
	*rest = (sp_bytes){rest->data + size, rest->size - size};
	return true;
}

static bool take_version(sp_bytes *rest, int64_t *out)
{
	size_t n = 0;

	*out = 0;
	for (; n < rest->size && rest->data[n] >= '0' && rest->data[n] <= '9'; n++)
		if (__builtin_mul_overflow(*out, 10, out) ||
		    __builtin_add_overflow(*out, rest->data[n] - '0', out))
			return false;
	*rest = (sp_bytes){rest->data + n, rest->size - n};
	return n != 0;
}

typedef struct ending {
	const char *word;
	sp_v2_verb verb;
} ending;

static sp_v2_verb find(const ending *endings, size_t count, sp_bytes rest)
{
	for (size_t i = 0; i < count; i++)
		if (sp_bytes_equal_text(rest, endings[i].word))
			return endings[i].verb;
	return SP_V2_NONE;
}

static sp_v2_verb parse_model(sp_v2_path *out, sp_bytes rest)
{
	static const ending endings[] = {
		{"", SP_V2_MODEL},
		{"/ready", SP_V2_MODEL_READY},
		{"/config", SP_V2_MODEL_CONFIG},
		{"/stats", SP_V2_MODEL_STATS},
		{"/infer", SP_V2_INFER},
	};

	if (!take_name(&rest, out->name, sizeof(out->name)))
		return SP_V2_NONE;
	if (take(&rest, "/versions/")) {
		out->has_version = true;
		if (!take_version(&rest, &out->version))
			return SP_V2_NONE;
	}
	return find(endings, sizeof(endings) / sizeof(endings[0]), rest);
}

static sp_v2_verb parse_repository(sp_v2_path *out, sp_bytes rest)
{
	static const ending endings[] = {{"/load", SP_V2_LOAD}, {"/unload", SP_V2_UNLOAD}};

	if (sp_bytes_equal_text(rest, "index"))
		return SP_V2_INDEX;
	if (!take(&rest, "models/") || !take_name(&rest, out->name, sizeof(out->name)))
		return SP_V2_NONE;
	return find(endings, sizeof(endings) / sizeof(endings[0]), rest);
}

bool sp_v2_path_is(sp_bytes path)
{
	return take(&path, "/v2") && (path.size == 0 || *path.data == '/');
}

void sp_v2_path_parse(sp_v2_path *out, sp_bytes path)
{
	static const ending endings[] = {
		{"", SP_V2_SERVER},
		{"/", SP_V2_SERVER},
		{"/health/live", SP_V2_LIVE},
		{"/health/ready", SP_V2_READY},
		{"/models/stats", SP_V2_ALL_STATS},
	};
	sp_bytes rest = path;

	memset(out, 0, sizeof(*out));
	if (!take(&rest, "/v2"))
		return;
	out->verb = find(endings, sizeof(endings) / sizeof(endings[0]), rest);
	if (out->verb == SP_V2_NONE && take(&rest, "/models/"))
		out->verb = parse_model(out, rest);
	else if (out->verb == SP_V2_NONE && take(&rest, "/repository/"))
		out->verb = parse_repository(out, rest);
}
