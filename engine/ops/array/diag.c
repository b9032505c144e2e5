#include <string.h>

#include "engine/ops/array/array.h"
#include "engine/ops/array/strided_copy.h"

/*
 * Diag: a tensor of shape [dims...] becomes [dims..., dims...], itself on the
 * diagonal and zeros elsewhere.  DiagPart: the reverse.
 */

static sp_status run_diag(const sp_call *call)
{
	const sp_tensor *in = call->in[0], *out = call->out[0];
	int64_t size = (int64_t)sp_dtype_size(in->dtype), n = (int64_t)in->count;
	sp_strided_copy plan = {.rank = 1, .dims = {n}, .to = {(n + 1) * size}, .from = {size}};
	sp_shape shape = {.rank = 2 * in->shape.rank};
	int rank = in->shape.rank;

	if (rank == 0)
		return sp_call_invalid(call, "the input is a scalar");
	SP_TRY(sp_array__rank(call, shape.rank));
	for (int d = 0; d < rank; d++)
		shape.dims[d] = shape.dims[rank + d] = in->shape.dims[d];
	SP_TRY(sp_call_output(call, 0, in->dtype, &shape));
	memset(out->data, 0, out->count * (size_t)size);
	sp_strided_copy__run(&plan, out->data, in->data, (size_t)size);
	return SP_OK;
}

static sp_status run_diag_part(const sp_call *call)
{
	const sp_tensor *in = call->in[0];
	int64_t size = (int64_t)sp_dtype_size(in->dtype), n;
	char text[SP_SHAPE_TEXT_SIZE];
	sp_shape shape = {.rank = in->shape.rank / 2};
	sp_strided_copy plan = {.rank = 0};
	bool fits = in->shape.rank % 2 == 0;

	for (int d = 0; fits && d < shape.rank; d++) {
		shape.dims[d] = in->shape.dims[d];
		fits = in->shape.dims[d] == in->shape.dims[shape.rank + d];
	}
	if (!fits)
		return sp_call_invalid(call, "a tensor of shape %s has no diagonal",
				       sp_shape_text(&in->shape, text));
	SP_TRY(sp_call_output(call, 0, in->dtype, &shape));
	n = (int64_t)call->out[0]->count;
	sp_strided_copy__add(&plan, n, size, (n + 1) * size);
	sp_strided_copy__run(&plan, call->out[0]->data, in->data, (size_t)size);
	return SP_OK;
}

SP_DEFINE_TYPED_OP(Diag, NULL, 0, "P -> P", run_diag);
SP_DEFINE_TYPED_OP(DiagPart, NULL, 0, "P -> P", run_diag_part);
