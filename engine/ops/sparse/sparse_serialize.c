#include <string.h>

#include "base/size.h"
#include "engine/ops/array/array.h"
#include "engine/ops/list/list.h"
#include "engine/ops/parse/tensor_proto.h"
#include "engine/ops/sparse/sparse.h"

/*
 * Sparse tensors as arrays of three: indices, values and shape, each as a variant or serialized.
 * SerializeSparse makes [3], SerializeManySparse [rows, 3], one row for each row of the sparse
 * tensor.  DeserializeSparse and DeserializeManySparse join arrays [..., 3] to one sparse tensor
 * with the dimensions [...] in front.
 */
typedef struct part {
	sp_tensor indices, values, shape;
} part;

/* ------------------------------------------------------------------- serializing */

static sp_status prepare_serialize(sp_prepare *prepare, sp_error *err)
{
	sp_dtype *type = sp_prepare_state(prepare, sizeof(*type)), values;

	if (type == NULL)
		return sp_error_set(err, SP_NO_MEMORY, "no memory for a sparse tensor");
	SP_TRY(sp_prepare_inputs(prepare, 3, err));
	SP_TRY(sp_sparse__prepare(prepare, 0, 2, err));
	values = prepare->in_dtypes[1];
	if (sp_dtype_size(values) == 0 || values == SP_RESOURCE)
		return sp_prepare_unsupported(prepare, values, err);
	SP_TRY(sp_node_attr_type(prepare->node, "out_type", SP_STRING, type, err));
	if (*type != SP_STRING && *type != SP_VARIANT)
		return sp_prepare_unsupported(prepare, *type, err);
	return sp_prepare_outputs(prepare, 1, *type, err);
}

static sp_status make_array(const sp_call *call, const sp_shape *shape)
{
	if (*(const sp_dtype *)call->state == SP_VARIANT)
		return sp_variants_create(call, 0, shape);
	return sp_call_output(call, 0, SP_STRING, shape);
}

/* Writes the tensor as element i of the output. */
static sp_status put(const sp_call *call, size_t i, const sp_tensor *value)
{
	sp_tensor box;

	if (call->out[0]->dtype == SP_STRING)
		return sp_tensor_proto__write(call, value, SP_TEXTS_AS_CONTENT,
					      &sp_tensor_strings(call->out[0])[i]);
	SP_TRY(sp_list_wrap(call, &box, value));
	sp_variants_set(call->out[0], i, &box);
	sp_workspace_release(call->workspace, &box);
	return SP_OK;
}

/* The contents are not checked. */
static sp_status run_serialize(const sp_call *call)
{
	sp_shape three = sp_shape_vector(3);

	SP_TRY(sp_array__need_rank(call, 0, 2));
	SP_TRY(sp_array__need_rank(call, 1, 1));
	SP_TRY(sp_array__need_rank(call, 2, 1));
	SP_TRY(make_array(call, &three));
	for (size_t i = 0; i < 3; i++)
		SP_TRY(put(call, i, call->in[i]));
	return SP_OK;
}

/* Writes values first ... first + n - 1, with their indices after the row, as row `row`. */
static sp_status put_row(const sp_call *call, const sp_sparse *in, size_t row, size_t first,
			 size_t n, const sp_tensor *row_shape)
{
	size_t rank = in->rank - 1, size = sp_dtype_size(in->values->dtype);
	sp_workspace *workspace = call->workspace;
	sp_shape shape = sp_shape_matrix((int64_t)n, (int64_t)rank);
	sp_tensor indices, values;

	SP_TRY(sp_workspace_tensor(workspace, &indices, SP_INT64, &shape, call->err));
	shape = sp_shape_vector((int64_t)n);
	SP_TRY(sp_workspace_tensor(workspace, &values, in->values->dtype, &shape, call->err));
	for (size_t k = 0; k < n; k++)
		memcpy(sp_tensor_i64(&indices) + k * rank, in->indices + (first + k) * in->rank + 1,
		       rank * sizeof(int64_t));
	if (n != 0)
		memcpy(values.data, (const char *)in->values->data + first * size, n * size);
	SP_TRY(put(call, 3 * row, &indices));
	SP_TRY(put(call, 3 * row + 1, &values));
	SP_TRY(put(call, 3 * row + 2, row_shape));
	sp_workspace_release(workspace, &indices);
	sp_workspace_release(workspace, &values);
	return SP_OK;
}

/* Finds the values of each row, which must be in row order. */
static sp_status put_rows(const sp_call *call, const sp_sparse *in, const sp_tensor *row_shape)
{
	size_t first = 0, next;

	for (size_t row = 0; row < (size_t)in->dims[0]; row++, first = next) {
		next = first;
		while (next < in->count && in->indices[next * in->rank] == (int64_t)row)
			next++;
		SP_TRY(put_row(call, in, row, first, next - first, row_shape));
	}
	if (first == in->count)
		return SP_OK;
	return sp_call_invalid(
		call, "value %zu lies in row %lld: out of order, or outside of %lld rows", first,
		(long long)in->indices[first * in->rank], (long long)in->dims[0]);
}

static sp_status run_serialize_many(const sp_call *call)
{
	sp_tensor row_shape;
	sp_shape shape;
	sp_sparse in;

	SP_TRY(sp_sparse__read(call, 0, 1, 2, &in));
	if (in.rank < 2)
		return sp_call_invalid(call,
				       "Rank of input SparseTensor should be > 1, but saw "
				       "rank: %zu",
				       in.rank);
	shape = sp_shape_matrix(in.dims[0], 3);
	SP_TRY(make_array(call, &shape));
	shape = sp_shape_vector((int64_t)in.rank - 1);
	SP_TRY(sp_workspace_tensor(call->workspace, &row_shape, SP_INT64, &shape, call->err));
	memcpy(row_shape.data, in.dims + 1, (in.rank - 1) * sizeof(int64_t));
	SP_TRY(put_rows(call, &in, &row_shape));
	sp_workspace_release(call->workspace, &row_shape);
	return SP_OK;
}

/* ----------------------------------------------------------------- deserializing */

static sp_status prepare_deserialize(sp_prepare *prepare, sp_error *err)
{
	sp_dtype *dtype = sp_prepare_state(prepare, sizeof(*dtype));

	if (dtype == NULL)
		return sp_error_set(err, SP_NO_MEMORY, "no memory for a sparse tensor");
	SP_TRY(sp_prepare_inputs(prepare, 1, err));
	if (prepare->in_dtypes[0] != SP_VARIANT)
		SP_TRY(sp_prepare_input_dtype(prepare, 0, SP_STRING, err));
	SP_TRY(sp_node_attr_type(prepare->node, "dtype", SP_INVALID_DTYPE, dtype, err));
	if (sp_dtype_size(*dtype) == 0 || *dtype == SP_RESOURCE)
		return sp_prepare_unsupported(prepare, *dtype, err);
	SP_TRY(sp_prepare_outputs(prepare, 3, SP_INT64, err));
	prepare->out_dtypes[1] = *dtype;
	return SP_OK;
}

/* Reads element i of the input as a tensor of that type; the caller gets a reference. */
static sp_status take(const sp_call *call, size_t i, sp_dtype dtype, sp_tensor *out)
{
	const sp_tensor *in = call->in[0], *box;
	const sp_list *list;

	if (in->dtype == SP_STRING)
		return sp_tensor_proto__parse(call, sp_tensor_strings(in)[i], dtype, out);
	box = sp_variant_at(in, i);
	list = sp_tensor_is_set(box) ? sp_tensor_list(box) : NULL;
	if (list == NULL || list->kind != SP_LIST_RAGGED || list->count != 1 ||
	    list->dtype != dtype)
		return sp_call_invalid(call,
				       "Could not get a tensor of %s from "
				       "serialized_sparse[%zu, %zu]",
				       sp_dtype_name(dtype), i / 3, i % 3);
	*out = list->items[0];
	sp_tensor_retain(out);
	return SP_OK;
}

static sp_status read_part(const sp_call *call, size_t i, part *p)
{
	SP_TRY(take(call, 3 * i, SP_INT64, &p->indices));
	SP_TRY(take(call, 3 * i + 1, *(const sp_dtype *)call->state, &p->values));
	SP_TRY(take(call, 3 * i + 2, SP_INT64, &p->shape));
	if (p->indices.shape.rank != 2 || p->values.shape.rank != 1 || p->shape.shape.rank != 1)
		return sp_call_invalid(call,
				       "indices, values and shape %zu must be a matrix and "
				       "vectors, not of rank %d, %d and %d",
				       i, p->indices.shape.rank, p->values.shape.rank,
				       p->shape.shape.rank);
	if (p->indices.shape.dims[0] != p->values.shape.dims[0] ||
	    p->indices.shape.dims[1] != p->shape.shape.dims[0])
		return sp_call_invalid(call,
				       "indices %zu are %lld of rank %lld for %zu values in a "
				       "shape of rank %zu",
				       i, (long long)p->indices.shape.dims[0],
				       (long long)p->indices.shape.dims[1], p->values.count,
				       p->shape.count);
	for (size_t d = 0; d < p->shape.count; d++)
		if (sp_tensor_i64(&p->shape)[d] < 0)
			return sp_call_invalid(call, "a dimension of sparse tensor %zu is %lld", i,
					       (long long)sp_tensor_i64(&p->shape)[d]);
	return SP_OK;
}

static void release_parts(const sp_call *call, part *parts, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		sp_workspace_release(call->workspace, &parts[i].indices);
		sp_workspace_release(call->workspace, &parts[i].values);
		sp_workspace_release(call->workspace, &parts[i].shape);
	}
}

/* The output shape is `lead` dimensions of the input, then the maxima of the parts' dimensions. */
static sp_status make_outputs(const sp_call *call, const part *parts, size_t n, size_t lead)
{
	size_t rank = parts[0].shape.count, total = 0;
	sp_shape shape = sp_shape_vector((int64_t)(lead + rank));
	int64_t *dims;

	SP_TRY(sp_call_output(call, 2, SP_INT64, &shape));
	dims = sp_tensor_i64(call->out[2]);
	memset(dims, 0, (lead + rank) * sizeof(*dims));
	for (size_t d = 0; d < lead; d++)
		dims[d] = call->in[0]->shape.dims[d];
	for (size_t i = 0; i < n; i++) {
		if (parts[i].shape.count != rank)
			return sp_call_invalid(
				call, "Inconsistent rank across SparseTensors: %zu and %zu", rank,
				parts[i].shape.count);
		for (size_t d = 0; d < rank; d++)
			if (sp_tensor_i64(&parts[i].shape)[d] > dims[lead + d])
				dims[lead + d] = sp_tensor_i64(&parts[i].shape)[d];
		total += parts[i].values.count;
	}
	shape = sp_shape_matrix((int64_t)total, (int64_t)(lead + rank));
	SP_TRY(sp_call_output(call, 0, SP_INT64, &shape));
	shape = sp_shape_vector((int64_t)total);
	return sp_call_output(call, 1, *(const sp_dtype *)call->state, &shape);
}

static void join(const sp_call *call, const part *parts, size_t n, size_t lead)
{
	const sp_shape *shape = &call->in[0]->shape;
	size_t rank = parts[0].shape.count, size = sp_dtype_size(call->out[1]->dtype);
	int64_t *index = sp_tensor_i64(call->out[0]);
	char *values = call->out[1]->data;

	for (size_t i = 0; i < n; i++) {
		const part *p = &parts[i];

		for (size_t k = 0; k < p->values.count; k++, index += lead + rank) {
			size_t place = i;

			for (size_t d = lead; d-- > 0; place /= (size_t)shape->dims[d])
				index[d] = (int64_t)(place % (size_t)shape->dims[d]);
			for (size_t d = 0; d < rank; d++)
				index[lead + d] = sp_tensor_i64(&p->indices)[k * rank + d];
		}
		if (p->values.count != 0)
			memcpy(values, p->values.data, p->values.count * size);
		values += p->values.count * size;
	}
}

static sp_status run_deserialize(const sp_call *call)
{
	const sp_tensor *in = call->in[0];
	size_t lead, n = in->count / 3;
	part *parts;

	if (in->shape.rank == 0 || in->shape.dims[in->shape.rank - 1] != 3)
		return sp_call_invalid(call,
				       "Serialized sparse should have 3 as the last dimension");
	if (n == 0)
		return sp_call_invalid(call, "Serialized sparse should have at least 1 tensor");
	parts = sp_call_bytes(call, n, sizeof(*parts));
	if (parts == NULL)
		return sp_call_no_memory(call);
	for (size_t i = 0; i < n; i++)
		SP_TRY(read_part(call, i, &parts[i]));
	lead = (size_t)in->shape.rank - 1;
	SP_TRY(make_outputs(call, parts, n, lead));
	join(call, parts, n, lead);
	release_parts(call, parts, n);
	return SP_OK;
}

SP_DEFINE_OP(SerializeSparse, NULL, SP_OP_PER_REQUEST, prepare_serialize, run_serialize);
SP_DEFINE_OP(SerializeManySparse, NULL, SP_OP_PER_REQUEST, prepare_serialize, run_serialize_many);
SP_DEFINE_OP(DeserializeSparse, "sparse_indices sparse_values sparse_shape", 0, prepare_deserialize,
	     run_deserialize);
SP_DEFINE_OP(DeserializeManySparse, "sparse_indices sparse_values sparse_shape", 0,
	     prepare_deserialize, run_deserialize);
