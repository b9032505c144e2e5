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
 * An EmbeddingVariable NAME lies in a full checkpoint as NAME-keys [N] and
 * NAME-values [N, dim], in a delta as NAME-sparse_incr_keys and
 * NAME-sparse_incr_values, which overwrite and add rows.  All N rows count,
 * also those beyond the last of its bucket offsets: older writers put what was
 * on a slower tier there.  Of a key that is there twice the later row counts.
 *
 * NAME-freqs [n], n <= N, is how often training has seen each of the first n keys;
 * the frequency of the others is unknown.  It is read only where it is needed.  A key in
 * NAME-keys has been admitted, so it counts as seen at least as often as its filter
 * requires, and at least once.
 *
 * NAME-versions is read where a delta's rows are compared with those they lie
 * over (model_loader/embedding/row_versions.h).  A model may also ask for frequencies and versions,
 * those of keys that a filter has refused included (model_loader/embedding/embedding_column.h).
 *
 * Bucket offsets do not affect answers and may be missing; those that are there must be
 * right (model_loader/embedding/bucket_offsets.h).  Where NAME-keys or NAME-values
 * is missing in a full checkpoint DeepRec serves an empty variable, so that every
 * answer is a default; we refuse to load it.
 *
 * A partitioned one is P variables, NAME/part_0 ... NAME/part_<P-1>.  The trainer chooses P; the
 * serving graph and the next delta may have other numbers.  DeepRec routes a key to part
 * key % 1000 % P and stores it unchanged.  Where all rows obey that, all parts are one set of rows,
 * and a graph of any number of parts finds every key in it.  Older graphs divide keys by P instead,
 * so that each part has numbers of its own: such parts are never merged, and the graph must have as
 * many parts as the checkpoint.
 *
 * Where graph and checkpoint have the same number of parts, they are merged only when each part has
 * enough rows to tell, or the graph is known to route by key.  A delta with another number of parts
 * is distributed to them by its keys, if all of its rows obey the rule; it may lack parts in which
 * nothing was changed.  Where the full checkpoint has fewer parts than the graph, and all of its
 * rows lie as in the graph's parts, the others are lost: SP_CORRUPT.  Where only one part has rows
 * that cannot be told, and a log line says so.
 *
 * Errors: SP_NOT_FOUND when the full checkpoint lacks the variable; SP_IO when a
 * file cannot be read any more; SP_CORRUPT when its tensors contradict each
 * other, the graph or their checksums;
 * SP_UNSUPPORTED for values that are not float32, and for parts and rows of an
 * SSD tier that cannot be told apart.  All name the variable.
 */

/* What is known of a full checkpoint's rows before they are read. */
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
	int64_t partition_id; /* 0 of 1 when it is not partitioned */
	int64_t partition_num;
	sp_table_filter filter;
	int64_t filter_freq; /* how often a key must have been seen to be admitted; 0: no filter */
	float default_value_no_permission;
	const float *default_rows; /* [default_row_count, dim]; may be NULL with a filter */
	size_t default_row_count;
	bool by_key;         /* the graph is known to ask part key % 1000 % partition_num */
	bool reset_versions; /* the full checkpoint's count as 0 (attribute reset_version) */
	sp_routing routing;  /* of the full checkpoint's rows; unknown: all keys are looked at */
} sp_embedding_spec;

/* A part's tensors in a bundle; their names and shapes are the bundle's. */
typedef struct sp_embedding_part {
	const char *name;
	size_t number; /* 0 of one without a number */
	const sp_bundle_entry *keys;
	const sp_bundle_entry *values;
	const sp_bundle_entry *freqs;    /* NULL: unknown, as are versions */
	const sp_bundle_entry *versions; /* these are not read unless somebody asks */
	const sp_bundle_entry *offsets;  /* model_loader/embedding/bucket_offsets.h; NULL: none */
	const char *ssd_record; /* rows beside the bundle, model_loader/embedding/ssd_record.h;
				   NULL: none */
	size_t ssd_count;       /* of these, as their index says */
	size_t row_count;       /* in the bundle */
} sp_embedding_part;

/* Where a variable's rows are. */
typedef struct sp_embedding_rows {
	const sp_bundle *bundle;
	const sp_embedding_part
		*parts;    /* in order of their numbers; of a delta some may be missing */
	size_t part_count; /* 0: the bundle has nothing of it */
	size_t routed; /* every row lies in part key % 1000 % routed; 0: of no number is that so */
	bool by_key;   /* keys tell which handle reads a row; else the number of its part does */
} sp_embedding_rows;

typedef struct sp_embedding {
	const char *base; /* the name without its part */
	sp_embedding_rows full;
	sp_embedding_rows delta;

	/* All parts are one set of rows: handles with this base may share a table. */
	bool whole;

	struct sp_embedding_image *image; /* of the full checkpoint; NULL: none */

	/* Of the full checkpoint's rows, where the policy wants to compare them; NULL: unknown. */
	const struct sp_row_versions *versions;
} sp_embedding;

/*
 * Finds the variable in `full` and `delta` (NULL: none) and checks names,
 * types, shapes and routing.  *out lives in `arena`.
 */
SP_MUST_CHECK sp_status sp_embedding_find(sp_embedding *out, const sp_embedding_spec *spec,
					  const sp_bundle *full, const sp_bundle *delta,
					  sp_arena *arena, sp_error *err);

/*
 * The same for a delta that comes later on the full checkpoint in which `full`
 * was found without one; *out refers to what `full` refers to.  Nothing of the
 * full checkpoint is read again.  SP_UNSUPPORTED when nothing tells which of the
 * delta's rows a handle reads: keys of one of the two are not routed by key % 1000.
 */
SP_MUST_CHECK sp_status sp_embedding_find_delta(sp_embedding *out, const sp_embedding *full,
						const sp_embedding_spec *spec,
						const sp_bundle *delta, sp_arena *arena,
						sp_error *err);

/* Which of a variable's rows are wanted.  {.part_count = 1, .slice_count = 1}: all. */
typedef struct sp_row_selection {
	int64_t part; /* keys with key % 1000 % part_count == part */
	int64_t part_count;
	int64_t slice; /* of these, keys with key % 1000 % slice_count == slice */
	int64_t slice_count;

	int64_t frequency_floor; /* that an admitted key has been seen so often is certain */
	int64_t frequency_threshold;

	/* With a counter filter a key on an SSD tier is admitted only from the floor on. */
	sp_table_filter filter;
} sp_row_selection;

/*
 * Delivers rows of `dim` elements to `sink`, by at most `threads` threads.
 * What has been put may be used once it has returned SP_OK.
 *
 * Memory: a few hundred KB per thread, and 12 bytes for every 256 KB of rows.
 */
SP_MUST_CHECK sp_status sp_embedding_read(const sp_embedding_rows *rows, size_t dim,
					  const sp_row_selection *selection,
					  const sp_row_sink *sink, size_t threads, sp_error *err);

/*
 * Reads the rows into a table, as `policy` (NULL: DeepRec's way) says.  With
 * `only_own_part` those that route to spec->partition_id of spec->partition_num;
 * the parts of a variable that is not whole are apart in any case, and a slice
 * has of each the rows whose keys, as the part has them, are the slice's.
 */
SP_MUST_CHECK sp_status sp_embedding_load(sp_table **out, const sp_embedding *embedding,
					  const sp_embedding_spec *spec, bool only_own_part,
					  const sp_load_policy *policy, sp_error *err);

/*
 * The versions of the rows that sp_embedding_load() would read, for
 * embedding->versions (model_loader/embedding/row_versions.h): NULL when none is known.
 */
SP_MUST_CHECK sp_status sp_embedding_load_versions(struct sp_row_versions **out,
						   const sp_embedding *embedding,
						   const sp_embedding_spec *spec,
						   bool only_own_part, const sp_load_policy *policy,
						   sp_error *err);

/*
 * The table that `full` becomes when the rows of the delta lie over it; all
 * else is shared with `full`.
 */
SP_MUST_CHECK sp_status sp_embedding_load_delta(sp_table **out, const sp_embedding *embedding,
						const sp_embedding_spec *spec, bool only_own_part,
						const sp_load_policy *policy, const sp_table *full,
						sp_error *err);

/*
 * How much memory the tables of a variable will take while and after they are
 * loaded, all parts together: told from the index of the checkpoint, without
 * reading a row.  An upper bound: keys that a frequency threshold leaves out are
 * not known yet.  On an SSD it is what its store keeps in memory for a table.
 *
 * SIZE_MAX when that is too much to count.
 */
size_t sp_embedding_expected_size(const sp_embedding *embedding, const sp_embedding_spec *spec,
				  const sp_load_policy *policy);

#endif
