#include "engine/ops/parse/parse_example_internal.h"

#include <string.h>

#include "base/hash.h"

uint32_t *sp_example_keys__find(const sp_example_keys *k, sp_bytes key)
{
	size_t i = sp_siphash13(k->secret, key.data, key.size) & k->mask;

	while (k->slots[i] != 0 && !sp_bytes_equal(k->keys[k->slots[i] - 1], key))
		i = (i + 1) & k->mask;
	return &k->slots[i];
}

static sp_status keys_from_vector(const sp_call *call, size_t input, size_t count, sp_bytes **to)
{
	const sp_tensor *in = call->in[input];

	if (in->shape.rank != 1 || in->count != count)
		return sp_call_invalid(call, "input %zu must be a vector of %zu keys", input,
				       count);
	if (count > 0)
		memcpy(*to, in->data, count * sizeof(**to));
	*to += count;
	return SP_OK;
}

static sp_status collect_keys(const sp_call *call, const sp_example_columns *s, sp_bytes *to)
{
	size_t first = s->first_key;

	if (s->sparse_keys != NULL) {
		for (size_t i = 0; i < s->sparse_count; i++)
			*to++ = s->sparse_keys->bytes_list[i];
		for (size_t i = 0; i < s->dense_count; i++)
			*to++ = s->dense_keys->bytes_list[i];
		return SP_OK;
	}
	if (!s->one_key_each) {
		SP_TRY(keys_from_vector(call, first, s->sparse_count, &to));
		SP_TRY(keys_from_vector(call, first + 1, s->dense_count, &to));
		return keys_from_vector(call, first + 2, s->ragged_count, &to);
	}
	for (size_t i = first; i < first + s->column_count; i++) {
		SP_TRY(sp_call_need_rank(call, i, 0));
		*to++ = sp_tensor_strings(call->in[i])[0];
	}
	return SP_OK;
}

sp_status sp_example_keys__read(const sp_call *call, const sp_example_columns *s,
				sp_example_keys *out)
{
	size_t slot_count = 2;

	while (slot_count < 2 * s->column_count)
		slot_count *= 2;
	*out = (sp_example_keys){.mask = slot_count - 1, .secret = sp_hash_process_key()};
	SP_CALL_ARRAY(out->keys, call, s->column_count);
	SP_CALL_ARRAY(out->slots, call, slot_count);
	memset(out->slots, 0, slot_count * sizeof(*out->slots));
	SP_TRY(collect_keys(call, s, out->keys));
	for (size_t i = 0; i < s->column_count; i++) {
		uint32_t *slot = sp_example_keys__find(out, out->keys[i]);

		if (*slot != 0)
			return sp_call_invalid(call, "feature '%.*s' is asked for twice",
					       (int)out->keys[i].size, out->keys[i].data);
		*slot = (uint32_t)i + 1;
	}
	return SP_OK;
}
