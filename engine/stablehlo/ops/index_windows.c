#include "engine/stablehlo/ops/index_windows.h"

sp_status sp_window_dims__read(sp_window_dims *out, const sp_prepare *prepare, sp_error *err)
{
	const sp_dim_field fields[] = {
		{1, &out->window, NULL},   {2, &out->dropped, NULL},
		{3, &out->starts, NULL},   {4, NULL, &out->vector},
		{5, &out->batching, NULL}, {6, &out->indices_batching, NULL}};

	return sp_dimension_numbers__read(prepare, fields, 6, err);
}

/* ------------------------------------------------------------ the checks */

static sp_status check_vector(const sp_windows *w, const sp_call *call, const sp_window_dims *dims)
{
	if (dims->vector < 0 || dims->vector > w->indices->shape.rank)
		return sp_call_invalid(call, "index_vector_dim is %lld for indices of rank %d",
				       (long long)dims->vector, w->indices->shape.rank);
	if (dims->starts.count != w->depth)
		return sp_call_invalid(call, "vectors of %d indices stand for %d dimensions",
				       w->depth, dims->starts.count);
	return SP_OK;
}

/* Window dimensions that `parts` lacks must have size 1. */
static sp_status check_left_out(const sp_call *call, const sp_dim_list *list, const int64_t *sizes)
{
	for (int i = 0; i < list->count; i++)
		if (sizes[list->dims[i]] != 1)
			return sp_call_invalid(call, "a window of %lld leaves out dimension %lld",
					       (long long)sizes[list->dims[i]],
					       (long long)list->dims[i]);
	return SP_OK;
}

static sp_status check_batching(const sp_windows *w, const sp_call *call,
				const sp_window_dims *dims, const sp_shape *operand)
{
	const sp_shape *indices = &w->indices->shape;

	SP_TRY(sp_dim_list__check(&dims->batching, call, operand->rank, "batching dimensions"));
	SP_TRY(sp_dim_list__check(&dims->indices_batching, call, indices->rank,
				  "batching dimensions of the indices"));
	if (dims->batching.count != dims->indices_batching.count)
		return sp_call_invalid(call,
				       "%d batching dimensions are paired with %d of the indices",
				       dims->indices_batching.count, dims->batching.count);
	for (int i = 0; i < dims->batching.count; i++) {
		int64_t d = dims->batching.dims[i], k = dims->indices_batching.dims[i];

		if (k == dims->vector || operand->dims[d] != indices->dims[k])
			return sp_call_invalid(
				call, "batching dimension %lld does not fit %lld of indices",
				(long long)d, (long long)k);
		if (sp_dim_list__has(&dims->starts, d) || sp_dim_list__has(&dims->dropped, d))
			return sp_call_invalid(call, "dimension %lld has two roles", (long long)d);
	}
	return SP_OK;
}

static sp_status check_sizes(const sp_call *call, const sp_shape *operand, const int64_t *sizes)
{
	for (int d = 0; d < operand->rank; d++)
		if (sizes[d] < 0 || sizes[d] > operand->dims[d])
			return sp_call_invalid(call, "windows of %lld in dimension %d, of %lld",
					       (long long)sizes[d], d, (long long)operand->dims[d]);
	return SP_OK;
}

/* Whether operand dimension d is a dimension of `parts`. */
static bool is_kept(const sp_window_dims *dims, int d)
{
	return !sp_dim_list__has(&dims->dropped, d) && !sp_dim_list__has(&dims->batching, d);
}

/* The dimensions of `parts`: those in `window` are the window's, the others those of `indices`. */
static void merge_shapes(sp_windows *w, const sp_window_dims *dims, const int64_t *sizes)
{
	const sp_shape *indices = &w->indices->shape;
	int from_window = 0, from_indices = 0;

	for (int d = 0; d < w->parts.rank; d++) {
		if (sp_dim_list__has(&dims->window, d)) {
			while (!is_kept(dims, from_window))
				from_window++;
			w->parts.dims[d] = sizes[from_window++];
			continue;
		}
		from_indices += from_indices == dims->vector;
		w->parts.dims[d] = indices->dims[from_indices++];
	}
}

sp_status sp_windows__plan(sp_windows *w, const sp_call *call, const sp_window_dims *dims,
			   const sp_shape *operand, const sp_tensor *indices, const int64_t *sizes)
{
	bool has_vectors = dims->vector != indices->shape.rank;
	int batch = indices->shape.rank - has_vectors;

	*w = (sp_windows){.indices = indices, .depth = 1};
	if (has_vectors && dims->vector >= 0 && dims->vector < indices->shape.rank)
		w->depth = indices->shape.dims[dims->vector] <= SP_MAX_RANK
				   ? (int)indices->shape.dims[dims->vector]
				   : SP_MAX_RANK + 1;
	SP_TRY(check_vector(w, call, dims));
	SP_TRY(sp_dim_list__check(&dims->starts, call, operand->rank, "the index map"));
	SP_TRY(sp_dim_list__check_sorted(&dims->dropped, call, operand->rank,
					 "the list of dropped dimensions"));
	SP_TRY(check_batching(w, call, dims, operand));
	if (dims->window.count + dims->dropped.count + dims->batching.count != operand->rank)
		return sp_call_invalid(call, "%d dimensions of windows and %d left out are not %d",
				       dims->window.count,
				       dims->dropped.count + dims->batching.count, operand->rank);
	w->parts.rank = batch + dims->window.count;
	if (w->parts.rank > SP_MAX_RANK)
		return sp_error_set(call->err, SP_UNSUPPORTED, "windows of %d dimensions in all",
				    w->parts.rank);
	SP_TRY(sp_dim_list__check_sorted(&dims->window, call, w->parts.rank,
					 "the dimensions of windows"));
	SP_TRY(check_sizes(call, operand, sizes));
	SP_TRY(check_left_out(call, &dims->dropped, sizes));
	SP_TRY(check_left_out(call, &dims->batching, sizes));
	merge_shapes(w, dims, sizes);
	return SP_OK;
}

/* -------------------------------------------------------------- the walk */

static void start_vector(sp_windows *w, const sp_window_dims *dims, const sp_shape *operand,
			 const int64_t *sizes, const int64_t *strides)
{
	for (int k = 0; k < w->depth; k++) {
		int64_t d = dims->starts.dims[k];

		w->start_strides[k] = strides[d];
		w->start_limits[k] = operand->dims[d] - sizes[d];
	}
}

static void add_step(sp_windows *w, const sp_window_dims *dims, int indices_dim, int64_t dim,
		     int64_t vector, int64_t part, const int64_t *strides)
{
	w->dims[w->rank] = dim;
	w->vector_steps[w->rank] = vector;
	w->part_steps[w->rank] = part;
	for (int k = 0; k < dims->batching.count; k++)
		if (dims->indices_batching.dims[k] == indices_dim)
			w->operand_steps[w->rank] = strides[dims->batching.dims[k]];
	w->rank++;
}

static void find_row(sp_windows *w, size_t size)
{
	int64_t stride = (int64_t)size;

	w->is_row = true;
	for (int i = w->strided.rank - 1; i >= 0; i--) {
		if (w->strided.dims[i] == 1)
			continue;
		if (w->strided.to[i] != stride || w->strided.from[i] != stride)
			w->is_row = false;
		stride *= w->strided.dims[i];
	}
	w->row_size = (size_t)stride;
}

void sp_windows__start(sp_windows *w, const sp_window_dims *dims, const sp_shape *operand,
		       const int64_t *sizes, size_t size)
{
	int64_t strides[SP_MAX_RANK], part_strides[SP_MAX_RANK], vectors[SP_MAX_RANK];
	int from_window = 0, from_indices = 0;

	sp_strided_copy__strides(operand, size, strides);
	sp_strided_copy__strides(&w->parts, size, part_strides);
	sp_strided_copy__strides(&w->indices->shape, 1, vectors);
	w->vector_stride = dims->vector < w->indices->shape.rank ? vectors[dims->vector] : 1;
	start_vector(w, dims, operand, sizes, strides);
	for (int d = 0; d < w->parts.rank; d++) {
		if (sp_dim_list__has(&dims->window, d)) {
			while (!is_kept(dims, from_window))
				from_window++;
			sp_strided_copy__add(&w->strided, sizes[from_window], part_strides[d],
					     strides[from_window]);
			from_window++;
			continue;
		}
		from_indices += from_indices == dims->vector;
		add_step(w, dims, from_indices, w->parts.dims[d], vectors[from_indices],
			 part_strides[d], strides);
		from_indices++;
	}
	find_row(w, size);
}

bool sp_windows__next(sp_windows *w)
{
	for (int i = w->rank - 1; i >= 0; i--) {
		w->vector_at += w->vector_steps[i];
		w->part_at += w->part_steps[i];
		w->operand_at += w->operand_steps[i];
		if (++w->index[i] < w->dims[i])
			return true;
		w->vector_at -= w->vector_steps[i] * w->dims[i];
		w->part_at -= w->part_steps[i] * w->dims[i];
		w->operand_at -= w->operand_steps[i] * w->dims[i];
		w->index[i] = 0;
	}
	return false;
}

int64_t sp_windows__clamped(const sp_windows *w)
{
	int64_t at = w->operand_at;

	for (int k = 0; k < w->depth; k++) {
		int64_t start = sp_tensor_index(w->indices,
						(size_t)(w->vector_at + k * w->vector_stride));

		start = start > w->start_limits[k] ? w->start_limits[k] : start;
		at += start > 0 ? start * w->start_strides[k] : 0;
	}
	return at;
}

bool sp_windows__inside(const sp_windows *w, int64_t *at)
{
	*at = w->operand_at;
	for (int k = 0; k < w->depth; k++) {
		int64_t start = sp_tensor_index(w->indices,
						(size_t)(w->vector_at + k * w->vector_stride));

		if (start < 0 || start > w->start_limits[k])
			return false;
		*at += start * w->start_strides[k];
	}
	return true;
}
