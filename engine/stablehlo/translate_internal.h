#ifndef SP_ENGINE_STABLEHLO_TRANSLATE_INTERNAL_H
#define SP_ENGINE_STABLEHLO_TRANSLATE_INTERNAL_H

#include "base/map.h"
#include "engine/stablehlo/translate.h"
#include "engine/stablehlo/vhlo.h"

/*
 * Shared by the files of the translation: translate.c walks modules and functions, nodes.c writes
 * nodes, values.c maps the module's values to the graph's; the other files translate one family of
 * operations each.
 *
 * StableHLO broadcasts explicitly, while TensorFlow's operators broadcast their inputs: a bias, for
 * example, is broadcast to the batch before it is added.  The source of a broadcast is therefore
 * kept, and the broadcast becomes a node only when an operation needs the full value; elementwise
 * operations do not.
 *
 * A reference is NULL when its node could not be made; hlo->status then holds the reason, and nodes
 * with such an input become NULL, too.  The status is checked once per operation.
 */

typedef struct sp_hlo sp_hlo;
typedef struct sp_hlo_body sp_hlo_body;

/* A value of the module, in the function that defines or captures it. */
typedef struct sp_hlo_value {
	const char *all; /* the node of the full value; NULL until one is needed */
	bool is_broadcast;
	const char *source; /* of a broadcast: the value that is repeated; its dimensions become the
			       last ones */
	sp_vhlo_type source_type;
	const char *shape; /* node with the shape to broadcast to; NULL when the type has it */
	sp_dtype shape_dtype;
	const sp_tensor
		*constant;    /* the source of a broadcast, else the value; NULL when not known */
	const sp_mlir_op *op; /* that defines it; NULL for arguments */
} sp_hlo_value;

struct sp_hlo {
	sp_mlir_module module;
	sp_vhlo_type *types; /* [types] */
	bool *type_is_read;
	sp_hlo_value *values; /* [values] */
	sp_tensor *constants; /* [attributes] */
	uint8_t *constant_is_read;
	const char *prefix;
	const sp_node_def *node;
	bool asserts_shapes;
	sp_map functions; /* name -> index */
	const sp_mlir_op **function_ops;
	const char **function_names;
	size_t function_count;
	sp_function_def *made; /* functions and regions */
	size_t made_count;
	size_t made_capacity;
	uint32_t *stamps; /* [values] number of the last capture list that has the value */
	uint32_t stamp;
	uint64_t ops_left; /* limits how many operations may still be written */
	sp_arena *arena;
	sp_arena *scratch;
	sp_error *err;
	sp_status status;
};

/* A function that is being written. */
struct sp_hlo_body {
	sp_hlo *hlo;
	sp_node_def *nodes;
	size_t count;
	size_t capacity;
	const struct sp_hlo_rule *rule; /* of the operation that is being translated */
	const char *stem;               /* prefix of the names of nodes */
	const char **checks;            /* nodes without readers that must run */
	size_t check_count;
	size_t check_capacity;
};

/* ---------------------------------------------------------------- nodes.c */

enum { SP_HLO_MAX_ATTRS = 12 };

/* A node that is being made. */
typedef struct sp_hlo_node {
	const char *op;
	const char **inputs;
	size_t input_count;
	size_t input_capacity;
	sp_attr attrs[SP_HLO_MAX_ATTRS];
	size_t attr_count;
	const char *name; /* set by sp_hlo__write() */
} sp_hlo_node;

void sp_hlo__begin(sp_hlo_body *body, sp_hlo_node *node, const char *op, size_t inputs);

/* Begins a node with the inputs that follow `dtype`, which is its attribute T. */
#define SP_HLO_BEGIN(body, node, op, dtype, ...)                                      \
	sp_hlo__begin_with(body, node, op, dtype, (const char *const[]){__VA_ARGS__}, \
			   sizeof((const char *const[]){__VA_ARGS__}) / sizeof(char *))
void sp_hlo__begin_with(sp_hlo_body *body, sp_hlo_node *node, const char *op, sp_dtype dtype,
			const char *const *inputs, size_t count);

void sp_hlo__input(sp_hlo_node *node, const char *ref);
void sp_hlo__type(sp_hlo_node *node, const char *name, sp_dtype dtype);
void sp_hlo__bool(sp_hlo_node *node, const char *name, bool value);
void sp_hlo__int(sp_hlo_node *node, const char *name, int64_t value);
void sp_hlo__text(sp_hlo_node *node, const char *name, sp_bytes text);
void sp_hlo__function(sp_hlo_node *node, const char *name, const char *function);
void sp_hlo__functions(sp_hlo_node *node, const char *name, const char *const *functions,
		       size_t count);
void sp_hlo__types(sp_hlo_node *node, const char *name, const sp_dtype *dtypes, size_t count);
void sp_hlo__ints_attr(sp_hlo_node *node, const char *name, const int64_t *values, size_t count);
void sp_hlo__shape(sp_hlo_node *node, const char *name, const sp_partial_shape *shape);

/* Writes the node and returns its first output; NULL when an input is NULL or memory is out. */
const char *sp_hlo__write(sp_hlo_body *body, sp_hlo_node *node);

/* Output `i` of a node that is written. */
const char *sp_hlo__output(sp_hlo_body *body, const sp_hlo_node *node, size_t i);

/* Nodes with the attribute T alone. */
const char *sp_hlo__unary(sp_hlo_body *body, const char *op, const char *x, sp_dtype dtype);
const char *sp_hlo__binary(sp_hlo_body *body, const char *op, const char *x, const char *y,
			   sp_dtype dtype);
const char *sp_hlo__select(sp_hlo_body *body, const char *condition, const char *x, const char *y,
			   sp_dtype dtype);

const char *sp_hlo__constant(sp_hlo_body *body, const sp_tensor *tensor);

/* A vector of int32, or of int64 if a value does not fit. */
const char *sp_hlo__ints(sp_hlo_body *body, const int64_t *values, size_t count);
const char *sp_hlo__int_scalar(sp_hlo_body *body, int64_t value);

/* A scalar of any type except strings; the value is rounded to it. */
const char *sp_hlo__number(sp_hlo_body *body, double value, sp_dtype dtype);

const char *sp_hlo__cast(sp_hlo_body *body, const char *x, sp_dtype from, sp_dtype to);
const char *sp_hlo__reshape(sp_hlo_body *body, const char *x, const int64_t *dims, int32_t rank,
			    sp_dtype dtype);
const char *sp_hlo__transpose(sp_hlo_body *body, const char *x, const int64_t *permutation,
			      int32_t rank, sp_dtype dtype);

/* Element `i` of a vector, as a scalar. */
const char *sp_hlo__element(sp_hlo_body *body, const char *vector, int64_t i, sp_dtype dtype);

/* Dimension `i` of x, as an int32 scalar. */
const char *sp_hlo__dimension(sp_hlo_body *body, const char *x, int32_t i, sp_dtype dtype);

/* Records a refusal unless there is one already.  Returns hlo->status. */
sp_status sp_hlo__refuse(sp_hlo *hlo, const sp_mlir_op *op, const char *why);
const char *sp_hlo__no_memory(sp_hlo *hlo);
sp_status sp_hlo__out_of_memory(sp_hlo *hlo);

/* --------------------------------------------------------------- values.c */

/* Never NULL; when the type cannot be read, a scalar without a type (see hlo->status). */
const sp_vhlo_type *sp_hlo__value_type(sp_hlo *hlo, uint32_t value);
sp_dtype sp_hlo__dtype(sp_hlo *hlo, uint32_t value);

/* The full value. */
const char *sp_hlo__all(sp_hlo_body *body, uint32_t value);

/* The source of a broadcast; of any other value the value itself. */
const char *sp_hlo__source(sp_hlo_body *body, uint32_t value);
bool sp_hlo__is_broadcast(const sp_hlo *hlo, uint32_t value);
const sp_vhlo_type *sp_hlo__source_type(sp_hlo *hlo, uint32_t value);

/* Sets a result of the operation to a full value. */
sp_status sp_hlo__give(sp_hlo_body *body, const sp_mlir_op *op, uint32_t result, const char *ref);

/*
 * Sets the operation's only result to `source`, broadcast to the shape of `like`, or of the
 * result's type if that is NULL.
 */
sp_status sp_hlo__give_broadcast(sp_hlo_body *body, const sp_mlir_op *op, const char *source,
				 const sp_vhlo_type *type, const sp_hlo_value *like);

/* The constant value, with one element when all are equal; NULL when not constant. */
const sp_tensor *sp_hlo__known(const sp_hlo *hlo, uint32_t value);

/* A constant of one element, or of equal ones, as a number. */
bool sp_hlo__known_number(const sp_hlo *hlo, uint32_t value, double *out);
bool sp_hlo__tensor_number(const sp_tensor *tensor, size_t i, double *out);

/*
 * The elements of an int32 or int64 constant; false when it is not one, or has more than `limit`.
 */
bool sp_hlo__known_ints(sp_hlo *hlo, uint32_t value, int64_t *out, size_t limit, size_t *count);

/* ----------------------------------------------------------- the families */

typedef struct sp_hlo_rule sp_hlo_rule;
typedef sp_status sp_hlo_fn(sp_hlo_body *body, const sp_mlir_op *op);

/* How an operation is translated. */
struct sp_hlo_rule {
	const char *name; /* without "vhlo." and the version */
	int newest;       /* the latest version that is supported */
	int operands;     /* number, or ANY, or SOME */
	int results;      /* number, or ANY, or SOME */
	sp_hlo_fn *translate;
	const char *op;      /* TensorFlow's operator for numbers */
	const char *bool_op; /* for booleans, or NULL */
};

/* ANY: zero or more; SOME: one or more. */
enum { SP_HLO_ANY = -1, SP_HLO_SOME = -2 };

sp_hlo_fn sp_hlo__do_unary, sp_hlo__do_binary, sp_hlo__do_not, sp_hlo__do_maximum, sp_hlo__do_add,
	sp_hlo__do_divide, sp_hlo__do_remainder, sp_hlo__do_shift, sp_hlo__do_compare,
	sp_hlo__do_select, sp_hlo__do_clamp, sp_hlo__do_convert, sp_hlo__do_complex,
	sp_hlo__do_part, sp_hlo__do_cbrt, sp_hlo__do_round, sp_hlo__do_bitcast, sp_hlo__do_popcnt,
	sp_hlo__do_identity, sp_hlo__do_negate, sp_hlo__do_leading_zeros,
	sp_hlo__do_reduce_precision;
sp_hlo_fn sp_hlo__do_constant, sp_hlo__do_iota, sp_hlo__do_dynamic_iota, sp_hlo__do_broadcast,
	sp_hlo__do_reshape, sp_hlo__do_dynamic_reshape, sp_hlo__do_transpose, sp_hlo__do_slice,
	sp_hlo__do_real_dynamic_slice, sp_hlo__do_dynamic_slice, sp_hlo__do_dynamic_update_slice,
	sp_hlo__do_reverse, sp_hlo__do_concatenate, sp_hlo__do_pad, sp_hlo__do_dynamic_pad,
	sp_hlo__do_dimension_size;
sp_hlo_fn sp_hlo__do_dot_general, sp_hlo__do_fft;
sp_hlo_fn sp_hlo__do_reduce;
sp_hlo_fn sp_hlo__do_gather, sp_hlo__do_dynamic_gather, sp_hlo__do_scatter, sp_hlo__do_sort;
sp_hlo_fn sp_hlo__do_reduce_window, sp_hlo__do_convolution;
sp_hlo_fn sp_hlo__do_call, sp_hlo__do_composite, sp_hlo__do_custom_call, sp_hlo__do_while,
	sp_hlo__do_if, sp_hlo__do_case, sp_hlo__do_token;

/* Applies an operator of one input to the operand. */
SP_MUST_CHECK sp_status sp_hlo__apply(sp_hlo_body *body, const sp_mlir_op *op,
				      const char *function);

/* A protobuf message of dimension numbers, such as XLA's GatherDimensionNumbers. */
typedef struct sp_hlo_message {
	char bytes[512];
	size_t size;
} sp_hlo_message;

/* Adds attribute `name` of an operation to the message, as field `field`. */
SP_MUST_CHECK sp_status sp_hlo__add_dims(sp_hlo *hlo, sp_hlo_message *to, int field,
					 const sp_mlir_op *op, const char *name);
SP_MUST_CHECK sp_status sp_hlo__add_dim(sp_hlo *hlo, sp_hlo_message *to, int field,
					const sp_mlir_op *op, const char *name);
SP_MUST_CHECK sp_status sp_hlo__give_numbers(sp_hlo *hlo, sp_hlo_node *node,
					     const sp_hlo_message *message);

/* Makes a function of the first region, which reads its arguments only; refuses other regions. */
SP_MUST_CHECK sp_status sp_hlo__scalar_function(sp_hlo *hlo, const sp_mlir_op *op,
						const char **out);

/* custom_call ApproxTopK, whose result is exact on CPUs. */
SP_MUST_CHECK sp_status sp_hlo__approximate_top_k(sp_hlo_body *body, const sp_mlir_op *op);

/* The name of the operation if the region just applies one to its two arguments; else NULL. */
const char *sp_hlo__region_op(const sp_mlir_region *region);

/* -------------------------------------------------------------- functions */

typedef enum sp_hlo_role {
	SP_HLO_PLAIN,
	SP_HLO_FIRST,     /* the module's main function, whose arguments are checked */
	SP_HLO_LOOP_BODY, /* returns the captured values before its results */
	SP_HLO_SCALAR,    /* captures only constants */
} sp_hlo_role;

/*
 * Writes a region as a function that takes the captured values (none of which is a token), then its
 * arguments, and returns its results; *out is the function's name.
 */
SP_MUST_CHECK sp_status sp_hlo__make_function(sp_hlo *hlo, const sp_mlir_region *region,
					      const uint32_t *captured, size_t captured_count,
					      sp_hlo_role role, const char **out);

/* The values that the regions of an operation capture. */
SP_MUST_CHECK sp_status sp_hlo__captured(sp_hlo *hlo, const sp_mlir_op *op, uint32_t **values,
					 size_t *count);

/* The function's index, or -1. */
int64_t sp_hlo__find_function(const sp_hlo *hlo, sp_bytes name);

#endif
