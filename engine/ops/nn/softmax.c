#include "engine/ops/nn/softmax.h"

#include <tgmath.h>

#include "engine/kernels/float_functions.h"
#include "engine/ops/ops.h"
#include "engine/ops/reduce/cells.h"
#include "engine/ops/reduce/reduce_float.h"
#include "engine/ops/reduce/reduce_rounded.h"
#include "engine/ops/math/unary.h"

/*
 * Softmax and LogSoftmax along the last dimension:
 *
 *     y[i] = exp(x[i] - max x) / sum_j exp(x[j] - max x)     and its logarithm
 *
 * Numerics: in the element type.  Half and bfloat16 round after every step, and sum
 * as engine/ops/reduce/reduce_rounded.h has it; float has TensorFlow's bits, with
 * kernels/float_functions.h and engine/ops/reduce/reduce_float.h.
 */
typedef void row_fn(const void *from, void *to, size_t count, size_t first);

#define LARGEST(type, name)                                                         \
	static sp_value_##type name##_##type(const sp_cell_##type *x, size_t count) \
	{                                                                           \
		sp_value_##type most = -INFINITY;                                   \
                                                                                    \
		for (size_t i = 0; i < count; i++)                                  \
			if (SP_LOAD_##type(x[i]) > most)                            \
				most = SP_LOAD_##type(x[i]);                        \
		return most;                                                        \
	}

#define SOFTMAX(type, name)                                                               \
	static void name##_##type(const void *from, void *to, size_t count, size_t first) \
	{                                                                                 \
		const sp_cell_##type *x = from;                                           \
		sp_cell_##type *y = to;                                                   \
		sp_value_##type most = largest_##type(x, count), sum = 0;                 \
                                                                                          \
		(void)first;                                                              \
		for (size_t i = 0; i < count; i++) {                                      \
			sp_value_##type power = exp(SP_LOAD_##type(x[i]) - most);         \
                                                                                          \
			sum += power;                                                     \
			y[i] = SP_STORE_##type(power);                                    \
		}                                                                         \
		for (size_t i = 0; i < count; i++)                                        \
			y[i] = SP_STORE_##type(SP_LOAD_##type(y[i]) / sum);               \
	}

#define LOG_SOFTMAX(type, name)                                                           \
	static void name##_##type(const void *from, void *to, size_t count, size_t first) \
	{                                                                                 \
		const sp_cell_##type *x = from;                                           \
		sp_cell_##type *y = to;                                                   \
		sp_value_##type most = largest_##type(x, count), sum = 0;                 \
                                                                                          \
		(void)first;                                                              \
		for (size_t i = 0; i < count; i++)                                        \
			sum += exp(SP_LOAD_##type(x[i]) - most);                          \
		sum = log(sum);                                                           \
		for (size_t i = 0; i < count; i++)                                        \
			y[i] = SP_STORE_##type(SP_LOAD_##type(x[i]) - most - sum);        \
	}

/* In the bytes of y stand first the differences, then the powers, then the result. */
#define SOFTMAX_NARROW(type, name)                                                        \
	static void name##_##type(const void *from, void *to, size_t count, size_t first) \
	{                                                                                 \
		const sp_cell_##type *x = from;                                           \
		sp_cell_##type *y = to;                                                   \
		float most = largest_##type(x, count), inverse;                           \
                                                                                          \
		for (size_t i = 0; i < count; i++)                                        \
			y[i] = SP_STORE_##type(SP_LOAD_##type(x[i]) - most);              \
		powers_##type(y, y, count);                                               \
		inverse = SP_ROUND_##type(1 / sp_rounded__sum_##type(y, count, first));   \
		for (size_t i = 0; i < count; i++)                                        \
			y[i] = SP_STORE_##type(SP_LOAD_##type(y[i]) * inverse);           \
	}

#define LOG_SOFTMAX_NARROW(type, name)                                                        \
	static void name##_##type(const void *from, void *to, size_t count, size_t first)     \
	{                                                                                     \
		const sp_cell_##type *x = from;                                               \
		sp_cell_##type *y = to;                                                       \
		float most = largest_##type(x, count), logarithm;                             \
                                                                                              \
		for (size_t i = 0; i < count; i++)                                            \
			y[i] = SP_STORE_##type(SP_LOAD_##type(x[i]) - most);                  \
		powers_##type(y, y, count);                                                   \
		logarithm = SP_ROUND_##type(log(sp_rounded__sum_##type(y, count, first)));    \
		for (size_t i = 0; i < count; i++)                                            \
			y[i] = SP_STORE_##type(SP_ROUND_##type(SP_LOAD_##type(x[i]) - most) - \
					       logarithm);                                    \
	}

SP_UNARY_NARROW(powers, sp_float_exp)
LARGEST(f64, largest)
LARGEST(f16, largest)
LARGEST(bf16, largest)
SOFTMAX(f64, softmax)
SOFTMAX_NARROW(f16, softmax)
SOFTMAX_NARROW(bf16, softmax)
LOG_SOFTMAX(f64, log_softmax)
LOG_SOFTMAX_NARROW(f16, log_softmax)
LOG_SOFTMAX_NARROW(bf16, log_softmax)

#define TABLE_OTHERS(name) \
	[SP_DOUBLE] = name##_f64, [SP_HALF] = name##_f16, [SP_BFLOAT16] = name##_bf16

static row_fn *const softmax[SP_DTYPE_COUNT] = {TABLE_OTHERS(softmax)};
static row_fn *const log_softmax[SP_DTYPE_COUNT] = {TABLE_OTHERS(log_softmax)};

static float largest_float(const float *x, size_t count)
{
	float lanes[SP_FLOAT_PACKET], most = -INFINITY;
	size_t whole = count - count % SP_FLOAT_PACKET;

	for (size_t l = 0; l < SP_FLOAT_PACKET; l++)
		lanes[l] = -INFINITY;
	for (size_t i = 0; i < whole; i += SP_FLOAT_PACKET)
		for (size_t l = 0; l < SP_FLOAT_PACKET; l++)
			lanes[l] = x[i + l] > lanes[l] ? x[i + l] : lanes[l];
	for (size_t l = 0; l < SP_FLOAT_PACKET; l++)
		most = lanes[l] > most ? lanes[l] : most;
	for (size_t i = whole; i < count; i++)
		most = x[i] > most ? x[i] : most;
	return most;
}

/* Rows of float; `scratch` has room for one number of each row and for one row. */
typedef void rows_fn(const float *x, float *y, float *scratch, size_t rows, size_t width);

void sp_softmax__shift(const float *x, float *y, size_t rows, size_t width)
{
	for (size_t i = 0; i < rows; i++, x += width, y += width) {
		float most = largest_float(x, width);

		for (size_t j = 0; j < width; j++)
			y[j] = x[j] - most;
	}
}

static void exp_blocks(float *x, size_t count, size_t block)
{
	for (size_t i = 0; i < count; i += block)
		sp_float_exp(x + i, x + i, count - i < block ? count - i : block);
}

void sp_softmax__exp(float *x, size_t rows, size_t width, size_t task)
{
	if (width <= task)
		exp_blocks(x, rows * width, (task + width - 1) / width * width);
	else
		for (size_t i = 0; i < rows; i++)
			exp_blocks(x + i * width, width, task);
}

/*
 * What Eigen takes for a task's worth of exp(a - b): 40000 cycles, at 8 bytes to move (11 cycles
 * for 64), 1 / 8 for the difference and 34 / 8 for the exponential.
 */
enum { TASK = 6956 };

static void softmax_rows(const float *x, float *y, float *scratch, size_t rows, size_t width)
{
	sp_softmax__shift(x, y, rows, width);
	sp_softmax__exp(y, rows, width, TASK);
	for (size_t i = 0; i < rows; i++)
		scratch[i] = sp_float__sum(y + i * width, width, i * width);
	sp_float_reciprocal(scratch, scratch, rows);
	for (size_t i = 0; i < rows; i++, y += width)
		for (size_t j = 0; j < width; j++)
			y[j] *= scratch[i];
}

static void log_softmax_rows(const float *x, float *y, float *scratch, size_t rows, size_t width)
{
	float *powers = scratch + rows;

	sp_softmax__shift(x, y, rows, width);
	for (size_t i = 0; i < rows; i++) {
		sp_float_exp(y + i * width, powers, width);
		scratch[i] = sp_float__sum(powers, width, i * width);
	}
	sp_float_log(scratch, scratch, rows);
	for (size_t i = 0; i < rows; i++, y += width)
		for (size_t j = 0; j < width; j++)
			y[j] -= scratch[i];
}

typedef struct softmax_state {
	row_fn *kernel;  /* NULL for float */
	rows_fn *floats; /* for float */
	bool in_place;   /* the kernel may write over what it reads */
} softmax_state;

static sp_status prepare_rows(sp_prepare *prepare, row_fn *const *kernels, rows_fn *floats,
			      sp_error *err)
{
	softmax_state *state = sp_prepare_state(prepare, sizeof(*state));
	sp_dtype dtype;

	if (state == NULL)
		return sp_error_set(err, SP_NO_MEMORY, "no memory for an operator");
	SP_TRY(sp_prepare_inputs(prepare, 1, err));
	dtype = prepare->in_dtypes[0];
	state->kernel = kernels[dtype];
	state->in_place = dtype == SP_FLOAT || dtype == SP_DOUBLE;
	state->floats = floats;
	if (state->kernel == NULL && dtype != SP_FLOAT)
		return sp_prepare_unsupported(prepare, dtype, err);
	return sp_prepare_outputs(prepare, 1, dtype, err);
}

static sp_status prepare_softmax(sp_prepare *prepare, sp_error *err)
{
	return prepare_rows(prepare, softmax, softmax_rows, err);
}

static sp_status prepare_log_softmax(sp_prepare *prepare, sp_error *err)
{
	return prepare_rows(prepare, log_softmax, log_softmax_rows, err);
}

static sp_status run_floats(const sp_call *call, rows_fn *kernel, size_t width)
{
	size_t rows = call->in[0]->count / width;
	float *scratch = sp_call_bytes(call, rows + width, sizeof(*scratch));

	if (scratch == NULL)
		return sp_call_no_memory(call);
	kernel(call->in[0]->data, call->out[0]->data, scratch, rows, width);
	return SP_OK;
}

static sp_status run_rows(const sp_call *call)
{
	const softmax_state *state = call->state;
	const sp_tensor *in = call->in[0];
	size_t size = sp_dtype_size(in->dtype), width;

	if (in->shape.rank == 0)
		return sp_call_invalid(call, "the logits must not be a scalar");
	if (state->in_place)
		SP_TRY(sp_call_output_over(call, 0, 0, in->dtype));
	else
		SP_TRY(sp_call_output(call, 0, in->dtype, &in->shape));
	width = (size_t)in->shape.dims[in->shape.rank - 1];
	if (in->count != 0 && in->dtype == SP_FLOAT)
		return run_floats(call, state->floats, width);
	for (size_t i = 0; i < in->count; i += width)
		state->kernel((const char *)in->data + i * size,
			      (char *)call->out[0]->data + i * size, width, i);
	return SP_OK;
}

const sp_op sp_op_Softmax = {.name = "Softmax", .prepare = prepare_softmax, .run = run_rows};
const sp_op sp_op_LogSoftmax = {
	.name = "LogSoftmax", .prepare = prepare_log_softmax, .run = run_rows};
