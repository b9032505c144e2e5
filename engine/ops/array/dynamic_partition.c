#include <string.h>

#include "engine/ops/array/array.h"

/* DynamicPartition: row i of `data` goes to output partitions[i], in the order of the input. */

static sp_status prepare(sp_prepare *prepare, sp_error *err)
{
	size_t num;

	SP_TRY(sp_prepare_types(prepare, "E int32", err));
	SP_TRY(sp_array__output_count(prepare, "num_partitions", &num, err));
	return sp_prepare_outputs(prepare, num, prepare->in_dtypes[0], err);
}

/* How many rows each output gets, into `sizes`. */
static sp_status count_rows(const sp_call *call, int64_t *sizes)
{
	const sp_tensor *partitions = call->in[1];
	const int32_t *to = sp_tensor_i32(partitions);

	memset(sizes, 0, call->out_count * sizeof(*sizes));
	for (size_t i = 0; i < partitions->count; i++) {
		if (to[i] < 0 || (size_t)to[i] >= call->out_count)
			return sp_call_invalid(call, "partitions[%zu] is %d, not in [0, %zu)", i,
					       to[i], call->out_count);
		sizes[to[i]]++;
	}
	return SP_OK;
}

static sp_status make_outputs(const sp_call *call, const int64_t *sizes)
{
	const sp_shape *data = &call->in[0]->shape;
	int lead = call->in[1]->shape.rank;
	sp_shape shape = {.rank = data->rank - lead + 1};

	memcpy(shape.dims + 1, data->dims + lead,
	       (size_t)(data->rank - lead) * sizeof(shape.dims[0]));
	for (size_t p = 0; p < call->out_count; p++) {
		shape.dims[0] = sizes[p];
		SP_TRY(sp_call_output(call, p, call->in[0]->dtype, &shape));
	}
	return SP_OK;
}

static sp_status check_shapes(const sp_call *call)
{
	const sp_shape *data = &call->in[0]->shape, *partitions = &call->in[1]->shape;
	char text[SP_SHAPE_TEXT_SIZE], other_text[SP_SHAPE_TEXT_SIZE];
	bool fits = partitions->rank <= data->rank;

	for (int d = 0; fits && d < partitions->rank; d++)
		fits = partitions->dims[d] == data->dims[d];
	if (!fits)
		return sp_call_invalid(call, "data of %s does not start with %s of partitions",
				       sp_shape_text(data, text),
				       sp_shape_text(partitions, other_text));
	/* A scalar partition index adds a dimension. */
	return sp_array__rank(call, data->rank - partitions->rank + 1);
}

static sp_status run(const sp_call *call)
{
	const sp_tensor *data = call->in[0], *partitions = call->in[1];
	const int32_t *to = sp_tensor_i32(partitions);
	int64_t *sizes;
	size_t row;

	SP_CALL_ARRAY(sizes, call, call->out_count);
	SP_TRY(check_shapes(call));
	SP_TRY(count_rows(call, sizes));
	SP_TRY(make_outputs(call, sizes));
	if (data->count == 0)
		return SP_OK;
	row = (size_t)sp_shape_product(&data->shape, partitions->shape.rank, data->shape.rank) *
	      sp_dtype_size(data->dtype);
	memset(sizes, 0, call->out_count * sizeof(*sizes));
	for (size_t i = 0; i < partitions->count; i++)
		memcpy((char *)call->out[to[i]]->data + (size_t)sizes[to[i]]++ * row,
		       (const char *)data->data + i * row, row);
	return SP_OK;
}

SP_DEFINE_OP(DynamicPartition, "outputs:num_partitions", SP_OP_MOVES, prepare, run);
