#include <string.h>

#include "engine/ops/string/text.h"
#include "engine/ops/string/unicode.h"
#include "engine/ops/string/unicode_case.h"

/*
 * StringLower, StringUpper: of ASCII letters, or with encoding "utf-8" of all characters that have
 * case.
 *
 * As in TensorFlow, a UTF-8 string ends at its first U+0000, malformed bytes become U+FFFD, and a
 * sigma at the end of a word has its own lower case.
 */
typedef struct case_state {
	bool unicode;
} case_state;

static sp_status prepare_case(sp_prepare *prepare, sp_error *err)
{
	case_state *state = sp_prepare_state(prepare, sizeof(*state));
	sp_bytes encoding;

	SP_NEED_MEMORY(state, err, "an operator");
	SP_TRY(sp_node_attr_bytes(prepare->node, "encoding", "", &encoding, err));
	state->unicode = sp_bytes_equal_text(encoding, "utf-8");
	if (encoding.size > 0 && !state->unicode)
		return sp_error_set(err, SP_INVALID, "encoding must be empty or utf-8, not %.*s",
				    (int)encoding.size, encoding.data);
	return sp_prepare_types(prepare, "string -> string", err);
}

/* ------------------------------------------------------------------ ASCII */

/* Toggles bit 0x20 of the bytes from `first` to `first` + 25; other bytes stay. */
static bool map_letters(sp_text_pool *pool, sp_bytes text, char first, sp_bytes *out)
{
	char *to = sp_text_pool_take(pool, text.size);

	if (to == NULL)
		return false;
	for (size_t k = 0; k < text.size; k++) {
		char c = text.data[k];

		to[k] = (char)((unsigned char)(c - first) < 26 ? c ^ 0x20 : c);
	}
	*out = (sp_bytes){to, text.size};
	return true;
}

/* ---------------------------------------------------------------- Unicode */

typedef size_t map_fn(int32_t character, int32_t out[SP_UNICODE_MOST_CASED]);

/* Whether the next character that is not case-ignorable is a letter. */
static bool word_continues(sp_unicode_reader rest)
{
	sp_unicode_case_class class = SP_UNICODE_IGNORED;
	int32_t character;
	bool is_error;

	while (class == SP_UNICODE_IGNORED && sp_unicode__next(&rest, &character, &is_error))
		class = sp_unicode__case_class(character);
	return class == SP_UNICODE_CASED;
}

/* Writes the mapped text to `out` unless that is NULL; returns its size. */
static size_t map_text(sp_bytes text, map_fn *map, char *out)
{
	bool is_error, in_word = false; /* whether the last character that is not case-ignorable is
					   a letter */
	sp_unicode_reader reader;
	int32_t character, to[SP_UNICODE_MOST_CASED];
	size_t size = 0;

	sp_unicode__open(&reader, text);
	while (sp_unicode__next(&reader, &character, &is_error)) {
		sp_unicode_case_class class = sp_unicode__case_class(character);
		size_t count = map(character, to);

		if (character == SP_UNICODE_SIGMA && map == sp_unicode__lower && in_word &&
		    !word_continues(reader))
			to[0] = SP_UNICODE_FINAL_SIGMA;
		for (size_t i = 0; i < count; i++)
			size += sp_unicode__put(to[i], out != NULL ? out + size : NULL);
		if (class != SP_UNICODE_IGNORED)
			in_word = class == SP_UNICODE_CASED;
	}
	return size;
}

static bool map_characters(sp_text_pool *pool, sp_bytes text, map_fn *map, sp_bytes *out)
{
	const char *zero = text.size != 0 ? memchr(text.data, 0, text.size) : NULL;
	size_t size;
	char *to;

	if (zero != NULL)
		text.size = (size_t)(zero - text.data);
	size = map_text(text, map, NULL);
	to = sp_text_pool_take(pool, size);
	if (to == NULL)
		return false;
	(void)map_text(text, map, to);
	*out = (sp_bytes){to, size};
	return true;
}

/* --------------------------------------------------------------- operators */

static sp_status map_all(const sp_call *call, char first, map_fn *map)
{
	const case_state *state = call->state;
	const sp_bytes *text = sp_tensor_strings(call->in[0]);
	sp_text_pool pool = {.call = call};

	SP_TRY(sp_call_output(call, 0, SP_STRING, &call->in[0]->shape));
	for (size_t i = 0; i < call->in[0]->count; i++) {
		sp_bytes *y = &sp_tensor_strings(call->out[0])[i];

		if (!(state->unicode ? map_characters(&pool, text[i], map, y)
				     : map_letters(&pool, text[i], first, y)))
			return sp_call_no_memory(call);
	}
	return SP_OK;
}

static sp_status run_lower(const sp_call *call)
{
	return map_all(call, 'A', sp_unicode__lower);
}

static sp_status run_upper(const sp_call *call)
{
	return map_all(call, 'a', sp_unicode__upper);
}

SP_DEFINE_OP(StringLower, "output", 0, prepare_case, run_lower);
SP_DEFINE_OP(StringUpper, "output", 0, prepare_case, run_upper);
