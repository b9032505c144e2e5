#include <string.h>

#include "engine/ops/array/array.h"
#include "engine/ops/nn/gemm.h"
#include "engine/ops/nn/window.h"

/*
 * Conv2D: convolution (cross-correlation, as in all machine learning frameworks).
 *
 *     input  [batch, rows, columns, channels]
 *     filter [height, width, channels / groups, outputs]
 *     output [batch, ..., ..., outputs]
 *
 * Computed as matrix products (im2col): the rows of the left matrix are the patches under the
 * window at many positions.  Patches are copied unless they have that layout in the input.
 *
 * Numerics: engine/ops/nn/gemm.h, over height * width * channels / groups terms.
 */
typedef struct conv_state {
	sp_gemm_fn *multiply;
	sp_window window;
} conv_state;

static sp_status prepare_conv(sp_prepare *prepare, sp_error *err)
{
	conv_state *state = sp_prepare_state(prepare, sizeof(*state));
	sp_dtype dtype;

	SP_NEED_MEMORY(state, err, "an operator");
	SP_TRY(sp_window__read_filtered(&state->window, prepare, err));
	dtype = prepare->in_dtypes[0];
	if (sp_dtype_is_floating(dtype) || dtype == SP_INT32)
		state->multiply = sp_gemm__find(dtype);
	if (state->multiply == NULL)
		return sp_prepare_unsupported(prepare, dtype, err);
	return sp_prepare_outputs(prepare, 1, dtype, err);
}

typedef struct conv_plan {
	sp_window_plan window;
	int64_t positions; /* in all images */
	int64_t piece;     /* positions whose patches are copied and multiplied together */
	int64_t groups;
	int64_t group_channels; /* channels / groups */
	int64_t outputs, group_outputs;
	int64_t patch; /* elements of a patch of one group */
	size_t size;   /* of an element */
	const char *in, *filter;
	char *out;
	char *patches; /* [piece, patch] */
	char *results; /* [piece, group_outputs]; only if groups > 1 */
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

/* Whole rows of positions: at least FEWEST positions, if there are that many. */
static int64_t piece_length(const conv_plan *p)
{
	enum { FEWEST = 32 };
	int64_t columns = p->window.axes[1].out, rows = (FEWEST + columns - 1) / columns;

	if (rows > p->positions / columns)
		rows = p->positions / columns;
	return rows * columns;
}

static sp_status make_plan(const sp_call *call, conv_plan *p)
{
	const conv_state *state = call->state;
	const sp_tensor *in = call->in[0], *filter = call->in[1];
	sp_shape shape;

	*p = (conv_plan){.size = sp_dtype_size(in->dtype), .in = in->data, .filter = filter->data};
	SP_TRY(sp_call_need_rank(call, 1, 4));
	SP_TRY(sp_window__plan(&state->window, call, &in->shape, filter->shape.dims, &p->window,
			       &shape));
	SP_TRY(check_channels(call, p));
	shape.dims[shape.rank - 1] = p->outputs;
	SP_TRY(sp_call_output(call, 0, in->dtype, &shape));
	if (call->out[0]->count == 0)
		return SP_OK;
	/* The patch size cannot overflow: the filter, which has outputs, is at least as large. */
	p->positions = shape.dims[0] * p->window.positions;
	p->piece = piece_length(p);
	p->patch = filter->shape.dims[0] * filter->shape.dims[1] * p->group_channels;
	p->patches = sp_call_bytes(call, (size_t)p->piece, (size_t)p->patch * p->size);
	if (p->groups > 1)
		p->results = sp_call_bytes(call, (size_t)p->piece,
					   (size_t)p->group_outputs * p->size);
	if (p->patches == NULL || (p->groups > 1 && p->results == NULL))
		return sp_call_no_memory(call);
	p->out = call->out[0]->data;
	return SP_OK;
}

static int64_t image_size(const conv_plan *p)
{
	return sp_window__pixels(&p->window) * p->window.channels;
}

/* Copies a group's patch at `position`, counted through all images; zeros outside the image. */
static void copy_patch(const conv_plan *p, int64_t position, int64_t group, char *to)
{
	const char *image = p->in +
			    (size_t)(position / p->window.positions * image_size(p)) * p->size;
	size_t pixel = (size_t)p->window.channels * p->size;
	size_t part = (size_t)p->group_channels * p->size;
	sp_window_reach reach;

	sp_window__reach(&p->window, position % p->window.positions, &reach);
	if (sp_window__inside(&reach) * p->group_channels < p->patch)
		memset(to, 0, (size_t)p->patch * p->size);
	SP_WINDOW_FOR_EACH(&reach, i, j)
	{
		size_t from = (size_t)sp_window__pixel(&p->window, &reach, i, j);

		memcpy(to + (size_t)sp_window__place(&p->window, i, j) * part,
		       image + from * pixel + (size_t)group * part, part);
	}
}

/* Copies the results of a group to its channels of the output. */
static void spread(const conv_plan *p, int64_t group, int64_t count, char *to)
{
	size_t part = (size_t)p->group_outputs * p->size, whole = (size_t)p->outputs * p->size;

	for (int64_t i = 0; i < count; i++)
		memcpy(to + (size_t)i * whole + (size_t)group * part, p->results + (size_t)i * part,
		       part);
}

/* Computes `count` positions from `first` on. */
static void convolve_piece(const conv_state *state, const conv_plan *p, int64_t first,
			   int64_t count)
{
	char *to = p->out + (size_t)(first * p->outputs) * p->size;
	sp_gemm g = {.m = (size_t)count,
		     .k = (size_t)p->patch,
		     .n = (size_t)p->group_outputs,
		     .a = p->patches,
		     .a_row = (size_t)p->patch,
		     .a_column = 1,
		     .b_row = (size_t)p->outputs,
		     .b_column = 1};

	for (int64_t group = 0; group < p->groups; group++) {
		for (int64_t i = 0; i < count; i++)
			copy_patch(p, first + i, group,
				   p->patches + (size_t)(i * p->patch) * p->size);
		g.b = p->filter + (size_t)(group * p->group_outputs) * p->size;
		g.c = p->groups > 1 ? p->results : to;
		state->multiply(&g);
		if (p->groups > 1)
			spread(p, group, count, to);
	}
}

/* Patches that are read in place: lines of `count` patches, `step` elements apart. */
typedef struct in_place_patches {
	int axis; /* the axis of a line; -1: one line has all positions of all images */
	int64_t count, step;
} in_place_patches;

/* Whether each line along the axis starts `step` elements after the last patch before it. */
static bool lines_are_contiguous(const conv_plan *p, int axis)
{
	const sp_window_axis *axes = p->window.axes;

	for (int a = 0; a < axis; a++)
		if (axes[a].out != axes[a].in)
			return false;
	return axes[axis].stride * axes[axis].out == axes[axis].in;
}

/*
 * Whether every patch is contiguous in the input.  No patch may reach outside the image; the window
 * has size 1 along the axes before `axis` and covers those after it.
 */
static bool patches_are_contiguous(const conv_plan *p, int axis)
{
	for (int a = 0; a < SP_WINDOW_AXES; a++) {
		const sp_window_axis *x = &p->window.axes[a];

		if (x->before != 0 || (x->dilation != 1 && x->size != 1) ||
		    (x->out - 1) * x->stride + x->size > x->in || (a < axis && x->size != 1))
			return false;
	}
	return true;
}

/* Whether patches can be read in place; then *out says how. */
static bool find_in_place(const conv_plan *p, in_place_patches *out)
{
	const sp_window_axis *axes = p->window.axes;
	int64_t unit = p->window.channels;
	int axis = SP_WINDOW_AXES - 1;

	for (; axis > 0 && axes[axis].size == axes[axis].in; axis--)
		unit *= axes[axis].in;
	if (p->groups != 1 || !patches_are_contiguous(p, axis))
		return false;
	if (p->window.positions == 1)
		*out = (in_place_patches){-1, p->positions, image_size(p)};
	else if (lines_are_contiguous(p, axis))
		*out = (in_place_patches){-1, p->positions, axes[axis].stride * unit};
	else
		*out = (in_place_patches){axis, axes[axis].out, axes[axis].stride * unit};
	return out->axis == -1 || out->count > 1;
}

/* The first element of the line at position `at`, counted through all images. */
static int64_t line_start(const conv_plan *p, const in_place_patches *patches, int64_t at)
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

static void convolve_lines(const conv_state *state, const conv_plan *p,
			   const in_place_patches *patches)
{
	sp_gemm g = {.m = (size_t)patches->count,
		     .k = (size_t)p->patch,
		     .n = (size_t)p->outputs,
		     .a_row = (size_t)patches->step,
		     .a_column = 1,
		     .b = p->filter,
		     .b_row = (size_t)p->outputs,
		     .b_column = 1};

	for (int64_t at = 0; at < p->positions; at += patches->count) {
		g.a = p->in + (size_t)line_start(p, patches, at) * p->size;
		g.c = p->out + (size_t)(at * p->outputs) * p->size;
		state->multiply(&g);
	}
}

static void convolve_pieces(const conv_state *state, const conv_plan *p)
{
	for (int64_t at = 0, count; at < p->positions; at += count) {
		count = p->positions - at < p->piece ? p->positions - at : p->piece;
		convolve_piece(state, p, at, count);
	}
}

static sp_status run_conv(const sp_call *call)
{
	in_place_patches patches;
	conv_plan p;

	SP_TRY(make_plan(call, &p));
	if (call->out[0]->count == 0)
		return SP_OK;
	if (find_in_place(&p, &patches))
		convolve_lines(call->state, &p, &patches);
	else
		convolve_pieces(call->state, &p);
	return SP_OK;
}

SP_DEFINE_OP(Conv2D, NULL, 0, prepare_conv, run_conv);
