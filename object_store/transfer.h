#ifndef SP_OBJECT_STORE_TRANSFER_H
#define SP_OBJECT_STORE_TRANSFER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buffer.h"
#include "base/status.h"
#include "object_store/http_request.h"

/*
 * Requests to stores, carried out by one thread of the process with libcurl, which is seen in
 * transfer.c only.
 *
 * An attempt that fails by the network, or by an answer that says that it may pass (408, 425, 429,
 * 5xx), is repeated after a pause that doubles, with a random part, until the transfer's time is
 * over.  All transfers together have a budget of such repetitions, so that a store in trouble is
 * not asked ever more.  Certificates are verified.  No redirect is followed, but the one of WebHDFS
 * to a data node.
 *
 * Threads: thread-safe; the callbacks are called by the transfers' thread.
 */
typedef struct sp_http_answer {
	int status;      /* 0: none yet */
	uint64_t length; /* Content-Length; UINT64_MAX: unknown */
	bool has_range;  /* Content-Range is there, and the next three are from it */
	uint64_t first, last, total;
	char etag[128];    /* "": none */
	char changed[48];  /* Last-Modified, as it came; "": none */
	int64_t changed_s; /* and as Unix time; 0: none */
	int64_t date_s;    /* Date, as Unix time; 0: none */
} sp_http_answer;

typedef struct sp_transfer sp_transfer;

struct sp_transfer {
	/*
	 * Fills in the request of the next attempt.  A failure ends the transfer.  It is freed by
	 * the thread.
	 */
	sp_status (*prepare)(sp_transfer *transfer, sp_http_request *out, sp_error *err);

	/*
	 * Bytes of the body of an answer with status 200 or 206, whose headers are in `answer`.
	 * Returns SP_OK, or why the attempt ends: SP_BUSY if it may be repeated.
	 */
	sp_status (*take)(sp_transfer *transfer, const char *data, size_t size, sp_error *err);

	/*
	 * Judges a complete answer in the same way; NULL: it is good.  Its status is 304 if that is
	 * what the request asked for (is_conditional).
	 */
	sp_status (*judge)(sp_transfer *transfer, sp_error *err);

	/* The last call: the result is in `status` and `error`.  May free the transfer. */
	void (*end)(sp_transfer *transfer);

	int64_t timeout_ms; /* of all attempts together */
	int attempts_most;  /* without any byte; 0: no limit but the time */
	bool is_direct;     /* through no proxy: the metadata of the machine */

	/* Of the thread. */
	sp_http_answer answer; /* of the current attempt */
	sp_status status;
	sp_error error;
	bool is_denied; /* the answer was 401 or 403 */
	bool may_pass;  /* the failure may pass by itself */
	struct sp_transfer_run *run;
	sp_transfer *next;
};

/* Joins the thread, which the first transfer has started; what is under way ends as cancelled. */
void sp_transfers_close(void);

/* How many transfers are made at a time, 1 to 64. */
void sp_transfers_set_connections(size_t count);

/*
 * Asked for a transfer whenever none is waiting and a connection is free; gives NULL if there is
 * none.  Whoever has a new one calls sp_transfers_wake().
 */
void sp_transfers_set_source(sp_transfer *(*source)(void));
void sp_transfers_wake(void);

/* Before those of the source.  SP_NO_MEMORY, SP_IO: there is no thread, and `end` isn't called. */
SP_MUST_CHECK sp_status sp_transfer_start(sp_transfer *transfer, sp_error *err);

/*
 * Makes a request and waits for its answer.  `body` NULL: none is wanted.  Not by the transfers'
 * thread.
 */
typedef struct sp_transfer_call {
	sp_status (*prepare)(void *context, sp_http_request *out, sp_error *err);
	void *context;
	int64_t timeout_ms;
	int attempts_most; /* as above */
	bool is_direct;
	sp_buffer *body; /* fails if it grows too large */
	sp_http_answer answer;
	bool is_denied;
	bool may_pass; /* the failure may pass by itself */
} sp_transfer_call;

SP_MUST_CHECK sp_status sp_transfer_call_make(sp_transfer_call *call, sp_error *err);

#endif
