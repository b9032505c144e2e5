#ifndef SP_MODEL_LOADER_EMBEDDING_INTERNAL_H
#define SP_MODEL_LOADER_EMBEDDING_INTERNAL_H

#include "model_loader/embedding.h"

/* Clears rows->routed when some key of part `part` does not route to it. */
SP_MUST_CHECK sp_status sp_embedding__check_routing(sp_embedding_rows *rows, size_t part,
						    sp_error *err);

#endif
