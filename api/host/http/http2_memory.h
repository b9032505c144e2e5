#ifndef SP_API_HOST_HTTP_HTTP2_MEMORY_H
#define SP_API_HOST_HTTP_HTTP2_MEMORY_H

#include <stdbool.h>
#include <stddef.h>

#include <nghttp2/nghttp2.h>

#include "api/host/http/http_internal.h"
#include "base/budget.h"

/*
 * The memory of one connection of HTTP/2, with a limit: nghttp2 asks for some for every stream,
 * header and frame.  Blocks that are given back are kept in the loop for the next request.
 *
 * Threads: that of the loop.
 */
typedef struct sp_http2_memory {
	sp_http_loop *loop;
	sp_budget *budget;
	size_t limit;
	size_t used;
	size_t charged; /* to the budget, in steps */
} sp_http2_memory;

void sp_http2_memory_init(sp_http2_memory *memory, sp_http_loop *loop, sp_budget *budget,
			  size_t limit);

/* All blocks have been freed before. */
void sp_http2_memory_fini(sp_http2_memory *memory);

/* NULL beyond the limit or the budget. */
void *sp_http2_memory_alloc(sp_http2_memory *memory, size_t size);

/* NULL is fine. */
void sp_http2_memory_free(sp_http2_memory *memory, void *block);

/* Counts memory that comes from elsewhere; false, with nothing changed, beyond the limit. */
SP_MUST_CHECK bool sp_http2_memory_count(sp_http2_memory *memory, size_t size);
void sp_http2_memory_uncount(sp_http2_memory *memory, size_t size);

/* The connection is idle: gives the budget back what is not used. */
void sp_http2_memory_settle(sp_http2_memory *memory);

nghttp2_mem sp_http2_memory_functions(sp_http2_memory *memory);

/* Frees what the loop has kept. */
void sp_http2_memory_drop_spare(sp_http_loop *loop);

#endif
