#ifndef SP_ENGINE_OP_H
#define SP_ENGINE_OP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/status.h"
#include "engine/graph/graph.h"
#include "engine/tensor/tensor.h"
#include "engine/tensor/workspace.h"

/*
 * What an operator provides.
 *
 * An operator lives in two moments:
 *
 *   prepare  once per graph    attributes and element types are checked, a
 *                              kernel is picked, output types are stated
 *   run      once per request  shapes and values of the inputs are checked
 *                              (they are the client's), outputs are made
 *
 * Shapes are looked at in `run` because they are data in these graphs; all
 * that does not depend on the request belongs into `prepare`.
 *
 * A new operator is one file in engine/ops/ (a close family may share one),
 * one line in engine/ops/ops.inc, cases of TensorFlow's (scripts/op_cases/), and a
 * run of scripts/operators.sh for docs/operators.md.
 *
 * Threads: an sp_op and a prepared state are immutable; `run` may be called
 * in many threads at once, each with its own call.
 */

/* When a value is known, from early to late. */
typedef enum sp_level {
	SP_LEVEL_CONSTANT, /* for ever: follows from the graph alone */
	SP_LEVEL_SNAPSHOT, /* per model version: follows from its variables */
	SP_LEVEL_REQUEST,  /* per request */
} sp_level;

typedef struct sp_prepare {
	const sp_node *node;

	/* Inputs: element types; the value where it is SP_LEVEL_CONSTANT, else NULL. */
	const sp_dtype *in_dtypes;
	const sp_tensor *const *in_values;
	size_t in_count;

	/* Lives as long as the program: for `state` and what it points at. */
	sp_arena *arena;

	/* Where handles are declared (engine/tensor/resource.h). */
	struct sp_resources *resources;
	bool loading; /* of a load program: no answer need read what it declares */

	/* To fill.  out_dtypes comes from sp_prepare_outputs(). */
	void *state;
	sp_dtype *out_dtypes;
	size_t out_count;
} sp_prepare;

typedef struct sp_call {
	const void *state;
	const sp_tensor *const *in; /* in_count; set, of the prepared dtypes */
	size_t in_count;
	sp_tensor *const *out; /* out_count; unset before, every one set after SP_OK */
	size_t out_count;
	uint64_t in_dies; /* bit i: this call is the last to read input i (i < 64) */

	sp_workspace *workspace;
	struct sp_resources *resources; /* engine/tensor/resource.h; read-only while serving */
	const struct sp_environment
		*environment;     /* engine/graph/environment.h; NULL while serving */
	struct sp_keeper *keeper; /* engine/runtime/keeper.h; NULL but at SP_LEVEL_SNAPSHOT */

	/*
	 * How far random streams have gone, in steps of 128 bits: those that nodes begin, and those
	 * that begin at a variable's value, by its number among the resources.
	 */
	uint64_t *drawn_by_node, *drawn_by_variable;

	/* Values of counts (engine/ops/state/count.c), SP_COUNT_WORDS of each. */
	uint64_t *counts;

	/* When the request must be done, for operators that wait; 0 is never. */
	int64_t deadline_ns;
	sp_error *err;
} sp_call;

enum {
	/* Never folded or shared, always SP_LEVEL_REQUEST: it reads or changes state. */
	SP_OP_STATEFUL = 1 << 0,
	/* Runs even if some inputs have no value (Merge). */
	SP_OP_TAKES_DEAD = 1 << 1,
	/* May leave outputs unset (Switch). */
	SP_OP_MAKES_DEAD = 1 << 2,
	/* Its value follows from the model version's variables: SP_LEVEL_SNAPSHOT. */
	SP_OP_READS_VARIABLE = 1 << 3,
	/*
	 * Runs only while loading (restore, assign, table fill).  A signature may reach it in a
	 * branch, and a request that takes the branch is refused.
	 */
	SP_OP_LOAD_ONLY = 1 << 4,
	/* Output i is input i: leaves no step behind. */
	SP_OP_IDENTITY = 1 << 5,
	/* Always SP_LEVEL_REQUEST: what it makes belongs to one request (a list). */
	SP_OP_PER_REQUEST = 1 << 6,
	/* Owns regions (engine/graph/graph.h): the session runs it, `run` is NULL. */
	SP_OP_CONTROL = 1 << 7,
	/* A variable of a loop. */
	SP_OP_ARGUMENT = 1 << 8,
	/* With SP_OP_LOAD_ONLY: it changes nothing, but files are read only while loading. */
	SP_OP_READS_FILES = 1 << 9,
	/* Every element it makes is an element of an input: engine/runtime/move_variants.h. */
	SP_OP_MOVES = 1 << 10,
};

typedef struct sp_op {
	const char *name; /* as the model file spells it; ours begin with '_' */

	/*
	 * Names of the output arguments in order, as function bodies refer to
	 * them: "y idx".  An argument that is a list says how long it is by an
	 * attribute: "output:N" (an int attribute) or "values:Tdense" (the length
	 * of a list attribute).  NULL is one argument of whatever name.
	 */
	const char *outputs;
	unsigned flags;

	sp_status (*prepare)(sp_prepare *prepare, sp_error *err);

	/* On failure call->err is filled; outputs that were set are cleaned up by the caller. */
	sp_status (*run)(const sp_call *call);
} sp_op;

/* Every operator there is; NULL when there is none of that name. */
const sp_op *sp_op_find(const char *name);

/* The i-th operator in the order of ops.inc; NULL past the last. */
const sp_op *sp_op_at(size_t i);

/* ------------------------------------------------------------- for prepare */

/* States the outputs: `count` of them, all of `dtype`. */
SP_MUST_CHECK sp_status sp_prepare_outputs(sp_prepare *prepare, size_t count, sp_dtype dtype,
					   sp_error *err);

/* SP_INVALID unless there are exactly `count` inputs. */
SP_MUST_CHECK sp_status sp_prepare_inputs(const sp_prepare *prepare, size_t count, sp_error *err);

/* SP_INVALID unless input i has that dtype. */
SP_MUST_CHECK sp_status sp_prepare_input_dtype(const sp_prepare *prepare, size_t i, sp_dtype dtype,
					       sp_error *err);

/* SP_INVALID unless input i is int32 or int64. */
SP_MUST_CHECK sp_status sp_prepare_input_index(const sp_prepare *prepare, size_t i, sp_error *err);

/* Zeroed state of `size` bytes, also stored in prepare->state; NULL when out of memory. */
void *sp_prepare_state(sp_prepare *prepare, size_t size);

/* SP_UNSUPPORTED "<op> of <dtype> is not supported". */
sp_status sp_prepare_unsupported(const sp_prepare *prepare, sp_dtype dtype, sp_error *err);

/* ----------------------------------------------------------------- for run */

/* Output i becomes a new tensor with uninitialised elements. */
SP_MUST_CHECK sp_status sp_call_output(const sp_call *call, size_t i, sp_dtype dtype,
				       const sp_shape *shape);

/*
 * Output i shows the bytes of input `from` under `shape`, which has as many
 * elements.  Nothing is copied.
 */
void sp_call_forward(const sp_call *call, size_t i, size_t from, const sp_shape *shape);

/* Whether nobody else will read the bytes of input i. */
bool sp_call_may_overwrite(const sp_call *call, size_t i);

/*
 * Output i becomes a tensor with the shape of input `from` and `dtype`, in the
 * very bytes of that input when nobody else will read them and the element
 * size is the same, else in new ones.  For elementwise operators, whose
 * kernels may run in place.
 */
SP_MUST_CHECK sp_status sp_call_output_over(const sp_call *call, size_t i, size_t from,
					    sp_dtype dtype);

/* Scratch or string bytes until the end of the request; NULL past the limit. */
void *sp_call_bytes(const sp_call *call, size_t count, size_t size);

/* SP_NO_MEMORY with words, for a NULL from sp_call_bytes(). */
sp_status sp_call_no_memory(const sp_call *call);

/* sp_error_set(call->err, SP_INVALID, ...) */
sp_status sp_call_invalid(const sp_call *call, const char *fmt, ...) SP_PRINTF(2, 3);

/*
 * Reads a scalar, or a one-element vector where TensorFlow takes one too,
 * from an int32 or int64 input.
 */
SP_MUST_CHECK sp_status sp_call_scalar(const sp_call *call, size_t i, int64_t *out);

/*
 * A negative axis counts from the end.  SP_INVALID unless it lies in
 * [-rank, rank).
 */
SP_MUST_CHECK sp_status sp_call_axis(const sp_call *call, int64_t axis, int rank, int *out);

#endif
