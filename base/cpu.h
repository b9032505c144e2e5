#ifndef SP_BASE_CPU_H
#define SP_BASE_CPU_H

#include <stdbool.h>

/*
 * Instruction sets of the processor, detected once.
 *
 * The environment variable SP_CPU=scalar|sse42|avx2|avx512 caps the answer, so that one
 * machine can test all kernel variants and a faulty one can be switched off in production.
 * An unknown word is ignored with a warning.
 *
 * Threads: thread-safe.
 */

typedef enum sp_isa {
	SP_ISA_SCALAR = 0,
	SP_ISA_SSE42,  /* and the CRC32 instruction */
	SP_ISA_AVX2,   /* and FMA */
	SP_ISA_AVX512, /* F, BW, DQ, VL */
} sp_isa;

/* The best instruction set that processor and system support and SP_CPU allows. */
sp_isa sp_cpu_isa(void);

static inline bool sp_cpu_has(sp_isa isa)
{
	return sp_cpu_isa() >= isa;
}

/* AVX-512 with carry-less multiplication (VPCLMULQDQ). */
bool sp_cpu_has_wide_clmul(void);

/* "scalar", "sse42", "avx2", "avx512". */
const char *sp_isa_name(sp_isa isa);

#endif
