#include <string.h>

#include "engine/ops/array/array.h"
#include "engine/ops/random/random_stream.h"

/*
 * RandomShuffle and StatelessShuffle: permute the slices along the first dimension.  Equal seeds
 * give TensorFlow's permutation.
 */
typedef struct shuffle_state {
	sp_random_node node; /* only RandomShuffle */
	bool keyed;          /* key, counter and algorithm are inputs 1 to 3 */
} shuffle_state;

static sp_status prepare_any(sp_prepare *prepare, bool keyed, sp_error *err)
{
	shuffle_state *state = sp_prepare_state(prepare, sizeof(*state));

	if (state == NULL)
		return sp_error_set(err, SP_NO_MEMORY, "no memory for an operator");
	state->keyed = keyed;
	SP_TRY(sp_array__prepare(prepare, keyed ? 4 : 1, err));
	if (keyed)
		return sp_random__prepare_key(prepare, 1, err);
	return sp_random__stream_of_node(prepare, &state->node, err);
}

static sp_status prepare_stateful(sp_prepare *prepare, sp_error *err)
{
	return prepare_any(prepare, false, err);
}

static sp_status prepare_keyed(sp_prepare *prepare, sp_error *err)
{
	return prepare_any(prepare, true, err);
}

/* Fisher-Yates shuffle. */
static void permute(size_t *places, size_t count, sp_philox stream)
{
	sp_random_words words;

	sp_random__words_init(&words, stream);
	for (size_t i = 0; i < count; i++)
		places[i] = i;
	for (size_t i = 0; i + 1 < count; i++) {
		size_t other = i + sp_random__word(&words) % (uint32_t)(count - i);
		size_t place = places[i];

		places[i] = places[other];
		places[other] = place;
	}
}

static sp_status run_shuffle(const sp_call *call)
{
	const shuffle_state *state = call->state;
	const sp_tensor *in = call->in[0];
	sp_philox stream;
	size_t count, part, *places;

	if (state->keyed)
		SP_TRY(sp_random__stream_of_key(call, 1, &stream));
	if (in->count <= 1 || in->shape.dims[0] <= 1) {
		sp_array__pass(call, 0, 0);
		return SP_OK;
	}
	if (in->shape.dims[0] > UINT32_MAX)
		return sp_call_invalid(call, "%lld are too many to shuffle",
				       (long long)in->shape.dims[0]);
	count = (size_t)in->shape.dims[0];
	part = in->count / count * sp_dtype_size(in->dtype);
	SP_TRY(sp_call_output(call, 0, in->dtype, &in->shape));
	places = sp_call_bytes(call, count, sizeof(*places));
	if (places == NULL)
		return sp_call_no_memory(call);
	if (!state->keyed)
		stream = sp_random__advance(call, &state->node, (count + 3) / 4);
	permute(places, count, stream);
	for (size_t i = 0; i < count; i++)
		memcpy((char *)call->out[0]->data + i * part,
		       (const char *)in->data + places[i] * part, part);
	return SP_OK;
}

const sp_op sp_op_RandomShuffle = {.name = "RandomShuffle",
				   .flags = SP_OP_STATEFUL,
				   .prepare = prepare_stateful,
				   .run = run_shuffle};
const sp_op sp_op_StatelessShuffle = {.name = "StatelessShuffle",
				      .flags = SP_OP_MOVES,
				      .prepare = prepare_keyed,
				      .run = run_shuffle};
