#ifndef SP_MODEL_LOADER_SAVED_MODEL_SIGNATURE_DEF_H
#define SP_MODEL_LOADER_SAVED_MODEL_SIGNATURE_DEF_H

#include "model_loader/proto/proto_internal.h"
#include "model_loader/proto/saved_model.pb-c.h"
#include "model_loader/saved_model/saved_model.h"

/* Not for clients: this signature names the init operation. */
#define SP_INIT_OP_SIGNATURE "__saved_model_init_op"

/*
 * Reads the signatures of a metagraph and describes their tensors.  Errors as in
 * model_loader/saved_model/saved_model.h.
 */
SP_MUST_CHECK sp_status sp_saved_model__read_signatures(sp_saved_model *out,
							const SpPb__MetaGraphDef *meta,
							sp_proto_target *target, sp_error *err);

#endif
