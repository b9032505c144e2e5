#ifndef SP_API_HOST_METRICS_METRICS_WRITE_H
#define SP_API_HOST_METRICS_METRICS_WRITE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "api/host/metrics/counters.h"
#include "api/host/model/version_status.h"
#include "base/budget.h"
#include "base/buffer.h"

/*
 * Writes the metrics in the order of metrics.inc: those of the host, then what the library reports
 * of each model that is open.  Both functions append to `out`.
 *
 * Threads: one thread at a time per buffer.
 */
typedef struct sp_model_state {
	const char *name;
	bool ready;                     /* a version is available */
	bool by_order;                  /* an order has changed its configuration */
	const sp_version_label *labels; /* [label_count] */
	size_t label_count;
	const sp_model_counters *counters;
	const char *thread_pool_name; /* of batching */
	const int64_t *versions;      /* [version_count] that do not change */
	const uint64_t *runs;         /* [version_count] */
	size_t version_count;
	const sp_version_statuses *statuses; /* NULL: unknown */
	const sp_versions_report *report;    /* of the newest version; NULL: none is open */
} sp_model_state;

typedef struct sp_host_state {
	size_t worker_count;
	size_t connections; /* open */
	uint64_t connections_dropped, connections_refused;
	const sp_budget *memory; /* of requests and answers */
	int64_t started;         /* Unix time */
	const sp_counters *counters;
	uint64_t lines_dropped; /* of the access log and of the log of slow requests */
	uint64_t traces_sent, traces_dropped;
	const sp_model_state *models; /* [model_count] */
	size_t model_count;
} sp_host_state;

void sp_metrics_write_host(sp_buffer *out, const sp_host_state *host);

/* The process's memory by owner, among the host's metrics. */
void sp_metrics_write_memory(sp_buffer *out, const sp_host_state *host);

/*
 * The bytes of a line "NAME:  123 kB" of /proc/self/status, by a format "NAME: %" SCNu64.  0: the
 * file has no such line.
 */
uint64_t sp_metrics_read_status(const char *format);

void sp_metrics_write_models(sp_buffer *out, const sp_model_state *models, size_t count);

#endif
