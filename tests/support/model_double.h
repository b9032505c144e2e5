#ifndef SP_TESTS_SUPPORT_MODEL_DOUBLE_H
#define SP_TESTS_SUPPORT_MODEL_DOUBLE_H

#include <stdatomic.h>
#include <stddef.h>

#include "base/status.h"

/*
 * Stands in for model_loader/version/model.h and weights.h: whatever is asked for, the
 * loaded model is tests/support/small_model.h.  A test that wants it names model_double.c
 * among its own sources, so that no other test gets it by accident.
 */
typedef struct sp_model_double {
	/* What the next loads of weights answer, one after the other; SP_OK from then on. */
	const sp_status *statuses;
	size_t status_count;

	sp_status files;             /* what sp_weights_find_files() answers */
	void (*while_loading)(void); /* called once in the next load of weights; NULL: nothing is */

	/* What has been asked so far, by the last load. */
	atomic_size_t opens; /* of models */
	atomic_size_t loads; /* of weights; an updater's thread loads, too */
	atomic_size_t fulls; /* of these, without a delta */
	atomic_size_t alive; /* models and weights that are not destroyed */
	char savedmodel_dir[512];
	char checkpoint_prefix[512]; /* "" for NULL */
	char delta_prefix[512];
	char signature_name[64];
	int reference;
} sp_model_double;

extern sp_model_double sp_the_model_double;

#endif
