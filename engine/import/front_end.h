#ifndef SP_ENGINE_IMPORT_FRONT_END_H
#define SP_ENGINE_IMPORT_FRONT_END_H

#include "base/arena.h"
#include "base/status.h"
#include "engine/graph/graph.h"
#include "engine/graph/graph_def.h"

/*
 * A front end reads programs that a graph carries in the format of another compiler.
 * engine/front_ends.inc lists the front ends of this build; nothing else in the engine names one.
 * Without a front end, a model with its operators is refused like one with any unknown operator.
 */

/* A translated program: functions in the form of a graph's library. */
typedef struct sp_translation {
	const sp_function_def *list;
	size_t count;
} sp_translation;

typedef struct sp_front_end {
	/* The operator whose nodes carry a program. */
	const char *op;

	/*
	 * Translates the program of `node` into functions of the engine's operators, named
	 * "PREFIX/...".  The first one takes the node's inputs and returns its outputs.  *out lives
	 * in `arena`; `scratch` may be reset afterwards.  SP_UNSUPPORTED names what cannot be
	 * translated; SP_CORRUPT when the program breaks its format.
	 */
	sp_status (*translate)(sp_translation *out, const sp_node_def *node, const char *prefix,
			       sp_arena *arena, sp_arena *scratch, sp_error *err);

	/*
	 * May replace an operator of that compiler by an equivalent one that the passes know.
	 * Called for every node while the graph is lowered (engine/import/lower.h); `nodes` are
	 * those that its inputs refer to.
	 */
	sp_status (*lower)(sp_node *node, const sp_node *nodes, sp_arena *arena, sp_error *err);
} sp_front_end;

/* The front end for programs in nodes of that operator; NULL when there is none. */
const sp_front_end *sp_front_end_find(const char *op);

/* Calls `lower` of every front end. */
SP_MUST_CHECK sp_status sp_front_ends_lower(sp_node *node, const sp_node *nodes, sp_arena *arena,
					    sp_error *err);

#endif
