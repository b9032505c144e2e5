#ifndef SP_API_HOST_ROUTES_SERVING_H
#define SP_API_HOST_ROUTES_SERVING_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "api/host/flags.h"
#include "api/host/http/http_server.h"
#include "api/host/metrics/counters.h"
#include "api/host/model/served_model.h"
#include "api/host/routes/request_queue.h"
#include "base/budget.h"
#include "base/queue.h"

/*
 * The state that all routes share: the model, the queues to the worker threads, and the counters.
 * host.c fills it in before the first request.
 *
 * Threads: the atomics and the members with locks of their own may change; all else is constant
 * once `available` is true.
 */
typedef struct sp_serving {
	const sp_flags *flags;
	sp_served_model model;
	atomic_bool available;   /* the model is open; before, only model.version is set */
	atomic_bool draining;    /* the process is about to end */
	sp_http_server *server;  /* only for sp_http_server_get_load() */
	sp_budget memory;        /* of requests and answers */
	sp_request_queue *queue; /* of sp_http_request: predictions, for the workers */
	sp_queue *orders;        /* likewise: orders about versions */
	sp_queue *scrapes;       /* likewise: requests for metrics */
	size_t worker_count;
	int64_t started; /* Unix time */
	sp_counters counters;
} sp_serving;

#endif
