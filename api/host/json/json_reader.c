#include "api/host/json/json_reader.h"

#include <string.h>

#include "base/hex.h"
#include "base/utf8.h"

/*
 * A NUL follows the text and ends every loop below, so no loop compares with `end`.  A NUL inside
 * the text is a syntax error anyway.
 */

void sp_json_reader_init(sp_json_reader *reader, sp_bytes text)
{
	sp_buffer_init(&reader->nesting, SIZE_MAX / 2);
	sp_json_reader_reset(reader, text);
}

void sp_json_reader_fini(sp_json_reader *reader)
{
	sp_buffer_fini(&reader->nesting);
}

void sp_json_reader_reset(sp_json_reader *reader, sp_bytes text)
{
	reader->start = text.size == 0 ? "" : text.data;
	reader->at = reader->start;
	reader->end = reader->start + text.size;
	sp_buffer_clear(&reader->nesting);
	if (sp_bytes_starts_with(text, "\xef\xbb\xbf"))
		reader->at += 3;
}

sp_status sp_json_fail(const sp_json_reader *reader, const char *reason, sp_error *err)
{
	return sp_error_set(err, SP_CORRUPT, "JSON Parse error: %s at offset: %zu", reason,
			    (size_t)(reader->at - reader->start));
}

static char skip_space(sp_json_reader *reader)
{
	const char *at = reader->at;

	while (*at == ' ' || *at == '\n' || *at == '\r' || *at == '\t')
		at++;
	reader->at = at;
	return *at;
}

sp_json_kind sp_json_peek(sp_json_reader *reader)
{
	switch (skip_space(reader)) {
	case '{':
		return SP_JSON_OBJECT;
	case '[':
		return SP_JSON_ARRAY;
	case '"':
		return SP_JSON_STRING;
	case 't':
		return SP_JSON_TRUE;
	case 'f':
		return SP_JSON_FALSE;
	case 'n':
		return SP_JSON_NULL;
	case '-':
	case '0' ... '9':
	case 'N':
	case 'I':
		return SP_JSON_NUMBER;
	default:
		return SP_JSON_NONE;
	}
}

const char *sp_json_kind_name(sp_json_kind kind)
{
	static const char *const names[] = {
		[SP_JSON_NULL] = "Null",     [SP_JSON_FALSE] = "False", [SP_JSON_TRUE] = "True",
		[SP_JSON_OBJECT] = "Object", [SP_JSON_ARRAY] = "Array", [SP_JSON_STRING] = "String",
		[SP_JSON_NUMBER] = "Number", [SP_JSON_NONE] = "None",
	};

	return names[kind];
}

/* ------------------------------------------------------------- containers */

sp_status sp_json_array_next(sp_json_reader *reader, size_t index, bool *more, sp_error *err)
{
	char c;

	if (index == 0)
		reader->at++; /* the bracket */
	c = skip_space(reader);
	*more = c != ']';
	if (c == ']') {
		reader->at++;
		return SP_OK;
	}
	if (index == 0)
		return SP_OK;
	if (c != ',')
		return sp_json_fail(reader, "Missing a comma or ] after an array element.", err);
	reader->at++;
	return SP_OK;
}

static sp_status expect_key(sp_json_reader *reader, sp_error *err)
{
	if (skip_space(reader) != '"')
		return sp_json_fail(reader, "Missing a name for object member.", err);
	return SP_OK;
}

static sp_status expect_colon(sp_json_reader *reader, sp_error *err)
{
	if (skip_space(reader) != ':')
		return sp_json_fail(reader, "Missing a colon after a name of object member.", err);
	reader->at++;
	return SP_OK;
}

sp_status sp_json_object_next(sp_json_reader *reader, size_t index, bool *more, sp_bytes *key,
			      sp_arena *arena, sp_error *err)
{
	char c;

	if (index == 0)
		reader->at++; /* the brace */
	c = skip_space(reader);
	*more = c != '}';
	if (c == '}') {
		reader->at++;
		return SP_OK;
	}
	if (index != 0) {
		if (c != ',')
			return sp_json_fail(reader, "Missing a comma or } after an object member.",
					    err);
		reader->at++;
	}
	SP_TRY(expect_key(reader, err));
	SP_TRY(sp_json_string(reader, key, arena, err));
	return expect_colon(reader, err);
}

/* ---------------------------------------------------------------- strings */

/* Parses the four digits after "\u"; -1 if they are invalid. */
static int32_t hex4(const char *at)
{
	int32_t value = 0;

	for (int i = 0; i < 4; i++) {
		int digit = sp_hex_value(at[i]);

		if (digit < 0)
			return -1;
		value = value * 16 + digit;
	}
	return value;
}

/* Reads a \u escape and, after a high surrogate, the one that follows. */
static sp_status read_code_point(sp_json_reader *reader, uint32_t *out, sp_error *err)
{
	int32_t high = hex4(reader->at + 2), low;

	if (high < 0)
		return sp_json_fail(reader, "Incorrect hex digit after \\u escape in string.", err);
	*out = (uint32_t)high;
	if (high < 0xd800 || high > 0xdfff) {
		reader->at += 6;
		return SP_OK;
	}
	if (high > 0xdbff || reader->at[6] != '\\' || reader->at[7] != 'u')
		return sp_json_fail(reader, "The surrogate pair in string is invalid.", err);
	low = hex4(reader->at + 8);
	if (low < 0xdc00 || low > 0xdfff)
		return sp_json_fail(reader, "The surrogate pair in string is invalid.", err);
	*out = 0x10000 + (((uint32_t)high - 0xd800) << 10) + ((uint32_t)low - 0xdc00);
	reader->at += 12;
	return SP_OK;
}

/* The character that a letter behind a backslash stands for; NUL: none. */
static char simple_escape(char c)
{
	static const char letters[] = "\"\\/bfnrt", values[] = "\"\\/\b\f\n\r\t";

	return values[strcspn(letters, (char[]){c, '\0'})];
}

/* Reads one escape; appends the decoded character to *out unless that is NULL. */
static sp_status read_escape(sp_json_reader *reader, char **out, sp_error *err)
{
	char bytes[4];
	size_t size = 1;
	uint32_t code = 0;

	if (reader->at[1] == 'u') {
		SP_TRY(read_code_point(reader, &code, err));
		size = sp_utf8_encode(bytes, code);
	} else {
		bytes[0] = simple_escape(reader->at[1]);
		if (bytes[0] == '\0')
			return sp_json_fail(reader, "Invalid escape character in string.", err);
		reader->at += 2;
	}
	if (*out != NULL) {
		memcpy(*out, bytes, size);
		*out += size;
	}
	return SP_OK;
}

/* Skips plain characters up to the next quote or backslash; checks that they are valid. */
static sp_status scan_plain(sp_json_reader *reader, sp_error *err)
{
	const unsigned char *at = (const unsigned char *)reader->at;
	size_t n;

	for (;;) {
		while (*at >= 0x20 && *at < 0x80 && *at != '"' && *at != '\\')
			at++;
		reader->at = (const char *)at;
		if (*at == '"' || *at == '\\')
			return SP_OK;
		if (reader->at == reader->end)
			return sp_json_fail(reader, "Missing a closing quotation mark in string.",
					    err);
		if (*at < 0x20)
			return sp_json_fail(reader, "Invalid control character in string.", err);
		n = sp_utf8_length(reader->at, (size_t)(reader->end - reader->at));
		if (n == 0)
			return sp_json_fail(reader, "Invalid encoding in string.", err);
		at += n;
	}
}

/* Skips a string with its quotes; *escaped if it has a backslash. */
static sp_status scan_string(sp_json_reader *reader, bool *escaped, sp_error *err)
{
	char *nowhere = NULL;

	*escaped = false;
	reader->at++;
	for (;;) {
		SP_TRY(scan_plain(reader, err));
		if (*reader->at == '"')
			break;
		*escaped = true;
		SP_TRY(read_escape(reader, &nowhere, err));
	}
	reader->at++;
	return SP_OK;
}

/* `inside` is the text of a string that scan_string() has accepted. */
static sp_status decode(sp_bytes inside, sp_bytes *out, sp_arena *arena, sp_error *err)
{
	sp_json_reader reader = {.start = inside.data, .at = inside.data};
	const char *end = inside.data + inside.size;
	char *copy = sp_arena_alloc(arena, inside.size); /* decoding never makes it longer */
	char *to = copy;

	if (copy == NULL)
		return sp_no_memory(err, "a string");
	while (reader.at != end) {
		if (*reader.at == '\\')
			SP_TRY(read_escape(&reader, &to, err));
		else
			*to++ = *reader.at++;
	}
	*out = (sp_bytes){copy, (size_t)(to - copy)};
	return SP_OK;
}

sp_status sp_json_string(sp_json_reader *reader, sp_bytes *out, sp_arena *arena, sp_error *err)
{
	const char *start = reader->at + 1;
	bool escaped;

	SP_TRY(scan_string(reader, &escaped, err));
	*out = (sp_bytes){start, (size_t)(reader->at - 1 - start)};
	return escaped ? decode(*out, out, arena, err) : SP_OK;
}

/* --------------------------------------------------------------- literals */

sp_status sp_json_literal(sp_json_reader *reader, sp_error *err)
{
	static const char *const words[] = {"true", "false", "null"};

	for (size_t i = 0; i < 3; i++)
		if (strncmp(reader->at, words[i], strlen(words[i])) == 0) {
			reader->at += strlen(words[i]);
			return SP_OK;
		}
	return sp_json_fail(reader, "Invalid value.", err);
}

/* --------------------------------------------------------------- skipping */

typedef struct nesting {
	sp_buffer *bits;
	size_t depth;
} nesting;

static bool nesting_push(nesting *n, bool object)
{
	unsigned char bit = (unsigned char)(1u << (n->depth % 8));
	char *byte;

	if (n->depth / 8 == n->bits->size) {
		sp_buffer_append_char(n->bits, 0);
		if (n->bits->failed)
			return false;
	}
	byte = &n->bits->data[n->depth / 8];
	*byte = (char)(object ? *byte | bit : *byte & ~bit);
	n->depth++;
	return true;
}

static bool nesting_is_object(const nesting *n)
{
	size_t top = n->depth - 1;

	return (n->bits->data[top / 8] >> (top % 8)) & 1;
}

static sp_status skip_key(sp_json_reader *reader, sp_error *err)
{
	bool escaped;

	SP_TRY(expect_key(reader, err));
	SP_TRY(scan_string(reader, &escaped, err));
	return expect_colon(reader, err);
}

static sp_status skip_scalar(sp_json_reader *reader, sp_json_kind kind, sp_error *err)
{
	sp_json_number number;
	bool escaped;

	switch (kind) {
	case SP_JSON_STRING:
		return scan_string(reader, &escaped, err);
	case SP_JSON_NUMBER:
		return sp_json_number_read(reader, &number, err);
	default:
		return sp_json_literal(reader, err);
	}
}

/* Enters a container; *empty: it had no members and has been left again. */
static sp_status skip_enter(sp_json_reader *reader, nesting *n, sp_json_kind kind, bool *empty,
			    sp_error *err)
{
	bool object = kind == SP_JSON_OBJECT;

	reader->at++;
	*empty = skip_space(reader) == (object ? '}' : ']');
	if (*empty) {
		reader->at++;
		return SP_OK;
	}
	if (!nesting_push(n, object))
		return sp_no_memory(err, "nested JSON");
	return object ? skip_key(reader, err) : SP_OK;
}

/* After a value: leaves containers that end and stops before the next value. */
static sp_status skip_leave(sp_json_reader *reader, nesting *n, sp_error *err)
{
	while (n->depth != 0) {
		bool object = nesting_is_object(n);
		char c = skip_space(reader);

		if (c == ',') {
			reader->at++;
			return object ? skip_key(reader, err) : SP_OK;
		}
		if (c != (object ? '}' : ']'))
			return sp_json_fail(reader,
					    object ? "Missing a comma or } after an object member."
						   : "Missing a comma or ] after an array element.",
					    err);
		reader->at++;
		n->depth--;
	}
	return SP_OK;
}

sp_status sp_json_skip(sp_json_reader *reader, sp_error *err)
{
	nesting n = {&reader->nesting, 0};

	do {
		sp_json_kind kind = sp_json_peek(reader);
		bool done = true;

		if (kind == SP_JSON_OBJECT || kind == SP_JSON_ARRAY)
			SP_TRY(skip_enter(reader, &n, kind, &done, err));
		else
			SP_TRY(skip_scalar(reader, kind, err));
		if (done)
			SP_TRY(skip_leave(reader, &n, err));
	} while (n.depth != 0);
	return SP_OK;
}
