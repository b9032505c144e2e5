#include <string.h>

#include "engine/ops/array.h"

/*
 * Numbers that go with the dimensions of images, from one order of dimensions to another,
 * "NHWC" to "NCHW" say:
 *
 *   DataFormatDimMap      a dimension's number in src_format becomes that in dst_format;
 *                         negative numbers count from the end
 *   DataFormatVecPermute  a number per dimension ([4] or [5]), or a pair ([4, 2] or [5, 2]),
 *                         is put in the new order; so are two, which are those of H and W,
 *                         or three, which are those of D, H and W
 *
 * int32 and int64.
 */
#define MAX_LETTERS 5

typedef struct format_state {
	size_t letters;
	char from[MAX_LETTERS], to[MAX_LETTERS];
} format_state;

static bool is_spatial(char letter, size_t letters)
{
	return letter == 'H' || letter == 'W' || (letters == 5 && letter == 'D');
}

/* Where a letter of `from` stands in `to`; -1 when it does not. */
static int place_of(char letter, const char *to, size_t letters)
{
	const char *found = memchr(to, letter, letters);

	return found == NULL ? -1 : (int)(found - to);
}

static sp_status check_formats(const format_state *state, sp_error *err)
{
	for (size_t i = 0; i < state->letters; i++)
		if (place_of(state->from[i], state->to, state->letters) < 0 ||
		    place_of(state->from[i], state->from, state->letters) != (int)i)
			return sp_error_set(err, SP_INVALID, "%.*s and %.*s are no permutations",
					    (int)state->letters, state->from, (int)state->letters,
					    state->to);
	return SP_OK;
}

static sp_status prepare_format(sp_prepare *prepare, sp_error *err)
{
	format_state *state = sp_prepare_state(prepare, sizeof(*state));
	sp_bytes from, to;

	if (state == NULL)
		return sp_error_set(err, SP_NO_MEMORY, "no memory for an operator");
	SP_TRY(sp_array__prepare(prepare, 1, err));
	SP_TRY(sp_prepare_input_index(prepare, 0, err));
	SP_TRY(sp_node_attr_bytes(prepare->node, "src_format", "NHWC", &from, err));
	SP_TRY(sp_node_attr_bytes(prepare->node, "dst_format", "NCHW", &to, err));
	if (from.size != to.size || (from.size != 4 && from.size != MAX_LETTERS))
		return sp_error_set(err, SP_INVALID, "formats of %zu and %zu letters", from.size,
				    to.size);
	state->letters = from.size;
	memcpy(state->from, from.data, from.size);
	memcpy(state->to, to.data, to.size);
	return check_formats(state, err);
}

/* Below -letters TensorFlow takes all but multiples for the last. */
static int64_t wrap(int64_t at, int64_t letters)
{
	int64_t rest = at % letters;

	if (at < -letters)
		return rest == 0 ? 0 : letters - 1;
	return rest < 0 ? rest + letters : rest;
}

static sp_status run_dim_map(const sp_call *call)
{
	const format_state *state = call->state;
	const sp_tensor *in = call->in[0];

	SP_TRY(sp_call_output(call, 0, in->dtype, &in->shape));
	for (size_t i = 0; i < in->count; i++) {
		int64_t place = wrap(sp_tensor_index(in, i), (int64_t)state->letters);

		sp_array__put_index(call->out[0], i,
				    place_of(state->from[place], state->to, state->letters));
	}
	return SP_OK;
}

/* Keeps the letters of spatial dimensions; returns how many. */
static size_t keep_spatial(const char *format, size_t letters, char *kept)
{
	size_t n = 0;

	for (size_t i = 0; i < letters; i++)
		if (is_spatial(format[i], letters))
			kept[n++] = format[i];
	return n;
}

static sp_status run_permute(const sp_call *call)
{
	const format_state *state = call->state;
	const sp_tensor *in = call->in[0], *out = call->out[0];
	char from[MAX_LETTERS], to[MAX_LETTERS], text[SP_SHAPE_TEXT_SIZE];
	size_t letters = state->letters, width, size = sp_dtype_size(in->dtype);
	bool fits = in->shape.rank == 1 || (in->shape.rank == 2 && in->shape.dims[1] == 2);

	memcpy(from, state->from, letters);
	memcpy(to, state->to, letters);
	if (fits && in->shape.dims[0] == (int64_t)letters - 2) {
		fits = keep_spatial(state->from, letters, from) == letters - 2;
		(void)keep_spatial(state->to, letters, to);
		letters -= 2;
	}
	if (!fits || in->shape.dims[0] != (int64_t)letters)
		return sp_call_invalid(call, "shape %s does not go with %.*s",
				       sp_shape_text(&in->shape, text), (int)state->letters,
				       state->from);
	SP_TRY(sp_call_output(call, 0, in->dtype, &in->shape));
	width = in->count / letters * size;
	for (size_t i = 0; i < letters; i++)
		memcpy((char *)out->data + (size_t)place_of(from[i], to, letters) * width,
		       (const char *)in->data + i * width, width);
	return SP_OK;
}

const sp_op sp_op_DataFormatDimMap = {
	.name = "DataFormatDimMap", .prepare = prepare_format, .run = run_dim_map};
const sp_op sp_op_DataFormatVecPermute = {
	.name = "DataFormatVecPermute", .prepare = prepare_format, .run = run_permute};
