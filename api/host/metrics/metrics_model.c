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

/* -------------------------------------------------------------------- helpers */

/* A metric with one sample, whose only label is the model. */
static void write_one(const page *p, sp_metric metric, double value)
{
	sp_metric_begin(p->out, metric);
	sp_metric_add(p->out, metric, &p->model, 1, value);
}

static void add(const page *p, sp_metric metric, const char *label, sp_bytes value, double number)
{
	sp_metric_add(p->out, metric, (const sp_label[]){p->model, {label, value}}, 2, number);
}

static void write_counts(const page *p, sp_metric metric, const char *label,
			 const sp_reported_list *list)
{
	const sp_reported_count *counts = list->items;

	sp_metric_begin(p->out, metric);
	for (size_t i = 0; i < list->count; i++)
		add(p, metric, label, counts[i].name, (double)counts[i].count);
}

/* ------------------------------------------------------------------- versions */

/* `moves` has an entry for every state. */
static void write_states(const page *p)
{
	const sp_reported_count *states = p->report->moves.items;
	const sp_reported_version *versions = p->report->versions.items;

	sp_metric_begin(p->out, SP_METRIC_VERSIONS);
	for (size_t s = 0; s < p->report->moves.count; s++) {
		size_t count = 0;

		for (size_t i = 0; i < p->report->versions.count; i++)
			count += sp_bytes_equal(versions[i].state, states[s].name);
		add(p, SP_METRIC_VERSIONS, "state", states[s].name, (double)count);
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

static void write_versions(const page *p)
{
	const sp_reported_version *versions = p->report->versions.items;
	size_t count = p->report->versions.count;

	sp_metric_begin(p->out, SP_METRIC_VERSION_STATE);
	for (size_t i = 0; i < count; i++) {
		const sp_reported_version *v = &versions[i];

		if ((v == p->live || v->newer || is_state(v, "draining")) &&
		    !is_repeated(p, v, true))
			add_version(p, SP_METRIC_VERSION_STATE, v, "state", v->state);
	}
	sp_metric_begin(p->out, SP_METRIC_VERSION_REFUSAL);
	for (size_t i = 0; i < count; i++) {
		const sp_reported_version *v = &versions[i];

		if (v->newer && is_state(v, "refused") && !is_repeated(p, v, false))
			add_version(p, SP_METRIC_VERSION_REFUSAL, v, "reason", v->why);
	}
}

static void write_steps(const page *p)
{
	const sp_reported_steps *newest = &p->report->newest;

	write_one(p, SP_METRIC_PINNED, p->report->pinned.is_present);
	if (p->live != NULL) {
		write_one(p, SP_METRIC_LIVE_FULL_STEP, (double)p->live->full_step);
		write_one(p, SP_METRIC_LIVE_DELTA_STEP, (double)p->live->delta_step);
	}
	if (newest->is_present) {
		write_one(p, SP_METRIC_NEWEST_FULL_STEP, (double)newest->full_step);
		write_one(p, SP_METRIC_NEWEST_DELTA_STEP, (double)newest->delta_step);
	}
}

/* -------------------------------------------------------------------- updates */

static double unix_time(void)
{
	struct timespec now;

	clock_gettime(CLOCK_REALTIME, &now);
	return (double)(now.tv_sec * 1000 + now.tv_nsec / 1000000) / 1000;
}

static void write_updates(const page *p)
{
	const sp_versions_report *r = p->report;

	write_counts(p, SP_METRIC_MOVES, "state", &r->moves);
	write_counts(p, SP_METRIC_REFUSALS, "reason", &r->refusals);
	write_one(p, SP_METRIC_UPDATE_LAG, (double)r->newest.lag_ms / 1000);
	if (p->live != NULL) {
		double age = (double)p->live->for_ms / 1000;

		write_one(p, SP_METRIC_UPDATE_TIME, unix_time() - age);
		write_one(p, SP_METRIC_UPDATE_AGE, age);
	}
	write_one(p, SP_METRIC_UPDATE_DURATION, (double)r->last_load_ms / 1000);
	write_one(p, SP_METRIC_FOLDS, (double)r->folds);
	write_one(p, SP_METRIC_FOLD_DURATION, (double)r->last_fold_ms / 1000);
	sp_metric_begin(p->out, SP_METRIC_ORDERS);
	add(p, SP_METRIC_ORDERS, "order", sp_bytes_of("reload"), (double)r->reloads);
	add(p, SP_METRIC_ORDERS, "order", sp_bytes_of("rollback"), (double)r->rollbacks);
	add(p, SP_METRIC_ORDERS, "order", sp_bytes_of("pin"), (double)r->pins);
}

/* --------------------------------------------------------------------- tables */

typedef struct column {
	sp_metric metric;
	size_t offset;     /* of its number in sp_reported_table */
	const char *found; /* value of a label "found"; NULL: none */
} column;

static double number_of(const sp_reported_table *table, const column *c)
{
	return (double)*(const int64_t *)((const char *)table + c->offset);
}

/* A metric of all tables, or only of those with a tier: a sample per table and column. */
static void write_tables(const page *p, const column *columns, size_t count, bool tiered)
{
	const sp_reported_table *tables = p->report->tables.items;

	sp_metric_begin(p->out, columns[0].metric);
	for (size_t i = 0; i < p->report->tables.count; i++) {
		const sp_reported_table *t = &tables[i];

		for (size_t c = 0; c < count; c++) {
			sp_label labels[4] = {p->model, {"table", t->name}, {"tier", t->tier}};

			if (tiered && t->tier.size == 0)
				continue;
			if (columns[c].found != NULL)
				labels[3] = (sp_label){"found", sp_bytes_of(columns[c].found)};
			sp_metric_add(p->out, columns[c].metric, labels,
				      tiered ? 3 + (columns[c].found != NULL) : 2,
				      number_of(t, &columns[c]));
		}
	}
}

#define AT(field) offsetof(sp_reported_table, field)

static void write_all_tables(const page *p)
{
	static const column rows = {SP_METRIC_TABLE_ROWS, AT(rows), NULL},
			    overlay = {SP_METRIC_TABLE_OVERLAY_ROWS, AT(overlay_rows), NULL},
			    memory = {SP_METRIC_TABLE_MEMORY, AT(memory), NULL},
			    keys[] = {{SP_METRIC_TABLE_KEYS, AT(in_memory), "overlay"},
				      {SP_METRIC_TABLE_KEYS, AT(cached), "cache"},
				      {SP_METRIC_TABLE_KEYS, AT(missed), "disk"}},
			    absent = {SP_METRIC_TABLE_ABSENT, AT(absent), NULL},
			    errors = {SP_METRIC_TABLE_ERRORS, AT(errors), NULL},
			    bytes = {SP_METRIC_TABLE_BYTES, AT(bytes_read), NULL};

	write_tables(p, &rows, 1, false);
	write_tables(p, &overlay, 1, false);
	write_tables(p, &memory, 1, false);
	write_tables(p, keys, 3, true);
	write_tables(p, &absent, 1, true);
	write_tables(p, &errors, 1, true);
	write_tables(p, &bytes, 1, true);
}

void sp_metrics_write_model(sp_buffer *out, const char *model_name,
			    const sp_versions_report *report)
{
	page p = {.out = out,
		  .model = {"model_name", sp_bytes_of(model_name)},
		  .report = report,
		  .live = sp_versions_report_live(report)};

	write_one(&p, SP_METRIC_MODEL_MEMORY, (double)report->memory);
	write_states(&p);
	write_versions(&p);
	write_steps(&p);
	write_updates(&p);
	write_all_tables(&p);
}
