#include "base/size.h"
#include "engine/ops/array.h"
#include "engine/ops/quantized.h"

/*
 * QuantizedConv2D: a convolution of codes of quint8, input [batch, rows, columns, channels] and
 * filter [height, width, channels, outputs]: qint32.  Strides are alike in rows and columns.
 *
 * The window lies in the middle of what it does not fill, with padding VALID, too; this is not
 * where that of Conv2D is.  Outside is the code of 0.
 *
 * Numerics: the codes are TensorFlow's; sums wrap around.
 */
typedef struct conv_state {
	int64_t stride;
	bool same; /* padding */
} conv_state;

static sp_status read_strides(const sp_prepare *prepare, conv_state *state, sp_error *err)
{
	const sp_attr *strides, *dilations;

	SP_TRY(sp_node_attr_list(prepare->node, "strides", SP_ATTR_INT, &strides, err));
	SP_TRY(sp_node_attr_list(prepare->node, "dilations", SP_ATTR_INT, &dilations, err));
	if (strides->count != 4 || strides->i_list[0] != 1 || strides->i_list[3] != 1 ||
	    strides->i_list[1] != strides->i_list[2] || strides->i_list[1] < 1 ||
	    strides->i_list[1] > INT32_MAX)
		return sp_error_set(err, SP_INVALID,
				    "strides must be 1, a number, the same number, 1");
	for (size_t i = 0; i < dilations->count; i++)
		if (dilations->i_list[i] != 1)
			return sp_error_set(err, SP_UNSUPPORTED,
					    "QuantizedConv2D with dilations is not supported");
	state->stride = strides->i_list[1];
	return SP_OK;
}

static sp_status prepare_conv(sp_prepare *prepare, sp_error *err)
{
	conv_state *state = sp_prepare_state(prepare, sizeof(*state));
	sp_bytes padding;

	if (state == NULL)
		return sp_error_set(err, SP_NO_MEMORY, "no memory for an operator");
	SP_TRY(sp_quantized__prepare(prepare, 6, 2, SP_QINT32, err));
	for (size_t i = 0; i < 2; i++)
		if (prepare->in_dtypes[i] != SP_QUINT8)
			return sp_prepare_unsupported(prepare, prepare->in_dtypes[i], err);
	SP_TRY(sp_node_attr_bytes(prepare->node, "padding", "", &padding, err));
	state->same = sp_bytes_equal_text(padding, "SAME");
	if (!state->same && !sp_bytes_equal_text(padding, "VALID"))
		return sp_error_set(err, SP_INVALID, "padding '%.*s' is not known",
				    (int)padding.size, padding.data);
	return read_strides(prepare, state, err);
}

/* Along rows or columns: out positions, the first of which begins at -before. */
typedef struct line {
	int64_t in, size, out, before;
} line;

typedef struct conv_plan {
	line lines[2];
	int64_t stride;
	size_t channels, outputs;
	uint32_t zero, filter_zero; /* codes of 0 */
	uint32_t border;            /* what is outside, less that of 0 */
} conv_plan;

static sp_status lay_line(const sp_call *call, line *l)
{
	const conv_state *state = call->state;
	int64_t room = state->same ? l->in - 1 : l->in - l->size;

	if (room < 0 || l->size < 1 || l->size > INT32_MAX || l->in > INT32_MAX)
		return sp_call_invalid(call, "a filter of %lld over %lld pixels",
				       (long long)l->size, (long long)l->in);
	l->out = room / state->stride + 1;
	l->before = ((l->out - 1) * state->stride + l->size - l->in) / 2;
	return SP_OK;
}

static sp_status make_plan(const sp_call *call, sp_shape *shape, conv_plan *p)
{
	const conv_state *state = call->state;
	const sp_shape *in = &call->in[0]->shape, *filter = &call->in[1]->shape;

	SP_TRY(sp_array__need_rank(call, 0, 4));
	SP_TRY(sp_array__need_rank(call, 1, 4));
	if (in->dims[3] != filter->dims[2])
		return sp_call_invalid(call, "a filter of %lld channels for %lld",
				       (long long)filter->dims[2], (long long)in->dims[3]);
	*shape = *in;
	for (int i = 0; i < 2; i++) {
		p->lines[i] = (line){.in = in->dims[i + 1], .size = filter->dims[i]};
		SP_TRY(lay_line(call, &p->lines[i]));
		shape->dims[i + 1] = p->lines[i].out;
	}
	shape->dims[3] = filter->dims[3];
	p->stride = state->stride;
	p->channels = (size_t)in->dims[3];
	p->outputs = (size_t)filter->dims[3];
	return SP_OK;
}

/* Adds a pixel, or what is outside, times its place in the filter. */
static void add_pixel(const conv_plan *p, const uint8_t *pixel, const uint8_t *filter,
		      uint32_t *out)
{
	for (size_t c = 0; c < p->channels; c++, filter += p->outputs) {
		uint32_t x = pixel != NULL ? pixel[c] - p->zero : p->border;

		for (size_t o = 0; x != 0 && o < p->outputs; o++)
			out[o] += x * (filter[o] - p->filter_zero);
	}
}

static void convolve(const conv_plan *p, const uint8_t *image, int64_t y, int64_t x,
		     const uint8_t *filter, uint32_t *out)
{
	const line *rows = &p->lines[0], *columns = &p->lines[1];

	for (size_t o = 0; o < p->outputs; o++)
		out[o] = 0;
	if (p->channels == 0) /* the filter, of no elements, may be of any size */
		return;
	for (int64_t i = 0; i < rows->size; i++)
		for (int64_t j = 0; j < columns->size; j++) {
			int64_t row = y * p->stride - rows->before + i;
			int64_t column = x * p->stride - columns->before + j;
			bool inside = row >= 0 && row < rows->in && column >= 0 &&
				      column < columns->in;
			size_t at = inside ? (size_t)(row * columns->in + column) : 0;

			add_pixel(p, inside ? image + at * p->channels : NULL, filter, out);
			filter += p->channels * p->outputs;
		}
}

static sp_status run_conv(const sp_call *call)
{
	sp_quantized_range ranges[2];
	const sp_tensor *in = call->in[0];
	conv_plan p = {0};
	sp_shape shape;
	uint32_t *out;
	size_t image;

	for (size_t i = 0; i < 2; i++)
		SP_TRY(sp_quantized__range(call, 2 + 2 * i, &ranges[i]));
	SP_TRY(make_plan(call, &shape, &p));
	SP_TRY(sp_call_output(call, 0, SP_QINT32, &shape));
	p.zero = (uint32_t)sp_quantized__code(SP_QUINT8, 0, ranges[0]);
	p.filter_zero = (uint32_t)sp_quantized__code(SP_QUINT8, 0, ranges[1]);
	/* A code that no pixel can have is cut off to one. */
	p.border = (int32_t)p.zero < 0 ? 0 : (p.zero & 255) - p.zero;
	out = call->out[0]->data;
	image = in->count == 0 ? 0 : in->count / (size_t)in->shape.dims[0];
	for (int64_t b = 0; call->out[0]->count != 0 && b < shape.dims[0]; b++)
		for (int64_t i = 0; i < shape.dims[1] * shape.dims[2]; i++, out += p.outputs)
			convolve(&p, (const uint8_t *)in->data + (size_t)b * image,
				 i / shape.dims[2], i % shape.dims[2], call->in[1]->data, out);
	return sp_quantized__put_range(call, 1, sp_quantized__product(ranges[0], ranges[1]));
}

const sp_op sp_op_QuantizedConv2D = {
	.name = "QuantizedConv2D",
	.outputs = "output min_output max_output",
	.prepare = prepare_conv,
	.run = run_conv,
};
