#include "api/host/grpc/grpc_protocol.h"

#include <string.h>

#include "api/host/model/version_status.h"

/* --------------------------------------------------------------------- codes */

sp_grpc_code sp_grpc_code_of(sp_status status)
{
	return status == SP_BUSY ? SP_GRPC_RESOURCE_EXHAUSTED
				 : (sp_grpc_code)sp_tensorflow_code(status);
}

static const struct {
	sp_grpc_code code;
	int http;
} statuses[] = {
	{SP_GRPC_OK, 200},
	{SP_GRPC_INVALID_ARGUMENT, 400},
	{SP_GRPC_FAILED_PRECONDITION, 400},
	{SP_GRPC_PERMISSION_DENIED, 403},
	{SP_GRPC_NOT_FOUND, 404},
	{SP_GRPC_CANCELLED, 499},
	{SP_GRPC_INTERNAL, 500},
	{SP_GRPC_UNIMPLEMENTED, 501},
	{SP_GRPC_RESOURCE_EXHAUSTED, 503},
	{SP_GRPC_UNAVAILABLE, 503},
	{SP_GRPC_DEADLINE_EXCEEDED, 504},
};

int sp_grpc_http_status(sp_grpc_code code)
{
	for (size_t i = 0; i < sizeof(statuses) / sizeof(statuses[0]); i++)
		if (statuses[i].code == code)
			return statuses[i].http;
	return 500;
}

sp_grpc_code sp_grpc_code_of_http(int status)
{
	switch (status) {
	case 408:
		return SP_GRPC_DEADLINE_EXCEEDED;
	case 413:
	case 431:
		return SP_GRPC_RESOURCE_EXHAUSTED;
	case 500:
		return SP_GRPC_INTERNAL;
	}
	for (size_t i = 0; i < sizeof(statuses) / sizeof(statuses[0]); i++)
		if (statuses[i].http == status)
			return statuses[i].code;
	return SP_GRPC_UNKNOWN;
}

/* ------------------------------------------------------------------- headers */

bool sp_grpc_is_content_type(sp_bytes value)
{
	static const char type[] = "application/grpc";
	size_t size = sizeof(type) - 1;

	return sp_bytes_starts_with(value, type) &&
	       (value.size == size || value.data[size] == '+' || value.data[size] == ';');
}

bool sp_grpc_timeout(sp_bytes value, int64_t *ns)
{
	static const struct {
		char letter;
		int64_t ns;
	} units[] = {
		{'H', INT64_C(3600000000000)},
		{'M', INT64_C(60000000000)},
		{'S', INT64_C(1000000000)},
		{'m', 1000000},
		{'u', 1000},
		{'n', 1},
	};
	enum { MOST_DIGITS = 8 };
	int64_t number = 0;

	if (value.size < 2 || value.size > MOST_DIGITS + 1)
		return false;
	for (size_t i = 0; i + 1 < value.size; i++) {
		if (value.data[i] < '0' || value.data[i] > '9')
			return false;
		number = 10 * number + (value.data[i] - '0');
	}
	for (size_t i = 0; i < sizeof(units) / sizeof(units[0]); i++) {
		if (units[i].letter != value.data[value.size - 1])
			continue;
		*ns = number > INT64_MAX / 2 / units[i].ns ? INT64_MAX / 2 : number * units[i].ns;
		return true;
	}
	return false;
}

void sp_grpc_message(char *out, size_t size, const char *text)
{
	static const char digits[] = "0123456789ABCDEF";
	size_t at = 0;

	for (; *text != '\0' && at + 4 <= size; text++) {
		unsigned char c = (unsigned char)*text;

		if (c >= ' ' && c <= '~' && c != '%') {
			out[at++] = (char)c;
			continue;
		}
		out[at++] = '%';
		out[at++] = digits[c >> 4];
		out[at++] = digits[c & 15];
	}
	out[at] = '\0';
	/* A header's value does not end in a space. */
	while (at != 0 && out[at - 1] == ' ')
		out[--at] = '\0';
}

/* ------------------------------------------------------------------- framing */

sp_grpc_read sp_grpc_frame_read(sp_grpc_frame *out, sp_bytes body)
{
	const unsigned char *at = (const unsigned char *)body.data;
	size_t size;

	*out = (sp_grpc_frame){.size = SP_GRPC_PREFIX};
	if (body.size != 0 && at[0] > 1)
		return SP_GRPC_READ_BAD;
	if (body.size < SP_GRPC_PREFIX)
		return SP_GRPC_READ_MORE;
	size = (size_t)at[1] << 24 | (size_t)at[2] << 16 | (size_t)at[3] << 8 | at[4];
	out->size += size;
	if (size > body.size - SP_GRPC_PREFIX)
		return SP_GRPC_READ_MORE;
	out->compressed = at[0] == 1;
	out->message = (sp_bytes){body.data + SP_GRPC_PREFIX, size};
	return SP_GRPC_READ_DONE;
}

void sp_grpc_frame_begin(sp_buffer *out)
{
	char *at = sp_buffer_reserve(out, SP_GRPC_PREFIX);

	if (at != NULL)
		memset(at, 0, SP_GRPC_PREFIX);
}

void sp_grpc_frame_end(sp_buffer *out, bool compressed)
{
	unsigned char *at = (unsigned char *)out->data;
	size_t size = out->size - SP_GRPC_PREFIX;

	if (out->failed || out->size < SP_GRPC_PREFIX)
		return;
	at[0] = compressed;
	at[1] = (unsigned char)(size >> 24);
	at[2] = (unsigned char)(size >> 16);
	at[3] = (unsigned char)(size >> 8);
	at[4] = (unsigned char)size;
}
