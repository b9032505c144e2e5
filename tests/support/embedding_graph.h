#ifndef SP_TESTS_SUPPORT_EMBEDDING_GRAPH_H
#define SP_TESTS_SUPPORT_EMBEDDING_GRAPH_H

#include "storage/table/table.h"
#include "tests/support/graph.h"

/*
 * Graphs of one operator "op" on the handle "emb" of an EmbeddingVariable of width 3, and feeds.
 */
enum { SP_EMBEDDING_MAX_INPUTS = 6 };

typedef struct sp_embedding_input {
	const char *name; /* "emb" or a feed */
	sp_tensor value;
} sp_embedding_input;

typedef struct sp_embedding_graph {
	sp_small_graph graph;
	sp_node_def nodes[1 + SP_EMBEDDING_MAX_INPUTS + 1];
	sp_table *table; /* what the handle means; destroyed with the graph */

	/* For the next build: set them after init. */
	const char *shared_name;   /* "user_emb" */
	sp_dtype dtype, key_dtype; /* SP_FLOAT, SP_INT64 */
	sp_partial_shape shape;    /* [3] */
	bool loading;              /* false */
	bool fetches;              /* true: the first output; false: "op" is only run */
} sp_embedding_graph;

void sp_embedding_graph_init(sp_embedding_graph *g);
void sp_embedding_graph_fini(sp_embedding_graph *g);

SP_MUST_CHECK sp_status sp_embedding_graph_build(sp_embedding_graph *g, const char *op,
						 const sp_attr *attrs, size_t attr_count,
						 const sp_embedding_input *inputs, size_t count);

/* Rows {k, k + 0.25, k + 0.5} of keys 10, 20, 30; absent keys answer {-1, -2, -3} or 7. */
void sp_embedding_graph_load(sp_embedding_graph *g, sp_table_filter filter);

SP_MUST_CHECK sp_status sp_embedding_graph_run(sp_embedding_graph *g,
					       const sp_embedding_input *inputs, size_t count,
					       const sp_tensor **out);

sp_attr sp_type_attr(const char *name, sp_dtype type);
sp_attr sp_int_attr(const char *name, int64_t i);

sp_tensor sp_feed_ids(sp_shape shape, const int64_t *ids);
sp_tensor sp_feed_ids32(sp_shape shape, const int32_t *ids);
sp_tensor sp_feed_floats(sp_shape shape, const float *values);

#endif
