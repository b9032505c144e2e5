#include <string.h>

#include "base/size.h"
#include "engine/ops/array/array.h"
#include "engine/ops/array/strided_copy.h"

/*
 * Move blocks of pixels of [batch, rows, columns, channels] to channels or to the batch, and back:
 *
 *   SpaceToDepth, DepthToSpace        blocks to channels, channels to blocks
 *   SpaceToBatch, SpaceToBatchND      pad, then blocks to the batch
 *   BatchToSpace, BatchToSpaceND      the batch to blocks, then crop
 *
 * The ND operators take any number of spatial dimensions after the batch, and any number of other
 * dimensions after these.
 */
typedef struct block_state {
	int64_t block; /* side length; an input of the ND operators */
} block_state;

static sp_status read_block(sp_prepare *prepare, size_t inputs, sp_error *err)
{
	block_state *state = sp_prepare_state(prepare, sizeof(*state));
	sp_bytes format;

	if (state == NULL)
		return sp_error_set(err, SP_NO_MEMORY, "no memory for an operator");
	SP_TRY(sp_array__prepare(prepare, inputs, err));
	SP_TRY(sp_node_attr_int(prepare->node, "block_size", 0, &state->block, err));
	if (state->block < 2 || state->block > INT32_MAX)
		return sp_error_set(err, SP_INVALID, "block_size must be at least 2, not %lld",
				    (long long)state->block);
	SP_TRY(sp_node_attr_bytes(prepare->node, "data_format", "NHWC", &format, err));
	if (!sp_bytes_equal_text(format, "NHWC"))
		return sp_error_set(err, SP_UNSUPPORTED,
				    "%s with data_format %.*s is not supported",
				    prepare->node->op_name, (int)format.size, format.data);
	return SP_OK;
}

static sp_status prepare_depth(sp_prepare *prepare, sp_error *err)
{
	return read_block(prepare, 1, err);
}

static sp_status prepare_batch(sp_prepare *prepare, sp_error *err)
{
	SP_TRY(read_block(prepare, 2, err));
	return sp_prepare_input_index(prepare, 1, err);
}

static sp_status prepare_nd(sp_prepare *prepare, sp_error *err)
{
	SP_TRY(sp_array__prepare(prepare, 3, err));
	SP_TRY(sp_prepare_input_index(prepare, 1, err));
	return sp_prepare_input_index(prepare, 2, err);
}

/* ------------------------------------------------------------- space and depth */

/* Copies pixels, indexed [row of blocks, column of blocks, row, column], between both sides. */
static void copy_blocks(const sp_call *call, const sp_shape *space, int64_t block, bool to_depth)
{
	size_t size = sp_dtype_size(call->in[0]->dtype);
	int64_t channels = space->dims[3], columns = space->dims[2],
		pixel = channels * (int64_t)size;
	int64_t rows = space->dims[1] / block;
	sp_strided_copy box = {.rank = 0};
	int64_t deep = block * block * pixel; /* bytes of a pixel on the depth side */
	const int64_t dims[] = {space->dims[0] * rows, columns / block, block, block};
	const int64_t wide[] = {block * columns * pixel, block * pixel, columns * pixel, pixel};
	const int64_t thick[] = {columns / block * deep, deep, block * pixel, pixel};

	for (int d = 0; d < 4; d++)
		sp_strided_copy__add(&box, dims[d], to_depth ? thick[d] : wide[d],
				     to_depth ? wide[d] : thick[d]);
	sp_strided_copy__add(&box, channels, (int64_t)size, (int64_t)size);
	sp_strided_copy__run(&box, call->out[0]->data, call->in[0]->data, size);
}

static sp_status run_space_to_depth(const sp_call *call)
{
	int64_t block = ((const block_state *)call->state)->block;
	sp_shape shape = call->in[0]->shape;
	char text[SP_SHAPE_TEXT_SIZE];

	SP_TRY(sp_array__need_rank(call, 0, 4));
	if (shape.dims[1] % block != 0 || shape.dims[2] % block != 0)
		return sp_call_invalid(call, "shape %s has no whole blocks of %lld",
				       sp_shape_text(&shape, text), (long long)block);
	shape.dims[1] /= block;
	shape.dims[2] /= block;
	if (__builtin_mul_overflow(shape.dims[3], block * block, &shape.dims[3]))
		return sp_call_invalid(call, "the output is too large");
	SP_TRY(sp_call_output(call, 0, call->in[0]->dtype, &shape));
	if (call->out[0]->count != 0)
		copy_blocks(call, &call->in[0]->shape, block, true);
	return SP_OK;
}

static sp_status run_depth_to_space(const sp_call *call)
{
	int64_t block = ((const block_state *)call->state)->block;
	sp_shape shape = call->in[0]->shape;
	char text[SP_SHAPE_TEXT_SIZE];

	SP_TRY(sp_array__need_rank(call, 0, 4));
	if (shape.dims[3] % (block * block) != 0)
		return sp_call_invalid(call, "shape %s has no channels for blocks of %lld",
				       sp_shape_text(&shape, text), (long long)block);
	shape.dims[3] /= block * block;
	if (__builtin_mul_overflow(shape.dims[1], block, &shape.dims[1]) ||
	    __builtin_mul_overflow(shape.dims[2], block, &shape.dims[2]))
		return sp_call_invalid(call, "the output is too large");
	SP_TRY(sp_call_output(call, 0, call->in[0]->dtype, &shape));
	if (call->out[0]->count != 0)
		copy_blocks(call, &shape, block, false);
	return SP_OK;
}

/* ------------------------------------------------------------- space and batch */

typedef struct batch_plan {
	int rank;                      /* number of spatial dimensions */
	int64_t blocks[SP_MAX_RANK];   /* sides of a block */
	int64_t edges[SP_MAX_RANK][2]; /* padding or crops */
	int64_t volume;                /* of a block */
} batch_plan;

static sp_status read_edges(const sp_call *call, size_t input, batch_plan *plan)
{
	const sp_tensor *edges = call->in[input];

	if (edges->shape.rank != 2 || edges->shape.dims[0] != plan->rank ||
	    edges->shape.dims[1] != 2)
		return sp_call_invalid(call, "input %zu must be of shape [%d,2]", input,
				       plan->rank);
	for (size_t i = 0; i < edges->count; i++) {
		int64_t edge = sp_tensor_index(edges, i);

		if (edge < 0 || edge > INT64_MAX / 4)
			return sp_call_invalid(call, "input %zu holds %lld", input,
					       (long long)edge);
		plan->edges[i / 2][i % 2] = edge;
	}
	return SP_OK;
}

/* From the inputs of an ND operator, else from the attribute. */
static sp_status read_plan(const sp_call *call, batch_plan *plan)
{
	const block_state *state = call->state;
	bool is_nd = call->in_count == 3;

	*plan = (batch_plan){.rank = 2, .volume = 1};
	if (is_nd) {
		SP_TRY(sp_array__need_rank(call, 1, 1));
		if (call->in[1]->count + 1 > (size_t)call->in[0]->shape.rank)
			return sp_call_invalid(call, "%zu blocks for an input of rank %d",
					       call->in[1]->count, call->in[0]->shape.rank);
		plan->rank = (int)call->in[1]->count;
	} else {
		SP_TRY(sp_array__need_rank(call, 0, 4));
	}
	for (int d = 0; d < plan->rank; d++) {
		plan->blocks[d] = is_nd ? sp_tensor_index(call->in[1], (size_t)d) : state->block;
		if (plan->blocks[d] < 1 ||
		    __builtin_mul_overflow(plan->volume, plan->blocks[d], &plan->volume))
			return sp_call_invalid(call, "block %d is %lld", d,
					       (long long)plan->blocks[d]);
	}
	return read_edges(call, is_nd ? 2 : 1, plan);
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
	sp_strided_copy box = {.rank = 0};

	sp_strided_copy__strides(&space->shape, size, space_strides);
	sp_strided_copy__strides(&batches->shape, size, batch_strides);
	batch_at = place * space->shape.dims[0] * batch_strides[0];
	sp_strided_copy__add(&box, space->shape.dims[0],
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
			&box, last - first,
			to_batches ? batch_strides[d + 1] : block * space_strides[d + 1],
			to_batches ? block * space_strides[d + 1] : batch_strides[d + 1]);
	}
	sp_strided_copy__add(&box,
			     sp_shape_product(&space->shape, plan->rank + 1, space->shape.rank),
			     (int64_t)size, (int64_t)size);
	sp_strided_copy__run(&box, (char *)call->out[0]->data + (to_batches ? batch_at : space_at),
			     (const char *)call->in[0]->data + (to_batches ? space_at : batch_at),
			     size);
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

const sp_op sp_op_SpaceToDepth = {.name = "SpaceToDepth",
				  .flags = SP_OP_MOVES,
				  .prepare = prepare_depth,
				  .run = run_space_to_depth};
const sp_op sp_op_DepthToSpace = {.name = "DepthToSpace",
				  .flags = SP_OP_MOVES,
				  .prepare = prepare_depth,
				  .run = run_depth_to_space};
const sp_op sp_op_SpaceToBatch = {
	.name = "SpaceToBatch", .prepare = prepare_batch, .run = run_space_to_batch};
const sp_op sp_op_BatchToSpace = {
	.name = "BatchToSpace", .prepare = prepare_batch, .run = run_batch_to_space};
const sp_op sp_op_SpaceToBatchND = {
	.name = "SpaceToBatchND", .prepare = prepare_nd, .run = run_space_to_batch};
const sp_op sp_op_BatchToSpaceND = {
	.name = "BatchToSpaceND", .prepare = prepare_nd, .run = run_batch_to_space};
