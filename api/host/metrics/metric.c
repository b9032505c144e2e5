#include "api/host/metrics/metric.h"

#include <math.h>
#include <stdio.h>

#include "api/host/metrics/openmetrics.h"
#include "base/hex.h"
#include "base/utf8.h"

typedef struct description {
	const char *name, *type, *help;
} description;

static const description descriptions[] = {
#define SP_METRIC(id, name, type, labels, help) {name, type, help},
#include "api/host/metrics/metrics.inc"
#undef SP_METRIC
};

void sp_metric_begin(sp_buffer *out, sp_metric metric)
{
	const description *d = &descriptions[metric];

	sp_buffer_printf(out, "# HELP %s %s\n# TYPE %s %s\n", d->name, d->help, d->name, d->type);
}

static void write_value(sp_buffer *out, sp_bytes value)
{
	for (size_t i = 0; i < value.size;) {
		const char *at = value.data + i;
		size_t length = sp_utf8_length(at, value.size - i);

		if (length == 0)
			sp_buffer_append_text(out, "\xEF\xBF\xBD");
		else if (*at == '\n')
			sp_buffer_append_text(out, "\\n");
		else if (*at == '\\' || *at == '"')
			sp_buffer_printf(out, "\\%c", *at);
		else
			sp_buffer_append(out, at, length);
		i += length != 0 ? length : 1;
	}
}

/* `le` is the limit of a histogram's bucket; NULL for other samples. */
static void write_line(sp_buffer *out, sp_metric metric, const char *suffix, const sp_label *labels,
		       size_t count, const char *le, double value)
{
	const char *between = "{";
	bool whole = value == floor(value) && fabs(value) < 0x1p64;

	sp_buffer_printf(out, "%s%s", descriptions[metric].name, suffix);
	for (size_t i = 0; i < count; i++) {
		sp_buffer_printf(out, "%s%s=\"", between, labels[i].name);
		write_value(out, labels[i].value);
		sp_buffer_append_char(out, '"');
		between = ",";
	}
	if (le != NULL)
		sp_buffer_printf(out, "%sle=\"%s\"", between, le);
	sp_buffer_append_text(out, count != 0 || le != NULL ? "} " : " ");
	sp_buffer_printf(out, whole ? "%.0f\n" : "%.15g\n", value);
}

void sp_metric_add(sp_buffer *out, sp_metric metric, const sp_label *labels, size_t count,
		   double value)
{
	write_line(out, metric, "", labels, count, NULL, value);
}

static void write_exemplar(sp_buffer *out, const sp_histogram *histogram, size_t bucket,
			   sp_time_unit unit)
{
	sp_exemplar_values values;
	char id[2 * sizeof(values.trace_id) + 1];

	if (!sp_histogram_exemplar(histogram, bucket, &values))
		return;
	sp_hex_print(id, values.trace_id, sizeof(values.trace_id));
	sp_buffer_printf(out, SP_EXEMPLAR_MARK "{trace_id=\"%s\"} %.15g %lld.%03d\n", id,
			 (double)values.ns / unit, (long long)(values.unix_ms / 1000),
			 (int)(values.unix_ms % 1000));
}

/* The count is the sum of the buckets as read here, even if others count meanwhile. */
void sp_metric_add_histogram(sp_buffer *out, sp_metric metric, const sp_label *labels, size_t count,
			     const sp_histogram *histogram, sp_time_unit unit)
{
	double sum = (double)sp_counter_get(&histogram->sum_ns) / unit;
	uint64_t below = 0;

	for (size_t i = 0; i < SP_HISTOGRAM_BUCKETS; i++) {
		char le[32] = "+Inf";

		if (i < SP_HISTOGRAM_BUCKETS - 1)
			snprintf(le, sizeof(le), "%g",
				 sp_histogram_limit_us(i) * SP_MICROSECONDS / unit);
		below += sp_counter_get(&histogram->buckets[i]);
		write_line(out, metric, "_bucket", labels, count, le, (double)below);
		write_exemplar(out, histogram, i, unit);
	}
	write_line(out, metric, "_sum", labels, count, NULL, sum);
	write_line(out, metric, "_count", labels, count, NULL, (double)below);
}

void sp_metric_add_size_histogram(sp_buffer *out, sp_metric metric, const sp_label *labels,
				  size_t count, const sp_size_histogram *histogram)
{
	double sum = (double)sp_counter_get(&histogram->sum);
	uint64_t below = 0;

	for (size_t i = 0; i < SP_SIZE_BUCKETS; i++) {
		char le[32] = "+Inf";

		if (i < SP_SIZE_BUCKETS - 1)
			snprintf(le, sizeof(le), "%d", 1 << i);
		below += sp_counter_get(&histogram->buckets[i]);
		write_line(out, metric, "_bucket", labels, count, le, (double)below);
	}
	write_line(out, metric, "_sum", labels, count, NULL, sum);
	write_line(out, metric, "_count", labels, count, NULL, (double)below);
}
