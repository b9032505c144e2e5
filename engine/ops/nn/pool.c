#include <math.h>

#include "engine/ops/ops.h"
#include "engine/ops/array/element_types.h"
#include "engine/ops/nn/window.h"

/*
 * MaxPool and AvgPool over rows and columns of [batch, rows, columns, channels].  Padding is
 * excluded from the maximum and the mean; a window that lies in padding only gives the lowest
 * number of the type, or 0 / 0.
 *
 * Numerics: means are summed in order in the element type, half and bfloat16 in float, and rounded
 * once.
 */

/* Computes the output pixel of one position. */
typedef void pixel_fn(const sp_window_plan *p, const sp_window_reach *reach, const void *image,
		      void *out);

#define PIXEL(type, name, acc_type, start, step, end)                                             \
	static void name##_##type(const sp_window_plan *p, const sp_window_reach *reach,          \
				  const void *image, void *out)                                   \
	{                                                                                         \
		const sp_element_##type *pixels = image;                                          \
		sp_element_##type *to = out;                                                      \
		int64_t n = sp_window__inside(reach);                                             \
                                                                                                  \
		for (int64_t c = 0; c < p->channels; c++) {                                       \
			acc_type a = start;                                                       \
                                                                                                  \
			SP_WINDOW_FOR_EACH(reach, i, j)                                           \
			{                                                                         \
				int64_t at = sp_window__pixel(p, reach, i, j);                    \
				sp_value_##type x = SP_LOAD_##type(pixels[at * p->channels + c]); \
                                                                                                  \
				a = step;                                                         \
			}                                                                         \
			(void)n;                                                                  \
			to[c] = SP_STORE_##type(end);                                             \
		}                                                                                 \
	}

#define MAXIMUM(type, start) PIXEL(type, max, sp_value_##type, start, x > a ? x : a, a)
#define MEAN(type, name)     PIXEL(type, name, sp_value_##type, 0, a + x, a / (sp_value_##type)n)
MAXIMUM(f32, -INFINITY)
MAXIMUM(f64, -INFINITY)
MAXIMUM(f16, -INFINITY)
MAXIMUM(bf16, -INFINITY)
MAXIMUM(i8, INT8_MIN)
MAXIMUM(i16, INT16_MIN)
MAXIMUM(i32, INT32_MIN)
MAXIMUM(i64, INT64_MIN)
MAXIMUM(u8, 0)
MAXIMUM(u16, 0)
MEAN(f32, mean)
MEAN(f64, mean)
MEAN(f16, mean)
MEAN(bf16, mean)

static pixel_fn *const maxima[SP_DTYPE_COUNT] = {
	SP_TABLE_FLOATING(max), SP_TABLE_SIGNED(max), [SP_UINT8] = max_u8, [SP_UINT16] = max_u16};
static pixel_fn *const means[SP_DTYPE_COUNT] = {SP_TABLE_FLOATING(mean)};

typedef struct pool_state {
	pixel_fn *kernel;
	sp_window window;
	int64_t size[SP_WINDOW_AXES];
} pool_state;

static sp_status prepare_pool(sp_prepare *prepare, sp_error *err)
{
	pool_state *state = sp_prepare_state(prepare, sizeof(*state));
	pixel_fn *const *kernels = prepare->node->op == &sp_op_MaxPool ? maxima : means;

	SP_NEED_MEMORY(state, err, "an operator");
	SP_TRY(sp_prepare_types(prepare, "T -> T", err));
	SP_TRY(sp_window__read(&state->window, prepare, err));
	SP_TRY(sp_window__read_list(prepare, "ksize", state->size, err));
	state->kernel = kernels[prepare->in_dtypes[0]];
	return state->kernel != NULL ? SP_OK
				     : sp_prepare_unsupported(prepare, prepare->in_dtypes[0], err);
}

static sp_status run_pool(const sp_call *call)
{
	const pool_state *state = call->state;
	const sp_tensor *in = call->in[0];
	size_t size = sp_dtype_size(in->dtype), image, pixel;
	sp_window_reach reach;
	sp_window_plan p;
	sp_shape shape;

	SP_TRY(sp_window__plan(&state->window, call, &in->shape, state->size, &p, &shape));
	SP_TRY(sp_call_output(call, 0, in->dtype, &shape));
	if (call->out[0]->count == 0)
		return SP_OK;
	image = (size_t)(sp_window__pixels(&p) * p.channels) * size;
	pixel = (size_t)p.channels * size;
	for (int64_t i = 0; i < shape.dims[0] * p.positions; i++) {
		sp_window__reach(&p, i % p.positions, &reach);
		state->kernel(&p, &reach,
			      (const char *)in->data + (size_t)(i / p.positions) * image,
			      (char *)call->out[0]->data + (size_t)i * pixel);
	}
	return SP_OK;
}

SP_DEFINE_OP(MaxPool, NULL, 0, prepare_pool, run_pool);
SP_DEFINE_OP(AvgPool, NULL, 0, prepare_pool, run_pool);
