/*
 * EmbeddingColumns: the embeddings of many feature columns (engine/passes/fuse_columns.h).
 *
 * The node's `columns` (engine/ops/embedding/column_spec.h) are in the order of the inputs; output
 * i is the rows of column i, float32.
 *
 * Numerics: rows of EmbeddingVariables are combined as storage/table/table.h has it, rows of dense
 * weights as engine/ops/embedding/embedding_columns.h has it.
 *
 * Source: what safe_embedding_lookup_sparse of TensorFlow 1.15 and 2.15 writes
 * into a graph, operator by operator.
 */
#include "engine/ops/embedding/embedding_columns.h"

#include "engine/ops/embedding/embedding.h"

typedef struct columns_state {
	const sp_column_spec *specs;
	size_t *first; /* [count] a column's first input */
	size_t count;
} columns_state;

/* ---------------------------------------------------------------- prepare */

static sp_status check_source(const sp_prepare *prepare, const sp_column_spec *spec, size_t first,
			      sp_error *err)
{
	switch (spec->source) {
	case SP_COLUMN_SPARSE:
		SP_TRY(sp_prepare_input_dtype(prepare, first + 1, SP_INT64, err));
		SP_TRY(sp_prepare_input_index(prepare, first + 2, err));
		SP_TRY(sp_prepare_input_dtype(prepare, first + 3, SP_INT64, err));
		return spec->weighted ? sp_prepare_input_dtype(prepare, first + 4, SP_FLOAT, err)
				      : SP_OK;
	case SP_COLUMN_DENSE:
		return sp_prepare_input_index(prepare, first + 1, err);
	case SP_COLUMN_TEXTS:
		return sp_prepare_input_dtype(prepare, first + 1, SP_STRING, err);
	case SP_COLUMN_BUCKETS:
		return sp_prepare_input_dtype(prepare, first + 1, SP_INT32, err);
	}
	return sp_error_set(err, SP_INTERNAL, "a column of unknown kind");
}

static sp_status prepare_columns(sp_prepare *prepare, sp_error *err)
{
	columns_state *state = sp_prepare_state(prepare, sizeof(*state));
	const sp_embedding_columns *columns = prepare->node->columns;
	size_t first = 0;

	SP_NEED_MEMORY(state, err, "columns");
	if (columns == NULL)
		return sp_error_set(err, SP_INVALID, "only fusion makes this operator");
	state->specs = columns->specs;
	state->count = columns->count;
	state->first = sp_arena_array(prepare->arena, state->count, sizeof(*state->first));
	SP_NEED_MEMORY(state->first, err, "columns");
	for (size_t i = 0; i < state->count; i++) {
		const sp_column_spec *spec = &state->specs[i];

		state->first[i] = first;
		SP_TRY(sp_prepare_input_dtype(prepare, first,
					      spec->is_table ? SP_RESOURCE : SP_FLOAT, err));
		SP_TRY(check_source(prepare, spec, first, err));
		first += sp_column_input_count(spec);
	}
	SP_TRY(sp_prepare_inputs(prepare, first, err));
	return sp_prepare_outputs(prepare, state->count, SP_FLOAT, err);
}

/* -------------------------------------------------------------------- run */

/* The table of a column, or its weights, and the shape of its output. */
static sp_status take_output(const sp_call *call, size_t i, const sp_column_spec *spec,
			     const sp_column_keys *keys, const sp_shape *row)
{
	char text[SP_SHAPE_TEXT_SIZE];
	sp_shape shape = keys->lead;

	if (!spec->keeps_shape)
		shape = sp_shape_vector((int64_t)keys->row_count);
	if (shape.rank + row->rank > SP_MAX_RANK)
		return sp_call_invalid(call, "rows of '%s' have too many dimensions", spec->name);
	for (int d = 0; d < row->rank; d++)
		shape.dims[shape.rank++] = row->dims[d];
	if (spec->width == 0)
		return sp_call_output(call, i, SP_FLOAT, &shape);
	SP_TRY(sp_call_output_matrix(call, i, SP_FLOAT, shape.dims[0], spec->width));
	if (sp_shape_product(&shape, 0, shape.rank) == (int64_t)call->out[i]->count)
		return SP_OK;
	return sp_call_invalid(call, "rows of '%s' of shape %s do not fit a width of %lld",
			       spec->name, sp_shape_text(&shape, text), (long long)spec->width);
}

static sp_pooling pooling_of(const sp_column_spec *spec, const sp_column_keys *keys)
{
	return (sp_pooling){.combiner = spec->combiner,
			    .zero_divisor_is_zero = spec->zero_divisor_is_zero,
			    .segments = keys->segments,
			    .weights = keys->weights,
			    .segment_count = keys->row_count};
}

/* Prepares the lookup in the table of the EmbeddingVariable with handle `input`. */
static sp_status ask_table(const sp_call *call, size_t i, const sp_column_spec *spec,
			   const sp_column_keys *keys, size_t input, sp_lookup *lookup,
			   sp_pooling *pooling)
{
	sp_resource *resource;
	sp_shape row;

	SP_TRY(sp_embedding__find(call, input, &resource));
	SP_TRY(sp_embedding__check_keys(resource, keys->dtype, call->err));
	row = sp_shape_vector((int64_t)sp_table_dim(resource->table));
	SP_TRY(take_output(call, i, spec, keys, &row));
	*pooling = pooling_of(spec, keys);
	*lookup = (sp_lookup){.table = resource->table,
			      .keys = keys->keys,
			      .count = keys->count,
			      .pooling = keys->one_each ? NULL : pooling,
			      .rows = call->out[i]->data,
			      .stride = sp_table_dim(resource->table)};
	return SP_OK;
}

/* Combines rows of ordinary weights. */
static sp_status combine_weights(const sp_call *call, size_t i, const sp_column_spec *spec,
				 const sp_column_keys *keys, const sp_tensor *table)
{
	int64_t rows = table->shape.rank > 0 ? table->shape.dims[0] : 0;
	sp_shape row = {.rank = table->shape.rank > 0 ? table->shape.rank - 1 : 0};
	sp_pooling pooling = pooling_of(spec, keys);

	for (int d = 0; d < row.rank; d++)
		row.dims[d] = table->shape.dims[d + 1];
	for (size_t k = 0; k < keys->count; k++)
		if (keys->keys[k] < 0 || keys->keys[k] >= rows)
			return sp_call_invalid(
				call, "'%s': indices[%zu] = %lld is not in [0, %lld)", spec->name,
				k, (long long)keys->keys[k], (long long)rows);
	SP_TRY(take_output(call, i, spec, keys, &row));
	sp_column_combine(call->out[i]->data, (size_t)sp_shape_product(&row, 0, row.rank),
			  table->data, keys->keys, keys->count, keys->one_each ? NULL : &pooling);
	return SP_OK;
}

static sp_status run_columns(const sp_call *call)
{
	const columns_state *state = call->state;
	sp_lookup *lookups = sp_call_bytes(call, state->count, sizeof(*lookups));
	sp_pooling *poolings = sp_call_bytes(call, state->count, sizeof(*poolings));
	size_t asked = 0;

	if (lookups == NULL || poolings == NULL)
		return sp_call_no_memory(call);
	for (size_t i = 0; i < state->count; i++) {
		const sp_column_spec *spec = &state->specs[i];
		const sp_tensor *const *in = call->in + state->first[i];
		sp_column_keys keys;

		SP_TRY(sp_column_read_keys(call, spec, in, &keys));
		if (!spec->is_table) {
			SP_TRY(combine_weights(call, i, spec, &keys, in[0]));
			continue;
		}
		SP_TRY(ask_table(call, i, spec, &keys, state->first[i], &lookups[asked],
				 &poolings[asked]));
		asked++;
	}
	return asked != 0 ? sp_embedding__look_up(call, lookups, asked) : SP_OK;
}

SP_DEFINE_OP(EmbeddingColumns, NULL, SP_OP_READS_VARIABLE, prepare_columns, run_columns);
