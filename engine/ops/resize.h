#ifndef SP_ENGINE_OPS_RESIZE_H
#define SP_ENGINE_OPS_RESIZE_H

#include "engine/op.h"

/*
 * What the operators that resize images have in common: images [batch, rows, columns,
 * channels] of numbers, an int32 size, and two attributes that say where pixels are.
 */

/* Pixel element i as float. */
typedef float sp_resize_load(const void *pixels, size_t i);

/* NULL for what is no type of numbers. */
sp_resize_load *sp_resize__find_load(sp_dtype dtype);

typedef struct sp_resize {
	sp_resize_load *load;
	bool align; /* the outermost pixels stay where they are */
	bool half;  /* pixels are squares, else points; never with `align` */
} sp_resize;

/* Checks inputs and attributes; does not state outputs. */
SP_MUST_CHECK sp_status sp_resize__prepare(const sp_prepare *prepare, sp_resize *out,
					   sp_error *err);

/* The shape of the answer, in which there are pixels; so are there in the input. */
SP_MUST_CHECK sp_status sp_resize__shape(const sp_call *call, sp_shape *out);

/* How many pixels of `in` make one of `out`. */
float sp_resize__scale(const sp_resize *resize, int64_t in, int64_t out);

#endif
