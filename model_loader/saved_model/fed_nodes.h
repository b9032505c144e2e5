#ifndef SP_MODEL_LOADER_SAVED_MODEL_FED_NODES_H
#define SP_MODEL_LOADER_SAVED_MODEL_FED_NODES_H

#include "base/status.h"
#include "model_loader/saved_model/saved_model.h"

/*
 * A signature may feed the output of any node, such as that of the iterator that training read its
 * examples from.  If the operator of that node is not implemented here, each of its outputs that a
 * signature feeds is replaced by a placeholder with the dtype and shape of the signature.  Changes
 * the graph and the signatures' tensor names; new nodes live in the model's arena.  Only fails with
 * SP_NO_MEMORY.
 */
SP_MUST_CHECK sp_status sp_saved_model_cut_fed_nodes(sp_saved_model *model, sp_error *err);

#endif
