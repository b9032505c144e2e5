#include "api/host/model/config_text.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/hex.h"
#include "base/utf8.h"

enum { MAX_DEPTH = 64 };

/* ------------------------------------------------------------------ characters */

typedef struct parser {
	const char *at, *end;
	const char *line_start;
	uint32_t line;
	char *pool; /* room for the rest of all strings, which are never longer than their source */
	sp_arena *arena;
	sp_error *err;
} parser;

static uint32_t column_of(const parser *p)
{
	return (uint32_t)(p->at - p->line_start) + 1;
}

static sp_status fail(const parser *p, const char *text)
{
	return sp_error_set(p->err, SP_INVALID, "%u:%u: %s", p->line, column_of(p), text);
}

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

static bool is_letter(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

/* Skips white space and comments.  Returns the next character; NUL at the end. */
static char peek(parser *p)
{
	for (; p->at < p->end; p->at++) {
		char c = *p->at;

		if (c == '#') {
			const char *end = memchr(p->at, '\n', (size_t)(p->end - p->at));

			p->at = end != NULL ? end : p->end;
			if (end == NULL)
				return '\0';
			c = '\n';
		}
		if (c == '\n') {
			p->line++;
			p->line_start = p->at + 1;
		} else if (c != ' ' && c != '\t' && c != '\r' && c != '\v' && c != '\f') {
			return c;
		}
	}
	return '\0';
}

static bool at_end(const parser *p)
{
	return p->at == p->end;
}

static bool take(parser *p, char c)
{
	if (peek(p) != c || at_end(p))
		return false;
	p->at++;
	return true;
}

/* --------------------------------------------------------------------- strings */

/* Reads up to `most` hexadecimal digits; returns how many there are. */
static int take_hex(parser *p, int most, uint32_t *value)
{
	int count = 0;

	*value = 0;
	for (; count < most && !at_end(p) && sp_hex_value(*p->at) >= 0; count++)
		*value = *value * 16 + (uint32_t)sp_hex_value(*p->at++);
	return count;
}

static sp_status take_octal(parser *p)
{
	unsigned value = 0;

	for (int i = 0; i < 3 && !at_end(p) && *p->at >= '0' && *p->at <= '7'; i++)
		value = value * 8 + (unsigned)(*p->at++ - '0');
	if (value > 255)
		return fail(p, "an octal escape is greater than 255");
	*p->pool++ = (char)value;
	return SP_OK;
}

/* Behind a backslash and its letter: \x, \u or \U. */
static sp_status take_code(parser *p, char letter)
{
	int digits = letter == 'u' ? 4 : letter == 'U' ? 8 : 2;
	uint32_t code;
	int found = take_hex(p, digits, &code);

	if (found == 0 || (digits != 2 && found != digits))
		return fail(p, "an escape lacks hexadecimal digits");
	if (digits == 2)
		*p->pool++ = (char)code;
	else if (code > 0x10ffff || (code >= 0xd800 && code < 0xe000))
		return fail(p, "an escape is no character of Unicode");
	else
		p->pool += sp_utf8_encode(p->pool, code);
	return SP_OK;
}

/* Behind a backslash.  What it stands for is never longer than the escape. */
static sp_status take_escape(parser *p)
{
	static const char letters[] = "abfnrtv\\'\"?", values[] = "\a\b\f\n\r\t\v\\'\"?";
	const char *known;
	char c;

	if (at_end(p))
		return fail(p, "a string is not closed");
	c = *p->at;
	if (c >= '0' && c <= '7')
		return take_octal(p);
	p->at++;
	if (c == 'x' || c == 'X' || c == 'u' || c == 'U')
		return take_code(p, c);
	known = c != '\0' ? strchr(letters, c) : NULL;
	if (known == NULL)
		return fail(p, "an unknown escape in a string");
	*p->pool++ = values[known - letters];
	return SP_OK;
}

/* One string; the quote is the next character. */
static sp_status take_quoted(parser *p)
{
	char quote = *p->at++;

	while (!at_end(p) && *p->at != quote) {
		char c = *p->at;

		if (c == '\n')
			return fail(p, "a string is not closed on its line");
		p->at++;
		if (c == '\\')
			SP_TRY(take_escape(p));
		else
			*p->pool++ = c;
	}
	if (at_end(p))
		return fail(p, "a string is not closed");
	p->at++;
	return SP_OK;
}

/* Adjacent strings are one. */
static sp_status take_string(parser *p, sp_bytes *out)
{
	char *text = p->pool, c;

	while ((c = peek(p)) == '"' || c == '\'')
		SP_TRY(take_quoted(p));
	*out = (sp_bytes){text, (size_t)(p->pool - text)};
	*p->pool++ = '\0'; /* the quotes have left room for it */
	return SP_OK;
}

/* -------------------------------------------------------------------- messages */

static sp_bytes take_while(parser *p, const char *further)
{
	const char *start = p->at;

	while (!at_end(p) && (is_letter(*p->at) || is_digit(*p->at) ||
			      (*p->at != '\0' && strchr(further, *p->at) != NULL)))
		p->at++;
	return (sp_bytes){start, (size_t)(p->at - start)};
}

/* A name, or that of an extension or an Any in brackets. */
static sp_status take_name(parser *p, sp_bytes *out)
{
	const char *start = p->at;

	if (*start != '[') {
		if (!is_letter(*start))
			return fail(p, "expected the name of a field");
		*out = take_while(p, "");
		return SP_OK;
	}
	p->at++;
	if (take_while(p, "./-").size == 0 || !take(p, ']'))
		return fail(p, "expected a name in brackets");
	*out = (sp_bytes){start, (size_t)(p->at - start)};
	return SP_OK;
}

/* Digits, letters and points, and the sign of an exponent; whoever reads the number checks it. */
static sp_bytes take_digits(parser *p)
{
	const char *start = p->at;
	bool hex = p->end - start > 1 && (start[1] | 0x20) == 'x';

	for (; !at_end(p); p->at++) {
		char c = *p->at;
		bool sign = (c == '+' || c == '-') && p->at > start && !hex &&
			    (p->at[-1] | 0x20) == 'e';

		if (!sign && !is_digit(c) && !is_letter(c) && c != '.')
			break;
	}
	return (sp_bytes){start, (size_t)(p->at - start)};
}

/* A minus may have space behind it, which is not kept. */
static sp_status take_number(parser *p, sp_bytes *out)
{
	bool minus = take(p, '-');
	sp_bytes digits;
	char *text;

	peek(p);
	digits = take_digits(p);
	if (digits.size == 0)
		return fail(p, "expected a number");
	text = sp_arena_alloc(p->arena, digits.size + 2);
	if (text == NULL)
		return sp_no_memory(p->err, "a number");
	text[0] = '-';
	memcpy(text + minus, digits.data, digits.size);
	text[minus + digits.size] = '\0';
	*out = (sp_bytes){text, minus + digits.size};
	return SP_OK;
}

static sp_status take_fields(parser *p, const sp_config_field **first, char close, int depth);

static sp_status take_value(parser *p, sp_config_field *field, int depth)
{
	char c = peek(p);

	field->line = p->line;
	field->column = column_of(p);
	if (c == '{' || c == '<') {
		p->at++;
		field->kind = SP_CONFIG_MESSAGE;
		return take_fields(p, &field->first, c == '{' ? '}' : '>', depth + 1);
	}
	if (c == '"' || c == '\'') {
		field->kind = SP_CONFIG_STRING;
		return take_string(p, &field->text);
	}
	if (c == '-' || c == '.' || is_digit(c)) {
		field->kind = SP_CONFIG_NUMBER;
		return take_number(p, &field->text);
	}
	if (!is_letter(c))
		return fail(p, "expected a value");
	field->kind = SP_CONFIG_WORD;
	field->text = take_while(p, "");
	return SP_OK;
}

/* Appends a field with that name and the value that follows; *last moves on. */
static sp_status append(parser *p, const sp_config_field ***last, sp_bytes name, bool colon,
			int depth)
{
	sp_config_field *field = sp_arena_zeros(p->arena, 1, sizeof(*field));
	char c = peek(p);

	if (field == NULL)
		return sp_no_memory(p->err, "a field");
	if (!colon && c != '{' && c != '<')
		return fail(p, "expected a colon");
	field->name = name;
	SP_TRY(take_value(p, field, depth));
	**last = field;
	*last = &field->next;
	return SP_OK;
}

/* "name: value", "name { ... }" or "name: [value, value]". */
static sp_status take_field(parser *p, const sp_config_field ***last, int depth)
{
	sp_bytes name;
	bool colon;

	SP_TRY(take_name(p, &name));
	colon = take(p, ':');
	if (!take(p, '[')) {
		SP_TRY(append(p, last, name, colon, depth));
	} else if (!take(p, ']')) {
		do {
			SP_TRY(append(p, last, name, colon, depth));
		} while (take(p, ','));
		if (!take(p, ']'))
			return fail(p, "expected , or ]");
	}
	if (!take(p, ','))
		take(p, ';');
	return SP_OK;
}

/* Up to the closing brace; NUL: the end of the text. */
static sp_status take_fields(parser *p, const sp_config_field **first, char close, int depth)
{
	const sp_config_field **last = first;

	if (depth > MAX_DEPTH)
		return fail(p, "messages are nested too deeply");
	for (;;) {
		char c = peek(p);

		if (at_end(p))
			return close == '\0' ? SP_OK : fail(p, "a brace is not closed");
		if (c == close && close != '\0') {
			p->at++;
			return SP_OK;
		}
		SP_TRY(take_field(p, &last, depth));
	}
}

sp_status sp_config_text_parse(const sp_config_field **out, sp_bytes text, sp_arena *arena,
			       sp_error *err)
{
	parser p = {.at = text.data,
		    .end = text.data + text.size,
		    .line_start = text.data,
		    .line = 1,
		    .pool = sp_arena_alloc(arena, text.size + 1),
		    .arena = arena,
		    .err = err};

	*out = NULL;
	if (p.pool == NULL)
		return sp_no_memory(err, "the configuration");
	return take_fields(&p, out, '\0', 0);
}

/* --------------------------------------------------------------------- values */

sp_status sp_config_fail(const sp_config_field *field, const char *text, sp_error *err)
{
	int shown = sp_bytes_shown(field->name, 100);

	if (field->line == 0)
		return sp_error_set(err, SP_INVALID, "%.*s: %s", shown, field->name.data, text);
	return sp_error_set(err, SP_INVALID, "%u:%u: %.*s: %s", field->line, field->column, shown,
			    field->name.data, text);
}

sp_status sp_config_read_i64(void *out, const sp_config_field *field, sp_arena *arena,
			     sp_error *err)
{
	char *end;
	long long value;

	(void)arena;
	if (field->kind != SP_CONFIG_NUMBER)
		return sp_config_fail(field, "expected a whole number", err);
	errno = 0;
	value = strtoll(field->text.data, &end, 0);
	if (errno != 0 || end != field->text.data + field->text.size)
		return sp_config_fail(field, "not a whole number of 64 bits", err);
	*(int64_t *)out = value;
	return SP_OK;
}

sp_status sp_config_read_double(void *out, const sp_config_field *field, sp_arena *arena,
				sp_error *err)
{
	char *end;
	double value;

	(void)arena;
	if (field->kind != SP_CONFIG_NUMBER)
		return sp_config_fail(field, "expected a number", err);
	value = strtod(field->text.data, &end);
	if (*end == 'f' || *end == 'F')
		end++;
	if (end != field->text.data + field->text.size || !isfinite(value))
		return sp_config_fail(field, "not a number", err);
	*(double *)out = value;
	return SP_OK;
}

sp_status sp_config_read_bool(void *out, const sp_config_field *field, sp_arena *arena,
			      sp_error *err)
{
	static const char *const words[2][4] = {{"false", "False", "f", "0"},
						{"true", "True", "t", "1"}};

	(void)arena;
	for (int value = 0; value < 2; value++)
		for (int i = 0; i < 4; i++)
			if ((field->kind == SP_CONFIG_WORD || field->kind == SP_CONFIG_NUMBER) &&
			    sp_bytes_equal_text(field->text, words[value][i])) {
				*(bool *)out = value;
				return SP_OK;
			}
	return sp_config_fail(field, "expected true or false", err);
}

sp_status sp_config_read_text(void *out, const sp_config_field *field, sp_arena *arena,
			      sp_error *err)
{
	(void)arena;
	if (field->kind != SP_CONFIG_STRING)
		return sp_config_fail(field, "expected a string", err);
	if (memchr(field->text.data, '\0', field->text.size) != NULL)
		return sp_config_fail(field, "the string contains a NUL", err);
	*(const char **)out = field->text.data;
	return SP_OK;
}

sp_status sp_config_skip(void *out, const sp_config_field *field, sp_arena *arena, sp_error *err)
{
	(void)out;
	(void)field;
	(void)arena;
	(void)err;
	return SP_OK;
}

/* -------------------------------------------------------------------- members */

static const sp_config_member *find_member(const sp_config_member *members, sp_bytes name)
{
	for (; members->name != NULL; members++)
		if (sp_bytes_equal_text(name, members->name))
			return members;
	return NULL;
}

sp_status sp_config_read_members(void *out, const sp_config_field *first, const char *type,
				 const sp_config_member *members, sp_arena *arena, sp_error *err)
{
	uint64_t seen = 0; /* a bit per member: none of our messages has 64 */

	for (const sp_config_field *field = first; field != NULL; field = field->next) {
		const sp_config_member *m = find_member(members, field->name);
		uint64_t bit;

		if (m == NULL)
			return sp_error_set(
				err, SP_INVALID,
				"%u:%u: Message type \"%s\" has no field named \"%.*s\"",
				field->line, field->column, type, sp_bytes_shown(field->name, 100),
				field->name.data);
		bit = UINT64_C(1) << (m - members);
		if ((seen & bit) != 0 && !m->repeated)
			return sp_config_fail(field, "is specified several times", err);
		seen |= bit;
		SP_TRY(m->read((char *)out + m->offset, field, arena, err));
	}
	return SP_OK;
}

sp_status sp_config_read_message(void *out, const sp_config_field *field, const char *type,
				 const sp_config_member *members, sp_arena *arena, sp_error *err)
{
	if (field->kind != SP_CONFIG_MESSAGE)
		return sp_config_fail(field, "expected a message in braces", err);
	return sp_config_read_members(out, field->first, type, members, arena, err);
}

static sp_status read_wrapped(void *out, const sp_config_field *field, sp_config_read *read,
			      sp_arena *arena, sp_error *err)
{
	const sp_config_member members[] = {{"value", 0, read, false}, {0}};

	return sp_config_read_message(out, field, "google.protobuf wrapper", members, arena, err);
}

sp_status sp_config_read_wrapped_i64(void *out, const sp_config_field *field, sp_arena *arena,
				     sp_error *err)
{
	*(int64_t *)out = 0;
	return read_wrapped(out, field, sp_config_read_i64, arena, err);
}

sp_status sp_config_read_wrapped_bool(void *out, const sp_config_field *field, sp_arena *arena,
				      sp_error *err)
{
	*(bool *)out = false;
	return read_wrapped(out, field, sp_config_read_bool, arena, err);
}

sp_status sp_config_read_wrapped_text(void *out, const sp_config_field *field, sp_arena *arena,
				      sp_error *err)
{
	*(const char **)out = "";
	return read_wrapped(out, field, sp_config_read_text, arena, err);
}
