#include <string.h>
#include <strings.h>

#include "api/host/http/http_internal.h"
#include "base/words.h"

/* ------------------------------------------------------------- characters */

/* RFC 9110, section 5.6.2: methods and header names consist of these. */
static const bool token_chars[256] = {
	['0' ... '9'] = true, ['A' ... 'Z'] = true, ['a' ... 'z'] = true, ['!'] = true,
	['#'] = true,         ['$'] = true,         ['%'] = true,         ['&'] = true,
	['\''] = true,        ['*'] = true,         ['+'] = true,         ['-'] = true,
	['.'] = true,         ['^'] = true,         ['_'] = true,         ['`'] = true,
	['|'] = true,         ['~'] = true,
};

bool sp_http__is_token_char(char c)
{
	return token_chars[(unsigned char)c];
}

static bool is_token(sp_bytes text)
{
	for (size_t i = 0; i < text.size; i++)
		if (!sp_http__is_token_char(text.data[i]))
			return false;
	return text.size != 0;
}

/* No control characters except tab; bytes above ASCII are allowed. */
bool sp_http__is_field_value(sp_bytes text)
{
	for (size_t i = 0; i < text.size; i++) {
		unsigned char c = (unsigned char)text.data[i];

		if ((c < 0x20 && c != '\t') || c == 0x7f)
			return false;
	}
	return true;
}

/* -------------------------------------------------------------------- find */

sp_http_scan sp_http_head_find(sp_bytes data, size_t *size, size_t *scanned)
{
	while (*scanned < data.size) {
		const char *from = data.data + *scanned;
		const char *lf = memchr(from, '\n', data.size - *scanned);

		if (lf == NULL) {
			*scanned = data.size;
			break;
		}
		if (lf == data.data || lf[-1] != '\r')
			return SP_HTTP_SCAN_BAD;
		*scanned = (size_t)(lf - data.data) + 1;
		if (*scanned >= 4 && memcmp(lf - 3, "\r\n\r\n", 4) == 0) {
			*size = *scanned;
			return SP_HTTP_SCAN_DONE;
		}
	}
	return SP_HTTP_SCAN_MORE;
}

/* ------------------------------------------------------------ request line */

static const struct {
	const char *name;
	sp_http_method method;
} methods[] = {
	{"GET", SP_HTTP_GET},
	{"HEAD", SP_HTTP_HEAD},
	{"POST", SP_HTTP_POST},
	{"OPTIONS", SP_HTTP_OPTIONS},
};

static int refuse(int code, const char *reason, sp_error *err)
{
	sp_error_set(err, SP_INVALID, "%s", reason);
	return code;
}

/* The part of *line before the next space; *line becomes what follows the space. */
static sp_bytes next_word(sp_bytes *line)
{
	const char *space = memchr(line->data, ' ', line->size);
	sp_bytes word = *line;

	if (space == NULL) {
		*line = (sp_bytes){line->data + line->size, 0};
		return word;
	}
	word.size = (size_t)(space - line->data);
	*line = (sp_bytes){space + 1, line->size - word.size - 1};
	return word;
}

/* "/path?query", "http://host/path?query", or "*". */
static bool read_target(sp_http_head *out, sp_bytes target)
{
	const char *query;

	for (size_t i = 0; i < target.size; i++)
		if ((unsigned char)target.data[i] <= ' ' || (unsigned char)target.data[i] >= 0x7f)
			return false;
	if (target.size > 7 && strncasecmp(target.data, "http://", 7) == 0) {
		const char *path = memchr(target.data + 7, '/', target.size - 7);

		if (path == NULL)
			return false;
		target.size -= (size_t)(path - target.data);
		target.data = path;
	}
	if (target.size == 0 || (*target.data != '/' && !sp_bytes_equal_text(target, "*")))
		return false;
	query = memchr(target.data, '?', target.size);
	if (query != NULL)
		target.size = (size_t)(query - target.data);
	out->path = target;
	return true;
}

static int read_method(sp_http_head *out, sp_bytes name, sp_error *err)
{
	out->method_name = name;
	out->method = SP_HTTP_OTHER;
	for (size_t i = 0; i < sizeof(methods) / sizeof(methods[0]); i++)
		if (sp_bytes_equal_text(name, methods[i].name))
			out->method = methods[i].method;
	return is_token(name) ? 0 : refuse(400, "Bad request: malformed method", err);
}

static int read_request_line(sp_http_head *out, sp_bytes line, sp_error *err)
{
	sp_bytes target;
	int code;

	code = read_method(out, next_word(&line), err);
	target = next_word(&line);
	if (code != 0)
		return code;
	if (!read_target(out, target))
		return refuse(400, "Bad request: malformed target", err);
	if (sp_bytes_equal_text(line, "HTTP/1.1"))
		out->minor = 1;
	else if (sp_bytes_equal_text(line, "HTTP/1.0"))
		out->minor = 0;
	else if (line.size == 8 && sp_bytes_starts_with(line, "HTTP/"))
		return refuse(505, "HTTP version not supported", err);
	else
		return refuse(400, "Bad request: malformed request line", err);
	return 0;
}

/* ----------------------------------------------------------------- headers */

static int read_header(sp_http_head *out, sp_bytes line, sp_error *err)
{
	const char *colon = memchr(line.data, ':', line.size);
	sp_http_header header;

	if (colon == NULL)
		return refuse(400, "Bad request: header without a colon", err);
	header.name = (sp_bytes){line.data, (size_t)(colon - line.data)};
	header.value = sp_words_trim((sp_bytes){colon + 1, line.size - header.name.size - 1});
	if (!is_token(header.name))
		return refuse(400, "Bad request: malformed header name", err);
	if (!sp_http__is_field_value(header.value))
		return refuse(400, "Bad request: malformed header value", err);
	if (out->header_count == SP_HTTP_MAX_HEADERS)
		return refuse(431, "Request header fields too many", err);
	out->headers[out->header_count++] = header;
	return 0;
}

/* How many headers of that name there are; the value of the last one. */
static size_t count_headers(const sp_http_head *head, const char *name, sp_bytes *value)
{
	size_t count = 0;

	for (size_t i = 0; i < head->header_count; i++)
		if (sp_words_equal(head->headers[i].name, name)) {
			*value = head->headers[i].value;
			count++;
		}
	return count;
}

sp_bytes sp_http_head_get(const sp_http_head *head, const char *name)
{
	for (size_t i = 0; i < head->header_count; i++)
		if (sp_words_equal(head->headers[i].name, name))
			return head->headers[i].value;
	return (sp_bytes){NULL, 0};
}

static bool read_length(sp_bytes digits, uint64_t *out)
{
	uint64_t value = 0;

	for (size_t i = 0; i < digits.size; i++) {
		if (digits.data[i] < '0' || digits.data[i] > '9')
			return false;
		if (__builtin_mul_overflow(value, 10u, &value) ||
		    __builtin_add_overflow(value, (uint64_t)(digits.data[i] - '0'), &value))
			return false;
	}
	*out = value;
	return digits.size != 0;
}

static int read_framing(sp_http_head *out, sp_error *err)
{
	sp_bytes length, encoding;
	size_t lengths = count_headers(out, "content-length", &length);
	size_t encodings = count_headers(out, "transfer-encoding", &encoding);

	if (lengths > 1 || encodings > 1 || (lengths != 0 && encodings != 0))
		return refuse(400, "Bad request: ambiguous body length", err);
	if (lengths != 0 && !read_length(length, &out->content_length))
		return refuse(400, "Bad request: malformed Content-Length", err);
	if (encodings == 0)
		return 0;
	if (!sp_words_equal(encoding, "chunked"))
		return refuse(501, "Transfer-Encoding not supported", err);
	if (out->minor == 0)
		return refuse(400, "Bad request: Transfer-Encoding in HTTP/1.0", err);
	out->chunked = true;
	return 0;
}

/* Whether a comma-separated list contains the word. */
static bool list_has(sp_bytes list, const char *word)
{
	while (list.size != 0) {
		const char *comma = memchr(list.data, ',', list.size);
		size_t n = comma == NULL ? list.size : (size_t)(comma - list.data);

		if (sp_words_equal(sp_words_trim((sp_bytes){list.data, n}), word))
			return true;
		n += comma != NULL;
		list = (sp_bytes){list.data + n, list.size - n};
	}
	return false;
}

static int read_expect(sp_http_head *out, sp_error *err)
{
	sp_bytes expect = sp_http_head_get(out, "expect");

	if (expect.data == NULL || (out->major == 1 && out->minor == 0))
		return 0;
	if (!sp_words_equal(expect, "100-continue"))
		return refuse(417, "Expectation failed", err);
	out->expect_continue = true;
	return 0;
}

static int read_connection(sp_http_head *out, sp_error *err)
{
	bool keep = false;

	for (size_t i = 0; i < out->header_count; i++) {
		if (!sp_words_equal(out->headers[i].name, "connection"))
			continue;
		out->close |= list_has(out->headers[i].value, "close");
		keep |= list_has(out->headers[i].value, "keep-alive");
	}
	if (out->minor == 0 && !keep)
		out->close = true;
	return read_expect(out, err);
}

/* A client asks for HTTP/2 on this connection by three headers (RFC 7540, section 3.2). */
static void read_upgrade(sp_http_head *out)
{
	sp_bytes settings, upgrade = sp_http_head_get(out, "upgrade");
	bool named = false;

	for (size_t i = 0; i < out->header_count; i++)
		named |= sp_words_equal(out->headers[i].name, "connection") &&
			 list_has(out->headers[i].value, "http2-settings");
	if (out->minor == 1 && named && list_has(upgrade, "h2c") &&
	    count_headers(out, "http2-settings", &settings) == 1)
		out->h2c_settings = settings;
}

static int check_host(const sp_http_head *head, sp_error *err)
{
	sp_bytes host;
	size_t hosts = count_headers(head, "host", &host);

	if (hosts > 1 || (hosts == 0 && head->minor != 0))
		return refuse(400, "Bad request: there must be one Host header", err);
	return 0;
}

/* The text up to the next CR LF, which must be there. */
static sp_bytes next_line(sp_bytes *text)
{
	const char *lf = memchr(text->data, '\n', text->size);
	sp_bytes line = {text->data, (size_t)(lf - text->data) - 1};

	*text = (sp_bytes){lf + 1, text->size - line.size - 2};
	return line;
}

int sp_http_head_parse(sp_http_head *out, sp_bytes text, sp_error *err)
{
	int code;

	*out = (sp_http_head){.major = 1};
	code = read_request_line(out, next_line(&text), err);
	while (code == 0) {
		sp_bytes line = next_line(&text);

		if (line.size == 0)
			break;
		code = read_header(out, line, err);
	}
	if (code == 0)
		code = check_host(out, err);
	if (code == 0)
		code = read_framing(out, err);
	if (code == 0)
		code = read_connection(out, err);
	if (code == 0)
		read_upgrade(out);
	return code;
}

int sp_http__head_complete(sp_http_head *head, sp_bytes method, sp_bytes target, sp_error *err)
{
	int code = read_method(head, method, err);

	head->major = 2;
	head->minor = 0;
	head->close = head->chunked = head->expect_continue = false;
	head->content_length = 0;
	head->h2c_settings = (sp_bytes){NULL, 0};
	if (code == 0 && sp_bytes_equal_text(method, "CONNECT"))
		code = refuse(501, "CONNECT not supported", err);
	if (code == 0 && !read_target(head, target))
		code = refuse(400, "Bad request: malformed target", err);
	for (size_t i = 0; i < head->header_count && code == 0; i++)
		if (!is_token(head->headers[i].name) ||
		    !sp_http__is_field_value(head->headers[i].value))
			code = refuse(400, "Bad request: malformed header", err);
	if (code == 0)
		code = read_framing(head, err);
	if (code == 0)
		code = read_expect(head, err);
	return code;
}
