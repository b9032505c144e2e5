#include "engine/ops/random/random_stream.h"

#include <string.h>

#include "base/hash.h"
#include "engine/tensor/resource.h"

static sp_philox make_philox(uint64_t key, uint64_t low, uint64_t high)
{
	return (sp_philox){
		.counter = {(uint32_t)low, (uint32_t)(low >> 32), (uint32_t)high,
			    (uint32_t)(high >> 32)},
		.key = {(uint32_t)key, (uint32_t)(key >> 32)},
	};
}

sp_status sp_random__stream_of_node(const sp_prepare *prepare, sp_random_node *out, sp_error *err)
{
	const char *name = prepare->node->name;
	int64_t seed, seed2;

	SP_TRY(sp_node_attr_int(prepare->node, "seed", 0, &seed, err));
	SP_TRY(sp_node_attr_int(prepare->node, "seed2", 0, &seed2, err));
	if (seed == 0 && seed2 == 0)
		seed = (int64_t)sp_fingerprint64(name, strlen(name));
	out->begin = make_philox((uint64_t)seed, 0, (uint64_t)seed2);
	out->number = prepare->resources->stream_count++;
	return SP_OK;
}

sp_philox sp_random__advance(const sp_call *call, const sp_random_node *node, uint64_t steps)
{
	sp_philox stream = node->begin;

	sp_philox__skip(&stream, call->drawn_by_node[node->number]);
	call->drawn_by_node[node->number] += steps;
	return stream;
}

/* Both seeds are mixed by Philox, as in TensorFlow, so weak seeds do no harm. */
sp_status sp_random__stream_of_seed(const sp_call *call, const sp_tensor *seed, sp_philox *out)
{
	sp_philox mixer;
	uint32_t mix[4];

	if (seed->shape.rank != 1 || seed->count != 2)
		return sp_call_invalid(call, "seed must be a vector of 2, not of rank %d with %zu",
				       seed->shape.rank, seed->count);
	mixer = make_philox(0x02461e293ec8f720u, (uint64_t)sp_tensor_index(seed, 0),
			    (uint64_t)sp_tensor_index(seed, 1));
	sp_philox__next(&mixer, mix);
	*out = make_philox((uint64_t)mix[1] << 32 | mix[0], 0, (uint64_t)mix[3] << 32 | mix[2]);
	return SP_OK;
}

sp_status sp_random__prepare_key(const sp_prepare *prepare, size_t first, sp_error *err)
{
	SP_TRY(sp_prepare_input_dtype(prepare, first, SP_UINT64, err));
	SP_TRY(sp_prepare_input_dtype(prepare, first + 1, SP_UINT64, err));
	return sp_prepare_input_dtype(prepare, first + 2, SP_INT32, err);
}

sp_status sp_random__stream_of_key(const sp_call *call, size_t first, sp_philox *out)
{
	const sp_tensor *key = call->in[first], *counter = call->in[first + 1];
	const sp_tensor *algorithm = call->in[first + 2];

	if (key->shape.rank != 1 || key->count != 1)
		return sp_call_invalid(call, "key must be a vector of 1, not of rank %d with %zu",
				       key->shape.rank, key->count);
	if (counter->shape.rank != 1 || counter->count < 2)
		return sp_call_invalid(call, "counter is of rank %d with %zu, not a vector of 2",
				       counter->shape.rank, counter->count);
	if (!sp_tensor_is_scalar(algorithm))
		return sp_call_invalid(call, "alg must be a scalar");
	if (*sp_tensor_i32(algorithm) != SP_RANDOM_PHILOX &&
	    *sp_tensor_i32(algorithm) != SP_RANDOM_ANY)
		return sp_call_invalid(call, "unsupported algorithm %d", *sp_tensor_i32(algorithm));
	*out = make_philox(*(const uint64_t *)key->data, ((const uint64_t *)counter->data)[0],
			   ((const uint64_t *)counter->data)[1]);
	return SP_OK;
}
