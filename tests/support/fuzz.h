#ifndef SP_TESTS_SUPPORT_FUZZ_H
#define SP_TESTS_SUPPORT_FUZZ_H

#include <stddef.h>
#include <stdint.h>

/* What a fuzz target defines: takes any bytes, returns 0, or crashes. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#endif
