#include <string.h>

#include "engine/stablehlo/ops/index_windows.h"

/*
 * XlaGather: gathers windows of `operand` at vectors of indices
 * (engine/stablehlo/ops/index_windows.h).
 *
 *     operand, start_indices int32 or int64, slice_sizes of the same type
 *
 * Starts are clamped so that the windows fit.  A contiguous window, such as a row of a table, is
 * copied at once.
 */
static sp_status prepare_gather(sp_prepare *prepare, sp_error *err)
{
	sp_window_dims *dims = sp_prepare_state(prepare, sizeof(*dims));

	SP_NEED_MEMORY(dims, err, "an operator");
	SP_TRY(sp_window_dims__read(dims, prepare, err));
	return sp_prepare_types(prepare, "E index index -> E", err);
}

/* Windows are prefetched a few steps ahead: they are at random addresses of a large table. */
static void copy_rows(sp_windows *w, char *to, const char *from)
{
	enum { AHEAD = 8 };
	int64_t ats[AHEAD], parts[AHEAD];
	bool more = true;

	while (more) {
		int n = 0;

		while (n < AHEAD && more) {
			parts[n] = w->part_at;
			ats[n] = sp_windows__clamped(w);
			__builtin_prefetch(from + ats[n++]);
			more = sp_windows__next(w);
		}
		for (int i = 0; i < n; i++)
			memcpy(to + parts[i], from + ats[i], w->row_size);
	}
}

static sp_status run_gather(const sp_call *call)
{
	const sp_tensor *in = call->in[0];
	size_t size = sp_dtype_size(in->dtype);
	int64_t sizes[SP_MAX_RANK];
	sp_windows w;

	SP_TRY(sp_call_need_rank(call, 2, 1));
	if (call->in[2]->count != (size_t)in->shape.rank)
		return sp_call_invalid(call, "%zu slice sizes for rank %d", call->in[2]->count,
				       in->shape.rank);
	for (int d = 0; d < in->shape.rank; d++)
		sizes[d] = sp_tensor_index(call->in[2], (size_t)d);
	SP_TRY(sp_windows__plan(&w, call, call->state, &in->shape, call->in[1], sizes));
	SP_TRY(sp_call_output(call, 0, in->dtype, &w.parts));
	if (call->out[0]->count == 0)
		return SP_OK;
	sp_windows__start(&w, call->state, &in->shape, sizes, size);
	if (w.is_row) {
		copy_rows(&w, call->out[0]->data, in->data);
		return SP_OK;
	}
	do
		sp_strided_copy__run(&w.strided, (char *)call->out[0]->data + w.part_at,
				     (const char *)in->data + sp_windows__clamped(&w), size);
	while (sp_windows__next(&w));
	return SP_OK;
}

SP_DEFINE_OP(XlaGather, NULL, 0, prepare_gather, run_gather);
