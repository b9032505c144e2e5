#ifndef SP_ENGINE_OPS_PARSE_EXAMPLE_INTERNAL_H
#define SP_ENGINE_OPS_PARSE_EXAMPLE_INTERNAL_H

#include "engine/graph/op.h"

/*
 * What the parsers of tf.Example share: a description of the features, made when the node is
 * prepared.
 */

typedef enum sp_example_kind {
	SP_EXAMPLE_DENSE,
	SP_EXAMPLE_SPARSE,
	SP_EXAMPLE_RAGGED
} sp_example_kind;

typedef struct sp_example_column {
	sp_example_kind kind;
	sp_dtype dtype;
	/* of a dense one */
	bool is_variable; /* the first dimension is each example's own */
	sp_shape shape;   /* of an example; its first dimension is 0 where that is variable */
	size_t count;     /* elements of an example, or of one step along a variable dimension */
	size_t default_input; /* the input that holds the default */
	/* of a ragged one */
	sp_dtype split_dtype;
} sp_example_column;

typedef struct sp_example_columns {
	size_t sparse_count, dense_count, ragged_count;
	size_t column_count; /* all of them, in this order */
	sp_example_column *columns;
	bool one_name_each; /* every key is an input of its own, from the third on */
	size_t behind;      /* inputs behind the defaults */
	const sp_attr *sparse_keys, *dense_keys; /* keys are attributes; else NULL */
} sp_example_columns;

/* Which attributes describe the columns. */
typedef struct sp_example_attrs {
	const char *sparse_types, *dense_types, *dense_shapes, *ragged_types, *ragged_splits;
} sp_example_attrs;

/*
 * The columns, whose counts are set, from the node's attributes; the defaults of
 * dense ones are the last inputs but `behind`.
 */
SP_MUST_CHECK sp_status sp_example_columns__take(const sp_prepare *prepare,
						 sp_example_columns *columns,
						 const sp_example_attrs *attrs, sp_error *err);

/* Reads the attribute `name`, a count of columns: 0 to a sane maximum. */
SP_MUST_CHECK sp_status sp_example_columns__count(const sp_prepare *prepare, const char *name,
						  size_t *out, sp_error *err);

/* How many element types the attribute `name` lists. */
SP_MUST_CHECK sp_status sp_example_columns__list_length(const sp_prepare *prepare, const char *name,
							size_t *out, sp_error *err);

/*
 * The element types of the outputs that sp_example_batch_parse() sets; returns where
 * those of other outputs begin.
 */
sp_dtype *sp_example_columns__outputs(const sp_example_columns *columns, sp_dtype *to);

/* One call's examples. */
typedef struct sp_example_batch {
	const sp_call *call;
	const sp_tensor *serialized;
	const sp_tensor *names; /* of the examples, for errors; NULL or empty: none */
	bool is_single;         /* outputs have no batch dimension */
} sp_example_batch;

/*
 * call->state begins with an sp_example_columns.  Sets as many outputs of the call as that
 * describes: indices, values and shapes of the sparse
 * features, values of the dense ones, values and row splits of the ragged ones.
 */
SP_MUST_CHECK sp_status sp_example_batch_parse(const sp_example_batch *batch);

#endif
