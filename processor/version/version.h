#ifndef SP_PROCESSOR_VERSION_VERSION_H
#define SP_PROCESSOR_VERSION_VERSION_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/status.h"
#include "incremental/discover.h"
#include "model_loader/version/weights.h"
#include "processor/config/config.h"
#include "processor/version/runtime.h"
#include "row_stream/row_stream.h"
#include "storage/redis/redis_tier.h"

/*
 * One version of the model: a request pins it for its whole life, so that everything it reads,
 * dense and sparse, belongs to one version.
 *
 * Threads: immutable once opened, except the last members as noted.
 */
typedef struct sp_version {
	sp_runtime *runtime; /* shared by the versions of one graph */
	sp_weights *weights;
	sp_row_stream *stream; /* of its full checkpoint, which others may share; NULL: none */
	/* "" for the SavedModel's own weights; the folder of a numbered SavedModel. */
	char *checkpoint_prefix;
	char *delta_prefix; /* NULL: none */
	bool is_savedmodel; /* a numbered one: checkpoint_prefix is its folder */
	int64_t full_step;  /* -1 without a checkpoint */
	int64_t delta_step; /* -1 without a delta */
	uint64_t content;   /* identity of the full checkpoint's bytes and files:
			       incremental/identity.h */
	uint64_t files;

	/* Handles on it (processor/processor.h), and the processor they belong to; any thread. */
	atomic_size_t holders;
	_Atomic(struct sp_processor *) processor;

	/* For updater/versions.h and the catalog. */
	uint64_t peers_content;  /* identity of its rows for other processors, or in them; else 0 */
	uint64_t redis_content;  /* identity of its rows in Redis; 0: they are not there */
	int64_t keep_ns;         /* when its rows in Redis are to be kept (rows_kept.h) */
	sp_redis_store *redis;   /* where these rows are; NULL: not there */
	int64_t restore_ns;      /* when what Redis has lost of them is restored again ... */
	int64_t restore_pause;   /* ... and how long after the last time, in nanoseconds */
	uint64_t number;         /* in the catalog */
	struct sp_version *next; /* in the list of draining versions */
} sp_version;

/* Reads the SavedModel of a version, as sp_version_open() does; it may be found as NULL there. */
SP_MUST_CHECK sp_status sp_version_open_model(sp_model **out, const sp_config *config,
					      const sp_found_version *found, sp_error *err);

/*
 * Opens the full checkpoint or the numbered SavedModel that `found` names, without a delta; NULL,
 * or an empty name, is the SavedModel with its own weights.  It uses `runtime`; if that is NULL,
 * the SavedModel is read first.  memory_limit as in sp_weights_options.
 */
SP_MUST_CHECK sp_status sp_version_open(sp_version **out, sp_runtime *runtime,
					const sp_config *config, const sp_found_version *found,
					size_t memory_limit, sp_error *err);

/*
 * The full checkpoint of `from`, with the delta of `found`, or none, replacing its own.  The full
 * checkpoint is not read again; `from` may be closed before or after.  SP_NOT_FOUND also when the
 * full checkpoint in memory has been folded, and the new version needs rows that are gone.
 */
SP_MUST_CHECK sp_status sp_version_open_on(sp_version **out, const sp_version *from,
					   const sp_config *config, const sp_found_version *found,
					   sp_error *err);

/*
 * The same version with `folded` in place of table `table` of its weights (sp_weights_fold); `from`
 * may be closed before or after.
 */
SP_MUST_CHECK sp_status sp_version_open_folded(sp_version **out, const sp_version *from,
					       size_t table, const sp_table *folded, sp_error *err);

/* The version's name; the version owns its texts. */
sp_found_version sp_version_name(const sp_version *version);

/* Bytes of memory by their owner, those of the full checkpoint below a delta included. */
typedef struct sp_version_memory {
	size_t tables;  /* rows in memory with their keys, default rows */
	size_t indexes; /* of these rows; frequencies and versions of keys */
	size_t ssd;     /* caches and indexes of tables on an SSD */
	size_t image; /* rows and indexes in a mapped file, which is not the process's own memory */
	size_t dense; /* variables, lookup tables, values computed from them */
	size_t program;  /* graphs and plans; shared by versions of one graph, as sessions are */
	size_t sessions; /* workspaces and frames, after their last request */
} sp_version_memory;

sp_version_memory sp_version_memory_of(const sp_version *version);

/* Only when no request uses it and no handle is held.  NULL is fine. */
void sp_version_close(sp_version *version);

#endif
