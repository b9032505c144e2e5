#ifndef SP_MODEL_LOADER_EMBEDDING_EMBEDDING_SIZE_H
#define SP_MODEL_LOADER_EMBEDDING_EMBEDDING_SIZE_H

#include <stddef.h>

#include "model_loader/embedding/embedding_variable.h"
#include "model_loader/embedding/load_policy.h"

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
