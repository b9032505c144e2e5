#ifndef SP_ENGINE_STABLEHLO_OPS_SCALAR_CODE_H
#define SP_ENGINE_STABLEHLO_OPS_SCALAR_CODE_H

#include "engine/graph/op.h"

/*
 * A function of scalars (an attribute of XLA's operators that combines or compares elements),
 * compiled to run on many elements at once: each step of its body is a kernel over arrays.
 *
 * A body may hold constants, Cast, Bitcast, Select, calls of other such functions, operators that
 * forward a scalar (Identity, BroadcastTo to no dimensions), and all elementwise operators of one
 * or two operands (engine/ops/math/unary.h, engine/ops/math/binary.h) that accept any operand
 * values.  Errors name any other operator.
 *
 * Numerics: those of the operators.
 * Threads: immutable once made; a run is for one thread at a time.
 */
typedef struct sp_scalar_code sp_scalar_code;

enum {
	SP_SCALAR_LANES = 128, /* elements computed together */
	SP_SCALAR_ENDS = 64,   /* the maximum of arguments, and of results */
};

typedef struct sp_scalar_types {
	const sp_dtype *arguments;
	size_t argument_count;
	const sp_dtype *results;
	size_t result_count;
} sp_scalar_types;

/*
 * Compiles the function in attribute `name` of the node.  SP_INVALID when it is missing or its
 * types are not `types`; SP_UNSUPPORTED when its body has unsupported operators.
 */
SP_MUST_CHECK sp_status sp_scalar_code__make(const sp_scalar_code **out, const sp_prepare *prepare,
					     const char *name, const sp_scalar_types *types,
					     sp_error *err);

/* Whether result 0 is argument `i`, unchanged. */
bool sp_scalar_code__is_argument(const sp_scalar_code *code, size_t i);

/* Whether the body reads argument `i`. */
bool sp_scalar_code__reads(const sp_scalar_code *code, size_t i);

/*
 * Whether the body is one associative and commutative operator on its two arguments: addition,
 * multiplication, minimum, maximum, "and", "or" or "xor".
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
 * results[r][i] = code(arguments[0][i], arguments[1][i], ...) for i < count.  A result array may be
 * an argument array.
 */
void sp_scalar_run__apply(const sp_scalar_run *run, const void *const *arguments,
			  void *const *results, size_t count);

#endif
