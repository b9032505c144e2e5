#include "engine/ops/string/text.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/*
 * The output matches TensorFlow's, which uses printf: the attributes make a format, "%" fill width
 * "." precision and a letter.  Complex numbers are "(re,im)" with each part in that format; bools
 * ignore all attributes.
 */

enum { MAX_WIDTH = 4096, MAX_PRECISION = 1024 };

typedef struct state {
	char format[48];
	bool plain; /* no width: integers and strings need no printf */
} state;

static sp_status check_attributes(const sp_prepare *prepare, bool scientific, bool shortest,
				  int64_t width, int64_t precision, sp_bytes fill, sp_error *err)
{
	sp_dtype dtype = prepare->in_dtypes[0];
	bool real = sp_dtype_is_floating(dtype) || dtype == SP_COMPLEX64 ||
		    dtype == SP_COMPLEX128 || dtype == SP_STRING;

	if (!real && (scientific || shortest))
		return sp_error_set(err, SP_INVALID, "%s has no scientific or shortest notation",
				    sp_dtype_name(dtype));
	if (!real && precision >= 0)
		return sp_error_set(err, SP_INVALID, "%s has no precision", sp_dtype_name(dtype));
	if (scientific && shortest)
		return sp_error_set(err, SP_INVALID, "scientific and shortest are both set");
	if (fill.size > 1 || (fill.size == 1 && memchr(" +-0#", fill.data[0], 5) == NULL))
		return sp_error_set(err, SP_INVALID, "fill %.*s is not supported", (int)fill.size,
				    fill.data);
	if (width > MAX_WIDTH || precision > MAX_PRECISION)
		return sp_error_set(err, SP_UNSUPPORTED,
				    "width %lld or precision %lld is too large", (long long)width,
				    (long long)precision);
	return SP_OK;
}

static const char *conversion_of(sp_dtype dtype, bool scientific, bool shortest)
{
	switch (dtype) {
	case SP_INT8:
	case SP_INT16:
	case SP_INT32:
	case SP_INT64:
		return PRId64;
	case SP_UINT8:
	case SP_UINT16:
	case SP_UINT32:
	case SP_UINT64:
		return PRIu64;
	case SP_HALF:
	case SP_BFLOAT16:
	case SP_FLOAT:
	case SP_DOUBLE:
	case SP_COMPLEX64:
	case SP_COMPLEX128:
		return shortest ? "g" : scientific ? "e" : "f";
	case SP_STRING:
		return "s";
	case SP_BOOL:
		return "";
	default:
		return NULL;
	}
}

static sp_status prepare_as_string(sp_prepare *prepare, sp_error *err)
{
	state *s = sp_prepare_state(prepare, sizeof(*s));
	bool scientific, shortest;
	int64_t width, precision;
	const char *conversion;
	sp_bytes fill;
	int n;

	SP_NEED_MEMORY(s, err, "AsString");
	SP_TRY(sp_prepare_types(prepare, "T -> string", err));
	SP_TRY(sp_node_attr_bool(prepare->node, "scientific", false, &scientific, err));
	SP_TRY(sp_node_attr_bool(prepare->node, "shortest", false, &shortest, err));
	SP_TRY(sp_node_attr_int(prepare->node, "width", -1, &width, err));
	SP_TRY(sp_node_attr_int(prepare->node, "precision", -1, &precision, err));
	SP_TRY(sp_node_attr_bytes(prepare->node, "fill", "", &fill, err));
	conversion = conversion_of(prepare->in_dtypes[0], scientific, shortest);
	if (conversion == NULL)
		return sp_prepare_unsupported(prepare, prepare->in_dtypes[0], err);
	SP_TRY(check_attributes(prepare, scientific, shortest, width, precision, fill, err));

	s->plain = width < 0;
	n = snprintf(s->format, sizeof(s->format), "%%");
	if (width >= 0)
		n += snprintf(s->format + n, sizeof(s->format) - (size_t)n, "%.*s%d",
			      (int)fill.size, fill.data, (int)width);
	if (precision >= 0 && prepare->in_dtypes[0] != SP_STRING)
		n += snprintf(s->format + n, sizeof(s->format) - (size_t)n, ".%d", (int)precision);
	snprintf(s->format + n, sizeof(s->format) - (size_t)n, "%s", conversion);
	return SP_OK;
}

/* The argument of printf; the format's letter selects the member. */
typedef union value {
	int64_t i;
	uint64_t u;
	double f;
	const char *text;
} value;

typedef enum kind { SIGNED, UNSIGNED, REAL, TEXT } kind;

static int print(char *out, size_t size, const char *format, kind what, value v)
{
	switch (what) {
	case SIGNED:
		return snprintf(out, size, format, v.i);
	case UNSIGNED:
		return snprintf(out, size, format, v.u);
	case REAL:
		return snprintf(out, size, format, v.f);
	default:
		return snprintf(out, size, format, v.text);
	}
}

/* The locale's decimal point is the only byte that is not a letter, digit, sign or padding. */
static size_t set_decimal_point(char *text, size_t size)
{
	size_t kept = 0;
	bool seen = false;

	for (size_t i = 0; i < size; i++) {
		char c = text[i];
		bool known = (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || c == '+' ||
			     c == '-' || c == ' ';

		if (known)
			text[kept++] = c;
		else if (!seen)
			text[kept++] = '.';
		seen = seen || !known;
	}
	return kept;
}

static sp_status print_into(sp_text_pool *pool, kind what, value v, sp_bytes *out)
{
	const state *s = pool->call->state;
	char buffer[512], *text;
	int size = print(buffer, sizeof(buffer), s->format, what, v);

	if (size < 0)
		return sp_error_set(pool->call->err, SP_INTERNAL, "format %s failed", s->format);
	text = sp_text_pool_take(pool, (size_t)size + 1);
	if (text == NULL)
		return sp_call_no_memory(pool->call);
	if ((size_t)size < sizeof(buffer))
		memcpy(text, buffer, (size_t)size);
	else
		print(text, (size_t)size + 1, s->format, what, v);
	*out = (sp_bytes){text,
			  what == REAL ? set_decimal_point(text, (size_t)size) : (size_t)size};
	return SP_OK;
}

/* Prints an integer in decimal without printf: the common case before hashing. */
static sp_status print_digits(sp_text_pool *pool, uint64_t magnitude, bool negative, sp_bytes *out)
{
	char buffer[24], *text;
	size_t at = sizeof(buffer);

	do
		buffer[--at] = (char)('0' + magnitude % 10);
	while ((magnitude /= 10) != 0);
	if (negative)
		buffer[--at] = '-';
	text = sp_text_pool_take(pool, sizeof(buffer) - at);
	if (text == NULL)
		return sp_call_no_memory(pool->call);
	memcpy(text, buffer + at, sizeof(buffer) - at);
	*out = (sp_bytes){text, sizeof(buffer) - at};
	return SP_OK;
}

static sp_status print_signed(sp_text_pool *pool, int64_t i, sp_bytes *out)
{
	const state *s = pool->call->state;

	if (s->plain)
		return print_digits(pool, i < 0 ? 0 - (uint64_t)i : (uint64_t)i, i < 0, out);
	return print_into(pool, SIGNED, (value){.i = i}, out);
}

static sp_status print_unsigned(sp_text_pool *pool, uint64_t u, sp_bytes *out)
{
	const state *s = pool->call->state;

	if (s->plain)
		return print_digits(pool, u, false, out);
	return print_into(pool, UNSIGNED, (value){.u = u}, out);
}

static sp_status print_real(sp_text_pool *pool, double f, sp_bytes *out)
{
	return print_into(pool, REAL, (value){.f = f}, out);
}

static sp_status print_complex(sp_text_pool *pool, double re, double im, sp_bytes *out)
{
	sp_bytes a, b;
	char *text;

	SP_TRY(print_real(pool, re, &a));
	SP_TRY(print_real(pool, im, &b));
	text = sp_text_pool_take(pool, a.size + b.size + 3);
	if (text == NULL)
		return sp_call_no_memory(pool->call);
	*out = (sp_bytes){text, a.size + b.size + 3};
	*text++ = '(';
	text = mempcpy(text, a.data, a.size);
	*text++ = ',';
	text = mempcpy(text, b.data, b.size);
	*text = ')';
	return SP_OK;
}

/* With a width the string ends at its first NUL, as in printf's %s. */
static sp_status print_text(sp_text_pool *pool, sp_bytes in, sp_bytes *out)
{
	const state *s = pool->call->state;
	char *terminated;

	if (s->plain) {
		*out = in;
		return SP_OK;
	}
	if (in.size > INT32_MAX - MAX_WIDTH)
		return sp_call_no_memory(pool->call);
	terminated = sp_text_pool_take(pool, in.size + 1);
	if (terminated == NULL)
		return sp_call_no_memory(pool->call);
	if (in.size > 0)
		memcpy(terminated, in.data, in.size);
	terminated[in.size] = '\0';
	return print_into(pool, TEXT, (value){.text = terminated}, out);
}

/* Prints element `i` of `data`. */
static sp_status print_element(sp_text_pool *pool, sp_dtype dtype, const void *data, size_t i,
			       sp_bytes *out)
{
	switch (dtype) {
	case SP_INT8:
		return print_signed(pool, ((const int8_t *)data)[i], out);
	case SP_INT16:
		return print_signed(pool, ((const int16_t *)data)[i], out);
	case SP_INT32:
		return print_signed(pool, ((const int32_t *)data)[i], out);
	case SP_INT64:
		return print_signed(pool, ((const int64_t *)data)[i], out);
	case SP_UINT8:
		return print_unsigned(pool, ((const uint8_t *)data)[i], out);
	case SP_UINT16:
		return print_unsigned(pool, ((const uint16_t *)data)[i], out);
	case SP_UINT32:
		return print_unsigned(pool, ((const uint32_t *)data)[i], out);
	case SP_UINT64:
		return print_unsigned(pool, ((const uint64_t *)data)[i], out);
	case SP_HALF:
		return print_real(pool, sp_half_to_float(((const uint16_t *)data)[i]), out);
	case SP_BFLOAT16:
		return print_real(pool, sp_bfloat16_to_float(((const uint16_t *)data)[i]), out);
	case SP_FLOAT:
		return print_real(pool, ((const float *)data)[i], out);
	case SP_DOUBLE:
		return print_real(pool, ((const double *)data)[i], out);
	case SP_COMPLEX64:
		return print_complex(pool, ((const float *)data)[2 * i],
				     ((const float *)data)[2 * i + 1], out);
	case SP_COMPLEX128:
		return print_complex(pool, ((const double *)data)[2 * i],
				     ((const double *)data)[2 * i + 1], out);
	case SP_BOOL:
		*out = sp_bytes_of(((const bool *)data)[i] ? "true" : "false");
		return SP_OK;
	default:
		return print_text(pool, ((const sp_bytes *)data)[i], out);
	}
}

static sp_status run_as_string(const sp_call *call)
{
	const sp_tensor *in = call->in[0];
	sp_text_pool pool = {.call = call};

	SP_TRY(sp_call_output(call, 0, SP_STRING, &in->shape));
	for (size_t i = 0; i < in->count; i++)
		SP_TRY(print_element(&pool, in->dtype, in->data, i,
				     &sp_tensor_strings(call->out[0])[i]));
	return SP_OK;
}

SP_DEFINE_OP(AsString, "output", 0, prepare_as_string, run_as_string);
