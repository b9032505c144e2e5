#ifndef SP_MODEL_LOADER_VERSION_MODEL_INTERNAL_H
#define SP_MODEL_LOADER_VERSION_MODEL_INTERNAL_H

#include "base/map.h"
#include "model_loader/version/model.h"

/* Shared by model.c and weights.c. */

/* Operations that load weights, in order. */
enum { SP_LOAD_ENTRIES = 2 };

struct sp_model {
	sp_arena *arena;
	const char *savedmodel_dir;
	const char *own_prefix; /* of the SavedModel's own weights; NULL: none */
	bool from_checkpoint;
	sp_saved_model saved;
	sp_map by_key;          /* handle -> parts, see model_loader/embedding/part_routes.h */
	sp_map features;        /* handle -> number, see model_loader/embedding/feature_numbers.h */
	sp_resources resources; /* as declared; each version has its own values */

	/* Restores and initialises.  NULL: there is nothing to do. */
	sp_program *load_program;
	sp_graph load_graph;
	const char *load_names[SP_LOAD_ENTRIES];
	size_t load_count;
	bool restores;          /* the first feed is the checkpoint's prefix */
	const char *unrestored; /* why not, for error texts */
	sp_tensor *load_feeds;
	size_t load_feed_count;

	sp_graph graph;
	sp_program *program;
	sp_entry_spec *entries;         /* one per signature */
	sp_example_features **examples; /* [signatures][inputs] */
	const sp_error **refused;       /* [signatures] not servable though the program could */
	size_t default_signature;
	bool settled; /* the first weights have been loaded */
};

/* Marks a signature as not servable; takes effect with sp_model__compile(). */
SP_MUST_CHECK sp_status sp_model__refuse(sp_model *model, size_t i, const sp_error *why,
					 sp_error *err);
SP_MUST_CHECK sp_status sp_model__compile(sp_model *model, sp_error *err);

#endif
