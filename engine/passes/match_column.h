#ifndef SP_ENGINE_MATCH_COLUMN_H
#define SP_ENGINE_MATCH_COLUMN_H

#include "engine/graph/graph.h"
#include "engine/ops/embedding/column_spec.h"

/* A column found in a graph: its description and its inputs. */
typedef struct sp_column_match {
	sp_column_spec spec;
	sp_port inputs[SP_COLUMN_MAX_INPUTS]; /* [sp_column_input_count()] */
	sp_port shape; /* the dense shape whose first dimensions are the column's rows */
} sp_column_match;

/*
 * Whether output 0 of node `anchor` is the combined rows of a column, which is then in *out. early
 * [node_count]: whether the model version determines a node's value.
 */
bool sp_column_find(const sp_graph *graph, const bool *early, uint32_t anchor,
		    sp_column_match *out);

/*
 * Whether `anchor` reshapes the column *match, which ends in node `of`; if so, *match becomes the
 * reshaped column.
 */
bool sp_column_take_reshape(const sp_graph *graph, uint32_t anchor, uint32_t of,
			    sp_column_match *match);

#endif
