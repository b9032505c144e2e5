#include "engine/ops/array/array.h"

/*
 * Operators that forward their inputs; nothing is copied.
 *
 * Print and DebugIdentity would write the client's data to a stream of the host, so they only
 * forward. XlaSharding, XlaSpmd... (for models trained on several TPUs) and XlaOptimizationBarrier
 * are hints for XLA's compiler; on one processor the shard is the whole tensor.
 */

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

#define IDENTITY(op) SP_DEFINE_TYPED_OP(op, NULL, SP_OP_IDENTITY, "T -> T", run)

IDENTITY(Identity);
IDENTITY(Copy);
IDENTITY(CopyHost);
IDENTITY(DeepCopy);
IDENTITY(DebugIdentity);
IDENTITY(DebugIdentityV2);
IDENTITY(DebugIdentityV3);
IDENTITY(GuaranteeConst);
SP_DEFINE_OP(IdentityN, "output:T", SP_OP_IDENTITY, prepare_all, run);
IDENTITY(PlaceholderWithDefault);
IDENTITY(PreventGradient);
SP_DEFINE_OP(Print, NULL, SP_OP_IDENTITY, prepare_first, run);
IDENTITY(RefIdentity);
IDENTITY(Snapshot);
IDENTITY(StopGradient);
SP_DEFINE_OP(XlaOptimizationBarrier, "output:T", SP_OP_IDENTITY, prepare_all, run);
IDENTITY(XlaSharding);
IDENTITY(XlaSpmdFullToShardShape);
IDENTITY(XlaSpmdShardToFullShape);
