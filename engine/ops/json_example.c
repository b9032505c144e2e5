#include "engine/ops/json_example.h"

#include <math.h>
#include <string.h>

#include "base/hash.h"
#include "base/hex.h"
#include "engine/kernels/protobuf_reader.h"
#include "engine/kernels/protobuf_writer.h"
#include "engine/ops/number.h"
#include "engine/ops/unicode.h"

/* Tags of fields 1 to 3, with a length behind them, and of the elements of lists. */
enum {
	FIELD_1 = 1 << 3 | SP_PROTOBUF_DELIMITED,
	FIELD_2 = 2 << 3 | SP_PROTOBUF_DELIMITED,
	FIELD_3 = 3 << 3 | SP_PROTOBUF_DELIMITED,
	ONE_FLOAT = 1 << 3 | SP_PROTOBUF_FIXED32,
	ONE_INTEGER = 1 << 3 | SP_PROTOBUF_VARINT,
};

typedef enum list_kind { BYTES, FLOATS, INTEGERS } list_kind;

typedef struct parser {
	sp_bytes rest;
	char *out;
	size_t at; /* where the next byte goes */
	const char *why;
	sp_json_key *keys;
	size_t key_mask;
	uint32_t map;
} parser;

static bool fail(parser *p, const char *why)
{
	p->why = why;
	return false;
}

/* --------------------------------------------------------------------- tokens */

static bool is_space(char c)
{
	return c == ' ' || (c >= '\t' && c <= '\r');
}

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

static bool is_name(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || c == '$';
}

/* The first byte behind white space; a NUL, which no token begins with, at the end. */
static char peek(parser *p)
{
	while (p->rest.size > 0 && is_space(p->rest.data[0]))
		p->rest = sp_protobuf_skip(p->rest, 1);
	return p->rest.size > 0 ? p->rest.data[0] : '\0';
}

static bool take(parser *p, char c)
{
	if (peek(p) != c || p->rest.size == 0)
		return false;
	p->rest = sp_protobuf_skip(p->rest, 1);
	return true;
}

static bool take_null(parser *p)
{
	if (peek(p) != 'n' || !sp_bytes_starts_with(p->rest, "null"))
		return false;
	p->rest = sp_protobuf_skip(p->rest, 4);
	return true;
}

static bool take_hex(parser *p, int32_t *out)
{
	*out = 0;
	if (p->rest.size < 4)
		return fail(p, "an escape is cut off");
	for (size_t i = 0; i < 4; i++) {
		int digit = sp_hex_value(p->rest.data[i]);

		if (digit < 0)
			return fail(p, "an escape is no hexadecimal number");
		*out = *out << 4 | digit;
	}
	p->rest = sp_protobuf_skip(p->rest, 4);
	return true;
}

/* Behind "\u": one character, of two escapes where it takes a pair of surrogates. */
static bool take_unicode(parser *p, char *to, size_t *size)
{
	int32_t character, low;

	if (!take_hex(p, &character))
		return false;
	if (character >= 0xdc00 && character <= 0xdfff)
		return fail(p, "a low surrogate stands alone");
	if (character >= 0xd800 && character <= 0xdbff) {
		if (!sp_bytes_starts_with(p->rest, "\\u"))
			return fail(p, "a low surrogate is missing");
		p->rest = sp_protobuf_skip(p->rest, 2);
		if (!take_hex(p, &low))
			return false;
		if (low < 0xdc00 || low > 0xdfff)
			return fail(p, "a low surrogate is none");
		character = 0x10000 + ((character - 0xd800) << 10 | (low - 0xdc00));
	}
	*size += sp_unicode__put(SP_ENCODING_UTF8, character, to + *size);
	return true;
}

/* Behind a backslash.  What stands for nothing else stands for itself. */
static bool take_escape(parser *p, char *to, size_t *size)
{
	static const char names[] = "bfnrtv", codes[] = "\b\f\n\r\t\v";
	const char *name;
	char c;

	if (p->rest.size == 0)
		return fail(p, "a text does not end");
	c = p->rest.data[0];
	p->rest = sp_protobuf_skip(p->rest, 1);
	if (c == 'u')
		return take_unicode(p, to, size);
	name = c != '\0' ? strchr(names, c) : NULL;
	to[(*size)++] = name != NULL ? codes[name - names] : c;
	return true;
}

/* A text, unescaped to where the next byte goes; it is not kept there. */
static bool take_text(parser *p, sp_bytes *out)
{
	char quote = p->rest.data[0], *to = p->out + p->at;
	size_t size = 0;

	p->rest = sp_protobuf_skip(p->rest, 1);
	for (;;) {
		char c;

		if (p->rest.size == 0)
			return fail(p, "a text does not end");
		c = p->rest.data[0];
		p->rest = sp_protobuf_skip(p->rest, 1);
		if (c == quote)
			break;
		if (c != '\\')
			to[size++] = c;
		else if (!take_escape(p, to, &size))
			return false;
	}
	*out = (sp_bytes){to, size};
	return true;
}

/* A name without quotes, moved to where a text would be. */
static bool take_bare_name(parser *p, sp_bytes *out)
{
	static const char *const words[] = {"true", "false", "null"};
	size_t n = 0;

	while (n < p->rest.size && (is_name(p->rest.data[n]) || is_digit(p->rest.data[n])))
		n++;
	*out = (sp_bytes){p->out + p->at, n};
	memcpy(p->out + p->at, p->rest.data, n);
	p->rest = sp_protobuf_skip(p->rest, n);
	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
		if (sp_bytes_equal_text(*out, words[i]))
			return fail(p, "a word stands for a name");
	return true;
}

/*
 * The next member's name, up to its colon, or *more false behind the last.  `first` is
 * for this function alone.
 */
static bool take_member(parser *p, bool *first, sp_bytes *name, bool *more)
{
	char c;

	if (!*first && !take(p, ',') && peek(p) != '}')
		return fail(p, "a comma is missing between members");
	*first = false;
	*more = !take(p, '}');
	if (!*more)
		return true;
	c = peek(p);
	if (c == '"' || c == '\'') {
		if (!take_text(p, name))
			return false;
	} else if (is_name(c)) {
		if (!take_bare_name(p, name))
			return false;
	} else {
		return fail(p, "a member has no name");
	}
	return take(p, ':') || fail(p, "a colon is missing behind a name");
}

/* -------------------------------------------------------------------- messages */

/* Room for the longest length is left, and closed when it is known. */
static size_t open_field(parser *p, char tag)
{
	p->out[p->at] = tag;
	p->at += 1 + SP_PROTOBUF_MAX_VARINT;
	return p->at;
}

static void close_field(parser *p, size_t start)
{
	size_t size = p->at - start;
	char *length = p->out + start - SP_PROTOBUF_MAX_VARINT;
	char *to = sp_protobuf_put_varint(length, size);

	memmove(to, p->out + start, size);
	p->at = (size_t)(to - p->out) + size;
}

/* A text that lies where the next byte goes becomes a field there. */
static void put_text(parser *p, char tag, size_t size)
{
	size_t head = 1 + sp_protobuf_varint_size(size);
	char *to = p->out + p->at;

	memmove(to + head, to, size);
	*to = tag;
	sp_protobuf_put_varint(to + 1, size);
	p->at += head + size;
}

/* ---------------------------------------------------------------------- values */

static bool put_float(parser *p, double value)
{
	float narrow = (float)value;

	if (isinf(narrow) && !isinf(value))
		return fail(p, "a number is too large for a float");
	p->out[p->at] = ONE_FLOAT;
	memcpy(p->out + p->at + 1, &narrow, sizeof(narrow));
	p->at += 1 + sizeof(narrow);
	return true;
}

static bool put_integer(parser *p, int64_t value)
{
	p->out[p->at] = ONE_INTEGER;
	p->at = (size_t)(sp_protobuf_put_varint(p->out + p->at + 1, (uint64_t)value) - p->out);
	return true;
}

static bool has_digit(sp_bytes text)
{
	for (size_t i = 0; i < text.size; i++)
		if (is_digit(text.data[i]))
			return true;
	return false;
}

static bool float_of_text(parser *p, sp_bytes text)
{
	double value;

	if (sp_bytes_equal_text(text, "NaN"))
		return put_float(p, NAN);
	if (sp_bytes_equal_text(text, "Infinity"))
		return put_float(p, INFINITY);
	if (sp_bytes_equal_text(text, "-Infinity"))
		return put_float(p, -INFINITY);
	if (!has_digit(text) || text.data[0] == ' ' || text.data[text.size - 1] == ' ' ||
	    !sp_number_read_f64(text, &value) || isinf(value))
		return fail(p, "a text is no number");
	return put_float(p, value);
}

static bool integer_of_text(parser *p, sp_bytes text)
{
	int64_t value;

	if (text.size > 1 && text.data[0] == '+' && is_digit(text.data[1]))
		text = sp_protobuf_skip(text, 1);
	if (text.size == 0 || is_space(text.data[0]) || is_space(text.data[text.size - 1]) ||
	    !sp_number_read_i64(text, &value))
		return fail(p, "a text is no integer");
	return put_integer(p, value);
}

/* Either alphabet, with its padding or without; the bits that are left over are 0. */
static int base64_digit(char c, bool web)
{
	if (c >= 'A' && c <= 'Z')
		return c - 'A';
	if (c >= 'a' && c <= 'z')
		return c - 'a' + 26;
	if (is_digit(c))
		return c - '0' + 52;
	if (c == (web ? '-' : '+'))
		return 62;
	return c == (web ? '_' : '/') ? 63 : -1;
}

static bool decode_base64(sp_bytes text, bool web, char *to, size_t *size)
{
	uint32_t bits = 0;
	size_t n = text.size, digits, have = 0;

	while (n > 0 && text.size - n < 2 && text.data[n - 1] == '=')
		n--;
	if ((n != text.size && text.size % 4 != 0) || n % 4 == 1)
		return false;
	*size = 0;
	for (digits = 0; digits < n; digits++) {
		int digit = base64_digit(text.data[digits], web);

		if (digit < 0)
			return false;
		bits = bits << 6 | (uint32_t)digit;
		have += 6;
		if (have >= 8) {
			have -= 8;
			to[(*size)++] = (char)(bits >> have);
		}
	}
	return (bits & ((1u << have) - 1)) == 0;
}

static bool bytes_of_text(parser *p, sp_bytes text)
{
	/* '-' and '_' are of one alphabet only: what is decoded goes over what was read. */
	bool web = text.size != 0 && (memchr(text.data, '-', text.size) != NULL ||
				      memchr(text.data, '_', text.size) != NULL);
	size_t size;

	if (!decode_base64(text, web, p->out + p->at, &size))
		return fail(p, "a text is not in base64");
	put_text(p, FIELD_1, size);
	return true;
}

/* What looks like a number; the digits are looked at later. */
static sp_bytes take_number(parser *p)
{
	size_t n = 1;
	sp_bytes text;

	while (n < p->rest.size &&
	       (is_digit(p->rest.data[n]) || memchr(".eE+-", p->rest.data[n], 5) != NULL))
		n++;
	text = (sp_bytes){p->rest.data, n};
	p->rest = sp_protobuf_skip(p->rest, n);
	return text;
}

static bool is_octal(const parser *p)
{
	size_t sign = p->rest.data[0] == '-';
	sp_bytes digits = sp_protobuf_skip(p->rest, sign);

	return digits.size >= 2 && digits.data[0] == '0' &&
	       (is_digit(digits.data[1]) || (digits.data[1] | 0x20) == 'x');
}

static bool read_u64(sp_bytes text, uint64_t *out)
{
	*out = 0;
	for (size_t i = 0; i < text.size; i++)
		if (!is_digit(text.data[i]) || __builtin_mul_overflow(*out, 10, out) ||
		    __builtin_add_overflow(*out, (uint64_t)(text.data[i] - '0'), out))
			return false;
	return true;
}

static bool put_real(parser *p, list_kind kind, double value)
{
	if (kind == FLOATS)
		return put_float(p, value);
	if (value != trunc(value) || !(value >= -0x1p63 && value < 0x1p63))
		return fail(p, "a number is no 64-bit integer");
	return put_integer(p, (int64_t)value);
}

static bool number_value(parser *p, list_kind kind)
{
	bool octal = is_octal(p);
	sp_bytes text = take_number(p);
	uint64_t natural;
	int64_t integer;
	double real;

	if (kind == BYTES)
		return fail(p, "a number stands where bytes belong");
	if (octal)
		return fail(p, "octal and hexadecimal numbers are not valid");
	if (sp_number_read_i64(text, &integer))
		return kind == FLOATS ? put_float(p, (float)integer) : put_integer(p, integer);
	if (read_u64(text, &natural))
		return kind == FLOATS ? put_float(p, (float)natural)
				      : fail(p, "a number is no 64-bit integer");
	if (!sp_number_read_f64(text, &real) || isinf(real))
		return fail(p, "a number cannot be read");
	return put_real(p, kind, real);
}

static bool scalar_value(parser *p, list_kind kind)
{
	char c = peek(p);
	sp_bytes text;

	if (c == '-' || is_digit(c))
		return number_value(p, kind);
	if (c != '"' && c != '\'')
		return take_null(p) || fail(p, "a value is missing");
	if (!take_text(p, &text))
		return false;
	switch (kind) {
	case BYTES:
		return bytes_of_text(p, text);
	case FLOATS:
		return float_of_text(p, text);
	default:
		return integer_of_text(p, text);
	}
}

/* A list of values, or one; lists in it are flattened, however deep they lie. */
static bool list_values(parser *p, list_kind kind)
{
	size_t depth = 0;

	do {
		if (take(p, '[')) {
			depth++;
			if (peek(p) != ']')
				continue;
		} else if (!scalar_value(p, kind)) {
			return false;
		}
		while (depth > 0) {
			if (take(p, ',') && peek(p) != ']')
				break;
			if (!take(p, ']'))
				return fail(p, "a comma or a bracket is missing in a list");
			depth--;
		}
	} while (depth > 0);
	return true;
}

/* -------------------------------------------------------------------- the types */

static bool unknown_field(parser *p)
{
	return fail(p, "a member is not known");
}

static bool read_list(parser *p, list_kind kind)
{
	bool first = true, more;
	sp_bytes name;

	for (;;) {
		if (!take_member(p, &first, &name, &more))
			return false;
		if (!more)
			return true;
		if (!sp_bytes_equal_text(name, "value"))
			return unknown_field(p);
		if (!list_values(p, kind))
			return false;
	}
}

/* A message: null, of which nothing is written, or what stands between braces. */
static bool begin(parser *p, bool *is_null)
{
	*is_null = take_null(p);
	return *is_null || take(p, '{') || fail(p, "an object is missing");
}

static bool kind_of(sp_bytes name, list_kind *out)
{
	static const char *const names[][2] = {{"bytesList", "bytes_list"},
					       {"floatList", "float_list"},
					       {"int64List", "int64_list"}};

	for (size_t i = 0; i < 3; i++)
		if (sp_bytes_equal_text(name, names[i][0]) ||
		    sp_bytes_equal_text(name, names[i][1])) {
			*out = (list_kind)i;
			return true;
		}
	return false;
}

static bool read_feature(parser *p)
{
	static const char tags[] = {FIELD_1, FIELD_2, FIELD_3};
	bool first = true, more, is_null, is_set = false;
	list_kind kind;
	sp_bytes name;
	size_t start;

	for (;;) {
		if (!take_member(p, &first, &name, &more))
			return false;
		if (!more)
			return true;
		if (!kind_of(name, &kind))
			return unknown_field(p);
		if (!begin(p, &is_null))
			return false;
		if (is_null)
			continue;
		if (is_set)
			return fail(p, "a feature has two lists");
		is_set = true;
		start = open_field(p, tags[kind]);
		if (!read_list(p, kind))
			return false;
		close_field(p, start);
	}
}

/* The name of a finished entry. */
static sp_bytes entry_name(const parser *p, uint32_t entry)
{
	sp_bytes rest = {p->out + entry + 1, p->at - entry - 1}, body = {"", 0}, name = {"", 0};

	if (sp_protobuf_delimited(&rest, &body)) {
		body = sp_protobuf_skip(body, 1);
		(void)sp_protobuf_delimited(&body, &name);
	}
	return name;
}

/* The key of that name in this map, or the one that is free for it. */
static sp_json_key *find_key(const parser *p, sp_bytes name)
{
	size_t i = sp_siphash13(sp_hash_process_key(), name.data, name.size) & p->key_mask;

	while (p->keys[i].map == p->map && !sp_bytes_equal(entry_name(p, p->keys[i].entry), name))
		i = (i + 1) & p->key_mask;
	return &p->keys[i];
}

static bool read_entry(parser *p, sp_bytes name)
{
	sp_json_key *key = find_key(p, name);
	size_t entry = p->at, start, value;
	bool is_null;

	if (key->map == p->map)
		return fail(p, "a feature is there twice");
	memmove(p->out + entry + 1 + SP_PROTOBUF_MAX_VARINT, name.data, name.size);
	start = open_field(p, FIELD_1);
	put_text(p, FIELD_1, name.size);
	if (!begin(p, &is_null))
		return false;
	if (!is_null) {
		value = open_field(p, FIELD_2);
		if (!read_feature(p))
			return false;
		close_field(p, value);
	}
	close_field(p, start);
	*key = (sp_json_key){.map = p->map, .entry = (uint32_t)entry};
	return true;
}

static bool read_map(parser *p)
{
	bool first = true, more;
	sp_bytes name;

	for (p->map++;;) {
		if (!take_member(p, &first, &name, &more))
			return false;
		if (!more)
			return true;
		if (!read_entry(p, name))
			return false;
	}
}

static bool read_features(parser *p)
{
	bool first = true, more, is_null;
	sp_bytes name;

	for (;;) {
		if (!take_member(p, &first, &name, &more))
			return false;
		if (!more)
			return true;
		if (!sp_bytes_equal_text(name, "feature"))
			return unknown_field(p);
		if (!begin(p, &is_null))
			return false;
		if (!is_null && !read_map(p))
			return false;
	}
}

static bool read_example(parser *p)
{
	bool first = true, more, is_null;
	sp_bytes name;
	size_t start;

	if (!take(p, '{'))
		return fail(p, "the text is no object");
	for (;;) {
		if (!take_member(p, &first, &name, &more))
			return false;
		if (!more)
			return true;
		if (!sp_bytes_equal_text(name, "features"))
			return unknown_field(p);
		if (!begin(p, &is_null))
			return false;
		if (is_null)
			continue;
		start = open_field(p, FIELD_1);
		if (!read_features(p))
			return false;
		close_field(p, start);
	}
}

static bool is_utf8(sp_bytes text)
{
	sp_unicode_reader reader;
	bool is_error = false;
	int32_t character;

	sp_unicode__open(&reader, SP_ENCODING_UTF8, text);
	while (!is_error && sp_unicode__next(&reader, &character, &is_error)) {
	}
	return !is_error;
}

/* A feature takes five bytes at least, as in "a:{},": twice as many keys leave half free. */
size_t sp_json_example_keys(size_t json_size)
{
	size_t least = 2 * (json_size / 5 + 1), n = 1;

	while (n < least)
		n *= 2;
	return n;
}

const char *sp_json_example_read(sp_bytes json, char *out, size_t *size, sp_json_key *keys)
{
	parser p = {.rest = json,
		    .out = out,
		    .keys = keys,
		    .key_mask = sp_json_example_keys(json.size) - 1};

	if (json.size > SP_JSON_EXAMPLE_MAX)
		return "the text is too long";
	if (!is_utf8(json))
		return "the text is not in UTF-8";
	if (!read_example(&p))
		return p.why;
	peek(&p);
	if (p.rest.size != 0)
		return "something stands behind the object";
	*size = p.at;
	return NULL;
}
