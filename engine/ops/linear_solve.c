#include "engine/ops/linear_solve.h"

#include "engine/ops/array.h"
#include "engine/ops/complex.h"

/*
 * MatrixDeterminant, LogMatrixDeterminant (the determinant's sign, or direction, and the
 * logarithm of what it is without), MatrixInverse, MatrixSolve, MatrixTriangularSolve, Cholesky
 * and Lu (both triangles in one matrix, and the order of rows) of the innermost matrices; every
 * other dimension numbers them.  MatrixSolve and MatrixTriangularSolve take as many matrices of
 * right sides, the latter also broadcasts.  The names that begin with Batch are older ones.
 *
 * By elimination with partial pivoting, and by Cholesky's method.  A matrix that is singular to
 * the last digit is refused, but has a determinant; a triangle that is gives what dividing by 0
 * gives.
 *
 * Numerics: float and double have TensorFlow's bits (kernels/ordered_matrix.h), but for the last
 * ones of a determinant of doubles; matrices with more than 96 rows (80, of doubles) where the
 * processor's first-level cache has 48 KiB.  complex64 and complex128, and half, of which there
 * are inverses, are computed in double and rounded once.
 */
static sp_status prepare_any(sp_prepare *prepare, size_t inputs, bool half, sp_error *err)
{
	sp_solve_state *state = sp_prepare_state(prepare, sizeof(*state));
	sp_dtype dtype;

	if (state == NULL)
		return sp_error_set(err, SP_NO_MEMORY, "no memory for an operator");
	SP_TRY(sp_array__prepare(prepare, inputs, err));
	dtype = prepare->in_dtypes[0];
	SP_TRY(sp_array__same_dtype(prepare, 0, inputs, err));
	if (sp_dtype_is_complex(dtype))
		state->runs = &sp_solve__complex;
	else if (dtype == SP_FLOAT)
		state->runs = &sp_solve__float;
	else if (dtype == SP_DOUBLE || (half && dtype == SP_HALF))
		state->runs = &sp_solve__double;
	else
		return sp_prepare_unsupported(prepare, dtype, err);
	SP_TRY(sp_node_attr_bool(prepare->node, "adjoint", false, &state->adjoint, err));
	return sp_node_attr_bool(prepare->node, "lower", true, &state->lower, err);
}

static sp_status prepare_one(sp_prepare *prepare, sp_error *err)
{
	return prepare_any(prepare, 1, false, err);
}

static sp_status prepare_inverse(sp_prepare *prepare, sp_error *err)
{
	return prepare_any(prepare, 1, true, err);
}

static sp_status prepare_log(sp_prepare *prepare, sp_error *err)
{
	SP_TRY(prepare_any(prepare, 1, false, err));
	return sp_prepare_outputs(prepare, 2, prepare->in_dtypes[0], err);
}

static sp_status prepare_lu(sp_prepare *prepare, sp_error *err)
{
	sp_solve_state *state;

	SP_TRY(prepare_any(prepare, 1, false, err));
	state = prepare->state;
	SP_TRY(sp_array__index_type(prepare, "output_idx_type", SP_INT32, &state->index, err));
	SP_TRY(sp_prepare_outputs(prepare, 2, prepare->in_dtypes[0], err));
	prepare->out_dtypes[1] = state->index;
	return SP_OK;
}

static sp_status prepare_two(sp_prepare *prepare, sp_error *err)
{
	return prepare_any(prepare, 2, false, err);
}

#define SOLVE_RUN(run)                                     \
	static sp_status run_##run(const sp_call *call)    \
	{                                                  \
		const sp_solve_state *state = call->state; \
                                                           \
		return state->runs->run(call);             \
	}

SOLVE_RUN(determinant)
SOLVE_RUN(log_determinant)
SOLVE_RUN(inverse)
SOLVE_RUN(solve)
SOLVE_RUN(triangular)
SOLVE_RUN(cholesky)
SOLVE_RUN(lu)

#define SOLVE_OP(op, prepare_fn, run_fn) \
	const sp_op sp_op_##op = {.name = #op, .prepare = prepare_fn, .run = run_fn}

SOLVE_OP(BatchCholesky, prepare_one, run_cholesky);
SOLVE_OP(BatchMatrixDeterminant, prepare_one, run_determinant);
SOLVE_OP(BatchMatrixInverse, prepare_inverse, run_inverse);
SOLVE_OP(BatchMatrixSolve, prepare_two, run_solve);
SOLVE_OP(BatchMatrixTriangularSolve, prepare_two, run_triangular);
SOLVE_OP(Cholesky, prepare_one, run_cholesky);
SOLVE_OP(MatrixDeterminant, prepare_one, run_determinant);
SOLVE_OP(MatrixInverse, prepare_inverse, run_inverse);
SOLVE_OP(MatrixSolve, prepare_two, run_solve);
SOLVE_OP(MatrixTriangularSolve, prepare_two, run_triangular);

const sp_op sp_op_LogMatrixDeterminant = {
	.name = "LogMatrixDeterminant",
	.outputs = "sign log_abs_determinant",
	.prepare = prepare_log,
	.run = run_log_determinant,
};

const sp_op sp_op_Lu = {.name = "Lu", .outputs = "lu p", .prepare = prepare_lu, .run = run_lu};
