#ifndef SP_ENGINE_MATCH_COLUMN_INTERNAL_H
#define SP_ENGINE_MATCH_COLUMN_INTERNAL_H

#include "engine/passes/match_column.h"
#include "engine/graph/pattern.h"

/* Shared by match_column.c and match_column_source.c: a column while it is found. */
typedef struct sp_column_matcher {
	const sp_graph *graph;
	const bool *early;
	sp_column_match *out;
	uint32_t fill;        /* the SparseFillEmptyRows of the keys */
	uint32_t weight_fill; /* and of the weights */
	sp_port indices, keys, shape, weights;
} sp_column_matcher;

static inline const sp_node *sp_column__made_by(const sp_column_matcher *ma, sp_port port,
						const char *op, size_t input_count)
{
	return sp_pattern_made_by(ma->graph, port, op, input_count);
}

/*
 * Takes in what makes the sparse tensor of indices, keys and shape, if it is
 * one of the dense sources.
 */
void sp_column__match_source(sp_column_matcher *ma);

#endif
