#ifndef SP_MODEL_LOADER_SAVED_MODEL_NAMED_SIGNATURE_H
#define SP_MODEL_LOADER_SAVED_MODEL_NAMED_SIGNATURE_H

#include "model_loader/saved_model/saved_model.h"

/*
 * Adds a signature made of names, for graphs that have none.
 *
 * inputs, outputs  "alias=tensor, tensor, ..."; ":0" may be omitted; without an alias
 *                  the node's name is used.  inputs NULL: the graph needs none
 *
 * Replaces a signature of the same name.  Element types and shapes come from the nodes' attributes.
 *
 * SP_INVALID when a name is malformed, repeated, or not in the graph; the text lists the graph's
 * placeholders.
 */
SP_MUST_CHECK sp_status sp_saved_model_add_signature(sp_saved_model *model, const char *name,
						     const char *inputs, const char *outputs,
						     sp_error *err);

/* SP_INVALID if the model has no signature; the text lists its placeholders. */
SP_MUST_CHECK sp_status sp_saved_model_check_signatures(const sp_saved_model *model, sp_error *err);

#endif
