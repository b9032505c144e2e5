#ifndef SP_ENGINE_SESSION_VARIABLES_H
#define SP_ENGINE_SESSION_VARIABLES_H

#include "base/status.h"
#include "engine/graph/graph.h"

/* Nodes that requests may feed, and nodes whose values requests fetch. */
typedef struct sp_request_boundary {
	const uint32_t *fed;
	size_t fed_count;
	const uint32_t *fetched;
	size_t fetched_count;
} sp_request_boundary;

/*
 * Finds variables of which each session keeps a copy.  Signatures must not change the model, but
 * layers that draw random numbers keep a seed in a variable and write the next seed whenever they
 * have used one (Keras 3), and some graphs count their calls.  The next value of such a variable
 * depends on its current value and on constants, not on the request.  Its copy starts with the
 * checkpoint's value and is updated from request to request (engine/ops/state/session_variable.c).
 *
 * Sessions advance independently, so the copy may influence random numbers only.  A variable
 * qualifies if
 *
 *   - the only writes that signatures reach are AssignVariableOp, AssignAddVariableOp and
 *     AssignSubVariableOp outside of conditions and loops, of values that depend on nothing but
 *     the variable itself and constants,
 *   - its value reaches fetched values, regions and operators with effects through random draws
 *     (Stateless...) only,
 *   - its declared size is at most SP_SESSION_VARIABLE_BYTES.
 *
 * Its reads and writes become ReadSessionVariable, WriteSessionVariable, AddToSessionVariable and
 * SubtractFromSessionVariable.  All other writes stay, and are refused where a signature reaches
 * them; so are those of all variables after the first thousand.
 *
 * For the graph of signatures, after sp_graph_fold_constant_writes().
 */
SP_MUST_CHECK sp_status sp_graph_make_session_variables(sp_graph *graph,
							const sp_request_boundary *ends,
							sp_error *err);

#endif
