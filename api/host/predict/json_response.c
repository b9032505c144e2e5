#include "api/host/predict/json_response.h"

#include <string.h>

#include "api/host/predict/dtype_name.h"
#include "api/host/json/json_base64.h"
#include "api/host/json/json_writer.h"
#include "api/host/predict/json_element.h"
#include "base/utf8.h"

typedef struct writer {
	sp_buffer *out;
	const serving_processor_tensor *tensor;
	bool base64;   /* write every string as {"b64": ...} */
	bool spread;   /* each element of a list is on a line of its own */
	size_t offset; /* of the next element */
} writer;

/* --------------------------------------------------------------- white space */

/* A new line for a value inside of `depth` objects and lists. */
static void new_line(sp_buffer *out, int depth)
{
	size_t size = 1 + 4 * (size_t)depth;
	char *at = sp_buffer_reserve(out, size);

	if (at == NULL)
		return;
	memset(at, ' ', size);
	*at = '\n';
}

static void write_key(sp_buffer *out, const char *key, bool first, int depth)
{
	if (!first)
		sp_buffer_append_char(out, ',');
	new_line(out, depth);
	sp_json_text_append(out, sp_bytes_of(key));
	sp_buffer_append(out, ": ", 2);
}

/* ---------------------------------------------------------------- elements */

static void write_string(writer *w, serving_processor_bytes element, int depth)
{
	sp_bytes text = {element.data, element.size};

	if (!w->base64 && sp_utf8_valid(text)) {
		sp_json_text_append(w->out, text);
		return;
	}
	sp_buffer_append_char(w->out, '{');
	write_key(w->out, "b64", true, depth + 1);
	sp_buffer_append_char(w->out, '"');
	sp_base64_encode(w->out, text);
	sp_buffer_append_char(w->out, '"');
	new_line(w->out, depth);
	sp_buffer_append_char(w->out, '}');
}

static void write_element(writer *w, int depth)
{
	size_t i = w->offset++;

	if (w->tensor->dtype == SERVING_PROCESSOR_STRING)
		write_string(w, ((const serving_processor_bytes *)w->tensor->data)[i], depth);
	else
		sp_json_write_element(w->out, w->tensor, i);
}

/* Writes as many of the next elements as sp_json_write_run() does; returns how many. */
static int64_t write_run(writer *w, size_t count, int depth)
{
	static const char line[] = ",\n                                ";
	size_t size = w->spread ? 2 + 4 * (size_t)depth : 2, many;

	if (w->spread && size >= sizeof(line))
		return 0;
	many = sp_json_write_run(w->out, w->tensor, w->offset, count,
				 (sp_bytes){w->spread ? line : ", ", size});
	w->offset += many;
	return (int64_t)many;
}

/* ---------------------------------------------------------------- shape */

/*
 * Writes the list of a dimension, inside of `depth` objects and lists.  Recurses to the depth of
 * the tensor's rank.
 */
static void write_level(writer *w, int level, int depth)
{
	int64_t count;

	if (level >= w->tensor->rank) {
		write_element(w, depth);
		return;
	}
	count = w->tensor->dims[level];
	sp_buffer_append_char(w->out, '[');
	for (int64_t i = 0; i < count && !w->out->failed;) {
		int64_t many = 0;

		if (i != 0)
			sp_buffer_append(w->out, ", ", w->spread ? 1 : 2);
		if (w->spread)
			new_line(w->out, depth + 1);
		if (level + 1 == w->tensor->rank)
			many = write_run(w, (size_t)(count - i), depth + 1);
		if (many == 0) {
			write_level(w, level + 1, depth + 1);
			many = 1;
		}
		i += many;
	}
	if (w->spread && count != 0)
		new_line(w->out, depth);
	sp_buffer_append_char(w->out, ']');
}

static writer writer_of(sp_buffer *out, const serving_processor_tensor *tensor, bool spread)
{
	bool base64 = sp_bytes_ends_with(sp_bytes_of(tensor->name), "_bytes");

	return (writer){.out = out, .tensor = tensor, .base64 = base64, .spread = spread};
}

static sp_status check(const serving_processor_tensor *tensors, size_t count, bool row,
		       sp_error *err)
{
	if (count == 0)
		return sp_error_set(err, SP_INVALID, "Cannot convert empty tensor map to JSON");
	for (size_t i = 0; i < count; i++) {
		const serving_processor_tensor *tensor = &tensors[i];

		if (!sp_json_can_write(tensor->dtype))
			return sp_error_set(err, SP_INVALID,
					    "Tensor name: %s has a value that JSON cannot say: "
					    "tensor type: %s",
					    tensor->name, sp_host_dtype_name(tensor->dtype));
		if (row && tensor->rank == 0)
			return sp_error_set(err, SP_INVALID,
					    "Tensor name: %s has no shape information",
					    tensor->name);
		if (row && tensor->dims[0] != tensors[0].dims[0])
			return sp_error_set(
				err, SP_INVALID,
				"Tensor name: %s has inconsistent batch size: %lld expecting: %lld",
				tensor->name, (long long)tensor->dims[0],
				(long long)tensors[0].dims[0]);
	}
	return SP_OK;
}

/* ------------------------------------------------------------------ forms */

/* The members of a row, or its only value. */
static void write_row(sp_buffer *out, const serving_processor_tensor *tensors, size_t count,
		      int64_t row)
{
	bool named = count > 1;

	if (named) {
		new_line(out, 2);
		sp_buffer_append_char(out, '{');
	}
	for (size_t i = 0; i < count; i++) {
		writer w = writer_of(out, &tensors[i], false);

		w.offset = tensors[i].count / (size_t)tensors[i].dims[0] * (size_t)row;
		if (named)
			write_key(out, tensors[i].name, i == 0, 3);
		write_level(&w, 1, named ? 3 : 2);
	}
	if (named) {
		new_line(out, 2);
		sp_buffer_append_char(out, '}');
	}
}

/* Writes at least one of the rows of an output of one element per row; returns how many. */
static int64_t write_scalars(sp_buffer *out, const serving_processor_tensor *tensor, int64_t row)
{
	bool listed = tensor->rank == 2; /* [0.5], [0.25] */
	writer w = writer_of(out, tensor, false);
	size_t many;

	if (listed)
		sp_buffer_append_char(out, '[');
	many = sp_json_write_run(out, tensor, (size_t)row, (size_t)(tensor->dims[0] - row),
				 sp_bytes_of(listed ? "], [" : ", "));
	if (many == 0) {
		w.offset = (size_t)row;
		write_element(&w, listed ? 3 : 2);
		many = 1;
	}
	if (listed)
		sp_buffer_append_char(out, ']');
	return (int64_t)many;
}

static bool has_scalars(const serving_processor_tensor *tensor)
{
	return tensor->rank == 1 || (tensor->rank == 2 && tensor->dims[1] == 1);
}

static void write_rows(sp_buffer *out, const serving_processor_tensor *tensors, size_t count)
{
	int64_t rows = tensors[0].dims[0];

	sp_buffer_append_char(out, '{');
	write_key(out, "predictions", true, 1);
	sp_buffer_append_char(out, '[');
	for (int64_t row = 0; row < rows && !out->failed;) {
		if (row != 0)
			sp_buffer_append(out, ", ", count > 1 ? 1 : 2);
		if (count == 1 && has_scalars(&tensors[0]))
			row += write_scalars(out, &tensors[0], row);
		else
			write_row(out, tensors, count, row++);
	}
	if (rows != 0)
		new_line(out, 1);
	sp_buffer_append_text(out, "]\n}");
}

static void write_columns(sp_buffer *out, const serving_processor_tensor *tensors, size_t count)
{
	bool named = count > 1;

	sp_buffer_append_char(out, '{');
	write_key(out, "outputs", true, 1);
	if (named)
		sp_buffer_append_char(out, '{');
	for (size_t i = 0; i < count; i++) {
		writer w = writer_of(out, &tensors[i], true);

		if (named)
			write_key(out, tensors[i].name, i == 0, 2);
		write_level(&w, 0, named ? 2 : 1);
	}
	if (named) {
		new_line(out, 1);
		sp_buffer_append_char(out, '}');
	}
	sp_buffer_append_text(out, "\n}");
}

sp_status sp_json_response_write(sp_buffer *out, const serving_processor_tensor *tensors,
				 size_t count, bool row, sp_error *err)
{
	SP_TRY(check(tensors, count, row, err));
	if (row)
		write_rows(out, tensors, count);
	else
		write_columns(out, tensors, count);
	return SP_OK;
}

/* ------------------------------------------------------------------- examples */

void sp_json_response_write_scores(sp_buffer *out, const float *scores, size_t count)
{
	sp_buffer_append_char(out, '{');
	write_key(out, "results", true, 1);
	for (size_t i = 0; i < count && !out->failed; i++) {
		sp_buffer_append_text(out, i == 0 ? "[" : ", ");
		sp_json_write_f32(out, scores[i]);
	}
	sp_buffer_append_text(out, count == 0 ? "[]\n}" : "]\n}");
}

void sp_json_response_write_classes(sp_buffer *out, const serving_processor_bytes *labels,
				    const float *scores, size_t example_count, size_t class_count)
{
	sp_buffer_append_char(out, '{');
	write_key(out, "results", true, 1);
	sp_buffer_append_char(out, '[');
	for (size_t i = 0; i < example_count && !out->failed; i++) {
		sp_buffer_append_text(out, i == 0 ? "[" : ", [");
		for (size_t c = 0; c < class_count; c++) {
			size_t at = i * class_count + c;
			sp_bytes label = {"", 0};

			if (labels != NULL)
				label = (sp_bytes){labels[at].data, labels[at].size};
			sp_buffer_append_text(out, c == 0 ? "[" : ", [");
			sp_json_text_append(out, label);
			sp_buffer_append(out, ", ", 2);
			sp_json_write_f32(out, scores != NULL ? scores[at] : 0);
			sp_buffer_append_char(out, ']');
		}
		sp_buffer_append_char(out, ']');
	}
	if (example_count != 0)
		new_line(out, 1);
	sp_buffer_append_text(out, "]\n}");
}
