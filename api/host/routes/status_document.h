#ifndef SP_API_HOST_ROUTES_STATUS_DOCUMENT_H
#define SP_API_HOST_ROUTES_STATUS_DOCUMENT_H

#include "api/host/metrics/metrics_write.h"
#include "api/host/routes/serving.h"
#include "base/buffer.h"

/*
 * What the status page shows, as one JSON document (docs/observability.md): the numbers of the
 * metrics, and of each version what it waits for or why it was refused.  Counters begin
 * at 0 when the host starts; the difference of two documents gives rates.  Versions and steps are
 * texts of digits.
 *
 * Threads: any, several at once.
 */
typedef struct sp_status_models {
	sp_model_state *items; /* [count] */
	size_t count;
	const char *const *unloaded; /* [unloaded_count], by orders */
	size_t unloaded_count;
} sp_status_models;

void sp_status_document_write(sp_buffer *out, const sp_serving *serving,
			      const sp_status_models *models);

#endif
