#ifndef SP_MODEL_LOADER_VERSION_MODEL_H
#define SP_MODEL_LOADER_VERSION_MODEL_H

#include <stdbool.h>
#include <stddef.h>

#include "base/map.h"
#include "base/status.h"
#include "engine/runtime/program.h"
#include "model_loader/saved_model/saved_model.h"
#include "model_loader/version/example_features.h"

/*
 * The part of a model that all versions of its weights share: the graph, compiled to one program
 * with an entry per signature, and the program that loads weights.  See
 * model_loader/version/weights.h for the weights.
 *
 * Threads: one thread at a time while its first weights are loaded, which decide what signatures it
 * has; immutable afterwards.
 */
typedef struct sp_model sp_model;

typedef struct sp_model_options {
	const char *savedmodel_dir;
	const char *tags; /* of the metagraph, see model_loader/saved_model/saved_model.h; NULL:
			     "serve" */

	/*
	 * A GraphDef or MetaGraphDef in that folder to use instead of saved_model.pb; NULL: none.
	 */
	const char *graph_file;
	/*
	 * The inputs and outputs of signature_name (model_loader/saved_model/named_signature.h);
	 * NULL: those in the file.
	 */
	const char *input_names;
	const char *output_names;

	/* The weights come from checkpoints, not from the SavedModel's variables/variables. */
	bool from_checkpoint;

	/* The signature that must be servable; other signatures that are not are left out. */
	const char *signature_name;
	/* If the model lacks it, take another one, preferably a predict signature. */
	bool signature_fallback;

	/* One operator at a time with scalar kernels: no fusion, no packed weights. */
	bool reference;
} sp_model_options;

/* `options` are not needed afterwards.  Errors name file and node. */
SP_MUST_CHECK sp_status sp_model_open(sp_model **out, const sp_model_options *options,
				      sp_error *err);

/* NULL is fine.  Its weights and the sessions of its program must have been destroyed. */
void sp_model_destroy(sp_model *model);

/* Bytes of memory: the graphs and their programs. */
size_t sp_model_footprint(const sp_model *model);

/* Handles of embeddings -> numbers (model_loader/embedding/feature_numbers.h). */
const sp_map *sp_model_features(const sp_model *model);

/* Final once the first weights are loaded. */
const sp_program *sp_model_program(const sp_model *model);

/*
 * Signatures sorted by name.  The i-th is entry i of the program; its feeds
 * and fetches are the signature's inputs and outputs in their order.
 */
size_t sp_model_signature_count(const sp_model *model);
const sp_signature *sp_model_signature(const sp_model *model, size_t i);

/* Why the i-th signature cannot be served; NULL: it can. */
const sp_error *sp_model_signature_error(const sp_model *model, size_t i);

/* What the model takes from the records of an input, if these are serialized tf.Examples. */
const sp_example_features *sp_model_example_features(const sp_model *model, size_t signature,
						     size_t input);

/* The signature that had to be servable. */
size_t sp_model_default_signature(const sp_model *model);

/* Finds the signature's index; false when the model lacks it. */
bool sp_model_find_signature(const sp_model *model, const char *name, size_t *i);

#endif
