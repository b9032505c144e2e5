#ifndef SP_BASE_FLOAT_MODE_H
#define SP_BASE_FLOAT_MODE_H

#if defined(__x86_64__)
#include <xmmintrin.h>
#endif

/*
 * Whether the calling thread knows subnormal numbers.  TensorFlow's do not: one that an operation
 * takes or gives is 0 (of its sign), in float and in double.
 *
 *     unsigned before = sp_float_mode_flush();
 *     ... operators run ...
 *     sp_float_mode_restore(before);
 *
 * On other processors than x86 nothing changes.
 */
static inline unsigned sp_float_mode_flush(void)
{
#if defined(__x86_64__)
	const unsigned flush_to_zero = 0x8000, denormals_are_zeros = 0x0040;
	unsigned before = _mm_getcsr();

	_mm_setcsr(before | flush_to_zero | denormals_are_zeros);
	return before;
#else
	return 0;
#endif
}

static inline void sp_float_mode_restore(unsigned before)
{
#if defined(__x86_64__)
	_mm_setcsr(before);
#else
	(void)before;
#endif
}

#endif
