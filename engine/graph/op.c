#include "engine/graph/op.h"

#include <stdarg.h>
#include <stdio.h>

sp_status sp_prepare_outputs(sp_prepare *prepare, size_t count, sp_dtype dtype, sp_error *err)
{
	prepare->out_dtypes = sp_arena_array(prepare->arena, count, sizeof(sp_dtype));
	SP_NEED_MEMORY(prepare->out_dtypes, err, "%zu outputs", count);
	prepare->out_count = count;
	for (size_t i = 0; i < count; i++)
		prepare->out_dtypes[i] = dtype;
	return SP_OK;
}

sp_status sp_prepare_inputs(const sp_prepare *prepare, size_t count, sp_error *err)
{
	if (prepare->in_count == count)
		return SP_OK;
	return sp_error_set(err, SP_INVALID, "%s takes %zu inputs, not %zu", prepare->node->op_name,
			    count, prepare->in_count);
}

sp_status sp_prepare_input_dtype(const sp_prepare *prepare, size_t i, sp_dtype dtype, sp_error *err)
{
	if (prepare->in_dtypes[i] == dtype)
		return SP_OK;
	return sp_error_set(err, SP_INVALID, "input %zu of %s must be %s, not %s", i,
			    prepare->node->op_name, sp_dtype_name(dtype),
			    sp_dtype_name(prepare->in_dtypes[i]));
}

sp_status sp_prepare_input_index(const sp_prepare *prepare, size_t i, sp_error *err)
{
	if (prepare->in_dtypes[i] == SP_INT32 || prepare->in_dtypes[i] == SP_INT64)
		return SP_OK;
	return sp_error_set(err, SP_INVALID, "input %zu of %s must be int32 or int64, not %s", i,
			    prepare->node->op_name, sp_dtype_name(prepare->in_dtypes[i]));
}

void *sp_prepare_state(sp_prepare *prepare, size_t size)
{
	prepare->state = sp_arena_zeros(prepare->arena, 1, size);
	return prepare->state;
}

sp_status sp_prepare_unsupported(const sp_prepare *prepare, sp_dtype dtype, sp_error *err)
{
	return sp_error_set(err, SP_UNSUPPORTED, "%s of %s is not supported",
			    prepare->node->op_name, sp_dtype_name(dtype));
}

sp_status sp_call_output(const sp_call *call, size_t i, sp_dtype dtype, const sp_shape *shape)
{
	return sp_workspace_tensor(call->workspace, call->out[i], dtype, shape, call->err);
}

sp_status sp_call_output_scalar(const sp_call *call, size_t i, sp_dtype dtype)
{
	sp_shape shape = sp_shape_scalar();

	return sp_call_output(call, i, dtype, &shape);
}

sp_status sp_call_output_vector(const sp_call *call, size_t i, sp_dtype dtype, int64_t count)
{
	sp_shape shape = sp_shape_vector(count);

	return sp_call_output(call, i, dtype, &shape);
}

sp_status sp_call_output_matrix(const sp_call *call, size_t i, sp_dtype dtype, int64_t rows,
				int64_t columns)
{
	sp_shape shape = sp_shape_matrix(rows, columns);

	return sp_call_output(call, i, dtype, &shape);
}

void sp_call_forward(const sp_call *call, size_t i, size_t from, const sp_shape *shape)
{
	*call->out[i] = *call->in[from];
	call->out[i]->shape = *shape;
	sp_tensor_retain(call->out[i]);
}

bool sp_call_may_overwrite(const sp_call *call, size_t i)
{
	return i < 64 && (call->in_dies >> i & 1) != 0 && sp_tensor_is_sole(call->in[i]);
}

sp_status sp_call_output_over(const sp_call *call, size_t i, size_t from, sp_dtype dtype)
{
	const sp_tensor *in = call->in[from];

	if (sp_call_may_overwrite(call, from) && sp_dtype_size(in->dtype) == sp_dtype_size(dtype)) {
		sp_call_forward(call, i, from, &in->shape);
		call->out[i]->dtype = dtype;
		return SP_OK;
	}
	return sp_call_output(call, i, dtype, &in->shape);
}

void *sp_call_bytes(const sp_call *call, size_t count, size_t size)
{
	return sp_workspace_bytes(call->workspace, count, size);
}

sp_status sp_call_no_memory(const sp_call *call)
{
	return sp_error_set(call->err, SP_NO_MEMORY,
			    "the request needs more memory than it may use");
}

sp_status sp_call_invalid(const sp_call *call, const char *fmt, ...)
{
	char text[SP_ERROR_TEXT_SIZE];
	va_list args;

	va_start(args, fmt);
	vsnprintf(text, sizeof(text), fmt, args);
	va_end(args);
	return sp_error_set(call->err, SP_INVALID, "%s", text);
}

sp_status sp_call_need_rank(const sp_call *call, size_t i, int rank)
{
	char text[SP_SHAPE_TEXT_SIZE];

	if (call->in[i]->shape.rank == rank)
		return SP_OK;
	return sp_call_invalid(call, "input %zu must be of rank %d, not of shape %s", i, rank,
			       sp_shape_text(&call->in[i]->shape, text));
}

sp_status sp_call_need_scalar(const sp_call *call, size_t i)
{
	char text[SP_SHAPE_TEXT_SIZE];

	if (call->in[i]->shape.rank <= 1 && call->in[i]->count == 1)
		return SP_OK;
	return sp_call_invalid(call, "input %zu must be a scalar, not of shape %s", i,
			       sp_shape_text(&call->in[i]->shape, text));
}

sp_status sp_call_scalar(const sp_call *call, size_t i, int64_t *out)
{
	const sp_tensor *in = call->in[i];

	if (in->count != 1 || in->shape.rank > 1)
		return sp_call_invalid(call, "input %zu must be a scalar: rank %d, %zu elements", i,
				       in->shape.rank, in->count);
	*out = sp_tensor_index(in, 0);
	return SP_OK;
}

sp_status sp_call_axis(const sp_call *call, int64_t axis, int rank, int *out)
{
	if (axis < -rank || axis >= rank)
		return sp_call_invalid(call, "axis %lld is not in [%d, %d)", (long long)axis, -rank,
				       rank);
	*out = (int)(axis < 0 ? axis + rank : axis);
	return SP_OK;
}
