#ifndef SP_ENGINE_OPTIMIZER_NAMES_H
#define SP_ENGINE_OPTIMIZER_NAMES_H

#include <stdbool.h>

#include "base/arena.h"
#include "base/status.h"
#include "engine/graph.h"

/*
 * What TensorFlow's optimizer calls things, where the order of names decides in which order it adds
 * and multiplies (regroup.h, push_constants.h).  It turns conditions and loops of functions into
 * Switch, Merge, Enter and Exit first, which have names of their own:
 *
 *     a node of the body of `while`            while/body/_0/name
 *     a variable of it that begins as `first`  while/first_switch/_2
 *     what it ends with                        while/exit/_2
 *     a node of a branch of `if`               if/then/_0/name
 *     what the branch reads of outside         if/name/_0
 *     what the condition gives                 if/output/_0
 *
 *     an input of a request that a function is given        Func/call/input/_3
 *
 * In graphs from before functions these are nodes of the graph: while/Switch_2:1, while/Exit_2; and
 * what reads a value from outside of the loop has an Enter, reader/Enter.  The numbers that
 * TensorFlow gives hang on all that it has made before; here they count the variables of a loop,
 * and are 0 elsewhere.
 */
typedef struct sp_optimizer_names {
	const sp_graph *graph;
	sp_arena *arena;
	size_t count;
	const char **own;       /* [count] of the nodes that were there; may be given anew */
	const uint32_t *owners; /* [region_count] the node that owns a region */
	const bool *bypassed;   /* [count] or NULL; sp_optimizer_names_bypass() */
} sp_optimizer_names;

/* The answer is in `arena`, which grows when more is asked. */
SP_MUST_CHECK sp_status sp_optimizer_names_make(sp_optimizer_names *out, const sp_graph *graph,
						sp_arena *arena, sp_error *err);

/*
 * From now on the names are those of the last passes: the node that an input of a request had for
 * itself in a function is gone where that makes no more edges than there were, which is where no
 * more than two nodes read it, or where the function has no variables to wait for.  `live`
 * [node_count] names the nodes that are run.  SP_NO_MEMORY.
 */
SP_MUST_CHECK sp_status sp_optimizer_names_bypass(sp_optimizer_names *names, const bool *live);

/* What node `reader` calls what it reads: "node", "node:1" of another output; NULL: no memory. */
const char *sp_optimizer_name_of(const sp_optimizer_names *names, const sp_node *reader,
				 sp_port port);

/*
 * What it calls input k in the optimizer's first passes, in which all that a function was given,
 * a branch and a loop's body too, still has a node of its own: "Func/input/_3".
 */
const char *sp_optimizer_first_name_of(const sp_optimizer_names *names, const sp_node *reader,
				       size_t k);

/*
 * Whether the optimizer sees what `reader` reads: not behind the Switch or the Merge by which a
 * branch or a loop that is a function has it from around.  In graphs from before functions it looks
 * through an Enter.
 */
bool sp_optimizer_sees(const sp_optimizer_names *names, const sp_node *reader, sp_port port);

#endif
