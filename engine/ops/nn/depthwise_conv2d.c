#include "engine/ops/array/element_types.h"
#include "engine/ops/nn/window.h"

/*
 * DepthwiseConv2dNative: convolves each channel with its own `multiplier` filters.
 *
 *     input  [batch, rows, columns, channels]
 *     filter [height, width, channels, multiplier]
 *     output [batch, ..., ..., channels * multiplier]
 *
 * Numerics: summed in order over height * width terms, in the element type; half and bfloat16 in
 * float, rounded once.
 */
typedef struct depthwise_plan {
	sp_window_plan window;
	int64_t multiplier;
} depthwise_plan;

/* Computes the output pixel of one position. */
typedef void pixel_fn(const depthwise_plan *p, const sp_window_reach *reach, const void *image,
		      const void *filter, void *out);

#define PIXEL(type, name)                                                                          \
	static void name##_##type(const depthwise_plan *p, const sp_window_reach *reach,           \
				  const void *image, const void *filter, void *out)                \
	{                                                                                          \
		const sp_window_plan *window = &p->window;                                         \
		int64_t channels = window->channels, outputs = channels * p->multiplier;           \
		const sp_element_##type *pixels = image, *weights = filter;                        \
		sp_element_##type *to = out;                                                       \
                                                                                                   \
		for (int64_t k = 0; k < outputs; k++) {                                            \
			sp_value_##type sum = 0;                                                   \
                                                                                                   \
			SP_WINDOW_FOR_EACH(reach, i, j)                                            \
			{                                                                          \
				int64_t at = sp_window__pixel(window, reach, i, j);                \
				int64_t place = sp_window__place(window, i, j);                    \
                                                                                                   \
				sum += SP_LOAD_##type(pixels[at * channels + k / p->multiplier]) * \
				       SP_LOAD_##type(weights[place * outputs + k]);               \
			}                                                                          \
			to[k] = SP_STORE_##type(sum);                                              \
		}                                                                                  \
	}

SP_FOR_FLOATING(PIXEL, pixel)

static pixel_fn *const kernels[SP_DTYPE_COUNT] = {SP_TABLE_FLOATING(pixel)};

typedef struct depthwise_state {
	pixel_fn *kernel;
	sp_window window;
} depthwise_state;

static sp_status prepare_depthwise(sp_prepare *prepare, sp_error *err)
{
	depthwise_state *state = sp_prepare_state(prepare, sizeof(*state));
	sp_dtype dtype;

	SP_NEED_MEMORY(state, err, "an operator");
	SP_TRY(sp_window__read_filtered(&state->window, prepare, err));
	dtype = prepare->in_dtypes[0];
	state->kernel = kernels[dtype];
	if (state->kernel == NULL)
		return sp_prepare_unsupported(prepare, dtype, err);
	return sp_prepare_outputs(prepare, 1, dtype, err);
}

static sp_status run_depthwise(const sp_call *call)
{
	const depthwise_state *state = call->state;
	const sp_tensor *in = call->in[0], *filter = call->in[1];
	size_t size = sp_dtype_size(in->dtype), image, pixel;
	sp_window_reach reach;
	depthwise_plan p;
	sp_shape shape;

	SP_TRY(sp_call_need_rank(call, 1, 4));
	SP_TRY(sp_window__plan(&state->window, call, &in->shape, filter->shape.dims, &p.window,
			       &shape));
	p.multiplier = filter->shape.dims[3];
	if (filter->shape.dims[2] != p.window.channels)
		return sp_call_invalid(call, "a filter of %lld channels for an input of %lld",
				       (long long)filter->shape.dims[2],
				       (long long)p.window.channels);
	if (__builtin_mul_overflow(p.window.channels, p.multiplier, &shape.dims[3]))
		return sp_call_invalid(call, "the output is too large");
	SP_TRY(sp_call_output(call, 0, in->dtype, &shape));
	if (call->out[0]->count == 0)
		return SP_OK;
	image = (size_t)(sp_window__pixels(&p.window) * p.window.channels) * size;
	pixel = (size_t)shape.dims[3] * size;
	for (int64_t i = 0; i < shape.dims[0] * p.window.positions; i++) {
		sp_window__reach(&p.window, i % p.window.positions, &reach);
		state->kernel(&p, &reach,
			      (const char *)in->data + (size_t)(i / p.window.positions) * image,
			      filter->data, (char *)call->out[0]->data + (size_t)i * pixel);
	}
	return SP_OK;
}

SP_DEFINE_OP(DepthwiseConv2dNative, NULL, 0, prepare_depthwise, run_depthwise);
