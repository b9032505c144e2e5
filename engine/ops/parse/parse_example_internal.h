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
	const sp_attr *sparse_keys, *dense_keys; /* keys are attributes; else NULL */
	size_t first_key;                        /* the first input with keys, */
	bool one_key_each;                       /* each of which has one, or those of a kind */
} sp_example_columns;

/* Names of the attributes that describe the columns. */
typedef struct sp_example_attrs {
	const char *sparse_types, *dense_types, *dense_shapes, *ragged_types, *ragged_splits;
} sp_example_attrs;

/* Reads the columns, whose counts are set, from the node's attributes. */
SP_MUST_CHECK sp_status sp_example_columns__take(const sp_prepare *prepare,
						 sp_example_columns *columns,
						 const sp_example_attrs *attrs, sp_error *err);

/* The last inputs become the defaults of the dense columns. */
SP_MUST_CHECK sp_status sp_example_columns__take_defaults(const sp_prepare *prepare,
							  sp_example_columns *columns,
							  sp_error *err);

/* Reads the keys of sparse and dense columns from attributes. */
SP_MUST_CHECK sp_status sp_example_columns__take_keys(const sp_prepare *prepare,
						      sp_example_columns *columns,
						      const char *sparse_keys,
						      const char *dense_keys, sp_error *err);

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

/*
 * A hash table from keys to columns: open addressing, at least half of the slots are free.
 */
typedef struct sp_example_keys {
	sp_bytes *keys;  /* [column_count] */
	uint32_t *slots; /* column + 1; 0 is free */
	size_t mask;
	const uint64_t *secret;
} sp_example_keys;

/* Reads the keys of the columns; SP_INVALID when two are equal. */
SP_MUST_CHECK sp_status sp_example_keys__read(const sp_call *call,
					      const sp_example_columns *columns,
					      sp_example_keys *out);

/* The slot of the column with that key, or a free one. */
uint32_t *sp_example_keys__find(const sp_example_keys *keys, sp_bytes key);

/*
 * Parses the examples of input 0, a vector, or a scalar: then outputs have no batch dimension.
 * `names` are those of the examples, for errors; NULL or empty: none.
 *
 * call->state begins with an sp_example_columns, which describes the outputs to set: indices,
 * values and shapes of sparse features, values of dense ones, values and row splits of ragged ones.
 */
SP_MUST_CHECK sp_status sp_example_batch_parse(const sp_call *call, const sp_tensor *names);

#endif
