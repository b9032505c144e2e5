#include "api/host/host.h"

#include <string.h>
#include <time.h>
#include <unistd.h>

#include "api/host/grpc/grpc.h"
#include "api/host/infer/batcher.h"
#include "api/host/infer/shadow.h"
#include "api/host/samples/sample_log.h"
#include "api/host/limits.h"
#include "api/host/model/server_configs.h"
#include "api/host/routes/profile.h"
#include "api/host/routes/route.h"
#include "api/host/systemd.h"
#include "api/host/workers.h"
#include "base/log.h"
#include "object_store/object_store.h"

enum { MAX_ORDERS = 4, MAX_SCRAPES = 4, FIRST_ARENA = 4 << 10 };

/* Threads for requests that wait for a batch, unless a flag sets the number of threads. */
enum { BATCH_WAITERS = 64 };

enum { MAX_HEAD_BYTES = 16 << 10, HEAD_TIMEOUT_MS = 10000 };

/* The admin listener has its own thread and connections, so that it answers when others wait. */
enum { ADMIN_CONNECTIONS = 32, ADMIN_BODY_BYTES = 64 << 10 };

static int64_t cpu_count(void)
{
	long count = sysconf(_SC_NPROCESSORS_ONLN);

	return count > 0 ? (int64_t)count : 1;
}

static void handle(void *context, sp_http_request *request)
{
	sp_host *host = context;

	if (sp_grpc_is_call(request))
		sp_grpc_route(&host->serving, request);
	else
		sp_route(&host->serving, request);
}

static void handle_admin(void *context, sp_http_request *request)
{
	sp_host *host = context;

	sp_route_admin_listener(&host->serving, request);
}

static const sp_http_stream_handler *open_stream(void *context, sp_http_stream *stream,
						 const sp_http_head *head, void **state)
{
	sp_host *host = context;

	return sp_grpc_open_stream(&host->serving, stream, head, state);
}

static bool refuse(void *context, sp_http_request *request, int status, const char *text)
{
	sp_host *host = context;

	return sp_grpc_refuse(&host->serving, request, status, text);
}

static void note_answer(void *context, const sp_http_outcome *outcome)
{
	sp_host *host = context;
	sp_model *model;
	sp_request_kind kind = sp_serving_read_tag(&host->serving, outcome->tag, &model);
	sp_trace_context trace;

	sp_observer_trace(&host->observer, &trace, outcome);
	sp_counters_answer(&host->serving.counters, model != NULL ? &model->counters : NULL, kind,
			   outcome->status, outcome->record, trace.sampled ? trace.trace_id : NULL);
	sp_request_log_outcome(&host->request_log, kind, model != NULL ? model->name : NULL,
			       outcome);
	sp_observer_note(&host->observer, outcome, kind, model != NULL ? model->name : NULL,
			 &trace);
	if (model != NULL)
		sp_profile_note(model, outcome->record);
}

/* --max_connections, or less if the number of descriptors is lower. */
static size_t connection_limit(const sp_flags *flags, size_t descriptors)
{
	size_t asked = (size_t)flags->max_connections, most = sp_limits_connections(descriptors);

	if (asked <= most)
		return asked;
	sp_log(SP_LOG_WARNING,
	       "at most %zu connections at a time, not %zu (--max_connections): the process may "
	       "have %zu descriptors (ulimit -n), of which %zu are kept for files",
	       most, asked, descriptors, sp_limits_reserve(descriptors));
	return most;
}

static void set_memory(sp_host *host)
{
	uint64_t asked = (uint64_t)host->serving.flags->max_request_memory;
	uint64_t memory = asked != 0 ? asked : sp_limits_memory("") / 4;

	sp_budget_init(&host->serving.memory, memory < SIZE_MAX ? (size_t)memory : SIZE_MAX);
}

/*
 * Where to listen; TensorFlow Serving takes port 0 of its REST API for none, and has TLS for gRPC
 * only.
 */
static size_t list_addresses(const sp_host *host, sp_http_address *out)
{
	const sp_flags *flags = host->serving.flags;
	bool one_port = flags->port == flags->rest_api_port && flags->port != 0;
	size_t count = 0;

	if ((flags->rest_api_port != 0 || !flags->tfs) && !one_port)
		out[count++] = (sp_http_address){flags->rest_api_host,
						 (uint16_t)flags->rest_api_port,
						 flags->tfs ? NULL : host->tls};
	if (flags->port > 0 ||
	    (flags->port == 0 && !flags->tfs)) /* any port answers all protocols */
		out[count++] = (sp_http_address){flags->rest_api_host, (uint16_t)flags->port,
						 host->tls};
	if (host->socket_address != NULL)
		out[count++] = (sp_http_address){host->socket_address, 0, NULL};
	return count;
}

/* Reads --ssl_config_file, at the start or again. */
static sp_status read_tls(sp_host *host, sp_error *err)
{
	sp_arena *arena = sp_arena_create(FIRST_ARENA);
	sp_ssl_config config;
	sp_http_tls_options options;
	sp_status status;

	if (arena == NULL)
		return sp_no_memory(err, "the configuration");
	status = sp_ssl_config_read(&config, host->serving.flags->ssl_config_file, arena, err);
	if (status == SP_OK) {
		options = (sp_http_tls_options){.certificate = config.server_cert,
						.key = config.server_key,
						.client_ca = config.custom_ca,
						.verify_client = config.client_verify};
		status = host->tls == NULL ? sp_http_tls_create(&host->tls, &options, err)
					   : sp_http_tls_reload(host->tls, &options, err);
	}
	sp_arena_destroy(arena);
	return status;
}

/* Reads the configuration files of the flags, but for that of the models. */
static sp_status read_configs(sp_host *host, sp_error *err)
{
	const sp_flags *flags = host->serving.flags;
	sp_monitoring_config monitoring;

	host->arena = sp_arena_create(FIRST_ARENA);
	if (host->arena == NULL)
		return sp_no_memory(err, "the configuration");
	host->serving.metrics_path = flags->metrics_path;
	if (flags->admin_token_file != NULL) {
		SP_TRY(sp_admin_token_read(&host->admin_token, flags->admin_token_file, err));
		host->serving.admin_token = &host->admin_token;
	}
	if (flags->monitoring_config_file != NULL) {
		SP_TRY(sp_monitoring_config_read(&monitoring, flags->monitoring_config_file,
						 host->arena, err));
		host->serving.metrics_path = monitoring.enable ? monitoring.path : "";
	}
	sp_batching_config_init(&host->batching);
	if (flags->batching_parameters_file != NULL)
		SP_TRY(sp_batching_config_read(&host->batching, flags->batching_parameters_file,
					       host->arena, err));
	host->serving.thread_pool_name = host->batching.thread_pool_name;
	if (flags->ssl_config_file != NULL && *flags->ssl_config_file != '\0')
		SP_TRY(read_tls(host, err));
	if (flags->grpc_socket_path != NULL && *flags->grpc_socket_path != '\0') {
		host->socket_address = sp_arena_printf(host->arena, "unix:%s",
						       flags->grpc_socket_path);
		if (host->socket_address == NULL)
			return sp_no_memory(err, "the configuration");
	}
	return SP_OK;
}

/* One line about all flags that were given for TensorFlow Serving and do nothing here. */
static void log_ignored(const sp_flags *flags)
{
	sp_buffer text;

	sp_buffer_init(&text, 16 << 10);
	sp_flags_print_ignored(flags, &text);
	if (text.size != 0 && !text.failed)
		sp_log(SP_LOG_INFO, "flags without effect: %s", text.data);
	sp_buffer_fini(&text);
}

static size_t io_thread_count(const sp_flags *flags)
{
	int64_t asked = flags->rest_api_num_io_threads;

	return (size_t)(asked != 0 ? asked : (cpu_count() + 7) / 8);
}

/* Sets the addresses, and the sockets that the service manager has for them. */
static sp_status open_sockets(sp_host *host, sp_error *err)
{
	const sp_flags *flags = host->serving.flags;
	size_t count = list_addresses(host, host->addresses);

	host->address_count = count;
	if (flags->admin_port >= 0)
		host->addresses[count++] = (sp_http_address){flags->admin_host,
							     (uint16_t)flags->admin_port, NULL};
	return sp_systemd_take_sockets(host->sockets, host->addresses, count, err);
}

/* A server must have been stopped before it is destroyed. */
static sp_status start_admin(sp_host *host, sp_error *err)
{
	const sp_flags *flags = host->serving.flags;
	const sp_http_options options = {
		.addresses = &host->addresses[host->address_count],
		.sockets = &host->sockets[host->address_count],
		.address_count = 1,
		.reuse_port = flags->reuse_port,
		.io_threads = 1,
		.max_connections = ADMIN_CONNECTIONS,
		.max_head_bytes = MAX_HEAD_BYTES,
		.max_body_bytes = ADMIN_BODY_BYTES,
		.request_timeout_ms = flags->rest_api_timeout_in_ms,
		.head_timeout_ms = HEAD_TIMEOUT_MS,
		.idle_timeout_ms = flags->idle_timeout_in_ms,
		.handler = handle_admin,
		.observer = note_answer,
		.context = host,
	};
	sp_status status = sp_http_server_create(&host->admin, &options, err);

	while (status != SP_OK && !sp_http_server_stop(host->serving.server, 100))
		;
	return status;
}

static sp_status start_server(sp_host *host, sp_error *err)
{
	const sp_flags *flags = host->serving.flags;
	size_t descriptors = sp_limits_raise_descriptors();
	sp_http_options options = {
		.addresses = host->addresses,
		.reuse_port = flags->reuse_port,
		.cors = flags->rest_api_enable_cors_support,
		.io_threads = io_thread_count(flags),
		.max_connections = connection_limit(flags, descriptors),
		.descriptors = descriptors,
		.reserve_descriptors = sp_limits_reserve(descriptors),
		.max_head_bytes = MAX_HEAD_BYTES,
		.max_body_bytes = (size_t)flags->max_body_bytes,
		.memory = &host->serving.memory,
		.request_timeout_ms = flags->rest_api_timeout_in_ms,
		.head_timeout_ms = HEAD_TIMEOUT_MS,
		.idle_timeout_ms = flags->idle_timeout_in_ms,
		.handler = handle,
		.observer = note_answer,
		.open_stream = open_stream,
		.refusal = refuse,
		.context = host,
	};

	SP_TRY(open_sockets(host, err));
	options.address_count = host->address_count;
	options.sockets = host->sockets;
	SP_TRY(sp_http_server_create(&host->serving.server, &options, err));
	return flags->admin_port >= 0 ? start_admin(host, err) : SP_OK;
}

/*
 * Sets the number of threads that read requests and write answers, and returns how many of them
 * run a model at a time.
 */
static size_t count_threads(sp_host *host)
{
	const sp_flags *flags = host->serving.flags;
	int64_t threads = flags->rest_api_num_threads, runners = host->batching.num_batch_threads;

	if (!flags->enable_batching) {
		/* Large requests may use all CPUs, which leaves a thread to small ones. */
		runners = threads != 0 ? threads : cpu_count() + 1;
		threads = runners;
	} else {
		if (runners == 0)
			runners = cpu_count();
		if (threads == 0)
			threads = runners + BATCH_WAITERS;
	}
	host->serving.worker_count = (size_t)threads;
	return (size_t)runners;
}

static void pause_worker(void *queue)
{
	sp_request_queue_pause(queue);
}

static void resume_worker(void *queue)
{
	sp_request_queue_resume(queue);
}

static sp_status start_batching(sp_host *host, size_t runners, sp_error *err)
{
	const sp_flags *flags = host->serving.flags;
	const sp_batcher_hooks hooks = {pause_worker, resume_worker, host->serving.queue};

	if (!flags->enable_batching) {
		if (flags->batching_parameters_file != NULL)
			sp_log(SP_LOG_WARNING, "--batching_parameters_file has no effect without "
					       "--enable_batching");
		return SP_OK;
	}
	if (host->batching.pad_variable_length_inputs)
		sp_log(SP_LOG_INFO, "pad_variable_length_inputs has no effect: requests of other "
				    "lengths are batched apart");
	SP_TRY(sp_batcher_create(&host->batcher, runners, &host->serving.memory, &hooks, err));
	sp_models_set_batcher(host->serving.models, host->batcher, &host->batching);
	return SP_OK;
}

/*
 * With batching, one thread more than the runners works at a time, so that it can decode the next
 * requests.  The other threads take the places of those that wait for a batch.
 */
static sp_request_queue *create_queue(const sp_host *host, size_t runners)
{
	size_t threads = host->serving.worker_count;
	size_t working = runners < threads ? runners + 1 : threads;
	sp_request_queue *queue = sp_request_queue_create((size_t)host->serving.flags->max_queue,
							  working);

	if (queue != NULL)
		sp_request_queue_set_spare(queue, threads - working);
	return queue;
}

static sp_status start_samples(sp_host *host, sp_error *err)
{
	const sp_flags *flags = host->serving.flags;
	const sp_record_limits limits = {.records = (uint64_t)flags->prediction_log_records,
					 .bytes = (uint64_t)flags->prediction_log_mb * 1000000,
					 .ns = flags->prediction_log_seconds * INT64_C(1000000000)};

	SP_TRY(sp_sample_log_create(&host->samples, &limits, err));
	sp_models_set_samples(host->serving.models, sp_sample_log_get_sink(host->samples));
	return SP_OK;
}

static sp_status start(sp_host *host, sp_error *err)
{
	int64_t sessions = host->serving.flags->session_num;
	size_t runners;

	log_ignored(host->serving.flags);
	SP_TRY(read_configs(host, err));
	SP_TRY(sp_observer_open(&host->observer, host->serving.flags, err));
	host->serving.observer = &host->observer;
	runners = count_threads(host);
	SP_TRY(sp_models_create(&host->serving.models, host->serving.flags,
				sessions != 0 ? sessions : (int64_t)runners, err));
	set_memory(host);
	SP_TRY(sp_shadow_create(&host->shadow, host->serving.models, err));
	sp_models_set_shadow(host->serving.models, sp_shadow_get_sink(host->shadow));
	SP_TRY(start_samples(host, err));
	if (!host->serving.flags->enable_batching) /* which waits for other requests */
		SP_TRY(sp_jobs_here_create(&host->serving.here,
					   io_thread_count(host->serving.flags),
					   &host->serving.memory, err));
	host->serving.queue = create_queue(host, runners);
	host->serving.orders = sp_request_queue_create(MAX_ORDERS, 1);
	host->serving.scrapes = sp_request_queue_create(MAX_SCRAPES, 1);
	if (host->serving.queue == NULL || host->serving.orders == NULL ||
	    host->serving.scrapes == NULL)
		return sp_no_memory(err, "the queues");
	SP_TRY(start_batching(host, runners, err));
	SP_TRY(sp_workers_create(&host->workers, &host->serving, err));
	return start_server(host, err);
}

sp_status sp_host_start(sp_host *host, const sp_flags *flags, sp_error *err)
{
	sp_status status;

	memset(host, 0, sizeof(*host));
	sp_admin_token_init(&host->admin_token);
	host->serving.flags = flags;
	host->serving.started = (int64_t)time(NULL);
	atomic_init(&host->serving.draining, false);
	sp_object_store_open(); /* the folders of models may be there */
	status = start(host, err);
	if (status != SP_OK)
		sp_host_finish(host);
	return status;
}

sp_status sp_host_load(sp_host *host, sp_error *err)
{
	return sp_models_load(host->serving.models, err);
}

static void reload_tls(sp_host *host)
{
	const char *file = host->serving.flags->ssl_config_file;
	sp_error err;

	if (host->tls == NULL)
		return;
	if (read_tls(host, &err) == SP_OK)
		sp_log(SP_LOG_INFO, "SIGHUP: certificates and key are those of %s now", file);
	else
		sp_log(SP_LOG_ERROR, "SIGHUP: certificates and key stay as they are: %s", err.text);
}

static void reload_token(sp_host *host)
{
	const char *file = host->serving.flags->admin_token_file;
	sp_error err;

	if (host->serving.admin_token == NULL)
		return;
	if (sp_admin_token_read(&host->admin_token, file, &err) == SP_OK)
		sp_log(SP_LOG_INFO, "SIGHUP: the token of the admin listener is that of %s now",
		       file);
	else
		sp_log(SP_LOG_ERROR, "SIGHUP: the token of the admin listener stays as it is: %s",
		       err.text);
}

void sp_host_reload(sp_host *host)
{
	bool has_files = host->tls != NULL || host->serving.admin_token != NULL ||
			 host->observer.access != NULL || host->observer.slow != NULL;

	sp_observer_reopen(&host->observer);
	reload_tls(host);
	reload_token(host);
	if (sp_models_reload_file(host->serving.models))
		sp_log(SP_LOG_INFO, "SIGHUP: the models' configuration is read again");
	else if (!has_files)
		sp_log(SP_LOG_INFO, "SIGHUP: nothing to reload; new versions are served as they "
				    "come, flags and configuration are read at the start only");
}

bool sp_host_is_loading(const sp_host *host)
{
	return sp_models_are_loading(host->serving.models);
}

void sp_host_drain(sp_host *host)
{
	atomic_store(&host->serving.draining, true);
	sp_http_server_drain(host->serving.server);
	if (host->admin != NULL)
		sp_http_server_drain(host->admin);
}

void sp_host_upkeep(sp_host *host)
{
	sp_upkeep_run(&host->upkeep, host->serving.server, &host->serving.memory);
	sp_sample_log_tick(host->samples);
}

bool sp_host_is_busy(const sp_host *host)
{
	sp_http_server_load load;

	sp_http_server_get_load(host->serving.server, &load);
	return load.busy != 0;
}

bool sp_host_stop(sp_host *host, int64_t timeout_ms)
{
	sp_host_drain(host);
	sp_profile_end(&host->serving);
	return sp_http_server_stop(host->serving.server, timeout_ms) &&
	       (host->admin == NULL || sp_http_server_stop(host->admin, timeout_ms));
}

/* Order: threads that answer requests, the server, then what both use. */
void sp_host_finish(sp_host *host)
{
	if (host->serving.queue != NULL)
		sp_request_queue_close(host->serving.queue);
	if (host->serving.orders != NULL)
		sp_request_queue_close(host->serving.orders);
	if (host->serving.scrapes != NULL)
		sp_request_queue_close(host->serving.scrapes);
	sp_workers_destroy(host->workers);
	sp_http_server_destroy(host->serving.server);
	sp_http_server_destroy(host->admin);
	sp_observer_close(&host->observer);
	sp_http_tls_destroy(host->tls);
	sp_jobs_here_destroy(host->serving.here);
	sp_request_queue_destroy(host->serving.queue);
	sp_request_queue_destroy(host->serving.orders);
	sp_request_queue_destroy(host->serving.scrapes);
	sp_shadow_destroy(host->shadow);
	sp_sample_log_destroy(host->samples);
	sp_models_destroy(host->serving.models);
	sp_batcher_destroy(host->batcher);
	sp_arena_destroy(host->arena);
	sp_admin_token_fini(&host->admin_token);
	sp_object_store_close();
	memset(host, 0, sizeof(*host));
}
