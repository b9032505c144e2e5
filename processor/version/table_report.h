#ifndef SP_PROCESSOR_VERSION_TABLE_REPORT_H
#define SP_PROCESSOR_VERSION_TABLE_REPORT_H

#include "base/buffer.h"
#include "model_loader/version/weights.h"

/*
 * Appends the tables of embeddings as a JSON array; for one with a slower tier also where its keys
 * were found, by storage/table/table.h's counters:
 *
 *   [{"table":"item_emb","dim":16,"rows":9000,"overlay_rows":120,"memory":640000},
 *    {"table":"user_emb","dim":16,"rows":80000,"overlay_rows":0,"memory":1073700000,
 *     "tier":"ssd","keys":512,"in_memory":0,"cached":420,"missed":92,"absent":3,
 *     "errors":0,"bytes_read":364544}, ...]
 *
 * without the line breaks.  `rows` counts all rows, `overlay_rows` those of a delta over the
 * others, `memory` is in bytes.
 */
void sp_table_report_append(sp_buffer *json, const sp_weights *weights);

#endif
