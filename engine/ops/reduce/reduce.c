#include "engine/ops/reduce/reduce.h"

typedef struct reduce_state {
	sp_reduce_fn *kernel, *empty;
	bool keep_dims;
} reduce_state;

sp_status sp_reduce__prepare(sp_prepare *prepare, const sp_reduction *reduction, sp_error *err)
{
	reduce_state *state = sp_prepare_state(prepare, sizeof(*state));
	sp_dtype dtype;

	SP_NEED_MEMORY(state, err, "an operator");
	SP_TRY(sp_prepare_types(prepare, "T index -> T", err));
	SP_TRY(sp_node_attr_bool(prepare->node, "keep_dims", false, &state->keep_dims, err));
	dtype = prepare->in_dtypes[0];
	state->kernel = reduction->kernels[dtype];
	state->empty = reduction->empty[dtype];
	return state->kernel != NULL ? SP_OK : sp_prepare_unsupported(prepare, dtype, err);
}

static sp_status read_axes(const sp_call *call, bool reduced[SP_MAX_RANK])
{
	const sp_tensor *axes = call->in[1];
	int axis;

	for (int i = 0; i < SP_MAX_RANK; i++)
		reduced[i] = false;
	for (size_t i = 0; i < axes->count; i++) {
		SP_TRY(sp_call_axis(call, sp_tensor_index(axes, i), call->in[0]->shape.rank,
				    &axis));
		if (reduced[axis])
			return sp_call_invalid(call, "axis %d is named twice", axis);
		reduced[axis] = true;
	}
	return SP_OK;
}

static sp_shape result_shape(const sp_shape *in, const bool *reduced, bool keep_dims)
{
	sp_shape out = {.rank = 0};

	for (int i = 0; i < in->rank; i++)
		if (!reduced[i])
			out.dims[out.rank++] = in->dims[i];
		else if (keep_dims)
			out.dims[out.rank++] = 1;
	return out;
}

static void add_dim(sp_reduce_walk *walk, size_t dim, size_t stride)
{
	walk->dims[walk->rank] = dim;
	walk->strides[walk->rank++] = stride;
}

/* Plans the loops over a shape without zeros; the walks have their innermost dimension first. */
static void plan_walks(sp_reduce_plan *plan, const sp_shape *shape, const bool *reduced)
{
	size_t dims[SP_MAX_RANK], stride = 1;
	bool is_reduced[SP_MAX_RANK];
	int rank = 0;

	for (int i = 0; i < shape->rank; i++) {
		if (shape->dims[i] == 1)
			continue;
		if (rank > 0 && is_reduced[rank - 1] == reduced[i]) {
			dims[rank - 1] *= (size_t)shape->dims[i];
			continue;
		}
		dims[rank] = (size_t)shape->dims[i];
		is_reduced[rank++] = reduced[i];
	}
	plan->last = rank == 0 ? 1 : dims[rank - 1];
	plan->last_is_reduced = rank == 0 || is_reduced[rank - 1];
	for (int i = rank - 1; i >= 0; i--) {
		if (i < rank - 1)
			add_dim(is_reduced[i] ? &plan->reduced : &plan->kept, dims[i], stride);
		stride *= dims[i];
	}
}

/* Reverses the order of dimensions. */
static void reverse(sp_reduce_walk *walk)
{
	for (int i = 0, j = walk->rank - 1; i < j; i++, j--) {
		size_t dim = walk->dims[i], stride = walk->strides[i];

		walk->dims[i] = walk->dims[j];
		walk->strides[i] = walk->strides[j];
		walk->dims[j] = dim;
		walk->strides[j] = stride;
	}
}

sp_status sp_reduce__run(const sp_call *call)
{
	const reduce_state *state = call->state;
	const sp_tensor *in = call->in[0];
	sp_reduce_plan plan = {.in = in->data};
	bool reduced[SP_MAX_RANK];
	sp_shape shape;

	SP_TRY(read_axes(call, reduced));
	shape = result_shape(&in->shape, reduced, state->keep_dims);
	SP_TRY(sp_call_output(call, 0, in->dtype, &shape));
	plan.out = call->out[0]->data;
	plan.out_count = call->out[0]->count;
	if (plan.out_count == 0)
		return SP_OK;
	if (in->count == 0) {
		state->empty(&plan);
		return SP_OK;
	}
	plan.reduced_count = in->count / plan.out_count;
	plan_walks(&plan, &in->shape, reduced);
	reverse(&plan.kept);
	reverse(&plan.reduced);
	state->kernel(&plan);
	return SP_OK;
}
