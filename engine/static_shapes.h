#ifndef SP_ENGINE_STATIC_SHAPES_H
#define SP_ENGINE_STATIC_SHAPES_H

#include <stdbool.h>

#include "base/status.h"
#include "engine/graph.h"

/*
 * What a graph says of its tensors' shapes before any request.
 *
 * A dimension without a number has a name: a negative number, the same for dimensions that come
 * from the same one and so are equal in every request.  Those with other names may be equal, too.
 * What an operator refuses is taken for granted: behind the sum of a row of 8 and an unknown one
 * there is a row of 8.
 *
 * As much is known as TensorFlow's optimizer knows, or less: nothing of what is fed, and names
 * get lost where it loses them (slices with strides, packed sizes).  Operators that are not in the
 * list of shape_rules.c make shapes of which nothing is known.
 *
 * A variable of a loop has the shape that it begins with, as far as the body gives it back; of a
 * dimension that it does not, it has a name of its own.  The same goes for what several branches
 * make.  TensorFlow's optimizer knows nothing where it knows nothing of one of them.
 */
enum {
	SP_RANK_UNKNOWN =
		-1, /* nothing is known, though TensorFlow's optimizer may know something */
	SP_RANK_OPEN =
		-2, /* nothing is known, and it knows nothing either: it comes with a request */
};

typedef struct sp_static_shape {
	int32_t rank;    /* or one of these */
	uint32_t handle; /* for the inference alone */
	int64_t dims[SP_MAX_RANK];
} sp_static_shape;

/* Of a node that owns regions. */
typedef struct sp_static_outputs {
	size_t count;
	sp_static_shape shapes[];
} sp_static_outputs;

typedef struct sp_static_shapes {
	sp_static_shape *shapes; /* [nodes] of output 0 */
	const bool *alike;       /* [nodes] whether other outputs have that shape as well */
	sp_static_outputs *const *outputs; /* [nodes] NULL but for owners of regions */
	size_t count;                      /* of nodes */

	/* For sp_static_shapes_tell(). */
	const sp_static_shape *told; /* [handles] */
} sp_static_shapes;

/*
 * The graph is sorted: what a node reads comes before it.  `fed` [node_count] names the nodes whose
 * value comes from outside.  The answer is in `arena`.
 *
 * Linear in the size of the graph: loops are gone through a few times at most.
 */
SP_MUST_CHECK sp_status sp_static_shapes_infer(const sp_graph *graph, const bool *fed,
					       sp_arena *arena, sp_static_shapes *out,
					       sp_error *err);

/*
 * Shapes become what is known when all of the graph has been looked at: dimensions that MatMul,
 * BiasAdd, Concat or AddN, say, wants to be equal have one name, or the number of one of them,
 * wherever they stand, and shapes that are to be alike, or of which a reader demands a number of
 * dimensions, are what the first says of them (shape_classes.c); if two numbers would have to be
 * equal, nothing is told.  What was inferred from a shape before stays as it was.  Only
 * TensorFlow's order of sums and products hangs on this.
 */
void sp_static_shapes_tell(sp_static_shapes *shapes);

/* The shape of an output. */
sp_static_shape sp_static_shape_of(const sp_static_shapes *shapes, sp_port port);

/*
 * Whether TensorFlow's optimizer knows nothing of a shape (SP_RANK_OPEN) after it has looked at all
 * that reads it.  It learns how many dimensions there are from operators that demand a number of
 * them: MatMul, Transpose, SparseTensorDenseMatMul, Slice, Tile, Pad; EnsureShape, AddN, Pack and
 * Select beside another input of which it is known.  An operator that keeps the shape of its one
 * input (Relu) is no reader of its own: what its readers demand they demand of its input.  What was
 * inferred from the shape when nothing was known stays as it was.
 */
bool sp_static_shape_is_open(const sp_static_shapes *shapes, sp_port port);

#endif
