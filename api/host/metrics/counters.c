#include "api/host/metrics/counters.h"

#include <string.h>
#include <time.h>

double sp_histogram_limit_us(size_t bucket)
{
	double limit = 10;

	for (size_t i = 0; i < bucket; i++)
		limit *= 1.8;
	return limit;
}

uint64_t sp_histogram_count(const sp_histogram *histogram)
{
	uint64_t count = 0;

	for (size_t i = 0; i < SP_HISTOGRAM_BUCKETS; i++)
		count += sp_counter_get(&histogram->buckets[i]);
	return count;
}

/*
 * A thread that reads a new value of an exemplar must then see in `changes` that it is, or was,
 * being changed.  Each value is released and acquired by itself, because the thread sanitizer does
 * not know fences.
 */
static void set(sp_counter *counter, uint64_t value)
{
	atomic_store_explicit(counter, value, memory_order_release);
}

static uint64_t get(const sp_counter *counter)
{
	return atomic_load_explicit(counter, memory_order_acquire);
}

/* If two threads keep an exemplar at the same time, one of them is dropped. */
static void keep_exemplar(sp_exemplar *exemplar, int64_t ns, const unsigned char *trace_id)
{
	uint_least32_t changes = atomic_load_explicit(&exemplar->changes, memory_order_relaxed);
	struct timespec now;
	uint64_t id[2];

	if ((changes & 1) != 0 ||
	    !atomic_compare_exchange_strong(&exemplar->changes, &changes, changes + 1))
		return;
	clock_gettime(CLOCK_REALTIME_COARSE, &now);
	memcpy(id, trace_id, sizeof(id));
	set(&exemplar->trace_id[0], id[0]);
	set(&exemplar->trace_id[1], id[1]);
	set(&exemplar->ns, (uint64_t)ns);
	set(&exemplar->unix_ms, (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000);
	atomic_store_explicit(&exemplar->changes, changes + 2, memory_order_release);
}

void sp_histogram_add_traced(sp_histogram *histogram, int64_t ns, const unsigned char *trace_id)
{
	double limit_ns = 1000 * sp_histogram_limit_us(0);
	size_t bucket = 0;

	for (; bucket < SP_HISTOGRAM_BUCKETS - 1 && (double)ns > limit_ns; bucket++)
		limit_ns *= 1.8;
	sp_counter_add(&histogram->buckets[bucket], 1);
	sp_counter_add(&histogram->sum_ns, ns > 0 ? (uint64_t)ns : 0);
	if (trace_id != NULL)
		keep_exemplar(&histogram->exemplars[bucket], ns, trace_id);
}

void sp_histogram_add(sp_histogram *histogram, int64_t ns)
{
	sp_histogram_add_traced(histogram, ns, NULL);
}

bool sp_histogram_exemplar(const sp_histogram *histogram, size_t bucket, sp_exemplar_values *out)
{
	const sp_exemplar *exemplar = &histogram->exemplars[bucket];
	uint_least32_t before = atomic_load_explicit(&exemplar->changes, memory_order_acquire);
	uint64_t id[2];

	if (before == 0 || (before & 1) != 0)
		return false;
	id[0] = get(&exemplar->trace_id[0]);
	id[1] = get(&exemplar->trace_id[1]);
	memcpy(out->trace_id, id, sizeof(id));
	out->ns = (int64_t)get(&exemplar->ns);
	out->unix_ms = (int64_t)get(&exemplar->unix_ms);
	return atomic_load_explicit(&exemplar->changes, memory_order_relaxed) == before;
}

void sp_size_histogram_add(sp_size_histogram *histogram, int64_t size)
{
	size_t bucket = 0;

	if (size > 1) /* the least power of two that is not below it */
		bucket = 64 - (size_t)__builtin_clzll((uint64_t)size - 1);
	if (bucket >= SP_SIZE_BUCKETS)
		bucket = SP_SIZE_BUCKETS - 1;
	sp_counter_add(&histogram->buckets[bucket], 1);
	sp_counter_add(&histogram->sum, size > 0 ? (uint64_t)size : 0);
}

const char *sp_stage_name(sp_stage stage)
{
	static const char *const names[SP_STAGE_COUNT] = {"queue", "decode", "run", "encode"};

	return names[stage];
}

const char *sp_rejection_name(sp_rejection rejection)
{
	static const char *const names[SP_REJECTED_COUNT] = {
		"not",       "queue_full",  "model_full", "memory",
		"too_large", "slow_client", "deadline",   "unavailable"};

	return names[rejection];
}

const char *sp_request_kind_name(sp_request_kind kind)
{
	static const char *const names[SP_REQUEST_COUNT] = {"other",    "predict",  "grpc_predict",
							    "examples", "metadata", "status",
							    "admin",    "health",   "metrics"};

	return names[kind];
}

enum { UNKNOWN = 6 };

static const struct {
	const char *word;
	int http[2];
} words[SP_STATUS_WORDS] = {
	{"OK", {200}},
	{"INVALID_ARGUMENT", {400, 415}},
	{"NOT_FOUND", {404}},
	{"INTERNAL", {500}},
	{"UNIMPLEMENTED", {501}},
	{"UNAVAILABLE", {503}},
	[UNKNOWN] = {"UNKNOWN", {0}}, /* all other HTTP statuses */
	{"DEADLINE_EXCEEDED", {504}},
};

const char *sp_status_word(size_t index)
{
	return words[index].word;
}

static size_t word_of(int http)
{
	for (size_t i = 0; i < SP_STATUS_WORDS; i++)
		if (http == words[i].http[0] || http == words[i].http[1])
			return i;
	return UNKNOWN;
}

sp_model_totals sp_model_counters_sum(const sp_model_counters *model)
{
	uint64_t ended = sp_counter_get(&model->ended);
	uint64_t good = sp_histogram_count(&model->request) + sp_histogram_count(&model->call);

	return (sp_model_totals){.good = good,
				 .good_ns = sp_counter_get(&model->request.sum_ns) +
					    sp_counter_get(&model->call.sum_ns),
				 .failed = ended > good ? ended - good : 0,
				 .runs = sp_histogram_count(&model->runtime),
				 .runs_ns = sp_counter_get(&model->runtime.sum_ns)};
}

static sp_rejection rejection_of(int status, const sp_call_record *record)
{
	if (record->rejection != SP_REJECTED_NOT)
		return record->rejection;
	switch (status) {
	case 408:
		return SP_REJECTED_SLOW;
	case 413:
	case 431:
		return SP_REJECTED_TOO_LARGE;
	case 503:
		return record->arrived_ns == 0 ? SP_REJECTED_MEMORY : SP_REJECTED_UNAVAILABLE;
	case 504:
		return SP_REJECTED_DEADLINE;
	default:
		return SP_REJECTED_NOT;
	}
}

static void count_stages(sp_model_counters *model, const sp_call_record *record,
			 const unsigned char *trace_id)
{
	for (int stage = 0; stage < SP_STAGE_COUNT; stage++) {
		int64_t ns = sp_call_record_stage(record, (sp_stage)stage);

		if (ns >= 0)
			sp_histogram_add_traced(&model->stages[stage], ns, trace_id);
	}
}

void sp_counters_answer(sp_counters *counters, sp_model_counters *model, sp_request_kind kind,
			int status, const sp_call_record *record, const unsigned char *trace_id)
{
	size_t at = (size_t)(status - SP_LEAST_STATUS);
	sp_rejection rejection;

	if (at >= SP_STATUS_COUNT)
		return;
	sp_counter_add(&counters->answers[kind][at], 1);
	rejection = status != 200 && kind != SP_REQUEST_HEALTH ? rejection_of(status, record)
							       : SP_REJECTED_NOT;
	if (rejection != SP_REJECTED_NOT)
		sp_counter_add(&counters->rejections[rejection], 1);
	if (model == NULL || (kind != SP_REQUEST_PREDICT && kind != SP_REQUEST_GRPC_PREDICT))
		return;
	sp_counter_add(&model->predictions[word_of(status)], 1);
	count_stages(model, record, trace_id);
	if (status == 200)
		sp_histogram_add_traced(kind == SP_REQUEST_PREDICT ? &model->request : &model->call,
					sp_call_record_took(record), trace_id);
}
