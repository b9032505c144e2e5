#ifndef SP_ENGINE_OPS_WINDOW_H
#define SP_ENGINE_OPS_WINDOW_H

#include "engine/graph/op.h"

/*
 * A window that moves over [batch, rows, columns, channels]: the common part of convolutions and
 * poolings.
 *
 * A position is an index of the output; a place is an index within the window.
 *
 * Threads: immutable once prepared.
 */
typedef enum sp_padding { SP_PADDING_VALID, SP_PADDING_SAME, SP_PADDING_EXPLICIT } sp_padding;

enum { SP_WINDOW_AXES = 2 }; /* rows, columns */

typedef struct sp_window {
	sp_padding padding;
	int64_t strides[SP_WINDOW_AXES], dilations[SP_WINDOW_AXES]; /* >= 1 */
	int64_t before[SP_WINDOW_AXES], after[SP_WINDOW_AXES];      /* explicit padding */
} sp_window;

/* One axis: `out` positions; the window at the first one begins at -before. */
typedef struct sp_window_axis {
	int64_t in, size, stride, dilation, before, out;
} sp_window_axis;

typedef struct sp_window_plan {
	sp_window_axis axes[SP_WINDOW_AXES];
	int64_t channels;
	int64_t positions; /* in one image; valid once the output was made, which checks for
			      overflow */
} sp_window_plan;

/* The part of a window that lies inside the image: places first[a] ... last[a] - 1 of axis a. */
typedef struct sp_window_reach {
	int64_t start[SP_WINDOW_AXES]; /* the pixel of place 0, perhaps outside */
	int64_t first[SP_WINDOW_AXES], last[SP_WINDOW_AXES];
} sp_window_reach;

/*
 * Attributes "padding", "explicit_paddings", "strides", "dilations" (1 if absent) and
 * "data_format", which must be NHWC.
 */
SP_MUST_CHECK sp_status sp_window__read(sp_window *window, const sp_prepare *prepare,
					sp_error *err);

/*
 * Attribute `name`, a list [1, rows, columns, 1] of numbers >= 1.  SP_UNSUPPORTED when the first or
 * the last one is not 1.
 */
SP_MUST_CHECK sp_status sp_window__read_list(const sp_prepare *prepare, const char *name,
					     int64_t out[SP_WINDOW_AXES], sp_error *err);

/* For convolutions: checks two inputs of one dtype and reads the window. */
SP_MUST_CHECK sp_status sp_window__read_filtered(sp_window *window, sp_prepare *prepare,
						 sp_error *err);

/*
 * Plans a window of `size`, the leading dimensions of a filter, over images of shape `in`, whose
 * rank is checked.  *out becomes that shape with the numbers of positions instead of pixels.
 */
SP_MUST_CHECK sp_status sp_window__plan(const sp_window *window, const sp_call *call,
					const sp_shape *in, const int64_t size[SP_WINDOW_AXES],
					sp_window_plan *plan, sp_shape *out);

/* Pixels of one image. */
static inline int64_t sp_window__pixels(const sp_window_plan *plan)
{
	return plan->axes[0].in * plan->axes[1].in;
}

/* The reach of the window at `position`, an index in row-major order over the axes. */
void sp_window__reach(const sp_window_plan *plan, int64_t position, sp_window_reach *out);

/* The index in the image of the pixel at place (i, j) of a window. */
static inline int64_t sp_window__pixel(const sp_window_plan *plan, const sp_window_reach *reach,
				       int64_t i, int64_t j)
{
	const sp_window_axis *axes = plan->axes;
	int64_t row = reach->start[0] + i * axes[0].dilation;

	return row * axes[1].in + reach->start[1] + j * axes[1].dilation;
}

/* The index in the window of place (i, j). */
static inline int64_t sp_window__place(const sp_window_plan *plan, int64_t i, int64_t j)
{
	return i * plan->axes[1].size + j;
}

/* The number of places inside the image. */
static inline int64_t sp_window__inside(const sp_window_reach *reach)
{
	return (reach->last[0] - reach->first[0]) * (reach->last[1] - reach->first[1]);
}

/* Loops over the places (i, j) of the reach r. */
#define SP_WINDOW_FOR_EACH(r, i, j)                            \
	for (int64_t i = (r)->first[0]; i < (r)->last[0]; i++) \
		for (int64_t j = (r)->first[1]; j < (r)->last[1]; j++)

#endif
