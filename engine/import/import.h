#ifndef SP_ENGINE_IMPORT_H
#define SP_ENGINE_IMPORT_H

#include <stdbool.h>
#include <stddef.h>

#include "base/status.h"
#include "engine/graph/graph.h"
#include "engine/graph/graph_def.h"

/*
 * Graph definition to graph: names resolved, function calls inlined, nodes
 * that no wanted tensor or node needs left out, the rest in topological order.
 *
 * Refused, in words that name the node: inputs that do not exist, duplicate
 * names, cycles, functions that call themselves, graphs that inline to more
 * than SP_IMPORT_MAX_NODES nodes, constants that repeat values into more than
 * SP_IMPORT_MAX_REPEATED bytes.
 */
#define SP_IMPORT_MAX_NODES (1u << 20)

/* A few bytes of file can ask for any amount of memory; what is reached gets this much of it. */
#define SP_IMPORT_MAX_REPEATED ((size_t)256 << 20)

/* Names of tensors ("node:1") and nodes ("node") that something will want. */
typedef struct sp_import_roots {
	const char *const *names;
	size_t count;
} sp_import_roots;

/*
 * `out` and all it points at lives in `arena`, but for what it shares with
 * `def`, which must outlive it.
 */
SP_MUST_CHECK sp_status sp_graph_import(sp_graph *out, const sp_graph_def *def,
					const sp_import_roots *roots, sp_arena *arena,
					sp_error *err);

/* Whether the operator is none that runs, but is resolved by the import: a call, part of a loop. */
bool sp_import_resolves(const sp_graph_def *def, const char *op);

#endif
