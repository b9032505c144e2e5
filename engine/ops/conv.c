#include <string.h>

#include "base/size.h"
#include "engine/ops/array.h"
#include "engine/ops/cast.h"
#include "engine/ops/gemm.h"
#include "engine/ops/window.h"

/*
 * Conv2D and Conv3D: convolutions (that is, cross-correlations).
 *
 *     input  [batch, (planes,) rows, columns, channels]
 *     filter [(depth,) height, width, channels / groups, outputs]
 *     output [batch, (...,) ..., ..., outputs]
 *
 * A row of the output is one matrix product: the patches under the window, side
 * by side, times the filter; patches that lie so in the input are not copied.  Where the
 * window is one pixel, or all of an image, the whole output is one.
 *
 * Numerics: engine/ops/gemm.h, over (depth *) height * width * channels / groups terms.
 * Conv2D of half and bfloat16 computes in float and rounds once, as TensorFlow 2.15 does.
 */
typedef struct conv_state {
	sp_gemm_fn *multiply;
	sp_dtype computed;  /* what is multiplied */
	sp_cast_fn *widen;  /* to `computed`; NULL for the element type itself */
	sp_cast_fn *narrow; /* back */
	sp_window window;
} conv_state;

static sp_status prepare_any(sp_prepare *prepare, bool planes, sp_error *err)
{
	conv_state *state = sp_prepare_state(prepare, sizeof(*state));
	sp_dtype dtype;

	if (state == NULL)
		return sp_error_set(err, SP_NO_MEMORY, "no memory for an operator");
	SP_TRY(sp_window__read_filtered(&state->window, prepare, planes, "dilations", err));
	dtype = prepare->in_dtypes[0];
	state->computed = dtype;
	if (!planes && (dtype == SP_HALF || dtype == SP_BFLOAT16)) {
		state->computed = SP_FLOAT;
		state->widen = sp_cast__find(dtype, SP_FLOAT);
		state->narrow = sp_cast__find(SP_FLOAT, dtype);
	}
	if (sp_dtype_is_floating(dtype) || (dtype == SP_INT32 && !planes))
		state->multiply = sp_gemm__find(state->computed);
	if (state->multiply == NULL)
		return sp_prepare_unsupported(prepare, dtype, err);
	return sp_prepare_outputs(prepare, 1, dtype, err);
}

static sp_status prepare_2d(sp_prepare *prepare, sp_error *err)
{
	return prepare_any(prepare, false, err);
}

static sp_status prepare_3d(sp_prepare *prepare, sp_error *err)
{
	return prepare_any(prepare, true, err);
}

typedef struct conv_plan {
	sp_window_plan window;
	int64_t columns; /* positions in a row */
	int64_t groups;
	int64_t group_channels; /* channels / groups */
	int64_t outputs, group_outputs;
	int64_t patch; /* elements of a group's patch */
	size_t size;   /* of an element that is computed with */
	const char *in, *filter;
	char *out;
	char *patches; /* [columns, patch] */
	char *results; /* [columns, group_outputs]; only with groups */
} conv_plan;

static sp_status check_channels(const sp_call *call, conv_plan *p)
{
	const sp_shape *in = &call->in[0]->shape, *filter = &call->in[1]->shape;
	int64_t channels = p->window.channels;
	char in_text[SP_SHAPE_TEXT_SIZE], filter_text[SP_SHAPE_TEXT_SIZE];

	p->group_channels = filter->dims[filter->rank - 2];
	p->outputs = filter->dims[filter->rank - 1];
	if (p->group_channels < 1 || channels < 1 || channels % p->group_channels != 0 ||
	    p->outputs % (channels / p->group_channels) != 0)
		return sp_call_invalid(
			call, "a filter of shape %s does not fit an input of shape %s",
			sp_shape_text(filter, filter_text), sp_shape_text(in, in_text));
	p->groups = channels / p->group_channels;
	p->group_outputs = p->outputs / p->groups;
	return SP_OK;
}

/* Input, filter and output in the type that is computed with. */
static sp_status place_operands(const sp_call *call, conv_plan *p)
{
	const conv_state *state = call->state;
	const sp_tensor *in = call->in[0], *filter = call->in[1], *out = call->out[0];
	char *wide_in, *wide_filter;

	p->in = in->data;
	p->filter = filter->data;
	p->out = out->data;
	if (state->widen == NULL)
		return SP_OK;
	wide_in = sp_call_bytes(call, in->count, p->size);
	wide_filter = sp_call_bytes(call, filter->count, p->size);
	p->out = sp_call_bytes(call, out->count, p->size);
	if (wide_in == NULL || wide_filter == NULL || p->out == NULL)
		return sp_call_no_memory(call);
	state->widen(in->data, wide_in, in->count);
	state->widen(filter->data, wide_filter, filter->count);
	p->in = wide_in;
	p->filter = wide_filter;
	return SP_OK;
}

static sp_status make_plan(const sp_call *call, conv_plan *p)
{
	const conv_state *state = call->state;
	const sp_tensor *in = call->in[0], *filter = call->in[1];
	int64_t size[SP_WINDOW_AXES];
	sp_shape shape;

	*p = (conv_plan){.size = sp_dtype_size(state->computed)};
	SP_TRY(sp_array__need_rank(call, 1, 5 - state->window.first));
	sp_window__filter_size(&state->window, &filter->shape, size);
	SP_TRY(sp_window__lay(&state->window, call, &in->shape, size, &p->window, &shape));
	SP_TRY(check_channels(call, p));
	shape.dims[shape.rank - 1] = p->outputs;
	SP_TRY(sp_call_output(call, 0, in->dtype, &shape));
	if (call->out[0]->count == 0)
		return SP_OK;
	/* No more than the filter has, unless that has no outputs. */
	p->columns = p->window.axes[2].out;
	p->patch = size[0] * size[1] * size[2] * p->group_channels;
	p->patches = sp_call_bytes(call, (size_t)p->columns, (size_t)p->patch * p->size);
	if (p->groups > 1)
		p->results = sp_call_bytes(call, (size_t)p->columns,
					   (size_t)p->group_outputs * p->size);
	if (p->patches == NULL || (p->groups > 1 && p->results == NULL))
		return sp_call_no_memory(call);
	return place_operands(call, p);
}

/* The part of one image under the window at `position`, zeros outside, of one group. */
static void copy_patch(const conv_plan *p, const char *image, int64_t position, int64_t group,
		       char *to)
{
	size_t pixel = (size_t)p->window.channels * p->size;
	size_t part = (size_t)p->group_channels * p->size;
	sp_window_reach reach;

	sp_window__reach(&p->window, position, &reach);
	if (sp_window__inside(&reach) * p->group_channels < p->patch)
		memset(to, 0, (size_t)p->patch * p->size);
	SP_WINDOW_FOR_EACH(&reach, d, i, j)
	{
		size_t from = (size_t)sp_window__pixel(&p->window, &reach, d, i, j);

		memcpy(to + (size_t)sp_window__place(&p->window, d, i, j) * part,
		       image + from * pixel + (size_t)group * part, part);
	}
}

/* Puts a group's results between those of the others. */
static void spread(const conv_plan *p, int64_t group, char *line)
{
	size_t part = (size_t)p->group_outputs * p->size, whole = (size_t)p->outputs * p->size;

	for (int64_t i = 0; i < p->columns; i++)
		memcpy(line + (size_t)i * whole + (size_t)group * part,
		       p->results + (size_t)i * part, part);
}

/* The positions from `first` on, as many as a row has. */
static void convolve_row(const sp_call *call, const conv_plan *p, const char *image, int64_t first,
			 char *line)
{
	const conv_state *state = call->state;
	sp_gemm g = {.m = (size_t)p->columns,
		     .k = (size_t)p->patch,
		     .n = (size_t)p->group_outputs,
		     .a = p->patches,
		     .a_row = (size_t)p->patch,
		     .a_column = 1,
		     .b_row = (size_t)p->outputs,
		     .b_column = 1};

	for (int64_t group = 0; group < p->groups; group++) {
		for (int64_t i = 0; i < p->columns; i++)
			copy_patch(p, image, first + i, group,
				   p->patches + (size_t)(i * p->patch) * p->size);
		g.b = p->filter + (size_t)(group * p->group_outputs) * p->size;
		g.c = p->groups > 1 ? p->results : line;
		state->multiply(&g);
		if (p->groups > 1)
			spread(p, group, line);
	}
}

/* Elements of an image. */
static int64_t image_size(const conv_plan *p)
{
	return sp_window__pixels(&p->window) * p->window.channels;
}

/* Whether a window without padding is each pixel in turn. */
static bool is_pointwise(const conv_plan *p)
{
	bool one = true;

	for (int a = 0; a < SP_WINDOW_AXES; a++)
		one &= p->window.axes[a].size == 1 && p->window.axes[a].stride == 1;
	return one;
}

/* Patches that are read where they lie: lines of `count`, each `step` elements after the last. */
typedef struct lying_patches {
	int axis; /* along which a line goes; -1: it has all positions of all images */
	int64_t count, step;
} lying_patches;

/*
 * Whether the pixels under the window always lie side by side: none is outside, it has one of each
 * axis before some one, and the whole of each axis after that.
 */
static bool patches_lie(const conv_plan *p, int64_t batch, lying_patches *out)
{
	const sp_window_axis *axes = p->window.axes;
	int64_t unit = p->window.channels;
	int axis = 0;

	while (axis < SP_WINDOW_AXES - 1 && axes[axis].size == 1)
		axis++;
	if (p->groups != 1)
		return false;
	for (int a = SP_WINDOW_AXES - 1; a >= 0; a--) {
		const sp_window_axis *x = &axes[a];

		if (x->before != 0 || (x->dilation != 1 && x->size != 1) ||
		    (x->out - 1) * x->stride + x->size > x->in || (a > axis && x->size != x->in))
			return false;
		if (a > axis)
			unit *= x->in;
	}
	if (is_pointwise(p))
		*out = (lying_patches){-1, batch * p->window.positions, p->window.channels};
	else if (p->window.positions == 1)
		*out = (lying_patches){-1, batch, image_size(p)};
	else
		*out = (lying_patches){axis, axes[axis].out, axes[axis].stride * unit};
	return true;
}

/* The first element of the line with the position `at`, counted through all images. */
static int64_t line_start(const conv_plan *p, const lying_patches *patches, int64_t at)
{
	const sp_window_axis *axes = p->window.axes;
	int64_t left = p->window.positions, unit = image_size(p), start = at / left * unit;

	at %= left;
	for (int a = 0; a < patches->axis; a++) {
		left /= axes[a].out;
		unit /= axes[a].in;
		start += at / left * axes[a].stride * unit;
		at %= left;
	}
	return start;
}

static void convolve_lines(const sp_call *call, const conv_plan *p, const lying_patches *patches)
{
	const conv_state *state = call->state;
	int64_t positions = call->out[0]->shape.dims[0] * p->window.positions;
	sp_gemm g = {.m = (size_t)patches->count,
		     .k = (size_t)p->patch,
		     .n = (size_t)p->outputs,
		     .a_row = (size_t)patches->step,
		     .a_column = 1,
		     .b = p->filter,
		     .b_row = (size_t)p->outputs,
		     .b_column = 1};

	for (int64_t at = 0; at < positions; at += patches->count) {
		g.a = p->in + (size_t)line_start(p, patches, at) * p->size;
		g.c = p->out + (size_t)(at * p->outputs) * p->size;
		state->multiply(&g);
	}
}

static void convolve_rows(const sp_call *call, const conv_plan *p)
{
	size_t image = (size_t)image_size(p) * p->size, pixel = (size_t)p->outputs * p->size;

	for (int64_t i = 0; i < call->out[0]->shape.dims[0] * p->window.positions; i += p->columns)
		convolve_row(call, p, p->in + (size_t)(i / p->window.positions) * image,
			     i % p->window.positions, p->out + (size_t)i * pixel);
}

static sp_status run_conv(const sp_call *call)
{
	const conv_state *state = call->state;
	const sp_tensor *out = call->out[0];
	lying_patches patches;
	conv_plan p;

	SP_TRY(make_plan(call, &p));
	if (out->count == 0)
		return SP_OK;
	if (patches_lie(&p, out->shape.dims[0], &patches))
		convolve_lines(call, &p, &patches);
	else
		convolve_rows(call, &p);
	if (state->narrow != NULL)
		state->narrow(p.out, out->data, out->count);
	return SP_OK;
}

const sp_op sp_op_Conv2D = {.name = "Conv2D", .prepare = prepare_2d, .run = run_conv};
const sp_op sp_op_Conv3D = {.name = "Conv3D", .prepare = prepare_3d, .run = run_conv};
