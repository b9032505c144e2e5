#include <string.h>
#include <tgmath.h>

#include "engine/kernels/float_functions.h"
#include "engine/ops/array/array.h"
#include "engine/ops/math/broadcast.h"
#include "engine/ops/reduce/cells.h"
#include "engine/ops/reduce/reduce_float.h"
#include "engine/ops/nn/softmax.h"

/*
 * SoftmaxCrossEntropyWithLogits and SparseSoftmaxCrossEntropyWithLogits: the loss of
 * each row of logits [batch, classes], and its gradient.
 *
 *     z = x - max x,   s = sum_j exp(z[j])
 *     loss = sum_i label[i] * (log(s) - z[i])      gradient[i] = exp(z[i]) / s - label[i]
 *
 * Labels are a distribution per row, which is stretched to the logits or they to it;
 * the sparse operator has the number of a class instead, whose label is 1.
 *
 * Numerics: in the element type, half and bfloat16 in float; float has TensorFlow's bits, with
 * kernels/float_functions.h and engine/ops/reduce/reduce_float.h.
 */
typedef struct row {
	const void *logits, *labels; /* labels NULL: `label` is the only one, and 1 */
	size_t logit_step, label_step;
	size_t label, classes;
	void *gradient;
	void *loss;
} row;

typedef void row_fn(const row *r);

#define ROW(type, name)                                                                            \
	static void name##_##type(const row *r)                                                    \
	{                                                                                          \
		const sp_cell_##type *x = r->logits, *label = r->labels;                           \
		sp_cell_##type *gradient = r->gradient;                                            \
		sp_value_##type most = -INFINITY, sum = 0, loss = 0;                               \
                                                                                                   \
		for (size_t i = 0; i < r->classes; i++)                                            \
			most = fmax(most, SP_LOAD_##type(x[i * r->logit_step]));                   \
		for (size_t i = 0; i < r->classes; i++)                                            \
			sum += exp(SP_LOAD_##type(x[i * r->logit_step]) - most);                   \
		for (size_t i = 0; i < r->classes; i++) {                                          \
			sp_value_##type z = SP_LOAD_##type(x[i * r->logit_step]) - most;           \
			sp_value_##type weight = label != NULL ? SP_LOAD_##type(                   \
									 label[i * r->label_step]) \
							       : (sp_value_##type)(i == r->label); \
                                                                                                   \
			if (label != NULL || i == r->label)                                        \
				loss += weight * (log(sum) - z);                                   \
			gradient[i] = SP_STORE_##type(exp(z) / sum - weight);                      \
		}                                                                                  \
		*(sp_cell_##type *)r->loss = SP_STORE_##type(loss);                                \
	}

SP_FOR_FLOATING(ROW, cross)

static row_fn *const kernels[SP_DTYPE_COUNT] = {SP_TABLE_FLOATING(cross)};

/* ----------------------------------------------------------------- float */

/*
 * What Eigen takes for a task's worth of exp(a) / b - c: 40000 cycles, at 16 bytes to move (11
 * cycles for 64), and 34 / 8, 14 / 8 and 1 / 8 for the exponential, quotient and difference.
 */
enum { TASK = 4507 };

/* Of the call: the logits of all rows, and room for two numbers a row and for a row. */
typedef struct floats {
	size_t rows, width;
	float *z, *loss; /* the outputs: logits, less the largest of their row, become gradients */
	float *sums, *logs, *row;
} floats;

/* z, from logits stretched to it, and the sums of exp(z). */
static sp_status start_floats(const sp_call *call, floats *f)
{
	const sp_tensor *x = call->in[0];
	size_t row_step = x->shape.dims[0] != 1 ? (size_t)x->shape.dims[1] : 0;
	size_t step = x->shape.dims[1] != 1;
	const float *logits = x->data;

	f->rows = (size_t)call->out[1]->shape.dims[0];
	f->width = (size_t)call->out[1]->shape.dims[1];
	f->loss = call->out[0]->data;
	f->z = call->out[1]->data;
	f->sums = sp_call_bytes(call, 2 * f->rows + f->width, sizeof(float));
	if (f->sums == NULL)
		return sp_call_no_memory(call);
	f->logs = f->sums + f->rows;
	f->row = f->logs + f->rows;
	for (size_t i = 0; i < f->rows; i++)
		for (size_t j = 0; j < f->width; j++)
			f->z[i * f->width + j] = logits[i * row_step + j * step];
	sp_softmax__shift(f->z, f->z, f->rows, f->width);
	for (size_t i = 0; i < f->rows; i++) {
		sp_float_exp(f->z + i * f->width, f->row, f->width);
		f->sums[i] = sp_float__sum(f->row, f->width, i * f->width);
	}
	return SP_OK;
}

static sp_status run_dense_floats(const sp_call *call)
{
	const sp_tensor *labels = call->in[1];
	size_t row_step = labels->shape.dims[0] != 1 ? (size_t)labels->shape.dims[1] : 0;
	size_t step = labels->shape.dims[1] != 1;
	const float *label = labels->data;
	floats f;

	SP_TRY(start_floats(call, &f));
	sp_float_log(f.sums, f.logs, f.rows);
	for (size_t i = 0; i < f.rows; i++) {
		for (size_t j = 0; j < f.width; j++)
			f.row[j] = label[i * row_step + j * step] *
				   (f.logs[i] - f.z[i * f.width + j]);
		f.loss[i] = sp_float__sum(f.row, f.width, i * f.width);
	}
	sp_softmax__exp(f.z, f.rows, f.width, TASK);
	for (size_t i = 0; i < f.rows; i++, f.z += f.width)
		for (size_t j = 0; j < f.width; j++)
			f.z[j] = f.z[j] / f.sums[i] - label[i * row_step + j * step];
	return SP_OK;
}

/* The labels are in range. */
static sp_status run_sparse_floats(const sp_call *call)
{
	const sp_tensor *labels = call->in[1];
	floats f;

	SP_TRY(start_floats(call, &f));
	for (size_t i = 0; i < f.rows; i++)
		f.loss[i] = logf(f.sums[i]) - f.z[i * f.width + (size_t)sp_tensor_index(labels, i)];
	sp_float_exp(f.z, f.z, f.rows * f.width);
	for (size_t i = 0; i < f.rows; i++, f.z += f.width)
		for (size_t j = 0; j < f.width; j++)
			f.z[j] = f.z[j] / f.sums[i] -
				 (j == (size_t)sp_tensor_index(labels, i) ? 1 : 0);
	return SP_OK;
}

/* ------------------------------------------------------------------- run */

static sp_status prepare_any(sp_prepare *prepare, sp_error *err)
{
	SP_TRY(sp_prepare_inputs(prepare, 2, err));
	if (kernels[prepare->in_dtypes[0]] == NULL)
		return sp_prepare_unsupported(prepare, prepare->in_dtypes[0], err);
	return sp_prepare_outputs(prepare, 2, prepare->in_dtypes[0], err);
}

static sp_status prepare_dense(sp_prepare *prepare, sp_error *err)
{
	SP_TRY(prepare_any(prepare, err));
	return sp_prepare_input_dtype(prepare, 1, prepare->in_dtypes[0], err);
}

static sp_status prepare_sparse(sp_prepare *prepare, sp_error *err)
{
	SP_TRY(prepare_any(prepare, err));
	return sp_prepare_input_index(prepare, 1, err);
}

/* Losses [rows] and gradients [rows, classes]. */
static sp_status make_outputs(const sp_call *call, const sp_shape *shape)
{
	sp_dtype dtype = call->in[0]->dtype;
	sp_shape rows = sp_shape_vector(shape->dims[0]);

	SP_TRY(sp_call_output(call, 0, dtype, &rows));
	return sp_call_output(call, 1, dtype, shape);
}

static void run_row(const sp_call *call, size_t i, row *r)
{
	size_t size = sp_dtype_size(call->in[0]->dtype);

	r->loss = (char *)call->out[0]->data + i * size;
	r->gradient = (char *)call->out[1]->data + i * r->classes * size;
	kernels[call->in[0]->dtype](r);
}

/* Where row i of a matrix begins that is stretched to more rows, maybe. */
static const void *row_at(const sp_tensor *t, size_t i)
{
	size_t width = (size_t)t->shape.dims[1] * sp_dtype_size(t->dtype);

	return (const char *)t->data + (t->shape.dims[0] == 1 ? 0 : i) * width;
}

static sp_status run_dense(const sp_call *call)
{
	const sp_tensor *x = call->in[0], *labels = call->in[1];
	sp_shape shape;
	row r;

	for (size_t i = 0; i < 2; i++)
		if (call->in[i]->shape.rank != 2)
			return sp_call_invalid(call,
					       "logits and labels must be matrices, not of rank %d "
					       "and %d",
					       x->shape.rank, labels->shape.rank);
	if (!sp_broadcast__shape(&shape, &x->shape, &labels->shape))
		return sp_call_invalid(call, "logits and labels must be broadcastable");
	SP_TRY(make_outputs(call, &shape));
	if (x->dtype == SP_FLOAT && call->out[1]->count != 0)
		return run_dense_floats(call);
	r.classes = (size_t)shape.dims[1];
	r.logit_step = x->shape.dims[1] != 1;
	r.label_step = labels->shape.dims[1] != 1;
	for (size_t i = 0; i < (size_t)shape.dims[0]; i++) {
		r.logits = row_at(x, i);
		r.labels = row_at(labels, i);
		run_row(call, i, &r);
	}
	return SP_OK;
}

static sp_status check_labels(const sp_call *call)
{
	const sp_tensor *labels = call->in[1];
	int64_t classes = call->in[0]->shape.dims[1];

	for (size_t i = 0; i < labels->count; i++) {
		int64_t label = sp_tensor_index(labels, i);

		if (label < 0 || label >= classes)
			return sp_call_invalid(call,
					       "Received a label value of %lld which is outside "
					       "the valid range of [0, %lld)",
					       (long long)label, (long long)classes);
	}
	return SP_OK;
}

static sp_status run_sparse(const sp_call *call)
{
	const sp_tensor *x = call->in[0], *labels = call->in[1];
	row r = {.logit_step = 1};

	SP_TRY(sp_array__need_rank(call, 0, 2));
	SP_TRY(sp_array__need_rank(call, 1, 1));
	if (x->shape.dims[0] != labels->shape.dims[0])
		return sp_call_invalid(call, "%lld rows of logits for %lld labels",
				       (long long)x->shape.dims[0],
				       (long long)labels->shape.dims[0]);
	SP_TRY(make_outputs(call, &x->shape));
	r.classes = (size_t)x->shape.dims[1];
	if (r.classes == 0)
		return sp_call_invalid(call, "Must have at least one class");
	SP_TRY(check_labels(call));
	if (x->dtype == SP_FLOAT && x->count != 0)
		return run_sparse_floats(call);
	for (size_t i = 0; i < labels->count; i++) {
		r.label = (size_t)sp_tensor_index(labels, i);
		r.logits = row_at(x, i);
		run_row(call, i, &r);
	}
	return SP_OK;
}

const sp_op sp_op_SoftmaxCrossEntropyWithLogits = {
	.name = "SoftmaxCrossEntropyWithLogits",
	.outputs = "loss backprop",
	.prepare = prepare_dense,
	.run = run_dense,
};

const sp_op sp_op_SparseSoftmaxCrossEntropyWithLogits = {
	.name = "SparseSoftmaxCrossEntropyWithLogits",
	.outputs = "loss backprop",
	.prepare = prepare_sparse,
	.run = run_sparse,
};
