#ifndef SP_ENGINE_COUNT_WRITES_H
#define SP_ENGINE_COUNT_WRITES_H

#include "base/status.h"
#include "engine/graph/graph.h"

/* Nodes that requests may give values to, and those whose values they are answered. */
typedef struct sp_count_ends {
	const uint32_t *fed;
	size_t fed_count;
	const uint32_t *fetched;
	size_t fetched_count;
} sp_count_ends;

/*
 * A signature may not change the model, but layers that draw random numbers keep a seed in a
 * variable and write the next one whenever they have taken one (Keras 3), and some graphs count how
 * often they run.  What such a variable holds next follows from what it held and from constants:
 * nothing of a request goes into it.  Each session keeps a value of its own then, which begins
 * at what the checkpoint holds and goes on from request to request (engine/ops/state/count.c).
 *
 * Sessions are not in step.  So random numbers are all that a count may have a part in: where what
 * is read of it reaches an answer in another way (a number of requests, say), or an operator that
 * does more than compute, it is none.
 *
 * A variable is taken for a count where every write of it that signatures reach is an
 * AssignVariableOp, AssignAddVariableOp or AssignSubVariableOp outside of conditions and loops,
 * of a value that follows from its own reads and from constants alone, and where it is
 * declared to be of SP_COUNT_BYTES at most.  Its reads and writes become operators of our own.
 * Any other write stays what it is, and is refused where a signature reaches it; so do those of
 * more than a thousand variables.
 *
 * For the graph of signatures, after sp_graph_take_constant_writes().
 */
SP_MUST_CHECK sp_status sp_graph_take_counts(sp_graph *graph, const sp_count_ends *ends,
					     sp_error *err);

/* A seed of four numbers of 64 bits is the largest there is. */
#define SP_COUNT_BYTES 32

/* What a session has of each: whether it was written, and its bytes. */
#define SP_COUNT_WORDS (1 + SP_COUNT_BYTES / 8)

#endif
