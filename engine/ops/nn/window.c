#include "engine/ops/nn/window.h"

#include <string.h>

#include "base/size.h"
#include "engine/ops/array/array.h"

/* The largest number in these attributes: sums and products of two fit int64_t. */
enum { LARGEST = 1 << 30 };

static sp_status read_explicit(sp_window *window, const sp_prepare *prepare, sp_error *err)
{
	const sp_attr *list;

	SP_TRY(sp_node_attr_list(prepare->node, "explicit_paddings", SP_ATTR_INT, &list, err));
	if (list->count != 8)
		return sp_error_set(err, SP_INVALID, "explicit_paddings has %zu numbers, not 8",
				    list->count);
	for (size_t i = 0; i < 8; i++)
		if (list->i_list[i] < 0 || list->i_list[i] > LARGEST)
			return sp_error_set(err, SP_INVALID, "explicit_paddings has %lld",
					    (long long)list->i_list[i]);
	if (list->i_list[0] != 0 || list->i_list[1] != 0 || list->i_list[6] != 0 ||
	    list->i_list[7] != 0)
		return sp_error_set(err, SP_INVALID,
				    "explicit_paddings of batch and channels must be 0");
	for (size_t axis = 0; axis < SP_WINDOW_AXES; axis++) {
		window->before[axis] = list->i_list[2 * axis + 2];
		window->after[axis] = list->i_list[2 * axis + 3];
	}
	return SP_OK;
}

sp_status sp_window__read_list(const sp_prepare *prepare, const char *name,
			       int64_t out[SP_WINDOW_AXES], sp_error *err)
{
	const sp_attr *list;

	SP_TRY(sp_node_attr_list(prepare->node, name, SP_ATTR_INT, &list, err));
	if (list->count != 4)
		return sp_error_set(err, SP_INVALID, "attribute '%s' has %zu numbers, not 4", name,
				    list->count);
	for (size_t i = 0; i < 4; i++)
		if (list->i_list[i] < 1 || list->i_list[i] > LARGEST)
			return sp_error_set(err, SP_INVALID, "%s has %lld", name,
					    (long long)list->i_list[i]);
	if (list->i_list[0] != 1 || list->i_list[3] != 1)
		return sp_error_set(err, SP_UNSUPPORTED,
				    "%s of %lld over batch and %lld over channels is not supported",
				    name, (long long)list->i_list[0], (long long)list->i_list[3]);
	memcpy(out, list->i_list + 1, SP_WINDOW_AXES * sizeof(*out));
	return SP_OK;
}

sp_status sp_window__read(sp_window *window, const sp_prepare *prepare, sp_error *err)
{
	sp_bytes padding, format;

	SP_TRY(sp_window__read_list(prepare, "strides", window->strides, err));
	for (size_t axis = 0; axis < SP_WINDOW_AXES; axis++)
		window->dilations[axis] = 1;
	if (sp_node_attr(prepare->node, "dilations") != NULL)
		SP_TRY(sp_window__read_list(prepare, "dilations", window->dilations, err));
	SP_TRY(sp_node_attr_bytes(prepare->node, "data_format", "NHWC", &format, err));
	if (!sp_bytes_equal_text(format, "NHWC"))
		return sp_error_set(err, SP_UNSUPPORTED,
				    "%s with data_format %.*s is not supported",
				    prepare->node->op_name, (int)format.size, format.data);
	SP_TRY(sp_node_attr_bytes(prepare->node, "padding", "", &padding, err));
	if (sp_bytes_equal_text(padding, "VALID")) {
		window->padding = SP_PADDING_VALID;
	} else if (sp_bytes_equal_text(padding, "SAME")) {
		window->padding = SP_PADDING_SAME;
	} else if (sp_bytes_equal_text(padding, "EXPLICIT")) {
		window->padding = SP_PADDING_EXPLICIT;
		return read_explicit(window, prepare, err);
	} else {
		return sp_error_set(err, SP_INVALID,
				    "padding must be SAME, VALID or EXPLICIT, not '%.*s'",
				    (int)padding.size, padding.data);
	}
	return SP_OK;
}

sp_status sp_window__read_filtered(sp_window *window, sp_prepare *prepare, sp_error *err)
{
	SP_TRY(sp_prepare_types(prepare, "T T", err));
	return sp_window__read(window, prepare, err);
}

static sp_status plan_axis(const sp_window *window, const sp_call *call, int axis, int64_t in,
			   int64_t size, sp_window_axis *out)
{
	int64_t stride = window->strides[axis], dilation = window->dilations[axis];
	int64_t reach, room, needed;

	*out = (sp_window_axis){.in = in, .size = size, .stride = stride, .dilation = dilation};
	/* Sizes from the request are bounded before they are multiplied. */
	if (in > INT64_MAX / 4 || size > LARGEST)
		return sp_call_invalid(call, "a window of %lld over %lld is too large",
				       (long long)size, (long long)in);
	if (size < 1)
		return sp_call_invalid(call, "the window is empty");
	reach = (size - 1) * dilation + 1;
	if (window->padding == SP_PADDING_SAME) {
		out->out = in / stride + (in % stride != 0);
		needed = (out->out - 1) * stride + reach - in;
		out->before = in > 0 && needed > 0 ? needed / 2 : 0;
		return SP_OK;
	}
	out->before = window->before[axis];
	room = in + window->before[axis] + window->after[axis] - reach;
	out->out = (room + stride) / stride;
	if (out->out < 0)
		return sp_call_invalid(call, "a window of %lld does not fit into %lld",
				       (long long)reach, (long long)in);
	return SP_OK;
}

sp_status sp_window__plan(const sp_window *window, const sp_call *call, const sp_shape *in,
			  const int64_t size[SP_WINDOW_AXES], sp_window_plan *plan, sp_shape *out)
{
	if (in->rank != 4)
		return sp_call_invalid(call, "images must be of rank 4, not %d", in->rank);
	*out = *in;
	plan->channels = in->dims[3];
	for (int axis = 0; axis < SP_WINDOW_AXES; axis++) {
		SP_TRY(plan_axis(window, call, axis, in->dims[axis + 1], size[axis],
				 &plan->axes[axis]));
		out->dims[axis + 1] = plan->axes[axis].out;
	}
	if (__builtin_mul_overflow(plan->axes[0].out, plan->axes[1].out, &plan->positions))
		return sp_call_invalid(call, "the output is too large");
	return SP_OK;
}

/* The range of places that lie inside the image if place 0 lies at `start`. */
static void clip(const sp_window_axis *axis, int64_t start, int64_t *first, int64_t *last)
{
	*first = start < 0 ? (-start + axis->dilation - 1) / axis->dilation : 0;
	*last = axis->in <= start ? 0 : (axis->in - start + axis->dilation - 1) / axis->dilation;
	if (*last > axis->size)
		*last = axis->size;
	if (*first > *last)
		*first = *last;
}

void sp_window__reach(const sp_window_plan *plan, int64_t position, sp_window_reach *out)
{
	for (int a = SP_WINDOW_AXES - 1; a >= 0; a--) {
		const sp_window_axis *axis = &plan->axes[a];

		out->start[a] = position % axis->out * axis->stride - axis->before;
		position /= axis->out;
		clip(axis, out->start[a], &out->first[a], &out->last[a]);
	}
}
