#include <float.h>
#include <math.h>
#include <string.h>

#include "engine/kernels/ordered_matrix.h"
#include "engine/ops/array.h"
#include "engine/ops/matrices.h"

/*
 * MatrixSolveLs: the x for which |a x - b|^2 + l2_regularizer |x|^2 is least, of matrices a
 * [..., rows, columns] and b [..., rows, k]; of several the shortest.  fast solves the normal
 * equations and refuses matrices without full rank; else a decomposition into orthogonal matrices
 * does it, columns that are only rounding errors are taken for 0, and the regularizer is not looked
 * at.  BatchMatrixSolveLs is an older name.
 *
 * Numerics: float and double have TensorFlow's bits (kernels/ordered_matrix.h); of more than 400
 * rows (336, of doubles) or 96 columns (80) where the processor's first-level cache has 48 KiB.
 * complex64 and complex128 are computed in double, with singular values where it is not
 * fast.
 */
typedef struct ls_state {
	bool fast;
} ls_state;

static sp_status prepare_ls(sp_prepare *prepare, sp_error *err)
{
	ls_state *state = sp_prepare_state(prepare, sizeof(*state));

	if (state == NULL)
		return sp_error_set(err, SP_NO_MEMORY, "no memory for an operator");
	SP_TRY(sp_array__prepare(prepare, 3, err));
	SP_TRY(sp_array__same_dtype(prepare, 0, 2, err));
	SP_TRY(sp_matrices__prepare(prepare, prepare->in_dtypes[0], false, err));
	SP_TRY(sp_prepare_input_dtype(prepare, 2, SP_DOUBLE, err));
	return sp_node_attr_bool(prepare->node, "fast", true, &state->fast, err);
}

typedef struct ls_sizes {
	size_t count; /* of systems */
	size_t rows, columns, k, least;
	double l2;
} ls_sizes;

static sp_status check_inputs(const sp_call *call, ls_sizes *sizes)
{
	sp_shape left = call->in[0]->shape, right = call->in[1]->shape;
	char a_text[SP_SHAPE_TEXT_SIZE], b_text[SP_SHAPE_TEXT_SIZE];
	sp_matrices a, b;

	SP_TRY(sp_matrices__read(call, 0, &a));
	SP_TRY(sp_matrices__read(call, 1, &b));
	left.rank -= 2;
	right.rank -= 2;
	if (!sp_shape_equal(&left, &right) || a.rows != b.rows)
		return sp_call_invalid(call, "matrices of shape %s for right sides of shape %s",
				       sp_shape_text(&call->in[0]->shape, a_text),
				       sp_shape_text(&call->in[1]->shape, b_text));
	if (!sp_tensor_is_scalar(call->in[2]) || !(*sp_tensor_f64(call->in[2]) >= 0))
		return sp_call_invalid(call,
				       "l2_regularizer must be a scalar that is not negative");
	*sizes = (ls_sizes){.count = a.count,
			    .rows = a.rows,
			    .columns = a.columns,
			    .k = b.columns,
			    .least = a.rows < a.columns ? a.rows : a.columns,
			    .l2 = *sp_tensor_f64(call->in[2])};
	return SP_OK;
}

/* System i, which has no solution. */
static sp_status refuse(const sp_call *call, size_t i)
{
	return sp_call_invalid(call, "matrix %zu has not full rank, or no numbers", i);
}

#define number  float
#define KIND(x) x##_f32
#include "engine/ops/matrix_solve_ls.inc"
#undef number
#undef KIND

#define number  double
#define KIND(x) x##_f64
#include "engine/ops/matrix_solve_ls.inc"

/* ------------------------------------------------------------ complex numbers */

typedef struct ls_room {
	size_t rows, columns, k, least;
	double l2;
	sp_complex *a, *b, *x; /* [rows, columns], [rows, k], [columns, k] */
	sp_complex *normal;    /* [least, least]; of the smaller of a^* a and a a^* */
	sp_complex *turned;    /* [columns, rows] a^* */
	double *s;             /* [least] */
	double epsilon;
} ls_room;

static sp_status make_room(const sp_call *call, ls_room *room)
{
	sp_dtype dtype = call->in[0]->dtype;

	room->a = sp_matrices__room(call, room->rows, room->columns);
	room->b = sp_matrices__room(call, room->rows, room->k);
	room->x = sp_matrices__room(call, room->columns, room->k);
	room->normal = sp_matrices__room(call, room->least, room->least);
	room->turned = sp_matrices__room(call, room->columns, room->rows);
	room->s = sp_call_bytes(call, room->least, sizeof(*room->s));
	room->epsilon = dtype == SP_FLOAT || dtype == SP_COMPLEX64 ? (double)FLT_EPSILON
								   : DBL_EPSILON;
	if (room->a == NULL || room->b == NULL || room->x == NULL || room->normal == NULL ||
	    room->turned == NULL || room->s == NULL)
		return sp_call_no_memory(call);
	return SP_OK;
}

/* out [m, n] = a [m, p] b [p, n] */
static void multiply(const sp_complex *a, const sp_complex *b, size_t m, size_t p, size_t n,
		     sp_complex *out)
{
	memset(out, 0, m * n * sizeof(*out));
	for (size_t i = 0; i < m; i++)
		for (size_t c = 0; c < p; c++)
			for (size_t j = 0; j < n; j++)
				out[i * n + j] += a[i * p + c] * b[c * n + j];
}

static void turn(const sp_complex *a, size_t rows, size_t columns, sp_complex *out)
{
	for (size_t i = 0; i < rows; i++)
		for (size_t j = 0; j < columns; j++)
			out[j * rows + i] = conj(a[i * columns + j]);
}

static bool solve_fast(const ls_room *r)
{
	bool tall = r->rows >= r->columns;

	turn(r->a, r->rows, r->columns, r->turned);
	if (tall)
		multiply(r->turned, r->a, r->columns, r->rows, r->columns, r->normal);
	else
		multiply(r->a, r->turned, r->rows, r->columns, r->rows, r->normal);
	for (size_t i = 0; i < r->least; i++)
		r->normal[i * (r->least + 1)] += r->l2;
	if (!tall) {
		if (!sp_matrix_solve_positive(r->normal, r->rows, r->b, r->k))
			return false;
		multiply(r->turned, r->b, r->columns, r->rows, r->k, r->x);
		return true;
	}
	multiply(r->turned, r->b, r->columns, r->rows, r->k, r->x);
	return sp_matrix_solve_positive(r->normal, r->columns, r->x, r->k);
}

/*
 * x += u_i (v_i^* b) / s_i for the singular values that count, where a^+ = sum u_i v_i^* / s_i;
 * u [columns, least] and v [rows, least].
 */
static void add_parts(const ls_room *r, const sp_complex *u, const sp_complex *v)
{
	memset(r->x, 0, r->columns * r->k * sizeof(*r->x));
	for (size_t i = 0; i < r->least; i++)
		for (size_t j = 0; r->s[i] > r->epsilon * (double)r->least * r->s[0] && j < r->k;
		     j++) {
			sp_complex share = 0;

			for (size_t row = 0; row < r->rows; row++)
				share += conj(v[row * r->least + i]) * r->b[row * r->k + j];
			for (size_t row = 0; row < r->columns; row++)
				r->x[row * r->k + j] += u[row * r->least + i] * share / r->s[i];
		}
}

static bool solve_slow(const ls_room *r)
{
	bool good;

	if (r->rows >= r->columns) {
		good = sp_matrix_svd(r->a, r->rows, r->columns, r->s, r->normal);
		add_parts(r, r->normal, r->a);
		return good;
	}
	turn(r->a, r->rows, r->columns, r->turned);
	good = sp_matrix_svd(r->turned, r->columns, r->rows, r->s, r->normal);
	add_parts(r, r->turned, r->normal);
	return good;
}

static sp_status run_complex(const sp_call *call, const ls_sizes *s)
{
	const ls_state *state = call->state;
	ls_room room = {
		.rows = s->rows, .columns = s->columns, .k = s->k, .least = s->least, .l2 = s->l2};

	SP_TRY(make_room(call, &room));
	for (size_t i = 0; i < s->count; i++) {
		sp_matrices__load(call->in[0], i, room.rows * room.columns, room.a);
		sp_matrices__load(call->in[1], i, room.rows * room.k, room.b);
		if (!(state->fast ? solve_fast(&room) : solve_slow(&room)))
			return refuse(call, i);
		sp_matrices__store(call->out[0], i, room.columns * room.k, room.x);
	}
	return SP_OK;
}

static sp_status run_ls(const sp_call *call)
{
	ls_sizes sizes = {0};
	sp_shape shape;

	SP_TRY(check_inputs(call, &sizes));
	shape = sp_matrices__shape(call, sizes.columns, sizes.k);
	SP_TRY(sp_call_output(call, 0, call->in[0]->dtype, &shape));
	if (call->out[0]->count == 0)
		return SP_OK;
	if (sizes.rows == 0) {
		memset(call->out[0]->data, 0,
		       call->out[0]->count * sp_dtype_size(call->out[0]->dtype));
		return SP_OK;
	}
	switch (call->in[0]->dtype) {
	case SP_FLOAT:
		return run_ls_f32(call, &sizes);
	case SP_DOUBLE:
		return run_ls_f64(call, &sizes);
	default:
		return run_complex(call, &sizes);
	}
}

const sp_op sp_op_BatchMatrixSolveLs = {
	.name = "BatchMatrixSolveLs", .prepare = prepare_ls, .run = run_ls};
const sp_op sp_op_MatrixSolveLs = {.name = "MatrixSolveLs", .prepare = prepare_ls, .run = run_ls};
