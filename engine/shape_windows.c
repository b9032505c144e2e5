#include "engine/static_shapes_internal.h"

#include <string.h>

/*
 * Convolutions, pools and what normalises their channels, of which the channels are the last
 * dimension.
 */

typedef sp_static_shape shape;

static int64_t minus(sp_shape_inference *in, int64_t a, int64_t b)
{
	if (b == 0)
		return a;
	return b > 0 && a >= b ? a - b : sp_shapes__new_name(in);
}

static int64_t divided(sp_shape_inference *in, int64_t a, int64_t by)
{
	if (by == 1)
		return a;
	return a >= 0 && by > 0 ? a / by : sp_shapes__new_name(in);
}

/* One dimension that a window goes along. */
typedef struct window {
	int64_t size, stride, dilation;
	int64_t padding; /* in front and behind together; -1: as much as a stride of 1 needs */
} window;

/* How many places it has.  It has a name of its own after any step that is not known. */
static int64_t places_of(sp_shape_inference *in, int64_t length, window w)
{
	if (w.padding < 0)
		return divided(in, sp_shapes__plus(in, length, w.stride - 1), w.stride);
	length = sp_shapes__plus(in, length, w.padding);
	if (w.dilation > 1) {
		w.size = sp_shapes__times(in, minus(in, w.size, 1), w.dilation);
		w.size = sp_shapes__plus(in, w.size, 1);
	}
	length = sp_shapes__plus(in, minus(in, length, w.size), w.stride);
	return divided(in, length, w.stride);
}

/* Attributes that have a number for each dimension; NULL if they have not. */
static const int64_t *numbers_of(const sp_node *node, const char *name, int32_t rank)
{
	const sp_attr *list;

	return sp_node_attr_list(node, name, SP_ATTR_INT, &list, NULL) == SP_OK &&
			       list->count == (size_t)rank
		       ? list->i_list
		       : NULL;
}

static bool has_channels_last(const sp_node *node)
{
	sp_bytes format;

	return sp_node_attr_bytes(node, "data_format", "NHWC", &format, NULL) == SP_OK &&
	       (sp_bytes_equal_text(format, "NHWC") || sp_bytes_equal_text(format, "NDHWC"));
}

/* Padding in each dimension; false if it is none that is known. */
static bool find_padding(const sp_node *node, int32_t rank, int64_t padding[SP_MAX_RANK])
{
	const int64_t *pairs = numbers_of(node, "explicit_paddings", 2 * rank);
	sp_bytes kind;

	if (sp_node_attr_bytes(node, "padding", "", &kind, NULL) != SP_OK)
		return false;
	for (int32_t i = 0; i < rank; i++) {
		padding[i] = sp_bytes_equal_text(kind, "SAME") ? -1 : 0;
		if (sp_bytes_equal_text(kind, "EXPLICIT") &&
		    (pairs == NULL || pairs[2 * i] < 0 || pairs[2 * i + 1] < 0 ||
		     __builtin_add_overflow(pairs[2 * i], pairs[2 * i + 1], &padding[i])))
			return false;
	}
	return true;
}

static int32_t rank_of(const sp_node *node)
{
	return strstr(node->op_name, "3D") != NULL ? 5 : 4;
}

/* The windows of each dimension, but for their sizes; false if they are not known. */
static bool find_windows(const sp_node *node, int32_t rank, window windows[SP_MAX_RANK])
{
	const int64_t *strides = numbers_of(node, "strides", rank);
	const int64_t *dilations = numbers_of(node, "dilations", rank);
	int64_t padding[SP_MAX_RANK];

	if (strides == NULL || !has_channels_last(node) || !find_padding(node, rank, padding))
		return false;
	for (int32_t i = 0; i < rank; i++) {
		windows[i] = (window){.stride = strides[i],
				      .dilation = dilations != NULL ? dilations[i] : 1,
				      .padding = padding[i]};
		if (strides[i] < 1 || windows[i].dilation < 1)
			return false;
	}
	return true;
}

void sp_shapes__convolution(sp_shape_inference *in, const sp_node *node, shape *out)
{
	int32_t rank = rank_of(node);
	bool depthwise = strcmp(node->op_name, "DepthwiseConv2dNative") == 0;
	shape from = sp_shapes__input(in, node, 0), filter = sp_shapes__input(in, node, 1);
	window windows[SP_MAX_RANK];

	from = sp_shapes__with_rank(in, &from, rank);
	filter = sp_shapes__with_rank(in, &filter, rank);
	if (from.rank != rank || filter.rank != rank || !find_windows(node, rank, windows))
		return;
	*out = from;
	for (int32_t i = 1; i + 1 < rank; i++) {
		windows[i].size = filter.dims[i - 1];
		out->dims[i] = places_of(in, from.dims[i], windows[i]);
	}
	out->dims[rank - 1] = filter.dims[rank - 1];
	if (depthwise)
		out->dims[3] = sp_shapes__times(
			in, sp_shapes__merge_dims(in, from.dims[3], filter.dims[2]),
			filter.dims[3]);
}

void sp_shapes__pool(sp_shape_inference *in, const sp_node *node, shape *out)
{
	int32_t rank = rank_of(node);
	/* Channels have a window, too. */
	int32_t end = strcmp(node->op_name, "MaxPool") == 0 ? rank : rank - 1;
	const int64_t *sizes = numbers_of(node, "ksize", rank);
	shape from = sp_shapes__input(in, node, 0);
	window windows[SP_MAX_RANK];

	from = sp_shapes__with_rank(in, &from, rank);
	if (from.rank != rank || sizes == NULL || !find_windows(node, rank, windows))
		return;
	*out = from;
	for (int32_t i = 1; i < end; i++) {
		windows[i].size = sizes[i];
		out->dims[i] = sizes[i] < 1 ? sp_shapes__new_name(in)
					    : places_of(in, from.dims[i], windows[i]);
	}
}

/* Input 0 lists the sizes, of which the batch is known better from what is spread out. */
void sp_shapes__convolution_back(sp_shape_inference *in, const sp_node *node, shape *out)
{
	shape from = sp_shapes__input(in, node, 2), filter = sp_shapes__input(in, node, 1);
	shape sizes = sp_shapes__from_list(in, node, 0);

	from = sp_shapes__with_rank(in, &from, 4);
	filter = sp_shapes__with_rank(in, &filter, 4);
	sizes = sp_shapes__with_rank(in, &sizes, 4);
	if (from.rank != 4 || filter.rank != 4 || sizes.rank != 4 || !has_channels_last(node))
		return;
	*out = sizes;
	out->dims[0] = from.dims[0];
}

/* The other outputs are not known here. */
void sp_shapes__batch_norm(sp_shape_inference *in, const sp_node *node, shape *out)
{
	shape from = sp_shapes__input(in, node, 0);
	const sp_attr *share = sp_node_attr(node, "exponential_avg_factor");
	bool all = share == NULL || (share->kind == SP_ATTR_FLOAT && share->f == 1);
	size_t inputs = sp_shapes__attr_bool(node, "is_training") && all ? 3 : 5;

	from = sp_shapes__with_rank(in, &from, 4);
	if (from.rank != 4 || !has_channels_last(node))
		return;
	*out = from;
	for (size_t k = 1; k < inputs; k++) {
		shape vector = sp_shapes__input(in, node, k);

		vector = sp_shapes__with_rank(in, &vector, 1);
		if (vector.rank == 1)
			out->dims[3] = sp_shapes__merge_dims(in, out->dims[3], vector.dims[0]);
	}
}

/* The block and the paddings of the dimensions behind the batch; NULL where they are not known. */
typedef struct block {
	const sp_tensor *sizes, *paddings;
	int32_t rank;
} block;

static bool find_block(const sp_shape_inference *in, const sp_node *node, block *b)
{
	shape sizes = sp_shapes__input(in, node, 1);

	*b = (block){.sizes = sp_shapes__constant(in, node, 1),
		     .paddings = sp_shapes__constant(in, node, 2),
		     .rank = (int32_t)sizes.dims[0]};
	return sizes.rank == 1 && sizes.dims[0] > 0 && sizes.dims[0] < SP_MAX_RANK &&
	       (b->sizes == NULL || b->sizes->count == (size_t)b->rank) &&
	       (b->paddings == NULL || b->paddings->count == 2 * (size_t)b->rank);
}

static int64_t block_size(sp_shape_inference *in, const block *b, int32_t i)
{
	return b->sizes != NULL ? sp_tensor_index(b->sizes, (size_t)i) : sp_shapes__new_name(in);
}

static int64_t block_padding(sp_shape_inference *in, const block *b, int32_t i)
{
	return sp_shapes__plus(in, sp_tensor_index(b->paddings, 2 * (size_t)i),
			       sp_tensor_index(b->paddings, 2 * (size_t)i + 1));
}

/* False if the block does not fit; else *out is what is to be changed. */
static bool enter_block(sp_shape_inference *in, const sp_node *node, block *b, shape *out)
{
	shape from = sp_shapes__input(in, node, 0);

	if (!sp_shapes__is_known(&from, out) || !find_block(in, node, b) || from.rank <= b->rank)
		return false;
	*out = from;
	return true;
}

void sp_shapes__space_to_batch(sp_shape_inference *in, const sp_node *node, shape *out)
{
	block b;

	if (!enter_block(in, node, &b, out))
		return;
	for (int32_t i = 0; i < b.rank; i++) {
		int64_t size = block_size(in, &b, i), *length = &out->dims[i + 1];

		out->dims[0] = sp_shapes__times(in, out->dims[0], size);
		*length = b.paddings != NULL
				  ? sp_shapes__plus(in, *length, block_padding(in, &b, i))
				  : sp_shapes__new_name(in);
		*length = divided(in, *length, size);
	}
}

void sp_shapes__batch_to_space(sp_shape_inference *in, const sp_node *node, shape *out)
{
	block b;

	if (!enter_block(in, node, &b, out))
		return;
	for (int32_t i = 0; i < b.rank; i++) {
		int64_t size = block_size(in, &b, i), *length = &out->dims[i + 1];

		out->dims[0] = divided(in, out->dims[0], size);
		*length = sp_shapes__times(in, *length, size);
		*length = b.paddings != NULL ? minus(in, *length, block_padding(in, &b, i))
					     : sp_shapes__new_name(in);
	}
}
