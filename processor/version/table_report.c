#include "processor/version/table_report.h"

#include <inttypes.h>

#include "processor/request/json_text.h"
#include "storage/table/table_builder.h"

static size_t overlay_rows(const sp_table *table)
{
	const sp_rows *overlay = sp_table_get_layers(table).overlay;

	return overlay != NULL ? sp_rows_get_shape(overlay)->row_count : 0;
}

static void append_counters(sp_buffer *json, const sp_table_counters *c)
{
	sp_buffer_printf(json,
			 ",\"tier\":\"%s\",\"keys\":%" PRIu64 ",\"in_memory\":%" PRIu64
			 ",\"cached\":%" PRIu64 ",\"missed\":%" PRIu64 ",\"absent\":%" PRIu64
			 ",\"errors\":%" PRIu64 ",\"bytes_read\":%" PRIu64,
			 c->tier, c->keys, c->in_memory, c->cached, c->missed, c->absent, c->errors,
			 c->bytes_read);
}

static void append_table(sp_buffer *json, const sp_table *table)
{
	sp_table_counters counters;

	sp_buffer_append_text(json, "{\"table\":");
	sp_json_text_append(json, sp_table_name(table));
	sp_buffer_printf(json, ",\"dim\":%zu,\"rows\":%zu,\"overlay_rows\":%zu,\"memory\":%zu",
			 sp_table_dim(table), sp_table_row_count(table), overlay_rows(table),
			 sp_table_footprint(table));
	if (sp_table_count(table, &counters))
		append_counters(json, &counters);
	sp_buffer_append_char(json, '}');
}

void sp_table_report_append(sp_buffer *json, const sp_weights *weights)
{
	sp_buffer_append_char(json, '[');
	for (size_t i = 0; i < sp_weights_table_count(weights); i++) {
		if (i != 0)
			sp_buffer_append_char(json, ',');
		append_table(json, sp_weights_table(weights, i));
	}
	sp_buffer_append_char(json, ']');
}
