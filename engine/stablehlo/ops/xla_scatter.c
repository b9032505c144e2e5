#include <string.h>

#include "engine/ops/array/array.h"
#include "engine/stablehlo/ops/index_windows.h"
#include "engine/stablehlo/ops/scalar_code.h"

/*
 * XlaScatter: `operand` with `updates` combined into its windows
 * (engine/stablehlo/ops/index_windows.h).
 *
 *     operand, scatter_indices int32 or int64, updates
 *
 * An element becomes f(element, update), with the attribute `update_computation` as f.  Windows are
 * processed in order.  A window that does not lie within the operand is skipped.
 */
typedef struct scatter_state {
	sp_window_dims dims;
	const sp_scalar_code *join;
	bool replaces; /* f(x, update) = update */
} scatter_state;

static sp_status prepare_scatter(sp_prepare *prepare, sp_error *err)
{
	scatter_state *state = sp_prepare_state(prepare, sizeof(*state));
	sp_dtype dtypes[2];
	sp_scalar_types types = {dtypes, 2, dtypes, 1};

	SP_NEED_MEMORY(state, err, "an operator");
	SP_TRY(sp_window_dims__read(&state->dims, prepare, err));
	SP_TRY(sp_prepare_types(prepare, "E index E -> E", err));
	dtypes[0] = dtypes[1] = prepare->in_dtypes[0];
	SP_TRY(sp_scalar_code__make(&state->join, prepare, "update_computation", &types, err));
	state->replaces = sp_scalar_code__is_argument(state->join, 1);
	return SP_OK;
}

/* The window sizes follow from the shape of the updates. */
static sp_status find_sizes(const sp_call *call, int64_t sizes[SP_MAX_RANK])
{
	const scatter_state *state = call->state;
	const sp_window_dims *dims = &state->dims;
	const sp_shape *operand = &call->in[0]->shape, *updates = &call->in[2]->shape;
	int next = 0;

	SP_TRY(sp_dim_list__check_sorted(&dims->window, call, updates->rank,
					 "the dimensions of windows"));
	for (int d = 0; d < operand->rank; d++) {
		bool left_out = sp_dim_list__has(&dims->dropped, d) ||
				sp_dim_list__has(&dims->batching, d);

		if (!left_out && next == dims->window.count)
			return sp_call_invalid(call, "windows of %d dimensions for rank %d", next,
					       operand->rank);
		sizes[d] = left_out ? 1 : updates->dims[dims->window.dims[next++]];
	}
	return SP_OK;
}

/* Scratch for windows that are not contiguous. */
typedef struct scratch {
	char *window, *update;
	sp_strided_copy gather, scatter, take; /* operand to window and back, updates to update */
	size_t count;
} scratch;

static sp_status make_scratch(const sp_call *call, const sp_windows *w, scratch *s, size_t size)
{
	int64_t stride = (int64_t)size;

	s->count = 1;
	for (int i = 0; i < w->strided.rank; i++)
		s->count *= (size_t)w->strided.dims[i];
	SP_CALL_BYTES(s->window, call, s->count, size);
	SP_CALL_BYTES(s->update, call, s->count, size);
	s->gather = s->scatter = s->take = w->strided;
	for (int i = w->strided.rank - 1; i >= 0; i--) {
		s->gather.to[i] = s->take.to[i] = s->scatter.from[i] = stride;
		s->take.from[i] = w->strided.to[i];
		s->scatter.to[i] = w->strided.from[i];
		stride *= w->strided.dims[i];
	}
	return SP_OK;
}

static void join_window(const sp_scalar_run *run, const scratch *s, char *to, const char *from,
			size_t size)
{
	void *results[] = {s->window};

	sp_strided_copy__run(&s->take, s->update, from, size);
	sp_strided_copy__run(&s->gather, s->window, to, size);
	sp_scalar_run__apply(run, (const void *[]){s->window, s->update}, results, s->count);
	sp_strided_copy__run(&s->scatter, to, s->window, size);
}

static sp_status join_windows(const sp_call *call, sp_windows *w, size_t size)
{
	const scatter_state *state = call->state;
	char *out = call->out[0]->data;
	const char *updates = call->in[2]->data;
	sp_scalar_run run;
	scratch s;

	SP_TRY(sp_scalar_run__start(&run, call, state->join));
	if (!w->is_row)
		SP_TRY(make_scratch(call, w, &s, size));
	do {
		const char *from = updates + w->part_at;
		int64_t at;

		if (!sp_windows__inside(w, &at))
			continue;
		if (!w->is_row)
			join_window(&run, &s, out + at, from, size);
		else if (state->replaces)
			memcpy(out + at, from, w->row_size);
		else
			sp_scalar_run__apply(&run, (const void *[]){out + at, from},
					     (void *[]){out + at}, w->row_size / size);
	} while (sp_windows__next(w));
	return SP_OK;
}

static sp_status run_scatter(const sp_call *call)
{
	const scatter_state *state = call->state;
	const sp_tensor *in = call->in[0], *updates = call->in[2];
	size_t size = sp_dtype_size(in->dtype);
	char a[SP_SHAPE_TEXT_SIZE], b[SP_SHAPE_TEXT_SIZE];
	int64_t sizes[SP_MAX_RANK];
	sp_windows w;

	if (in->count == 0) { /* no window fits */
		sp_array__pass(call, 0, 0);
		return SP_OK;
	}
	SP_TRY(find_sizes(call, sizes));
	SP_TRY(sp_windows__plan(&w, call, &state->dims, &in->shape, call->in[1], sizes));
	if (!sp_shape_equal(&w.parts, &updates->shape))
		return sp_call_invalid(call, "updates are %s, not %s",
				       sp_shape_text(&updates->shape, a),
				       sp_shape_text(&w.parts, b));
	SP_TRY(sp_array__take_over(call, in->data == updates->data));
	if (updates->count == 0)
		return SP_OK;
	sp_windows__start(&w, &state->dims, &in->shape, sizes, size);
	return join_windows(call, &w, size);
}

SP_DEFINE_OP(XlaScatter, NULL, 0, prepare_scatter, run_scatter);
