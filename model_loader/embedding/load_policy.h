#ifndef SP_MODEL_LOADER_EMBEDDING_LOAD_POLICY_H
#define SP_MODEL_LOADER_EMBEDDING_LOAD_POLICY_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/status.h"
#include "storage/format/row_format.h"
#include "storage/ssd/ssd_tier.h"

/*
 * What the configuration says about loading and serving embeddings
 * (docs/configuration.md).
 *
 * A rule is a value for the variables whose name, without its part, matches a
 * pattern: `*` is any run of characters, `?` any one, everything else itself.
 * Of several rules the first that matches counts.
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

/* What becomes of a row whose key a delta and its full checkpoint both have. */
typedef enum sp_old_key {
	SP_OLD_KEY_REPLACE,          /* the delta's row */
	SP_OLD_KEY_REPLACE_IF_NEWER, /* the one that training has changed later */
	SP_OLD_KEY_BLEND,            /* old_percent of the old one, the rest of the delta's */
} sp_old_key;

/* All zero is what DeepRec does. */
typedef struct sp_load_policy {
	sp_name_rules row_formats; /* an sp_row_format each; fp32 without a rule */

	/* Keys that training has seen less often are not held; 0 without a rule: all are. */
	sp_name_rules frequency_thresholds;

	bool unseen_zeros; /* without a filter absent keys answer zeros, not default rows */

	/*
	 * Of the variables with these names (";" between them) only the rows of one
	 * slice of so many are held, those with key % 1000 % slice_count == slice; all
	 * other keys answer zeros.  NULL: of none.
	 */
	const char *sharded_names;
	int64_t slice;
	int64_t slice_count;

	size_t threads; /* that read rows at once; 0 is 1 */

	/* Rows, and bytes of them, that they read, all together, while *serving is true; 0: any,
	 * as with NULL. */
	int64_t rows_per_second;
	int64_t bytes_per_second;
	const atomic_bool *serving;

	/* Where images are (model_loader/embedding/embedding_image.h); NULL: none. */
	const char *image_folder;
	size_t image_keep; /* how many of a model stay; 0 is 1 */

	const atomic_bool *closing;   /* true: loading ends as soon as it can; NULL: never */
	const atomic_bool *cancelled; /* likewise, because something else has failed */

	/*
	 * Where tables go that are larger than the memory it gives each; NULL: all stay in
	 * memory.  It is of the one version that is loaded.
	 */
	sp_ssd_store *ssd;

	bool only_finite; /* weights with a NaN or an infinity are refused */

	/* How a delta is merged with its full checkpoint, of which 0 is no guard. */
	bool ignore_new_keys;
	int64_t old_key;           /* an sp_old_key */
	int64_t old_percent;       /* for SP_OLD_KEY_BLEND */
	int64_t max_new_percent;   /* new keys, of those a table has */
	int64_t max_drift_percent; /* |new - old| of all rows of known keys, of |old| */
} sp_load_policy;

/*
 * Whether rows of a delta are compared or merged with those of the full
 * checkpoint, which must be in memory as they are there.
 */
bool sp_load_policy_compares_rows(const sp_load_policy *policy);

/* Whether loading is to end. */
bool sp_load_policy_is_over(const sp_load_policy *policy);

/* SP_BUSY when it is; `policy` may be NULL. */
SP_MUST_CHECK sp_status sp_load_policy_go_on(const sp_load_policy *policy, sp_error *err);

/* Whether `name` is among policy->sharded_names. */
bool sp_load_policy_shards(const sp_load_policy *policy, const char *name);

#endif
