#include "tools/report.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/json_text.h"
#include "base/utf8.h"

void sp_report_init(sp_report *report, FILE *out, bool json)
{
	*report = (sp_report){.out = out, .json = json};
}

static void write_quoted(FILE *out, sp_bytes text)
{
	sp_buffer quoted;

	sp_buffer_init(&quoted, SIZE_MAX / 2);
	sp_json_text_append(&quoted, text);
	fputs(quoted.failed ? "null" : quoted.data, out);
	sp_buffer_fini(&quoted);
}

/* Replaces control characters, which could control the terminal. */
static void write_printable(FILE *out, sp_bytes text)
{
	for (size_t i = 0, length; i < text.size; i += length != 0 ? length : 1) {
		length = sp_utf8_length(text.data + i, text.size - i);
		if (length == 0 || sp_utf8_is_control(text.data + i))
			fputc('?', out);
		else
			fwrite(text.data + i, 1, length, out);
	}
}

/* Whether the level is an object in a list; its first member is on the line of the dash. */
static bool is_item(const sp_report *r, int level)
{
	return level > 0 && !r->is_list[level] && r->is_list[level - 1];
}

/* Separator, indentation and key of the next value. */
static void start_text(sp_report *r, const char *key)
{
	int level = r->depth - 1;
	bool first = level < 0 || r->is_empty[level];

	if (r->in_line != 0) {
		fputs(first ? "" : ", ", r->out);
	} else {
		if (first && level > 0 && !is_item(r, level))
			fputc('\n', r->out);
		for (int i = 0; i < level && !(first && is_item(r, level)); i++)
			fputs("  ", r->out);
		if (level >= 0 && r->is_list[level])
			fputs("- ", r->out);
	}
	if (key != NULL)
		fprintf(r->out, "%s:", key);
}

static void start_json(sp_report *r, const char *key)
{
	if (r->depth > 0 && !r->is_empty[r->depth - 1])
		fputc(',', r->out);
	if (key != NULL) {
		write_quoted(r->out, sp_bytes_of(key));
		fputc(':', r->out);
	}
}

static void start(sp_report *r, const char *key)
{
	if (r->json)
		start_json(r, key);
	else
		start_text(r, key);
	if (r->depth > 0)
		r->is_empty[r->depth - 1] = false;
}

static void start_value(sp_report *r, const char *key)
{
	start(r, key);
	if (!r->json && key != NULL)
		fputc(' ', r->out);
}

static void end_value(sp_report *r)
{
	if (!r->json && r->in_line == 0)
		fputc('\n', r->out);
}

static void open_level(sp_report *r, bool list)
{
	if (r->json || r->in_line != 0)
		fputc(list ? '[' : '{', r->out);
	r->is_list[r->depth] = list;
	r->is_empty[r->depth] = true;
	r->depth++;
}

void sp_report_open(sp_report *report, const char *key)
{
	start(report, key);
	open_level(report, false);
}

void sp_report_open_list(sp_report *report, const char *key)
{
	start(report, key);
	open_level(report, true);
}

static void open_in_line(sp_report *report, const char *key, bool list)
{
	start_value(report, key);
	if (report->in_line == 0 && !report->json)
		report->in_line = report->depth + 1;
	open_level(report, list);
}

void sp_report_open_row(sp_report *report, const char *key)
{
	open_in_line(report, key, true);
}

void sp_report_open_brief(sp_report *report, const char *key)
{
	open_in_line(report, key, false);
}

void sp_report_close(sp_report *report)
{
	bool list = report->is_list[--report->depth];
	bool ends_line = report->json ? report->depth == 0 : report->depth + 1 == report->in_line;

	if (report->json || report->in_line != 0) {
		fputc(list ? ']' : '}', report->out);
	} else if (report->is_empty[report->depth]) {
		fputs(" none", report->out);
		ends_line = true;
	}
	if (ends_line) {
		fputc('\n', report->out);
		report->in_line = 0;
	}
}

void sp_report_text(sp_report *report, const char *key, sp_bytes text)
{
	start_value(report, key);
	if (report->json)
		write_quoted(report->out, text);
	else
		write_printable(report->out, text);
	end_value(report);
}

void sp_report_i64(sp_report *report, const char *key, int64_t value)
{
	start_value(report, key);
	fprintf(report->out, "%" PRId64, value);
	end_value(report);
}

void sp_report_u64(sp_report *report, const char *key, uint64_t value)
{
	start_value(report, key);
	fprintf(report->out, "%" PRIu64, value);
	end_value(report);
}

void sp_report_bool(sp_report *report, const char *key, bool value)
{
	start_value(report, key);
	fputs(report->json ? value ? "true" : "false" : value ? "yes" : "no", report->out);
	end_value(report);
}

void sp_report_f32(sp_report *report, const char *key, float value)
{
	const char *word = isnan(value) ? "NaN" : value > 0 ? "Infinity" : "-Infinity";
	char text[32];

	start_value(report, key);
	for (int digits = 6; digits <= 9; digits++) {
		snprintf(text, sizeof(text), "%.*g", digits, (double)value);
		if (strtof(text, NULL) == value)
			break;
	}
	if (isfinite(value))
		fputs(text, report->out);
	else
		fprintf(report->out, report->json ? "\"%s\"" : "%s", word);
	end_value(report);
}

void sp_report_size(sp_report *report, const char *key, uint64_t bytes)
{
	static const char units[] = "KMGTPE";
	double amount = (double)bytes;
	size_t unit = 0;

	start_value(report, key);
	fprintf(report->out, "%" PRIu64, bytes);
	if (!report->json && bytes >= 1024) {
		for (amount /= 1024; amount >= 1024; amount /= 1024)
			unit++;
		fprintf(report->out, " (%.1f %ciB)", amount, units[unit]);
	}
	end_value(report);
}

void sp_report_fail(sp_report *report, const char *error)
{
	/* In text form the error is on standard error only. */
	if (!report->json)
		return;
	if (report->depth == 0)
		sp_report_open(report, NULL);
	while (report->depth > 1)
		sp_report_close(report);
	sp_report_text(report, "error", sp_bytes_of(error));
	sp_report_close(report);
}

bool sp_report_finish(sp_report *report)
{
	return fflush(report->out) == 0 && !ferror(report->out);
}
