#include "engine/ops/array.h"
#include "engine/ops/cells.h"

/*
 * Cross: the products a x b of vectors of three, the last dimension of two tensors of the
 * same shape.  Integers wrap around; half and bfloat16 are computed in float and rounded
 * after every step.
 */
typedef void cross_fn(const void *a, const void *b, void *out, size_t vectors);

/* p q - r s */
#define CROSS(type, name)                                                                       \
	static sp_wrap_##type less_##type(sp_wrap_##type p, sp_wrap_##type q, sp_wrap_##type r, \
					  sp_wrap_##type s)                                     \
	{                                                                                       \
		sp_wrap_##type left = (sp_wrap_##type)SP_LOAD_##type(                           \
			(sp_cell_##type)SP_STORE_##type(p * q));                                \
		sp_wrap_##type right = (sp_wrap_##type)SP_LOAD_##type(                          \
			(sp_cell_##type)SP_STORE_##type(r * s));                                \
                                                                                                \
		return left - right;                                                            \
	}                                                                                       \
	static void name##_##type(const void *a, const void *b, void *out, size_t vectors)      \
	{                                                                                       \
		const sp_cell_##type *x = a, *y = b;                                            \
		sp_cell_##type *to = out;                                                       \
                                                                                                \
		for (size_t i = 0; i < vectors; i++, x += 3, y += 3, to += 3) {                 \
			sp_wrap_##type u[3], v[3];                                              \
                                                                                                \
			for (size_t j = 0; j < 3; j++) {                                        \
				u[j] = (sp_wrap_##type)SP_LOAD_##type(x[j]);                    \
				v[j] = (sp_wrap_##type)SP_LOAD_##type(y[j]);                    \
			}                                                                       \
			to[0] = SP_STORE_##type(less_##type(u[1], v[2], u[2], v[1]));           \
			to[1] = SP_STORE_##type(less_##type(u[2], v[0], u[0], v[2]));           \
			to[2] = SP_STORE_##type(less_##type(u[0], v[1], u[1], v[0]));           \
		}                                                                               \
	}

SP_FOR_NUMBER(CROSS, cross)

static cross_fn *const kernels[SP_DTYPE_COUNT] = {SP_TABLE_NUMBER(cross)};

static sp_status prepare_cross(sp_prepare *prepare, sp_error *err)
{
	SP_TRY(sp_array__prepare(prepare, 2, err));
	SP_TRY(sp_array__same_dtype(prepare, 0, 2, err));
	if (kernels[prepare->in_dtypes[0]] == NULL)
		return sp_prepare_unsupported(prepare, prepare->in_dtypes[0], err);
	return SP_OK;
}

static sp_status run_cross(const sp_call *call)
{
	const sp_tensor *a = call->in[0], *b = call->in[1];
	char a_text[SP_SHAPE_TEXT_SIZE], b_text[SP_SHAPE_TEXT_SIZE];

	if (!sp_shape_equal(&a->shape, &b->shape) || a->shape.rank == 0 ||
	    a->shape.dims[a->shape.rank - 1] != 3)
		return sp_call_invalid(call, "no vectors of three: shapes %s and %s",
				       sp_shape_text(&a->shape, a_text),
				       sp_shape_text(&b->shape, b_text));
	SP_TRY(sp_call_output(call, 0, a->dtype, &a->shape));
	kernels[a->dtype](a->data, b->data, call->out[0]->data, a->count / 3);
	return SP_OK;
}

const sp_op sp_op_Cross = {.name = "Cross", .prepare = prepare_cross, .run = run_cross};
