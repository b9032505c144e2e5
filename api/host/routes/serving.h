#ifndef SP_API_HOST_ROUTES_SERVING_H
#define SP_API_HOST_ROUTES_SERVING_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "api/host/flags.h"
#include "api/host/http/http_server.h"
#include "api/host/metrics/counters.h"
#include "api/host/model/models.h"
#include "api/host/observe/observer.h"
#include "api/host/routes/job_here.h"
#include "api/host/routes/request_queue.h"
#include "base/budget.h"

/*
 * The state that all routes share: the model, the queues to the worker threads, and the counters.
 * host.c fills it in before the first request.
 *
 * Threads: the atomics and the members with locks of their own may change; all else is constant.
 */
typedef struct sp_serving {
	const sp_flags *flags;
	sp_models *models;
	atomic_bool draining;         /* the process is about to end */
	sp_http_server *server;       /* only for sp_http_server_get_load() */
	const char *metrics_path;     /* "": none */
	const char *thread_pool_name; /* of batching, for metrics */
	sp_budget memory;             /* of requests and answers */
	sp_jobs_here *here;           /* predictions that I/O threads compute; NULL: none */
	sp_request_queue *queue;      /* predictions, for the workers */
	sp_request_queue *orders;     /* orders about versions */
	sp_request_queue *scrapes;    /* requests for metrics */
	size_t worker_count;
	int64_t started; /* Unix time */
	sp_counters counters;
	const sp_observer *observer;        /* NULL: none */
	struct sp_admin_token *admin_token; /* of the admin listener; NULL: it needs none */
} sp_serving;

/*
 * Tags a request for the counters: what it asks for, and of which model; NULL: no known model. Call
 * it before the request is queued or answered.
 */
void sp_serving_tag(sp_http_request *request, sp_request_kind kind, const sp_model *model);

/* A thread begins the request: notes it in the request's record. */
void sp_serving_begin(const sp_serving *serving, sp_http_request *request, int64_t now_ns);

/* The reverse, for the observer of answers; *model is NULL if there is none. */
sp_request_kind sp_serving_read_tag(const sp_serving *serving, int tag, sp_model **model);

/* Whether the host is ready for predictions; if not, `why` gets the reason unless it is NULL. */
bool sp_serving_is_ready(const sp_serving *serving, char why[SP_UNREADY_SIZE]);

#define SP_SERVING_NO_ORDERS "Only with --admin_routes"
#define SP_SERVING_NO_UNLOAD                                                                    \
	"a model is unloaded by a configuration without it (HandleReloadConfigRequest), or on " \
	"the admin listener"

/*
 * Gives the processor of a model an order (serving_processor_give_order()), by whom `request` came.
 * Errors: those of sp_models_acquire() and of the order.
 */
SP_MUST_CHECK sp_status sp_serving_order(const sp_serving *serving, const sp_http_request *request,
					 sp_bytes model, serving_processor_order order,
					 int64_t full_step, int64_t delta_step, sp_error *err);

#endif
