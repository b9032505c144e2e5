#ifndef SP_ENGINE_MATCH_COLUMN_H
#define SP_ENGINE_MATCH_COLUMN_H

#include "engine/passes/embedding_columns.h"
#include "engine/graph/graph.h"

/* A column found in a graph: what it is, and what it reads. */
typedef struct sp_column_match {
	sp_column_spec spec;
	sp_port inputs[5]; /* [sp_column_input_count()] */
	sp_port shape;     /* the dense shape whose first dimensions are the column's rows */
} sp_column_match;

/*
 * Is output 0 of node `anchor` the combined rows of a column?  `early` tells of
 * each node whether its value is fixed by the model version.
 */
bool sp_column_find(const sp_graph *graph, const bool *early, uint32_t anchor,
		    sp_column_match *out);

/*
 * Is `anchor` a reshape of the column that node `of` ends?  Then *match, which
 * describes that column, takes it in.
 */
bool sp_column_take_reshape(const sp_graph *graph, uint32_t anchor, uint32_t of,
			    sp_column_match *match);

#endif
