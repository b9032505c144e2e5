#include "api/host/predict/json_element.h"

#include <math.h>
#include <string.h>

#include "api/host/json/json_print.h"
#include "api/host/json/json_writer.h"

static float half_to_float(uint16_t bits)
{
	int exponent = (bits >> 10) & 0x1f;
	int mantissa = bits & 0x3ff;
	float magnitude;

	if (exponent == 31)
		magnitude = mantissa != 0 ? NAN : INFINITY;
	else if (exponent == 0)
		magnitude = ldexpf((float)mantissa, -24);
	else
		magnitude = ldexpf((float)(mantissa + 1024), exponent - 25);
	return (bits & 0x8000) != 0 ? -magnitude : magnitude;
}

static float bfloat16_to_float(uint16_t bits)
{
	uint32_t wide = (uint32_t)bits << 16;
	float value;

	memcpy(&value, &wide, sizeof(value));
	return value;
}

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

void sp_json_write_element(sp_buffer *out, const serving_processor_tensor *tensor, size_t i)
{
	const void *data = tensor->data;
	const serving_processor_bytes *text;

	switch (tensor->dtype) {
	case SERVING_PROCESSOR_FLOAT:
		sp_json_write_f32(out, ((const float *)data)[i]);
		break;
	case SERVING_PROCESSOR_DOUBLE:
		sp_json_write_f64(out, ((const double *)data)[i]);
		break;
	case SERVING_PROCESSOR_HALF:
		sp_json_write_f32(out, half_to_float(((const uint16_t *)data)[i]));
		break;
	case SERVING_PROCESSOR_BFLOAT16:
		sp_json_write_f32(out, bfloat16_to_float(((const uint16_t *)data)[i]));
		break;
	case SERVING_PROCESSOR_INT64:
		sp_json_write_i64(out, ((const int64_t *)data)[i]);
		break;
	case SERVING_PROCESSOR_INT32:
		sp_json_write_i64(out, ((const int32_t *)data)[i]);
		break;
	case SERVING_PROCESSOR_INT16:
		sp_json_write_i64(out, ((const int16_t *)data)[i]);
		break;
	case SERVING_PROCESSOR_INT8:
		sp_json_write_i64(out, ((const int8_t *)data)[i]);
		break;
	case SERVING_PROCESSOR_UINT64:
		sp_json_write_u64(out, ((const uint64_t *)data)[i]);
		break;
	case SERVING_PROCESSOR_UINT32:
		sp_json_write_u64(out, ((const uint32_t *)data)[i]);
		break;
	case SERVING_PROCESSOR_UINT16:
		sp_json_write_u64(out, ((const uint16_t *)data)[i]);
		break;
	case SERVING_PROCESSOR_UINT8:
		sp_json_write_u64(out, ((const uint8_t *)data)[i]);
		break;
	case SERVING_PROCESSOR_BOOL:
		sp_buffer_append_text(out, ((const uint8_t *)data)[i] ? "true" : "false");
		break;
	case SERVING_PROCESSOR_STRING:
		text = &((const serving_processor_bytes *)data)[i];
		sp_json_write_string(out, (sp_bytes){text->data, text->size});
		break;
	default:
		break; /* excluded by sp_json_can_write() */
	}
}

/* Prints one number of a type that has few bytes per element; NULL for other types. */
static inline char *print(char *out, int dtype, const void *data, size_t i)
{
	switch (dtype) {
	case SERVING_PROCESSOR_FLOAT:
		return sp_json_print_f32(out, ((const float *)data)[i]);
	case SERVING_PROCESSOR_DOUBLE:
		return sp_json_print_f64(out, ((const double *)data)[i]);
	case SERVING_PROCESSOR_INT64:
		return sp_json_print_i64(out, ((const int64_t *)data)[i]);
	case SERVING_PROCESSOR_INT32:
		return sp_json_print_i64(out, ((const int32_t *)data)[i]);
	default:
		return NULL;
	}
}

enum { RUN = 64 };

size_t sp_json_write_run(sp_buffer *out, const serving_processor_tensor *tensor, size_t first,
			 size_t count, sp_bytes between)
{
	size_t room, done = 0, size = out->size;
	char *start, *at;

	if (tensor->dtype != SERVING_PROCESSOR_FLOAT && tensor->dtype != SERVING_PROCESSOR_DOUBLE &&
	    tensor->dtype != SERVING_PROCESSOR_INT64 && tensor->dtype != SERVING_PROCESSOR_INT32)
		return 0;
	count = count < RUN ? count : RUN;
	room = count * (SP_JSON_PRINT_BYTES + between.size);
	if (out->failed || room > out->max_size - size)
		return 0;
	start = at = sp_buffer_reserve(out, room);
	if (start == NULL)
		return 0;
	while (done < count) {
		at = print(at, tensor->dtype, tensor->data, first + done);
		if (++done < count) {
			memcpy(at, between.data, between.size);
			at += between.size;
		}
	}
	out->size = size + (size_t)(at - start);
	*at = '\0';
	return done;
}
