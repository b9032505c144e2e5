#include <float.h>
#include <math.h>
#include <string.h>

#include "engine/ops/array.h"
#include "engine/ops/resize.h"

/*
 * ScaleAndTranslate: images [batch, rows, columns, channels] are scaled, moved, and cut to size[0]
 * rows and size[1] columns of float.  kernel_type says how a pixel of the answer weighs those
 * around its place; with `antialias` kernels grow as images shrink.  What lies outside is 0.
 *
 * Numerics: in float.  Rows are added up before columns.
 * Source: of the kernels, C. E. Duchon, "Lanczos Filtering in One and Two Dimensions", 1979;
 * R. Keys, "Cubic convolution interpolation for digital image processing", 1981; D. P. Mitchell
 * and A. N. Netravali, "Reconstruction Filters in Computer Graphics", 1988.
 */
typedef struct kernel {
	const char *name;
	float radius;
	float (*weigh)(float x, float radius); /* x >= 0 away */
} kernel;

static float lanczos(float x, float radius)
{
	const float pi = 3.14159265359F;

	if (x > radius)
		return 0;
	if (x <= 1e-3F)
		return 1;
	return radius * sinf(pi * x) * sinf(pi * x / radius) / (pi * pi * x * x);
}

static float gaussian(float x, float radius)
{
	float sigma = radius / 3;

	return x >= radius ? 0
			   : (float)exp((double)(-x * x) / (2.0 * (double)sigma * (double)sigma));
}

static float box(float x, float radius)
{
	(void)radius;
	return x < 0.5F ? 1 : (x == 0.5F ? 0.5F : 0);
}

static float triangle(float x, float radius)
{
	(void)radius;
	return x < 1 ? 1 - x : 0;
}

static float keys_cubic(float x, float radius)
{
	if (x >= radius)
		return 0;
	if (x >= 1)
		return ((-0.5F * x + 2.5F) * x - 4) * x + 2;
	return ((1.5F * x - 2.5F) * x) * x + 1;
}

static float mitchell_cubic(float x, float radius)
{
	if (x >= radius)
		return 0;
	if (x >= 1)
		return (((-7.0F / 18) * x + 2) * x - 10.0F / 3) * x + 16.0F / 9;
	return (((7.0F / 6) * x - 2) * x) * x + 8.0F / 9;
}

static const kernel kernels[] = {
	{"lanczos1", 1, lanczos},
	{"lanczos3", 3, lanczos},
	{"lanczos5", 5, lanczos},
	{"gaussian", 1.5F, gaussian},
	{"box", 1, box},
	{"triangle", 1, triangle},
	{"keyscubic", 2, keys_cubic},
	{"mitchellcubic", 2, mitchell_cubic},
};

typedef struct scale_state {
	sp_resize_load *load;
	const kernel *kernel;
	bool antialias;
} scale_state;

static const kernel *find_kernel(sp_bytes name)
{
	for (size_t i = 0; i < sizeof(kernels) / sizeof(kernels[0]); i++)
		if (sp_bytes_equal_text(name, kernels[i].name))
			return &kernels[i];
	return NULL;
}

static sp_status prepare_scale(sp_prepare *prepare, sp_error *err)
{
	scale_state *state = sp_prepare_state(prepare, sizeof(*state));
	sp_bytes name;

	if (state == NULL)
		return sp_error_set(err, SP_NO_MEMORY, "no memory for an operator");
	SP_TRY(sp_prepare_inputs(prepare, 4, err));
	SP_TRY(sp_prepare_input_dtype(prepare, 1, SP_INT32, err));
	SP_TRY(sp_prepare_input_dtype(prepare, 2, SP_FLOAT, err));
	SP_TRY(sp_prepare_input_dtype(prepare, 3, SP_FLOAT, err));
	state->load = sp_resize__find_load(prepare->in_dtypes[0]);
	if (state->load == NULL)
		return sp_prepare_unsupported(prepare, prepare->in_dtypes[0], err);
	SP_TRY(sp_node_attr_bool(prepare->node, "antialias", true, &state->antialias, err));
	SP_TRY(sp_node_attr_bytes(prepare->node, "kernel_type", "lanczos3", &name, err));
	state->kernel = find_kernel(name);
	if (state->kernel == NULL)
		return sp_error_set(err, SP_INVALID, "kernel_type '%.*s' is not known",
				    (int)name.size, name.data);
	return sp_prepare_outputs(prepare, 1, SP_FLOAT, err);
}

/* What a row or column of the answer is made of: `count` of the image's from `first` on. */
typedef struct span {
	int64_t first, count;
	float *weights; /* [count] */
} span;

static int64_t clamp(float place, int64_t in)
{
	return place <= 0 ? 0 : (place >= (float)(in - 1) ? in - 1 : (int64_t)place);
}

/* The part of [0, in) within `reach` of `place`, a number. */
static void find_extent(float place, float reach, int64_t in, span *s)
{
	*s = (span){0};
	if (!(place >= 0 && place <= (float)in))
		return;
	s->first = clamp(ceilf(place - reach - 0.5F), in);
	s->count = clamp(floorf(place + reach - 0.5F), in) + 1 - s->first;
}

static void weigh(const kernel *k, float place, float kernel_scale, span *s)
{
	float sum = 0, narrow = 1 / kernel_scale;

	for (int64_t i = 0; i < s->count; i++) {
		float away = (float)(s->first + i) + 0.5F - place;

		s->weights[i] = k->weigh(fabsf(away * narrow), k->radius);
		sum += s->weights[i];
	}
	for (int64_t i = 0; i < s->count; i++)
		s->weights[i] = fabsf(sum) >= 1000 * FLT_MIN ? s->weights[i] * (1 / sum) : 0;
}

static sp_status make_spans(const sp_call *call, int axis, int64_t in, int64_t out, span **spans)
{
	const scale_state *state = call->state;
	float back = (float)(1.0 / (double)sp_tensor_f32(call->in[2])[axis]);
	float move = -back * sp_tensor_f32(call->in[3])[axis];
	float kernel_scale = state->antialias && back > 1 ? back : 1;

	*spans = sp_call_bytes(call, (size_t)out, sizeof(**spans));
	if (*spans == NULL)
		return sp_call_no_memory(call);
	for (int64_t i = 0; i < out; i++) {
		float place = ((float)i + 0.5F) * back + move;
		span *s = &(*spans)[i];

		find_extent(place, state->kernel->radius * kernel_scale, in, s);
		s->weights = sp_call_bytes(call, (size_t)s->count, sizeof(float));
		if (s->weights == NULL)
			return sp_call_no_memory(call);
		weigh(state->kernel, place, kernel_scale, s);
	}
	return SP_OK;
}

static sp_status find_shape(const sp_call *call, sp_shape *out)
{
	const sp_tensor *size = call->in[1], *scale = call->in[2];

	SP_TRY(sp_array__need_rank(call, 0, 4));
	for (size_t i = 1; i < 4; i++) {
		SP_TRY(sp_array__need_rank(call, i, 1));
		if (call->in[i]->count != 2)
			return sp_call_invalid(call, "input %zu has %zu elements, not 2", i,
					       call->in[i]->count);
	}
	*out = call->in[0]->shape;
	if (out->dims[1] == 0 || out->dims[2] == 0 || out->dims[3] == 0)
		return sp_call_invalid(call, "the images have no pixels");
	out->dims[1] = sp_tensor_i32(size)[0];
	out->dims[2] = sp_tensor_i32(size)[1];
	if (out->dims[1] < 1 || out->dims[2] < 1)
		return sp_call_invalid(call, "the size must be positive");
	if (!(sp_tensor_f32(scale)[0] > 0 && sp_tensor_f32(scale)[1] > 0))
		return sp_call_invalid(call, "the scale must be positive");
	return SP_OK;
}

/* Row [columns, channels] of the answer, as wide as the image yet. */
static void gather_row(const sp_call *call, size_t image, const span *rows, float *out)
{
	const scale_state *state = call->state;
	const sp_tensor *in = call->in[0];
	size_t width = (size_t)sp_shape_product(&in->shape, 2, 4);

	memset(out, 0, width * sizeof(*out));
	for (int64_t i = 0; i < rows->count; i++) {
		size_t from = (image * (size_t)in->shape.dims[1] + (size_t)(rows->first + i)) *
			      width;

		for (size_t j = 0; j < width; j++)
			out[j] += rows->weights[i] * state->load(in->data, from + j);
	}
}

static void gather_columns(const float *row, const span *columns, size_t count, size_t channels,
			   float *out)
{
	memset(out, 0, count * channels * sizeof(*out));
	for (size_t x = 0; x < count; x++, out += channels)
		for (int64_t i = 0; i < columns[x].count; i++) {
			const float *pixel = row + (size_t)(columns[x].first + i) * channels;

			for (size_t c = 0; c < channels; c++)
				out[c] += columns[x].weights[i] * pixel[c];
		}
}

static sp_status run_scale(const sp_call *call)
{
	const sp_shape *in = &call->in[0]->shape;
	span *rows, *columns;
	float *row, *out;
	sp_shape shape;

	SP_TRY(find_shape(call, &shape));
	SP_TRY(sp_call_output(call, 0, SP_FLOAT, &shape));
	if (call->out[0]->count == 0)
		return SP_OK;
	SP_TRY(make_spans(call, 0, in->dims[1], shape.dims[1], &rows));
	SP_TRY(make_spans(call, 1, in->dims[2], shape.dims[2], &columns));
	row = sp_call_bytes(call, (size_t)sp_shape_product(in, 2, 4), sizeof(*row));
	if (row == NULL)
		return sp_call_no_memory(call);
	out = sp_tensor_f32(call->out[0]);
	for (size_t i = 0; i < (size_t)shape.dims[0]; i++)
		for (int64_t y = 0; y < shape.dims[1]; y++) {
			gather_row(call, i, &rows[y], row);
			gather_columns(row, columns, (size_t)shape.dims[2], (size_t)shape.dims[3],
				       out);
			out += sp_shape_product(&shape, 2, 4);
		}
	return SP_OK;
}

const sp_op sp_op_ScaleAndTranslate = {
	.name = "ScaleAndTranslate",
	.outputs = "resized_images",
	.prepare = prepare_scale,
	.run = run_scale,
};
