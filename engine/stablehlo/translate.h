#ifndef SP_ENGINE_STABLEHLO_TRANSLATE_H
#define SP_ENGINE_STABLEHLO_TRANSLATE_H

#include "base/arena.h"
#include "base/status.h"
#include "engine/graph/graph_def.h"

/*
 * The computation of an XlaCallModule node, which JAX exports (jax2tf, Keras 3, Flax):
 * the functions of its StableHLO module as functions of TensorFlow's operators, so that
 * everything behind the import sees a graph like any other.
 *
 * The functions are named "PREFIX/..."; the first one is called with the node's inputs and
 * returns its outputs.  What a module asks of TensorFlow's functions stands as calls of
 * those.
 *
 * SP_UNSUPPORTED, in words that name it, for an operation or a form of one that is not
 * translated; SP_CORRUPT for a module that breaks its format.
 */
typedef struct sp_stablehlo_functions {
	const sp_function_def *list;
	size_t count;
} sp_stablehlo_functions;

/* What is made lives in `arena`; `scratch` may go afterwards. */
SP_MUST_CHECK sp_status sp_stablehlo_translate(sp_stablehlo_functions *out, const sp_node_def *node,
					       const char *prefix, sp_arena *arena,
					       sp_arena *scratch, sp_error *err);

#endif
