#ifndef SP_API_HOST_MODEL_MODEL_TABLE_H
#define SP_API_HOST_MODEL_MODEL_TABLE_H

#include <stdbool.h>
#include <stddef.h>

#include "api/host/model/models.h"
#include "api/host/model/traffic.h"
#include "base/arena.h"

/*
 * The models and versions that requests are answered by: a table that does not change, and that is
 * replaced as a whole.
 *
 * A reader counts itself in while it looks at the table.  The writer swaps in a new table and waits
 * until each counter has been zero once: from then on no reader has the old table.  Readers take no
 * lock and do not wait.
 */

/* As the version of a label: whichever is the newest. */
enum { SP_ANY_VERSION = -1 };

typedef struct sp_table_entry {
	sp_model *model;
	sp_served_model **served; /* [served_count], newest first; all are open */
	size_t served_count;
	sp_version_label *labels; /* [label_count] */
	size_t label_count;
	bool loading;    /* the first version may still come */
	const char *why; /* no version is available: why a load has failed; NULL: none has */
	bool by_order;   /* an order has changed its configuration */
	sp_traffic traffic;
} sp_table_entry;

typedef struct sp_model_table {
	sp_table_entry *entries; /* [count], sorted by name */
	size_t count;
	sp_arena *arena; /* of the table itself and all of the above, but for the models */
} sp_model_table;

/* NULL when out of memory. */
sp_model_table *sp_model_table_create(size_t count);

/* NULL is fine. */
void sp_model_table_destroy(sp_model_table *table);

/* Sorts the entries, which have been filled in. */
void sp_model_table_finish(sp_model_table *table);

/* NULL: there is no such model. */
const sp_table_entry *sp_model_table_find(const sp_model_table *table, sp_bytes name);

/* NULL: there is no such label. */
const sp_version_label *sp_table_entry_label(const sp_table_entry *entry, sp_bytes label);

/* ---------------------------------------------------------------- publishing */

typedef struct sp_table_readers sp_table_readers;

/* NULL when out of memory; nothing is published. */
sp_table_readers *sp_table_readers_create(void);

/* No reader may be left.  Frees the published table.  NULL is fine. */
void sp_table_readers_destroy(sp_table_readers *readers);

/* The table, valid until `seat` is given back; NULL before the first one is published. */
const sp_model_table *sp_table_enter(sp_table_readers *readers, size_t *seat);
void sp_table_leave(sp_table_readers *readers, size_t seat);

/* Publishes `table` and frees the previous one once no reader has it.  One thread at a time. */
void sp_table_publish(sp_table_readers *readers, sp_model_table *table);

#endif
