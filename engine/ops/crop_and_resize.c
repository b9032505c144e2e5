#include <math.h>

#include "engine/ops/array.h"
#include "engine/ops/resize.h"

/*
 * CropAndResize: of images [batch, rows, columns, channels] the boxes [boxes, 4], each of the
 * image that box_index names, as crop_size[0] rows and crop_size[1] columns of float.  A box is
 * y1, x1, y2, x2, of which 0 is the first row or column and 1 the last; it may be turned over,
 * and reach outside, where the answer is extrapolation_value.
 *
 * Numerics: places and means in float, in TensorFlow's order of operations.
 */
typedef struct crop_state {
	sp_resize_load *load;
	bool nearest;
	float outside;
} crop_state;

static sp_status prepare_crop(sp_prepare *prepare, sp_error *err)
{
	crop_state *state = sp_prepare_state(prepare, sizeof(*state));
	sp_bytes method;

	if (state == NULL)
		return sp_error_set(err, SP_NO_MEMORY, "no memory for an operator");
	SP_TRY(sp_prepare_inputs(prepare, 4, err));
	SP_TRY(sp_prepare_input_dtype(prepare, 1, SP_FLOAT, err));
	SP_TRY(sp_prepare_input_dtype(prepare, 2, SP_INT32, err));
	SP_TRY(sp_prepare_input_dtype(prepare, 3, SP_INT32, err));
	state->load = sp_resize__find_load(prepare->in_dtypes[0]);
	if (state->load == NULL)
		return sp_prepare_unsupported(prepare, prepare->in_dtypes[0], err);
	SP_TRY(sp_node_attr_float(prepare->node, "extrapolation_value", 0, &state->outside, err));
	SP_TRY(sp_node_attr_bytes(prepare->node, "method", "bilinear", &method, err));
	state->nearest = sp_bytes_equal_text(method, "nearest");
	if (!state->nearest && !sp_bytes_equal_text(method, "bilinear"))
		return sp_error_set(err, SP_INVALID, "method '%.*s' is not known", (int)method.size,
				    method.data);
	return sp_prepare_outputs(prepare, 1, SP_FLOAT, err);
}

static sp_status check_boxes(const sp_call *call)
{
	const sp_tensor *boxes = call->in[1], *index = call->in[2];

	SP_TRY(sp_array__need_rank(call, 1, 2));
	SP_TRY(sp_array__need_rank(call, 2, 1));
	if (boxes->count == 0 && index->count == 0)
		return SP_OK;
	if (boxes->shape.dims[1] != 4 || boxes->shape.dims[0] != index->shape.dims[0])
		return sp_call_invalid(call, "%lld boxes of %lld numbers for %zu indices",
				       (long long)boxes->shape.dims[0],
				       (long long)boxes->shape.dims[1], index->count);
	for (size_t i = 0; i < index->count; i++)
		if (sp_tensor_i32(index)[i] < 0 ||
		    sp_tensor_i32(index)[i] >= call->in[0]->shape.dims[0])
			return sp_call_invalid(call, "box_index[%zu] is %d, not one of %lld images",
					       i, sp_tensor_i32(index)[i],
					       (long long)call->in[0]->shape.dims[0]);
	for (size_t i = 0; i < boxes->count; i++)
		if (!isfinite(sp_tensor_f32(boxes)[i]))
			return sp_call_invalid(call, "boxes hold a number that is not finite");
	return SP_OK;
}

static sp_status find_shape(const sp_call *call, sp_shape *out)
{
	const sp_tensor *size = call->in[3];

	SP_TRY(sp_array__need_rank(call, 0, 4));
	SP_TRY(sp_array__need_rank(call, 3, 1));
	*out = call->in[0]->shape;
	if (out->dims[1] == 0 || out->dims[2] == 0)
		return sp_call_invalid(call, "the images have no pixels");
	if (size->count != 2 || sp_tensor_i32(size)[0] < 1 || sp_tensor_i32(size)[1] < 1)
		return sp_call_invalid(call, "crop_size must be two positive numbers");
	out->dims[0] = (int64_t)call->in[2]->count;
	out->dims[1] = sp_tensor_i32(size)[0];
	out->dims[2] = sp_tensor_i32(size)[1];
	return SP_OK;
}

/* Where row or column i of `count` lies, of a box from `low` to `high` over `in` pixels. */
static float find_place(float low, float high, int64_t i, int64_t count, int64_t in)
{
	float last = (float)(in - 1), scale;

	if (count == 1)
		return (float)(0.5 * (double)(low + high) * (double)last);
	scale = (high - low) * last / (float)(count - 1);
	return low * last + (float)i * scale;
}

/* One image: channels of a pixel lie together. */
typedef struct image {
	const void *pixels;
	size_t first, rows, columns, channels;
} image;

/* A number of 2^24 rows and more may be rounded up to the next float. */
static size_t clamp(float place, size_t count)
{
	return (size_t)place < count ? (size_t)place : count - 1;
}

static float get(const crop_state *state, const image *from, float row, float column, size_t c)
{
	size_t pixel = clamp(row, from->rows) * from->columns + clamp(column, from->columns);

	return state->load(from->pixels, from->first + pixel * from->channels + c);
}

/* The pixel at a place inside. */
static void sample(const crop_state *state, const image *from, float y, float x, float *out)
{
	float top = floorf(y), bottom = ceilf(y), left = floorf(x), right = ceilf(x);

	for (size_t c = 0; c < from->channels; c++) {
		float a, b;

		if (state->nearest) {
			out[c] = get(state, from, roundf(y), roundf(x), c);
			continue;
		}
		a = get(state, from, top, left, c);
		a += (get(state, from, top, right, c) - a) * (x - left);
		b = get(state, from, bottom, left, c);
		b += (get(state, from, bottom, right, c) - b) * (x - left);
		out[c] = a + (b - a) * (y - top);
	}
}

static void crop(const sp_call *call, const float box[4], const image *from, float *out)
{
	const crop_state *state = call->state;
	const sp_shape *in = &call->in[0]->shape, *shape = &call->out[0]->shape;

	for (int64_t i = 0; i < shape->dims[1]; i++) {
		float y = find_place(box[0], box[2], i, shape->dims[1], in->dims[1]);

		for (int64_t j = 0; j < shape->dims[2]; j++, out += from->channels) {
			float x = find_place(box[1], box[3], j, shape->dims[2], in->dims[2]);

			if (y >= 0 && y <= (float)(in->dims[1] - 1) && x >= 0 &&
			    x <= (float)(in->dims[2] - 1))
				sample(state, from, y, x, out);
			else
				for (size_t c = 0; c < from->channels; c++)
					out[c] = state->outside;
		}
	}
}

static sp_status run_crop(const sp_call *call)
{
	const sp_tensor *in = call->in[0], *boxes = call->in[1];
	size_t made;
	sp_shape shape;

	SP_TRY(find_shape(call, &shape));
	SP_TRY(check_boxes(call));
	SP_TRY(sp_call_output(call, 0, SP_FLOAT, &shape));
	if (call->out[0]->count == 0)
		return SP_OK;
	made = (size_t)sp_shape_product(&shape, 1, 4);
	for (size_t i = 0; i < call->in[2]->count; i++) {
		size_t which = (size_t)sp_tensor_i32(call->in[2])[i];
		image from = {.pixels = in->data,
			      .first = which * (size_t)sp_shape_product(&in->shape, 1, 4),
			      .rows = (size_t)in->shape.dims[1],
			      .columns = (size_t)in->shape.dims[2],
			      .channels = (size_t)in->shape.dims[3]};

		crop(call, sp_tensor_f32(boxes) + 4 * i, &from,
		     sp_tensor_f32(call->out[0]) + i * made);
	}
	return SP_OK;
}

const sp_op sp_op_CropAndResize = {
	.name = "CropAndResize", .outputs = "crops", .prepare = prepare_crop, .run = run_crop};
