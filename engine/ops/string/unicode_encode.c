#include "engine/ops/string/text.h"
#include "engine/ops/string/unicode.h"

/* UnicodeEncode: rows of characters (input_values, input_splits) to strings. */
static sp_status prepare_encode(sp_prepare *prepare, sp_error *err)
{
	sp_unicode_policy *policy = sp_prepare_state(prepare, sizeof(*policy));

	SP_NEED_MEMORY(policy, err, "an operator");
	SP_TRY(sp_unicode__read_policy(prepare, policy, err));
	SP_TRY(sp_unicode__check_encoding(prepare, "output_encoding", err));
	return sp_prepare_types(prepare, "int32 index -> string", err);
}

/*
 * Applies the policy to a value; *keep is false if it is dropped.  When errors are ignored,
 * noncharacters are kept.
 */
static sp_status apply_policy(const sp_call *call, int32_t *character, bool *keep)
{
	const sp_unicode_policy *policy = call->state;

	*keep = true;
	if (sp_unicode__is_character(*character))
		return SP_OK;
	switch (policy->errors) {
	case SP_UNICODE_STRICT:
		return sp_call_invalid(call, "%d is out of the range of Unicode, or no character",
				       *character);
	case SP_UNICODE_REPLACE:
		*character = policy->replacement;
		break;
	case SP_UNICODE_IGNORE:
		*keep = *character >= 0 && *character <= 0x10ffff;
		break;
	}
	return SP_OK;
}

/* Encodes one row in two passes: the first computes the size. */
static sp_status encode_row(const sp_call *call, sp_text_pool *pool, const int32_t *values,
			    size_t count, sp_bytes *out)
{
	size_t size = 0;
	char *text = NULL;

	for (int round = 0; round < 2; round++) {
		size = 0;
		for (size_t i = 0; i < count; i++) {
			int32_t character = values[i];
			bool keep;

			SP_TRY(apply_policy(call, &character, &keep));
			if (keep)
				size += sp_unicode__put(character,
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

	SP_TRY(sp_call_need_rank(call, 0, 1));
	SP_TRY(sp_call_need_rank(call, 1, 1));
	if (splits->count == 0 || sp_tensor_index(splits, 0) != 0 ||
	    sp_tensor_index(splits, splits->count - 1) != (int64_t)values->count)
		return sp_call_invalid(call, "splits do not go from 0 to the %zu values",
				       values->count);
	SP_TRY(sp_call_output_vector(call, 0, SP_STRING, (int64_t)splits->count - 1));
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

SP_DEFINE_OP(UnicodeEncode, "output", 0, prepare_encode, run_encode);
