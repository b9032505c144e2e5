#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engine/ops/ops.h"
#include "engine/ops/string/text.h"

/*
 * StringFormat: a template with one tensor printed at each placeholder, in the format of tf.print:
 * rows in brackets, the first and the last `summarize` entries of every dimension with "..."
 * between them; all entries if it is negative.
 *
 * Floats have the fewest digits that read back as the same number: 6 or 9, doubles 15 or 17.
 * Strings are quoted, and characters that are not printable are escaped.
 *
 * Source: outputs of StringFormat of TensorFlow 2.15.
 */
typedef struct format_state {
	sp_bytes template, placeholder;
	int64_t ends; /* entries at either end of a dimension */
} format_state;

/* The output; with `to` NULL it is only measured. */
typedef struct sink {
	char *to;
	size_t size;
} sink;

static void put(sink *out, const char *text, size_t size)
{
	if (out->to != NULL && size > 0)
		memcpy(out->to + out->size, text, size);
	out->size += size;
}

static void put_text(sink *out, const char *text)
{
	put(out, text, strlen(text));
}

/* The decimal point of the host's locale is replaced by a dot. */
static void put_number(sink *out, const char *text)
{
	for (; *text != '\0'; text++) {
		bool known = (*text >= '0' && *text <= '9') || (*text >= 'a' && *text <= 'z') ||
			     *text == '-' || *text == '+';

		put(out, known ? text : ".", 1);
	}
}

static void put_double(sink *out, double value, bool is_float)
{
	char text[40];

	if (value != value) {
		put_text(out, "nan");
		return;
	}
	snprintf(text, sizeof(text), "%.*g", is_float ? 6 : 15, value);
	if (is_float ? strtof(text, NULL) != (float)value : strtod(text, NULL) != value)
		snprintf(text, sizeof(text), "%.*g", is_float ? 9 : 17, value);
	put_number(out, text);
}

static void put_signed(sink *out, int64_t value)
{
	char text[24];

	snprintf(text, sizeof(text), "%" PRId64, value);
	put_text(out, text);
}

static void put_unsigned(sink *out, uint64_t value)
{
	char text[24];

	snprintf(text, sizeof(text), "%" PRIu64, value);
	put_text(out, text);
}

static void put_quoted(sink *out, sp_bytes text)
{
	static const char special[] = "\n\r\t\"'\\", escape[] = "nrt\"'\\";

	put_text(out, "\"");
	for (size_t i = 0; i < text.size; i++) {
		unsigned char c = (unsigned char)text.data[i];
		const char *at = c != 0 ? strchr(special, c) : NULL;
		char escaped[8];

		if (at != NULL)
			snprintf(escaped, sizeof(escaped), "\\%c", escape[at - special]);
		else if (c < 0x20 || c == 0x7f)
			snprintf(escaped, sizeof(escaped), "\\%03o", c);
		else
			snprintf(escaped, sizeof(escaped), "%c", c);
		put_text(out, escaped);
	}
	put_text(out, "\"");
}

static void put_element(sink *out, const sp_tensor *t, size_t i)
{
	switch (t->dtype) {
	case SP_FLOAT:
		put_double(out, (double)((const float *)t->data)[i], true);
		return;
	case SP_DOUBLE:
		put_double(out, ((const double *)t->data)[i], false);
		return;
	case SP_HALF:
		put_double(out, (double)sp_half_to_float(((const uint16_t *)t->data)[i]), true);
		return;
	case SP_BFLOAT16:
		put_double(out, (double)sp_bfloat16_to_float(((const uint16_t *)t->data)[i]), true);
		return;
	case SP_INT8:
		put_signed(out, ((const int8_t *)t->data)[i]);
		return;
	case SP_INT16:
		put_signed(out, ((const int16_t *)t->data)[i]);
		return;
	case SP_INT32:
		put_signed(out, ((const int32_t *)t->data)[i]);
		return;
	case SP_INT64:
		put_signed(out, ((const int64_t *)t->data)[i]);
		return;
	case SP_BOOL:
	case SP_UINT8:
		put_unsigned(out, ((const uint8_t *)t->data)[i]);
		return;
	case SP_UINT16:
		put_unsigned(out, ((const uint16_t *)t->data)[i]);
		return;
	case SP_UINT32:
		put_unsigned(out, ((const uint32_t *)t->data)[i]);
		return;
	case SP_UINT64:
		put_unsigned(out, ((const uint64_t *)t->data)[i]);
		return;
	default:
		put_quoted(out, ((const sp_bytes *)t->data)[i]);
	}
}

static bool is_writable(sp_dtype dtype)
{
	return sp_dtype_is_floating(dtype) || sp_dtype_is_integer(dtype) || dtype == SP_BOOL ||
	       dtype == SP_STRING;
}

/* Between entries of dimension `dim`: a space, or as many line breaks as dimensions end. */
static void put_space(sink *out, int dim, int rank)
{
	if (dim == rank - 1) {
		put_text(out, " ");
		return;
	}
	for (int i = dim; i < rank - 1; i++)
		put_text(out, "\n");
	for (int i = 0; i <= dim; i++)
		put_text(out, " ");
}

/* Writes the entries of dimensions `dim` and following, starting with element `at`. */
static void put_dim(sink *out, const sp_tensor *t, int dim, size_t at, int64_t ends)
{
	int rank = t->shape.rank;
	int64_t count, each;

	if (dim == rank) {
		if (ends == 0)
			put_text(out, "...");
		else
			put_element(out, t, at);
		return;
	}
	count = t->shape.dims[dim];
	each = sp_shape_product(&t->shape, dim + 1, rank);
	put_text(out, "[");
	for (int64_t i = 0; i < count; i++) {
		if (i > 0 || ends == 0)
			put_space(out, dim, rank);
		if (i == ends && count - ends > ends) {
			put_text(out, "...");
			i = count - ends - 1;
			continue;
		}
		put_dim(out, t, dim + 1, at + (size_t)(i * each), ends);
	}
	put_text(out, "]");
}

static size_t find_placeholder(const format_state *state, size_t from)
{
	const char *at = memmem(state->template.data + from, state->template.size - from,
				state->placeholder.data, state->placeholder.size);

	return at == NULL ? state->template.size : (size_t)(at - state->template.data);
}

static void put_all(sink *out, const sp_call *call)
{
	const format_state *state = call->state;
	size_t from = 0, at = 0;
	int64_t ends; /* at most the number of elements: an empty tensor prints "..." */

	for (size_t i = 0; i < call->in_count; i++) {
		at = find_placeholder(state, from);
		put(out, state->template.data + from, at - from);
		ends = (int64_t)call->in[i]->count;
		put_dim(out, call->in[i], 0, 0, state->ends < ends ? state->ends : ends);
		from = at + state->placeholder.size;
	}
	put(out, state->template.data + from, state->template.size - from);
}

static sp_status run_format(const sp_call *call)
{
	sp_shape shape = sp_shape_scalar();
	sink out = {.to = NULL};

	SP_TRY(sp_call_output(call, 0, SP_STRING, &shape));
	put_all(&out, call);
	out.to = sp_call_bytes(call, 1, out.size + 1);
	if (out.to == NULL)
		return sp_call_no_memory(call);
	out.size = 0;
	put_all(&out, call);
	*sp_tensor_strings(call->out[0]) = (sp_bytes){out.to, out.size};
	return SP_OK;
}

static sp_status prepare_format(sp_prepare *prepare, sp_error *err)
{
	format_state *state = sp_prepare_state(prepare, sizeof(*state));
	size_t places = 0;

	if (state == NULL)
		return sp_error_set(err, SP_NO_MEMORY, "no memory for StringFormat");
	SP_TRY(sp_node_attr_bytes(prepare->node, "template", "%s", &state->template, err));
	SP_TRY(sp_node_attr_bytes(prepare->node, "placeholder", "%s", &state->placeholder, err));
	SP_TRY(sp_node_attr_int(prepare->node, "summarize", 3, &state->ends, err));
	if (state->ends < 0)
		state->ends = INT64_MAX;
	if (state->placeholder.size == 0)
		return sp_error_set(err, SP_UNSUPPORTED, "an empty placeholder");
	for (size_t at = find_placeholder(state, 0); at < state->template.size; places++)
		at = find_placeholder(state, at + state->placeholder.size);
	if (places != prepare->in_count)
		return sp_error_set(err, SP_INVALID, "%zu placeholders for %zu inputs", places,
				    prepare->in_count);
	for (size_t i = 0; i < prepare->in_count; i++)
		if (!is_writable(prepare->in_dtypes[i]))
			return sp_prepare_unsupported(prepare, prepare->in_dtypes[i], err);
	return sp_prepare_outputs(prepare, 1, SP_STRING, err);
}

SP_DEFINE_OP(StringFormat, "output", 0, prepare_format, run_format);
