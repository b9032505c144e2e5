#ifndef SP_TOOLS_SSD_ROWS_H
#define SP_TOOLS_SSD_ROWS_H

#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/status.h"
#include "model_loader/checkpoint/bundle.h"
#include "tools/catalogue.h"

/* Rows that DeepRec's SSD tier has saved beside a checkpoint (model_loader/embedding/ssd_record.h).
 */
typedef struct sp_ssd_piece {
	const int64_t *keys;  /* [count]; -1: skip this row */
	const int64_t *freqs; /* [count]; NULL: unknown */
	const float *rows;    /* [count, dim] */
	size_t count;
} sp_ssd_piece;

typedef sp_status sp_ssd_visit(void *context, const sp_ssd_piece *piece, sp_error *err);

/* Calls visit() for all rows of the part, in pieces; not at all if there are none. */
SP_MUST_CHECK sp_status sp_ssd_rows_each(const sp_bundle *bundle, const sp_catalogue_part *part,
					 size_t dim, sp_arena *arena, sp_ssd_visit *visit,
					 void *context, sp_error *err);

#endif
