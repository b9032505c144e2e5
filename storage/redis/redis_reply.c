#include "storage/redis/redis_reply.h"

#include <string.h>

enum {
	MAX_LINE = 64 << 10,    /* of a status or an error */
	MAX_STRING = 512 << 20, /* Redis's own limit */
	MAX_ELEMENTS = INT32_MAX,
	MAX_DIGITS = 19,
};

/*
 * Parses "-12\r
 * "; returns as sp_redis_reply_next().
 */
static size_t read_number(const char *bytes, size_t size, int64_t *out)
{
	bool is_negative = size > 0 && bytes[0] == '-';
	size_t first = is_negative, end = first;
	uint64_t number = 0;

	for (; end < size && bytes[end] >= '0' && bytes[end] <= '9'; end++) {
		if (end - first == MAX_DIGITS)
			return SP_REDIS_MALFORMED;
		number = number * 10 + (uint64_t)(bytes[end] - '0');
	}
	if (end == size)
		return 0;
	if (end == first || bytes[end] != '\r' || number > (uint64_t)INT64_MAX + is_negative)
		return SP_REDIS_MALFORMED;
	if (end + 1 == size)
		return 0;
	*out = (int64_t)(is_negative ? 0 - number : number);
	return bytes[end + 1] == '\n' ? end + 2 : SP_REDIS_MALFORMED;
}

static size_t read_string(const char *bytes, size_t size, sp_redis_value *value)
{
	int64_t length;
	size_t head = read_number(bytes, size, &length);

	if (head == 0 || head == SP_REDIS_MALFORMED)
		return head;
	if (length == -1) {
		value->kind = SP_REDIS_NIL;
		return head;
	}
	if (length < 0 || length > MAX_STRING)
		return SP_REDIS_MALFORMED;
	if (size - head < (size_t)length + 2)
		return 0;
	value->kind = SP_REDIS_STRING;
	value->text = bytes + head;
	value->size = (size_t)length;
	if (value->text[length] != '\r' || value->text[length + 1] != '\n')
		return SP_REDIS_MALFORMED;
	return head + value->size + 2;
}

static size_t read_array(const char *bytes, size_t size, sp_redis_value *value)
{
	size_t head = read_number(bytes, size, &value->integer);

	if (head == 0 || head == SP_REDIS_MALFORMED)
		return head;
	if (value->integer < -1 || value->integer > MAX_ELEMENTS)
		return SP_REDIS_MALFORMED;
	value->kind = value->integer == -1 ? SP_REDIS_NIL : SP_REDIS_ARRAY;
	return head;
}

static size_t read_line(const char *bytes, size_t size, sp_redis_value *value)
{
	size_t most = size < MAX_LINE ? size : MAX_LINE;
	const char *end = memmem(bytes, most, "\r\n", 2);

	if (end == NULL)
		return size < MAX_LINE ? 0 : SP_REDIS_MALFORMED;
	value->text = bytes;
	value->size = (size_t)(end - bytes);
	return value->size + 2;
}

/* Parses what follows the first byte, which is the type. */
static size_t read_rest(char mark, const char *bytes, size_t size, sp_redis_value *value)
{
	switch (mark) {
	case '$':
		return read_string(bytes, size, value);
	case '*':
		return read_array(bytes, size, value);
	case ':':
		value->kind = SP_REDIS_INTEGER;
		return read_number(bytes, size, &value->integer);
	case '+':
		value->kind = SP_REDIS_STATUS;
		return read_line(bytes, size, value);
	case '-':
		value->kind = SP_REDIS_ERROR;
		return read_line(bytes, size, value);
	default:
		return SP_REDIS_MALFORMED;
	}
}

size_t sp_redis_reply_next(sp_redis_reply_parser *reply, const char *bytes, size_t size,
			   sp_redis_value *value)
{
	size_t rest;

	if (size == 0)
		return 0;
	*value = (sp_redis_value){.depth = reply->depth};
	if (reply->depth != 0)
		value->index = (size_t)reply->arrays[reply->depth - 1].index;
	rest = read_rest(bytes[0], bytes + 1, size - 1, value);
	if (rest == 0 || rest == SP_REDIS_MALFORMED)
		return rest;
	if (value->kind == SP_REDIS_ARRAY && value->integer != 0) {
		if (reply->depth == SP_REDIS_MAX_DEPTH)
			return SP_REDIS_MALFORMED;
		reply->arrays[reply->depth].index = 0;
		reply->arrays[reply->depth++].count = value->integer;
		return rest + 1;
	}
	/*
	 * The value may be the last one of its array, and that array the last element of the next
	 * one.
	 */
	while (reply->depth != 0 &&
	       ++reply->arrays[reply->depth - 1].index == reply->arrays[reply->depth - 1].count)
		reply->depth--;
	return rest + 1;
}
