#ifndef SP_MODEL_LOADER_VERSION_MODEL_INTERNAL_H
#define SP_MODEL_LOADER_VERSION_MODEL_INTERNAL_H

#include "base/map.h"
#include "model_loader/version/model.h"

/* The inside of a model, shared by model.c and weights.c. */

/* The operations that load weights, in the order in which they run. */
enum { SP_LOAD_ENTRIES = 2 };

struct sp_model {
	sp_arena *arena;
	const char *savedmodel_dir;
	const char *own_prefix; /* of the SavedModel's own weights; NULL: it has none */
	bool from_checkpoint;
	sp_saved_model saved;
	sp_map by_key; /* handles that the graph asks by key (model_loader/embedding/part_routes.h)
			*/
	sp_resources resources; /* as declared; the values are each version's */

	/* Restores and initialises.  NULL: nothing is to be done. */
	sp_program *load_program;
	sp_graph load_graph;
	const char *load_names[SP_LOAD_ENTRIES];
	size_t load_count;
	bool restores;          /* then the first feed is the checkpoint's prefix */
	const char *unrestored; /* else why not, for people */
	sp_tensor *load_feeds;
	size_t load_feed_count;

	sp_graph graph;
	sp_program *program;
	sp_entry_spec *entries;   /* one per signature */
	const sp_error **refused; /* [signatures] not servable though the program could */
	size_t default_signature;
	bool settled; /* some weights have been loaded */
};

/* Takes a signature out that cannot be served; sp_model__compile() makes it so. */
SP_MUST_CHECK sp_status sp_model__refuse(sp_model *model, size_t i, const sp_error *why,
					 sp_error *err);
SP_MUST_CHECK sp_status sp_model__compile(sp_model *model, sp_error *err);

#endif
