#ifndef SP_ENGINE_MATCH_COLUMN_INTERNAL_H
#define SP_ENGINE_MATCH_COLUMN_INTERNAL_H

#include "engine/graph/pattern.h"
#include "engine/passes/match_column.h"

/* A column that is being matched. */
typedef struct sp_column_matcher {
	const sp_graph *graph;
	const bool *early;
	sp_column_match *out;
	uint32_t fill;        /* the SparseFillEmptyRows of the keys */
	uint32_t weight_fill; /* and of the weights */
	sp_port indices, keys, shape, weights;
} sp_column_matcher;

static inline const sp_node *sp_column__made_by(const sp_column_matcher *ma, sp_port port,
						sp_opcode opcode, size_t input_count)
{
	return sp_pattern_made_by(ma->graph, port, opcode, input_count);
}

/* Extends the match over the nodes that make the sparse tensor of the keys from a dense one. */
void sp_column__match_source(sp_column_matcher *ma);

#endif
