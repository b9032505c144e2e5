#include "engine/ops/ops.h"
#include "engine/ops/array/element_types.h"

/*
 * ClipByValue: max(low, min(x, high)).  low and high are scalars or have the
 * shape of x.  A NaN in x stays; a NaN in low or high is ignored.
 */
typedef struct clip_run {
	const void *x, *low, *high;
	size_t low_step, high_step; /* 0 for a scalar, else 1 */
	void *out;
	size_t count;
} clip_run;

typedef void clip_fn(const clip_run *run);

#define CLIP(type, name)                                                                 \
	static void name##_##type(const clip_run *run)                                   \
	{                                                                                \
		const sp_element_##type *x = run->x, *low = run->low, *high = run->high; \
		size_t low_step = run->low_step, high_step = run->high_step;             \
		size_t count = run->count;                                               \
		sp_element_##type *out = run->out;                                       \
                                                                                         \
		for (size_t i = 0; i < count; i++) {                                     \
			sp_value_##type a = SP_LOAD_##type(x[i]);                        \
			sp_value_##type least = SP_LOAD_##type(low[i * low_step]);       \
			sp_value_##type most = SP_LOAD_##type(high[i * high_step]);      \
                                                                                         \
			a = most < a ? most : a;                                         \
			out[i] = SP_STORE_##type(a < least ? least : a);                 \
		}                                                                        \
	}

SP_FOR_NUMBER(CLIP, clip)

static clip_fn *const kernels[SP_DTYPE_COUNT] = {SP_TABLE_NUMBER(clip)};

static sp_status prepare_clip(sp_prepare *prepare, sp_error *err)
{
	sp_dtype dtype;

	SP_TRY(sp_prepare_types(prepare, "T T T -> T", err));
	dtype = prepare->in_dtypes[0];
	return kernels[dtype] != NULL ? SP_OK : sp_prepare_unsupported(prepare, dtype, err);
}

static sp_status check_limit(const sp_call *call, size_t i)
{
	const sp_shape *x = &call->in[0]->shape, *limit = &call->in[i]->shape;
	char x_text[SP_SHAPE_TEXT_SIZE], text[SP_SHAPE_TEXT_SIZE];

	if (limit->rank == 0 || sp_shape_equal(x, limit))
		return SP_OK;
	return sp_call_invalid(call,
			       "clip values must be scalars or of the input's shape %s, not %s",
			       sp_shape_text(x, x_text), sp_shape_text(limit, text));
}

static sp_status run_clip(const sp_call *call)
{
	const sp_tensor *x = call->in[0], *low = call->in[1], *high = call->in[2];
	clip_run run;

	SP_TRY(check_limit(call, 1));
	SP_TRY(check_limit(call, 2));
	SP_TRY(sp_call_output_over(call, 0, 0, x->dtype));
	run = (clip_run){.x = x->data,
			 .low = low->data,
			 .high = high->data,
			 .low_step = low->shape.rank != 0,
			 .high_step = high->shape.rank != 0,
			 .out = call->out[0]->data,
			 .count = x->count};
	kernels[x->dtype](&run);
	return SP_OK;
}

SP_DEFINE_OP(ClipByValue, NULL, 0, prepare_clip, run_clip);
