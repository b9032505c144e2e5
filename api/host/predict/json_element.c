#include "api/host/predict/json_element.h"

#include <string.h>

#include "api/host/json/json_print.h"
#include "base/half.h"
#include "base/json_text.h"

bool sp_json_can_write(int dtype)
{
#define BIT(type) (1u << SERVING_PROCESSOR_##type)
	static const uint32_t writable = BIT(FLOAT) | BIT(DOUBLE) | BIT(HALF) | BIT(BFLOAT16) |
					 BIT(INT8) | BIT(INT16) | BIT(INT32) | BIT(INT64) |
					 BIT(UINT8) | BIT(UINT16) | BIT(UINT32) | BIT(UINT64) |
					 BIT(BOOL) | BIT(STRING);
#undef BIT

	return dtype > 0 && dtype < 32 && (writable >> dtype & 1) != 0;
}

static char *print_bool(char *out, bool value)
{
	memcpy(out, value ? "true" : "false", 5);
	return out + (value ? 4 : 5);
}

/* Prints a number or a bool; NULL for other types. */
static inline char *print(char *out, int dtype, const void *data, size_t i)
{
	switch (dtype) {
	case SERVING_PROCESSOR_FLOAT:
		return sp_json_print_f32(out, ((const float *)data)[i]);
	case SERVING_PROCESSOR_DOUBLE:
		return sp_json_print_f64(out, ((const double *)data)[i]);
	case SERVING_PROCESSOR_HALF:
		return sp_json_print_f32(out, sp_half_to_float(((const uint16_t *)data)[i]));
	case SERVING_PROCESSOR_BFLOAT16:
		return sp_json_print_f32(out, sp_bfloat16_to_float(((const uint16_t *)data)[i]));
	case SERVING_PROCESSOR_INT64:
		return sp_json_print_i64(out, ((const int64_t *)data)[i]);
	case SERVING_PROCESSOR_INT32:
		return sp_json_print_i64(out, ((const int32_t *)data)[i]);
	case SERVING_PROCESSOR_INT16:
		return sp_json_print_i64(out, ((const int16_t *)data)[i]);
	case SERVING_PROCESSOR_INT8:
		return sp_json_print_i64(out, ((const int8_t *)data)[i]);
	case SERVING_PROCESSOR_UINT64:
		return sp_json_print_u64(out, ((const uint64_t *)data)[i]);
	case SERVING_PROCESSOR_UINT32:
		return sp_json_print_u64(out, ((const uint32_t *)data)[i]);
	case SERVING_PROCESSOR_UINT16:
		return sp_json_print_u64(out, ((const uint16_t *)data)[i]);
	case SERVING_PROCESSOR_UINT8:
		return sp_json_print_u64(out, ((const uint8_t *)data)[i]);
	case SERVING_PROCESSOR_BOOL:
		return print_bool(out, ((const uint8_t *)data)[i]);
	default:
		return NULL;
	}
}

void sp_json_write_element(sp_buffer *out, const serving_processor_tensor *tensor, size_t i)
{
	const serving_processor_bytes *texts = tensor->data;
	char text[SP_JSON_PRINT_BYTES], *end = print(text, tensor->dtype, tensor->data, i);

	if (end != NULL)
		sp_buffer_append(out, text, (size_t)(end - text));
	else if (tensor->dtype == SERVING_PROCESSOR_STRING)
		sp_json_text_append(out, (sp_bytes){texts[i].data, texts[i].size});
}

enum { RUN = 64 };

size_t sp_json_write_run(sp_buffer *out, const serving_processor_tensor *tensor, size_t first,
			 size_t count, sp_bytes between)
{
	size_t room, done = 0, size = out->size;
	const void *data = tensor->data;
	int dtype = tensor->dtype;
	char *start, *at;

	if (tensor->dtype == SERVING_PROCESSOR_STRING || !sp_json_can_write(tensor->dtype))
		return 0;
	count = count < RUN ? count : RUN;
	room = count * (SP_JSON_PRINT_BYTES + between.size);
	if (out->failed || room > out->max_size - size)
		return 0;
	start = at = sp_buffer_reserve(out, room);
	if (start == NULL)
		return 0;
	while (done < count) {
		at = print(at, dtype, data, first + done);
		if (++done < count) {
			memcpy(at, between.data, between.size);
			at += between.size;
		}
	}
	out->size = size + (size_t)(at - start);
	*at = '\0';
	return done;
}
