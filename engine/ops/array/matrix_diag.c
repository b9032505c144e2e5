#include <string.h>

#include "engine/ops/array/array.h"
#include "engine/ops/array/elements.h"

/*
 * MatrixDiagPart, MatrixSetDiag and MatrixDiag in all three versions: extract, replace, or build
 * matrices (the last two dimensions) from bands of diagonals.
 *
 * Diagonal d of a matrix [rows, columns] holds the elements [i, i + d].  `k` is one d or a range of
 * them, lowest first.  A band is stored as [diagonals, longest], the highest d first, or as
 * [longest] when it is a single diagonal. A shorter diagonal is padded, and `align` says whether it
 * is aligned left or right, separately for diagonals above (d >= 0) and below (d <= 0) the main
 * one.
 *
 * Version 1 has the main diagonal only; version 2 always aligns left.
 */

typedef struct diag_state {
	int version;
	bool left_above, left_below;
} diag_state;

typedef struct band {
	int64_t rows, columns;
	int64_t low, high;
	int64_t longest;
	bool left_above, left_below;
} band;

static sp_status read_align(const sp_node *node, diag_state *state, sp_error *err)
{
	sp_bytes align;

	SP_TRY(sp_node_attr_bytes(node, "align", "RIGHT_LEFT", &align, err));
	state->left_above = sp_bytes_starts_with(align, "LEFT_");
	state->left_below = sp_bytes_ends_with(align, "_LEFT");
	if (sp_bytes_equal_text(align, "LEFT_RIGHT") || sp_bytes_equal_text(align, "RIGHT_LEFT") ||
	    sp_bytes_equal_text(align, "LEFT_LEFT") || sp_bytes_equal_text(align, "RIGHT_RIGHT"))
		return SP_OK;
	return sp_error_set(err, SP_INVALID,
			    "align is none of LEFT_RIGHT, RIGHT_LEFT, LEFT_LEFT "
			    "and RIGHT_RIGHT");
}

/* `k` is the first int32 input; the int32 inputs lie between the inputs of type T. */
static sp_status prepare(sp_prepare *prepare, int version, const char *types, sp_error *err)
{
	diag_state *state = sp_prepare_state(prepare, sizeof(*state));

	SP_NEED_MEMORY(state, err, "an operator");
	state->version = version;
	state->left_above = state->left_below = true;
	if (version == 3)
		SP_TRY(read_align(prepare->node, state, err));
	return sp_prepare_types(prepare, types, err);
}

/* Reads k from input i. */
static sp_status read_range(const sp_call *call, size_t i, band *b)
{
	const sp_tensor *k = call->in[i];

	if (k->shape.rank > 1 || k->count < 1 || k->count > 2)
		return sp_call_invalid(call, "k must be one number or two, not %zu", k->count);
	b->low = sp_tensor_i32(k)[0];
	b->high = sp_tensor_i32(k)[k->count - 1];
	if (b->low > b->high)
		return sp_call_invalid(call, "k is the empty range [%lld, %lld]", (long long)b->low,
				       (long long)b->high);
	return SP_OK;
}

static int64_t min(int64_t a, int64_t b)
{
	return a < b ? a : b;
}

static int64_t max(int64_t a, int64_t b)
{
	return a > b ? a : b;
}

/* Whether diagonal d lies inside the matrix; diagonal 0 always does. */
static bool is_inside(const band *b, int64_t d)
{
	return d == 0 || (d > -b->rows && d < b->columns);
}

/* Measures a band of matrices whose size is known. */
static sp_status measure(const sp_call *call, band *b)
{
	const diag_state *state = call->state;

	b->left_above = state->left_above;
	b->left_below = state->left_below;
	if (!is_inside(b, b->low) || !is_inside(b, b->high))
		return sp_call_invalid(call, "diagonals [%lld, %lld] of a matrix of [%lld, %lld]",
				       (long long)b->low, (long long)b->high, (long long)b->rows,
				       (long long)b->columns);
	b->longest = min(b->rows + min(b->high, 0), b->columns - max(b->low, 0));
	return SP_OK;
}

static int64_t length_of(const band *b, int64_t d)
{
	return min(b->rows + min(d, 0), b->columns - max(d, 0));
}

/* The offset of diagonal d in its padded line. */
static int64_t start_of(const band *b, int64_t d)
{
	bool left = (d >= 0 && b->left_above) || (d <= 0 && b->left_below);

	return left ? 0 : b->longest - length_of(b, d);
}

static sp_status read_matrix(const sp_call *call, band *b)
{
	const sp_shape *in = &call->in[0]->shape;

	if (in->rank < 2)
		return sp_call_invalid(call, "the input must be at least a matrix, not of rank %d",
				       in->rank);
	b->rows = in->dims[in->rank - 2];
	b->columns = in->dims[in->rank - 1];
	return SP_OK;
}

/* A matrix shape with its last two dimensions replaced by those of the band. */
static sp_shape band_shape(const sp_shape *matrix, const band *b)
{
	sp_shape shape = *matrix;

	if (b->low == b->high) {
		shape.rank--;
	} else {
		shape.dims[shape.rank - 2] = b->high - b->low + 1;
	}
	shape.dims[shape.rank - 1] = b->longest;
	return shape;
}

/* Copies every diagonal between `count` matrices and their bands, in the direction `to_matrix`. */
static void copy_band(const band *b, char *matrices, char *bands, size_t count, size_t size,
		      bool to_matrix)
{
	int64_t band_size = (b->high - b->low + 1) * b->longest;
	int64_t matrix_size = b->rows * b->columns;

	for (size_t m = 0; m < count; m++)
		for (int64_t d = b->high; d >= b->low; d--) {
			int64_t line = (b->high - d) * b->longest + start_of(b, d);
			int64_t at = max(-d, 0) * b->columns + max(d, 0);
			char *in_band = bands + ((int64_t)m * band_size + line) * (int64_t)size;
			char *in_matrix = matrices +
					  ((int64_t)m * matrix_size + at) * (int64_t)size;

			for (int64_t i = length_of(b, d); i > 0; i--) {
				memcpy(to_matrix ? in_matrix : in_band,
				       to_matrix ? in_band : in_matrix, size);
				in_band += size;
				in_matrix += (b->columns + 1) * (int64_t)size;
			}
		}
}

/* Fills output 0 with the scalar input i. */
static sp_status fill_with(const sp_call *call, size_t i)
{
	if (call->in[i]->count != 1)
		return sp_call_invalid(call, "the padding value must be a scalar");
	sp_elements__fill(call->out[0]->data, call->out[0]->count, call->in[i]->data,
			  sp_dtype_size(call->out[0]->dtype));
	return SP_OK;
}

static void fill_with_zeros(const sp_call *call)
{
	memset(call->out[0]->data, 0, call->out[0]->count * sp_dtype_size(call->out[0]->dtype));
}

/* ---------------------------------------------------------- MatrixDiagPart */

/* input, k, padding_value; version 1: input */
static sp_status run_part(const sp_call *call)
{
	const diag_state *state = call->state;
	const sp_tensor *in = call->in[0];
	band b = {.low = 0, .high = 0};
	sp_shape shape;

	SP_TRY(read_matrix(call, &b));
	if (state->version > 1)
		SP_TRY(read_range(call, 1, &b));
	SP_TRY(measure(call, &b));
	shape = band_shape(&in->shape, &b);
	SP_TRY(sp_call_output(call, 0, in->dtype, &shape));
	if (state->version > 1)
		SP_TRY(fill_with(call, 2));
	if (in->count != 0)
		copy_band(&b, in->data, call->out[0]->data,
			  (size_t)sp_shape_product(&in->shape, 0, in->shape.rank - 2),
			  sp_dtype_size(in->dtype), false);
	return SP_OK;
}

/* ----------------------------------------------------------- MatrixSetDiag */

/* input, diagonal, k; version 1: input, diagonal */
static sp_status run_set(const sp_call *call)
{
	const diag_state *state = call->state;
	const sp_tensor *in = call->in[0], *diagonal = call->in[1];
	char text[SP_SHAPE_TEXT_SIZE], wanted[SP_SHAPE_TEXT_SIZE];
	size_t size = sp_dtype_size(in->dtype);
	band b = {.low = 0, .high = 0};
	sp_shape shape;

	SP_TRY(read_matrix(call, &b));
	if (state->version > 1)
		SP_TRY(read_range(call, 2, &b));
	SP_TRY(measure(call, &b));
	shape = band_shape(&in->shape, &b);
	if (!sp_shape_equal(&shape, &diagonal->shape))
		return sp_call_invalid(call, "the diagonal has the shape %s, not %s",
				       sp_shape_text(&diagonal->shape, text),
				       sp_shape_text(&shape, wanted));
	SP_TRY(sp_call_output(call, 0, in->dtype, &in->shape));
	if (in->count == 0)
		return SP_OK;
	memcpy(call->out[0]->data, in->data, in->count * size);
	copy_band(&b, call->out[0]->data, diagonal->data,
		  (size_t)sp_shape_product(&in->shape, 0, in->shape.rank - 2), size, true);
	return SP_OK;
}

/* -------------------------------------------------------------- MatrixDiag */

/* Reads num_rows or num_cols; -1 stands for `least`. */
static sp_status read_size(const sp_call *call, size_t i, int64_t least, int64_t *out)
{
	SP_TRY(sp_call_need_rank(call, i, 0));
	*out = sp_tensor_i32(call->in[i])[0];
	if (*out != -1 && *out < least)
		return sp_call_invalid(call, "the matrix is %lld wide, the diagonals need %lld",
				       (long long)*out, (long long)least);
	return SP_OK;
}

/*
 * The size of the matrix: as given, or the smallest that holds the band.  At least one side is the
 * smallest, because the longest diagonal must reach both ends of its line.
 */
static sp_status choose_size(const sp_call *call, band *b)
{
	int64_t least_rows = b->longest - min(b->high, 0);
	int64_t least_columns = b->longest + max(b->low, 0);

	SP_TRY(read_size(call, 2, least_rows, &b->rows));
	SP_TRY(read_size(call, 3, least_columns, &b->columns));
	if (b->rows == -1 && b->columns == -1) {
		b->rows = b->columns = max(least_rows, least_columns);
	} else if (b->rows == -1) {
		b->rows = least_rows;
	} else if (b->columns == -1) {
		b->columns = least_columns;
	}
	if (b->rows == least_rows || b->columns == least_columns)
		return SP_OK;
	return sp_call_invalid(call, "a matrix of [%lld, %lld] has longer diagonals than %lld",
			       (long long)b->rows, (long long)b->columns, (long long)b->longest);
}

/* diagonal, k, num_rows, num_cols, padding_value; version 1: diagonal */
static sp_status run_make(const sp_call *call)
{
	const diag_state *state = call->state;
	const sp_tensor *in = call->in[0];
	band b = {.low = 0, .high = 0};
	sp_shape shape = in->shape;
	int lines;

	if (shape.rank == 0)
		return sp_call_invalid(call, "the diagonal must be at least a vector");
	b.longest = b.rows = b.columns = shape.dims[shape.rank - 1];
	if (state->version > 1) {
		SP_TRY(read_range(call, 1, &b));
		SP_TRY(choose_size(call, &b));
	}
	lines = b.low != b.high;
	if (lines && (shape.rank < 2 || shape.dims[shape.rank - 2] != b.high - b.low + 1))
		return sp_call_invalid(call, "the input does not have the %lld diagonals of k",
				       (long long)(b.high - b.low + 1));
	SP_TRY(measure(call, &b));
	shape.rank += 1 - lines;
	SP_TRY(sp_array__rank(call, shape.rank));
	shape.dims[shape.rank - 2] = b.rows;
	shape.dims[shape.rank - 1] = b.columns;
	SP_TRY(sp_call_output(call, 0, in->dtype, &shape));
	if (state->version > 1)
		SP_TRY(fill_with(call, 4));
	else
		fill_with_zeros(call);
	if (call->out[0]->count != 0 && in->count != 0)
		copy_band(&b, call->out[0]->data, in->data,
			  (size_t)sp_shape_product(&shape, 0, shape.rank - 2),
			  sp_dtype_size(in->dtype), true);
	return SP_OK;
}

#define MATRIX_DIAG(op, version, types, run_op)                     \
	static sp_status prepare_##op(sp_prepare *p, sp_error *err) \
	{                                                           \
		return prepare(p, version, types, err);             \
	}                                                           \
	const sp_op sp_op_##op = {.name = #op, .prepare = prepare_##op, .run = run_op}

MATRIX_DIAG(BatchMatrixDiag, 1, "E -> E", run_make);
MATRIX_DIAG(BatchMatrixDiagPart, 1, "E -> E", run_part);
MATRIX_DIAG(BatchMatrixSetDiag, 1, "E E -> E", run_set);
MATRIX_DIAG(MatrixDiag, 1, "E -> E", run_make);
MATRIX_DIAG(MatrixDiagPart, 1, "E -> E", run_part);
MATRIX_DIAG(MatrixDiagPartV2, 2, "E int32 E -> E", run_part);
MATRIX_DIAG(MatrixDiagPartV3, 3, "E int32 E -> E", run_part);
MATRIX_DIAG(MatrixDiagV2, 2, "E int32 int32 int32 E -> E", run_make);
MATRIX_DIAG(MatrixDiagV3, 3, "E int32 int32 int32 E -> E", run_make);
MATRIX_DIAG(MatrixSetDiag, 1, "E E -> E", run_set);
MATRIX_DIAG(MatrixSetDiagV2, 2, "E E int32 -> E", run_set);
MATRIX_DIAG(MatrixSetDiagV3, 3, "E E int32 -> E", run_set);
