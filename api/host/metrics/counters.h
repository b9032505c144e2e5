#ifndef SP_API_HOST_METRICS_COUNTERS_H
#define SP_API_HOST_METRICS_COUNTERS_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "api/host/metrics/call_record.h"
#include "api/host/metrics/job_costs.h"

/*
 * What the host counts while it serves: a few atomic additions per request, no lock, no
 * allocation.  All zero is the initial state.
 *
 * Threads: thread-safe.
 */
typedef atomic_uint_least64_t sp_counter;

static inline void sp_counter_add(sp_counter *counter, uint64_t n)
{
	atomic_fetch_add_explicit(counter, n, memory_order_relaxed);
}

static inline uint64_t sp_counter_get(const sp_counter *counter)
{
	return atomic_load_explicit(counter, memory_order_relaxed);
}

/* TensorFlow Serving's buckets: limits of 10 * 1.8^i us up to 24 minutes; the last has none. */
enum { SP_HISTOGRAM_BUCKETS = 34 };

/* The last request of a bucket that belongs to a sampled trace. */
typedef struct sp_exemplar {
	atomic_uint_least32_t changes; /* 0: none yet; odd: it is being changed */
	sp_counter trace_id[2], ns, unix_ms;
} sp_exemplar;

typedef struct sp_histogram {
	sp_counter sum_ns;                        /* in front, on the cache line of short times */
	sp_counter buckets[SP_HISTOGRAM_BUCKETS]; /* times in (previous limit, own limit] */
	sp_exemplar exemplars[SP_HISTOGRAM_BUCKETS];
} sp_histogram;

/* Upper limit of any bucket but the last. */
double sp_histogram_limit_us(size_t bucket);

/* How many times were added. */
uint64_t sp_histogram_count(const sp_histogram *histogram);

void sp_histogram_add(sp_histogram *histogram, int64_t ns);

/* What an exemplar tells. */
typedef struct sp_exemplar_values {
	unsigned char trace_id[16];
	int64_t ns, unix_ms;
} sp_exemplar_values;

/*
 * Adds a time, and keeps it as the exemplar of its bucket unless trace_id is NULL: the request is
 * of no sampled trace.
 */
void sp_histogram_add_traced(sp_histogram *histogram, int64_t ns, const unsigned char *trace_id);

/* Reads a bucket's exemplar; false: the bucket has none, or a thread is changing it. */
bool sp_histogram_exemplar(const sp_histogram *histogram, size_t bucket, sp_exemplar_values *out);

/* Buckets of sizes have the limits 1, 2, 4 ... 32768; the last has none. */
enum { SP_SIZE_BUCKETS = 17 };

typedef struct sp_size_histogram {
	sp_counter sum;                      /* in front, as sum_ns */
	sp_counter buckets[SP_SIZE_BUCKETS]; /* sizes in (previous limit, own limit] */
} sp_size_histogram;

void sp_size_histogram_add(sp_size_histogram *histogram, int64_t size);

/* The kind of a request, by what it asks for. */
typedef enum sp_request_kind {
	SP_REQUEST_OTHER, /* unknown paths, other models, malformed requests */
	SP_REQUEST_PREDICT,
	SP_REQUEST_GRPC_PREDICT, /* Predict, ModelInfer, a message of ModelStreamInfer */
	SP_REQUEST_EXAMPLES,     /* classify and regress */
	SP_REQUEST_METADATA,
	SP_REQUEST_STATUS,
	SP_REQUEST_ADMIN,
	SP_REQUEST_HEALTH,
	SP_REQUEST_METRICS,
	SP_REQUEST_COUNT
} sp_request_kind;

/* "predict" ... */
const char *sp_request_kind_name(sp_request_kind kind);

enum { SP_LEAST_STATUS = 100, SP_STATUS_COUNT = 500 };

/* Counts of the whole host. */
typedef struct sp_counters {
	sp_counter answers[SP_REQUEST_COUNT][SP_STATUS_COUNT]; /* by HTTP status from 100 on */
	sp_counter rejections[SP_REJECTED_COUNT];
} sp_counters;

/* TensorFlow Serving's words for the statuses of predictions, in the order of the page. */
enum { SP_STATUS_WORDS = 8 };

/* "OK", "INVALID_ARGUMENT" ... */
const char *sp_status_word(size_t index);

/* "queue", "decode" ... */
const char *sp_stage_name(sp_stage stage);

/* "queue_full" ... */
const char *sp_rejection_name(sp_rejection rejection);

/* Counts of one model. */
typedef struct sp_model_counters {
	sp_counter predictions[SP_STATUS_WORDS]; /* answered */
	sp_counter begun, ended; /* predictions put into the queue; finished by a worker */
	sp_histogram request;    /* times of predictions over HTTP answered 200 */
	sp_histogram call;       /* the same over gRPC */
	sp_histogram runtime;    /* of these, the time in the library */
	sp_histogram stages[SP_STAGE_COUNT]; /* of predictions, over all protocols */
	sp_size_histogram run_rows;          /* rows of a run, of its request or requests */
	sp_job_costs costs; /* of predictions, from the whole request to its answer */
	/* Of requests that a second version was to run as well. */
	sp_counter shadow_alike, shadow_different, shadow_failed, shadow_dropped;
	/* Of requests that were to be logged. */
	sp_counter samples_written, samples_dropped;
	/* Of batching: runs, and the requests and rows in them; runs whose requests were then run
	 * alone; times from the call to the run. */
	sp_counter batches, batch_requests, batch_rows, batch_reruns;
	sp_histogram batch_wait;
} sp_model_counters;

/* Predictions over all protocols: answered 200, not answered 200, and run, with their times. */
typedef struct sp_model_totals {
	uint64_t good, good_ns, failed, runs, runs_ns;
} sp_model_totals;

sp_model_totals sp_model_counters_sum(const sp_model_counters *model);

/*
 * Counts an answer.  `model` is NULL for a request of no model that there is, `trace_id` for one of
 * no sampled trace.
 */
void sp_counters_answer(sp_counters *counters, sp_model_counters *model, sp_request_kind kind,
			int status, const sp_call_record *record, const unsigned char *trace_id);

#endif
