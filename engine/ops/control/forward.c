#include "engine/ops/array/array.h"

/*
 * Operators that forward their inputs; nothing is copied.
 *
 * Print and DebugIdentity would write the client's data to a stream of the host, so they only
 * forward. XlaSharding, XlaSpmd... (for models trained on several TPUs) and XlaOptimizationBarrier
 * are hints for XLA's compiler; on one processor the shard is the whole tensor.
 */

static sp_status prepare_one(sp_prepare *prepare, sp_error *err)
{
	return sp_prepare_types(prepare, "T -> T", err);
}

static sp_status prepare_first(sp_prepare *prepare, sp_error *err)
{
	if (prepare->in_count == 0)
		return sp_prepare_inputs(prepare, 1, err);
	return sp_prepare_outputs(prepare, 1, prepare->in_dtypes[0], err);
}

static sp_status prepare_all(sp_prepare *prepare, sp_error *err)
{
	SP_TRY(sp_prepare_outputs(prepare, prepare->in_count, SP_INVALID_DTYPE, err));
	for (size_t i = 0; i < prepare->in_count; i++)
		prepare->out_dtypes[i] = prepare->in_dtypes[i];
	return SP_OK;
}

static sp_status run(const sp_call *call)
{
	for (size_t i = 0; i < call->out_count; i++)
		sp_array__pass(call, i, i);
	return SP_OK;
}

#define IDENTITY(op, names, prepare_op)                    \
	const sp_op sp_op_##op = {.name = #op,             \
				  .outputs = names,        \
				  .flags = SP_OP_IDENTITY, \
				  .prepare = prepare_op,   \
				  .run = run}

IDENTITY(Identity, NULL, prepare_one);
IDENTITY(Copy, NULL, prepare_one);
IDENTITY(CopyHost, NULL, prepare_one);
IDENTITY(DeepCopy, NULL, prepare_one);
IDENTITY(DebugIdentity, NULL, prepare_one);
IDENTITY(DebugIdentityV2, NULL, prepare_one);
IDENTITY(DebugIdentityV3, NULL, prepare_one);
IDENTITY(GuaranteeConst, NULL, prepare_one);
IDENTITY(IdentityN, "output:T", prepare_all);
IDENTITY(PlaceholderWithDefault, NULL, prepare_one);
IDENTITY(PreventGradient, NULL, prepare_one);
IDENTITY(Print, NULL, prepare_first);
IDENTITY(RefIdentity, NULL, prepare_one);
IDENTITY(Snapshot, NULL, prepare_one);
IDENTITY(StopGradient, NULL, prepare_one);
IDENTITY(XlaOptimizationBarrier, "output:T", prepare_all);
IDENTITY(XlaSharding, NULL, prepare_one);
IDENTITY(XlaSpmdFullToShardShape, NULL, prepare_one);
IDENTITY(XlaSpmdShardToFullShape, NULL, prepare_one);
