#include <float.h>
#include <math.h>

#include "engine/ops/resize.h"

/*
 * ResizeBicubic and ResizeArea of [batch, rows, columns, channels] to size[0] rows and
 * size[1] columns; both answer float:
 *
 *   ResizeBicubic  a cubic through four pixels of each dimension.  With half_pixel_centers
 *                  that of Keys (a = -0.5), pixels outside have no weight; else a = -0.75 and
 *                  the outermost pixels stand in for those outside
 *   ResizeArea     the mean of what a pixel of the answer covers
 *
 * With align_corners the outermost pixels stay where they are.
 *
 * Numerics: in float.  Places of ResizeBicubic are rounded to 1/1024 of a pixel.
 * Source: R. Keys, "Cubic convolution interpolation for digital image processing", 1981.
 */
typedef struct resize_state {
	sp_resize resize;
	bool cubic;
} resize_state;

static sp_status prepare_any(sp_prepare *prepare, bool cubic, sp_error *err)
{
	resize_state *state = sp_prepare_state(prepare, sizeof(*state));

	if (state == NULL)
		return sp_error_set(err, SP_NO_MEMORY, "no memory for an operator");
	state->cubic = cubic;
	SP_TRY(sp_resize__prepare(prepare, &state->resize, err));
	return sp_prepare_outputs(prepare, 1, SP_FLOAT, err);
}

static sp_status prepare_cubic(sp_prepare *prepare, sp_error *err)
{
	return prepare_any(prepare, true, err);
}

static sp_status prepare_area(sp_prepare *prepare, sp_error *err)
{
	return prepare_any(prepare, false, err);
}

/* ------------------------------------------------------------------- weights */

/*
 * What a row or column of the answer is made of: `count` pixels from `first` on, which may lie
 * outside, with weights of their own.
 */
typedef struct blend {
	int64_t first, count;
	float *weights;
} blend;

/* One dimension of the images. */
typedef struct line {
	int64_t in, out;
	float scale;
	blend *blends; /* [out] */
} line;

static int64_t clamp(int64_t place, int64_t in)
{
	return place < 0 ? 0 : (place >= in ? in - 1 : place);
}

/* The weight of a pixel x away, of one up to 1 away, or of one up to 2 away. */
static float near_weight(float x, double a)
{
	return (float)(((a + 2) * (double)x - (a + 3)) * (double)x * (double)x + 1);
}

static float far_weight(float x, double a)
{
	x += 1;
	return (float)(((a * (double)x - 5 * a) * (double)x + 8 * a) * (double)x - 4 * a);
}

/* Pixels outside lose their weight, and the others share it. */
static void keep_inside(blend *b, int64_t in)
{
	float sum = 0;

	for (int64_t i = 0; i < 4; i++)
		if (b->first + i < 0 || b->first + i >= in)
			b->weights[i] = 0;
	for (int64_t i = 0; i < 4; i++)
		sum += b->weights[i];
	if (fabsf(sum) >= 1000 * FLT_MIN)
		for (int64_t i = 0; i < 4; i++)
			b->weights[i] *= 1 / sum;
}

static void weigh_cubic(const resize_state *state, const line *l, int64_t i, blend *b)
{
	float place = state->resize.half ? ((float)i + 0.5F) * l->scale - 0.5F
					 : (float)i * l->scale;
	double a = state->resize.half ? -0.5 : -0.75;
	int64_t at = (int64_t)floorf(place);
	float after = (float)lrintf((place - (float)at) * 1024) / 1024, before = 1 - after;

	b->first = at - 1;
	b->weights[0] = far_weight(after, a);
	b->weights[1] = near_weight(after, a);
	b->weights[2] = near_weight(before, a);
	b->weights[3] = far_weight(before, a);
	if (state->resize.half)
		keep_inside(b, l->in);
}

static void weigh_area(const line *l, int64_t i, blend *b)
{
	float from = (float)i * l->scale, to = (float)(i + 1) * l->scale;

	for (int64_t j = 0; j < b->count; j++) {
		float low = (float)(b->first + j), high = (float)(b->first + j + 1);

		if (low < from)
			b->weights[j] = high > to ? l->scale : high - from;
		else
			b->weights[j] = high > to ? to - low : 1;
	}
}

/* How many pixels row or column i is made of, and the first of them. */
static void find_extent(const resize_state *state, const line *l, int64_t i, blend *b)
{
	*b = (blend){.count = 4};
	if (state->cubic)
		return;
	b->first = (int64_t)floorf((float)i * l->scale);
	b->count = (int64_t)ceilf((float)(i + 1) * l->scale) - b->first;
}

static sp_status make_line(const sp_call *call, int64_t in, int64_t out, line *l)
{
	const resize_state *state = call->state;

	l->in = in;
	l->out = out;
	l->scale = sp_resize__scale(&state->resize, in, out);
	if (!state->cubic && in == 1)
		l->scale = 1 / (float)out; /* a pixel that covers nothing has no mean */
	l->blends = sp_call_bytes(call, (size_t)out, sizeof(*l->blends));
	if (l->blends == NULL)
		return sp_call_no_memory(call);
	for (int64_t i = 0; i < out; i++) {
		blend *b = &l->blends[i];

		find_extent(state, l, i, b);
		b->weights = sp_call_bytes(call, (size_t)b->count, sizeof(*b->weights));
		if (b->weights == NULL)
			return sp_call_no_memory(call);
		if (state->cubic)
			weigh_cubic(state, l, i, b);
		else
			weigh_area(l, i, b);
	}
	return SP_OK;
}

/* -------------------------------------------------------------------- images */

typedef struct image {
	const void *pixels;
	size_t first; /* element of `pixels` */
	size_t channels;
} image;

static float pixel(const resize_state *state, const image *from, const line lines[2], int64_t row,
		   int64_t column, size_t channel)
{
	size_t at = (size_t)(clamp(row, lines[0].in) * lines[1].in + clamp(column, lines[1].in));

	return state->resize.load(from->pixels, from->first + at * from->channels + channel);
}

/* Columns within rows. */
static float mean(const resize_state *state, const image *from, const line lines[2],
		  const blend *rows, const blend *columns, size_t channel)
{
	float sum = 0;

	for (int64_t i = 0; i < rows->count; i++) {
		float row = 0;

		for (int64_t j = 0; j < columns->count; j++)
			row += columns->weights[j] * pixel(state, from, lines, rows->first + i,
							   columns->first + j, channel);
		sum += row * rows->weights[i];
	}
	return sum;
}

/* Rows within columns. */
static float interpolate(const resize_state *state, const image *from, const line lines[2],
			 const blend *rows, const blend *columns, size_t channel)
{
	float sum = 0;

	for (int64_t j = 0; j < 4; j++) {
		float column = 0;

		for (int64_t i = 0; i < 4; i++)
			column += rows->weights[i] * pixel(state, from, lines, rows->first + i,
							   columns->first + j, channel);
		sum += column * columns->weights[j];
	}
	return sum;
}

static void resize(const resize_state *state, const image *from, const line lines[2], float *out)
{
	float share = (float)(1.0 / (double)(lines[0].scale * lines[1].scale));

	for (int64_t i = 0; i < lines[0].out; i++)
		for (int64_t j = 0; j < lines[1].out; j++)
			for (size_t c = 0; c < from->channels; c++, out++) {
				const blend *rows = &lines[0].blends[i];
				const blend *columns = &lines[1].blends[j];

				*out = state->cubic
					       ? interpolate(state, from, lines, rows, columns, c)
					       : share * mean(state, from, lines, rows, columns, c);
			}
}

static sp_status run_resize(const sp_call *call)
{
	const sp_tensor *in = call->in[0];
	image from = {.pixels = in->data};
	line lines[2];
	sp_shape shape;
	size_t made;

	SP_TRY(sp_resize__shape(call, &shape));
	SP_TRY(sp_call_output(call, 0, SP_FLOAT, &shape));
	if (call->out[0]->count == 0)
		return SP_OK;
	for (int i = 0; i < 2; i++)
		SP_TRY(make_line(call, in->shape.dims[i + 1], shape.dims[i + 1], &lines[i]));
	from.channels = (size_t)shape.dims[3];
	made = (size_t)sp_shape_product(&shape, 1, 4);
	for (size_t i = 0; i < (size_t)shape.dims[0]; i++) {
		from.first = i * (size_t)sp_shape_product(&in->shape, 1, 4);
		resize(call->state, &from, lines, sp_tensor_f32(call->out[0]) + i * made);
	}
	return SP_OK;
}

const sp_op sp_op_ResizeBicubic = {
	.name = "ResizeBicubic", .prepare = prepare_cubic, .run = run_resize};
const sp_op sp_op_ResizeArea = {.name = "ResizeArea", .prepare = prepare_area, .run = run_resize};
