#include <math.h>
#include <string.h>

#include "base/float_mode.h"
#include "engine/kernels/ordered_matrix.h"
#include "engine/ops/complex.h"
#include "engine/ops/matrices.h"

/*
 * Factors of the innermost matrices:
 *
 *   Qr                a = q r; without full_matrices as many columns of q, and rows of r, as
 *                     the shorter side of a has
 *   SelfAdjointEigV2  a = v diag(e) v^*, e ascending, of what the lower triangle says
 *   Svd               a = u diag(s) v^*, s descending; without full_matrices as many columns of
 *                     u and v as s has numbers
 *
 * float, double, complex64 and complex128; half for Qr too.  The names that begin with Batch are
 * older ones.  XlaSelfAdjointEig takes the upper triangle where `lower` is not set; XlaSvd gives
 * full matrices.
 *
 * Svd of what is not finite gives NaN.  SelfAdjointEigV2 refuses it, unless it is one infinity that
 * is the first element, or all of the matrix.
 *
 * Numerics: Qr, SelfAdjointEigV2, and Svd of less than 16 columns, of float and double have
 * TensorFlow's bits, signs of vectors included (kernels/ordered_matrix.h); Qr of more than 96 rows
 * (80, of doubles), or hundreds of columns, where the processor's first-level cache has 48 KiB.
 * The others (complex numbers, half, Svd of 16 and more columns, XlaSelfAdjointEig, XlaSvd) are
 * computed in double, rounded once: there the signs of Qr's results are TensorFlow's, those of
 * singular vectors and eigenvectors (phases, where numbers are complex), and any basis of what
 * belongs to equal values, are fixed by no definition and are not.
 */
typedef struct factor_state {
	bool full, vectors, upper;
	sp_dtype dtype;
} factor_state;

static sp_status prepare_any(sp_prepare *prepare, size_t outputs, const char *vectors, bool half,
			     sp_error *err)
{
	factor_state *state = sp_prepare_state(prepare, sizeof(*state));

	if (state == NULL)
		return sp_error_set(err, SP_NO_MEMORY, "no memory for an operator");
	SP_TRY(sp_prepare_inputs(prepare, 1, err));
	state->dtype = prepare->in_dtypes[0];
	state->vectors = true;
	SP_TRY(sp_matrices__prepare(prepare, state->dtype, half, err));
	SP_TRY(sp_node_attr_bool(prepare->node, "full_matrices", false, &state->full, err));
	if (vectors != NULL)
		SP_TRY(sp_node_attr_bool(prepare->node, vectors, true, &state->vectors, err));
	return sp_prepare_outputs(prepare, outputs, state->dtype, err);
}

static sp_status prepare_qr(sp_prepare *prepare, sp_error *err)
{
	return prepare_any(prepare, 2, NULL, true, err);
}

static sp_status prepare_eigen(sp_prepare *prepare, sp_error *err)
{
	return prepare_any(prepare, 2, "compute_v", false, err);
}

static sp_status prepare_xla_eigen(sp_prepare *prepare, sp_error *err)
{
	factor_state *state;
	bool lower;

	SP_TRY(prepare_any(prepare, 2, NULL, false, err));
	SP_TRY(sp_node_attr_bool(prepare->node, "lower", false, &lower, err));
	state = prepare->state;
	state->upper = !lower;
	return SP_OK;
}

static sp_status prepare_xla_svd(sp_prepare *prepare, sp_error *err)
{
	factor_state *state;

	SP_TRY(prepare_any(prepare, 3, NULL, false, err));
	state = prepare->state;
	state->full = true;
	return SP_OK;
}

static sp_status prepare_svd(sp_prepare *prepare, sp_error *err)
{
	return prepare_any(prepare, 3, "compute_uv", false, err);
}

static sp_status make_output(const sp_call *call, size_t i, size_t rows, size_t columns)
{
	const factor_state *state = call->state;
	sp_shape shape = sp_matrices__shape(call, rows, columns);

	return sp_call_output(call, i, state->dtype, &shape);
}

/* Output i, a vector per matrix. */
static sp_status make_vectors(const sp_call *call, size_t i, size_t count)
{
	const factor_state *state = call->state;
	sp_shape shape = sp_matrices__shape(call, count, 0);

	shape.rank--;
	return sp_call_output(call, i, state->dtype, &shape);
}

/* Output i where it is not wanted. */
static sp_status make_nothing(const sp_call *call, size_t i)
{
	const factor_state *state = call->state;
	sp_shape shape = sp_shape_scalar();

	SP_TRY(sp_call_output(call, i, state->dtype, &shape));
	sp_matrices__put(call->out[i], 0, 0);
	return SP_OK;
}

static size_t shorter(const sp_matrices *m)
{
	return m->rows < m->columns ? m->rows : m->columns;
}

#define number  float
#define KIND(x) x##_f32
#include "engine/ops/matrix_factor.inc"
#undef number
#undef KIND

#define number  double
#define KIND(x) x##_f64
#include "engine/ops/matrix_factor.inc"

/* ------------------------------------------------------------------------ Qr */

static sp_status run_wide_qr(const sp_call *call, const sp_matrices *m, size_t k)
{
	sp_complex *a = sp_matrices__room(call, m->rows, m->columns);
	sp_complex *q = sp_matrices__room(call, m->rows, k);
	sp_complex *tau = sp_matrices__room(call, m->rows, 1);

	if (a == NULL || q == NULL || tau == NULL)
		return sp_call_no_memory(call);
	for (size_t i = 0; i < m->count; i++) {
		sp_matrices__load(call->in[0], i, m->rows * m->columns, a);
		sp_matrix_qr(a, m->rows, m->columns, tau);
		sp_matrix_q(a, m->rows, m->columns, tau, q, k);
		sp_matrices__store(call->out[0], i, m->rows * k, q);
		for (size_t row = 0; row < k; row++)
			for (size_t j = 0; j < row && j < m->columns; j++)
				a[row * m->columns + j] = 0;
		sp_matrices__store(call->out[1], i, k * m->columns, a);
	}
	return SP_OK;
}

static sp_status run_qr(const sp_call *call)
{
	const factor_state *state = call->state;
	sp_matrices m = {0};
	size_t k;

	SP_TRY(sp_matrices__read(call, 0, &m));
	k = state->full ? m.rows : shorter(&m);
	SP_TRY(make_output(call, 0, m.rows, k));
	SP_TRY(make_output(call, 1, k, m.columns));
	switch (state->dtype) {
	case SP_FLOAT:
		return run_qr_f32(call, &m, k);
	case SP_DOUBLE:
		return run_qr_f64(call, &m, k);
	default:
		return run_wide_qr(call, &m, k);
	}
}

/* --------------------------------------------------------------- eigenvalues */

/* The lower triangle becomes what the upper one says. */
static void take_upper(sp_complex *a, size_t n)
{
	for (size_t i = 0; i < n; i++)
		for (size_t j = 0; j < i; j++)
			a[i * n + j] = conj(a[j * n + i]);
}

/* Both outputs, and the sizes. */
static sp_status start_eigen(const sp_call *call, sp_matrices *m)
{
	const factor_state *state = call->state;

	SP_TRY(sp_matrices__read(call, 0, m));
	if (m->rows != m->columns)
		return sp_call_invalid(call, "matrices of %zu rows and %zu columns", m->rows,
				       m->columns);
	SP_TRY(make_vectors(call, 0, m->rows));
	return state->vectors ? make_output(call, 1, m->rows, m->rows) : make_nothing(call, 1);
}

static sp_status run_wide_eigen(const sp_call *call)
{
	const factor_state *state = call->state;
	sp_matrices m;
	sp_complex *a, *v;
	double *values;

	SP_TRY(start_eigen(call, &m));
	a = sp_matrices__room(call, m.rows, m.rows);
	v = sp_matrices__room(call, m.rows, m.rows);
	values = sp_call_bytes(call, m.rows, sizeof(*values));
	if (a == NULL || v == NULL || values == NULL)
		return sp_call_no_memory(call);
	for (size_t i = 0; m.rows != 0 && i < m.count; i++) {
		sp_matrices__load(call->in[0], i, m.rows * m.rows, a);
		if (state->upper)
			take_upper(a, m.rows);
		if (!sp_matrix_eigen(a, m.rows, values, v))
			return sp_call_invalid(call, "matrix %zu has no eigenvalues", i);
		for (size_t j = 0; j < m.rows; j++)
			sp_matrices__put(call->out[0], i * m.rows + j, values[j]);
		if (state->vectors)
			sp_matrices__store(call->out[1], i, m.rows * m.rows, v);
	}
	return SP_OK;
}

static sp_status run_eigen(const sp_call *call)
{
	const factor_state *state = call->state;
	sp_matrices m = {0};

	if (sp_dtype_is_complex(state->dtype))
		return run_wide_eigen(call);
	SP_TRY(start_eigen(call, &m));
	return state->dtype == SP_FLOAT ? run_eigen_f32(call, &m) : run_eigen_f64(call, &m);
}

/* ----------------------------------------------------------- singular values */

/* The longer side of a matrix and the shorter one, after which it may lie the other way round. */
typedef struct svd_room {
	size_t longer, shorter;
	bool turned;
	sp_complex *a;    /* [longer, shorter] */
	sp_complex *v;    /* [shorter, shorter] */
	sp_complex *wide; /* [longer, longer] */
	double *s, *residual;
} svd_room;

static sp_status make_room(const sp_call *call, const sp_matrices *m, svd_room *room)
{
	const factor_state *state = call->state;

	room->turned = m->rows < m->columns;
	room->shorter = shorter(m);
	room->longer = room->turned ? m->columns : m->rows;
	room->a = sp_matrices__room(call, room->longer, room->shorter);
	room->v = sp_matrices__room(call, room->shorter, room->shorter);
	room->wide = sp_matrices__room(call, room->longer,
				       state->full ? room->longer : room->shorter);
	room->s = sp_call_bytes(call, room->shorter, sizeof(*room->s));
	room->residual = sp_call_bytes(call, room->longer, sizeof(*room->residual));
	if (room->a == NULL || room->v == NULL || room->wide == NULL || room->s == NULL ||
	    room->residual == NULL)
		return sp_call_no_memory(call);
	return SP_OK;
}

/* Matrix `which`, the longer side down. */
static void load_tall(const sp_call *call, size_t which, const svd_room *room)
{
	size_t count = room->longer * room->shorter;

	if (!room->turned) {
		sp_matrices__load(call->in[0], which, count, room->a);
		return;
	}
	for (size_t i = 0; i < count; i++) {
		sp_complex x;
		size_t to = i % room->longer * room->shorter + i / room->longer;

		sp_matrices__load(call->in[0], which * count + i, 1, &x);
		room->a[to] = conj(x);
	}
}

/* The singular vectors of the longer side, with those that are missing. */
static void widen(const factor_state *state, const svd_room *room)
{
	size_t columns = state->full ? room->longer : room->shorter, known = 0;

	while (known < room->shorter && room->s[known] != 0)
		known++;
	for (size_t i = 0; i < room->longer; i++)
		for (size_t j = 0; j < columns && j < room->shorter; j++)
			room->wide[i * columns + j] = room->a[i * room->shorter + j];
	sp_matrix_complete(room->wide, room->longer, columns, known, room->residual);
}

/* Of a matrix that has no singular values, as it is not finite. */
static void set_nan(const svd_room *room)
{
	for (size_t i = 0; i < room->longer * room->shorter; i++)
		room->a[i] = NAN;
	for (size_t i = 0; i < room->shorter * room->shorter; i++)
		room->v[i] = NAN;
	for (size_t i = 0; i < room->shorter; i++)
		room->s[i] = NAN;
}

static sp_status run_wide_matrices(const sp_call *call, const sp_matrices *m)
{
	const factor_state *state = call->state;
	size_t u, v, columns = shorter(m);
	svd_room room;

	SP_TRY(make_room(call, m, &room));
	u = room.turned ? 2 : 1;
	v = room.turned ? 1 : 2;
	for (size_t i = 0; i < m->count; i++) {
		load_tall(call, i, &room);
		if (!sp_matrix_svd(room.a, room.longer, room.shorter, room.s, room.v))
			set_nan(&room);
		for (size_t j = 0; j < columns; j++)
			sp_matrices__put(call->out[0], i * columns + j, room.s[j]);
		if (!state->vectors)
			continue;
		widen(state, &room);
		sp_matrices__store(call->out[u], i,
				   room.longer * (state->full ? room.longer : room.shorter),
				   room.wide);
		sp_matrices__store(call->out[v], i, room.shorter * room.shorter, room.v);
	}
	return SP_OK;
}

/* The outputs, and the sizes. */
static sp_status start_svd(const sp_call *call, sp_matrices *m)
{
	const factor_state *state = call->state;
	size_t columns;

	SP_TRY(sp_matrices__read(call, 0, m));
	columns = shorter(m);
	SP_TRY(make_vectors(call, 0, columns));
	SP_TRY(state->vectors ? make_output(call, 1, m->rows, state->full ? m->rows : columns)
			      : make_nothing(call, 1));
	return state->vectors ? make_output(call, 2, m->columns, state->full ? m->columns : columns)
			      : make_nothing(call, 2);
}

static sp_status run_wide_svd(const sp_call *call)
{
	sp_matrices m;

	SP_TRY(start_svd(call, &m));
	return run_wide_matrices(call, &m);
}

/* TensorFlow divides and conquers where there are more columns. */
static sp_status run_svd(const sp_call *call)
{
	enum { FEW_COLUMNS = 16 };
	const factor_state *state = call->state;
	sp_matrices m = {0};

	SP_TRY(start_svd(call, &m));
	if (sp_dtype_is_complex(state->dtype) || m.columns >= FEW_COLUMNS || shorter(&m) == 0)
		return run_wide_matrices(call, &m);
	return state->dtype == SP_FLOAT ? run_svd_f32(call, &m) : run_svd_f64(call, &m);
}

const sp_op sp_op_BatchSelfAdjointEigV2 = {.name = "BatchSelfAdjointEigV2",
					   .outputs = "e v",
					   .prepare = prepare_eigen,
					   .run = run_eigen};
const sp_op sp_op_BatchSvd = {
	.name = "BatchSvd", .outputs = "s u v", .prepare = prepare_svd, .run = run_svd};
const sp_op sp_op_Qr = {.name = "Qr", .outputs = "q r", .prepare = prepare_qr, .run = run_qr};
const sp_op sp_op_SelfAdjointEigV2 = {
	.name = "SelfAdjointEigV2", .outputs = "e v", .prepare = prepare_eigen, .run = run_eigen};
const sp_op sp_op_Svd = {.name = "Svd", .outputs = "s u v", .prepare = prepare_svd, .run = run_svd};
const sp_op sp_op_XlaSelfAdjointEig = {.name = "XlaSelfAdjointEig",
				       .outputs = "w v",
				       .prepare = prepare_xla_eigen,
				       .run = run_wide_eigen};
const sp_op sp_op_XlaSvd = {
	.name = "XlaSvd", .outputs = "s u v", .prepare = prepare_xla_svd, .run = run_wide_svd};
