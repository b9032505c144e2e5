#include <string.h>

#include "engine/ops/array/array.h"
#include "engine/ops/array/element_types.h"
#include "engine/ops/nn/gemm.h"
#include "engine/ops/nn/window.h"

/*
 * Conv2DBackpropInput: transposed convolution.  Each value of out_backprop, times the filter, is
 * added to the pixels that Conv2D would have read for it:
 *
 *     input_sizes   the shape of the result, [batch, rows, columns, channels], or only
 *                   [rows, columns]
 *     filter        [height, width, channels, outputs]
 *     out_backprop  [batch, ..., ..., outputs], the output shape of the convolution
 *
 * Numerics: engine/ops/nn/gemm.h over the outputs; then patches are added in the order of their
 * positions, in the element type, each sum rounded.  With w overlapping patches, u the rounding
 * unit of the type and s the sum of the terms' absolute values, these additions add an error of at
 * most w * u * s.
 */

/* to[i] += from[i] */
typedef void add_fn(void *to, const void *from, size_t count);

#define ADD(type, name)                                                               \
	static void name##_##type(void *to, const void *from, size_t count)           \
	{                                                                             \
		const sp_element_##type *x = from;                                    \
		sp_element_##type *y = to;                                            \
                                                                                      \
		for (size_t i = 0; i < count; i++)                                    \
			y[i] = SP_STORE_##type((sp_wrap_##type)SP_LOAD_##type(y[i]) + \
					       (sp_wrap_##type)SP_LOAD_##type(x[i])); \
	}

SP_FOR_FLOATING(ADD, add)
ADD(i32, add)

static add_fn *const adders[SP_DTYPE_COUNT] = {SP_TABLE_FLOATING(add), [SP_INT32] = add_i32};

typedef struct transpose_state {
	sp_gemm_fn *multiply;
	add_fn *add;
	sp_window window;
} transpose_state;

static sp_status prepare_transpose(sp_prepare *prepare, sp_error *err)
{
	transpose_state *state = sp_prepare_state(prepare, sizeof(*state));
	sp_dtype dtype;

	SP_NEED_MEMORY(state, err, "an operator");
	SP_TRY(sp_prepare_types(prepare, "index T T -> T", err));
	dtype = prepare->in_dtypes[1];
	SP_TRY(sp_window__read(&state->window, prepare, err));
	state->multiply = sp_gemm__find(dtype);
	state->add = adders[dtype];
	return state->add != NULL ? SP_OK : sp_prepare_unsupported(prepare, dtype, err);
}

/* The result's shape; if input_sizes is [rows, columns], the rest comes from the other inputs. */
static sp_status read_shape(const sp_call *call, sp_shape *shape)
{
	const sp_tensor *sizes = call->in[0];
	const sp_shape *filter = &call->in[1]->shape, *out = &call->in[2]->shape;

	SP_TRY(sp_array__shape(call, 0, false, shape));
	if (sizes->count == 2) {
		shape->rank = 4;
		shape->dims[2] = shape->dims[1];
		shape->dims[1] = shape->dims[0];
		shape->dims[0] = out->dims[0];
		shape->dims[3] = filter->dims[2];
	}
	if (shape->rank != 4)
		return sp_call_invalid(call, "input_sizes has %zu numbers, not 2 or 4",
				       sizes->count);
	return SP_OK;
}

/* Plans the window; out_backprop must have the output shape of the convolution. */
static sp_status plan_window(const sp_call *call, sp_shape *shape, sp_window_plan *plan)
{
	const transpose_state *state = call->state;
	const sp_shape *filter = &call->in[1]->shape, *out = &call->in[2]->shape;
	char made_text[SP_SHAPE_TEXT_SIZE], out_text[SP_SHAPE_TEXT_SIZE];
	sp_shape made;

	SP_TRY(sp_call_need_rank(call, 1, 4));
	SP_TRY(sp_call_need_rank(call, 2, 4));
	SP_TRY(read_shape(call, shape));
	SP_TRY(sp_window__plan(&state->window, call, shape, filter->dims, plan, &made));
	made.dims[3] = filter->dims[3];
	if (!sp_shape_equal(&made, out) || filter->dims[2] != plan->channels)
		return sp_call_invalid(
			call, "out_backprop has shape %s, not %s, or the filter other channels",
			sp_shape_text(out, out_text), sp_shape_text(&made, made_text));
	return SP_OK;
}

/* Adds the patch of one position to the image. */
static void add_patch(const transpose_state *state, const sp_window_plan *plan, int64_t position,
		      const char *patch, char *image, size_t pixel)
{
	sp_window_reach reach;

	sp_window__reach(plan, position, &reach);
	SP_WINDOW_FOR_EACH(&reach, i, j)
	{
		size_t to = (size_t)sp_window__pixel(plan, &reach, i, j);
		size_t from = (size_t)sp_window__place(plan, i, j);

		state->add(image + to * pixel, patch + from * pixel, (size_t)plan->channels);
	}
}

/*
 * How many positions of an image are multiplied together: all that are left, at most as many as
 * give PIECE elements of patches.
 */
static size_t piece_length(size_t left, size_t patch)
{
	enum { PIECE = 1 << 16 };
	size_t length = PIECE / patch > 1 ? PIECE / patch : 1;

	return left < length ? left : length;
}

/* Adds the patches of one image.  `g` is complete except for m; g.a is the first row. */
static void add_image(const transpose_state *state, const sp_window_plan *plan, sp_gemm g,
		      size_t size, char *image)
{
	size_t positions = (size_t)plan->positions, pixel = (size_t)plan->channels * size;

	for (size_t i = 0; i < positions; i += g.m) {
		g.m = piece_length(positions - i, g.n);
		state->multiply(&g);
		for (size_t j = 0; j < g.m; j++)
			add_patch(state, plan, (int64_t)(i + j), (char *)g.c + j * g.n * size,
				  image, pixel);
		g.a = (const char *)g.a + g.m * g.k * size;
	}
}

static sp_status run_transpose(const sp_call *call)
{
	const transpose_state *state = call->state;
	const sp_tensor *filter = call->in[1], *from = call->in[2], *out = call->out[0];
	size_t size = sp_dtype_size(filter->dtype), images, outputs, patch;
	sp_window_plan plan;
	sp_shape shape;
	sp_gemm g;

	SP_TRY(plan_window(call, &shape, &plan));
	SP_TRY(sp_call_output(call, 0, filter->dtype, &shape));
	if (out->count == 0)
		return SP_OK;
	memset(out->data, 0, out->count * size);
	if (from->count == 0)
		return SP_OK;
	images = (size_t)shape.dims[0];
	outputs = (size_t)filter->shape.dims[3];
	patch = filter->count / outputs;
	g = (sp_gemm){.a = from->data, .k = outputs, .b = filter->data, .n = patch};
	g.a_row = g.b_column = outputs;
	g.a_column = g.b_row = 1;
	SP_CALL_BYTES(g.c, call, piece_length((size_t)plan.positions, patch), patch * size);
	for (size_t i = 0; i < images; i++) {
		add_image(state, &plan, g, size,
			  (char *)out->data + i * (out->count / images) * size);
		g.a = (const char *)g.a + from->count / images * size;
	}
	return SP_OK;
}

SP_DEFINE_OP(Conv2DBackpropInput, NULL, 0, prepare_transpose, run_transpose);
