#ifndef SP_ENGINE_STABLEHLO_TRANSLATE_H
#define SP_ENGINE_STABLEHLO_TRANSLATE_H

#include "engine/import/front_end.h"

/*
 * The StableHLO module of an XlaCallModule node, which JAX exports (jax2tf, Keras 3, Flax), as
 * functions; see sp_front_end.translate.  The module's calls of TensorFlow functions become calls
 * of those.
 */
SP_MUST_CHECK sp_status sp_stablehlo_translate(sp_translation *out, const sp_node_def *node,
					       const char *prefix, sp_arena *arena,
					       sp_arena *scratch, sp_error *err);

#endif
