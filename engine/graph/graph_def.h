#ifndef SP_ENGINE_GRAPH_DEF_H
#define SP_ENGINE_GRAPH_DEF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "engine/tensor/partial_shape.h"
#include "engine/tensor/tensor.h"

/*
 * A graph as in the model file: names unresolved, functions not yet inlined.  model_loader fills
 * it, engine/import/import.h makes a graph of it.
 *
 * It mirrors TensorFlow's GraphDef, NodeDef, AttrValue and FunctionDef (graph.proto,
 * node_def.proto, attr_value.proto, function.proto).  All of it lives in one arena.  Names end with
 * a NUL, have none inside, and may be shared.
 *
 * Threads: immutable once filled.
 */

/*
 * A large tensor of few values: all elements after `values` repeat the last value, or are zero if
 * there are none.  Initializers of variables have this form, and signatures reach few of them, so
 * the elements are written out only when a graph reaches the tensor.
 */
typedef struct sp_repeated_values {
	sp_tensor values; /* of rank 1, fewer than `shape` has elements */
	sp_shape shape;
} sp_repeated_values;

typedef enum sp_attr_kind {
	SP_ATTR_NONE = 0, /* not understood; `text` says why, or is NULL */
	SP_ATTR_BYTES,
	SP_ATTR_INT,
	SP_ATTR_FLOAT,
	SP_ATTR_BOOL,
	SP_ATTR_TYPE,
	SP_ATTR_SHAPE,
	SP_ATTR_TENSOR,
	SP_ATTR_REPEATED,    /* a tensor that import writes out */
	SP_ATTR_FUNC,        /* a function's name */
	SP_ATTR_PLACEHOLDER, /* inside a function body: takes the caller's attribute */
	SP_ATTR_LIST,        /* any of the above; an empty list has element kind SP_ATTR_NONE */
} sp_attr_kind;

typedef struct sp_attr {
	const char *name;
	sp_attr_kind kind;
	sp_attr_kind element; /* of a list */
	size_t count;         /* of a list */
	union {
		sp_bytes bytes;
		int64_t i;
		float f;
		bool b;
		sp_dtype type;
		const sp_partial_shape *shape;
		const sp_tensor *tensor;
		const sp_repeated_values *repeated;
		const char *text; /* FUNC, PLACEHOLDER, NONE */
		/* lists, `count` long */
		const sp_bytes *bytes_list;
		const int64_t *i_list;
		const float *f_list;
		const bool *b_list;
		const sp_dtype *type_list;
		const sp_partial_shape *shape_list;
		const sp_tensor *tensor_list;
		const char *const *text_list;
	};
} sp_attr;

typedef struct sp_node_def {
	const char *name;
	const char *op;
	const char *const *inputs; /* "node", "node:1", "^node"; in a body "node:output_name:0" */
	size_t input_count;
	const sp_attr *attrs;
	size_t attr_count;
} sp_node_def;

typedef struct sp_arg_def {
	const char *name;
	sp_dtype dtype; /* SP_INVALID_DTYPE when an attribute of the function decides */
} sp_arg_def;

typedef struct sp_named_ref {
	const char *name; /* of the output */
	const char *ref;  /* "node:output_name:0" or an argument's name */
} sp_named_ref;

typedef struct sp_function_def {
	const char *name;
	const sp_arg_def *inputs;
	size_t input_count;
	const sp_arg_def *outputs;
	size_t output_count;
	const sp_node_def *nodes;
	size_t node_count;
	const sp_named_ref *returns;        /* one per output, in the order of `outputs` */
	const char *const *control_returns; /* node names */
	size_t control_return_count;

	/*
	 * The name of an interface that several functions implement, or NULL.  As TensorFlow does
	 * on a CPU, a call of one that is not for CPUs becomes a call of the first one that is.
	 */
	const char *implements;
	bool is_for_cpu;
	bool is_of_gradient; /* made for a gradient: it has other arguments or results */
} sp_function_def;

typedef struct sp_graph_def {
	const sp_node_def *nodes;
	size_t node_count;
	const sp_function_def *functions;
	size_t function_count;
} sp_graph_def;

/* The attribute of that name among `count` ones; NULL when there is none. */
const sp_attr *sp_attr_find(const sp_attr *attrs, size_t count, const char *name);

#endif
