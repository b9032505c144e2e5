#include <string.h>

#include "base/size.h"
#include "engine/ops/array/array.h"
#include "engine/ops/array/strided_copy.h"

/*
 * SpaceToBatchND pads a tensor [batch, spatial dimensions..., other dimensions...] and moves each
 * position within the blocks of the spatial dimensions to the batch; BatchToSpaceND moves them back
 * and crops.
 */

typedef struct batch_plan {
	int rank;                      /* number of spatial dimensions */
	int64_t blocks[SP_MAX_RANK];   /* sides of a block */
	int64_t edges[SP_MAX_RANK][2]; /* padding or crops */
	int64_t volume;                /* of a block */
} batch_plan;

static sp_status read_edges(const sp_call *call, batch_plan *plan)
{
	const sp_tensor *edges = call->in[2];

	if (edges->shape.rank != 2 || edges->shape.dims[0] != plan->rank ||
	    edges->shape.dims[1] != 2)
		return sp_call_invalid(call, "input 2 must be of shape [%d,2]", plan->rank);
	for (size_t i = 0; i < edges->count; i++) {
		int64_t edge = sp_tensor_index(edges, i);

		if (edge < 0 || edge > INT64_MAX / 4)
			return sp_call_invalid(call, "input 2 holds %lld", (long long)edge);
		plan->edges[i / 2][i % 2] = edge;
	}
	return SP_OK;
}

static sp_status read_plan(const sp_call *call, batch_plan *plan)
{
	*plan = (batch_plan){.volume = 1};
	SP_TRY(sp_call_need_rank(call, 1, 1));
	if (call->in[1]->count + 1 > (size_t)call->in[0]->shape.rank)
		return sp_call_invalid(call, "%zu blocks for an input of rank %d",
				       call->in[1]->count, call->in[0]->shape.rank);
	plan->rank = (int)call->in[1]->count;
	for (int d = 0; d < plan->rank; d++) {
		plan->blocks[d] = sp_tensor_index(call->in[1], (size_t)d);
		if (plan->blocks[d] < 1 ||
		    __builtin_mul_overflow(plan->volume, plan->blocks[d], &plan->volume))
			return sp_call_invalid(call, "block %d is %lld", d,
					       (long long)plan->blocks[d]);
	}
	return read_edges(call, plan);
}

/*
 * Copies all pixels that have position `place` within their block between `space` and the batch;
 * pixels in the padding or the crop are skipped.
 */
static void copy_place(const sp_call *call, const batch_plan *plan, int64_t place, bool to_batches)
{
	const sp_tensor *space = to_batches ? call->in[0] : call->out[0];
	const sp_tensor *batches = to_batches ? call->out[0] : call->in[0];
	size_t size = sp_dtype_size(space->dtype);
	int64_t space_strides[SP_MAX_RANK], batch_strides[SP_MAX_RANK];
	int64_t space_at = 0, batch_at, rest = place, offsets[SP_MAX_RANK] = {0};
	sp_strided_copy strided = {.rank = 0};

	sp_strided_copy__strides(&space->shape, size, space_strides);
	sp_strided_copy__strides(&batches->shape, size, batch_strides);
	batch_at = place * space->shape.dims[0] * batch_strides[0];
	sp_strided_copy__add(&strided, space->shape.dims[0],
			     to_batches ? batch_strides[0] : space_strides[0],
			     to_batches ? space_strides[0] : batch_strides[0]);
	/* The last dimension of the block runs fastest. */
	for (int d = plan->rank - 1; d >= 0; d--) {
		offsets[d] = rest % plan->blocks[d];
		rest /= plan->blocks[d];
	}
	for (int d = 0; d < plan->rank; d++) {
		/* Index i of the batch is index i * block + offset - edge of the space. */
		int64_t block = plan->blocks[d], dim = space->shape.dims[d + 1];
		int64_t shift = offsets[d] - plan->edges[d][0];
		int64_t first = shift < 0 ? (-shift + block - 1) / block : 0;
		int64_t last = dim > shift ? (dim - shift + block - 1) / block : 0;
		int64_t most = batches->shape.dims[d + 1];

		last = last < most ? last : most;
		if (first >= last)
			return;
		batch_at += first * batch_strides[d + 1];
		space_at += (first * block + shift) * space_strides[d + 1];
		sp_strided_copy__add(
			&strided, last - first,
			to_batches ? batch_strides[d + 1] : block * space_strides[d + 1],
			to_batches ? block * space_strides[d + 1] : batch_strides[d + 1]);
	}
	sp_strided_copy__add(&strided,
			     sp_shape_product(&space->shape, plan->rank + 1, space->shape.rank),
			     (int64_t)size, (int64_t)size);
	sp_strided_copy__run(
		&strided, (char *)call->out[0]->data + (to_batches ? batch_at : space_at),
		(const char *)call->in[0]->data + (to_batches ? space_at : batch_at), size);
}

static sp_status run_space_to_batch(const sp_call *call)
{
	sp_shape shape = call->in[0]->shape;
	batch_plan plan;

	SP_TRY(read_plan(call, &plan));
	if (__builtin_mul_overflow(shape.dims[0], plan.volume, &shape.dims[0]))
		return sp_call_invalid(call, "the output is too large");
	for (int d = 0; d < plan.rank; d++) {
		int64_t padded;

		if (!sp_i64_add(&padded, shape.dims[d + 1], plan.edges[d][0]) ||
		    !sp_i64_add(&padded, padded, plan.edges[d][1]) || padded % plan.blocks[d] != 0)
			return sp_call_invalid(call, "dimension %d has no whole blocks of %lld",
					       d + 1, (long long)plan.blocks[d]);
		shape.dims[d + 1] = padded / plan.blocks[d];
	}
	SP_TRY(sp_call_output(call, 0, call->in[0]->dtype, &shape));
	if (call->out[0]->count == 0)
		return SP_OK;
	memset(call->out[0]->data, 0, call->out[0]->count * sp_dtype_size(call->in[0]->dtype));
	if (call->in[0]->count != 0)
		for (int64_t place = 0; place < plan.volume; place++)
			copy_place(call, &plan, place, true);
	return SP_OK;
}

static sp_status run_batch_to_space(const sp_call *call)
{
	sp_shape shape = call->in[0]->shape;
	batch_plan plan;

	SP_TRY(read_plan(call, &plan));
	if (shape.dims[0] % plan.volume != 0)
		return sp_call_invalid(call, "a batch of %lld has no whole blocks of %lld",
				       (long long)shape.dims[0], (long long)plan.volume);
	shape.dims[0] /= plan.volume;
	for (int d = 0; d < plan.rank; d++) {
		int64_t whole;

		if (__builtin_mul_overflow(shape.dims[d + 1], plan.blocks[d], &whole) ||
		    whole < plan.edges[d][0] + plan.edges[d][1])
			return sp_call_invalid(call, "crops of %lld and %lld from dimension %d",
					       (long long)plan.edges[d][0],
					       (long long)plan.edges[d][1], d + 1);
		shape.dims[d + 1] = whole - plan.edges[d][0] - plan.edges[d][1];
	}
	SP_TRY(sp_call_output(call, 0, call->in[0]->dtype, &shape));
	if (call->out[0]->count == 0)
		return SP_OK;
	for (int64_t place = 0; place < plan.volume; place++)
		copy_place(call, &plan, place, false);
	return SP_OK;
}

SP_DEFINE_TYPED_OP(SpaceToBatchND, NULL, 0, "E index index -> E", run_space_to_batch);
SP_DEFINE_TYPED_OP(BatchToSpaceND, NULL, 0, "E index index -> E", run_batch_to_space);
