#ifndef SP_ENGINE_IMPORT_H
#define SP_ENGINE_IMPORT_H

#include <stdbool.h>
#include <stddef.h>

#include "base/status.h"
#include "engine/graph/graph.h"
#include "engine/graph/graph_def.h"

/*
 * Makes a graph of a graph definition: resolves names, inlines function calls, leaves out nodes
 * that no root depends on, and puts the rest in topological order.
 *
 * Refused, with the name of the node: inputs that do not exist, duplicate names, cycles, recursive
 * functions, graphs of more than SP_IMPORT_MAX_NODES nodes once functions are inlined, constants
 * whose repeated values take more than SP_IMPORT_MAX_REPEATED bytes.
 */
#define SP_IMPORT_MAX_NODES (1u << 20)

/* Bounds the memory that a small hostile file can ask for by SP_ATTR_REPEATED. */
#define SP_IMPORT_MAX_REPEATED ((size_t)256 << 20)

/* Names of tensors ("node:1") and nodes ("node") that the graph must have. */
typedef struct sp_import_roots {
	const char *const *names;
	size_t count;
} sp_import_roots;

/* The graph lives in `arena` and shares parts of `def`, which must outlive it. */
SP_MUST_CHECK sp_status sp_graph_import(sp_graph *out, const sp_graph_def *def,
					const sp_import_roots *roots, sp_arena *arena,
					sp_error *err);

/* Whether import resolves nodes of the operator (calls, parts of loops): they need no kernel. */
bool sp_import_resolves(const sp_graph_def *def, const char *op);

#endif
