#include "engine/graph/op.h"

#include <string.h>

#include "base/size.h"
#include "engine/ops/array/elements.h"
#include "engine/ops/ragged/ragged.h"

/*
 * RaggedGather: gathers whole rows of a ragged tensor.  The output's splits are those of the shape
 * of the indices, then those of the gathered rows, level by level; the selection from a level is a
 * list of ranges of its rows.
 */
typedef struct gather_state {
	size_t depth;   /* of the params' splits */
	size_t outputs; /* splits of the output */
} gather_state;

typedef struct range {
	int64_t start, end;
} range;

typedef struct picked {
	range *ranges; /* one per index */
	size_t count;
} picked;

static sp_status read_indices(const sp_call *call, const sp_splits *outer, picked *p)
{
	const gather_state *state = call->state;
	const sp_tensor *indices = call->in[state->depth + 1];

	p->count = indices->count;
	SP_CALL_ARRAY(p->ranges, call, p->count);
	for (size_t i = 0; i < p->count; i++) {
		int64_t row = sp_tensor_index(indices, i);

		if (row < 0 || (uint64_t)row >= outer->rows)
			return sp_call_invalid(call, "indices[%zu] = %lld is not in [0, %zu)", i,
					       (long long)row, outer->rows);
		p->ranges[i] = (range){row, row + 1};
	}
	return SP_OK;
}

static sp_status count_picked(const sp_call *call, const picked *p, int64_t *out)
{
	*out = 0;
	for (size_t i = 0; i < p->count; i++)
		if (!sp_i64_add(out, *out, p->ranges[i].end - p->ranges[i].start))
			return sp_call_invalid(call, "too many rows are gathered");
	return SP_OK;
}

/* Writes the splits for the indices' own dimensions. */
static sp_status write_shape_splits(const sp_call *call)
{
	const gather_state *state = call->state;
	const sp_shape *shape = &call->in[state->depth + 1]->shape;
	int64_t rows = 1;

	for (int d = 0; d + 1 < shape->rank; d++) {
		if (!sp_i64_mul(&rows, rows, shape->dims[d]))
			return sp_call_invalid(call, "the indices have too many rows");
		SP_TRY(sp_splits__create(call, (size_t)d, call->in[0]->dtype, (size_t)rows));
		for (int64_t row = 0; row < rows; row++)
			SP_TRY(sp_splits__append(call, (size_t)d, (size_t)row, shape->dims[d + 1]));
	}
	return SP_OK;
}

/* Output i becomes the splits of the picked rows of a level. */
static sp_status write_level(const sp_call *call, size_t i, const sp_splits *level, const picked *p)
{
	int64_t rows;
	size_t at = 0;

	SP_TRY(count_picked(call, p, &rows));
	SP_TRY(sp_splits__create(call, i, call->in[0]->dtype, (size_t)rows));
	for (size_t k = 0; k < p->count; k++)
		for (int64_t row = p->ranges[k].start; row < p->ranges[k].end; row++)
			SP_TRY(sp_splits__append(call, i, at++,
						 level->at[row + 1] - level->at[row]));
	return SP_OK;
}

static sp_status write_values(const sp_call *call, const picked *p)
{
	const gather_state *state = call->state;
	const sp_tensor *values = call->in[state->depth];
	sp_shape shape = values->shape;
	size_t row_size;
	char *to;

	SP_TRY(count_picked(call, p, &shape.dims[0]));
	SP_TRY(sp_call_output(call, state->outputs, values->dtype, &shape));
	if (call->out[state->outputs]->count == 0)
		return SP_OK;
	row_size = (size_t)sp_shape_product(&shape, 1, shape.rank) * sp_dtype_size(values->dtype);
	to = call->out[state->outputs]->data;
	for (size_t i = 0; i < p->count; i++) {
		size_t size = (size_t)(p->ranges[i].end - p->ranges[i].start) * row_size;

		if (size != 0)
			memcpy(to,
			       (const char *)values->data + (size_t)p->ranges[i].start * row_size,
			       size);
		to += size;
	}
	return SP_OK;
}

static sp_status run_gather(const sp_call *call)
{
	const gather_state *state = call->state;
	int index_rank = call->in[state->depth + 1]->shape.rank;
	sp_splits *levels;
	picked p;

	if (state->depth + (size_t)index_rank != state->outputs + 1)
		return sp_call_invalid(call, "indices of rank %d do not give %zu splits",
				       index_rank, state->outputs);
	SP_TRY(sp_splits__read_all(call, state->depth, false, &levels));
	SP_TRY(read_indices(call, &levels[0], &p));
	SP_TRY(write_shape_splits(call));
	for (size_t k = 0; k < state->depth; k++) {
		/* A scalar index selects one row and adds no splits. */
		if (k + (size_t)index_rank > 0)
			SP_TRY(write_level(call, k + (size_t)index_rank - 1, &levels[k], &p));
		for (size_t i = 0; i < p.count; i++)
			p.ranges[i] = (range){levels[k].at[p.ranges[i].start],
					      levels[k].at[p.ranges[i].end]};
	}
	return write_values(call, &p);
}

static sp_status prepare_gather(sp_prepare *prepare, sp_error *err)
{
	gather_state *state = sp_prepare_state(prepare, sizeof(*state));
	int64_t depth, outputs;

	SP_NEED_MEMORY(state, err, "RaggedGather");
	depth = (int64_t)prepare->in_count - 2;
	SP_TRY(sp_node_attr_int(prepare->node, "PARAMS_RAGGED_RANK", depth, &depth, err));
	SP_TRY(sp_node_attr_int(prepare->node, "OUTPUT_RAGGED_RANK", depth, &outputs, err));
	if (depth < 1 || (uint64_t)depth + 2 != prepare->in_count || outputs < 0 ||
	    outputs > depth + SP_MAX_RANK)
		return sp_error_set(err, SP_INVALID,
				    "RaggedGather of ranks %lld and %lld has %zu inputs",
				    (long long)depth, (long long)outputs, prepare->in_count);
	for (size_t i = 0; i < (size_t)depth; i++) {
		SP_TRY(sp_prepare_input_index(prepare, i, err));
		SP_TRY(sp_prepare_input_dtype(prepare, i, prepare->in_dtypes[0], err));
	}
	SP_TRY(sp_prepare_input_index(prepare, (size_t)depth + 1, err));
	*state = (gather_state){(size_t)depth, (size_t)outputs};
	SP_TRY(sp_prepare_outputs(prepare, state->outputs + 1, prepare->in_dtypes[0], err));
	prepare->out_dtypes[state->outputs] = prepare->in_dtypes[depth];
	return SP_OK;
}

SP_DEFINE_OP(RaggedGather, "output_nested_splits:OUTPUT_RAGGED_RANK output_dense_values", 0,
	     prepare_gather, run_gather);
