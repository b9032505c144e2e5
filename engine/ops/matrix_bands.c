#include <math.h>
#include <string.h>

#include "engine/ops/array.h"
#include "engine/ops/broadcast.h"
#include "engine/ops/matrices.h"
#include "engine/ops/tridiagonal.h"

/*
 * Matrices of which only diagonals are given; the innermost two dimensions, the others number
 * them.
 *
 *   TridiagonalMatMul      superdiag, maindiag, subdiag [1, n] times rhs [n, k]
 *   TridiagonalSolve       x of a x = rhs [n, k]; the three are rows of diagonals [3, n]
 *   BandedTriangularSolve  the same of a triangle, of which bands [bands, n] has the diagonal and
 *                          those below it, in that order, or (not `lower`) those above it and the
 *                          diagonal; with `adjoint` of its adjoint.  Broadcasts.
 *
 * Element i of a diagonal stands in row i: the first of those below and the last of those above
 * do not count.
 *
 * float, double, complex64 and complex128.
 *
 * Numerics: products and solutions of tridiagonal matrices of float and double are computed in that
 * type and have TensorFlow's bits; BandedTriangularSolve, and complex numbers, are computed in
 * double and rounded once.  TridiagonalSolve of a matrix that is singular, or without
 * partial_pivoting comes upon a 0, is NaN, but with perturb_singular (which needs partial_pivoting)
 * as engine/ops/tridiagonal.h says.  BandedTriangularSolve refuses a 0 on the diagonal of the first
 * matrix, as TensorFlow does.
 */
typedef struct bands_state {
	bool pivots, perturbs; /* TridiagonalSolve */
	bool lower, adjoint;   /* BandedTriangularSolve */
} bands_state;

static sp_status prepare_any(sp_prepare *prepare, size_t inputs, bands_state **out, sp_error *err)
{
	bands_state *state = sp_prepare_state(prepare, sizeof(*state));

	*out = state;
	if (state == NULL)
		return sp_error_set(err, SP_NO_MEMORY, "no memory for an operator");
	SP_TRY(sp_prepare_inputs(prepare, inputs, err));
	SP_TRY(sp_array__same_dtype(prepare, 0, inputs, err));
	SP_TRY(sp_matrices__prepare(prepare, prepare->in_dtypes[0], false, err));
	return sp_prepare_outputs(prepare, 1, prepare->in_dtypes[0], err);
}

static sp_status prepare_product(sp_prepare *prepare, sp_error *err)
{
	bands_state *state;

	return prepare_any(prepare, 4, &state, err);
}

static sp_status prepare_solve(sp_prepare *prepare, sp_error *err)
{
	bands_state *state;

	SP_TRY(prepare_any(prepare, 2, &state, err));
	SP_TRY(sp_node_attr_bool(prepare->node, "partial_pivoting", true, &state->pivots, err));
	SP_TRY(sp_node_attr_bool(prepare->node, "perturb_singular", false, &state->perturbs, err));
	if (state->perturbs && !state->pivots)
		return sp_error_set(err, SP_INVALID,
				    "Setting perturb_singular requires also setting "
				    "partial_pivoting.");
	return SP_OK;
}

static sp_status prepare_banded(sp_prepare *prepare, sp_error *err)
{
	bands_state *state;

	SP_TRY(prepare_any(prepare, 2, &state, err));
	SP_TRY(sp_node_attr_bool(prepare->node, "lower", true, &state->lower, err));
	return sp_node_attr_bool(prepare->node, "adjoint", false, &state->adjoint, err);
}

/* Input i is of the same batch as `last`, and its matrices are [rows, columns]. */
static sp_status check_matrices(const sp_call *call, size_t i, size_t last, size_t rows,
				size_t columns)
{
	sp_shape a = call->in[i]->shape, b = call->in[last]->shape;
	char a_text[SP_SHAPE_TEXT_SIZE], b_text[SP_SHAPE_TEXT_SIZE];
	bool fits = a.rank >= 2 && a.rank == b.rank;

	fits = fits && (size_t)a.dims[a.rank - 2] == rows && (size_t)a.dims[a.rank - 1] == columns;
	for (int d = 0; fits && d < a.rank - 2; d++)
		fits = a.dims[d] == b.dims[d];
	if (fits)
		return SP_OK;
	return sp_call_invalid(call, "diagonals of shape %s for an input of shape %s",
			       sp_shape_text(&a, a_text), sp_shape_text(&b, b_text));
}

#define number       float
#define MAGNITUDE(x) fabsf(x)
#define KIND(x)      x##_f32
#include "engine/ops/matrix_bands.inc"
#undef number
#undef MAGNITUDE
#undef KIND

#define number       double
#define MAGNITUDE(x) fabs(x)
#define KIND(x)      x##_f64
#include "engine/ops/matrix_bands.inc"

/* ----------------------------------------------------------------- products */

static void multiply_complex(const sp_call *call, const sp_matrices *m)
{
	for (size_t i = 0; i < call->out[0]->count; i++) {
		size_t line = i / m->columns,
		       row = line % m->rows; /* diagonals have as many lines */
		sp_complex sum = sp_matrices__get(call->in[1], line) *
				 sp_matrices__get(call->in[3], i);

		if (row > 0)
			sum += sp_matrices__get(call->in[2], line) *
			       sp_matrices__get(call->in[3], i - m->columns);
		if (row + 1 < m->rows)
			sum += sp_matrices__get(call->in[0], line) *
			       sp_matrices__get(call->in[3], i + m->columns);
		sp_matrices__put(call->out[0], i, sum);
	}
}

static sp_status run_product(const sp_call *call)
{
	sp_matrices m = {0};

	SP_TRY(sp_matrices__read(call, 3, &m));
	for (size_t i = 0; i < 3; i++)
		SP_TRY(check_matrices(call, i, 3, 1, m.rows));
	SP_TRY(sp_call_output(call, 0, call->in[3]->dtype, &call->in[3]->shape));
	if (call->in[3]->dtype == SP_FLOAT)
		multiply_f32(call, &m);
	else if (call->in[3]->dtype == SP_DOUBLE)
		multiply_f64(call, &m);
	else
		multiply_complex(call, &m);
	return SP_OK;
}

/* ------------------------------------------------------------------ systems */

/* Row i is first[i], second[i], third[i] from column i on, once what is below is gone. */
typedef struct system {
	size_t n, k;
	sp_complex *first, *second, *third, *below; /* [n] */
	sp_complex *x;                              /* [n, k] */
} system;

static void swap(sp_complex *a, sp_complex *b)
{
	sp_complex other = *a;

	*a = *b;
	*b = other;
}

/* Rows i and i + 1, of which the latter begins in the same column. */
static void exchange(system *s, size_t i)
{
	swap(&s->first[i], &s->below[i + 1]);
	swap(&s->second[i], &s->first[i + 1]);
	swap(&s->third[i], &s->second[i + 1]);
	for (size_t j = 0; j < s->k; j++)
		swap(&s->x[i * s->k + j], &s->x[(i + 1) * s->k + j]);
}

/* False when a pivot is 0. */
static bool eliminate(system *s, bool pivots)
{
	for (size_t i = 0; i < s->n; i++) {
		sp_complex factor;

		if (pivots && i + 1 < s->n && cabs(s->below[i + 1]) > cabs(s->first[i]))
			exchange(s, i);
		if (s->first[i] == 0)
			return false;
		if (i + 1 == s->n)
			break;
		factor = s->below[i + 1] / s->first[i];
		s->first[i + 1] -= factor * s->second[i];
		s->second[i + 1] -= factor * s->third[i];
		for (size_t j = 0; j < s->k; j++)
			s->x[(i + 1) * s->k + j] -= factor * s->x[i * s->k + j];
	}
	return true;
}

static void substitute(system *s)
{
	for (size_t i = s->n; i-- > 0;)
		for (size_t j = 0; j < s->k; j++) {
			sp_complex *x = &s->x[i * s->k + j];

			if (i + 1 < s->n)
				*x -= s->second[i] * x[s->k];
			if (i + 2 < s->n)
				*x -= s->third[i] * x[2 * s->k];
			*x /= s->first[i];
		}
}

static void load_system(const sp_call *call, size_t which, system *s)
{
	size_t at = 3 * which * s->n;

	for (size_t i = 0; i < s->n; i++) {
		s->second[i] = i + 1 < s->n ? sp_matrices__get(call->in[0], at + i) : 0;
		s->first[i] = sp_matrices__get(call->in[0], at + s->n + i);
		s->below[i] = i > 0 ? sp_matrices__get(call->in[0], at + 2 * s->n + i) : 0;
		s->third[i] = 0;
	}
	sp_matrices__load(call->in[1], which, s->n * s->k, s->x);
}

static sp_status solve_perturbed(const sp_call *call, const sp_matrices *m)
{
	const size_t n = m->rows, k = m->columns, size = sp_dtype_size(call->in[0]->dtype);
	sp_tridiagonal_fn *solve = sp_tridiagonal__perturbed(call->in[0]->dtype);
	const unsigned char *diagonals = call->in[0]->data, *b = call->in[1]->data;
	unsigned char *x = call->out[0]->data;
	/* No more than the two inputs hold: no sum overflows. */
	void *room = sp_call_bytes(call, SP_TRIDIAGONAL_ROOM(n, k), size);

	if (room == NULL)
		return sp_call_no_memory(call);
	for (size_t i = 0; i < m->count; i++)
		solve(diagonals + i * 3 * n * size, b + i * n * k * size, n, k,
		      x + i * n * k * size, room);
	return SP_OK;
}

static sp_status run_complex_systems(const sp_call *call, const sp_matrices *m)
{
	const bands_state *state = call->state;
	system s = {.n = m->rows, .k = m->columns};

	s.first = sp_matrices__room(call, 4, s.n);
	s.x = sp_matrices__room(call, s.n, s.k);
	if (s.first == NULL || s.x == NULL)
		return sp_call_no_memory(call);
	s.second = s.first + s.n;
	s.third = s.second + s.n;
	s.below = s.third + s.n;
	for (size_t i = 0; i < m->count; i++) {
		load_system(call, i, &s);
		if (eliminate(&s, state->pivots))
			substitute(&s);
		else
			for (size_t j = 0; j < s.n * s.k; j++)
				s.x[j] = NAN;
		sp_matrices__store(call->out[0], i, s.n * s.k, s.x);
	}
	return SP_OK;
}

static sp_status run_solve(const sp_call *call)
{
	const bands_state *state = call->state;
	sp_matrices m = {0};

	SP_TRY(sp_matrices__read(call, 1, &m));
	SP_TRY(check_matrices(call, 0, 1, 3, m.rows));
	SP_TRY(sp_call_output(call, 0, call->in[1]->dtype, &call->in[1]->shape));
	if (call->out[0]->count == 0)
		return SP_OK;
	if (state->perturbs)
		return solve_perturbed(call, &m);
	switch (call->in[1]->dtype) {
	case SP_FLOAT:
		return run_systems_f32(call, &m);
	case SP_DOUBLE:
		return run_systems_f64(call, &m);
	default:
		return run_complex_systems(call, &m);
	}
}

/* ---------------------------------------------------------------- triangles */

typedef struct triangle {
	const sp_tensor *bands;
	size_t first, count, n; /* where the matrix begins; how many bands there are */
	bool lower, adjoint;
} triangle;

/* An element among the bands of the matrix that is given. */
static sp_complex get_given(const triangle *t, size_t row, size_t column)
{
	size_t band = t->lower ? row - column : t->count - 1 - (column - row);

	return sp_matrices__get(t->bands, t->first + band * t->n + row);
}

/* The same of the matrix that is meant. */
static sp_complex get(const triangle *t, size_t row, size_t column)
{
	return t->adjoint ? conj(get_given(t, column, row)) : get_given(t, row, column);
}

static void solve_triangle(const triangle *t, sp_complex *x, size_t k)
{
	bool down = t->lower != t->adjoint;

	for (size_t step = 0; step < t->n; step++) {
		size_t i = down ? step : t->n - 1 - step;
		size_t far = step < t->count - 1 ? step : t->count - 1;

		for (size_t d = 1; d <= far; d++) {
			size_t column = down ? i - d : i + d;
			sp_complex factor = get(t, i, column);

			for (size_t j = 0; j < k; j++)
				x[i * k + j] -= factor * x[column * k + j];
		}
		for (size_t j = 0; j < k; j++)
			x[i * k + j] /= get(t, i, i);
	}
}

static sp_status check_banded(const sp_call *call, sp_matrices *a, sp_matrices *b,
			      sp_broadcast *batches)
{
	sp_shape left = call->in[0]->shape, right = call->in[1]->shape;
	char a_text[SP_SHAPE_TEXT_SIZE], b_text[SP_SHAPE_TEXT_SIZE];

	SP_TRY(sp_matrices__read(call, 0, a));
	SP_TRY(sp_matrices__read(call, 1, b));
	if (call->in[0]->count == 0 || call->in[1]->count == 0)
		return sp_call_invalid(call, "an input has no elements");
	left.rank -= 2;
	right.rank -= 2;
	if (a->columns == b->rows &&
	    sp_broadcast__plan(batches, (const sp_shape *[]){&left, &right}, 2))
		return SP_OK;
	return sp_call_invalid(call, "bands of shape %s for right sides of shape %s",
			       sp_shape_text(&call->in[0]->shape, a_text),
			       sp_shape_text(&call->in[1]->shape, b_text));
}

static sp_status run_banded(const sp_call *call)
{
	const bands_state *state = call->state;
	triangle t = {.bands = call->in[0], .lower = state->lower, .adjoint = state->adjoint};
	sp_broadcast batches;
	sp_matrices a = {0}, b = {0};
	sp_complex *x;
	sp_shape shape;

	SP_TRY(check_banded(call, &a, &b, &batches));
	t.count = a.rows;
	t.n = a.columns;
	for (size_t i = 0; i < t.n; i++)
		if (get_given(&t, i, i) == 0)
			return sp_call_invalid(call, "the matrix is not invertible");
	shape = batches.shape;
	SP_TRY(sp_array__rank(call, shape.rank + 2));
	shape.dims[shape.rank++] = (int64_t)b.rows;
	shape.dims[shape.rank++] = (int64_t)b.columns;
	SP_TRY(sp_call_output(call, 0, call->in[1]->dtype, &shape));
	x = sp_matrices__room(call, b.rows, b.columns);
	if (x == NULL)
		return sp_call_no_memory(call);
	for (sp_broadcast__start(&batches); batches.more; sp_broadcast__next(&batches))
		for (size_t i = 0; i < batches.run; i++) {
			t.first = (batches.at[0] + i * batches.step[0]) * t.count * t.n;
			sp_matrices__load(call->in[1], batches.at[1] + i * batches.step[1],
					  b.rows * b.columns, x);
			solve_triangle(&t, x, b.columns);
			sp_matrices__store(call->out[0], batches.out + i, b.rows * b.columns, x);
		}
	return SP_OK;
}

const sp_op sp_op_BandedTriangularSolve = {
	.name = "BandedTriangularSolve", .prepare = prepare_banded, .run = run_banded};
const sp_op sp_op_TridiagonalMatMul = {
	.name = "TridiagonalMatMul", .prepare = prepare_product, .run = run_product};
const sp_op sp_op_TridiagonalSolve = {
	.name = "TridiagonalSolve", .prepare = prepare_solve, .run = run_solve};
