#include "api/host/predict/json_response.h"

#include <math.h>
#include <string.h>

#include "api/host/predict/dtype_name.h"
#include "api/host/json/json_writer.h"
#include "base/utf8.h"

typedef struct writer {
	sp_buffer *out;
	const serving_processor_tensor *tensor;
	bool base64;   /* write every string as {"b64": ...} */
	size_t offset; /* of the next element */
} writer;

/* ----------------------------------------------------------------- types */

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

static void write_string(writer *w, serving_processor_bytes element)
{
	sp_bytes text = {element.data, element.size};

	if (w->base64 || !sp_utf8_valid(text))
		sp_json_write_base64(w->out, text);
	else
		sp_json_write_string(w->out, text);
}

/* The types that write_element() supports: JSON has no complex numbers. */
static bool can_write(int dtype)
{
#define BIT(type) (1u << SERVING_PROCESSOR_##type)
	static const uint32_t writable = BIT(FLOAT) | BIT(DOUBLE) | BIT(HALF) | BIT(BFLOAT16) |
					 BIT(INT8) | BIT(INT16) | BIT(INT32) | BIT(INT64) |
					 BIT(UINT8) | BIT(UINT16) | BIT(UINT32) | BIT(UINT64) |
					 BIT(BOOL) | BIT(STRING);
#undef BIT

	return dtype > 0 && dtype < 32 && (writable >> dtype & 1) != 0;
}

static void write_element(writer *w)
{
	const void *data = w->tensor->data;
	size_t i = w->offset++;

	switch (w->tensor->dtype) {
	case SERVING_PROCESSOR_FLOAT:
		sp_json_write_f32(w->out, ((const float *)data)[i]);
		break;
	case SERVING_PROCESSOR_DOUBLE:
		sp_json_write_f64(w->out, ((const double *)data)[i]);
		break;
	case SERVING_PROCESSOR_HALF:
		sp_json_write_f32(w->out, half_to_float(((const uint16_t *)data)[i]));
		break;
	case SERVING_PROCESSOR_BFLOAT16:
		sp_json_write_f32(w->out, bfloat16_to_float(((const uint16_t *)data)[i]));
		break;
	case SERVING_PROCESSOR_INT64:
		sp_json_write_i64(w->out, ((const int64_t *)data)[i]);
		break;
	case SERVING_PROCESSOR_INT32:
		sp_json_write_i64(w->out, ((const int32_t *)data)[i]);
		break;
	case SERVING_PROCESSOR_INT16:
		sp_json_write_i64(w->out, ((const int16_t *)data)[i]);
		break;
	case SERVING_PROCESSOR_INT8:
		sp_json_write_i64(w->out, ((const int8_t *)data)[i]);
		break;
	case SERVING_PROCESSOR_UINT64:
		sp_json_write_u64(w->out, ((const uint64_t *)data)[i]);
		break;
	case SERVING_PROCESSOR_UINT32:
		sp_json_write_u64(w->out, ((const uint32_t *)data)[i]);
		break;
	case SERVING_PROCESSOR_UINT16:
		sp_json_write_u64(w->out, ((const uint16_t *)data)[i]);
		break;
	case SERVING_PROCESSOR_UINT8:
		sp_json_write_u64(w->out, ((const uint8_t *)data)[i]);
		break;
	case SERVING_PROCESSOR_BOOL:
		sp_buffer_append_text(w->out, ((const uint8_t *)data)[i] ? "true" : "false");
		break;
	case SERVING_PROCESSOR_STRING:
		write_string(w, ((const serving_processor_bytes *)data)[i]);
		break;
	default:
		break; /* excluded by can_write() */
	}
}

/* ---------------------------------------------------------------- shape */

/* Recurses to the depth of the tensor's rank. */
static void write_level(writer *w, int level)
{
	if (level >= w->tensor->rank) {
		write_element(w);
		return;
	}
	sp_buffer_append_char(w->out, '[');
	for (int64_t i = 0; i < w->tensor->dims[level] && !w->out->failed; i++) {
		if (i != 0)
			sp_buffer_append_char(w->out, ',');
		write_level(w, level + 1);
	}
	sp_buffer_append_char(w->out, ']');
}

static writer writer_of(sp_buffer *out, const serving_processor_tensor *tensor)
{
	return (writer){out, tensor, sp_bytes_ends_with(sp_bytes_of(tensor->name), "_bytes"), 0};
}

static sp_status check(const serving_processor_tensor *const *tensors, size_t count, bool row,
		       sp_error *err)
{
	if (count == 0)
		return sp_error_set(err, SP_INVALID, "Cannot convert empty tensor map to JSON");
	for (size_t i = 0; i < count; i++) {
		const serving_processor_tensor *tensor = tensors[i];

		if (!can_write(tensor->dtype))
			return sp_error_set(err, SP_INVALID,
					    "Tensor name: %s has a value that JSON cannot say: "
					    "tensor type: %s",
					    tensor->name, sp_host_dtype_name(tensor->dtype));
		if (row && tensor->rank == 0)
			return sp_error_set(err, SP_INVALID,
					    "Tensor name: %s has no shape information",
					    tensor->name);
		if (row && tensor->dims[0] != tensors[0]->dims[0])
			return sp_error_set(
				err, SP_INVALID,
				"Tensor name: %s has inconsistent batch size: %lld expecting: %lld",
				tensor->name, (long long)tensor->dims[0],
				(long long)tensors[0]->dims[0]);
	}
	return SP_OK;
}

/* ------------------------------------------------------------------ forms */

static void write_rows(sp_buffer *out, const serving_processor_tensor *const *tensors, size_t count)
{
	int64_t rows = tensors[0]->dims[0];

	sp_buffer_append_text(out, "{\"predictions\":[");
	for (int64_t row = 0; row < rows && !out->failed; row++) {
		if (row != 0)
			sp_buffer_append_char(out, ',');
		for (size_t i = 0; i < count; i++) {
			writer w = writer_of(out, tensors[i]);

			w.offset = tensors[i]->count / (size_t)rows * (size_t)row;
			if (count > 1) {
				sp_buffer_append_text(out, i == 0 ? "{" : "");
				sp_json_write_key(out, tensors[i]->name, i == 0);
			}
			write_level(&w, 1);
		}
		if (count > 1)
			sp_buffer_append_char(out, '}');
	}
	sp_buffer_append_text(out, "]}");
}

static void write_columns(sp_buffer *out, const serving_processor_tensor *const *tensors,
			  size_t count)
{
	sp_buffer_append_text(out, count > 1 ? "{\"outputs\":{" : "{\"outputs\":");
	for (size_t i = 0; i < count; i++) {
		writer w = writer_of(out, tensors[i]);

		if (count > 1)
			sp_json_write_key(out, tensors[i]->name, i == 0);
		write_level(&w, 0);
	}
	sp_buffer_append_text(out, count > 1 ? "}}" : "}");
}

sp_status sp_json_response_write(sp_buffer *out, const serving_processor_tensor *const *tensors,
				 size_t count, bool row, sp_error *err)
{
	SP_TRY(check(tensors, count, row, err));
	if (row)
		write_rows(out, tensors, count);
	else
		write_columns(out, tensors, count);
	return SP_OK;
}
