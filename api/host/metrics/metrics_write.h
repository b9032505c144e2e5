#ifndef SP_API_HOST_METRICS_METRICS_WRITE_H
#define SP_API_HOST_METRICS_METRICS_WRITE_H

#include "api/host/host.h"
#include "api/host/model/versions_report.h"
#include "base/buffer.h"

/*
 * The metrics of metrics.inc, in its order: those of the host, which are always
 * there, and those of the model once it is open.
 */
void sp_metrics_write_host(sp_buffer *out, const sp_host *host);
void sp_metrics_write_model(sp_buffer *out, const char *model_name,
			    const sp_versions_report *report);

#endif
