#ifndef SP_ENGINE_REWRITE_H
#define SP_ENGINE_REWRITE_H

#include "base/status.h"
#include "engine/graph/graph.h"

/*
 * A pass that writes a new list of nodes: it walks the old list, adds the replacement of each node,
 * and records its number in `moved`.  The new list grows as needed.
 *
 * Threads: one thread at a time.
 */
typedef struct sp_rewrite {
	sp_graph *graph; /* with the old list until sp_rewrite_finish() */
	sp_node *nodes;  /* the new list, in the graph's arena */
	size_t count, capacity;
	uint32_t *moved; /* [old nodes] the number of the new node; SP_REWRITE_NONE before */
	sp_error *err;
} sp_rewrite;

#define SP_REWRITE_NONE UINT32_MAX

/* All functions fail with SP_NO_MEMORY only; rw->err has the reason. */
SP_MUST_CHECK sp_status sp_rewrite_begin(sp_rewrite *rw, sp_graph *graph, sp_error *err);

/* Adds a node whose edges are numbers of the new list; its number goes into *at. */
SP_MUST_CHECK sp_status sp_rewrite_add(sp_rewrite *rw, const sp_node *node, uint32_t *at);

/* Adds old node `old`, its edges renumbered. */
SP_MUST_CHECK sp_status sp_rewrite_move(sp_rewrite *rw, uint32_t old);

/* Adds a Const of one int32, named "<user>/axis", in the region of `user`. */
SP_MUST_CHECK sp_status sp_rewrite_add_int32(sp_rewrite *rw, const sp_node *user, int32_t value,
					     uint32_t *at);

/* Copies and renumbers the node's edges, with room for one more input. */
SP_MUST_CHECK sp_status sp_rewrite_edges(const sp_rewrite *rw, sp_node *node);

/* Installs the new list in the graph and renumbers the graph's names by `moved`. */
void sp_rewrite_finish(sp_rewrite *rw);

static inline sp_port sp_rewrite_port(const sp_rewrite *rw, sp_port port)
{
	return (sp_port){rw->moved[port.node], port.port};
}

sp_status sp_rewrite_no_memory(const sp_rewrite *rw);

#endif
