#include "engine/graph/op.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

/* An error line that is cut when it is full. */
typedef struct line_buffer {
	char text[SP_ERROR_TEXT_SIZE];
	size_t size;
} line_buffer;

static void add(line_buffer *out, const char *fmt, ...) SP_PRINTF(2, 3);

static void add(line_buffer *out, const char *fmt, ...)
{
	size_t room = sizeof(out->text) - out->size;
	va_list args;
	int n;

	va_start(args, fmt);
	n = vsnprintf(out->text + out->size, room, fmt, args);
	va_end(args);
	if (n > 0)
		out->size += (size_t)n < room ? (size_t)n : room - 1;
}

static bool is_full(const line_buffer *out)
{
	return out->size + 1 >= sizeof(out->text);
}

/* The fewest digits that read back as the same number: 6 or 9, for doubles 15 or 17. */
static void add_float(line_buffer *out, float value)
{
	char text[32];

	snprintf(text, sizeof(text), "%.6g", (double)value);
	if (strtof(text, NULL) != value)
		snprintf(text, sizeof(text), "%.9g", (double)value);
	add(out, "%s", text);
}

static void add_double(line_buffer *out, double value)
{
	char text[32];

	snprintf(text, sizeof(text), "%.15g", value);
	if (strtod(text, NULL) != value)
		snprintf(text, sizeof(text), "%.17g", value);
	add(out, "%s", text);
}

static void add_text(line_buffer *out, sp_bytes text)
{
	for (size_t i = 0; i < text.size && !is_full(out); i++) {
		unsigned char c = (unsigned char)text.data[i];

		if (c == '\n')
			add(out, "\\n");
		else if (c == '\r')
			add(out, "\\r");
		else if (c == '\t')
			add(out, "\\t");
		else if (c == '"' || c == '\'' || c == '\\')
			add(out, "\\%c", c);
		else if (c < 0x20 || c >= 0x7f)
			add(out, "\\%03o", c);
		else
			add(out, "%c", c);
	}
}

static void add_element(line_buffer *out, const sp_tensor *t, size_t i)
{
	switch (t->dtype) {
	case SP_FLOAT:
		add_float(out, ((const float *)t->data)[i]);
		return;
	case SP_DOUBLE:
		add_double(out, ((const double *)t->data)[i]);
		return;
	case SP_HALF:
		add_float(out, sp_half_to_float(((const uint16_t *)t->data)[i]));
		return;
	case SP_BFLOAT16:
		add_float(out, sp_bfloat16_to_float(((const uint16_t *)t->data)[i]));
		return;
	case SP_STRING:
		add_text(out, ((const sp_bytes *)t->data)[i]);
		return;
	case SP_INT8:
		add(out, "%d", ((const int8_t *)t->data)[i]);
		return;
	case SP_INT16:
		add(out, "%d", ((const int16_t *)t->data)[i]);
		return;
	case SP_INT32:
		add(out, "%" PRId32, ((const int32_t *)t->data)[i]);
		return;
	case SP_INT64:
		add(out, "%" PRId64, ((const int64_t *)t->data)[i]);
		return;
	case SP_BOOL:
	case SP_UINT8:
		add(out, "%d", ((const uint8_t *)t->data)[i]);
		return;
	case SP_UINT16:
		add(out, "%d", ((const uint16_t *)t->data)[i]);
		return;
	case SP_UINT32:
		add(out, "%" PRIu32, ((const uint32_t *)t->data)[i]);
		return;
	case SP_UINT64:
		add(out, "%" PRIu64, ((const uint64_t *)t->data)[i]);
		return;
	default:
		add(out, "?");
	}
}

/* Writes dimensions `dim` and following in TensorFlow's summary format: "[1 2][3]...". */
static void add_dim(line_buffer *out, const sp_tensor *t, int dim, size_t limit, size_t *next)
{
	bool last = dim + 1 >= t->shape.rank;
	int64_t n = t->shape.rank == 0 ? 1 : t->shape.dims[dim];

	for (int64_t i = 0; i < n && !is_full(out); i++) {
		if (*next >= limit) {
			if (last && dim != 0)
				add(out, "...");
			return;
		}
		if (last) {
			add(out, i > 0 ? " " : "");
			add_element(out, t, (*next)++);
			continue;
		}
		add(out, "[");
		add_dim(out, t, dim + 1, limit, next);
		add(out, "]");
	}
}

static void add_summary(line_buffer *out, const sp_tensor *t, int64_t summarize)
{
	size_t limit = summarize < 0 || (uint64_t)summarize > t->count ? t->count
								       : (size_t)summarize;
	size_t next = 0;

	if (t->count != 0)
		add_dim(out, t, 0, limit, &next);
	if (t->count > limit)
		add(out, "...");
}

typedef struct assert_state {
	int64_t summarize;
} assert_state;

static sp_status prepare_assert(sp_prepare *prepare, sp_error *err)
{
	assert_state *state = sp_prepare_state(prepare, sizeof(*state));

	SP_NEED_MEMORY(state, err, "an assertion");
	SP_TRY(sp_prepare_types(prepare, "bool any* ->", err));
	return sp_node_attr_int(prepare->node, "summarize", 3, &state->summarize, err);
}

static sp_status run_assert(const sp_call *call)
{
	const assert_state *state = call->state;
	line_buffer out = {.size = 0};

	if (!sp_tensor_is_scalar(call->in[0])) {
		char text[SP_SHAPE_TEXT_SIZE];

		return sp_call_invalid(call, "In[0] should be a scalar: %s",
				       sp_shape_text(&call->in[0]->shape, text));
	}
	if (*sp_tensor_bool(call->in[0]))
		return SP_OK;
	for (size_t i = 1; i < call->in_count; i++) {
		add(&out, i > 1 ? " [" : "[");
		add_summary(&out, call->in[i], state->summarize);
		add(&out, "]");
	}
	return sp_call_invalid(call, "assertion failed: %s", out.text);
}

SP_DEFINE_OP(Assert, NULL, SP_OP_STATEFUL, prepare_assert, run_assert);
