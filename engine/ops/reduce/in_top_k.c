#include <math.h>

#include "engine/ops/ops.h"

/*
 * InTopKV2, InTopK: whether predictions[i, targets[i]] is among the k largest of row i, that is,
 * fewer than k elements are larger.  False when the target is not a valid column, or when the row
 * holds a number that is not finite.
 */

typedef struct in_top_k_state {
	int64_t k; /* attribute of InTopK */
	bool k_is_input;
} in_top_k_state;

static sp_status prepare(sp_prepare *prepare, sp_error *err)
{
	in_top_k_state *state = sp_prepare_state(prepare, sizeof(*state));

	SP_NEED_MEMORY(state, err, "an operator");
	state->k_is_input = prepare->node->op == &sp_op_InTopKV2;
	if (state->k_is_input)
		return sp_prepare_types(prepare, "float I I -> bool", err);
	SP_TRY(sp_node_attr_int(prepare->node, "k", 0, &state->k, err));
	return sp_prepare_types(prepare, "float index -> bool", err);
}

static bool is_in(const float *row, int64_t columns, int64_t target, int64_t k)
{
	int64_t better = 0;

	if (target < 0 || target >= columns || !isfinite(row[target]))
		return false;
	for (int64_t i = 0; i < columns; i++) {
		if (!isfinite(row[i]))
			return false;
		better += row[i] > row[target];
	}
	return better < k;
}

static sp_status run(const sp_call *call)
{
	const in_top_k_state *state = call->state;
	const sp_tensor *predictions = call->in[0], *targets = call->in[1];
	int64_t columns, k = state->k;

	SP_TRY(sp_call_need_rank(call, 0, 2));
	SP_TRY(sp_call_need_rank(call, 1, 1));
	if (state->k_is_input) {
		SP_TRY(sp_call_need_rank(call, 2, 0));
		k = sp_tensor_index(call->in[2], 0);
	}
	if (predictions->shape.dims[0] != targets->shape.dims[0])
		return sp_call_invalid(call, "%lld rows of predictions for %zu targets",
				       (long long)predictions->shape.dims[0], targets->count);
	columns = predictions->shape.dims[1];
	SP_TRY(sp_call_output(call, 0, SP_BOOL, &targets->shape));
	for (size_t i = 0; i < targets->count; i++)
		sp_tensor_bool(call->out[0])[i] = is_in(sp_tensor_f32(predictions) +
								i * (size_t)columns,
							columns, sp_tensor_index(targets, i), k);
	return SP_OK;
}

SP_DEFINE_OP(InTopK, NULL, 0, prepare, run);
SP_DEFINE_OP(InTopKV2, NULL, 0, prepare, run);
