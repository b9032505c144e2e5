#ifndef SP_ENGINE_OPS_WINDOW_H
#define SP_ENGINE_OPS_WINDOW_H

#include "engine/graph/op.h"

/*
 * A window that moves over [batch, rows, columns, channels], or over [batch,
 * planes, rows, columns, channels]: the common part of convolutions and poolings.
 * Without planes there is one plane, and the window does not move along it.
 *
 * A position is an index of the output; a place is an index within the window.
 *
 * Threads: immutable once prepared.
 */
typedef enum sp_padding { SP_PADDING_VALID, SP_PADDING_SAME, SP_PADDING_EXPLICIT } sp_padding;

enum { SP_WINDOW_AXES = 3 }; /* planes, rows, columns */

typedef struct sp_window {
	sp_padding padding;
	int first; /* the axis of dimension 1: 0 with planes, else 1 */
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
 * Attributes "padding", "explicit_paddings" and "data_format", which must be NHWC,
 * or NDHWC with `planes`; strides and dilations become 1.
 */
SP_MUST_CHECK sp_status sp_window__read(sp_window *window, const sp_prepare *prepare, bool planes,
					sp_error *err);

/*
 * Attribute `name`, a list [1, (planes,) rows, columns, 1] of numbers >= 1.  If `optional` and
 * absent, all are 1.  SP_UNSUPPORTED when the first or the last one is not 1.
 */
SP_MUST_CHECK sp_status sp_window__read_list(const sp_window *window, const sp_prepare *prepare,
					     const char *name, bool optional,
					     int64_t out[SP_WINDOW_AXES], sp_error *err);

/* The same for numbers from an input. */
SP_MUST_CHECK sp_status sp_window__take_list(const sp_window *window, const int64_t *list,
					     const char *name, int64_t out[SP_WINDOW_AXES],
					     sp_error *err);

/*
 * For operators with a filter: checks two inputs of one dtype and reads the window, the strides and
 * the dilations (attribute `dilations`).
 */
SP_MUST_CHECK sp_status sp_window__read_filtered(sp_window *window, sp_prepare *prepare,
						 bool planes, const char *dilations, sp_error *err);

/* The sizes of a filter [(planes,) rows, columns, ...]. */
void sp_window__filter_size(const sp_window *window, const sp_shape *filter,
			    int64_t out[SP_WINDOW_AXES]);

/*
 * Plans a window of `size` over images of shape `in`, whose rank is checked.  *out becomes that
 * shape with the numbers of positions instead of pixels.
 */
SP_MUST_CHECK sp_status sp_window__plan(const sp_window *window, const sp_call *call,
					const sp_shape *in, const int64_t size[SP_WINDOW_AXES],
					sp_window_plan *plan, sp_shape *out);

/* Pixels of one image. */
static inline int64_t sp_window__pixels(const sp_window_plan *plan)
{
	return plan->axes[0].in * plan->axes[1].in * plan->axes[2].in;
}

/* The reach of the window at `position`, an index in row-major order over the axes. */
void sp_window__reach(const sp_window_plan *plan, int64_t position, sp_window_reach *out);

/* The index in the image of the pixel at place (d, i, j) of a window. */
static inline int64_t sp_window__pixel(const sp_window_plan *plan, const sp_window_reach *reach,
				       int64_t d, int64_t i, int64_t j)
{
	const sp_window_axis *axes = plan->axes;
	int64_t plane = reach->start[0] + d * axes[0].dilation;
	int64_t row = reach->start[1] + i * axes[1].dilation;

	return (plane * axes[1].in + row) * axes[2].in + reach->start[2] + j * axes[2].dilation;
}

/* The index in the window of place (d, i, j). */
static inline int64_t sp_window__place(const sp_window_plan *plan, int64_t d, int64_t i, int64_t j)
{
	return (d * plan->axes[1].size + i) * plan->axes[2].size + j;
}

/* The number of places inside the image. */
static inline int64_t sp_window__inside(const sp_window_reach *reach)
{
	return (reach->last[0] - reach->first[0]) * (reach->last[1] - reach->first[1]) *
	       (reach->last[2] - reach->first[2]);
}

/* Loops over the places (d, i, j) of the reach r. */
#define SP_WINDOW_FOR_EACH(r, d, i, j)                                 \
	for (int64_t d = (r)->first[0]; d < (r)->last[0]; d++)         \
		for (int64_t i = (r)->first[1]; i < (r)->last[1]; i++) \
			for (int64_t j = (r)->first[2]; j < (r)->last[2]; j++)

#endif
