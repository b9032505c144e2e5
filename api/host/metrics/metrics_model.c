#include <inttypes.h>
#include <stdio.h>
#include <time.h>

#include "api/host/metrics/metric.h"
#include "api/host/metrics/metrics_write.h"

typedef struct page {
	sp_buffer *out;
	sp_label model;
	const sp_versions_report *report;
	const sp_reported_version *live; /* NULL: none */
} page;

/*
 * A metric's samples for one model.  The page has all samples of a metric together, so that the
 * models take turns metric by metric.
 */
typedef void write_samples(const page *p, sp_metric metric);

/* -------------------------------------------------------------------- helpers */

/* A sample whose only label is the model. */
static void add_one(const page *p, sp_metric metric, double value)
{
	sp_metric_add(p->out, metric, &p->model, 1, value);
}

static void add(const page *p, sp_metric metric, const char *label, sp_bytes value, double number)
{
	sp_metric_add(p->out, metric, (const sp_label[]){p->model, {label, value}}, 2, number);
}

static void add_counts(const page *p, sp_metric metric, const char *label,
		       const sp_reported_list *list)
{
	const sp_reported_count *counts = list->items;

	for (size_t i = 0; i < list->count; i++)
		add(p, metric, label, counts[i].name, (double)counts[i].count);
}

/* ------------------------------------------------------------------- versions */

/* `moves` has an entry for every state. */
static void write_states(const page *p, sp_metric metric)
{
	const sp_reported_count *states = p->report->moves.items;
	const sp_reported_version *versions = p->report->versions.items;

	for (size_t s = 0; s < p->report->moves.count; s++) {
		size_t count = 0;

		for (size_t i = 0; i < p->report->versions.count; i++)
			count += sp_bytes_equal(versions[i].state, states[s].name);
		add(p, metric, "state", states[s].name, (double)count);
	}
}

/* One sample about a version, with a further label. */
static void add_version(const page *p, sp_metric metric, const sp_reported_version *v,
			const char *last_label, sp_bytes last)
{
	char full[32], delta[32];

	snprintf(full, sizeof(full), "%" PRId64, v->full_step);
	snprintf(delta, sizeof(delta), "%" PRId64, v->delta_step);
	sp_metric_add(p->out, metric,
		      (const sp_label[]){p->model,
					 {"full_step", sp_bytes_of(full)},
					 {"delta_step", sp_bytes_of(delta)},
					 {last_label, last}},
		      4, 1);
}

static bool is_state(const sp_reported_version *v, const char *state)
{
	return sp_bytes_equal_text(v->state, state);
}

/*
 * Whether an earlier version has the same sample, which must not be repeated.  Two versions may
 * have the same steps, for instance after a folder was rewritten.
 */
static bool is_repeated(const page *p, const sp_reported_version *v, bool by_state)
{
	const sp_reported_version *versions = p->report->versions.items;

	for (const sp_reported_version *w = versions; w < v; w++)
		if (w->full_step == v->full_step && w->delta_step == v->delta_step &&
		    sp_bytes_equal(w->state, v->state) &&
		    (by_state || sp_bytes_equal(w->why, v->why)))
			return true;
	return false;
}

static void write_version_states(const page *p, sp_metric metric)
{
	const sp_reported_version *versions = p->report->versions.items;

	for (size_t i = 0; i < p->report->versions.count; i++) {
		const sp_reported_version *v = &versions[i];

		if ((v == p->live || v->newer || is_state(v, "draining")) &&
		    !is_repeated(p, v, true))
			add_version(p, metric, v, "state", v->state);
	}
}

static void write_version_refusals(const page *p, sp_metric metric)
{
	const sp_reported_version *versions = p->report->versions.items;

	for (size_t i = 0; i < p->report->versions.count; i++) {
		const sp_reported_version *v = &versions[i];

		if (v->newer && is_state(v, "refused") && !is_repeated(p, v, false))
			add_version(p, metric, v, "reason", v->why);
	}
}

/* -------------------------------------------------------------------- updates */

static void write_moves(const page *p, sp_metric metric)
{
	add_counts(p, metric, "state", &p->report->moves);
}

static void write_refusals(const page *p, sp_metric metric)
{
	add_counts(p, metric, "reason", &p->report->refusals);
}

static void write_update_time(const page *p, sp_metric metric)
{
	struct timespec now;

	clock_gettime(CLOCK_REALTIME, &now);
	if (p->live != NULL)
		add_one(p, metric,
			(double)(now.tv_sec * 1000 + now.tv_nsec / 1000000) / 1000 -
				(double)p->live->for_ms / 1000);
}

static void write_orders(const page *p, sp_metric metric)
{
	add(p, metric, "order", sp_bytes_of("reload"), (double)p->report->reloads);
	add(p, metric, "order", sp_bytes_of("rollback"), (double)p->report->rollbacks);
	add(p, metric, "order", sp_bytes_of("pin"), (double)p->report->pins);
}

static void write_newest(const page *p, sp_metric metric)
{
	const sp_reported_steps *newest = &p->report->newest;
	bool full = metric == SP_METRIC_NEWEST_FULL_STEP;

	if (newest->is_present)
		add_one(p, metric, (double)(full ? newest->full_step : newest->delta_step));
}

static void write_pinned(const page *p, sp_metric metric)
{
	add_one(p, metric, p->report->pinned.is_present);
}

static void write_shards(const page *p, sp_metric metric)
{
	bool is_now = metric == SP_METRIC_SHARDS;
	const sp_reported_list *list = is_now ? &p->report->shards : &p->report->shard_events;
	const sp_reported_count *items = list->items;

	for (size_t i = 0; i < list->count; i++)
		add(p, metric, is_now ? "what" : "event", items[i].name, (double)items[i].count);
}

/* --------------------------------------------------------------------- tables */

typedef enum which {
	ALL,     /* tables; the tier is no label */
	ANY,     /* tables; the tier is a label, "memory" of those without one */
	TIERED,  /* tables with a tier, which is a label */
	ON_DISK, /* tables whose tier has no servers; the tier is a label */
	SERVED,  /* tables whose tier has servers; the tier is a label */
	KEPT,    /* tables whose tier keeps rows of its servers on a disk; the tier is a label */
	WITHOUT, /* tables without one; a label says so */
} which;

typedef struct column {
	sp_metric metric;
	size_t offset;     /* of its number in sp_reported_table */
	const char *found; /* value of a label "found"; NULL: none */
	which of;
} column;

#define AT(field) offsetof(sp_reported_table, field)

/* A metric may have several columns. */
static const column columns[] = {
	{SP_METRIC_TABLE_ROWS, AT(rows), NULL, ALL},
	{SP_METRIC_TABLE_OVERLAY_ROWS, AT(overlay_rows), NULL, ALL},
	{SP_METRIC_TABLE_MEMORY, AT(memory), NULL, ALL},
	{SP_METRIC_TABLE_KEYS, AT(keys), "memory", WITHOUT},
	{SP_METRIC_TABLE_KEYS, AT(in_memory), "overlay", TIERED},
	{SP_METRIC_TABLE_KEYS, AT(cached), "cache", TIERED},
	{SP_METRIC_TABLE_KEYS, AT(missed), "disk", ON_DISK},
	{SP_METRIC_TABLE_KEYS, AT(disk_hits), "disk", KEPT},
	{SP_METRIC_TABLE_KEYS, AT(missed), "server", SERVED},
	{SP_METRIC_TABLE_ABSENT, AT(absent), NULL, ANY},
	{SP_METRIC_TABLE_ERRORS, AT(errors), NULL, TIERED},
	{SP_METRIC_TABLE_BYTES, AT(bytes_read), NULL, TIERED},
	{SP_METRIC_TABLE_DEFAULTED, AT(defaulted), NULL, SERVED},
	{SP_METRIC_TABLE_SERVERS, AT(servers), NULL, SERVED},
	{SP_METRIC_TABLE_SERVERS_UP, AT(servers_up), NULL, SERVED},
	{SP_METRIC_TABLE_ROUND_TRIPS, AT(round_trips), NULL, SERVED},
	{SP_METRIC_TABLE_ROUND_TRIP_TIME, AT(round_trip_us), NULL, SERVED},
	{SP_METRIC_TABLE_DISK_UP, AT(disks_up), NULL, KEPT},
	{SP_METRIC_TABLE_DISK_ERRORS, AT(disk_errors), NULL, KEPT},
	{SP_METRIC_TABLE_DISK_DROPPED, AT(disk_dropped), NULL, KEPT},
};

enum { COLUMNS = sizeof(columns) / sizeof(columns[0]) };

static void write_cell(const page *p, const sp_reported_table *table, const column *c)
{
	bool has_tier = table->tier.size != 0;
	sp_bytes tier = has_tier ? table->tier : sp_bytes_of("memory");
	sp_label labels[4] = {p->model, {"table", table->name}, {"tier", tier}};
	int64_t number = *(const int64_t *)((const char *)table + c->offset);

	if (has_tier ? c->of == WITHOUT : c->of == TIERED || c->of == ON_DISK)
		return;
	if (table->servers != 0 ? c->of == ON_DISK : c->of == SERVED)
		return;
	if (table->disks == 0 && c->of == KEPT)
		return;
	if (c->found != NULL)
		labels[3] = (sp_label){"found", sp_bytes_of(c->found)};
	sp_metric_add(p->out, c->metric, labels, c->of == ALL ? 2 : 3 + (c->found != NULL),
		      (double)number);
}

static void write_tables(const page *p, sp_metric metric)
{
	const sp_reported_table *tables = p->report->tables.items;

	for (size_t i = 0; i < p->report->tables.count; i++)
		for (size_t c = 0; c < COLUMNS; c++)
			if (columns[c].metric == metric)
				write_cell(p, &tables[i], &columns[c]);
}

/* ----------------------------------------------------------------- row streams */

static void write_stream_flag(const page *p, sp_metric metric)
{
	const sp_reported_stream *stream = &p->report->row_stream;

	if (stream->is_present)
		add_one(p, metric,
			metric == SP_METRIC_STREAM_CONNECTED ? stream->connected : stream->paused);
}

static void write_stream_skips(const page *p, sp_metric metric)
{
	add_counts(p, metric, "reason", &p->report->row_stream.skipped);
}

/* ----------------------------------------------------------------------- page */

/* What a metric that is one number is a member of. */
typedef enum source { REPORT, LIVE, STREAM } source;

#define REPORTED(field) NULL, REPORT, offsetof(sp_versions_report, field)
#define OF_LIVE(field)  NULL, LIVE, offsetof(sp_reported_version, field)
#define STREAMED(field) NULL, STREAM, offsetof(sp_reported_stream, field)

static const struct {
	sp_metric metric;
	write_samples *write; /* NULL: one number */
	source of;
	size_t offset; /* of the number, an int64_t */
	double unit;
} metrics[] = {
	{SP_METRIC_MODEL_MEMORY, REPORTED(memory), 1},
	{SP_METRIC_VERSIONS, .write = write_states},
	{SP_METRIC_VERSION_STATE, .write = write_version_states},
	{SP_METRIC_VERSION_REFUSAL, .write = write_version_refusals},
	{SP_METRIC_LIVE_FULL_STEP, OF_LIVE(full_step), 1},
	{SP_METRIC_LIVE_DELTA_STEP, OF_LIVE(delta_step), 1},
	{SP_METRIC_NEWEST_FULL_STEP, .write = write_newest},
	{SP_METRIC_NEWEST_DELTA_STEP, .write = write_newest},
	{SP_METRIC_PINNED, .write = write_pinned},
	{SP_METRIC_MOVES, .write = write_moves},
	{SP_METRIC_REFUSALS, .write = write_refusals},
	{SP_METRIC_UPDATE_LAG, REPORTED(newest.lag_ms), 1000},
	{SP_METRIC_SOURCE_UNREADABLE, REPORTED(unreadable.for_ms), 1000},
	{SP_METRIC_UPDATE_TIME, .write = write_update_time},
	{SP_METRIC_UPDATE_AGE, OF_LIVE(for_ms), 1000},
	{SP_METRIC_UPDATE_DURATION, REPORTED(last_load_ms), 1000},
	{SP_METRIC_FOLDS, REPORTED(folds), 1},
	{SP_METRIC_FOLD_DURATION, REPORTED(last_fold_ms), 1000},
	{SP_METRIC_ORDERS, .write = write_orders},
	{SP_METRIC_SHARDS, .write = write_shards},
	{SP_METRIC_SHARD_EVENTS, .write = write_shards},
	{SP_METRIC_TABLE_ROWS, .write = write_tables},
	{SP_METRIC_TABLE_OVERLAY_ROWS, .write = write_tables},
	{SP_METRIC_TABLE_MEMORY, .write = write_tables},
	{SP_METRIC_TABLE_KEYS, .write = write_tables},
	{SP_METRIC_TABLE_ABSENT, .write = write_tables},
	{SP_METRIC_TABLE_ERRORS, .write = write_tables},
	{SP_METRIC_TABLE_BYTES, .write = write_tables},
	{SP_METRIC_TABLE_DEFAULTED, .write = write_tables},
	{SP_METRIC_TABLE_SERVERS, .write = write_tables},
	{SP_METRIC_TABLE_SERVERS_UP, .write = write_tables},
	{SP_METRIC_TABLE_ROUND_TRIPS, .write = write_tables},
	{SP_METRIC_TABLE_ROUND_TRIP_TIME, .write = write_tables},
	{SP_METRIC_TABLE_DISK_UP, .write = write_tables},
	{SP_METRIC_TABLE_DISK_ERRORS, .write = write_tables},
	{SP_METRIC_TABLE_DISK_DROPPED, .write = write_tables},
	{SP_METRIC_STREAM_CONNECTED, .write = write_stream_flag},
	{SP_METRIC_STREAM_PAUSED, .write = write_stream_flag},
	{SP_METRIC_STREAM_LAG_MESSAGES, STREAMED(lag_messages), 1},
	{SP_METRIC_STREAM_LAG, STREAMED(lag_ms), 1000},
	{SP_METRIC_STREAM_ERRORS, STREAMED(errors), 1},
	{SP_METRIC_STREAM_MESSAGES, STREAMED(messages), 1},
	{SP_METRIC_STREAM_ROWS, STREAMED(rows), 1},
	{SP_METRIC_STREAM_STATES, STREAMED(states), 1},
	{SP_METRIC_STREAM_INCOMPLETE, STREAMED(incomplete_batches), 1},
	{SP_METRIC_STREAM_KEYS, STREAMED(keys), 1},
	{SP_METRIC_STREAM_MEMORY, STREAMED(memory), 1},
	{SP_METRIC_STREAM_SKIPPED, .write = write_stream_skips},
};

/* The struct that has the number as a member; NULL: the model has no such struct, and no sample. */
static const void *find_source(const page *p, source of)
{
	switch (of) {
	case LIVE:
		return p->live;
	case STREAM:
		return p->report->row_stream.is_present ? &p->report->row_stream : NULL;
	case REPORT:
		break;
	}
	return p->report;
}

static bool is_any_open(const sp_model_state *models, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (models[i].report != NULL)
			return true;
	return false;
}

void sp_metrics_write_models(sp_buffer *out, const sp_model_state *models, size_t count)
{
	if (!is_any_open(models, count))
		return;
	for (size_t m = 0; m < sizeof(metrics) / sizeof(metrics[0]); m++) {
		sp_metric_begin(out, metrics[m].metric);
		for (size_t i = 0; i < count; i++) {
			page p = {.out = out,
				  .model = {"model_name", sp_bytes_of(models[i].name)},
				  .report = models[i].report};
			const char *from;

			if (p.report == NULL)
				continue;
			p.live = sp_versions_report_live(p.report);
			from = find_source(&p, metrics[m].of);
			if (metrics[m].write != NULL)
				metrics[m].write(&p, metrics[m].metric);
			else if (from != NULL)
				add_one(&p, metrics[m].metric,
					(double)*(
						const int64_t *)(const void *)(from +
									       metrics[m].offset) /
						metrics[m].unit);
		}
	}
}
