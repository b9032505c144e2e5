#ifndef SP_ENGINE_LOWER_H
#define SP_ENGINE_LOWER_H

#include "base/status.h"
#include "engine/graph/graph.h"

/*
 * Rewrites what a graph can say in several ways into one:
 *
 *   VariableV2 and its kin      a VarHandleOp; who reads the variable reads a
 *                               ReadVariableOp on it, who assigns it assigns
 *                               through the handle
 *   Assign, AssignAdd, ...      AssignVariableOp, AssignAddVariableOp, ...
 *   ResourceGather              GatherV2 of a ReadVariableOp
 *   ResourceGatherNd            GatherNd of a ReadVariableOp
 *   XlaDot, XlaDotV2            MatMul, where the file notes that both are matrices (of float)
 *
 * Operators and passes then know one kind of variable only.
 */
SP_MUST_CHECK sp_status sp_graph_lower(sp_graph *graph, sp_error *err);

#endif
