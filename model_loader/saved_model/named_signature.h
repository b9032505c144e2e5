#ifndef SP_MODEL_LOADER_SAVED_MODEL_NAMED_SIGNATURE_H
#define SP_MODEL_LOADER_SAVED_MODEL_NAMED_SIGNATURE_H

#include "model_loader/saved_model/saved_model.h"

/*
 * A signature made of names, for graphs that have none.
 *
 * inputs, outputs  "alias=tensor, tensor, ..."; ":0" may be left out, and an
 *                  alias that is left out is the node's name.  inputs NULL:
 *                  the graph needs none
 *
 * The signature `name` becomes the only one of that name.  Element types and
 * shapes are what the nodes' attributes say.
 *
 * SP_INVALID when a name is malformed, given twice, or not in the graph; with
 * words that list the graph's placeholders.
 */
SP_MUST_CHECK sp_status sp_saved_model_add_signature(sp_saved_model *model, const char *name,
						     const char *inputs, const char *outputs,
						     sp_error *err);

/* SP_INVALID unless the model has some signature; with words that list its placeholders. */
SP_MUST_CHECK sp_status sp_saved_model_check_signatures(const sp_saved_model *model, sp_error *err);

#endif
