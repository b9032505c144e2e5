#include "engine/stablehlo/ops/strided_window.h"

/* Far above what a request can hold; sums and products of two values below it cannot overflow. */
static const int64_t LIMIT = (int64_t)1 << 30;

sp_status sp_strided_window__plan(sp_strided_window *w, const sp_call *call, int d, int64_t dim,
				  int64_t *count)
{
	int64_t span, places;

	if (w->size < 1 || w->stride < 1 || w->dilation < 1 || w->window_dilation < 1)
		return sp_call_invalid(call,
				       "dimension %d has a window of %lld, stride %lld, dilations "
				       "%lld and %lld",
				       d, (long long)w->size, (long long)w->stride,
				       (long long)w->dilation, (long long)w->window_dilation);
	if (dim > LIMIT || w->size > LIMIT || w->stride > LIMIT || w->dilation > LIMIT ||
	    w->window_dilation > LIMIT || w->low > LIMIT || w->low < -LIMIT || w->high > LIMIT ||
	    w->high < -LIMIT)
		return sp_call_invalid(call, "the window of dimension %d is too large", d);
	w->spread = dim == 0 ? 0 : (dim - 1) * w->dilation + 1;
	span = (w->size - 1) * w->window_dilation + 1;
	places = w->spread + w->low + w->high;
	if (places < 0)
		return sp_call_invalid(call, "dimension %d of %lld is padded by %lld and %lld", d,
				       (long long)dim, (long long)w->low, (long long)w->high);
	*count = places < span ? 0 : (places - span) / w->stride + 1;
	return SP_OK;
}
