#ifndef SP_API_HOST_OBSERVE_TRACE_CONTEXT_H
#define SP_API_HOST_OBSERVE_TRACE_CONTEXT_H

#include <stdbool.h>

#include "base/bytes.h"

/*
 * The trace that a request belongs to (W3C Trace Context, level 1): that of its header
 * "traceparent",
 *
 *	00-<trace id, 32 hexadecimal digits>-<span id, 16>-<flags, 2; bit 0: sampled>
 *
 * or one of its own.  A header that is not well formed counts as none.
 *
 * Threads: pure, but for random numbers, of which each thread has its own.
 */
enum { SP_TRACE_ID = 16, SP_SPAN_ID = 8, SP_TRACE_ID_TEXT = 2 * SP_TRACE_ID + 1 };

typedef struct sp_trace_context {
	bool known;   /* there is a trace id */
	bool sampled; /* its spans are wanted */
	bool has_parent;
	unsigned char trace_id[SP_TRACE_ID];
	unsigned char parent_id[SP_SPAN_ID]; /* the caller's span */
} sp_trace_context;

/* False: it is not well formed; *out is all zero. */
bool sp_trace_context_parse(sp_trace_context *out, sp_bytes header);

/*
 * The trace of a request with this header ({NULL, 0}: none): without a good one it is sampled at
 * `rate` from 0 to 1, and only then gets an id.
 */
void sp_trace_context_take(sp_trace_context *out, sp_bytes header, double rate);

/* Random bytes that are not all zero. */
void sp_trace_new_id(unsigned char *id, size_t size);

#endif
