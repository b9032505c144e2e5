#ifndef SP_API_HOST_HTTP_HTTP_CHUNKS_H
#define SP_API_HOST_HTTP_HTTP_CHUNKS_H

#include <stddef.h>
#include <stdint.h>

#include "base/buffer.h"
#include "base/bytes.h"

/*
 * The chunked transfer coding of HTTP/1.1 (RFC 9112, section 7.1), decoded as the
 * bytes arrive.  All zero is the initial state.
 *
 * Threads: pure.
 */
typedef struct sp_http_chunks {
	int state;
	uint64_t left;     /* data bytes still missing from the current chunk */
	size_t line_bytes; /* length so far of the current size line */
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
 * Consumes `data` and appends the decoded bytes to `body`.  Chunk extensions and trailer fields are
 * dropped.
 *
 * used  how many bytes of `data` belong to this body; the next request follows them
 *
 * TOO_LARGE if the body would exceed body->max_size, NO_MEMORY if `body` has failed.
 */
sp_http_chunks_result sp_http_chunks_feed(sp_http_chunks *chunks, sp_bytes data, size_t *used,
					  sp_buffer *body);

#endif
