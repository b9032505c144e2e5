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
 * What an operator provides: two functions.
 *
 *   prepare  once per graph    checks attributes and element types, picks a
 *                              kernel, states the output types
 *   run      once per request  checks shapes and values of the inputs (they
 *                              are the client's), makes the outputs
 *
 * Shapes are checked in `run` because they depend on data in these graphs.  All
 * work that does not depend on the request belongs in `prepare`.
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
	SP_LEVEL_CONSTANT, /* always: depends on the graph alone */
	SP_LEVEL_SNAPSHOT, /* per model version: depends on its variables */
	SP_LEVEL_REQUEST,  /* per request */
} sp_level;

typedef struct sp_prepare {
	const sp_node *node;

	/* Inputs: element types; values where they are SP_LEVEL_CONSTANT, else NULL. */
	const sp_dtype *in_dtypes;
	const sp_tensor *const *in_values;
	size_t in_count;

	/* For `state` and what it points at; lives as long as the program. */
	sp_arena *arena;

	/* Where handles are declared (engine/tensor/resource.h). */
	struct sp_resources *resources;
	bool loading; /* of a load program */

	/* Set by prepare; sp_prepare_outputs() sets the outputs. */
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
		*environment; /* engine/graph/environment.h; NULL while serving */
	struct sp_object_list
		*objects; /* engine/tensor/object.h; NULL unless a snapshot is built */

	/*
	 * State of the session, kept between requests: positions of random streams in steps of 128
	 * bits, and the copies of session variables (engine/ops/state/session_variable.c),
	 * SP_SESSION_VARIABLE_WORDS each.
	 */
	uint64_t *drawn_by_node;
	uint64_t *session_variables;

	/* The request's deadline, for operators that wait; 0: none. */
	int64_t deadline_ns;
	/* Which of the rows that came after the checkpoint it reads (storage/fresh); NULL: none. */
	const struct sp_fresh_view *fresh;
	sp_error *err;
} sp_call;

enum {
	/* Never folded or shared, always SP_LEVEL_REQUEST: it reads or changes state. */
	SP_OP_STATEFUL = 1 << 0,
	/* Runs even if some inputs have no value (Merge). */
	SP_OP_TAKES_DEAD = 1 << 1,
	/* May leave outputs unset (Switch). */
	SP_OP_MAKES_DEAD = 1 << 2,
	/* Its value depends on the model version's variables: SP_LEVEL_SNAPSHOT. */
	SP_OP_READS_VARIABLE = 1 << 3,
	/*
	 * Runs only while loading (restore, assign, table fill).  A signature may reach it in a
	 * branch, and a request that takes the branch is refused.
	 */
	SP_OP_LOAD_ONLY = 1 << 4,
	/* Output i is input i: leaves no step behind. */
	SP_OP_IDENTITY = 1 << 5,
	/* Always SP_LEVEL_REQUEST: its value belongs to one request (a list). */
	SP_OP_PER_REQUEST = 1 << 6,
	/* Owns regions (engine/graph/graph.h): the session runs it, `run` is NULL. */
	SP_OP_CONTROL = 1 << 7,
	/* A variable of a loop. */
	SP_OP_ARGUMENT = 1 << 8,
	/* With SP_OP_LOAD_ONLY: it changes no state, but files are read only while loading. */
	SP_OP_READS_FILES = 1 << 9,
	/* Every output element is an element of an input: engine/runtime/move_variants.h. */
	SP_OP_MOVES = 1 << 10,

	/* With any of these an operator's value is of SP_LEVEL_REQUEST. */
	SP_OP_AT_REQUEST = SP_OP_STATEFUL | SP_OP_TAKES_DEAD | SP_OP_MAKES_DEAD | SP_OP_LOAD_ONLY |
			   SP_OP_PER_REQUEST,
};

typedef struct sp_op {
	const char *name; /* as the model file spells it */

	/*
	 * Names of the output arguments in order, by which function bodies refer to them: "y idx".
	 * A list argument names the attribute that has its length: "output:N" (an int attribute) or
	 * "values:Tdense" (the length of a list attribute).  NULL: one argument of any name.
	 */
	const char *outputs;
	unsigned flags;
	const char *types; /* of sp_prepare_types(), if that is all there is to prepare */

	sp_status (*prepare)(sp_prepare *prepare, sp_error *err);

	/* On failure call->err is filled; the caller releases outputs that were set. */
	sp_status (*run)(const sp_call *call);
} sp_op;

/* Defines the operator that ops.inc lists as `op`; all others are fields of sp_op. */
#define SP_DEFINE_OP(op, output_names, op_flags, prepare_op, run_op) \
	const sp_op sp_op_##op = {.name = #op,                       \
				  .outputs = output_names,           \
				  .flags = op_flags,                 \
				  .prepare = prepare_op,             \
				  .run = run_op}

/* The same for an operator whose preparation is sp_prepare_types() and nothing else. */
#define SP_DEFINE_TYPED_OP(op, output_names, op_flags, op_types, run_op) \
	const sp_op sp_op_##op = {.name = #op,                           \
				  .outputs = output_names,               \
				  .flags = op_flags,                     \
				  .types = op_types,                     \
				  .prepare = sp_prepare_by_types,        \
				  .run = run_op}

/* The operator of an opcode; NULL for SP_OPCODE_NONE. */
const sp_op *sp_op_of(sp_opcode opcode);

/* The opcode of a name in a model file; SP_OPCODE_NONE for internal and unknown names. */
sp_opcode sp_opcode_find(const char *name);

/* The operator of that name in a model file, or NULL. */
const sp_op *sp_op_find(const char *name);

/* ------------------------------------------------------------- for prepare */

/*
 * Checks the inputs against a declaration, and states the outputs: "string index E -> E bool".
 *
 *   float, string, ...  an element type, as sp_dtype_name() has it
 *   @name               the type that attribute `name` has
 *   any, index          any type; int32 or int64
 *   a letter            one type wherever it stands: T, U any; I, J int32 or int64; S these or
 *                       int16; F floating; N int32, int64, float or double; E plain bytes of a
 *                       known size; P the same, neither strings nor handles
 *
 * One word may stand for any number of inputs, "T*", or for at least one, "T+".  Without "->" no
 * outputs are stated.
 */
SP_MUST_CHECK sp_status sp_prepare_types(sp_prepare *prepare, const char *types, sp_error *err);

/* The same with the operator's own declaration. */
SP_MUST_CHECK sp_status sp_prepare_by_types(sp_prepare *prepare, sp_error *err);

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

SP_MUST_CHECK sp_status sp_call_output_scalar(const sp_call *call, size_t i, sp_dtype dtype);
SP_MUST_CHECK sp_status sp_call_output_vector(const sp_call *call, size_t i, sp_dtype dtype,
					      int64_t count);
SP_MUST_CHECK sp_status sp_call_output_matrix(const sp_call *call, size_t i, sp_dtype dtype,
					      int64_t rows, int64_t columns);

/* Output i shares the bytes of input `from`, under a shape with as many elements. */
void sp_call_forward(const sp_call *call, size_t i, size_t from, const sp_shape *shape);

/* Whether this call is the last to read the bytes of input i. */
bool sp_call_may_overwrite(const sp_call *call, size_t i);

/*
 * Output i becomes a tensor with the shape of input `from` and `dtype`.  It reuses the bytes of
 * that input if sp_call_may_overwrite() and the element size is the same.  For elementwise
 * operators, whose kernels may run in place.
 */
SP_MUST_CHECK sp_status sp_call_output_over(const sp_call *call, size_t i, size_t from,
					    sp_dtype dtype);

/* Scratch or string bytes until the end of the request; NULL past the limit. */
void *sp_call_bytes(const sp_call *call, size_t count, size_t size);

/* SP_NO_MEMORY with a message, after a NULL from sp_call_bytes(). */
sp_status sp_call_no_memory(const sp_call *call);

/* `to` becomes sp_call_bytes(); returns SP_NO_MEMORY from the calling function past the limit. */
#define SP_CALL_BYTES(to, call, count, size)                   \
	do {                                                   \
		(to) = sp_call_bytes((call), (count), (size)); \
		if ((to) == NULL)                              \
			return sp_call_no_memory(call);        \
	} while (0)

/* The same for `count` of what `to` points at. */
#define SP_CALL_ARRAY(to, call, count) SP_CALL_BYTES(to, call, count, sizeof(*(to)))

/* sp_error_set(call->err, SP_INVALID, ...) */
sp_status sp_call_invalid(const sp_call *call, const char *fmt, ...) SP_PRINTF(2, 3);

/* SP_INVALID unless input i is of that rank. */
SP_MUST_CHECK sp_status sp_call_need_rank(const sp_call *call, size_t i, int rank);

/* SP_INVALID unless input i is one element: a scalar, or a vector of one. */
SP_MUST_CHECK sp_status sp_call_need_scalar(const sp_call *call, size_t i);

/* Reads a scalar, or a one-element vector where TensorFlow does, from an int32 or int64 input. */
SP_MUST_CHECK sp_status sp_call_scalar(const sp_call *call, size_t i, int64_t *out);

/* A negative axis counts from the end.  SP_INVALID unless it lies in [-rank, rank). */
SP_MUST_CHECK sp_status sp_call_axis(const sp_call *call, int64_t axis, int rank, int *out);

#endif
