#ifndef SP_API_HOST_METRICS_OPENMETRICS_H
#define SP_API_HOST_METRICS_OPENMETRICS_H

#include "base/buffer.h"
#include "base/bytes.h"

/*
 * The same page for a scraper that accepts OpenMetrics 1.0:
 *
 * - A counter is described without its "_total"; one whose name has none is of the type "unknown",
 *   which keeps its name.
 * - An exemplar, in the text format the comment SP_EXEMPLAR_MARK behind its bucket, is at the end
 * of that bucket's line.
 * - The page ends with "# EOF".
 *
 * Threads: one thread at a time per buffer.
 */
#define SP_OPENMETRICS_CONTENT_TYPE "application/openmetrics-text; version=1.0.0; charset=utf-8"
#define SP_EXEMPLAR_MARK            "# EXEMPLAR "

void sp_openmetrics_write(sp_buffer *out, sp_bytes page);

#endif
