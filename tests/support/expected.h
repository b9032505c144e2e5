#ifndef SP_TESTS_SUPPORT_EXPECTED_H
#define SP_TESTS_SUPPORT_EXPECTED_H

#include <stdbool.h>
#include <stddef.h>

#include "base/arena.h"
#include "engine/tensor/tensor.h"

/*
 * Tensors that TensorFlow answered with, as scripts/make_bundle_fixtures.py
 * writes them: lines of texts (as many as `texts` says, separated by tabs),
 * dtype, dims and elements in hexadecimal.
 */
typedef struct sp_expected {
	const char *texts[2];
	sp_tensor tensor;
} sp_expected;

/* All lines of a file of the source tree.  Stops the test when it is not as said. */
const sp_expected *sp_expected_read(const char *relative, size_t texts, sp_arena *arena,
				    size_t *count);

/* The bytes of pairs of hexadecimal digits. */
sp_bytes sp_expected_bytes(const char *digits, size_t size, sp_arena *arena);

/* Stops the test unless both are the same in dtype, shape and bits. */
void sp_assert_same_tensor(const sp_tensor *got, const sp_tensor *want, const char *name);

#endif
