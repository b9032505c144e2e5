#include <string.h>

#include "engine/ops/array/array.h"
#include "engine/ops/nn/pooling.h"
#include "engine/tensor/resource.h"

/*
 * DeepRec's fused lookups in dense tables, the part that combines rows:
 *
 *   FusedEmbeddingLocalSparseLookUp      a sparse tensor of ids and one table
 *   FusedSafeEmbeddingLookupSparseLocal  the same; negative ids are skipped
 *   FusedEmbeddingSparsePostLookUp       rows gathered from the partitions of a table
 *   FusedEmbeddingSparsePostLookUpV2     the same, of distinct ids
 *
 * The output is [batch, dim], pooled (engine/ops/nn/pooling.h).  batch is the product of all
 * dimensions of the sparse tensor but the last; the row of an id is the first number of its index.
 *
 * max_norm scales rows of the table down to that length, but not in FusedEmbeddingSparsePostLookUp
 * and FusedSafeEmbeddingLookupSparseLocal, whose DeepRec kernels for CPUs ignore it.  The latter
 * also computes sum for sqrtn.
 */
typedef struct fused_state {
	sp_pool_combiner combiner;
	float max_norm;
	size_t parts;
	bool zero_empty_rows; /* those that the flags mark */
	bool has_weights;
} fused_state;

static sp_status prepare_any(sp_prepare *prepare, const char *fallback, fused_state **out,
			     sp_error *err)
{
	fused_state *state = sp_prepare_state(prepare, sizeof(*state));

	*out = state;
	SP_NEED_MEMORY(state, err, "an operator");
	SP_TRY(sp_node_attr_float(prepare->node, "max_norm", -1, &state->max_norm, err));
	return sp_pool__read_combiner(prepare, fallback, &state->combiner, err);
}

/* ------------------------------------------------------------ what all read */

/* The product of all dimensions in `input` but the last. */
static sp_status read_batch(const sp_call *call, size_t input, int64_t *out)
{
	const sp_tensor *shape = call->in[input];

	SP_TRY(sp_call_need_rank(call, input, 1));
	if (shape->count < 2)
		return sp_call_invalid(call, "a dense shape of %zu dimensions", shape->count);
	*out = 1;
	for (size_t d = 0; d + 1 < shape->count; d++) {
		int64_t dim = sp_tensor_index(shape, d);

		if (dim < 0 || __builtin_mul_overflow(*out, dim, out))
			return sp_call_invalid(call, "dimension %zu of the dense shape is %lld", d,
					       (long long)dim);
	}
	return SP_OK;
}

/* The first column of a matrix of `count` indices. */
typedef struct row_indices {
	const sp_tensor *matrix;
	size_t columns;
	int64_t batch;
} row_indices;

static sp_status read_indices(const sp_call *call, size_t input, size_t count, int64_t batch,
			      row_indices *out)
{
	const sp_tensor *matrix = call->in[input];

	SP_TRY(sp_call_need_rank(call, input, 2));
	if (matrix->shape.dims[0] != (int64_t)count || (count != 0 && matrix->shape.dims[1] < 1))
		return sp_call_invalid(call, "indices of [%lld,%lld] for %zu values",
				       (long long)matrix->shape.dims[0],
				       (long long)matrix->shape.dims[1], count);
	*out = (row_indices){matrix, (size_t)matrix->shape.dims[1], batch};
	return SP_OK;
}

static sp_status row_of(const sp_call *call, const row_indices *indices, size_t k, size_t *out)
{
	int64_t row = sp_tensor_index(indices->matrix, k * indices->columns);

	if (row < 0 || row >= indices->batch)
		return sp_call_invalid(call, "index %zu is of row %lld, not below %lld", k,
				       (long long)row, (long long)indices->batch);
	*out = (size_t)row;
	return SP_OK;
}

/* Creates outputs 0 and 1: the rows, and the number of ids in each. */
static sp_status make_pool(const sp_call *call, int64_t batch, int64_t dim, sp_pool *pool)
{
	const fused_state *state = call->state;

	SP_TRY(sp_call_output_matrix(call, 0, SP_FLOAT, batch, dim));
	SP_TRY(sp_call_output_vector(call, 1, SP_INT32, batch));
	sp_pool__init(pool, call->out[0]->data, call->out[1]->data, (size_t)batch, (size_t)dim);
	pool->max_norm = state->max_norm;
	return SP_OK;
}

/* Adds the row of `table` (a matrix) of each id; with `prune`, negative ids are skipped. */
static sp_status add_ids(const sp_call *call, const sp_tensor *ids, const sp_tensor *table,
			 const row_indices *indices, bool prune, sp_pool *pool)
{
	for (size_t k = 0; k < ids->count; k++) {
		int64_t id = sp_tensor_index(ids, k);
		size_t row;

		if (id < 0 && prune)
			continue;
		if (id < 0 || id >= table->shape.dims[0])
			return sp_call_invalid(call, "id %lld is not a row of the table, of %lld",
					       (long long)id, (long long)table->shape.dims[0]);
		SP_TRY(row_of(call, indices, k, &row));
		sp_pool__add(pool, row, (const float *)table->data + (size_t)id * pool->dim, 1);
	}
	return SP_OK;
}

/* ------------------------------------------------------------- a whole table */

static sp_status prepare_local(sp_prepare *prepare, sp_error *err)
{
	fused_state *state;

	SP_TRY(prepare_any(prepare, "", &state, err));
	return sp_prepare_types(prepare, "int64 int64 int64 float -> float int32", err);
}

/* Converts counts per row to the offset of each row's first value. */
static void counts_to_offsets(int32_t *counts, size_t n)
{
	int32_t sum = 0;

	for (size_t i = 0; i < n; i++) {
		int32_t count = counts[i];

		counts[i] = sum;
		sum += count;
	}
}

static sp_status run_local(const sp_call *call)
{
	const fused_state *state = call->state;
	const sp_tensor *ids = call->in[0], *table = call->in[3];
	row_indices indices;
	int64_t batch;
	sp_pool pool;

	SP_TRY(sp_call_need_rank(call, 0, 1));
	SP_TRY(sp_call_need_rank(call, 3, 2));
	SP_TRY(read_batch(call, 2, &batch));
	SP_TRY(read_indices(call, 1, ids->count, batch, &indices));
	SP_TRY(make_pool(call, batch, table->shape.dims[1], &pool));
	SP_TRY(add_ids(call, ids, table, &indices, false, &pool));
	sp_pool__finish(&pool, state->combiner);
	counts_to_offsets(pool.counts, pool.count);
	return SP_OK;
}

/* Checks what is known about the variable of input 0 when the graph is prepared. */
static sp_status check_variable(const sp_prepare *prepare, sp_error *err)
{
	sp_resource *variable;

	if (prepare->in_values[0] == NULL)
		return SP_OK;
	SP_TRY(sp_resources_get(prepare->resources, prepare->in_values[0], SP_RESOURCE_VARIABLE,
				&variable, err));
	if (variable->dtype != SP_FLOAT)
		return sp_prepare_unsupported(prepare, variable->dtype, err);
	return SP_OK;
}

/* weight, id_input, dense_shape, indice, weight_input; the last one is not read. */
static sp_status prepare_safe(sp_prepare *prepare, sp_error *err)
{
	fused_state *state;

	SP_TRY(prepare_any(prepare, "mean", &state, err));
	if (state->combiner == SP_POOL_SQRTN)
		state->combiner = SP_POOL_SUM;
	SP_TRY(sp_prepare_types(prepare, "T index index index U -> float", err));
	if (prepare->in_dtypes[0] == SP_RESOURCE)
		SP_TRY(check_variable(prepare, err));
	else
		SP_TRY(sp_prepare_input_dtype(prepare, 0, SP_FLOAT, err));
	return SP_OK;
}

/* The table in input 0, or the value of the variable behind that handle. */
static sp_status find_weights(const sp_call *call, const sp_tensor **out)
{
	sp_resource *variable;

	*out = call->in[0];
	if (call->in[0]->dtype == SP_RESOURCE) {
		SP_TRY(sp_resources_get(call->resources, call->in[0], SP_RESOURCE_VARIABLE,
					&variable, call->err));
		*out = &variable->variable;
	}
	if ((*out)->dtype != SP_FLOAT || (*out)->shape.rank != 2)
		return sp_call_invalid(call, "the weights are not a matrix of floats");
	return SP_OK;
}

static sp_status run_safe(const sp_call *call)
{
	const fused_state *state = call->state;
	const sp_tensor *ids = call->in[1], *table;
	row_indices indices;
	int32_t *counts;
	int64_t batch;
	sp_pool pool;

	SP_TRY(find_weights(call, &table));
	SP_TRY(read_batch(call, 2, &batch));
	SP_TRY(read_indices(call, 3, ids->count, batch, &indices));
	SP_TRY(sp_call_output_matrix(call, 0, SP_FLOAT, batch, table->shape.dims[1]));
	SP_CALL_ARRAY(counts, call, (size_t)batch);
	sp_pool__init(&pool, call->out[0]->data, counts, (size_t)batch,
		      (size_t)table->shape.dims[1]);
	SP_TRY(add_ids(call, ids, table, &indices, true, &pool));
	sp_pool__finish(&pool, state->combiner);
	return SP_OK;
}

/* ----------------------------------------------------------- gathered parts */

static sp_status read_parts(const sp_prepare *prepare, fused_state *state, sp_error *err)
{
	int64_t parts;

	SP_TRY(sp_node_attr_int(prepare->node, "num_partitions", 1, &parts, err));
	if (parts < 1 || (uint64_t)parts > prepare->in_count)
		return sp_error_set(err, SP_INVALID,
				    "attribute 'num_partitions' is %lld for %zu inputs",
				    (long long)parts, prepare->in_count);
	state->parts = (size_t)parts;
	return SP_OK;
}

/* emb_shards, partitioned_indices, sp_dense_shape, flags, partitioned_values (not read). */
static sp_status prepare_post(sp_prepare *prepare, sp_error *err)
{
	fused_state *state;
	int64_t default_id;

	SP_TRY(prepare_any(prepare, "", &state, err));
	state->max_norm = -1;
	SP_TRY(read_parts(prepare, state, err));
	SP_TRY(sp_node_attr_int(prepare->node, "default_id", -1, &default_id, err));
	state->zero_empty_rows = default_id >= 0;
	SP_TRY(sp_prepare_inputs(prepare, 3 * state->parts + 2, err));
	for (size_t i = 0; i < state->parts; i++) {
		SP_TRY(sp_prepare_input_dtype(prepare, i, SP_FLOAT, err));
		SP_TRY(sp_prepare_input_dtype(prepare, state->parts + i, SP_INT64, err));
	}
	SP_TRY(sp_prepare_input_dtype(prepare, 2 * state->parts, SP_INT64, err));
	SP_TRY(sp_prepare_input_dtype(prepare, 2 * state->parts + 1, SP_INT32, err));
	SP_TRY(sp_prepare_outputs(prepare, 2, SP_INT32, err));
	prepare->out_dtypes[0] = SP_FLOAT;
	return SP_OK;
}

/* Checks that every partition is a matrix with the width of the first. */
static sp_status check_parts(const sp_call *call)
{
	const fused_state *state = call->state;

	for (size_t i = 0; i < state->parts; i++) {
		SP_TRY(sp_call_need_rank(call, i, 2));
		if (call->in[i]->shape.dims[1] != call->in[0]->shape.dims[1])
			return sp_call_invalid(call, "rows of %lld in part %zu, of %lld in part 0",
					       (long long)call->in[i]->shape.dims[1], i,
					       (long long)call->in[0]->shape.dims[1]);
	}
	return SP_OK;
}

/* Clears the rows marked by the leading flags in `input`; with `counts`, their counts become 0. */
static sp_status zero_flagged(const sp_call *call, size_t input, bool counts, sp_pool *pool)
{
	const sp_tensor *flags = call->in[input];

	if (!((const fused_state *)call->state)->zero_empty_rows)
		return SP_OK;
	if (flags->count < pool->count)
		return sp_call_invalid(call, "%zu flags for %zu rows", flags->count, pool->count);
	for (size_t row = 0; row < pool->count; row++) {
		if (flags->dtype == SP_BOOL ? !sp_tensor_bool(flags)[row]
					    : sp_tensor_i32(flags)[row] != 1)
			continue;
		memset(pool->rows + row * pool->dim, 0, pool->dim * sizeof(float));
		if (counts)
			pool->counts[row] = 0;
	}
	return SP_OK;
}

static sp_status add_part(const sp_call *call, size_t i, int64_t batch, sp_pool *pool)
{
	const fused_state *state = call->state;
	const sp_tensor *part = call->in[i];
	row_indices indices;
	size_t row;

	SP_TRY(read_indices(call, state->parts + i, (size_t)part->shape.dims[0], batch, &indices));
	for (size_t k = 0; k < (size_t)part->shape.dims[0]; k++) {
		SP_TRY(row_of(call, &indices, k, &row));
		sp_pool__add(pool, row, (const float *)part->data + k * pool->dim, 1);
	}
	return SP_OK;
}

static sp_status run_post(const sp_call *call)
{
	const fused_state *state = call->state;
	int64_t batch;
	sp_pool pool;

	SP_TRY(check_parts(call));
	SP_TRY(read_batch(call, 2 * state->parts, &batch));
	SP_TRY(make_pool(call, batch, call->in[0]->shape.dims[1], &pool));
	for (size_t i = 0; i < state->parts; i++)
		SP_TRY(add_part(call, i, batch, &pool));
	sp_pool__finish(&pool, state->combiner);
	return zero_flagged(call, 2 * state->parts + 1, false, &pool);
}

/* The later releases have weights, with use_sparse_weights one for each index. */
static sp_status check_weights(const sp_prepare *prepare, size_t input, fused_state *state,
			       sp_error *err)
{
	if (prepare->in_count <= input)
		return SP_OK;
	SP_TRY(sp_node_attr_bool(prepare->node, "use_sparse_weights", false, &state->has_weights,
				 err));
	return sp_prepare_input_dtype(prepare, input, SP_FLOAT, err);
}

/*
 * emb_shards, partition_permutation, sp_dense_shape, indices_before_unique,
 * flags, unique_idxs, and in later releases sp_weights_values.
 */
static sp_status prepare_post_v2(sp_prepare *prepare, sp_error *err)
{
	fused_state *state;
	int64_t default_id;
	bool fill;
	size_t n;

	SP_TRY(prepare_any(prepare, "", &state, err));
	SP_TRY(read_parts(prepare, state, err));
	n = state->parts;
	SP_TRY(sp_node_attr_int(prepare->node, "default_id", -1, &default_id, err));
	SP_TRY(sp_node_attr_bool(prepare->node, "fill_empty_row", false, &fill, err));
	state->zero_empty_rows = fill && default_id < 0;
	SP_TRY(sp_prepare_inputs(prepare, prepare->in_count == n + 6 ? n + 6 : n + 5, err));
	for (size_t i = 0; i < n; i++)
		SP_TRY(sp_prepare_input_dtype(prepare, i, SP_FLOAT, err));
	SP_TRY(sp_prepare_input_dtype(prepare, n, SP_INT32, err));
	SP_TRY(sp_prepare_input_dtype(prepare, n + 1, SP_INT64, err));
	SP_TRY(sp_prepare_input_dtype(prepare, n + 2, SP_INT64, err));
	if (prepare->in_dtypes[n + 3] != SP_BOOL)
		SP_TRY(sp_prepare_input_dtype(prepare, n + 3, SP_INT32, err));
	SP_TRY(sp_prepare_input_dtype(prepare, n + 4, SP_INT32, err));
	SP_TRY(check_weights(prepare, n + 5, state, err));
	SP_TRY(sp_prepare_outputs(prepare, 3, SP_INT32, err));
	prepare->out_dtypes[0] = SP_FLOAT;
	prepare->out_dtypes[2] = SP_UINT64;
	return SP_OK;
}

/* Finds the gathered row of distinct id `id` by its (partition, row) in the permutation. */
static sp_status find_row(const sp_call *call, int64_t id, const float **out)
{
	const fused_state *state = call->state;
	const sp_tensor *permutation = call->in[state->parts], *shard;
	int64_t part = 0, row = id;

	if (state->parts > 1) {
		if (id < 0 || id >= permutation->shape.dims[0])
			return sp_call_invalid(call,
					       "the permutation has no row for distinct id %lld",
					       (long long)id);
		part = sp_tensor_i32(permutation)[2 * id];
		row = sp_tensor_i32(permutation)[2 * id + 1];
	}
	if (part < 0 || (size_t)part >= state->parts)
		return sp_call_invalid(call, "part %lld of %zu", (long long)part, state->parts);
	shard = call->in[part];
	if (row < 0 || row >= shard->shape.dims[0])
		return sp_call_invalid(call, "row %lld of part %lld, which has %lld",
				       (long long)row, (long long)part,
				       (long long)shard->shape.dims[0]);
	*out = (const float *)shard->data + row * shard->shape.dims[1];
	return SP_OK;
}

static sp_status add_distinct(const sp_call *call, const row_indices *indices, sp_pool *pool)
{
	const fused_state *state = call->state;
	const sp_tensor *ids = call->in[state->parts + 4];
	const float *weights = NULL, *from = NULL;
	size_t row;

	if (state->has_weights) {
		const sp_tensor *given = call->in[state->parts + 5];

		if (given->count != ids->count)
			return sp_call_invalid(call, "%zu weights for %zu ids", given->count,
					       ids->count);
		weights = given->data;
	}
	for (size_t k = 0; k < ids->count; k++) {
		SP_TRY(row_of(call, indices, k, &row));
		SP_TRY(find_row(call, sp_tensor_i32(ids)[k], &from));
		sp_pool__add(pool, row, from, weights != NULL ? weights[k] : 1);
	}
	return SP_OK;
}

static sp_status run_post_v2(const sp_call *call)
{
	const fused_state *state = call->state;
	size_t n = state->parts;
	row_indices indices;
	int64_t batch;
	sp_pool pool;

	SP_TRY(check_parts(call));
	if (n > 1 && (call->in[n]->shape.rank != 2 || call->in[n]->shape.dims[1] != 2))
		return sp_call_invalid(call, "the permutation is not a matrix of two columns");
	SP_TRY(read_batch(call, n + 1, &batch));
	SP_TRY(read_indices(call, n + 2, call->in[n + 4]->count, batch, &indices));
	SP_TRY(make_pool(call, batch, call->in[0]->shape.dims[1], &pool));
	/* Row addresses, which only a gradient reads. */
	SP_TRY(sp_call_output_vector(call, 2, SP_UINT64, (int64_t)n));
	memset(call->out[2]->data, 0, n * sizeof(uint64_t));
	SP_TRY(add_distinct(call, &indices, &pool));
	sp_pool__finish(&pool, state->combiner);
	return zero_flagged(call, n + 3, true, &pool);
}

SP_DEFINE_OP(FusedEmbeddingLocalSparseLookUp, "emb_vectors sp_values_offset", 0, prepare_local,
	     run_local);
SP_DEFINE_OP(FusedSafeEmbeddingLookupSparseLocal, "embedded", SP_OP_READS_VARIABLE, prepare_safe,
	     run_safe);
SP_DEFINE_OP(FusedEmbeddingSparsePostLookUp, "emb_vectors feature_nums", 0, prepare_post, run_post);
SP_DEFINE_OP(FusedEmbeddingSparsePostLookUpV2, "emb_vectors feature_nums emb_shard_ptrs", 0,
	     prepare_post_v2, run_post_v2);
