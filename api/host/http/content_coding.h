#ifndef SP_API_HOST_HTTP_CONTENT_CODING_H
#define SP_API_HOST_HTTP_CONTENT_CODING_H

#include "base/buffer.h"
#include "base/bytes.h"
#include "base/status.h"

/*
 * Compressed bodies and messages: "gzip" (RFC 1952) and "deflate", which is zlib's format (RFC
 * 1950), as HTTP's Content-Encoding and gRPC's grpc-encoding name them.
 *
 * Threads: pure, but for the buffers.
 */
typedef enum sp_content_coding {
	SP_CODING_IDENTITY,
	SP_CODING_GZIP,
	SP_CODING_DEFLATE,
	SP_CODING_UNKNOWN,
} sp_content_coding;

/* By the value of a Content-Encoding header, without case; identity if it is empty. */
sp_content_coding sp_content_coding_of(sp_bytes name);

/*
 * The coding to answer with, by the value of an Accept-Encoding header: gzip or deflate, whichever
 * is named first with a weight other than 0, else identity.
 */
sp_content_coding sp_content_coding_accepted(sp_bytes accept_encoding);

/* The header's value; NULL for identity and unknown codings. */
const char *sp_content_coding_name(sp_content_coding coding);

/*
 * A body may be this many times as large as what was sent, beyond the first megabyte, and have so
 * many bytes, as in TensorFlow Serving.
 */
enum { SP_CODING_MAX_RATIO = 200, SP_CODING_MAX_BYTES = 100 << 20 };

/*
 * Appends the decoded bytes to `out`, whose max_size bounds them, too.
 *
 * Errors: SP_INVALID when the data are malformed, truncated or followed by others; SP_UNSUPPORTED
 * for an unknown coding; SP_BUSY when the result exceeds a limit; SP_NO_MEMORY.
 */
SP_MUST_CHECK sp_status sp_content_decode(sp_buffer *out, sp_content_coding coding, sp_bytes data,
					  sp_error *err);

/* Appends `data` encoded, at the fastest level; a failure is remembered in `out`. */
void sp_content_encode(sp_buffer *out, sp_content_coding coding, sp_bytes data);

#endif
