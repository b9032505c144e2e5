#ifndef SP_API_HOST_HOST_H
#define SP_API_HOST_HOST_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "api/host/metrics/counters.h"
#include "api/host/flags.h"
#include "api/host/http/http_server.h"
#include "api/host/request_log.h"
#include "api/host/routes/request_queue.h"
#include "api/host/model/served_model.h"
#include "api/host/upkeep.h"
#include "base/budget.h"
#include "base/queue.h"
#include "base/status.h"
#include "base/thread.h"

/*
 * What all parts of serving_host share.  A request comes from an I/O thread of
 * the server to sp_route(), which answers what is quick, and puts what computes
 * into `queue`, for the threads of worker.c.  Once a second the main thread calls
 * sp_host_upkeep().
 */
typedef struct sp_host {
	const sp_flags *flags;
	size_t worker_count;
	sp_served_model model;
	atomic_bool available; /* the model is open: until then only its version is set */
	atomic_bool draining;
	sp_http_server *server;
	sp_budget memory;           /* of requests and answers */
	sp_request_queue *queue;    /* of sp_http_request */
	sp_queue *orders;           /* the same, of those about versions */
	sp_queue *scrapes;          /* the same, of those for metrics */
	struct sp_workers *workers; /* worker.h */
	int64_t started;            /* when it was, as a Unix time */
	sp_counters counters;
	sp_request_log request_log;
	sp_upkeep upkeep;
} sp_host;

/*
 * Finds the model, listens, and starts all threads: probes are answered, the
 * model is not there yet.
 */
SP_MUST_CHECK sp_status sp_host_start(sp_host *host, const sp_flags *flags, sp_error *err);

/* Opens the model; may take minutes.  After it requests are computed. */
SP_MUST_CHECK sp_status sp_host_load(sp_host *host, sp_error *err);

/* Not ready from now on, but serving. */
void sp_host_drain(sp_host *host);

/* What is due every SP_UPKEEP_MS. */
void sp_host_upkeep(sp_host *host);

/* Whether a request has begun to come in, or waits for its answer. */
bool sp_host_is_busy(const sp_host *host);

/* As sp_http_server_stop(). */
bool sp_host_stop(sp_host *host, int64_t timeout_ms);

/* Joins all threads and closes the model; after a stop that returned true. */
void sp_host_finish(sp_host *host);

#endif
