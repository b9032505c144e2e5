#ifndef SP_MODEL_LOADER_VERSION_EXAMPLE_FEATURES_H
#define SP_MODEL_LOADER_VERSION_EXAMPLE_FEATURES_H

#include <stddef.h>

#include "base/bytes.h"
#include "base/status.h"
#include "engine/graph/graph.h"

/*
 * Which features a model takes from the serialized tf.Example records of an input: those of the
 * parsers (ParseExample, ParseExampleV2) that the input feeds.
 *
 * Threads: one thread at a time while they are found; immutable afterwards.
 */

typedef enum sp_feature_kind {
	SP_FEATURE_DENSE,
	SP_FEATURE_SPARSE,
	SP_FEATURE_RAGGED
} sp_feature_kind;

/* The struct serving_processor_example_feature of api/serving_processor.h has the same members. */
typedef struct sp_example_feature {
	sp_bytes name;
	int dtype; /* SP_FLOAT, SP_INT64 or SP_STRING */
	int kind;  /* sp_feature_kind */
} sp_example_feature;

typedef struct sp_example_features {
	const sp_example_feature *items; /* [count] by name, as bytes; each name once */
	size_t count;
} sp_example_features;

/*
 * Finds those of the input that is fed into `fed`, before the graph is optimized.  None if the
 * input goes to anything but such parsers, in its shape or another, or to something that asks for
 * its shape only; or if the names of a parser's features are not constants.  A name that parsers
 * read by different types is left out.  SP_NO_MEMORY.
 */
SP_MUST_CHECK sp_status sp_example_features_find(sp_example_features *out, const sp_graph *graph,
						 sp_port fed, sp_arena *arena, sp_error *err);

#endif
