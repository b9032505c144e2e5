#ifndef SP_ENGINE_PARTIAL_SHAPE_H
#define SP_ENGINE_PARTIAL_SHAPE_H

#include <stdbool.h>
#include <stdint.h>

#include "engine/tensor/tensor.h"

/*
 * A shape of which some dimensions, or all of it, are unknown.
 *
 * Threads: pure functions.
 */
typedef struct sp_partial_shape {
	int32_t rank;              /* 0 ... SP_MAX_RANK; -1: unknown */
	int64_t dims[SP_MAX_RANK]; /* -1: unknown */
} sp_partial_shape;

/* "[2,?]" or "<unknown>" into `text`; returns text. */
const char *sp_partial_shape_text(const sp_partial_shape *shape, char text[SP_SHAPE_TEXT_SIZE]);

/* Whether all known dimensions are those of `shape`. */
bool sp_partial_shape_matches(const sp_partial_shape *partial, const sp_shape *shape);

/* True, and the shape in *out, when no dimension is unknown. */
bool sp_partial_shape_is_full(const sp_partial_shape *partial, sp_shape *out);

/* The dimensions that `a` or `b` knows; false when they contradict each other. */
bool sp_partial_shape_merge(const sp_partial_shape *a, const sp_partial_shape *b,
			    sp_partial_shape *out);

sp_partial_shape sp_partial_shape_of(const sp_shape *shape);

#endif
