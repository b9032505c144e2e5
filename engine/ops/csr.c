#include "engine/ops/csr.h"

#include "engine/ops/complex.h"
#include "engine/tensor_list.h"

enum { SHAPE, BATCHES, ROWS, COLUMNS, VALUES, PARTS };

sp_status sp_csr__check_dtype(const sp_prepare *prepare, sp_dtype dtype, sp_error *err)
{
	if (dtype == SP_FLOAT || dtype == SP_DOUBLE || sp_dtype_is_complex(dtype))
		return SP_OK;
	return sp_prepare_unsupported(prepare, dtype, err);
}

sp_status sp_csr__prepare(const sp_prepare *prepare, size_t inputs, const char *type, sp_dtype *out,
			  sp_error *err)
{
	SP_TRY(sp_prepare_inputs(prepare, inputs, err));
	SP_TRY(sp_prepare_input_dtype(prepare, 0, SP_VARIANT, err));
	SP_TRY(sp_node_attr_type(prepare->node, type, SP_INVALID_DTYPE, out, err));
	return sp_csr__check_dtype(prepare, *out, err);
}

static void set_sizes(sp_csr *m)
{
	const sp_shape *shape = &m->shape;

	m->batch = shape->rank == 3 ? (size_t)shape->dims[0] : 1;
	m->height = (size_t)shape->dims[shape->rank - 2];
	m->width = (size_t)shape->dims[shape->rank - 1];
}

static void set_parts(const sp_list *list, sp_csr *m)
{
	m->batches = sp_tensor_i32(&list->items[BATCHES]);
	m->rows = sp_tensor_i32(&list->items[ROWS]);
	m->columns = sp_tensor_i32(&list->items[COLUMNS]);
	m->values = list->items[VALUES];
}

sp_status sp_csr__read(const sp_call *call, size_t i, sp_dtype dtype, sp_csr *out)
{
	const sp_list *list = NULL;

	if (call->in[i]->shape.rank == 0)
		list = sp_tensor_list(call->in[i]);
	if (list == NULL || list->kind != SP_LIST_CSR)
		return sp_call_invalid(call, "input %zu is not a sparse matrix", i);
	if (dtype != SP_INVALID_DTYPE && list->items[VALUES].dtype != dtype)
		return sp_call_invalid(call, "the sparse matrix holds %s, not %s",
				       sp_dtype_name(list->items[VALUES].dtype),
				       sp_dtype_name(dtype));
	out->shape = (sp_shape){.rank = (int32_t)list->items[SHAPE].count};
	for (size_t d = 0; d < list->items[SHAPE].count; d++)
		out->shape.dims[d] = sp_tensor_i64(&list->items[SHAPE])[d];
	set_sizes(out);
	set_parts(list, out);
	return SP_OK;
}

/* Part `which` becomes a new vector. */
static sp_status add_part(const sp_call *call, size_t which, sp_dtype dtype, size_t count)
{
	sp_shape shape = sp_shape_vector((int64_t)count);
	sp_tensor part = {0};

	SP_TRY(sp_workspace_tensor(call->workspace, &part, dtype, &shape, call->err));
	sp_list_set(call, sp_tensor_list(call->out[0]), which, &part);
	sp_workspace_release(call->workspace, &part);
	return SP_OK;
}

sp_status sp_csr__create(const sp_call *call, const sp_shape *shape, size_t count, sp_dtype dtype,
			 sp_csr *out)
{
	static const sp_list like = {
		.dtype = SP_VARIANT, .shape = {.rank = -1}, .max_count = -1, .kind = SP_LIST_CSR};
	char text[SP_SHAPE_TEXT_SIZE];
	const sp_list *list;

	out->shape = *shape;
	set_sizes(out);
	if (count > INT32_MAX || out->width > INT32_MAX || out->height >= INT32_MAX ||
	    out->batch >= INT32_MAX || out->batch * (out->height + 1) > INT32_MAX)
		return sp_call_invalid(call, "sparse matrices of shape %s are too large",
				       sp_shape_text(shape, text));
	SP_TRY(sp_list_create(call, 0, &like, PARTS, PARTS));
	SP_TRY(add_part(call, SHAPE, SP_INT64, (size_t)shape->rank));
	SP_TRY(add_part(call, BATCHES, SP_INT32, out->batch + 1));
	SP_TRY(add_part(call, ROWS, SP_INT32, out->batch * (out->height + 1)));
	SP_TRY(add_part(call, COLUMNS, SP_INT32, count));
	SP_TRY(add_part(call, VALUES, dtype, count));
	list = sp_tensor_list(call->out[0]);
	for (int d = 0; d < shape->rank; d++)
		sp_tensor_i64(&list->items[SHAPE])[d] = shape->dims[d];
	set_parts(list, out);
	return SP_OK;
}

void sp_csr__add_up(sp_csr *m)
{
	m->batches[0] = 0;
	for (size_t b = 0; b < m->batch; b++) {
		int32_t *rows = m->rows + b * (m->height + 1);

		rows[0] = 0;
		for (size_t i = 0; i < m->height; i++)
			rows[i + 1] += rows[i];
		m->batches[b + 1] = m->batches[b] + rows[m->height];
	}
}
