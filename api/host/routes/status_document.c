#include "api/host/routes/status_document.h"

#include <time.h>

#include "api/host/describe/document.h"

static void text(sp_document *d, const char *name, const char *value)
{
	sp_document_text(d, name, 0, sp_bytes_of(value));
}

/* Left out if it is negative, which means that there is none. */
static void number(sp_document *d, const char *name, int64_t value)
{
	if (value >= 0)
		sp_document_number(d, name, 0, (uint64_t)value);
}

static void steps(sp_document *d, int64_t full_step, int64_t delta_step)
{
	sp_document_digits(d, "full_step", 0, full_step);
	if (delta_step >= 0)
		sp_document_digits(d, "delta_step", 0, delta_step);
}

static sp_document_mark open(sp_document *d, const char *name)
{
	return sp_document_open(d, name, 0);
}

/* ------------------------------------------------------------------- versions */

/* The versions that the library sees in the folder of a model, or of its newest one. */
static void write_reported(sp_document *d, const sp_versions_report *report)
{
	const sp_reported_version *items = report->versions.items;

	sp_document_open_list(d, "versions");
	for (size_t i = 0; i < report->versions.count; i++) {
		sp_document_mark mark = open(d, NULL);

		steps(d, items[i].full_step, items[i].delta_step);
		sp_document_text(d, "state", 0, items[i].state);
		sp_document_text(d, "why", 0, items[i].why);
		sp_document_text(d, "reason", 0, items[i].reason);
		sp_document_flag(d, "newer", 0, items[i].newer);
		number(d, "for_ms", items[i].for_ms);
		number(d, "known_ms", items[i].known_ms);
		sp_document_close(d, mark);
	}
	sp_document_close_list(d);
}

/* Those that the host opens, each with how often it was asked. */
static void write_opened(sp_document *d, const sp_model_state *model)
{
	const sp_version_statuses *list = model->statuses;

	sp_document_open_list(d, "opened");
	for (size_t i = 0; list != NULL && i < list->count; i++) {
		sp_document_mark mark = open(d, NULL);

		sp_document_digits(d, "version", 0, list->items[i].version);
		text(d, "state", sp_version_state_word(list->items[i].state));
		sp_document_text(d, "message", 0, list->items[i].message);
		for (size_t v = 0; v < model->version_count; v++)
			if (model->versions[v] == list->items[i].version)
				sp_document_number(d, "requests", 0, model->runs[v]);
		sp_document_close(d, mark);
	}
	sp_document_close_list(d);
}

static void write_counts(sp_document *d, const char *name, const sp_reported_list *list)
{
	const sp_reported_count *items = list->items;

	sp_document_open_list(d, name);
	for (size_t i = 0; i < list->count; i++) {
		sp_document_mark mark = open(d, NULL);

		sp_document_text(d, "name", 0, items[i].name);
		number(d, "count", items[i].count);
		sp_document_close(d, mark);
	}
	sp_document_close_list(d);
}

static void write_tables(sp_document *d, const sp_versions_report *report)
{
	const sp_reported_table *items = report->tables.items;

	sp_document_open_list(d, "tables");
	for (size_t i = 0; i < report->tables.count; i++) {
		sp_document_mark mark = open(d, NULL);

		sp_document_text(d, "name", 0, items[i].name);
		sp_document_text(d, "tier", 0, items[i].tier);
		number(d, "rows", items[i].rows);
		number(d, "overlay_rows", items[i].overlay_rows);
		number(d, "memory", items[i].memory);
		number(d, "keys", items[i].keys);
		number(d, "absent", items[i].absent);
		number(d, "in_memory", items[i].in_memory);
		number(d, "cached", items[i].cached);
		number(d, "missed", items[i].missed);
		number(d, "disks", items[i].disks);
		number(d, "disks_up", items[i].disks_up);
		number(d, "disk_hits", items[i].disk_hits);
		number(d, "errors", items[i].errors);
		number(d, "servers", items[i].servers);
		number(d, "servers_up", items[i].servers_up);
		number(d, "defaulted", items[i].defaulted);
		sp_document_close(d, mark);
	}
	sp_document_close_list(d);
}

static void write_report(sp_document *d, const sp_versions_report *report)
{
	sp_document_mark mark;

	write_reported(d, report);
	if (report->newest.is_present) {
		mark = open(d, "newest");
		steps(d, report->newest.full_step, report->newest.delta_step);
		number(d, "lag_ms", report->newest.lag_ms);
		sp_document_close(d, mark);
	}
	if (report->pinned.is_present) {
		mark = open(d, "pinned");
		steps(d, report->pinned.full_step, report->pinned.delta_step);
		sp_document_close(d, mark);
	}
	if (report->unreadable.why.size != 0) {
		mark = open(d, "unreadable");
		number(d, "for_ms", report->unreadable.for_ms);
		sp_document_text(d, "why", 0, report->unreadable.why);
		sp_document_close(d, mark);
	}
	write_counts(d, "refusals", &report->refusals);
	number(d, "last_load_ms", report->last_load_ms);
	number(d, "memory", report->memory);
	write_tables(d, report);
}

/* -------------------------------------------------------------------- traffic */

static void write_histogram(sp_document *d, const char *name, const sp_histogram *histogram)
{
	int64_t counts[SP_HISTOGRAM_BUCKETS];
	sp_document_mark mark = open(d, name);

	for (size_t i = 0; i < SP_HISTOGRAM_BUCKETS; i++)
		counts[i] = (int64_t)sp_counter_get(&histogram->buckets[i]);
	sp_document_number(d, "sum_us", 0, sp_counter_get(&histogram->sum_ns) / 1000);
	sp_document_numbers(d, "counts", 0, counts, SP_HISTOGRAM_BUCKETS);
	sp_document_close(d, mark);
}

static void write_traffic(sp_document *d, const sp_model_counters *counters)
{
	/* Read in this order, so that begun >= ended. */
	uint64_t ended = sp_counter_get(&counters->ended);
	uint64_t begun = sp_counter_get(&counters->begun);

	sp_document_number(d, "in_flight", 0, begun > ended ? begun - ended : 0);
	sp_document_number(d, "unlogged", 0, sp_counter_get(&counters->samples_dropped));
	sp_document_open_map(d, "requests");
	for (size_t i = 0; i < SP_STATUS_WORDS; i++)
		sp_document_number(d, sp_status_word(i), 0,
				   sp_counter_get(&counters->predictions[i]));
	sp_document_close_map(d);
	sp_document_open_map(d, "stages");
	for (int i = 0; i < SP_STAGE_COUNT; i++)
		write_histogram(d, sp_stage_name((sp_stage)i), &counters->stages[i]);
	sp_document_close_map(d);
}

/* ----------------------------------------------------------------------- models */

static void write_labels(sp_document *d, const sp_model_state *model)
{
	sp_document_open_list(d, "labels");
	for (size_t i = 0; i < model->label_count; i++) {
		sp_document_mark mark = open(d, NULL);

		sp_document_text(d, "label", 0, model->labels[i].label);
		if (model->labels[i].version < 0)
			text(d, "version", "newest");
		else
			sp_document_digits(d, "version", 0, model->labels[i].version);
		sp_document_close(d, mark);
	}
	sp_document_close_list(d);
}

static void write_model(sp_document *d, const sp_model_state *model)
{
	sp_document_mark mark = open(d, NULL);

	text(d, "name", model->name);
	sp_document_flag(d, "ready", 0, model->ready);
	sp_document_flag(d, "by_order", 0, model->by_order);
	write_labels(d, model);
	write_opened(d, model);
	if (model->report != NULL)
		write_report(d, model->report);
	write_traffic(d, model->counters);
	sp_document_close(d, mark);
}

/* ----------------------------------------------------------------------- host */

static void write_limits(sp_document *d)
{
	int64_t limits[SP_HISTOGRAM_BUCKETS - 1];

	for (size_t i = 0; i < SP_HISTOGRAM_BUCKETS - 1; i++)
		limits[i] = (int64_t)sp_histogram_limit_us(i);
	sp_document_numbers(d, "limits_us", 0, limits, SP_HISTOGRAM_BUCKETS - 1);
}

static void write_host(sp_document *d, const sp_serving *serving)
{
	char why[SP_UNREADY_SIZE];
	int64_t now = (int64_t)time(NULL);
	sp_http_server_load load;

	sp_http_server_get_load(serving->server, &load);
	text(d, "version", serving_processor_version());
	text(d, "unready", sp_serving_is_ready(serving, why) ? "" : why);
	number(d, "now", now);
	number(d, "started", serving->started);
	sp_document_number(d, "threads", 0, serving->worker_count);
	sp_document_number(d, "connections", 0, load.open);
	sp_document_number(d, "busy", 0, load.busy);
	sp_document_number(d, "request_memory", 0, sp_budget_used(&serving->memory));
	sp_document_number(d, "request_memory_limit", 0, serving->memory.limit);
	sp_document_number(d, "log_lines_lost", 0, sp_observer_lines_dropped(serving->observer));
	sp_document_open_map(d, "rejections");
	for (int i = SP_REJECTED_NOT + 1; i < SP_REJECTED_COUNT; i++)
		sp_document_number(d, sp_rejection_name((sp_rejection)i), 0,
				   sp_counter_get(&serving->counters.rejections[i]));
	sp_document_close_map(d);
	write_limits(d);
}

void sp_status_document_write(sp_buffer *out, const sp_serving *serving,
			      const sp_status_models *models)
{
	sp_document d = sp_document_of(out, true);
	sp_document_mark mark = open(&d, NULL);

	write_host(&d, serving);
	sp_document_open_list(&d, "models");
	for (size_t i = 0; i < models->count; i++)
		write_model(&d, &models->items[i]);
	sp_document_close_list(&d);
	sp_document_open_list(&d, "unloaded");
	for (size_t i = 0; i < models->unloaded_count; i++)
		text(&d, NULL, models->unloaded[i]);
	sp_document_close_list(&d);
	sp_document_close(&d, mark);
}
