#include <inttypes.h>
#include <stdio.h>
#include <time.h>

#include "api/host/metrics/metric.h"
#include "api/host/metrics/metrics_write.h"
#include "api/serving_processor.h"

#define LABELS(...) \
	(const sp_label[]){__VA_ARGS__}, sizeof((sp_label[]){__VA_ARGS__}) / sizeof(sp_label)
#define NO_LABELS NULL, 0

static sp_label text_label(const char *name, const char *value)
{
	return (sp_label){name, sp_bytes_of(value)};
}

static void write_one(sp_buffer *out, sp_metric metric, double value)
{
	sp_metric_begin(out, metric);
	sp_metric_add(out, metric, NO_LABELS, value);
}

/* --------------------------------------------------------------- predictions */

static sp_label label_of(const sp_model_state *model)
{
	return text_label("model_name", model->name);
}

/* Zero counts are written as well, so that Prometheus sees the first increase. */
static void write_predictions(sp_buffer *out, const sp_model_state *model)
{
	for (size_t s = 0; s < SP_STATUS_WORDS; s++)
		sp_metric_add(out, SP_METRIC_REQUESTS,
			      LABELS(label_of(model), text_label("status", sp_status_word(s))),
			      (double)sp_counter_get(&model->counters->predictions[s]));
}

/* TensorFlow Serving's labels: "predict" for its REST API, "Predict" for gRPC and its runtime. */
static void write_request_times(sp_buffer *out, const sp_model_state *model)
{
	sp_metric_add_histogram(out, SP_METRIC_REQUEST_LATENCY,
				LABELS(label_of(model), text_label("API", "predict"),
				       text_label("entrypoint", "REST")),
				&model->counters->request, SP_MICROSECONDS);
	sp_metric_add_histogram(out, SP_METRIC_REQUEST_LATENCY,
				LABELS(label_of(model), text_label("API", "Predict"),
				       text_label("entrypoint", "GRPC")),
				&model->counters->call, SP_MICROSECONDS);
}

static void write_run_times(sp_buffer *out, const sp_model_state *model)
{
	sp_metric_add_histogram(out, SP_METRIC_RUNTIME_LATENCY,
				LABELS(label_of(model), text_label("API", "Predict"),
				       text_label("runtime", "serving_processor")),
				&model->counters->runtime, SP_MICROSECONDS);
}

static void write_stages(sp_buffer *out, const sp_model_state *model)
{
	for (int stage = 0; stage < SP_STAGE_COUNT; stage++)
		sp_metric_add_histogram(out, SP_METRIC_STAGE_LATENCY,
					LABELS(label_of(model),
					       text_label("stage", sp_stage_name((sp_stage)stage))),
					&model->counters->stages[stage], SP_SECONDS);
}

static void write_run_rows(sp_buffer *out, const sp_model_state *model)
{
	sp_metric_add_size_histogram(out, SP_METRIC_RUN_ROWS, LABELS(label_of(model)),
				     &model->counters->run_rows);
}

/* Zero counts are written as well, so that Prometheus sees the first increase. */
static void write_rejections(sp_buffer *out, const sp_host_state *host)
{
	sp_metric_begin(out, SP_METRIC_REJECTIONS);
	for (int i = SP_REJECTED_NOT + 1; i < SP_REJECTED_COUNT; i++)
		sp_metric_add(out, SP_METRIC_REJECTIONS,
			      LABELS(text_label("reason", sp_rejection_name((sp_rejection)i))),
			      (double)sp_counter_get(&host->counters->rejections[i]));
}

static void write_observer(sp_buffer *out, const sp_host_state *host)
{
	write_one(out, SP_METRIC_LINES_DROPPED, (double)host->lines_dropped);
	sp_metric_begin(out, SP_METRIC_TRACES);
	sp_metric_add(out, SP_METRIC_TRACES, LABELS(text_label("result", "sent")),
		      (double)host->traces_sent);
	sp_metric_add(out, SP_METRIC_TRACES, LABELS(text_label("result", "dropped")),
		      (double)host->traces_dropped);
}

static void write_in_flight(sp_buffer *out, const sp_model_state *model)
{
	/* Read in this order, so that begun >= ended. */
	uint64_t ended = sp_counter_get(&model->counters->ended);
	uint64_t begun = sp_counter_get(&model->counters->begun);

	sp_metric_add(out, SP_METRIC_IN_FLIGHT, LABELS(label_of(model)),
		      begun > ended ? (double)(begun - ended) : 0);
}

static void write_version_requests(sp_buffer *out, const sp_model_state *model)
{
	for (size_t i = 0; i < model->version_count; i++) {
		char version[24];

		snprintf(version, sizeof(version), "%" PRId64, model->versions[i]);
		sp_metric_add(out, SP_METRIC_VERSION_REQUESTS,
			      LABELS(label_of(model), text_label("version", version)),
			      (double)model->runs[i]);
	}
}

static void write_shadow(sp_buffer *out, const sp_model_state *model)
{
	const sp_model_counters *c = model->counters;
	const struct {
		const char *result;
		const sp_counter *counter;
	} results[] = {{"alike", &c->shadow_alike},
		       {"different", &c->shadow_different},
		       {"failed", &c->shadow_failed},
		       {"dropped", &c->shadow_dropped}};

	for (size_t i = 0; i < sizeof(results) / sizeof(results[0]); i++)
		sp_metric_add(out, SP_METRIC_SHADOW,
			      LABELS(label_of(model), text_label("result", results[i].result)),
			      (double)sp_counter_get(results[i].counter));
}

static void write_samples(sp_buffer *out, const sp_model_state *model)
{
	sp_metric_add(out, SP_METRIC_SAMPLES,
		      LABELS(label_of(model), text_label("result", "written")),
		      (double)sp_counter_get(&model->counters->samples_written));
	sp_metric_add(out, SP_METRIC_SAMPLES,
		      LABELS(label_of(model), text_label("result", "dropped")),
		      (double)sp_counter_get(&model->counters->samples_dropped));
}

/* TensorFlow Serving's histogram has no model. */
static void write_batch_waits(sp_buffer *out, const sp_model_state *model)
{
	sp_metric_add_histogram(
		out, SP_METRIC_BATCH_WAIT,
		LABELS(label_of(model), text_label("thread_pool_name", model->thread_pool_name)),
		&model->counters->batch_wait, SP_MICROSECONDS);
}

static void write_ready(sp_buffer *out, const sp_model_state *model)
{
	sp_metric_add(out, SP_METRIC_READY, LABELS(label_of(model)), model->ready);
}

static void write_versions(sp_buffer *out, const sp_model_state *model)
{
	for (size_t i = 0; model->statuses != NULL && i < model->statuses->count; i++) {
		const sp_version_status *status = &model->statuses->items[i];
		char version[24];

		snprintf(version, sizeof(version), "%" PRId64, status->version);
		sp_metric_add(out, SP_METRIC_MODEL_VERSION,
			      LABELS(label_of(model), text_label("version", version),
				     text_label("state", sp_version_state_word(status->state))),
			      1);
	}
}

/* A counter of each model, whose only label is the model. */
static void write_counter(sp_buffer *out, const sp_host_state *host, sp_metric metric,
			  size_t offset)
{
	sp_metric_begin(out, metric);
	for (size_t i = 0; i < host->model_count; i++) {
		const sp_model_state *model = &host->models[i];
		const char *counters = (const char *)model->counters;

		sp_metric_add(out, metric, LABELS(label_of(model)),
			      (double)sp_counter_get(
				      (const sp_counter *)(const void *)(counters + offset)));
	}
}

static void write_each(sp_buffer *out, const sp_host_state *host, sp_metric metric,
		       void (*write)(sp_buffer *out, const sp_model_state *model))
{
	sp_metric_begin(out, metric);
	for (size_t i = 0; i < host->model_count; i++)
		write(out, &host->models[i]);
}

static void write_http(sp_buffer *out, const sp_host_state *host)
{
	sp_metric_begin(out, SP_METRIC_HTTP_ANSWERS);
	for (int kind = 0; kind < SP_REQUEST_COUNT; kind++)
		for (size_t i = 0; i < SP_STATUS_COUNT; i++) {
			uint64_t count = sp_counter_get(&host->counters->answers[kind][i]);
			char code[8];

			if (count == 0)
				continue;
			snprintf(code, sizeof(code), "%d", (int)i + SP_LEAST_STATUS);
			sp_metric_add(out, SP_METRIC_HTTP_ANSWERS,
				      LABELS(text_label("route", sp_request_kind_name(
									 (sp_request_kind)kind)),
					     text_label("code", code)),
				      (double)count);
		}
}

static void write_limits(sp_buffer *out, const sp_host_state *host)
{
	write_one(out, SP_METRIC_CONNECTIONS, (double)host->connections);
	write_one(out, SP_METRIC_CONNECTIONS_DROPPED, (double)host->connections_dropped);
	write_one(out, SP_METRIC_CONNECTIONS_REFUSED, (double)host->connections_refused);
	write_one(out, SP_METRIC_REQUEST_MEMORY, (double)sp_budget_used(host->memory));
	write_one(out, SP_METRIC_REQUEST_MEMORY_LIMIT, (double)host->memory->limit);
	write_one(out, SP_METRIC_REQUEST_MEMORY_REFUSALS,
		  (double)atomic_load(&host->memory->refused));
}

/* ------------------------------------------------------------------- process */

static double cpu_seconds(void)
{
	struct timespec used;

	if (clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &used) != 0)
		return 0;
	return (double)used.tv_sec + (double)used.tv_nsec / 1e9;
}

static void write_process(sp_buffer *out, const sp_host_state *host)
{
	sp_metric_begin(out, SP_METRIC_BUILD);
	sp_metric_add(out, SP_METRIC_BUILD,
		      LABELS(text_label("version", serving_processor_version())), 1);
	write_one(out, SP_METRIC_RESIDENT_MEMORY,
		  (double)sp_metrics_read_status("VmRSS: %" SCNu64));
	sp_metrics_write_memory(out, host);
	write_one(out, SP_METRIC_CPU, cpu_seconds());
	write_one(out, SP_METRIC_START, (double)host->started);
}

void sp_metrics_write_host(sp_buffer *out, const sp_host_state *host)
{
	write_each(out, host, SP_METRIC_REQUESTS, write_predictions);
	write_each(out, host, SP_METRIC_REQUEST_LATENCY, write_request_times);
	write_each(out, host, SP_METRIC_RUNTIME_LATENCY, write_run_times);
	write_each(out, host, SP_METRIC_STAGE_LATENCY, write_stages);
	write_each(out, host, SP_METRIC_RUN_ROWS, write_run_rows);
	write_rejections(out, host);
	write_observer(out, host);
	write_each(out, host, SP_METRIC_IN_FLIGHT, write_in_flight);
	write_each(out, host, SP_METRIC_VERSION_REQUESTS, write_version_requests);
	write_each(out, host, SP_METRIC_SHADOW, write_shadow);
	write_each(out, host, SP_METRIC_SAMPLES, write_samples);
	write_each(out, host, SP_METRIC_BATCH_WAIT, write_batch_waits);
	write_counter(out, host, SP_METRIC_BATCHES, offsetof(sp_model_counters, batches));
	write_counter(out, host, SP_METRIC_BATCH_REQUESTS,
		      offsetof(sp_model_counters, batch_requests));
	write_counter(out, host, SP_METRIC_BATCH_ROWS, offsetof(sp_model_counters, batch_rows));
	write_counter(out, host, SP_METRIC_BATCH_RERUNS, offsetof(sp_model_counters, batch_reruns));
	write_one(out, SP_METRIC_THREADS, (double)host->worker_count);
	write_http(out, host);
	write_limits(out, host);
	write_process(out, host);
	write_each(out, host, SP_METRIC_READY, write_ready);
	write_each(out, host, SP_METRIC_MODEL_VERSION, write_versions);
}
