#ifndef SP_MODEL_LOADER_EMBEDDING_LOAD_POLICY_H
#define SP_MODEL_LOADER_EMBEDDING_LOAD_POLICY_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/map.h"
#include "base/status.h"
#include "storage/format/row_format.h"
#include "storage/redis/redis_tier.h"
#include "storage/shards/shard_tier.h"
#include "storage/ssd/ssd_tier.h"

/*
 * The part of the configuration about loading and serving embeddings (docs/configuration.md).
 *
 * A rule is a value for the variables whose name, without its part, matches a pattern: `*` is any
 * run of characters, `?` any one, everything else itself.  The first rule that matches counts.
 *
 * Threads: pure.
 */
typedef struct sp_name_rule {
	const char *pattern;
	int64_t value;
} sp_name_rule;

typedef struct sp_name_rules {
	const sp_name_rule *items;
	size_t count;
} sp_name_rules;

/* `otherwise` when no rule matches. */
int64_t sp_name_rules_find(const sp_name_rules *rules, const char *name, int64_t otherwise);

bool sp_name_matches(const char *pattern, const char *name);

/* How to choose the row of a key that both a delta and its full checkpoint have. */
typedef enum sp_old_key {
	SP_OLD_KEY_REPLACE,          /* the delta's row */
	SP_OLD_KEY_REPLACE_IF_NEWER, /* the one that training has changed last */
	SP_OLD_KEY_BLEND,            /* old_percent of the old row, the rest of the delta's */
} sp_old_key;

/* The rows of a table, by the index of the full checkpoint: those below a threshold included. */
typedef struct sp_rows_left_out {
	const char *table;
	size_t dim;
	sp_row_format format;
	size_t row_count;
} sp_rows_left_out;

/* All zero is DeepRec's behaviour. */
typedef struct sp_load_policy {
	sp_name_rules row_formats; /* an sp_row_format each; fp32 without a rule */

	/* Keys seen less often in training are left out; 0 without a rule: none. */
	sp_name_rules frequency_thresholds;

	bool absent_keys_are_zeros; /* without a filter, absent keys answer zeros, not default rows
				     */

	/*
	 * Of the variables with these names (separated by ";"; "*": all) only one slice is held,
	 * the rows that storage/shards/shard_rule.h gives it; all other keys are answered by zeros.
	 * NULL: no variables.
	 */
	const char *sharded_names;
	int64_t slice;
	int64_t slice_count;

	size_t threads; /* threads that read rows; 0 is 1 */

	/*
	 * Limits on rows and bytes per second, all threads together, while *serving is true; 0: no
	 * limit, as with serving NULL.
	 */
	int64_t rows_per_second;
	int64_t bytes_per_second;
	const atomic_bool *serving;

	/* The folder of images (model_loader/embedding/embedding_image.h); NULL: none. */
	const char *image_folder;
	size_t image_keep; /* images kept per model; 0 is 1 */

	const atomic_bool *closing;   /* true: loading ends soon; NULL: never */
	const atomic_bool *cancelled; /* likewise, because another load has failed */

	/*
	 * Where tables go that are larger than the memory it gives each; NULL: all stay in memory.
	 * Belongs to the version that is loaded.
	 */
	sp_ssd_store *ssd;

	/*
	 * Not NULL: full checkpoints' rows are there, and not read from the checkpoint.  `features`
	 * are the numbers of embeddings (model_loader/embedding/feature_numbers.h), for DeepRec's
	 * layout.  Belong to the version that is loaded.
	 */
	sp_redis_store *redis;
	const sp_map *features;

	/*
	 * Not NULL: other processors hold the full checkpoints' rows of the variables with these
	 * names (as above); belongs to the version that is loaded.
	 */
	sp_shard_store *shards;
	const char *peers_names;

	/*
	 * Not NULL: no rows of full checkpoints are read.  It is told of each table, which is then
	 * empty, maybe by several threads at once.  Shows what everything else takes; not for
	 * serving.
	 */
	void (*leave_out)(void *context, const sp_rows_left_out *rows);
	void *leave_out_context;

	/*
	 * Not NULL: where the rows of full checkpoints go, instead of into tables, which are then
	 * empty.  Needs `threads` 1, no image, and no SSD.  Not for serving.
	 */
	const struct sp_row_export *exports;

	bool only_finite; /* refuse weights with a NaN or an infinity */

	/* How a delta is merged with its full checkpoint; a maximum of 0 is no limit. */
	bool ignore_new_keys;
	int64_t old_key;           /* an sp_old_key */
	int64_t old_percent;       /* for SP_OLD_KEY_BLEND */
	int64_t max_new_percent;   /* limit of new keys, in per cent of the table's keys */
	int64_t max_drift_percent; /* limit of |new - old| of all known keys' rows, per cent of
				      |old| */
} sp_load_policy;

/*
 * Whether rows of a delta are compared or merged with those of the full checkpoint, which must then
 * be unaltered in memory.
 */
bool sp_load_policy_compares_rows(const sp_load_policy *policy);

/* Whether loading must end. */
bool sp_load_policy_is_over(const sp_load_policy *policy);

/* SP_BUSY when loading must end; `policy` may be NULL. */
SP_MUST_CHECK sp_status sp_load_policy_go_on(const sp_load_policy *policy, sp_error *err);

/* Whether `name` is among policy->sharded_names. */
bool sp_load_policy_shards(const sp_load_policy *policy, const char *name);

/* Whether other processors hold its rows. */
bool sp_load_policy_asks(const sp_load_policy *policy, const char *name);

#endif
