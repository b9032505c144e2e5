#include "base/hash.h"
#include "engine/ops/string/text.h"

typedef struct state {
	uint64_t bucket_count; /* 1 ... 2^63 - 1 */
	uint64_t key[2];
} state;

static sp_status prepare_hash(sp_prepare *prepare, sp_error *err)
{
	state *s = sp_prepare_state(prepare, sizeof(*s));
	int64_t count;

	SP_NEED_MEMORY(s, err, "a string hash");
	SP_TRY(sp_node_attr_int(prepare->node, "num_buckets", 0, &count, err));
	if (count < 1)
		return sp_error_set(err, SP_INVALID, "num_buckets must be at least 1, not %lld",
				    (long long)count);
	s->bucket_count = (uint64_t)count;
	return sp_prepare_types(prepare, "string -> int64", err);
}

static sp_status prepare_strong(sp_prepare *prepare, sp_error *err)
{
	const sp_attr *key;
	state *s;

	SP_TRY(prepare_hash(prepare, err));
	SP_TRY(sp_node_attr_list(prepare->node, "key", SP_ATTR_INT, &key, err));
	if (key->count != 2)
		return sp_error_set(err, SP_INVALID, "the key must have 2 elements, not %zu",
				    key->count);
	s = prepare->state;
	s->key[0] = (uint64_t)key->i_list[0];
	s->key[1] = (uint64_t)key->i_list[1];
	return SP_OK;
}

#define HASH(name, hash)                                                        \
	static sp_status name(const sp_call *call)                              \
	{                                                                       \
		const state *s = call->state;                                   \
		const sp_bytes *text = sp_tensor_strings(call->in[0]);          \
		int64_t *y;                                                     \
                                                                                \
		SP_TRY(sp_call_output(call, 0, SP_INT64, &call->in[0]->shape)); \
		y = sp_tensor_i64(call->out[0]);                                \
		for (size_t i = 0; i < call->in[0]->count; i++)                 \
			y[i] = (int64_t)(hash % s->bucket_count);               \
		return SP_OK;                                                   \
	}

HASH(run_fast, sp_fingerprint64(text[i].data, text[i].size))
HASH(run_strong, sp_siphash24(s->key, text[i].data, text[i].size))
HASH(run_legacy, sp_murmur64(0xdecafcaffeu, text[i].data, text[i].size))

SP_DEFINE_OP(StringToHashBucketFast, "output", 0, prepare_hash, run_fast);
SP_DEFINE_OP(StringToHashBucketStrong, "output", 0, prepare_strong, run_strong);
SP_DEFINE_OP(StringToHashBucket, "output", 0, prepare_hash, run_legacy);
