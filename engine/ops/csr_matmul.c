#include <complex.h>
#include <string.h>

#include "engine/ops/array.h"
#include "engine/ops/cells.h"
#include "engine/ops/complex.h"
#include "engine/ops/csr.h"
#include "engine/ops/elements.h"

/*
 * Products of sparse matrices (engine/ops/csr.h):
 *
 *   SparseMatrixTranspose     rows become columns; on demand conjugated
 *   SparseMatrixMatMul        a b of a dense b [(batch,) rows, columns], dense; each of the three
 *                             may be transposed, or conjugated besides
 *   SparseMatrixSparseMatMul  a b of a sparse b, sparse: a value wherever one may be other than
 *                             0, by columns; a batch of one goes with any other
 *
 * float, double, complex64 and complex128.
 *
 * Numerics: added in the element type, by the order of a's values; of the last one in double.
 */
typedef struct csr_state {
	sp_dtype dtype;
	bool transpose_a, transpose_b, conjugate_a, conjugate_b;
	bool transpose_out, conjugate_out;
} csr_state;

/* transpose_x or adjoint_x, but not both. */
static sp_status read_turn(const sp_prepare *prepare, const char *transpose, const char *adjoint,
			   bool *turned, bool *conjugated, sp_error *err)
{
	SP_TRY(sp_node_attr_bool(prepare->node, transpose, false, turned, err));
	SP_TRY(sp_node_attr_bool(prepare->node, adjoint, false, conjugated, err));
	if (*turned && *conjugated)
		return sp_error_set(err, SP_INVALID, "%s and %s exclude each other", transpose,
				    adjoint);
	*turned |= *conjugated;
	return SP_OK;
}

static sp_status prepare_any(sp_prepare *prepare, size_t inputs, const char *type, csr_state **out,
			     sp_error *err)
{
	csr_state *state = sp_prepare_state(prepare, sizeof(*state));

	*out = state;
	if (state == NULL)
		return sp_error_set(err, SP_NO_MEMORY, "no memory for an operator");
	SP_TRY(sp_csr__prepare(prepare, inputs, type, &state->dtype, err));
	if (inputs == 1)
		return SP_OK;
	SP_TRY(read_turn(prepare, "transpose_a", "adjoint_a", &state->transpose_a,
			 &state->conjugate_a, err));
	return read_turn(prepare, "transpose_b", "adjoint_b", &state->transpose_b,
			 &state->conjugate_b, err);
}

/* -------------------------------------------------------------------- transpose */

static void swap_last(sp_shape *shape)
{
	int64_t rows = shape->dims[shape->rank - 2];

	shape->dims[shape->rank - 2] = shape->dims[shape->rank - 1];
	shape->dims[shape->rank - 1] = rows;
}

/* Places of the values of `to` in `from`, whose columns become rows: order[place] [count]. */
static void turn(const sp_csr *from, sp_csr *to, size_t *order, int32_t *next)
{
	memset(to->rows, 0, to->batch * (to->height + 1) * sizeof(*to->rows));
	for (size_t b = 0; b < from->batch; b++)
		for (int32_t j = from->batches[b]; j < from->batches[b + 1]; j++)
			to->rows[b * (to->height + 1) + (size_t)from->columns[j] + 1]++;
	sp_csr__add_up(to);
	for (size_t b = 0; b < from->batch; b++) {
		memcpy(next, to->rows + b * (to->height + 1), to->height * sizeof(*next));
		for (size_t i = 0; i < from->height; i++)
			for (size_t j = sp_csr__first(from, b, i); j < sp_csr__end(from, b, i);
			     j++) {
				size_t at = (size_t)to->batches[b] +
					    (size_t)next[from->columns[j]]++;

				to->columns[at] = (int32_t)i;
				order[at] = j;
			}
	}
}

static sp_status prepare_transpose(sp_prepare *prepare, sp_error *err)
{
	csr_state *state;

	SP_TRY(prepare_any(prepare, 1, "type", &state, err));
	SP_TRY(sp_node_attr_bool(prepare->node, "conjugate", false, &state->conjugate_out, err));
	return sp_prepare_outputs(prepare, 1, SP_VARIANT, err);
}

static sp_status run_transpose(const sp_call *call)
{
	const csr_state *state = call->state;
	sp_csr from = {0}, to;
	sp_shape shape;
	size_t *order;
	int32_t *next;

	SP_TRY(sp_csr__read(call, 0, state->dtype, &from));
	shape = from.shape;
	swap_last(&shape);
	SP_TRY(sp_csr__create(call, &shape, from.values.count, state->dtype, &to));
	order = sp_call_bytes(call, from.values.count, sizeof(*order));
	next = sp_call_bytes(call, to.height, sizeof(*next));
	if (order == NULL || next == NULL)
		return sp_call_no_memory(call);
	turn(&from, &to, order, next);
	for (size_t i = 0; i < from.values.count; i++)
		sp_element__copy(to.values.data, i, from.values.data, order[i],
				 sp_dtype_size(state->dtype));
	if (state->conjugate_out && sp_dtype_is_complex(state->dtype))
		sp_complex__conjugate(to.values.data, to.values.data, to.values.count,
				      state->dtype);
	return SP_OK;
}

/* ---------------------------------------------------------------- times a dense one */

/* out[m, n] += a[m, k] b[k, n] of one matrix; strides are in elements. */
typedef struct product {
	const sp_csr *a;
	size_t which;
	const void *b;
	void *out;
	size_t b_row, b_column, out_row, out_column, columns;
	bool transpose_a, conjugate_a, conjugate_b;
} product;

#define MULTIPLY(type, CONJUGATE)                                                                \
	static void multiply_##type(const product *p)                                            \
	{                                                                                        \
		const sp_cell_##type *values = p->a->values.data;                                \
                                                                                                 \
		for (size_t i = 0; i < p->a->height; i++)                                        \
			for (size_t j = sp_csr__first(p->a, p->which, i);                        \
			     j < sp_csr__end(p->a, p->which, i); j++) {                          \
				size_t k = (size_t)p->a->columns[j];                             \
				size_t m = p->transpose_a ? k : i, l = p->transpose_a ? i : k;   \
				const sp_cell_##type *b = (const sp_cell_##type *)p->b +         \
							  l * p->b_row;                          \
				sp_cell_##type *out = (sp_cell_##type *)p->out + m * p->out_row; \
				sp_cell_##type x = values[j];                                    \
                                                                                                 \
				if (p->conjugate_a)                                              \
					x = CONJUGATE(x);                                        \
				for (size_t n = 0; n < p->columns; n++) {                        \
					sp_cell_##type y = b[n * p->b_column];                   \
                                                                                                 \
					out[n * p->out_column] += x * (p->conjugate_b            \
									       ? CONJUGATE(y)    \
									       : y);             \
				}                                                                \
			}                                                                        \
	}

MULTIPLY(f32, )
MULTIPLY(f64, )
MULTIPLY(c64, conjf)
MULTIPLY(c128, conj)

static void (*const multiplies[SP_DTYPE_COUNT])(const product *p) = {
	[SP_FLOAT] = multiply_f32,
	[SP_DOUBLE] = multiply_f64,
	SP_TABLE_COMPLEX(multiply),
};

static sp_status prepare_times_dense(sp_prepare *prepare, sp_error *err)
{
	csr_state *state;

	SP_TRY(prepare_any(prepare, 2, "T", &state, err));
	SP_TRY(sp_prepare_input_dtype(prepare, 1, state->dtype, err));
	SP_TRY(sp_node_attr_bool(prepare->node, "transpose_output", false, &state->transpose_out,
				 err));
	SP_TRY(sp_node_attr_bool(prepare->node, "conjugate_output", false, &state->conjugate_out,
				 err));
	return sp_prepare_outputs(prepare, 1, state->dtype, err);
}

/* The shape of a times b. */
static sp_status find_shape(const sp_call *call, const sp_csr *a, const sp_shape *b,
			    bool may_broadcast, sp_shape *out)
{
	const csr_state *state = call->state;
	char a_text[SP_SHAPE_TEXT_SIZE], b_text[SP_SHAPE_TEXT_SIZE];
	sp_shape left = a->shape, right = *b;
	int last = left.rank - 1;
	bool batches = last < 2 || left.dims[0] == right.dims[0] ||
		       (may_broadcast && (left.dims[0] == 1 || right.dims[0] == 1));

	if (right.rank != left.rank || !batches)
		return sp_call_invalid(call, "matrices of shape %s times ones of shape %s",
				       sp_shape_text(&a->shape, a_text), sp_shape_text(b, b_text));
	if (state->transpose_a)
		swap_last(&left);
	if (state->transpose_b)
		swap_last(&right);
	if (left.dims[last] != right.dims[last - 1])
		return sp_call_invalid(call, "matrices of shape %s times ones of shape %s",
				       sp_shape_text(&left, a_text), sp_shape_text(&right, b_text));
	*out = left;
	out->dims[last] = right.dims[last];
	if (last == 2 && left.dims[0] == 1)
		out->dims[0] = right.dims[0];
	return SP_OK;
}

static sp_status run_times_dense(const sp_call *call)
{
	const csr_state *state = call->state;
	const sp_tensor *b = call->in[1];
	size_t size = sp_dtype_size(state->dtype), rows, columns, inner;
	sp_csr a = {0};
	product p = {.a = &a};
	sp_shape shape;

	SP_TRY(sp_csr__read(call, 0, state->dtype, &a));
	SP_TRY(find_shape(call, &a, &b->shape, false, &shape));
	rows = (size_t)shape.dims[shape.rank - 2];
	columns = (size_t)shape.dims[shape.rank - 1];
	inner = state->transpose_a ? a.height : a.width;
	if (state->transpose_out)
		swap_last(&shape);
	SP_TRY(sp_call_output(call, 0, state->dtype, &shape));
	if (call->out[0]->count == 0)
		return SP_OK;
	memset(call->out[0]->data, 0, call->out[0]->count * size);
	p.columns = columns;
	p.b_row = state->transpose_b ? 1 : columns;
	p.b_column = state->transpose_b ? inner : 1;
	p.out_row = state->transpose_out ? 1 : columns;
	p.out_column = state->transpose_out ? rows : 1;
	p.transpose_a = state->transpose_a;
	p.conjugate_a = state->conjugate_a;
	p.conjugate_b = state->conjugate_b;
	for (p.which = 0; p.which < a.batch; p.which++) {
		p.b = (const char *)b->data + p.which * inner * columns * size;
		p.out = (char *)call->out[0]->data + p.which * rows * columns * size;
		multiplies[state->dtype](&p);
	}
	if (state->conjugate_out && sp_dtype_is_complex(state->dtype))
		sp_complex__conjugate(call->out[0]->data, call->out[0]->data, call->out[0]->count,
				      state->dtype);
	return SP_OK;
}

/* ---------------------------------------------------------------- times a sparse one */

/* A matrix as it is multiplied: turned, and with values as complex numbers. */
typedef struct factor {
	sp_csr m;
	double complex *values;
} factor;

static double complex get(const sp_tensor *t, size_t i)
{
	switch (t->dtype) {
	case SP_FLOAT:
		return (double)sp_tensor_f32(t)[i];
	case SP_DOUBLE:
		return sp_tensor_f64(t)[i];
	case SP_COMPLEX64:
		return ((const float complex *)t->data)[i];
	default:
		return ((const double complex *)t->data)[i];
	}
}

static void put(const sp_tensor *t, size_t i, double complex x)
{
	switch (t->dtype) {
	case SP_FLOAT:
		sp_tensor_f32(t)[i] = (float)creal(x);
		break;
	case SP_DOUBLE:
		sp_tensor_f64(t)[i] = creal(x);
		break;
	case SP_COMPLEX64:
		((float complex *)t->data)[i] = (float complex)x;
		break;
	default:
		((double complex *)t->data)[i] = x;
	}
}

static sp_status turn_factor(const sp_call *call, factor *f, size_t *order)
{
	sp_csr from = f->m;
	int32_t *next;

	swap_last(&f->m.shape);
	f->m.height = from.width;
	f->m.width = from.height;
	f->m.batches = sp_call_bytes(call, from.batch + 1, sizeof(int32_t));
	f->m.rows = sp_call_bytes(call, from.batch * (from.width + 1), sizeof(int32_t));
	f->m.columns = sp_call_bytes(call, from.values.count, sizeof(int32_t));
	next = sp_call_bytes(call, from.width, sizeof(*next));
	if (f->m.batches == NULL || f->m.rows == NULL || f->m.columns == NULL || next == NULL)
		return sp_call_no_memory(call);
	turn(&from, &f->m, order, next);
	return SP_OK;
}

static sp_status read_factor(const sp_call *call, size_t i, bool turned, bool conjugated, factor *f)
{
	const csr_state *state = call->state;
	size_t *order, count;

	SP_TRY(sp_csr__read(call, i, state->dtype, &f->m));
	count = f->m.values.count;
	order = sp_call_bytes(call, count, sizeof(*order));
	f->values = sp_call_bytes(call, count, sizeof(*f->values));
	if (order == NULL || f->values == NULL)
		return sp_call_no_memory(call);
	for (size_t j = 0; j < count; j++)
		order[j] = j;
	if (turned)
		SP_TRY(turn_factor(call, f, order));
	for (size_t j = 0; j < count; j++) {
		f->values[j] = get(&f->m.values, order[j]);
		if (conjugated)
			f->values[j] = conj(f->values[j]);
	}
	return SP_OK;
}

/* A row of the answer: the columns that there are, in no order, and a sum for each. */
typedef struct row {
	int32_t *columns;
	size_t count;
	size_t *seen; /* [width] number of the row, and 1, that last had it */
	double complex *sums;
} row;

static void add_row(const factor *a, const factor *b, size_t which, size_t i, row *r)
{
	size_t stamp = which * a->m.height + i + 1;
	size_t left = a->m.batch == 1 ? 0 : which, right = b->m.batch == 1 ? 0 : which;

	r->count = 0;
	for (size_t j = sp_csr__first(&a->m, left, i); j < sp_csr__end(&a->m, left, i); j++) {
		size_t k = (size_t)a->m.columns[j];

		for (size_t l = sp_csr__first(&b->m, right, k); l < sp_csr__end(&b->m, right, k);
		     l++) {
			size_t column = (size_t)b->m.columns[l];

			if (r->seen[column] != stamp) {
				r->seen[column] = stamp;
				r->sums[column] = 0;
				r->columns[r->count++] = (int32_t)column;
			}
			r->sums[column] += a->values[j] * b->values[l];
		}
	}
}

static void sift_down(int32_t *heap, size_t count, size_t i)
{
	int32_t moved = heap[i];

	for (size_t child = 2 * i + 1; child < count; child = 2 * i + 1) {
		if (child + 1 < count && heap[child + 1] > heap[child])
			child++;
		if (heap[child] <= moved)
			break;
		heap[i] = heap[child];
		i = child;
	}
	heap[i] = moved;
}

static void sort(int32_t *items, size_t count)
{
	for (size_t i = count / 2; i-- > 0;)
		sift_down(items, count, i);
	while (count > 1) {
		int32_t last = items[--count];

		items[count] = items[0];
		items[0] = last;
		sift_down(items, count, 0);
	}
}

static sp_status make_row(const sp_call *call, size_t width, row *r)
{
	*r = (row){.columns = sp_call_bytes(call, width, sizeof(*r->columns)),
		   .seen = sp_call_bytes(call, width, sizeof(*r->seen)),
		   .sums = sp_call_bytes(call, width, sizeof(*r->sums))};
	if (r->columns == NULL || r->seen == NULL || r->sums == NULL)
		return sp_call_no_memory(call);
	memset(r->seen, 0, width * sizeof(*r->seen));
	return SP_OK;
}

/* Twice over all rows: once to count, while there may be as many, once to put them down. */
static sp_status multiply_sparse(const sp_call *call, const factor *a, const factor *b,
				 const sp_shape *shape)
{
	const csr_state *state = call->state;
	size_t batch = shape->rank == 3 ? (size_t)shape->dims[0] : 1;
	size_t height = a->m.height, total = 0;
	sp_csr out;
	row r;

	SP_TRY(make_row(call, b->m.width, &r));
	for (size_t i = 0; i < batch * height && total <= INT32_MAX; i++, total += r.count)
		add_row(a, b, i / height, i % height, &r);
	SP_TRY(sp_csr__create(call, shape, total, state->dtype, &out));
	memset(out.rows, 0, out.batch * (out.height + 1) * sizeof(*out.rows));
	memset(r.seen, 0, b->m.width * sizeof(*r.seen));
	total = 0;
	for (size_t i = 0; i < batch * height; i++) {
		add_row(a, b, i / height, i % height, &r);
		sort(r.columns, r.count);
		for (size_t j = 0; j < r.count; j++, total++) {
			out.columns[total] = r.columns[j];
			put(&out.values, total, r.sums[r.columns[j]]);
		}
		out.rows[i / height * (height + 1) + i % height + 1] = (int32_t)r.count;
	}
	sp_csr__add_up(&out);
	return SP_OK;
}

static sp_status run_times_sparse(const sp_call *call)
{
	const csr_state *state = call->state;
	sp_csr left = {0}, right = {0};
	factor a = {0}, b = {0};
	sp_shape shape;

	SP_TRY(sp_csr__read(call, 0, state->dtype, &left));
	SP_TRY(sp_csr__read(call, 1, state->dtype, &right));
	SP_TRY(find_shape(call, &left, &right.shape, true, &shape));
	SP_TRY(read_factor(call, 0, state->transpose_a, state->conjugate_a, &a));
	SP_TRY(read_factor(call, 1, state->transpose_b, state->conjugate_b, &b));
	return multiply_sparse(call, &a, &b, &shape);
}

static sp_status prepare_times_sparse(sp_prepare *prepare, sp_error *err)
{
	csr_state *state;

	SP_TRY(prepare_any(prepare, 2, "type", &state, err));
	SP_TRY(sp_prepare_input_dtype(prepare, 1, SP_VARIANT, err));
	return sp_prepare_outputs(prepare, 1, SP_VARIANT, err);
}

#define CSR_OP(op, outs, prepare_fn, run_fn)                  \
	const sp_op sp_op_##op = {.name = #op,                \
				  .outputs = outs,            \
				  .flags = SP_OP_PER_REQUEST, \
				  .prepare = prepare_fn,      \
				  .run = run_fn}

CSR_OP(SparseMatrixMatMul, "output", prepare_times_dense, run_times_dense);
CSR_OP(SparseMatrixSparseMatMul, "c", prepare_times_sparse, run_times_sparse);
CSR_OP(SparseMatrixTranspose, "output", prepare_transpose, run_transpose);
