#ifndef SP_MODEL_LOADER_EMBEDDING_EMBEDDING_VARIABLE_H
#define SP_MODEL_LOADER_EMBEDDING_EMBEDDING_VARIABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/status.h"
#include "engine/tensor/dtype.h"
#include "model_loader/checkpoint/bundle.h"
#include "model_loader/embedding/load_policy.h"
#include "model_loader/embedding/row_sink.h"
#include "storage/table/table.h"

/*
 * EmbeddingVariables of DeepRec in tensor bundles: finding and reading one.
 *
 * An EmbeddingVariable NAME is stored in a full checkpoint as NAME-keys [N] and NAME-values [N,
 * dim], in a delta as NAME-sparse_incr_keys and NAME-sparse_incr_values, which overwrite and add
 * rows.  All N rows count, also those beyond the last bucket offset, where older writers put rows
 * of a slower tier.  The later row of a repeated key counts.
 *
 * NAME-freqs [n], n <= N, is how often training has seen each of the first n keys; the frequency of
 * the others is unknown.  It is read only if needed.  A key in NAME-keys has been admitted, so it
 * counts as seen at least as often as its filter requires, and at least once.
 *
 * NAME-versions is read if a delta's rows are compared with those below them
 * (model_loader/embedding/row_versions.h).  A model may also ask for frequencies and versions,
 * including those of keys that a filter has refused (model_loader/embedding/embedding_column.h).
 *
 * Bucket offsets do not affect answers and may be missing; if present they must be right
 * (model_loader/embedding/bucket_offsets.h).  If NAME-keys or NAME-values is missing in a full
 * checkpoint, DeepRec serves an empty variable, so that every answer is a default; we refuse to
 * load it.
 *
 * A partitioned variable is P variables, NAME/part_0 ... NAME/part_<P-1>.  The trainer chooses P;
 * the serving graph and the next delta may have other numbers.  DeepRec routes a key to part key %
 * 1000 % P and stores it unchanged.  If all rows obey this rule, all parts are one set of rows, and
 * a graph with any number of parts finds every key in it.  Older graphs divide keys by P instead,
 * so that keys are local to a part: such parts are never merged, and the graph must have as many
 * parts as the checkpoint.
 *
 * If graph and checkpoint have the same number of parts, the parts are merged only if each has
 * enough rows to show the rule, or the graph is known to route by key.  A delta with another number
 * of parts is distributed by its keys, if all of its rows obey the rule; it may lack unchanged
 * parts.  If the full checkpoint has fewer parts than the graph, and all of its rows lie as in the
 * graph's parts, the others are lost: SP_CORRUPT.  If only one part has rows this cannot be
 * decided, and a log line says so.
 *
 * Errors: SP_NOT_FOUND when the full checkpoint lacks the variable; SP_IO when a file cannot be
 * read any more; SP_CORRUPT when its tensors contradict each other, the graph or their checksums;
 * SP_UNSUPPORTED for values that are not float32, and when the parts or the rows of an SSD tier
 * cannot be interpreted.  All error texts name the variable.
 */

/* How the rows of a full checkpoint are routed, as known before they are read. */
typedef enum sp_routing {
	SP_ROUTING_UNKNOWN,
	SP_ROUTED,
	SP_NOT_ROUTED,
} sp_routing;

/* A variable as a graph's handle declares it. */
typedef struct sp_embedding_spec {
	const char *name; /* the handle's: "user_emb/part_0" */
	sp_dtype key_dtype;
	sp_dtype dtype;
	size_t dim;
	int64_t partition_id; /* 0 of 1 if not partitioned */
	int64_t partition_num;
	sp_table_filter filter;
	int64_t filter_freq; /* how often a key must be seen to be admitted; 0: no filter */
	float default_value_no_permission;
	const float *default_rows; /* [default_row_count, dim]; may be NULL with a filter */
	size_t default_row_count;
	bool by_key;         /* the graph is known to ask part key % 1000 % partition_num */
	bool reset_versions; /* full checkpoint's versions count as 0 (attribute reset_version) */
	sp_routing routing;  /* of the full checkpoint's rows; unknown: all keys are read */
} sp_embedding_spec;

/* A part's tensors in a bundle, which owns their names and shapes. */
typedef struct sp_embedding_part {
	const char *name;
	size_t number; /* 0 for a part without a number */
	const sp_bundle_entry *keys;
	const sp_bundle_entry *values;
	const sp_bundle_entry *freqs;    /* NULL: unknown; so for versions */
	const sp_bundle_entry *versions; /* read only if needed */
	const sp_bundle_entry *offsets;  /* model_loader/embedding/bucket_offsets.h; NULL: none */
	const char *ssd_record; /* rows beside the bundle, model_loader/embedding/ssd_record.h;
				   NULL: none */
	size_t ssd_count;       /* rows in it, by its index */
	size_t row_count;       /* in the bundle */
} sp_embedding_part;

/* Where a variable's rows are. */
typedef struct sp_embedding_rows {
	const sp_bundle *bundle;
	const sp_embedding_part *parts; /* ordered by number; a delta may lack some */
	size_t part_count;              /* 0: the bundle has nothing of the variable */
	size_t routed; /* every row lies in part key % 1000 % routed; 0: not routed by key */
	bool by_key;   /* the key decides which handle reads a row; else the number of its part */
} sp_embedding_rows;

typedef struct sp_embedding {
	const char *base; /* the name without its part */
	sp_embedding_rows full;
	sp_embedding_rows delta;

	/* All parts are one set of rows: handles with this base may share a table. */
	bool whole;

	/* Only rows that route to spec->partition_id of spec->partition_num are loaded. */
	bool own_part;

	struct sp_embedding_image *image; /* of the full checkpoint; NULL: none */

	/* Versions of the full checkpoint's rows, if the policy compares them; NULL: unknown. */
	const struct sp_key_column *versions;
} sp_embedding;

/*
 * Finds the variable in `full` and `delta` (NULL: none) and checks names, types, shapes and
 * routing.  *out lives in `arena`.
 */
SP_MUST_CHECK sp_status sp_embedding_find(sp_embedding *out, const sp_embedding_spec *spec,
					  const sp_bundle *full, const sp_bundle *delta,
					  sp_arena *arena, sp_error *err);

/*
 * As sp_embedding_find(), for a delta on the full checkpoint in which `full` was found without one;
 * *out refers to what `full` refers to, and the full checkpoint is not read again.  SP_UNSUPPORTED
 * when it is unknown which of the delta's rows a handle reads: keys of one of the two are not
 * routed by key % 1000.
 */
SP_MUST_CHECK sp_status sp_embedding_find_delta(sp_embedding *out, const sp_embedding *full,
						const sp_embedding_spec *spec,
						const sp_bundle *delta, sp_arena *arena,
						sp_error *err);

/* Selects rows of a variable.  {.part_count = 1, .slice_count = 1}: all. */
typedef struct sp_row_selection {
	int64_t part; /* keys with key % 1000 % part_count == part */
	int64_t part_count;
	int64_t slice; /* of these, the keys that storage/shards/shard_rule.h gives it */
	int64_t slice_count;

	int64_t frequency_floor; /* an admitted key has certainly been seen this often */
	int64_t frequency_threshold;

	/*
	 * With a counter filter a key on an SSD tier is admitted if its frequency reaches the
	 * floor.
	 */
	sp_table_filter filter;
} sp_row_selection;

/*
 * Delivers rows of `dim` elements to `sink`, using at most `threads` threads.  The sink may use the
 * rows only after this has returned SP_OK.
 *
 * Memory: a few hundred KB per thread, and 12 bytes for every 256 KB of rows.
 */
SP_MUST_CHECK sp_status sp_embedding_read(const sp_embedding_rows *rows, size_t dim,
					  const sp_row_selection *selection,
					  const sp_row_sink *sink, size_t threads, sp_error *err);

/*
 * Reads the rows into a table, by `policy` (NULL: as DeepRec does).  The parts of a variable that
 * is not whole are always separate, and a slice has the rows of each whose keys, as stored, are the
 * slice's.
 *
 * full  NULL, or the table of the full checkpoint: the rows of the delta are laid over it, and
 *       everything else is shared
 */
SP_MUST_CHECK sp_status sp_embedding_load(sp_table **out, const sp_embedding *embedding,
					  const sp_embedding_spec *spec,
					  const sp_load_policy *policy, const sp_table *full,
					  sp_error *err);

/*
 * The versions of the rows that sp_embedding_load() would read, for embedding->versions
 * (model_loader/embedding/row_versions.h); NULL when none is known.
 */
SP_MUST_CHECK sp_status sp_embedding_load_versions(struct sp_key_column **out,
						   const sp_embedding *embedding,
						   const sp_embedding_spec *spec,
						   const sp_load_policy *policy, sp_error *err);

/*
 * Upper bound of the memory that the tables of a variable, all parts together, will take while and
 * after they are loaded.  It is computed from the index of the checkpoint, without reading a row,
 * so keys below a frequency threshold are included.  On an SSD it is the memory that its store uses
 * for a table.  It leaves out what tables in Redis have together (sp_redis_store_shares_cache()).
 *
 * SIZE_MAX on overflow.
 */
size_t sp_embedding_expected_size(const sp_embedding *embedding, const sp_embedding_spec *spec,
				  const sp_load_policy *policy);

#endif
