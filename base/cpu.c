#include "base/cpu.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"

static pthread_once_t once = PTHREAD_ONCE_INIT;
static sp_isa best;

const char *sp_isa_name(sp_isa isa)
{
	static const char *const names[] = {"scalar", "sse42", "avx2", "avx512"};

	return names[isa];
}

/* __builtin_cpu_supports() also checks with XGETBV that the system saves the wide registers. */
static sp_isa detect(void)
{
#if defined(__x86_64__)
	__builtin_cpu_init();
	if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
	    __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl"))
		return SP_ISA_AVX512;
	if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"))
		return SP_ISA_AVX2;
	if (__builtin_cpu_supports("sse4.2"))
		return SP_ISA_SSE42;
#endif
	return SP_ISA_SCALAR;
}

static void decide(void)
{
	const char *cap = getenv("SP_CPU");

	best = detect();
	if (cap == NULL || *cap == '\0')
		return;
	for (sp_isa isa = SP_ISA_SCALAR; isa <= SP_ISA_AVX512; isa++) {
		if (strcmp(cap, sp_isa_name(isa)) != 0)
			continue;
		if (isa < best)
			best = isa;
		return;
	}
	sp_log(SP_LOG_WARNING, "SP_CPU=%.32s is none of scalar, sse42, avx2, avx512: ignored", cap);
}

sp_isa sp_cpu_isa(void)
{
	pthread_once(&once, decide);
	return best;
}

bool sp_cpu_has_wide_clmul(void)
{
#if defined(__x86_64__)
	return sp_cpu_has(SP_ISA_AVX512) && __builtin_cpu_supports("vpclmulqdq");
#else
	return false;
#endif
}
