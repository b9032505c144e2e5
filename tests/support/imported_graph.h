#ifndef SP_TESTS_SUPPORT_IMPORTED_GRAPH_H
#define SP_TESTS_SUPPORT_IMPORTED_GRAPH_H

#include <stdbool.h>

#include "engine/graph/graph.h"
#include "tests/support/graph.h"

/*
 * The graph of a test of what is done to graphs, or known of them, before they are compiled: nodes
 * as literals, imported and no more.
 */
extern sp_graph sp_imported;
extern sp_arena *sp_imported_arena; /* the graph is in it; a test may put more there */
extern sp_error sp_imported_err;

int sp_imported_set_up(void **state);
int sp_imported_tear_down(void **state);

/* Imports what `root` reaches; sp_imported_err says why not. */
SP_MUST_CHECK sp_status sp_imported_try(const sp_graph_def *def, const char *root);

/* Imports what "end" reaches, which must be possible. */
void sp_imported_take(const sp_node_def *nodes, size_t count);

/* NULL when there is none of that name. */
const sp_node *sp_node_named(const char *name);

/* As an index; the test fails when there is none of that name. */
uint32_t sp_number_of(const char *name);

/* [node_count] for passes that ask which nodes are fed or kept: none, and all placeholders. */
bool *sp_imported_none(void);
bool *sp_imported_placeholders(void);

#endif
