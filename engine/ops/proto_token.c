#include "engine/ops/proto_token.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/hex.h"

/* ----------------------------------------------------------------- characters */

static bool is_space(char c)
{
	return c == ' ' || (c >= '\t' && c <= '\r');
}

static bool is_letter(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

static bool is_octal(char c)
{
	return c >= '0' && c <= '7';
}

static bool is_hex(char c)
{
	return sp_hex_value(c) >= 0;
}

/* What is read: NUL stands behind the end. */
typedef struct scan {
	const char *data;
	size_t size, at;
} scan;

static char peek(const scan *s)
{
	return s->at < s->size ? s->data[s->at] : '\0';
}

static bool take(scan *s, char c)
{
	if (s->at == s->size || s->data[s->at] != c)
		return false;
	s->at++;
	return true;
}

static size_t take_all(scan *s, bool (*is)(char))
{
	size_t start = s->at;

	while (s->at < s->size && is(s->data[s->at]))
		s->at++;
	return s->at - start;
}

static bool take_some(scan *s, bool (*is)(char), size_t n)
{
	for (; n != 0 && s->at < s->size && is(s->data[s->at]); n--)
		s->at++;
	return n == 0;
}

/* --------------------------------------------------------------------- tokens */

static sp_proto_token_kind scan_decimal(scan *s, bool is_real)
{
	take_all(s, is_digit);
	if (!is_real && take(s, '.')) {
		is_real = true;
		take_all(s, is_digit);
	}
	if (take(s, 'e') || take(s, 'E')) {
		is_real = true;
		if (!take(s, '-'))
			take(s, '+');
		if (take_all(s, is_digit) == 0)
			return SP_PROTO_TOKEN_WRONG;
	}
	if (take(s, 'f') || take(s, 'F'))
		is_real = true;
	return is_real ? SP_PROTO_TOKEN_REAL : SP_PROTO_TOKEN_INTEGER;
}

/* Behind the first digit, or the point and a digit. */
static sp_proto_token_kind scan_number(scan *s, bool is_zero, bool is_real)
{
	sp_proto_token_kind kind = SP_PROTO_TOKEN_INTEGER;

	if (is_zero && (take(s, 'x') || take(s, 'X'))) {
		if (take_all(s, is_hex) == 0)
			return SP_PROTO_TOKEN_WRONG;
	} else if (is_zero && is_digit(peek(s))) {
		take_all(s, is_octal);
	} else {
		kind = scan_decimal(s, is_real);
	}
	return is_letter(peek(s)) || is_digit(peek(s)) || peek(s) == '.' ? SP_PROTO_TOKEN_WRONG
									 : kind;
}

/* Behind a backslash. */
static bool scan_escape(scan *s)
{
	char c = peek(s);

	if (c == '\0')
		return false;
	s->at++;
	switch (c) {
	case 'x':
		return take_some(s, is_hex, 1);
	case 'u':
		return take_some(s, is_hex, 4);
	case 'U':
		return take(s, '0') && take(s, '0') && (take(s, '0') || take(s, '1')) &&
		       take_some(s, is_hex, 5);
	default:
		return is_octal(c) || strchr("abfnrtv\\?'\"", c) != NULL;
	}
}

static sp_proto_token_kind scan_text(scan *s, char quote)
{
	for (;;) {
		char c = peek(s);

		if (c == '\0' || c == '\n')
			return SP_PROTO_TOKEN_WRONG;
		s->at++;
		if (c == quote)
			return SP_PROTO_TOKEN_TEXT;
		if (c == '\\' && !scan_escape(s))
			return SP_PROTO_TOKEN_WRONG;
	}
}

static void scan_space(scan *s)
{
	for (;;) {
		take_all(s, is_space);
		if (!take(s, '#'))
			return;
		while (peek(s) != '\0' && peek(s) != '\n')
			s->at++;
	}
}

static sp_proto_token_kind scan_token(scan *s)
{
	char c = s->data[s->at++];

	if (is_letter(c)) {
		while (is_letter(peek(s)) || is_digit(peek(s)))
			s->at++;
		return SP_PROTO_TOKEN_IDENTIFIER;
	}
	if (is_digit(c))
		return scan_number(s, c == '0', false);
	if (c == '.' && is_digit(peek(s)))
		return scan_number(s, false, true);
	if (c == '"' || c == '\'')
		return scan_text(s, c);
	return c >= ' ' && c <= '~' ? SP_PROTO_TOKEN_SYMBOL : SP_PROTO_TOKEN_WRONG;
}

sp_proto_token sp_proto_token_next(sp_bytes *from)
{
	scan s = {.data = from->data, .size = from->size};
	sp_proto_token token = {SP_PROTO_TOKEN_END, {"", 0}};
	size_t start;

	scan_space(&s);
	start = s.at;
	if (start != s.size) {
		token.kind = scan_token(&s);
		token.text = (sp_bytes){s.data + start, s.at - start};
	}
	*from = (sp_bytes){s.data + s.at, s.size - s.at};
	return token;
}

/* -------------------------------------------------------------------- numbers */

bool sp_proto_token_is_decimal(sp_bytes text)
{
	return text.size == 1 || text.data[0] != '0';
}

bool sp_proto_token_integer(sp_bytes text, uint64_t most, uint64_t *out)
{
	unsigned base = sp_proto_token_is_decimal(text) ? 10
			: (text.data[1] | 0x20) == 'x'  ? 16
							: 8;
	uint64_t value = 0;

	for (size_t i = base == 16 ? 2 : 0; i < text.size; i++) {
		unsigned digit = (unsigned)sp_hex_value(text.data[i]);

		if (__builtin_mul_overflow(value, (uint64_t)base, &value) ||
		    __builtin_add_overflow(value, (uint64_t)digit, &value))
			return false;
	}
	*out = value;
	return value <= most;
}

/* An exponent far beyond every number stays there. */
static long long read_exponent(sp_bytes text)
{
	long long value = 0;
	bool is_negative = false;
	size_t at = 0;

	if (text.size != 0 && (text.data[0] == '-' || text.data[0] == '+'))
		is_negative = text.data[at++] == '-';
	for (; at < text.size && is_digit(text.data[at]); at++)
		if (value < INT64_MAX / 100)
			value = value * 10 + (text.data[at] - '0');
	return is_negative ? -value : value;
}

/* Digits and an exponent, without the point: the C library reads that alike in every locale. */
double sp_proto_token_real(sp_bytes text, char *scratch)
{
	long long exponent = 0;
	size_t n = 0, behind = 0, at = 0;
	bool is_behind = false;

	for (; at < text.size && (is_digit(text.data[at]) || text.data[at] == '.'); at++) {
		if (text.data[at] == '.') {
			is_behind = true;
			continue;
		}
		scratch[n++] = text.data[at];
		behind += is_behind;
	}
	if (at < text.size && (text.data[at] | 0x20) == 'e')
		exponent = read_exponent((sp_bytes){text.data + at + 1, text.size - at - 1});
	snprintf(scratch + n, SP_PROTO_TOKEN_ROOM, "e%lld", exponent - (long long)behind);
	return strtod(scratch, NULL);
}

/* ---------------------------------------------------------------------- texts */

static unsigned read_digits(const char *data, size_t n, unsigned base)
{
	unsigned value = 0;

	for (size_t i = 0; i < n; i++)
		value = value * base + (unsigned)sp_hex_value(data[i]);
	return value;
}

/* How many of the next characters, at most `most`, are of that kind. */
static size_t count_digits(const scan *s, bool (*is)(char), size_t most)
{
	size_t n = 0;

	while (n < most && s->at + n < s->size && is(s->data[s->at + n]))
		n++;
	return n;
}

/* Surrogates are written like other numbers, and what is beyond Unicode as it came. */
static size_t put_code_point(unsigned code, char *to)
{
	size_t n = code < 0x80 ? 1 : code < 0x800 ? 2 : code < 0x10000 ? 3 : 4;
	static const unsigned char first[] = {0, 0, 0xc0, 0xe0, 0xf0};
	char beyond[16];

	if (code > 0x10ffff) {
		snprintf(beyond, sizeof(beyond), "\\U%08x", code);
		memcpy(to, beyond, 10);
		return 10;
	}
	for (size_t i = n; i-- > 1; code >>= 6)
		to[i] = (char)(0x80 | (code & 0x3f));
	to[0] = (char)(first[n] | code);
	return n;
}

/* Behind the 'u' or 'U'; two surrogates that belong together are one character. */
static unsigned read_code_point(scan *s, size_t digits)
{
	unsigned code = read_digits(s->data + s->at, digits, 16), low;

	s->at += digits;
	if (code < 0xd800 || code >= 0xdc00 || s->size - s->at < 6 || s->data[s->at] != '\\' ||
	    s->data[s->at + 1] != 'u')
		return code;
	low = read_digits(s->data + s->at + 2, 4, 16);
	if (low < 0xdc00 || low >= 0xe000)
		return code;
	s->at += 6;
	return 0x10000 + ((code - 0xd800) << 10 | (low - 0xdc00));
}

/* Behind a backslash. */
static size_t put_escape(scan *s, char *to)
{
	static const char names[] = "abfnrtv", codes[] = "\a\b\f\n\r\t\v";
	char c = s->data[s->at];
	const char *name;
	size_t n;

	if (is_octal(c)) {
		n = count_digits(s, is_octal, 3);
		*to = (char)read_digits(s->data + s->at, n, 8);
		s->at += n;
		return 1;
	}
	s->at++;
	if (c == 'x') {
		n = count_digits(s, is_hex, 2);
		*to = (char)read_digits(s->data + s->at, n, 16);
		s->at += n;
		return 1;
	}
	if (c == 'u' || c == 'U')
		return put_code_point(read_code_point(s, c == 'u' ? 4 : 8), to);
	name = strchr(names, c);
	*to = name != NULL ? codes[name - names] : c;
	return 1;
}

size_t sp_proto_token_unquote(sp_bytes text, char *to)
{
	scan s = {.data = text.data, .size = text.size - 1, .at = 1};
	size_t n = 0;

	while (s.at < s.size) {
		char c = s.data[s.at++];

		if (c == '\\')
			n += put_escape(&s, to + n);
		else
			to[n++] = c;
	}
	return n;
}
