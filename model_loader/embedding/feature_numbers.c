#include "model_loader/embedding/feature_numbers.h"

#include <string.h>

sp_status sp_feature_numbers_find(sp_map *out, const sp_graph_def *graph, sp_arena *arena,
				  sp_error *err)
{
	uint64_t count = 0;

	for (size_t i = 0; i < graph->node_count; i++) {
		const sp_node_def *node = &graph->nodes[i];
		const sp_attr *shared;
		const char *name = node->name;

		if (strcmp(node->op, "KvVarHandleOp") != 0)
			continue;
		shared = sp_attr_find(node->attrs, node->attr_count, "shared_name");
		if (shared != NULL && shared->kind == SP_ATTR_BYTES && shared->bytes.size != 0)
			name = sp_arena_text(arena, shared->bytes);
		SP_NEED_MEMORY(name != NULL && sp_map_add(out, sp_bytes_of(name), count) !=
						       SP_MAP_NO_MEMORY,
			       err, "the embeddings of a graph");
		count++;
	}
	return SP_OK;
}
