#ifndef SP_ENGINE_LOWER_H
#define SP_ENGINE_LOWER_H

#include "base/status.h"
#include "engine/graph/graph.h"

/*
 * Rewrites equivalent forms into one:
 *
 *     VariableV2, Variable        VarHandleOp; readers of the variable read a
 *                                 ReadVariableOp of it, and assignments take
 *                                 the handle
 *     Assign, AssignAdd, ...      AssignVariableOp, AssignAddVariableOp, ...
 *     ResourceGather              GatherV2 of a ReadVariableOp
 *     ResourceGatherNd            GatherNd of a ReadVariableOp
 *     operators of front ends     see engine/import/front_end.h
 *
 * Passes and operators then deal with one kind of variable.
 */
SP_MUST_CHECK sp_status sp_graph_lower(sp_graph *graph, sp_error *err);

#endif
