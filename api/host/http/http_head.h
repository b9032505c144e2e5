#ifndef SP_API_HOST_HTTP_HTTP_HEAD_H
#define SP_API_HOST_HTTP_HTTP_HEAD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/bytes.h"
#include "base/status.h"

/*
 * The head of an HTTP/1.1 request: request line and header fields (RFC 9112), read
 * strictly.  Two servers that read one request differently let a client smuggle a
 * second request past a proxy, so everything ambiguous is refused: bare LF and CR,
 * folded lines, space around header names, control characters, a second
 * Content-Length or Host, a Content-Length that is not digits, both Content-Length and
 * Transfer-Encoding, and any Transfer-Encoding other than "chunked".
 *
 * Threads: pure.
 */

enum { SP_HTTP_MAX_HEADERS = 100 };

typedef enum sp_http_method {
	SP_HTTP_GET,
	SP_HTTP_HEAD,
	SP_HTTP_POST,
	SP_HTTP_OPTIONS,
	SP_HTTP_OTHER,
} sp_http_method;

typedef struct sp_http_header {
	sp_bytes name;
	sp_bytes value; /* without the space around it */
} sp_http_header;

/* All bytes are views of the parsed text. */
typedef struct sp_http_head {
	sp_http_method method;
	sp_bytes method_name;
	sp_bytes path; /* as sent: percent-encoded, without "?query" */
	int major;     /* of the version of HTTP: 1 or 2 */
	int minor;     /* HTTP/1.0 or 1.1 */
	bool close;    /* the client sends no further request on this connection */
	bool chunked;
	uint64_t content_length; /* 0 without that header */
	bool expect_continue;
	sp_bytes
		h2c_settings; /* value of HTTP2-Settings if the client asks for HTTP/2, else NULL */
	sp_http_header headers[SP_HTTP_MAX_HEADERS];
	size_t header_count;
} sp_http_head;

typedef enum sp_http_scan { SP_HTTP_SCAN_MORE, SP_HTTP_SCAN_DONE, SP_HTTP_SCAN_BAD } sp_http_scan;

/*
 * Looks for the empty line that ends a head which starts at the first byte of `data`.
 *
 * size     on DONE: bytes of the head, including the empty line
 * scanned  bytes that earlier calls with a prefix of `data` have scanned; 0 at first
 *
 * BAD when a line does not end in CR LF.
 */
sp_http_scan sp_http_head_find(sp_bytes data, size_t *size, size_t *scanned);

/*
 * Parses a head that sp_http_head_find() has delimited.  Returns 0, or the HTTP status
 * with which the request must be refused (400, 417, 431, 501, 505) and the reason in
 * *err.  After a refusal the connection must be closed: where the next request starts
 * is unknown.
 */
int sp_http_head_parse(sp_http_head *out, sp_bytes text, sp_error *err);

/* The value of the first header with that name, compared without case; {NULL, 0} if none. */
sp_bytes sp_http_head_get(const sp_http_head *head, const char *name);

#endif
