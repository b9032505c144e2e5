#include <math.h>
#include <string.h>

#include "engine/ops/array.h"
#include "engine/ops/cells.h"
#include "engine/ops/resize.h"

/*
 * ResizeNearestNeighbor and ResizeBilinear of [batch, rows, columns, channels] to
 * size[0] rows and size[1] columns; the latter answers float.  With align_corners
 * the outermost pixels stay where they are, with half_pixel_centers pixels are
 * squares, else points.
 *
 * Numerics: places and means in float, in TensorFlow's order of operations.
 */
typedef struct resize_state {
	sp_resize resize;
	bool nearest;
} resize_state;

#define LOAD(type, name)                                         \
	static float name##_##type(const void *pixels, size_t i) \
	{                                                        \
		const sp_cell_##type *x = pixels;                \
                                                                 \
		return (float)SP_LOAD_##type(x[i]);              \
	}

SP_FOR_NUMBER(LOAD, load)

static sp_resize_load *const loads[SP_DTYPE_COUNT] = {SP_TABLE_NUMBER(load)};

sp_resize_load *sp_resize__find_load(sp_dtype dtype)
{
	return loads[dtype];
}

sp_status sp_resize__prepare(const sp_prepare *prepare, sp_resize *out, sp_error *err)
{
	SP_TRY(sp_prepare_inputs(prepare, 2, err));
	SP_TRY(sp_prepare_input_dtype(prepare, 1, SP_INT32, err));
	out->load = sp_resize__find_load(prepare->in_dtypes[0]);
	if (out->load == NULL)
		return sp_prepare_unsupported(prepare, prepare->in_dtypes[0], err);
	SP_TRY(sp_node_attr_bool(prepare->node, "align_corners", false, &out->align, err));
	SP_TRY(sp_node_attr_bool(prepare->node, "half_pixel_centers", false, &out->half, err));
	if (out->align && out->half)
		return sp_error_set(err, SP_INVALID,
				    "half_pixel_centers and align_corners exclude each other");
	return SP_OK;
}

static sp_status prepare_any(sp_prepare *prepare, bool nearest, sp_error *err)
{
	resize_state *state = sp_prepare_state(prepare, sizeof(*state));

	if (state == NULL)
		return sp_error_set(err, SP_NO_MEMORY, "no memory for an operator");
	state->nearest = nearest;
	SP_TRY(sp_resize__prepare(prepare, &state->resize, err));
	return sp_prepare_outputs(prepare, 1, nearest ? prepare->in_dtypes[0] : SP_FLOAT, err);
}

static sp_status prepare_nearest(sp_prepare *prepare, sp_error *err)
{
	return prepare_any(prepare, true, err);
}

static sp_status prepare_bilinear(sp_prepare *prepare, sp_error *err)
{
	return prepare_any(prepare, false, err);
}

/* Where a row or column of the output comes from: `share` of `above`, the rest of `below`. */
typedef struct source {
	size_t below, above;
	float share;
} source;

float sp_resize__scale(const sp_resize *resize, int64_t in, int64_t out)
{
	if (resize->align && out > 1)
		return (float)(in - 1) / (float)(out - 1);
	return (float)in / (float)out;
}

static size_t clamp(float place, int64_t in)
{
	if (place >= (float)in)
		return (size_t)in - 1;
	return place > 0 ? (size_t)place : 0;
}

static source find_nearest(const sp_resize *resize, int64_t i, float scale, int64_t in)
{
	float place = resize->half ? ((float)i + 0.5F) * scale : (float)i * scale;
	size_t at = clamp(resize->align ? roundf(place) : floorf(place), in);

	return (source){.below = at, .above = at};
}

static source find_between(const sp_resize *resize, int64_t i, float scale, int64_t in)
{
	float place = resize->half ? ((float)i + 0.5F) * scale - 0.5F : (float)i * scale;

	return (source){.below = clamp(floorf(place), in),
			.above = clamp(ceilf(place), in),
			.share = place - floorf(place)};
}

static sp_status find_sources(const sp_call *call, int64_t in, int64_t out, source **sources)
{
	const resize_state *state = call->state;
	float scale = sp_resize__scale(&state->resize, in, out);

	*sources = sp_call_bytes(call, (size_t)out, sizeof(**sources));
	if (*sources == NULL)
		return sp_call_no_memory(call);
	for (int64_t i = 0; i < out; i++)
		(*sources)[i] = state->nearest ? find_nearest(&state->resize, i, scale, in)
					       : find_between(&state->resize, i, scale, in);
	return SP_OK;
}

sp_status sp_resize__shape(const sp_call *call, sp_shape *shape)
{
	const sp_tensor *size = call->in[1];

	SP_TRY(sp_array__need_rank(call, 0, 4));
	if (size->shape.rank != 1 || size->count != 2)
		return sp_call_invalid(call, "size must be a vector of 2, not of rank %d with %zu",
				       size->shape.rank, size->count);
	*shape = call->in[0]->shape;
	if (shape->dims[1] == 0 || shape->dims[2] == 0)
		return sp_call_invalid(call, "the images have no pixels");
	for (size_t i = 0; i < 2; i++) {
		shape->dims[i + 1] = sp_tensor_index(size, i);
		if (shape->dims[i + 1] < 1)
			return sp_call_invalid(call, "size must be positive, not %lld",
					       (long long)shape->dims[i + 1]);
	}
	return SP_OK;
}

static void mix(const sp_call *call, size_t line[2], source column, float share, size_t to)
{
	const resize_state *state = call->state;
	sp_resize_load *load = state->resize.load;
	const void *pixels = call->in[0]->data;
	size_t channels = (size_t)call->in[0]->shape.dims[3];
	float *out = sp_tensor_f32(call->out[0]);

	for (size_t c = 0; c < channels; c++) {
		float ends[2];

		for (size_t i = 0; i < 2; i++) {
			float left = load(pixels, (line[i] + column.below) * channels + c);
			float right = load(pixels, (line[i] + column.above) * channels + c);

			ends[i] = left + (right - left) * column.share;
		}
		out[to * channels + c] = ends[0] + (ends[1] - ends[0]) * share;
	}
}

static sp_status run_resize(const sp_call *call)
{
	const resize_state *state = call->state;
	const sp_tensor *in = call->in[0];
	size_t height, width, pixel, to = 0;
	source *rows, *columns;
	sp_shape shape;

	SP_TRY(sp_resize__shape(call, &shape));
	SP_TRY(sp_call_output(call, 0, state->nearest ? in->dtype : SP_FLOAT, &shape));
	if (call->out[0]->count == 0)
		return SP_OK;
	height = (size_t)in->shape.dims[1];
	width = (size_t)in->shape.dims[2];
	pixel = (size_t)shape.dims[3] * sp_dtype_size(in->dtype);
	SP_TRY(find_sources(call, in->shape.dims[1], shape.dims[1], &rows));
	SP_TRY(find_sources(call, in->shape.dims[2], shape.dims[2], &columns));
	for (size_t batch = 0; batch < (size_t)shape.dims[0]; batch++)
		for (int64_t i = 0; i < shape.dims[1]; i++)
			for (int64_t j = 0; j < shape.dims[2]; j++, to++) {
				size_t line[2] = {(batch * height + rows[i].below) * width,
						  (batch * height + rows[i].above) * width};

				if (!state->nearest)
					mix(call, line, columns[j], rows[i].share, to);
				else
					memcpy((char *)call->out[0]->data + to * pixel,
					       (const char *)in->data +
						       (line[0] + columns[j].below) * pixel,
					       pixel);
			}
	return SP_OK;
}

const sp_op sp_op_ResizeNearestNeighbor = {
	.name = "ResizeNearestNeighbor", .prepare = prepare_nearest, .run = run_resize};
const sp_op sp_op_ResizeBilinear = {
	.name = "ResizeBilinear", .prepare = prepare_bilinear, .run = run_resize};
