#include "engine/ops/array/array.h"
#include "engine/ops/string/unicode.h"

/*
 * UnicodeDecode: the characters of every string, as a ragged tensor (row_splits, char_values).
 *
 * Strings are decoded twice, to count characters and to write them.
 */
typedef struct decode_state {
	sp_unicode_policy policy;
	sp_dtype splits;
} decode_state;

static sp_status prepare_decode(sp_prepare *prepare, sp_error *err)
{
	decode_state *state = sp_prepare_state(prepare, sizeof(*state));

	SP_NEED_MEMORY(state, err, "an operator");
	SP_TRY(sp_prepare_types(prepare, "string", err));
	SP_TRY(sp_unicode__check_encoding(prepare, "input_encoding", err));
	SP_TRY(sp_unicode__read_policy(prepare, &state->policy, err));
	SP_TRY(sp_array__index_type(prepare, "Tsplits", SP_INT64, &state->splits, err));
	SP_TRY(sp_prepare_outputs(prepare, 2, SP_INT32, err));
	prepare->out_dtypes[0] = state->splits;
	return SP_OK;
}

/* Counts the characters of one string, and writes them unless `values` is NULL. */
static sp_status decode(const sp_call *call, sp_bytes text, int32_t *values, size_t *count)
{
	const decode_state *state = call->state;
	sp_unicode_reader reader;
	int32_t character;
	bool more;

	sp_unicode__open(&reader, text);
	for (*count = 0;; ++*count) {
		SP_TRY(sp_unicode__next_by(&reader, &state->policy, call, &more, &character));
		if (!more)
			return SP_OK;
		if (values != NULL)
			values[*count] = character;
	}
}

static sp_status run_decode(const sp_call *call)
{
	const decode_state *state = call->state;
	const sp_tensor *in = call->in[0];
	sp_shape splits = sp_shape_vector((int64_t)in->count + 1);
	size_t total = 0, count, done = 0;

	SP_TRY(sp_call_output(call, 0, state->splits, &splits));
	sp_array__put_index(call->out[0], 0, 0);
	for (size_t i = 0; i < in->count; i++) {
		SP_TRY(decode(call, sp_tensor_strings(in)[i], NULL, &count));
		total += count;
		if (state->splits == SP_INT32 && total > INT32_MAX)
			return sp_call_invalid(call, "%zu characters do not fit int32 splits",
					       total);
		sp_array__put_index(call->out[0], i + 1, (int64_t)total);
	}
	SP_TRY(sp_call_output_vector(call, 1, SP_INT32, (int64_t)total));
	for (size_t i = 0; total != 0 && i < in->count; i++) {
		SP_TRY(decode(call, sp_tensor_strings(in)[i], sp_tensor_i32(call->out[1]) + done,
			      &count));
		done += count;
	}
	return SP_OK;
}

SP_DEFINE_OP(UnicodeDecode, "row_splits char_values", 0, prepare_decode, run_decode);
