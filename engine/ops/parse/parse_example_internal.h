#ifndef SP_ENGINE_OPS_PARSE_EXAMPLE_INTERNAL_H
#define SP_ENGINE_OPS_PARSE_EXAMPLE_INTERNAL_H

#include "engine/graph/op.h"

/* Shared by the parsers of tf.Example: the requested features of a node. */

typedef enum sp_example_kind {
	SP_EXAMPLE_DENSE,
	SP_EXAMPLE_SPARSE,
	SP_EXAMPLE_RAGGED
} sp_example_kind;

typedef struct sp_example_column {
	sp_example_kind kind;
	sp_dtype dtype;
	/* Of a dense column. */
	bool is_variable; /* the first dimension varies by example */
	sp_shape shape;   /* of an example; its first dimension is 0 if it varies */
	size_t count;     /* elements of an example, or of one step along a variable dimension */
	size_t default_input; /* the input that holds the default */
	/* Of a ragged column. */
	sp_dtype split_dtype;
} sp_example_column;

typedef struct sp_example_columns {
	size_t sparse_count, dense_count, ragged_count;
	size_t column_count; /* sparse, dense, then ragged ones */
	sp_example_column *columns;
	bool one_name_each;     /* every key is an input of its own, from the third input on */
	size_t trailing_inputs; /* number of inputs after the defaults */
	const sp_attr *sparse_keys, *dense_keys; /* keys are attributes; else NULL */
} sp_example_columns;

/* Names of the attributes that describe the columns. */
typedef struct sp_example_attrs {
	const char *sparse_types, *dense_types, *dense_shapes, *ragged_types, *ragged_splits;
} sp_example_attrs;

/*
 * Reads the columns, whose counts are set, from the node's attributes.  The defaults of dense
 * columns are the inputs before the last `trailing_inputs`.
 */
SP_MUST_CHECK sp_status sp_example_columns__take(const sp_prepare *prepare,
						 sp_example_columns *columns,
						 const sp_example_attrs *attrs, sp_error *err);

/* Reads the attribute `name`, a count of columns, and checks it against a maximum. */
SP_MUST_CHECK sp_status sp_example_columns__count(const sp_prepare *prepare, const char *name,
						  size_t *out, sp_error *err);

/* The length of the list of element types in attribute `name`. */
SP_MUST_CHECK sp_status sp_example_columns__list_length(const sp_prepare *prepare, const char *name,
							size_t *out, sp_error *err);

/*
 * Writes the element types of the outputs that sp_example_batch_parse() sets; returns the position
 * of the next output.
 */
sp_dtype *sp_example_columns__outputs(const sp_example_columns *columns, sp_dtype *to);

/* The examples of one call. */
typedef struct sp_example_batch {
	const sp_call *call;
	const sp_tensor *serialized;
	const sp_tensor *names; /* of the examples, for errors; NULL or empty: none */
	bool is_single;         /* outputs have no batch dimension */
} sp_example_batch;

/*
 * call->state begins with an sp_example_columns, which describes the outputs to set: indices,
 * values and shapes of sparse features, values of dense ones, values and row splits of ragged ones.
 */
SP_MUST_CHECK sp_status sp_example_batch_parse(const sp_example_batch *batch);

#endif
