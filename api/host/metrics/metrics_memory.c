#include <inttypes.h>
#include <malloc.h>
#include <stdio.h>

#include "api/host/metrics/metric.h"
#include "api/host/metrics/metrics_write.h"

/*
 * The process's own memory by owner.  What the library and the host count for themselves comes
 * first; of the rest, free blocks of malloc() are the allocator's, and what is left is "other":
 * stacks, the blocks of the host's and the library's structures, other versions than the newest.
 */

uint64_t sp_metrics_read_status(const char *format)
{
	FILE *file = fopen("/proc/self/status", "re");
	char line[256];
	uint64_t kilobytes = 0;

	while (file != NULL && fgets(line, sizeof(line), file) != NULL)
		if (sscanf(line, format, &kilobytes) == 1)
			break;
	if (file != NULL)
		fclose(file);
	return kilobytes << 10;
}

static void add_owner(sp_buffer *out, sp_bytes model, sp_bytes owner, uint64_t bytes)
{
	sp_label labels[] = {{"model_name", model}, {"owner", owner}};

	sp_metric_add(out, SP_METRIC_OWNERS, labels, 2, (double)bytes);
}

/* Returns the bytes of all owners in the model.  A mapped image is pages of a file. */
static uint64_t write_model(sp_buffer *out, const sp_model_state *model)
{
	const sp_reported_list *owners = &model->report->owners;
	const sp_reported_count *items = owners->items;
	uint64_t sum = 0;

	for (size_t i = 0; i < owners->count; i++) {
		if (sp_bytes_equal_text(items[i].name, "image"))
			continue;
		add_owner(out, sp_bytes_of(model->name), items[i].name, (uint64_t)items[i].count);
		sum += (uint64_t)items[i].count;
	}
	return sum;
}

void sp_metrics_write_memory(sp_buffer *out, const sp_host_state *host)
{
	uint64_t own = sp_metrics_read_status("RssAnon: %" SCNu64) +
		       sp_metrics_read_status("VmSwap: %" SCNu64);
	uint64_t requests = sp_budget_used(host->memory), known = requests, left, spare;

	sp_metric_begin(out, SP_METRIC_OWN_MEMORY);
	sp_metric_add(out, SP_METRIC_OWN_MEMORY, NULL, 0, (double)own);
	sp_metric_begin(out, SP_METRIC_OWNERS);
	for (size_t i = 0; i < host->model_count; i++)
		if (host->models[i].report != NULL)
			known += write_model(out, &host->models[i]);
	left = own > known ? own - known : 0;
	spare = mallinfo2().fordblks;
	if (spare > left)
		spare = left;
	add_owner(out, sp_bytes_of(""), sp_bytes_of("requests"), requests);
	add_owner(out, sp_bytes_of(""), sp_bytes_of("allocator"), spare);
	add_owner(out, sp_bytes_of(""), sp_bytes_of("other"), left - spare);
}
