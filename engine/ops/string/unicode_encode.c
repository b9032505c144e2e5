#include "engine/ops/array/array.h"
#include "engine/ops/string/text.h"
#include "engine/ops/string/unicode.h"

/*
 * UnicodeEncode: rows of characters (input_values, input_splits) to texts.
 * UnicodeTranscode: texts from one encoding to another.
 */
typedef struct encode_state {
	sp_encoding from;
	sp_encoding to;
	sp_unicode_policy policy;
} encode_state;

static sp_status read_output(sp_prepare *prepare, encode_state **out, sp_error *err)
{
	encode_state *state = sp_prepare_state(prepare, sizeof(*state));

	*out = state;
	if (state == NULL)
		return sp_error_set(err, SP_NO_MEMORY, "no memory for an operator");
	SP_TRY(sp_unicode__read_policy(prepare, &state->policy, err));
	return sp_unicode__read_output(prepare, &state->to, err);
}

static sp_status prepare_encode(sp_prepare *prepare, sp_error *err)
{
	encode_state *state;

	SP_TRY(read_output(prepare, &state, err));
	SP_TRY(sp_prepare_inputs(prepare, 2, err));
	SP_TRY(sp_prepare_input_dtype(prepare, 0, SP_INT32, err));
	SP_TRY(sp_prepare_input_index(prepare, 1, err));
	return sp_prepare_outputs(prepare, 1, SP_STRING, err);
}

static sp_status prepare_transcode(sp_prepare *prepare, sp_error *err)
{
	encode_state *state;

	SP_TRY(read_output(prepare, &state, err));
	SP_TRY(sp_unicode__read_input(prepare, &state->from, err));
	return sp_text_prepare_unary(prepare, SP_STRING, err);
}

/*
 * What the policy makes of a value; *keep is false where it is left out.  When
 * errors are ignored, noncharacters stay what they are, and UTF-8, which has no
 * surrogates, has U+FFFD for them.
 */
static sp_status judge(const sp_call *call, int32_t *character, bool *keep)
{
	const encode_state *state = call->state;

	*keep = true;
	if (sp_unicode__is_character(*character))
		return SP_OK;
	switch (state->policy.errors) {
	case SP_UNICODE_STRICT:
		return sp_call_invalid(call, "%d is out of the range of Unicode, or no character",
				       *character);
	case SP_UNICODE_REPLACE:
		*character = state->policy.replacement;
		break;
	case SP_UNICODE_IGNORE:
		*keep = *character >= 0 && *character <= 0x10ffff;
		if (state->to == SP_ENCODING_UTF8 && *character >= 0xd800 && *character <= 0xdfff)
			*character = 0xfffd;
		break;
	}
	return SP_OK;
}

/* One row: its size first, then its bytes. */
static sp_status encode_row(const sp_call *call, sp_text_pool *pool, const int32_t *values,
			    size_t count, sp_bytes *out)
{
	const encode_state *state = call->state;
	size_t size = 0;
	char *text = NULL;

	for (int round = 0; round < 2; round++) {
		size = 0;
		for (size_t i = 0; i < count; i++) {
			int32_t character = values[i];
			bool keep;

			SP_TRY(judge(call, &character, &keep));
			if (keep)
				size += sp_unicode__put(state->to, character,
							text != NULL ? text + size : NULL);
		}
		if (text == NULL && (text = sp_text_pool_take(pool, size)) == NULL)
			return sp_call_no_memory(call);
	}
	*out = (sp_bytes){text, size};
	return SP_OK;
}

static sp_status run_encode(const sp_call *call)
{
	const sp_tensor *values = call->in[0], *splits = call->in[1];
	sp_text_pool pool = {.call = call};
	int64_t from, to;
	sp_shape shape;

	SP_TRY(sp_array__need_rank(call, 0, 1));
	SP_TRY(sp_array__need_rank(call, 1, 1));
	if (splits->count == 0 || sp_tensor_index(splits, 0) != 0 ||
	    sp_tensor_index(splits, splits->count - 1) != (int64_t)values->count)
		return sp_call_invalid(call, "splits do not go from 0 to the %zu values",
				       values->count);
	shape = sp_shape_vector((int64_t)splits->count - 1);
	SP_TRY(sp_call_output(call, 0, SP_STRING, &shape));
	for (size_t i = 0; i + 1 < splits->count; i++) {
		from = sp_tensor_index(splits, i);
		to = sp_tensor_index(splits, i + 1);
		if (from > to || to > (int64_t)values->count)
			return sp_call_invalid(call, "splits are not in order: %lld after %lld",
					       (long long)to, (long long)from);
		SP_TRY(encode_row(call, &pool, sp_tensor_i32(values) + from, (size_t)(to - from),
				  &sp_tensor_strings(call->out[0])[i]));
	}
	return SP_OK;
}

/*
 * What is written goes through UTF-16 in TensorFlow: a surrogate that a text or
 * replacement_char brings is a character with one that follows it, and else what
 * the output has for half of one (UTF-8: U+FFFD).
 */
typedef struct unit_writer {
	sp_encoding to;
	int32_t first; /* half of a character, or 0 */
	char *out;     /* or NULL, to count */
	size_t size;
} unit_writer;

static void put_one(unit_writer *writer, int32_t character)
{
	if (writer->to == SP_ENCODING_UTF8 && character >= 0xd800 && character <= 0xdfff)
		character = 0xfffd;
	writer->size += sp_unicode__put(writer->to, character,
					writer->out != NULL ? writer->out + writer->size : NULL);
}

static void put_first(unit_writer *writer)
{
	if (writer->first != 0)
		put_one(writer, writer->first);
	writer->first = 0;
}

static void put_unit(unit_writer *writer, int32_t character)
{
	if (writer->first != 0 && character >= 0xdc00 && character <= 0xdfff) {
		character = 0x10000 + ((writer->first - 0xd800) << 10) + (character - 0xdc00);
		writer->first = 0;
	}
	put_first(writer);
	if (character >= 0xd800 && character <= 0xdbff)
		writer->first = character;
	else
		put_one(writer, character);
}

/* One text; returns its size, and writes it where `out` is not NULL. */
static sp_status transcode(const sp_call *call, sp_bytes in, char *out, size_t *size)
{
	const encode_state *state = call->state;
	unit_writer writer = {.to = state->to, .out = out};
	int32_t character;
	sp_unicode_reader reader;
	size_t offset;
	bool more;

	sp_unicode__open(&reader, state->from, in);
	for (;;) {
		SP_TRY(sp_unicode__next_by(&reader, &state->policy, call, &more, &character,
					   &offset));
		if (!more)
			break;
		put_unit(&writer, character);
	}
	put_first(&writer);
	*size = writer.size;
	return SP_OK;
}

/* Each text is measured, then written. */
static sp_status run_transcode(const sp_call *call)
{
	const sp_tensor *in = call->in[0];
	sp_text_pool pool = {.call = call};
	sp_bytes *out;

	SP_TRY(sp_call_output(call, 0, SP_STRING, &in->shape));
	out = sp_tensor_strings(call->out[0]);
	for (size_t i = 0; i < in->count; i++) {
		char *text;
		size_t size;

		SP_TRY(transcode(call, sp_tensor_strings(in)[i], NULL, &size));
		text = sp_text_pool_take(&pool, size);
		if (text == NULL)
			return sp_call_no_memory(call);
		SP_TRY(transcode(call, sp_tensor_strings(in)[i], text, &size));
		out[i] = (sp_bytes){text, size};
	}
	return SP_OK;
}

const sp_op sp_op_UnicodeEncode = {
	.name = "UnicodeEncode", .outputs = "output", .prepare = prepare_encode, .run = run_encode};
const sp_op sp_op_UnicodeTranscode = {.name = "UnicodeTranscode",
				      .outputs = "output",
				      .prepare = prepare_transcode,
				      .run = run_transcode};
