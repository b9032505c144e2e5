#ifndef SP_BASE_FLOAT_MODE_H
#define SP_BASE_FLOAT_MODE_H

#if defined(__x86_64__)
#include <xmmintrin.h>
#endif

/*
 * Whether the calling thread flushes subnormal floats and doubles to zero.  TensorFlow's threads
 * do: a subnormal operand or result becomes a zero with its sign.
 *
 *     unsigned before = sp_float_mode_flush();
 *     ... operators run ...
 *     sp_float_mode_restore(before);
 *
 * No effect on processors other than x86.
 */
enum { SP_FLUSH_TO_ZERO = 0x8000, SP_DENORMALS_ARE_ZEROS = 0x0040 };

static inline unsigned sp_float_mode_flush(void)
{
#if defined(__x86_64__)
	unsigned before = _mm_getcsr();

	_mm_setcsr(before | SP_FLUSH_TO_ZERO | SP_DENORMALS_ARE_ZEROS);
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
