#ifndef SP_API_HOST_HTTP_HTTP_HEAD_H
#define SP_API_HOST_HTTP_HTTP_HEAD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buffer.h"
#include "base/bytes.h"
#include "base/status.h"

/*
 * The framing of HTTP/1.1 requests (RFC 9112), read strictly: whatever two
 * servers might read differently is refused, since that is how a request is
 * smuggled past a proxy.  Refused are bare LF and CR, folded lines, space
 * around header names, control characters, a second Content-Length or Host,
 * Content-Length that is not digits, both Content-Length and
 * Transfer-Encoding, and any Transfer-Encoding other than "chunked".
 *
 * Threads: pure.
 */

/* ------------------------------------------------------------------- head */

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

/* All bytes are views of the text that was parsed. */
typedef struct sp_http_head {
	sp_http_method method;
	sp_bytes method_name;
	sp_bytes path; /* as sent, in its percent encoding, without "?query" */
	int minor;     /* HTTP/1.0 or 1.1 */
	bool close;    /* the client wants no further request on this connection */
	bool chunked;
	uint64_t content_length; /* 0 without that header */
	bool expect_continue;
	sp_http_header headers[SP_HTTP_MAX_HEADERS];
	size_t header_count;
} sp_http_head;

typedef enum sp_http_scan { SP_HTTP_SCAN_MORE, SP_HTTP_SCAN_DONE, SP_HTTP_SCAN_BAD } sp_http_scan;

/*
 * Looks for the end of a head at the beginning of `data`.
 *
 * size     on DONE: bytes of the head with its empty line
 * scanned  how far an earlier call with less data got; 0 at first
 *
 * BAD: a line does not end in CR LF, so no end would be the right one.
 */
sp_http_scan sp_http_head_find(sp_bytes data, size_t *size, size_t *scanned);

/*
 * Reads a head that sp_http_head_find() has found.  Returns 0, or the HTTP
 * status with which the request must be refused (400, 417, 431, 501, 505), and
 * then the reason in *err; after a refusal nothing more can be read from the
 * connection.
 */
int sp_http_head_parse(sp_http_head *out, sp_bytes text, sp_error *err);

/* The value of the first header of that name, in any case; {NULL, 0} without one. */
sp_bytes sp_http_head_get(const sp_http_head *head, const char *name);

/* ----------------------------------------------------------------- chunks */

/* A chunked body, decoded as it comes in.  Begin with all zero. */
typedef struct sp_http_chunks {
	int state;
	uint64_t left;     /* of the chunk */
	size_t line_bytes; /* of the line that is being read */
	size_t trailer_bytes;
} sp_http_chunks;

typedef enum sp_http_chunks_result {
	SP_HTTP_CHUNKS_MORE,
	SP_HTTP_CHUNKS_DONE,
	SP_HTTP_CHUNKS_BAD,
	SP_HTTP_CHUNKS_TOO_LARGE,
	SP_HTTP_CHUNKS_NO_MEMORY,
} sp_http_chunks_result;

/*
 * Takes in more bytes, appends what they decode to.  Extensions and trailers
 * are dropped.  `used` says how many bytes belong to the body: what is behind
 * is the next request.  TOO_LARGE when the body would pass its max_size.
 */
sp_http_chunks_result sp_http_chunks_feed(sp_http_chunks *chunks, sp_bytes data, size_t *used,
					  sp_buffer *body);

#endif
