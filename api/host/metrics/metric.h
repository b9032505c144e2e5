#ifndef SP_API_HOST_METRICS_METRIC_H
#define SP_API_HOST_METRICS_METRIC_H

#include <stddef.h>

#include "api/host/metrics/counters.h"
#include "base/buffer.h"
#include "base/bytes.h"

/*
 * Writes metrics in Prometheus's text exposition format 0.0.4: for each metric the comment lines,
 * then one line per sample.
 *
 * Threads: one thread at a time per buffer.
 */

#define SP_METRICS_CONTENT_TYPE "text/plain; version=0.0.4; charset=utf-8"

typedef enum sp_metric {
#define SP_METRIC(id, name, type, labels, help) SP_METRIC_##id,
#include "api/host/metrics/metrics.inc"
#undef SP_METRIC
	SP_METRIC_COUNT
} sp_metric;

/* The value may be any bytes: they are escaped, and invalid UTF-8 becomes U+FFFD. */
typedef struct sp_label {
	const char *name;
	sp_bytes value;
} sp_label;

/* "# HELP" and "# TYPE". */
void sp_metric_begin(sp_buffer *out, sp_metric metric);

/* One sample.  Whole numbers below 2^53 are exact, others have 15 digits. */
void sp_metric_add(sp_buffer *out, sp_metric metric, const sp_label *labels, size_t count,
		   double value);

/* In nanoseconds. */
typedef enum sp_time_unit {
	SP_MICROSECONDS = 1000, /* of TensorFlow Serving's metrics */
	SP_SECONDS = 1000000000,
} sp_time_unit;

/* All samples of a histogram. */
void sp_metric_add_histogram(sp_buffer *out, sp_metric metric, const sp_label *labels, size_t count,
			     const sp_histogram *histogram, sp_time_unit unit);

/* The same of sizes. */
void sp_metric_add_size_histogram(sp_buffer *out, sp_metric metric, const sp_label *labels,
				  size_t count, const sp_size_histogram *histogram);

#endif
