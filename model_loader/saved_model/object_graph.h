#ifndef SP_MODEL_LOADER_SAVED_MODEL_OBJECT_GRAPH_H
#define SP_MODEL_LOADER_SAVED_MODEL_OBJECT_GRAPH_H

#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/bytes.h"
#include "base/map.h"
#include "base/status.h"

/*
 * The Python objects that a TensorFlow 2 SavedModel was saved from, and which tensors of a
 * checkpoint hold their values.
 *
 * SavedModel and checkpoint each have a graph of objects, whose children have local names.  Two
 * objects are the same if the same path of names leads to them from the root of each graph.
 * TensorFlow's own loader matches objects this way, not by the names of variables.
 *
 * Source: saved_object_graph.proto, trackable_object_graph.proto of TensorFlow 2.15.
 *
 * Threads: immutable once read.
 */
typedef struct sp_object_graph {
	const sp_bytes *keys; /* of each object's value in the checkpoint; empty: none */
	size_t count;
	sp_map functions; /* name -> const sp_object_captures * */
} sp_object_graph;

/* The objects that a function captures: they are its last arguments. */
typedef struct sp_object_captures {
	const int32_t *objects; /* indices below sp_object_graph.count */
	size_t count;
} sp_object_captures;

/*
 * `saved` is the MetaGraphDef's object_graph_def, `checkpoint` the tensor SP_OBJECT_GRAPH_KEY of a
 * checkpoint.  Everything lives in `arena`.  SP_CORRUPT when either is malformed or refers to
 * missing objects.
 */
#define SP_OBJECT_GRAPH_KEY "_CHECKPOINTABLE_OBJECT_GRAPH"

SP_MUST_CHECK sp_status sp_object_graph_read(sp_object_graph *out, sp_bytes saved,
					     sp_bytes checkpoint, sp_arena *arena, sp_error *err);

/* NULL when the SavedModel has no such function. */
const sp_object_captures *sp_object_graph_captures(const sp_object_graph *graph,
						   const char *function);

#endif
