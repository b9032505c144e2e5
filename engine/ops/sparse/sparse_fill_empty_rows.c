#include "engine/graph/op.h"

#include "engine/ops/array/elements.h"
#include "engine/ops/sparse/sparse.h"

/* SparseFillEmptyRows: adds the default value in column 0 of every row without values. */
typedef struct fill {
	sp_sparse in;
	int64_t rows;
	int64_t *next; /* [rows] where the next value of a row goes */
	bool ordered;  /* the values are in row order */
	bool full;     /* no row is empty */
	int64_t total; /* values of the output */
} fill;

/* Counts the values of every row into next[row]. */
static sp_status count_rows(const sp_call *call, fill *f)
{
	int64_t last = 0;

	memset(f->next, 0, (size_t)f->rows * sizeof(*f->next));
	f->ordered = true;
	for (size_t i = 0; i < f->in.count; i++) {
		int64_t row = f->in.indices[i * f->in.rank];

		if (row < 0 || row >= f->rows)
			return sp_call_invalid(call, "indices(%zu, 0) is %lld, not in [0, %lld)", i,
					       (long long)row, (long long)f->rows);
		f->next[row]++;
		f->ordered = f->ordered && row >= last;
		last = row;
	}
	return SP_OK;
}

/* Converts the counts to the index of each row's first value. */
static void place_rows(fill *f, bool *is_empty)
{
	int64_t place = 0;

	f->full = true;
	for (int64_t row = 0; row < f->rows; row++) {
		int64_t count = f->next[row];

		is_empty[row] = count == 0;
		f->full = f->full && count != 0;
		f->next[row] = place;
		place += count != 0 ? count : 1;
	}
	f->total = place;
}

static sp_status forward(const sp_call *call)
{
	int64_t *reverse = sp_tensor_i64(call->out[3]);

	sp_call_forward(call, 0, 0, &call->in[0]->shape);
	sp_call_forward(call, 1, 1, &call->in[1]->shape);
	for (size_t i = 0; i < call->out[3]->count; i++)
		reverse[i] = (int64_t)i;
	return SP_OK;
}

static sp_status write(const sp_call *call, fill *f, const bool *is_empty)
{
	size_t size = sp_dtype_size(f->in.values->dtype), rank = f->in.rank;
	int64_t *indices, *reverse = sp_tensor_i64(call->out[3]);

	SP_TRY(sp_call_output_matrix(call, 0, SP_INT64, f->total, (int64_t)rank));
	SP_TRY(sp_call_output_vector(call, 1, f->in.values->dtype, f->total));
	indices = sp_tensor_i64(call->out[0]);
	for (int64_t row = 0; row < f->rows; row++) {
		int64_t *index = indices + (size_t)f->next[row] * rank;

		if (!is_empty[row])
			continue;
		memset(index, 0, rank * sizeof(*index));
		index[0] = row;
		sp_element__copy(call->out[1]->data, (size_t)f->next[row], call->in[3]->data, 0,
				 size);
	}
	for (size_t i = 0; i < f->in.count; i++) {
		const int64_t *index = f->in.indices + i * rank;
		int64_t place = f->next[index[0]]++;

		memcpy(indices + (size_t)place * rank, index, rank * sizeof(*index));
		sp_element__copy(call->out[1]->data, (size_t)place, f->in.values->data, i, size);
		reverse[i] = place;
	}
	return SP_OK;
}

static sp_status run_fill(const sp_call *call)
{
	bool *is_empty;
	fill f;

	SP_TRY(sp_sparse__read(call, 0, 1, 2, &f.in));
	if (f.in.rank == 0)
		return sp_call_invalid(call, "dense shape cannot be empty");
	f.rows = f.in.dims[0];
	SP_TRY(sp_call_need_rank(call, 3, 0));
	if (f.rows == 0 && f.in.count != 0)
		return sp_call_invalid(call, "a tensor without rows has %zu values", f.in.count);
	SP_TRY(sp_call_output_vector(call, 2, SP_BOOL, f.rows));
	SP_TRY(sp_call_output_vector(call, 3, SP_INT64, (int64_t)f.in.count));
	SP_CALL_ARRAY(f.next, call, (size_t)f.rows);
	is_empty = sp_tensor_bool(call->out[2]);
	SP_TRY(count_rows(call, &f));
	place_rows(&f, is_empty);
	if (f.full && f.ordered && f.rows != 0)
		return forward(call);
	return write(call, &f, is_empty);
}

SP_DEFINE_TYPED_OP(SparseFillEmptyRows,
		   "output_indices output_values empty_row_indicator reverse_index_map",
		   SP_OP_MOVES, "int64 T int64 T -> int64 T bool int64", run_fill);
