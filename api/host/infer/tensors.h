#ifndef SP_API_HOST_INFER_TENSORS_H
#define SP_API_HOST_INFER_TENSORS_H

#include <stdbool.h>
#include <stddef.h>

#include "api/serving_processor.h"
#include "base/arena.h"

/* Copies and comparison of tensors.  Threads: pure. */

/* Bytes of an element, a serving_processor_bytes for a string; 0 for an unknown type. */
size_t sp_tensor_element_size(int dtype);

enum { SP_DIMS_TEXT = 128 };

/* "[2,3]", as TensorFlow writes a shape; dims for which there is no room are left out. */
const char *sp_dims_print(char out[SP_DIMS_TEXT], const int64_t *dims, int rank);

/* Bytes that a copy takes, with those of strings. */
size_t sp_tensor_bytes(const serving_processor_tensor *tensor);

/* A copy with all that it refers to, in the arena; false when out of memory. */
bool sp_host_tensor_copy(serving_processor_tensor *out, const serving_processor_tensor *tensor,
			 sp_arena *arena);

/*
 * Whether both have the same type, shape and elements.  Floats a and b are the same if they differ
 * by no more than tolerance * max(1, |a|, |b|), or are both not a number; of all other types only
 * equal elements are.
 */
bool sp_tensors_are_alike(const serving_processor_tensor *a, const serving_processor_tensor *b,
			  double tolerance);

/* Whether so many tensors are alike, each two of the same index. */
bool sp_tensor_lists_are_alike(const serving_processor_tensor *a, const serving_processor_tensor *b,
			       size_t count, double tolerance);

#endif
