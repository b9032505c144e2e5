#ifndef SP_MODEL_LOADER_VERSION_MODEL_H
#define SP_MODEL_LOADER_VERSION_MODEL_H

#include <stdbool.h>
#include <stddef.h>

#include "base/status.h"
#include "engine/runtime/program.h"
#include "model_loader/saved_model/saved_model.h"

/*
 * What all versions of a model's weights have in common: the graph, compiled to one
 * program with an entry per signature, and the program that loads weights.  The weights are
 * model_loader/version/weights.h.
 *
 * Threads: one thread at a time while its first weights are loaded, which
 * settle what signatures it has; immutable after.
 */
typedef struct sp_model sp_model;

typedef struct sp_model_options {
	const char *savedmodel_dir;
	const char *tags; /* of the metagraph, see model_loader/saved_model/saved_model.h; NULL:
			     "serve" */

	/* A GraphDef or MetaGraphDef in that folder instead of its saved_model.pb; NULL. */
	const char *graph_file;
	/* What signature_name is made of (model_loader/saved_model/named_signature.h); NULL: the
	 * file says it. */
	const char *input_names;
	const char *output_names;

	/* The weights come from checkpoints, not from the SavedModel's variables/variables. */
	bool from_checkpoint;

	/* The signature that must be servable; others that are not are left out. */
	const char *signature_name;
	/* When the model has none of that name, take one that it has: a predict signature first. */
	bool signature_fallback;

	/* One operator at a time by scalar kernels: no fusion, no packed weights. */
	bool reference;
} sp_model_options;

/* Nothing of `options` is needed afterwards.  Errors name file and node. */
SP_MUST_CHECK sp_status sp_model_open(sp_model **out, const sp_model_options *options,
				      sp_error *err);

/* NULL is fine.  Its weights and the sessions of its program must be gone. */
void sp_model_destroy(sp_model *model);

/* Final once the first weights are loaded. */
const sp_program *sp_model_program(const sp_model *model);

/*
 * Signatures sorted by name.  The i-th is entry i of the program; its feeds
 * and fetches are the signature's inputs and outputs in their order.
 */
size_t sp_model_signature_count(const sp_model *model);
const sp_signature *sp_model_signature(const sp_model *model, size_t i);

/* Why the i-th signature cannot be served; NULL when it can. */
const sp_error *sp_model_signature_error(const sp_model *model, size_t i);

/* The one that had to be servable. */
size_t sp_model_default_signature(const sp_model *model);

/* True and its index when the model has that signature. */
bool sp_model_find_signature(const sp_model *model, const char *name, size_t *i);

#endif
