#ifndef SP_OBJECT_STORE_TRANSFER_H
#define SP_OBJECT_STORE_TRANSFER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buffer.h"
#include "base/status.h"
#include "object_store/http_request.h"

/*
 * HTTP requests to stores, made by one thread of the process with libcurl, which is seen in
 * transfer.c only.
 *
 * An attempt that fails with a network error or a transient status (408, 425, 429, 5xx) is retried
 * with exponential backoff and jitter until the transfer's timeout.  All transfers share one retry
 * budget, so that retries do not overload a store that is failing.  Certificates are verified.
 * Redirects are not followed, except WebHDFS's to a data node.
 *
 * Threads: thread-safe; the callbacks are called by the transfers' thread.
 */
typedef struct sp_http_response {
	int status;      /* 0: not received yet */
	uint64_t length; /* Content-Length; UINT64_MAX: unknown */
	bool has_range;  /* Content-Range is there, and the next three are from it */
	uint64_t first, last, total;
	char etag[128];         /* "": none */
	char last_modified[48]; /* the header's text; "": none */
	int64_t modified_s;     /* the same as Unix time; 0: none */
	int64_t date_s;         /* the header Date as Unix time; 0: none */
} sp_http_response;

typedef struct sp_transfer sp_transfer;

struct sp_transfer {
	/*
	 * Fills in the request of the next attempt; the thread frees it.  A failure ends the
	 * transfer.
	 */
	sp_status (*prepare)(sp_transfer *transfer, sp_http_request *out, sp_error *err);

	/*
	 * Receives bytes of the body of a response with status 200 or 206; its headers are in
	 * `response`.  A failure ends the attempt; SP_BUSY: it may be retried.
	 */
	sp_status (*receive)(sp_transfer *transfer, const char *data, size_t size, sp_error *err);

	/*
	 * Checks a complete response, with the same results; NULL: not checked.  Its status may be
	 * 304 if the request is conditional.
	 */
	sp_status (*verify)(sp_transfer *transfer, sp_error *err);

	/* The last callback; the result is in `status` and `error`.  May free the transfer. */
	void (*end)(sp_transfer *transfer);

	int64_t timeout_ms; /* of all attempts together */
	int max_attempts;   /* in a row that receive nothing; 0: limited by the timeout only */
	bool is_direct;     /* without a proxy: the machine's metadata service */

	/* Set by the thread. */
	sp_http_response response; /* of the current attempt */
	sp_status status;
	sp_error error;
	bool is_denied;    /* the status was 401 or 403 */
	bool is_transient; /* the failure may pass by itself */
	struct sp_transfer_state *state;
	sp_transfer *next;
};

/* Joins the thread, which the first transfer started.  Unfinished transfers end as cancelled. */
void sp_transfers_close(void);

/* How many transfers run at a time, 1 to 64. */
void sp_transfers_set_connections(size_t count);

/*
 * The thread calls `source` for a transfer when none waits and a connection is free; NULL: there is
 * none.  Who has a new one calls sp_transfers_wake().
 */
void sp_transfers_set_source(sp_transfer *(*source)(void));
void sp_transfers_wake(void);

/*
 * Started before those of the source.  On failure (SP_NO_MEMORY, SP_IO: no thread) `end` is not
 * called.
 */
SP_MUST_CHECK sp_status sp_transfer_start(sp_transfer *transfer, sp_error *err);

/*
 * A request whose response the caller waits for.  Not for the transfers' thread.
 */
typedef struct sp_transfer_call {
	sp_status (*prepare)(void *context, sp_http_request *out, sp_error *err);
	void *context;
	int64_t timeout_ms;
	int max_attempts;
	bool is_direct;
	sp_buffer *body; /* one beyond its limit fails the call; NULL: the body is ignored */
	sp_http_response response;
	bool is_denied, is_transient; /* as in sp_transfer */
} sp_transfer_call;

SP_MUST_CHECK sp_status sp_transfer_call_make(sp_transfer_call *call, sp_error *err);

#endif
