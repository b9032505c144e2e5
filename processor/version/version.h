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

/*
 * One version of the model: what a request pins for its whole life, so that all
 * that it reads, dense and sparse, is of one version.
 *
 * Threads: immutable once opened, but for what is said of its last members.
 */
typedef struct sp_version {
	sp_runtime *runtime; /* shared by the versions of one graph */
	sp_weights *weights;
	/* "" when the weights are those of a SavedModel that stays; its folder when numbered ones
	 * are served. */
	char *checkpoint_prefix;
	char *delta_prefix; /* NULL without a delta */
	bool is_savedmodel; /* a numbered one: checkpoint_prefix is its folder */
	int64_t full_step;  /* -1 without a checkpoint */
	int64_t delta_step; /* -1 without a delta */
	uint64_t content;   /* identity of the full checkpoint's bytes and files:
			       incremental/identity.h */
	uint64_t files;

	/* Handles on it (processor/processor.h), and of which processor they are; any thread. */
	atomic_size_t holders;
	_Atomic(struct sp_processor *) processor;

	/* For updater/versions.h and the catalog. */
	uint64_t number;         /* in the catalog */
	struct sp_version *next; /* of those that drain */
} sp_version;

/*
 * The full checkpoint or the numbered SavedModel that `found` names, without a
 * delta; NULL, or one without a name, is the SavedModel with its own weights.  It is over
 * `runtime`, or, where that is NULL, the SavedModel is read and made ready first.  memory_limit is
 * that of sp_weights_options.
 */
SP_MUST_CHECK sp_status sp_version_open(sp_version **out, sp_runtime *runtime,
					const sp_config *config, const sp_found_version *found,
					size_t memory_limit, sp_error *err);

/*
 * The full checkpoint of `from`, with the delta of `found` in place of its own,
 * or without any.  Of the full checkpoint nothing is read; `from` may be closed
 * before or after.  SP_NOT_FOUND also when the full checkpoint in memory has been
 * folded, and what the new version needs of it is gone.
 */
SP_MUST_CHECK sp_status sp_version_open_on(sp_version **out, const sp_version *from,
					   const sp_config *config, const sp_found_version *found,
					   sp_error *err);

/*
 * The same version once more, with `folded` in place of table `table` of its
 * weights (sp_weights_fold); `from` may be closed before or after.
 */
SP_MUST_CHECK sp_status sp_version_open_folded(sp_version **out, const sp_version *from,
					       size_t table, const sp_table *folded, sp_error *err);

/* What it was found as; the texts are those of the version. */
sp_found_version sp_version_name(const sp_version *version);

/* No request uses it any more, and nobody holds it.  NULL is fine. */
void sp_version_close(sp_version *version);

const sp_snapshot *sp_version_snapshot(const sp_version *version);

#endif
