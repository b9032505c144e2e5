#include "engine/ops/sparse/sparse.h"

sp_status sp_sparse__read(const sp_call *call, size_t indices, size_t values, size_t shape,
			  sp_sparse *out)
{
	const sp_tensor *i = call->in[indices], *v = call->in[values], *s = call->in[shape];

	if (i->shape.rank != 2)
		return sp_call_invalid(call, "sparse indices must be a matrix, not of rank %d",
				       i->shape.rank);
	if (v->shape.rank != 1)
		return sp_call_invalid(call, "sparse values must be a vector, not of rank %d",
				       v->shape.rank);
	if (s->shape.rank != 1)
		return sp_call_invalid(call, "a sparse shape must be a vector, not of rank %d",
				       s->shape.rank);
	if (i->shape.dims[0] != v->shape.dims[0])
		return sp_call_invalid(call, "%lld sparse indices for %lld values",
				       (long long)i->shape.dims[0], (long long)v->shape.dims[0]);
	if (i->shape.dims[1] != s->shape.dims[0])
		return sp_call_invalid(call, "sparse indices of rank %lld in a shape of rank %lld",
				       (long long)i->shape.dims[1], (long long)s->shape.dims[0]);
	if (s->count > SP_SPARSE_MAX_RANK)
		return sp_call_invalid(call, "a sparse shape of rank %zu is too large", s->count);
	for (size_t d = 0; d < s->count; d++)
		if (sp_tensor_i64(s)[d] < 0)
			return sp_call_invalid(call, "dimension %zu of a sparse shape is %lld", d,
					       (long long)sp_tensor_i64(s)[d]);
	*out = (sp_sparse){.indices = sp_tensor_i64(i),
			   .values = v,
			   .dims = sp_tensor_i64(s),
			   .count = v->count,
			   .rank = s->count};
	return SP_OK;
}

const char *sp_sparse__index_text(const int64_t *index, size_t rank, char text[SP_SHAPE_TEXT_SIZE])
{
	sp_shape shape = {.rank = rank < SP_MAX_RANK ? (int32_t)rank : SP_MAX_RANK};

	for (int32_t i = 0; i < shape.rank; i++)
		shape.dims[i] = index[i];
	return sp_shape_text(&shape, text);
}

bool sp_sparse__is_ordered(const int64_t *indices, size_t count, size_t rank)
{
	size_t ordered = 1;

	while (ordered < count && sp_sparse__compare(indices + (ordered - 1) * rank,
						     indices + ordered * rank, rank) < 0)
		ordered++;
	return ordered >= count;
}

/* Merges adjacent sorted runs of `run` numbers in `from`. */
static void merge_runs(const int64_t *indices, size_t rank, const size_t *from, size_t *to,
		       size_t count, size_t run)
{
	for (size_t start = 0; start < count; start += 2 * run) {
		size_t middle = count - start < run ? count : start + run;
		size_t end = count - middle < run ? count : middle + run;

		for (size_t i = start, j = middle, k = start; k < end; k++) {
			bool first = j == end ||
				     (i < middle &&
				      sp_sparse__compare(indices + from[i] * rank,
							 indices + from[j] * rank, rank) <= 0);

			to[k] = first ? from[i++] : from[j++];
		}
	}
}

sp_status sp_sparse__order(const sp_call *call, const int64_t *indices, size_t count, size_t rank,
			   const size_t **out)
{
	size_t *order, *merged;

	*out = NULL;
	if (sp_sparse__is_ordered(indices, count, rank))
		return SP_OK;
	SP_CALL_ARRAY(order, call, count);
	SP_CALL_ARRAY(merged, call, count);
	for (size_t i = 0; i < count; i++)
		order[i] = i;
	for (size_t run = 1; run < count; run *= 2) {
		size_t *sorted = merged;

		merge_runs(indices, rank, order, sorted, count, run);
		merged = order;
		order = sorted;
	}
	*out = order;
	return SP_OK;
}
