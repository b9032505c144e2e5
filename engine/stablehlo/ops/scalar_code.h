#ifndef SP_ENGINE_STABLEHLO_OPS_SCALAR_CODE_H
#define SP_ENGINE_STABLEHLO_OPS_SCALAR_CODE_H

#include "engine/graph/op.h"

/*
 * A function of scalars, which XLA's operators take as an attribute to join two elements or to
 * compare them, made ready to run on many elements at once: the steps of its body, each a kernel
 * over arrays.
 *
 * A body may hold constants, Cast, Bitcast, Select, calls of other such functions, what leaves a
 * scalar as it is (Identity, BroadcastTo to no dimensions), and every operator of one or two
 * operands that is computed element by element (engine/ops/math/unary.h, engine/ops/math/binary.h)
 * and takes any operands; anything else is refused by name.
 *
 * Numerics: those of the operators.
 * Threads: immutable once made; a run is for one thread at a time.
 */
typedef struct sp_scalar_code sp_scalar_code;

enum {
	SP_SCALAR_LANES = 128, /* elements that pass through the body together */
	SP_SCALAR_ENDS = 64,   /* the most arguments, and the most results */
};

typedef struct sp_scalar_types {
	const sp_dtype *arguments;
	size_t argument_count;
	const sp_dtype *results;
	size_t result_count;
} sp_scalar_types;

/*
 * The function that attribute `name` of the node names.  SP_INVALID when it is not there or takes
 * or returns other types than `types`; SP_UNSUPPORTED when its body is not one of scalars.
 */
SP_MUST_CHECK sp_status sp_scalar_code__make(const sp_scalar_code **out, const sp_prepare *prepare,
					     const char *name, const sp_scalar_types *types,
					     sp_error *err);

/* Whether result 0 is argument `i` as it is. */
bool sp_scalar_code__is_argument(const sp_scalar_code *code, size_t i);

/* Whether the body reads argument `i`. */
bool sp_scalar_code__reads(const sp_scalar_code *code, size_t i);

/*
 * Whether the body is one operator on its two arguments, in either order, whose results may be
 * taken together in any order: sums, products, extremes, "and" and "or".
 */
bool sp_scalar_code__is_associative(const sp_scalar_code *code);

/* The registers of one run. */
typedef struct sp_scalar_run {
	const sp_scalar_code *code;
	void **registers;
} sp_scalar_run;

/* Allocates the registers from the request's memory. */
SP_MUST_CHECK sp_status sp_scalar_run__start(sp_scalar_run *run, const sp_call *call,
					     const sp_scalar_code *code);

/*
 * results[r][i] = code(arguments[0][i], arguments[1][i], ...) for i < count.  A result may be
 * written over an argument.
 */
void sp_scalar_run__apply(const sp_scalar_run *run, const void *const *arguments,
			  void *const *results, size_t count);

#endif
