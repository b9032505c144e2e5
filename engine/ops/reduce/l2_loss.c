#include "engine/kernels/float_rows.h"
#include "engine/ops/reduce/reduce.h"

/*
 * L2Loss: sum(x^2) / 2 over all elements, a scalar.
 *
 * Numerics: as a reduction along one dimension (engine/ops/reduce/reduce.h).
 */
SP_REDUCE_FLOAT_SUM(half_square, sp_float_square_sum, (x) * (x), a / 2)
SP_REDUCE_KERNEL(f64, half_square, double, 0, (x) * (x), a + b, a / 2)
SP_REDUCE_KERNEL(f16, half_square, float, 0, (x) * (x), a + b, a / 2)
SP_REDUCE_KERNEL(bf16, half_square, float, 0, (x) * (x), a + b, a / 2)

static sp_reduce_fn *const kernels[SP_DTYPE_COUNT] = {SP_TABLE_FLOATING(half_square)};
static sp_reduce_fn *const empty[SP_DTYPE_COUNT] = {SP_TABLE_FLOATING(half_square_empty)};

static sp_status prepare_l2_loss(sp_prepare *prepare, sp_error *err)
{
	sp_dtype dtype;

	SP_TRY(sp_prepare_types(prepare, "T -> T", err));
	dtype = prepare->in_dtypes[0];
	return kernels[dtype] != NULL ? SP_OK : sp_prepare_unsupported(prepare, dtype, err);
}

static sp_status run_l2_loss(const sp_call *call)
{
	const sp_tensor *in = call->in[0];
	sp_reduce_plan plan = {.in = in->data,
			       .out_count = 1,
			       .reduced_count = in->count,
			       .last = in->count,
			       .last_is_reduced = true};

	SP_TRY(sp_call_output_scalar(call, 0, in->dtype));
	plan.out = call->out[0]->data;
	(in->count != 0 ? kernels : empty)[in->dtype](&plan);
	return SP_OK;
}

SP_DEFINE_OP(L2Loss, NULL, 0, prepare_l2_loss, run_l2_loss);
