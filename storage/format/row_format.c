#include "storage/format/row_format_internal.h"

#include <math.h>
#include <string.h>

#include "base/cpu.h"

static const char *const names[SP_ROW_FORMATS] = {
	[SP_ROW_FP32] = "fp32", [SP_ROW_FP16] = "fp16", [SP_ROW_BF16] = "bf16",
	[SP_ROW_INT8] = "int8", [SP_ROW_INT4] = "int4",
};

const char *sp_row_format_name(sp_row_format format)
{
	return names[format];
}

bool sp_row_format_parse(sp_row_format *out, const char *name)
{
	for (int f = 0; f < SP_ROW_FORMATS; f++)
		if (strcmp(names[f], name) == 0) {
			*out = (sp_row_format)f;
			return true;
		}
	return false;
}

size_t sp_row_format_size(sp_row_format format, size_t dim)
{
	switch (format) {
	case SP_ROW_FP16:
	case SP_ROW_BF16:
		return dim * 2;
	case SP_ROW_INT8:
		return sizeof(float) + dim;
	case SP_ROW_INT4:
		return sizeof(float) + dim / 2 + dim % 2;
	default:
		return dim * sizeof(float);
	}
}

sp_row_scale sp_row__int8_scale(float greatest, float least)
{
	float largest = greatest > -least ? greatest : -least;

	if (!isfinite(largest))
		return (sp_row_scale){.scale = NAN};
	if (largest < SP_ROW_LEAST)
		return (sp_row_scale){0};
	return (sp_row_scale){largest / SP_ROW_INT8_MAX, SP_ROW_INT8_MAX / largest};
}

/* The largest magnitude gets code -8, which has no counterpart 8: the scale takes the sign. */
sp_row_scale sp_row__int4_scale(float greatest, float least)
{
	float largest = greatest >= -least ? greatest : least;

	if (!isfinite(largest))
		return (sp_row_scale){.scale = NAN};
	if (fabsf(largest) < SP_ROW_LEAST)
		return (sp_row_scale){0};
	return (sp_row_scale){largest / SP_ROW_INT4_MIN, SP_ROW_INT4_MIN / largest};
}

const sp_row_codec *sp_row_codec_find(sp_row_format format)
{
#if defined(__x86_64__)
	if (sp_cpu_has(SP_ISA_AVX512))
		return &sp_row__codecs_avx512[format];
	if (sp_cpu_has(SP_ISA_AVX2))
		return &sp_row__codecs_avx2[format];
#endif
	return &sp_row__codecs_scalar[format];
}
