#include <math.h>

#include "engine/kernels/matrix_schur.h"
#include "engine/ops/complex.h"
#include "engine/ops/matrices.h"

/*
 * Of the innermost matrices, which are square:
 *
 *   MatrixSquareRoot  the principal square root; float, double, complex64 and complex128
 *   MatrixLogarithm   the principal logarithm; complex64 and complex128
 *   Eig               eigenvalues e, and with compute_v vectors v of length 1; complex ones of all
 *                     four types.  Those of complex matrices are in the order of their magnitude.
 *
 * Where there is no root, or none of real numbers, and no logarithm, all of the matrix is NaN.
 * Eig of what is not finite is refused.
 *
 * Numerics: by Schur's form in double, rounded once.  The order of a real matrix's eigenvalues,
 * and of those of the same magnitude, and the phase of a vector, are fixed by no definition and
 * are not TensorFlow's.
 */
typedef struct function_state {
	sp_dtype dtype; /* of the answer */
	bool vectors;
} function_state;

typedef struct function_room {
	size_t n;
	sp_complex *a, *u, *scratch; /* [n, n]; the latter [3, n, n] */
} function_room;

static sp_status prepare_any(sp_prepare *prepare, size_t outputs, sp_error *err)
{
	function_state *state = sp_prepare_state(prepare, sizeof(*state));

	if (state == NULL)
		return sp_error_set(err, SP_NO_MEMORY, "no memory for an operator");
	SP_TRY(sp_prepare_inputs(prepare, 1, err));
	state->dtype = prepare->in_dtypes[0];
	SP_TRY(sp_matrices__prepare(prepare, state->dtype, false, err));
	return sp_prepare_outputs(prepare, outputs, state->dtype, err);
}

static sp_status prepare_root(sp_prepare *prepare, sp_error *err)
{
	return prepare_any(prepare, 1, err);
}

static sp_status prepare_logarithm(sp_prepare *prepare, sp_error *err)
{
	SP_TRY(prepare_any(prepare, 1, err));
	if (!sp_dtype_is_complex(prepare->in_dtypes[0]))
		return sp_prepare_unsupported(prepare, prepare->in_dtypes[0], err);
	return SP_OK;
}

static sp_status prepare_eig(sp_prepare *prepare, sp_error *err)
{
	function_state *state;
	sp_dtype dtype;

	SP_TRY(prepare_any(prepare, 2, err));
	state = prepare->state;
	if (state->dtype == SP_FLOAT)
		state->dtype = SP_COMPLEX64;
	else if (state->dtype == SP_DOUBLE)
		state->dtype = SP_COMPLEX128;
	SP_TRY(sp_node_attr_type(prepare->node, "Tout", SP_INVALID_DTYPE, &dtype, err));
	if (dtype != state->dtype)
		return sp_prepare_unsupported(prepare, dtype, err);
	prepare->out_dtypes[0] = prepare->out_dtypes[1] = dtype;
	return sp_node_attr_bool(prepare->node, "compute_v", true, &state->vectors, err);
}

static sp_status make_room(const sp_call *call, sp_matrices *m, function_room *room)
{
	SP_TRY(sp_matrices__read(call, 0, m));
	if (m->rows != m->columns)
		return sp_call_invalid(call, "matrices of %zu rows and %zu columns are not square",
				       m->rows, m->columns);
	room->n = m->rows;
	room->a = sp_matrices__room(call, m->rows, m->rows);
	room->u = sp_matrices__room(call, m->rows, m->rows);
	room->scratch = sp_matrices__room(call, m->rows, 3 * m->rows);
	if (room->a == NULL || room->u == NULL || room->scratch == NULL)
		return sp_call_no_memory(call);
	return SP_OK;
}

/* ------------------------------------------------------- roots and logarithms */

/* Whether a real matrix has a negative eigenvalue, which has no real root. */
static bool is_below_zero(const sp_complex *t, size_t n)
{
	double size = 0;

	for (size_t i = 0; i < n; i++)
		size = fmax(size, cabs(t[i * n + i]));
	for (size_t i = 0; i < n; i++)
		if (creal(t[i * n + i]) < -size * 0x1p-40 &&
		    fabs(cimag(t[i * n + i])) <= size * 0x1p-40)
			return true;
	return false;
}

static bool find_root(const function_room *room, bool is_real)
{
	if (!sp_matrix_schur(room->a, room->n, room->u) ||
	    (is_real && is_below_zero(room->a, room->n)))
		return false;
	sp_triangle_sqrt(room->a, room->n);
	return true;
}

static bool find_logarithm(const function_room *room, bool is_real)
{
	(void)is_real;
	return sp_matrix_schur(room->a, room->n, room->u) &&
	       sp_triangle_log(room->a, room->n, room->scratch);
}

static sp_status run_function(const sp_call *call,
			      bool (*function)(const function_room *room, bool is_real))
{
	const function_state *state = call->state;
	function_room room;
	sp_matrices m;

	SP_TRY(make_room(call, &m, &room));
	SP_TRY(sp_call_output(call, 0, state->dtype, &call->in[0]->shape));
	for (size_t i = 0; call->out[0]->count != 0 && i < m.count; i++) {
		sp_matrices__load(call->in[0], i, room.n * room.n, room.a);
		if (!function(&room, !sp_dtype_is_complex(state->dtype)))
			for (size_t j = 0; j < room.n * room.n; j++)
				room.a[j] = NAN;
		sp_matrix_unschur(room.u, room.a, room.n, room.scratch,
				  room.scratch + room.n * room.n);
		sp_matrices__store(call->out[0], i, room.n * room.n,
				   room.scratch + room.n * room.n);
	}
	return SP_OK;
}

static sp_status run_root(const sp_call *call)
{
	return run_function(call, find_root);
}

static sp_status run_logarithm(const sp_call *call)
{
	return run_function(call, find_logarithm);
}

/* ------------------------------------------------------------------------ Eig */

/* order [n]: places of the diagonal, where `sorts` by magnitude. */
static void sort_values(const function_room *room, bool sorts, size_t *order)
{
	for (size_t i = 0; i < room->n; i++) {
		double size = cabs(room->a[i * (room->n + 1)]);
		size_t j = i;

		for (; sorts && j > 0 && cabs(room->a[order[j - 1] * (room->n + 1)]) > size; j--)
			order[j] = order[j - 1];
		order[j] = i;
	}
}

/* Vector `place` of matrix `which` becomes u v. */
static void put_vector(const sp_tensor *out, size_t which, size_t place, const function_room *room,
		       const sp_complex *v)
{
	size_t n = room->n;

	for (size_t i = 0; i < n; i++) {
		sp_complex sum = 0;

		for (size_t k = 0; k < n; k++)
			sum += room->u[i * n + k] * v[k];
		sp_matrices__put(out, (which * n + i) * n + place, sum);
	}
}

static sp_status make_outputs(const sp_call *call)
{
	const function_state *state = call->state;
	sp_shape values = call->in[0]->shape, nothing = sp_shape_scalar();

	values.rank--;
	SP_TRY(sp_call_output(call, 0, state->dtype, &values));
	SP_TRY(sp_call_output(call, 1, state->dtype,
			      state->vectors ? &call->in[0]->shape : &nothing));
	if (!state->vectors)
		sp_matrices__put(call->out[1], 0, 0);
	return SP_OK;
}

static sp_status run_eig(const sp_call *call)
{
	const function_state *state = call->state;
	function_room room;
	sp_matrices m;
	size_t *order;

	SP_TRY(make_room(call, &m, &room));
	SP_TRY(make_outputs(call));
	order = sp_call_bytes(call, room.n, sizeof(*order));
	if (order == NULL)
		return sp_call_no_memory(call);
	for (size_t i = 0; call->out[0]->count != 0 && i < m.count; i++) {
		sp_matrices__load(call->in[0], i, room.n * room.n, room.a);
		if (!sp_matrix_schur(room.a, room.n, room.u))
			return sp_call_invalid(call, "matrix %zu has no eigenvalues", i);
		sort_values(&room, sp_dtype_is_complex(call->in[0]->dtype), order);
		for (size_t j = 0; j < room.n; j++) {
			sp_matrices__put(call->out[0], i * room.n + j,
					 room.a[order[j] * (room.n + 1)]);
			if (!state->vectors)
				continue;
			sp_triangle_vector(room.a, room.n, order[j], room.scratch);
			put_vector(call->out[1], i, j, &room, room.scratch);
		}
	}
	return SP_OK;
}

const sp_op sp_op_Eig = {.name = "Eig", .outputs = "e v", .prepare = prepare_eig, .run = run_eig};
const sp_op sp_op_MatrixLogarithm = {
	.name = "MatrixLogarithm", .prepare = prepare_logarithm, .run = run_logarithm};
const sp_op sp_op_MatrixSquareRoot = {
	.name = "MatrixSquareRoot", .prepare = prepare_root, .run = run_root};
