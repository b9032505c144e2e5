#ifndef SP_API_HOST_GRPC_GRPC_PROTOCOL_H
#define SP_API_HOST_GRPC_GRPC_PROTOCOL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buffer.h"
#include "base/bytes.h"
#include "base/status.h"

/*
 * gRPC over HTTP/2, without any socket: what is in a request's headers and body, and what goes
 * into an answer's.
 *
 * A body is messages, each behind five bytes: whether it is compressed, and its length, big-endian.
 *
 * Threads: pure.
 */

/* gRPC's status codes. */
typedef enum sp_grpc_code {
	SP_GRPC_OK = 0,
	SP_GRPC_CANCELLED = 1,
	SP_GRPC_UNKNOWN = 2,
	SP_GRPC_INVALID_ARGUMENT = 3,
	SP_GRPC_DEADLINE_EXCEEDED = 4,
	SP_GRPC_NOT_FOUND = 5,
	SP_GRPC_PERMISSION_DENIED = 7,
	SP_GRPC_RESOURCE_EXHAUSTED = 8,
	SP_GRPC_FAILED_PRECONDITION = 9,
	SP_GRPC_UNIMPLEMENTED = 12,
	SP_GRPC_INTERNAL = 13,
	SP_GRPC_UNAVAILABLE = 14,
	SP_GRPC_DATA_LOSS = 15,
} sp_grpc_code;

/* The code of a failure while a request was answered; SP_BUSY is RESOURCE_EXHAUSTED. */
sp_grpc_code sp_grpc_code_of(sp_status status);

/* The HTTP status by which counters and logs know a call with this code. */
int sp_grpc_http_status(sp_grpc_code code);

/* The code for an HTTP status with which the server refuses a request. */
sp_grpc_code sp_grpc_code_of_http(int status);

/* Whether the content-type is "application/grpc", also with "+proto" or parameters. */
bool sp_grpc_is_content_type(sp_bytes value);

/* Reads a grpc-timeout, "100m": false if it is malformed.  Too long a time is the longest. */
SP_MUST_CHECK bool sp_grpc_timeout(sp_bytes value, int64_t *ns);

/* Writes a grpc-message: bytes other than printable ASCII become %XX.  Cut at the size. */
void sp_grpc_message(char *out, size_t size, const char *text);

enum { SP_GRPC_PREFIX = 5 };

typedef struct sp_grpc_frame {
	bool compressed;
	sp_bytes message;
	size_t size; /* with the prefix */
} sp_grpc_frame;

typedef enum sp_grpc_read { SP_GRPC_READ_DONE, SP_GRPC_READ_MORE, SP_GRPC_READ_BAD } sp_grpc_read;

/*
 * The message at the start of `body`.  MORE: it is incomplete, and out->size how much it needs.
 * BAD: its flags are unknown.
 */
SP_MUST_CHECK sp_grpc_read sp_grpc_frame_read(sp_grpc_frame *out, sp_bytes body);

/* Reserves room for a prefix, and fills it in when the message behind it is complete. */
void sp_grpc_frame_begin(sp_buffer *out);
void sp_grpc_frame_end(sp_buffer *out, bool compressed);

#endif
