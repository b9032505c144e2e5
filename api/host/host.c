#include "api/host/host.h"

#include <string.h>
#include <time.h>
#include <unistd.h>

#include "api/host/route.h"
#include "api/host/worker.h"

enum { MAX_ORDERS = 4, MAX_SCRAPES = 4 };
enum { MAX_HEAD_BYTES = 16 << 10, HEAD_TIMEOUT_MS = 10000 };

static int64_t cpu_count(void)
{
	long count = sysconf(_SC_NPROCESSORS_ONLN);

	return count > 0 ? (int64_t)count : 1;
}

static void handle(void *context, sp_http_request *request)
{
	sp_route(context, request);
}

static void note_answer(void *context, const sp_http_outcome *outcome)
{
	sp_host *host = context;

	sp_counters_answer(&host->counters, (sp_asked)outcome->tag, outcome->status,
			   outcome->took_ns);
	sp_request_log_outcome(&host->request_log, host->flags->model_name, outcome);
}

static sp_status start_server(sp_host *host, sp_error *err)
{
	const sp_flags *flags = host->flags;
	int64_t io_threads = flags->rest_api_num_io_threads;
	sp_http_options options = {
		.host = flags->rest_api_host,
		.port = (uint16_t)flags->rest_api_port,
		.reuse_port = flags->reuse_port,
		.cors = flags->rest_api_enable_cors_support,
		.io_threads = (size_t)(io_threads != 0 ? io_threads : (cpu_count() + 7) / 8),
		.max_connections = (size_t)flags->max_connections,
		.max_head_bytes = MAX_HEAD_BYTES,
		.max_body_bytes = (size_t)flags->max_body_bytes,
		.request_timeout_ms = flags->rest_api_timeout_in_ms,
		.head_timeout_ms = HEAD_TIMEOUT_MS,
		.idle_timeout_ms = flags->idle_timeout_in_ms,
		.handler = handle,
		.observer = note_answer,
		.context = host,
	};

	return sp_http_server_create(&host->server, &options, err);
}

static sp_status start(sp_host *host, sp_error *err)
{
	int64_t threads = host->flags->rest_api_num_threads;
	int64_t sessions = host->flags->session_num;

	host->worker_count = (size_t)(threads != 0 ? threads : cpu_count());
	SP_TRY(sp_served_model_find(&host->model, host->flags,
				    sessions != 0 ? sessions : (int64_t)host->worker_count, err));
	host->queue = sp_queue_create((size_t)host->flags->max_queue);
	host->orders = sp_queue_create(MAX_ORDERS);
	host->scrapes = sp_queue_create(MAX_SCRAPES);
	if (host->queue == NULL || host->orders == NULL || host->scrapes == NULL)
		return sp_error_set(err, SP_NO_MEMORY, "no memory for the queues");
	SP_TRY(sp_workers_create(&host->workers, host, err));
	return start_server(host, err);
}

sp_status sp_host_start(sp_host *host, const sp_flags *flags, sp_error *err)
{
	sp_status status;

	memset(host, 0, sizeof(*host));
	host->flags = flags;
	host->started = (int64_t)time(NULL);
	atomic_init(&host->available, false);
	atomic_init(&host->draining, false);
	status = start(host, err);
	if (status != SP_OK)
		sp_host_finish(host);
	return status;
}

sp_status sp_host_load(sp_host *host, sp_error *err)
{
	SP_TRY(sp_served_model_open(&host->model, host->flags, err));
	atomic_store(&host->available, true);
	return SP_OK;
}

void sp_host_drain(sp_host *host)
{
	atomic_store(&host->draining, true);
	sp_http_server_drain(host->server);
}

bool sp_host_stop(sp_host *host, int64_t timeout_ms)
{
	sp_host_drain(host);
	return sp_http_server_stop(host->server, timeout_ms);
}

/* The threads first that write to the server, and then what they used. */
void sp_host_finish(sp_host *host)
{
	if (host->queue != NULL)
		sp_queue_close(host->queue);
	if (host->orders != NULL)
		sp_queue_close(host->orders);
	if (host->scrapes != NULL)
		sp_queue_close(host->scrapes);
	sp_workers_destroy(host->workers);
	sp_http_server_destroy(host->server);
	sp_queue_destroy(host->queue);
	sp_queue_destroy(host->orders);
	sp_queue_destroy(host->scrapes);
	sp_served_model_close(&host->model);
	memset(host, 0, sizeof(*host));
}
