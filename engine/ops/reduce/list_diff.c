#include <string.h>

#include "engine/ops/array/array.h"
#include "engine/ops/reduce/row_set.h"

/* ListDiff: the elements of vector x that are not in vector y, in order, and their indices in x. */

static sp_status prepare(sp_prepare *prepare, sp_error *err)
{
	sp_dtype idx;

	SP_TRY(sp_prepare_types(prepare, "T T", err));
	if (!sp_rows__comparable(prepare->in_dtypes[0]))
		return sp_prepare_unsupported(prepare, prepare->in_dtypes[0], err);
	SP_TRY(sp_array__index_type(prepare, "out_idx", SP_INT32, &idx, err));
	SP_TRY(sp_prepare_outputs(prepare, 2, prepare->in_dtypes[0], err));
	prepare->out_dtypes[1] = idx;
	prepare->state = &prepare->out_dtypes[1];
	return SP_OK;
}

static sp_rows rows_of(const sp_tensor *vector)
{
	return (sp_rows){.dtype = vector->dtype,
			 .data = vector->data,
			 .outer = 1,
			 .n = vector->count,
			 .inner = 1};
}

/* Finds the positions in x of the elements that are not in y. */
static sp_status find_missing(const sp_call *call, uint32_t *missing, size_t *count)
{
	sp_rows x = rows_of(call->in[0]), y = rows_of(call->in[1]);
	uint32_t *scratch;
	sp_row_set set;

	SP_CALL_BYTES(scratch, call, y.n, 2 * sizeof(*scratch));
	SP_TRY(sp_row_set__init(&set, call, &y));
	sp_row_set__number(&set, scratch, scratch + y.n);
	*count = 0;
	for (size_t i = 0; i < x.n; i++)
		if (!sp_row_set__has(&set, &x, i))
			missing[(*count)++] = (uint32_t)i;
	return SP_OK;
}

static sp_status run(const sp_call *call)
{
	const sp_tensor *x = call->in[0];
	size_t size = sp_dtype_size(x->dtype), count = 0;
	uint32_t *missing;
	sp_shape shape;

	SP_TRY(sp_call_need_rank(call, 0, 1));
	SP_TRY(sp_call_need_rank(call, 1, 1));
	if (x->count > INT32_MAX)
		return sp_call_invalid(call, "%zu elements are too many", x->count);
	SP_CALL_ARRAY(missing, call, x->count);
	SP_TRY(find_missing(call, missing, &count));
	shape = sp_shape_vector((int64_t)count);
	SP_TRY(sp_call_output(call, 0, x->dtype, &shape));
	SP_TRY(sp_call_output(call, 1, *(const sp_dtype *)call->state, &shape));
	for (size_t i = 0; i < count; i++) {
		memcpy((char *)call->out[0]->data + i * size,
		       (const char *)x->data + missing[i] * size, size);
		sp_array__put_index(call->out[1], i, missing[i]);
	}
	return SP_OK;
}

SP_DEFINE_OP(ListDiff, "out idx", 0, prepare, run);
