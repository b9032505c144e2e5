#include <math.h>
#include <string.h>

#include "engine/ops.h"
#include "engine/ops/array.h"
#include "engine/ops/glimpse_noise.h"
#include "engine/ops/random_stream.h"

/*
 * ExtractGlimpse and ExtractGlimpseV2: a window of `size` (height, width) out of each image [batch,
 * height, width, channels] of float, at `offsets` [batch, 2] (y, x).  What lies outside of the
 * image is 0, or noise (engine/ops/glimpse_noise.h) of the kind that `noise` tells; where it tells
 * none, uniform_noise tells normal from uniform.
 *
 * TensorFlow takes two seeds from the C library's rand() each time, one for each kind: a session's
 * first request shows what TensorFlow shows at first in a process.  Later ones draw seeds from
 * the node's stream (engine/ops/random_stream.h).
 *
 * Offsets are in pixels, or with `normalized` in heights and widths; with `centered` they are
 * counted from the image's middle (in halves, but for those of the second version in pixels) and
 * are those of the window's middle.  The second version counts from the window's corner where they
 * are in pixels, or not centered.
 */
typedef void noise_fn(const sp_glimpse_picture *picture, uint64_t seed);

typedef struct glimpse_state {
	bool normalized, centered, second;
	noise_fn *noise; /* NULL: zeros */
	uint64_t first_seed;
	sp_random_node node;
} glimpse_state;

static sp_status read_noise(const sp_prepare *prepare, glimpse_state *state, sp_error *err)
{
	bool uniform;
	sp_bytes noise;

	SP_TRY(sp_node_attr_bool(prepare->node, "uniform_noise", true, &uniform, err));
	SP_TRY(sp_node_attr_bytes(prepare->node, "noise", "uniform", &noise, err));
	if (uniform && noise.size != 0 && !sp_bytes_equal_text(noise, "uniform"))
		return sp_error_set(err, SP_INVALID, "uniform_noise and noise '%.*s' at once",
				    (int)noise.size, noise.data);
	if (sp_bytes_equal_text(noise, "zero"))
		return SP_OK;
	if (uniform || sp_bytes_equal_text(noise, "uniform"))
		state->noise = sp_glimpse_noise__uniform;
	else if (noise.size == 0 || sp_bytes_equal_text(noise, "gaussian"))
		state->noise = sp_glimpse_noise__normal;
	else
		return sp_error_set(err, SP_INVALID, "noise '%.*s' of a glimpse", (int)noise.size,
				    noise.data);
	/* The first two numbers of rand(); the first is the normal kind's. */
	state->first_seed = state->noise == sp_glimpse_noise__uniform ? 846930886 : 1804289383;
	return sp_random__stream_of_node(prepare, &state->node, err);
}

static sp_status prepare_any(sp_prepare *prepare, bool second, sp_error *err)
{
	glimpse_state *state = sp_prepare_state(prepare, sizeof(*state));

	if (state == NULL)
		return sp_error_set(err, SP_NO_MEMORY, "no memory for an operator");
	state->second = second;
	SP_TRY(sp_prepare_inputs(prepare, 3, err));
	SP_TRY(sp_prepare_input_dtype(prepare, 0, SP_FLOAT, err));
	SP_TRY(sp_prepare_input_dtype(prepare, 1, SP_INT32, err));
	SP_TRY(sp_prepare_input_dtype(prepare, 2, SP_FLOAT, err));
	SP_TRY(sp_node_attr_bool(prepare->node, "normalized", true, &state->normalized, err));
	SP_TRY(sp_node_attr_bool(prepare->node, "centered", true, &state->centered, err));
	SP_TRY(read_noise(prepare, state, err));
	return sp_prepare_outputs(prepare, 1, SP_FLOAT, err);
}

static sp_status prepare_first(sp_prepare *prepare, sp_error *err)
{
	return prepare_any(prepare, false, err);
}

static sp_status prepare_second(sp_prepare *prepare, sp_error *err)
{
	return prepare_any(prepare, true, err);
}

/* Where the window begins along a dimension, in pixels. */
static int64_t begin_of(const glimpse_state *state, float offset, int64_t image, int64_t window)
{
	const float size = (float)image, half = size / 2;
	const bool scaled = state->normalized || !state->second;
	float at = state->normalized ? offset * size : offset;

	if (state->centered)
		at = (scaled ? at / 2 : at) + half;
	if (!state->second || (state->normalized && state->centered))
		at -= (float)window / 2;
	return fabsf(at) < 0x1p40f ? (int64_t)at : INT64_MIN / 4; /* nowhere near, NaN neither */
}

/* The part of a window that lies in the image: from where, to where, how many. */
typedef struct part {
	int64_t from, to, count;
} part;

static part part_of(int64_t begin, int64_t image, int64_t window)
{
	int64_t end = begin + window;
	part p = {.from = begin > 0 ? begin : 0};

	p.to = p.from - begin;
	p.count = (end < image ? end : image) - p.from;
	return p;
}

static sp_status check(const sp_call *call, sp_shape *out)
{
	const sp_tensor *size = call->in[1], *offsets = call->in[2];
	const sp_shape *in = &call->in[0]->shape;

	if (in->rank != 4)
		return sp_call_invalid(call, "input must be 4-dimensional (batch_size, height, "
					     "width, depth)");
	if (size->shape.rank != 1 || size->count != 2)
		return sp_call_invalid(call, "input must be a vector of size 2 (height, width)");
	if (offsets->shape.rank != 2 || offsets->shape.dims[0] != in->dims[0] ||
	    offsets->shape.dims[1] != 2)
		return sp_call_invalid(call, "offsets must be a matrix of 2 columns and as many "
					     "rows as there are images");
	*out = *in;
	for (int d = 0; d < 2; d++) {
		out->dims[d + 1] = sp_tensor_i32(size)[d];
		if (out->dims[d + 1] < 0)
			return sp_call_invalid(call, "a glimpse of size %lld",
					       (long long)out->dims[d + 1]);
	}
	return SP_OK;
}

/* A constant glimpse is made but once. */
static uint64_t next_seed(const sp_call *call, const glimpse_state *state)
{
	uint32_t words[4];
	sp_philox stream;

	if (call->drawn_by_node == NULL)
		return state->first_seed;
	stream = sp_random__go_on(call, &state->node, 1);
	if (call->drawn_by_node[state->node.number] == 1)
		return state->first_seed;
	sp_philox__next(&stream, words);
	return (uint64_t)words[1] << 32 | words[0];
}

/* The part of the image that lies in the window, which is [height, width, channels]. */
static void copy_part(part y, part x, const sp_glimpse_picture *picture, int64_t image_width,
		      int64_t width)
{
	const int64_t channels = (int64_t)picture->channels;

	for (int64_t i = 0; x.count > 0 && i < y.count; i++)
		memcpy(picture->out + ((y.to + i) * width + x.to) * channels,
		       picture->image + ((y.from + i) * image_width + x.from) * channels,
		       (size_t)(x.count * channels) * sizeof(float));
}

static sp_status run_glimpse(const sp_call *call)
{
	const glimpse_state *state = call->state;
	const int64_t *in = call->in[0]->shape.dims;
	uint64_t seed = state->noise != NULL ? next_seed(call, state) : 0;
	sp_glimpse_picture picture;
	sp_shape shape;

	SP_TRY(check(call, &shape));
	SP_TRY(sp_call_output(call, 0, SP_FLOAT, &shape));
	if (call->out[0]->count == 0)
		return SP_OK;
	picture = (sp_glimpse_picture){.image = sp_tensor_f32(call->in[0]),
				       .pixels = (size_t)(in[1] * in[2]),
				       .channels = (size_t)in[3],
				       .places = (size_t)(shape.dims[1] * shape.dims[2]),
				       .out = sp_tensor_f32(call->out[0])};
	memset(picture.out, 0, call->out[0]->count * sizeof(float));
	for (int64_t b = 0; b < in[0]; b++) {
		const float *offset = sp_tensor_f32(call->in[2]) + 2 * b;
		part y = part_of(begin_of(state, offset[0], in[1], shape.dims[1]), in[1],
				 shape.dims[1]);
		part x = part_of(begin_of(state, offset[1], in[2], shape.dims[2]), in[2],
				 shape.dims[2]);

		if (state->noise != NULL && (x.count < shape.dims[2] || y.count < shape.dims[1]))
			state->noise(&picture, seed);
		copy_part(y, x, &picture, in[2], shape.dims[2]);
		picture.image += picture.pixels * picture.channels;
		picture.out += picture.places * picture.channels;
	}
	return SP_OK;
}

const sp_op sp_op_ExtractGlimpse = {
	.name = "ExtractGlimpse", .prepare = prepare_first, .run = run_glimpse};
const sp_op sp_op_ExtractGlimpseV2 = {
	.name = "ExtractGlimpseV2", .prepare = prepare_second, .run = run_glimpse};
