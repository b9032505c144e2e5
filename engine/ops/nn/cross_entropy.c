#include <math.h>
#include <string.h>

#include "engine/kernels/float_functions.h"
#include "engine/kernels/float_rows.h"
#include "engine/kernels/narrow.h"
#include "engine/ops/array/array.h"
#include "engine/ops/math/broadcast.h"

/*
 * SoftmaxCrossEntropyWithLogits: the loss of each row of logits [batch, classes], and its gradient.
 *
 *     z = x - max x,   s = sum_j exp(z[j])
 *     loss = sum_i label[i] * (log(s) - z[i])      gradient[i] = exp(z[i]) / s - label[i]
 *
 * Labels are a distribution for each row; logits and labels broadcast with each other.
 *
 * Numerics: double in double, the others in float, half and bfloat16 rounded once.
 */
typedef struct row {
	const void *logits, *labels;
	size_t logit_step, label_step; /* in elements */
	size_t classes;
	void *gradient;
	void *loss;
} row;

static void run_doubles(const row *r)
{
	const double *x = r->logits, *label = r->labels;
	double *gradient = r->gradient, most = -INFINITY, sum = 0, loss = 0;

	for (size_t i = 0; i < r->classes; i++)
		most = fmax(most, x[i * r->logit_step]);
	for (size_t i = 0; i < r->classes; i++)
		sum += exp(x[i * r->logit_step] - most);
	for (size_t i = 0; i < r->classes; i++) {
		double z = x[i * r->logit_step] - most;
		double weight = label[i * r->label_step];

		loss += weight * (log(sum) - z);
		gradient[i] = exp(z) / sum - weight;
	}
	*(double *)r->loss = loss;
}

/* Converts a row of float, half or bfloat16, whose elements are `step` apart, to floats. */
static void read_floats(sp_dtype dtype, const void *from, size_t step, float *to, size_t count)
{
	uint16_t element;

	for (size_t i = 0; i < count; i++)
		if (dtype == SP_FLOAT) {
			to[i] = ((const float *)from)[i * step];
		} else {
			element = ((const uint16_t *)from)[i * step];
			to[i] = dtype == SP_HALF ? sp_half_to_float(element)
						 : sp_bfloat16_to_float(element);
		}
}

/* `scratch` has room for three rows. */
static void run_floats(const row *r, sp_dtype dtype, float *scratch)
{
	float *z = scratch, *powers = z + r->classes, *weights = powers + r->classes;
	float sum, logarithm, loss;

	read_floats(dtype, r->logits, r->logit_step, z, r->classes);
	sp_float_shift(z, z, r->classes);
	sp_float_exp(z, powers, r->classes);
	sum = sp_float_sum(powers, r->classes);
	logarithm = logf(sum);
	read_floats(dtype, r->labels, r->label_step, weights, r->classes);
	for (size_t i = 0; i < r->classes; i++)
		z[i] = weights[i] * (logarithm - z[i]);
	loss = sp_float_sum(z, r->classes);
	for (size_t i = 0; i < r->classes; i++)
		powers[i] = powers[i] / sum - weights[i];
	if (dtype == SP_FLOAT) {
		memcpy(r->loss, &loss, sizeof(loss));
		memcpy(r->gradient, powers, r->classes * sizeof(*powers));
	} else {
		sp_narrow_find(dtype)(&loss, r->loss, 1);
		sp_narrow_find(dtype)(powers, r->gradient, r->classes);
	}
}

/* ------------------------------------------------------------------- run */

static void run_row(const sp_call *call, size_t i, row *r, float *scratch)
{
	sp_dtype dtype = call->in[0]->dtype;
	size_t size = sp_dtype_size(dtype);

	r->loss = (char *)call->out[0]->data + i * size;
	r->gradient = (char *)call->out[1]->data + i * r->classes * size;
	if (dtype == SP_DOUBLE)
		run_doubles(r);
	else
		run_floats(r, dtype, scratch);
}

/* Row i of a matrix; a single row is broadcast. */
static const void *row_at(const sp_tensor *t, size_t i)
{
	size_t width = (size_t)t->shape.dims[1] * sp_dtype_size(t->dtype);

	return (const char *)t->data + (t->shape.dims[0] == 1 ? 0 : i) * width;
}

static sp_status run(const sp_call *call)
{
	const sp_tensor *x = call->in[0], *labels = call->in[1];
	sp_shape shape;
	float *scratch;
	row r;

	for (size_t i = 0; i < 2; i++)
		SP_TRY(sp_call_need_rank(call, i, 2));
	if (!sp_broadcast__shape(&shape, &x->shape, &labels->shape))
		return sp_call_invalid(call, "logits and labels must be broadcastable");
	SP_TRY(sp_call_output_vector(call, 0, x->dtype, shape.dims[0]));
	SP_TRY(sp_call_output(call, 1, x->dtype, &shape));
	r.classes = (size_t)shape.dims[1];
	scratch = sp_call_bytes(call, 3 * r.classes, sizeof(*scratch));
	if (scratch == NULL && r.classes != 0)
		return sp_call_no_memory(call);
	r.logit_step = x->shape.dims[1] != 1;
	r.label_step = labels->shape.dims[1] != 1;
	for (size_t i = 0; i < (size_t)shape.dims[0]; i++) {
		r.logits = row_at(x, i);
		r.labels = row_at(labels, i);
		run_row(call, i, &r, scratch);
	}
	return SP_OK;
}

SP_DEFINE_TYPED_OP(SoftmaxCrossEntropyWithLogits, "loss backprop", 0, "F F -> F F", run);
