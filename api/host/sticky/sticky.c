#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "api/host/infer/tensors.h"
#include "api/host/sticky/sticky_internal.h"
#include "api/serving_processor.h"

/* ----------------------------------------------------------------------- keys */

static sp_bytes number_of(const sp_sticky_body *body, int size)
{
	return (sp_bytes){body->number, (size_t)size};
}

sp_bytes sp_sticky__signed(sp_sticky_body *body, int64_t value)
{
	return number_of(body, snprintf(body->number, sizeof(body->number), "%" PRId64, value));
}

sp_bytes sp_sticky__unsigned(sp_sticky_body *body, uint64_t value)
{
	return number_of(body, snprintf(body->number, sizeof(body->number), "%" PRIu64, value));
}

sp_bytes sp_sticky__real(sp_sticky_body *body, double value)
{
	if (value > -0x1p63 && value < 0x1p63 && value == (double)(int64_t)value)
		return sp_sticky__signed(body, (int64_t)value);
	return number_of(
		body, snprintf(body->number, sizeof(body->number), "%.9g", (double)(float)value));
}

static int64_t load_signed(const void *element, size_t size)
{
	unsigned unused = (unsigned)(8 * (sizeof(uint64_t) - size));
	uint64_t bits = 0;

	memcpy(&bits, element, size);
	return (int64_t)(bits << unused) >> unused;
}

static double load_real(int dtype, const void *element)
{
	double wide;
	float value;

	if (dtype == SERVING_PROCESSOR_DOUBLE) {
		memcpy(&wide, element, sizeof(wide));
		return wide;
	}
	memcpy(&value, element, sizeof(value));
	return (double)value;
}

sp_bytes sp_sticky__element(sp_sticky_body *body, int dtype, const void *element)
{
	serving_processor_bytes text;
	uint64_t bits = 0;

	switch (dtype) {
	case SERVING_PROCESSOR_INT8:
	case SERVING_PROCESSOR_INT16:
	case SERVING_PROCESSOR_INT32:
	case SERVING_PROCESSOR_INT64:
		return sp_sticky__signed(body, load_signed(element, sp_tensor_element_size(dtype)));
	case SERVING_PROCESSOR_BOOL:
	case SERVING_PROCESSOR_UINT8:
	case SERVING_PROCESSOR_UINT16:
	case SERVING_PROCESSOR_UINT32:
	case SERVING_PROCESSOR_UINT64:
		memcpy(&bits, element, sp_tensor_element_size(dtype));
		return sp_sticky__unsigned(body, bits);
	case SERVING_PROCESSOR_FLOAT:
	case SERVING_PROCESSOR_DOUBLE:
		return sp_sticky__real(body, load_real(dtype, element));
	case SERVING_PROCESSOR_STRING:
		memcpy(&text, element, sizeof(text));
		return (sp_bytes){text.data, text.size};
	default:
		return SP_STICKY_NONE;
	}
}

/* ----------------------------------------------------------------------- forms */

sp_bytes sp_sticky_find(void *request, const char *name)
{
	sp_sticky_body *body = request;

	switch (body->form) {
	case SP_STICKY_PREDICT_JSON:
		return sp_sticky__predict_json(body, name);
	case SP_STICKY_PREDICT:
		return sp_sticky__predict(body, name);
	case SP_STICKY_EXAMPLES_JSON:
		return sp_sticky__examples_json(body, name);
	case SP_STICKY_EXAMPLES:
		return sp_sticky__examples(body, name);
	case SP_STICKY_V2_JSON:
		return sp_sticky__v2_json(body, name);
	case SP_STICKY_V2:
		return sp_sticky__infer(body, name);
	case SP_STICKY_EAS:
		return sp_sticky__eas(body, name);
	}
	return SP_STICKY_NONE;
}
