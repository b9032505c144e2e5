#include "model_loader/proto/text_format.h"

#include <stdint.h>
#include <string.h>

#include "base/utf8.h"
#include "engine/ops/string/number.h"
#include "engine/tensor/dtype.h"
#include "model_loader/proto/unpack.h"
#include "model_loader/proto/object_graph.pb-c.h"
#include "model_loader/proto/saved_model.pb-c.h"

/*
 * Recursive descent; its depth is bounded by the schemas, which are not recursive.  In skipped
 * values braces are counted instead.  The length before a nested message is always written as a
 * varint of five bytes, because it is known only afterwards.
 */
enum { MAX_DEPTH = 100, LENGTH_ROOM = 5 };
enum { WIRE_VARINT = 0, WIRE_64 = 1, WIRE_BYTES = 2, WIRE_32 = 5 };

#define ASSET_TYPE   "/tensorflow.AssetFileDef"
#define OBJECT_GRAPH "object_graph_def"

typedef enum token_kind { TOKEN_END, TOKEN_WORD, TOKEN_TEXT, TOKEN_MARK } token_kind;

typedef struct parser {
	const char *at;
	const char *end;
	size_t line;
	token_kind kind; /* of the next token */
	sp_bytes token;  /* a string includes its quotes */
	sp_buffer *out;
	sp_error *err;
} parser;

static sp_status wrong(const parser *p, const char *what)
{
	int size = (int)(p->token.size < 40 ? p->token.size : 40);

	return sp_error_set(p->err, SP_CORRUPT, "line %zu: %s at '%.*s'", p->line, what, size,
			    size != 0 ? p->token.data : "");
}

/* --------------------------------------------------------------------- tokens */

static bool is_word(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
	       c == '_' || c == '.' || c == '+';
}

static void skip_space(parser *p)
{
	for (; p->at < p->end; p->at++) {
		if (*p->at == '#')
			while (p->at + 1 < p->end && p->at[1] != '\n')
				p->at++;
		else if (*p->at == '\n')
			p->line++;
		else if (strchr(" \t\r\v\f", *p->at) == NULL || *p->at == '\0')
			return;
	}
}

/* Whether a '-' continues a number: after the letter of the exponent. */
static bool is_exponent_sign(const parser *p)
{
	char before = p->at[-1];

	return *p->at == '-' && (before == 'e' || before == 'E') && p->token.data[0] >= '0' &&
	       p->token.data[0] <= '9';
}

static sp_status take_text(parser *p)
{
	char quote = *p->at++;

	while (p->at < p->end && *p->at != quote && *p->at != '\n')
		p->at += *p->at == '\\' && p->at + 1 < p->end ? 2 : 1;
	if (p->at >= p->end || *p->at != quote)
		return sp_error_set(p->err, SP_CORRUPT, "line %zu: a text has no end", p->line);
	p->at++;
	p->kind = TOKEN_TEXT;
	return SP_OK;
}

/* Reads the next token. */
static sp_status next(parser *p)
{
	skip_space(p);
	p->token = (sp_bytes){p->at, 0};
	if (p->at == p->end) {
		p->kind = TOKEN_END;
		return SP_OK;
	}
	if (*p->at == '"' || *p->at == '\'') {
		SP_TRY(take_text(p));
	} else if (is_word(*p->at)) {
		p->kind = TOKEN_WORD;
		while (p->at < p->end && (is_word(*p->at) || is_exponent_sign(p)))
			p->at++;
	} else {
		p->kind = TOKEN_MARK;
		p->at++;
	}
	p->token.size = (size_t)(p->at - p->token.data);
	return SP_OK;
}

static bool is_mark(const parser *p, char mark)
{
	return p->kind == TOKEN_MARK && p->token.data[0] == mark;
}

static bool is_opening(const parser *p)
{
	return is_mark(p, '{') || is_mark(p, '<');
}

/* --------------------------------------------------------------------- writing */

static void put_varint(parser *p, uint64_t value)
{
	for (; value >= 0x80; value >>= 7)
		sp_buffer_append_char(p->out, (char)(value | 0x80));
	sp_buffer_append_char(p->out, (char)value);
}

static void put_tag(parser *p, uint32_t number, uint32_t wire_type)
{
	put_varint(p, number << 3 | wire_type);
}

static size_t begin_bytes(parser *p, uint32_t number)
{
	put_tag(p, number, WIRE_BYTES);
	sp_buffer_append(p->out, "\x80\x80\x80\x80", LENGTH_ROOM);
	return p->out->size;
}

static void end_bytes(parser *p, size_t start)
{
	size_t length = p->out->size - start;

	if (p->out->failed)
		return;
	for (int i = 0; i < LENGTH_ROOM; i++)
		p->out->data[start - LENGTH_ROOM + (size_t)i] |= (char)(length >> 7 * i & 0x7f);
}

/* --------------------------------------------------------------------- scalars */

static int digit_of(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	if (c >= 'a' && c <= 'f')
		return c - 'a' + 10;
	return c >= 'A' && c <= 'F' ? c - 'A' + 10 : 16;
}

/* Reads at most `most` digits of `base` and moves *text past them. */
static uint32_t read_digits(sp_bytes *text, int base, size_t most)
{
	uint32_t value = 0;

	for (; most != 0 && text->size != 0 && digit_of(*text->data) < base; most--) {
		value = value * (uint32_t)base + (uint32_t)digit_of(*text->data);
		*text = (sp_bytes){text->data + 1, text->size - 1};
	}
	return value;
}

/* Writes the character after a backslash. */
static sp_status put_escape(parser *p, sp_bytes *rest)
{
	static const char letters[] = "abfnrtv\\'\"?", values[] = "\a\b\f\n\r\t\v\\'\"?";
	const char *simple = *rest->data != '\0' ? strchr(letters, *rest->data) : NULL;
	char letter = *rest->data;
	char encoded[4];
	size_t before;
	uint32_t code;

	if (digit_of(letter) < 8) {
		sp_buffer_append_char(p->out, (char)read_digits(rest, 8, 3));
		return SP_OK;
	}
	*rest = (sp_bytes){rest->data + 1, rest->size - 1};
	if (simple != NULL) {
		sp_buffer_append_char(p->out, values[simple - letters]);
		return SP_OK;
	}
	before = rest->size;
	code = read_digits(rest, 16, letter == 'U' ? 8 : letter == 'u' ? 4 : 2);
	if (strchr("xXuU", letter) == NULL || letter == '\0' || rest->size == before ||
	    code > 0x10ffff)
		return wrong(p, "an invalid escape sequence");
	if (letter == 'u' || letter == 'U')
		sp_buffer_append(p->out, encoded, sp_utf8_encode(encoded, code));
	else
		sp_buffer_append_char(p->out, (char)code);
	return SP_OK;
}

static sp_status put_literal(parser *p)
{
	sp_bytes rest = {p->token.data + 1, p->token.size - 2};

	while (rest.size != 0) {
		const char *mark = memchr(rest.data, '\\', rest.size);
		size_t plain = mark != NULL ? (size_t)(mark - rest.data) : rest.size;

		sp_buffer_append(p->out, rest.data, plain);
		rest = (sp_bytes){rest.data + plain, rest.size - plain};
		if (rest.size == 0)
			break;
		rest = (sp_bytes){rest.data + 1, rest.size - 1};
		SP_TRY(put_escape(p, &rest));
	}
	return next(p);
}

/* Writes consecutive strings as one. */
static sp_status put_text(parser *p, uint32_t number)
{
	size_t start = begin_bytes(p, number);

	if (p->kind != TOKEN_TEXT)
		return wrong(p, "a text is missing");
	while (p->kind == TOKEN_TEXT)
		SP_TRY(put_literal(p));
	end_bytes(p, start);
	return SP_OK;
}

/* The number of a DataType by its name, with or without _REF. */
static bool read_enumerator(sp_bytes word, uint64_t *out)
{
	static const uint64_t ref = 100;
	bool is_ref = sp_bytes_ends_with(word, "_REF");

	if (is_ref)
		word.size -= strlen("_REF");
	for (int i = 0; i <= SP_FILE_DTYPE_MAX; i++)
		if (sp_bytes_equal_text(word, sp_dtype_name((sp_dtype)i))) {
			*out = (uint64_t)i + (is_ref ? ref : 0);
			return true;
		}
	return false;
}

/* Parses decimal, 0x hexadecimal or 0 octal numbers of up to 64 bits. */
static bool read_magnitude(sp_bytes word, uint64_t *out)
{
	int base = 10;

	if (word.size > 1 && word.data[0] == '0') {
		base = word.data[1] == 'x' || word.data[1] == 'X' ? 16 : 8;
		word = (sp_bytes){word.data + (base == 16 ? 2 : 1),
				  word.size - (base == 16 ? 2 : 1)};
	}
	if (word.size == 0)
		return false;
	*out = 0;
	for (size_t i = 0; i < word.size; i++) {
		int digit = digit_of(word.data[i]);

		if (digit >= base || __builtin_mul_overflow(*out, (uint64_t)base, out) ||
		    __builtin_add_overflow(*out, (uint64_t)digit, out))
			return false;
	}
	return true;
}

static sp_status read_whole(parser *p, bool negative, uint64_t *out)
{
	sp_bytes word = p->token;

	if (p->kind != TOKEN_WORD)
		return wrong(p, "a number is missing");
	if (sp_bytes_equal_text(word, "true") || sp_bytes_equal_text(word, "True") ||
	    sp_bytes_equal_text(word, "t"))
		*out = 1;
	else if (sp_bytes_equal_text(word, "false") || sp_bytes_equal_text(word, "False") ||
		 sp_bytes_equal_text(word, "f"))
		*out = 0;
	else if (!read_magnitude(word, out) && !read_enumerator(word, out))
		return wrong(p, "no number and no type that we know");
	if (negative)
		*out = -*out;
	return SP_OK;
}

static sp_status read_real(parser *p, bool negative, double *out)
{
	sp_bytes word = p->token;

	if (p->kind != TOKEN_WORD)
		return wrong(p, "a number is missing");
	if (sp_bytes_equal_text(word, "infinity"))
		word.size = strlen("inf");
	if (word.size > 1 && digit_of(word.data[0]) < 10 && word.data[1] != 'x' &&
	    (sp_bytes_ends_with(word, "f") || sp_bytes_ends_with(word, "F")))
		word.size--;
	if (!sp_number_read_f64(word, out))
		return wrong(p, "no number");
	if (negative)
		*out = -*out;
	return SP_OK;
}

static sp_status put_number(parser *p, const ProtobufCFieldDescriptor *field)
{
	bool negative = is_mark(p, '-');
	uint64_t whole = 0;
	double real;
	float narrow;

	if (negative)
		SP_TRY(next(p));
	switch (field->type) {
	case PROTOBUF_C_TYPE_FLOAT:
		SP_TRY(read_real(p, negative, &real));
		narrow = (float)real;
		put_tag(p, field->id, WIRE_32);
		sp_buffer_append(p->out, &narrow, sizeof(narrow));
		break;
	case PROTOBUF_C_TYPE_DOUBLE:
		SP_TRY(read_real(p, negative, &real));
		put_tag(p, field->id, WIRE_64);
		sp_buffer_append(p->out, &real, sizeof(real));
		break;
	default: /* in the schemas all others are varints */
		SP_TRY(read_whole(p, negative, &whole));
		put_tag(p, field->id, WIRE_VARINT);
		put_varint(p, whole);
	}
	return next(p);
}

/* ------------------------------------------------------------- skipped values */

/* Skips a value, or a message with everything in it. */
static sp_status skip_value(parser *p)
{
	size_t depth = 0;

	if (is_mark(p, '-'))
		SP_TRY(next(p));
	do {
		if (is_opening(p) || is_mark(p, '['))
			depth++;
		else if (depth != 0 && (is_mark(p, '}') || is_mark(p, '>') || is_mark(p, ']')))
			depth--;
		else if (p->kind == TOKEN_END || (depth == 0 && p->kind == TOKEN_MARK))
			return wrong(p, "a value is missing");
		if (depth > MAX_DEPTH)
			return wrong(p, "braces too deep");
		SP_TRY(next(p));
	} while (depth != 0);
	while (p->kind == TOKEN_TEXT)
		SP_TRY(next(p));
	return SP_OK;
}

/* -------------------------------------------------------------------- messages */

static sp_status put_message(parser *p, const ProtobufCMessageDescriptor *type);

/* Writes a nested message; consumes both braces. */
static sp_status put_nested(parser *p, uint32_t number, const ProtobufCMessageDescriptor *type)
{
	size_t start = begin_bytes(p, number);
	char closing = is_mark(p, '<') ? '>' : '}';

	if (!is_opening(p))
		return wrong(p, "a message is missing");
	SP_TRY(next(p));
	SP_TRY(put_message(p, type));
	if (!is_mark(p, closing))
		return wrong(p, "a message has no end");
	SP_TRY(next(p));
	end_bytes(p, start);
	return SP_OK;
}

static sp_status put_value(parser *p, const ProtobufCFieldDescriptor *field)
{
	if (field->type == PROTOBUF_C_TYPE_MESSAGE)
		return put_nested(p, field->id, field->descriptor);
	if (field->type != PROTOBUF_C_TYPE_BYTES)
		return put_number(p, field);
	if (strcmp(field->name, OBJECT_GRAPH) == 0)
		return put_nested(p, field->id, &sp_pb__saved_object_graph__descriptor);
	return put_text(p, field->id);
}

static sp_status put_values(parser *p, const ProtobufCFieldDescriptor *field)
{
	if (!is_mark(p, '[') || field->label != PROTOBUF_C_LABEL_REPEATED)
		return put_value(p, field);
	SP_TRY(next(p));
	while (!is_mark(p, ']')) {
		SP_TRY(put_value(p, field));
		if (is_mark(p, ','))
			SP_TRY(next(p));
		else if (!is_mark(p, ']'))
			return wrong(p, "a list has no end");
	}
	return next(p);
}

/*
 * "[type.googleapis.com/name] { ... }": an expanded Any or an extension.  All are skipped except
 * assets.
 */
static sp_status put_bracketed(parser *p, const ProtobufCMessageDescriptor *type)
{
	bool known;
	sp_bytes url;

	SP_TRY(next(p));
	url = p->token;
	while (!is_mark(p, ']') && p->kind != TOKEN_END)
		SP_TRY(next(p));
	url.size = (size_t)(p->token.data - url.data);
	SP_TRY(next(p));
	if (is_mark(p, ':'))
		SP_TRY(next(p));
	known = type == &sp_pb__any__descriptor && sp_bytes_ends_with(url, ASSET_TYPE);
	if (!known)
		return skip_value(p);
	put_tag(p, 1, WIRE_BYTES);
	put_varint(p, url.size);
	sp_buffer_append(p->out, url.data, url.size);
	return put_nested(p, 2, &sp_pb__asset_file_def__descriptor);
}

static const ProtobufCFieldDescriptor *find_field(const ProtobufCMessageDescriptor *type,
						  sp_bytes name)
{
	for (unsigned i = 0; i < type->n_fields; i++)
		if (sp_bytes_equal_text(name, type->fields[i].name))
			return &type->fields[i];
	return NULL;
}

static sp_status put_field(parser *p, const ProtobufCMessageDescriptor *type)
{
	const ProtobufCFieldDescriptor *field;

	if (is_mark(p, '['))
		return put_bracketed(p, type);
	if (p->kind != TOKEN_WORD)
		return wrong(p, "a field is missing");
	field = find_field(type, p->token);
	SP_TRY(next(p));
	if (is_mark(p, ':'))
		SP_TRY(next(p));
	else if (!is_opening(p))
		return wrong(p, "a value is missing");
	return field != NULL ? put_values(p, field) : skip_value(p);
}

/* Writes the fields up to the closing brace, which is not consumed. */
static sp_status put_message(parser *p, const ProtobufCMessageDescriptor *type)
{
	while (p->kind != TOKEN_END && !is_mark(p, '}') && !is_mark(p, '>')) {
		SP_TRY(put_field(p, type));
		if (is_mark(p, ',') || is_mark(p, ';'))
			SP_TRY(next(p));
	}
	return SP_OK;
}

sp_status sp_text_format_encode(sp_buffer *out, const ProtobufCMessageDescriptor *type,
				sp_bytes text, sp_error *err)
{
	parser p = {.at = text.size != 0 ? text.data : "", .line = 1, .out = out, .err = err};

	p.end = p.at + text.size;
	sp_buffer_init(out, SP_MESSAGE_MAX_SIZE);
	SP_TRY(next(&p));
	SP_TRY(put_message(&p, type));
	if (p.kind != TOKEN_END)
		return wrong(&p, "a message ends that did not begin");
	if (out->failed)
		return sp_no_memory(err, "%zu bytes of text", text.size);
	return SP_OK;
}
