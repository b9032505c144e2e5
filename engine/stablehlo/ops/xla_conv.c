#include <string.h>

#include "engine/ops/array/array.h"
#include "engine/ops/array/strided_copy.h"
#include "engine/stablehlo/ops/dimension_numbers.h"
#include "engine/stablehlo/ops/strided_window.h"
#include "engine/ops/nn/wide_product.h"

/*
 * XlaConv and XlaConvV2: convolutions over any number of dimensions, in the dimension order of the
 * attribute `dimension_numbers`.
 *
 *     lhs, rhs, window_strides, padding [spatial, 2], lhs_dilation, rhs_dilation [spatial each],
 *     feature_group_count scalar
 *
 *     output[n, place, o] = sum over k, c of lhs[n, place * stride + k, c] * rhs[k, c, o]
 *
 * With feature groups, the features of lhs and of the output are split into that many runs, and
 * each run of the output is computed from the same run of lhs.  With batch groups (V2) the batch of
 * lhs is split instead.  preferred_element_type of V2 sets the output's type.
 *
 * The patches of lhs at some places become the rows of a matrix, which is multiplied by rhs.
 *
 * Numerics: engine/ops/nn/wide_product.h.
 * Source: convolution of the StableHLO specification.
 */
enum {
	MOST_SPATIAL = SP_MAX_RANK - 2,
	PATCH_CELLS = 64 << 10, /* elements of the patches that are laid out at once, about */
	MOST_ROWS = 1024,
};

/* Dimension order of lhs, rhs or the output; `first` is the batch, for rhs the input features. */
typedef struct placing {
	int64_t first, feature;
	sp_dim_list spatial;
} placing;

typedef struct conv_state {
	placing placings[3]; /* of lhs, rhs, the output */
	int64_t batch_groups;
	sp_wide_product product;
} conv_state;

/* ----------------------------------------------------------- preparation */

static sp_status read_numbers(const sp_prepare *prepare, placing *p, sp_error *err)
{
	const sp_dim_field fields[] = {
		{7, NULL, &p[0].first}, {8, NULL, &p[0].feature},  {11, &p[0].spatial, NULL},
		{3, NULL, &p[1].first}, {4, NULL, &p[1].feature},  {6, &p[1].spatial, NULL},
		{9, NULL, &p[2].first}, {10, NULL, &p[2].feature}, {12, &p[2].spatial, NULL}};

	return sp_dimension_numbers__read(prepare, fields, 9, err);
}

static sp_status prepare_any(sp_prepare *prepare, conv_state **out, sp_error *err)
{
	conv_state *state = sp_prepare_state(prepare, sizeof(*state));

	*out = state;
	SP_NEED_MEMORY(state, err, "an operator");
	state->batch_groups = 1;
	SP_TRY(sp_prepare_types(prepare, "T U index index index index index", err));
	return read_numbers(prepare, state->placings, err);
}

static sp_status prepare_conv(sp_prepare *prepare, sp_error *err)
{
	conv_state *state;

	SP_TRY(prepare_any(prepare, &state, err));
	SP_TRY(sp_prepare_input_dtype(prepare, 1, prepare->in_dtypes[0], err));
	return sp_wide_product__prepare(prepare, &state->product, prepare->in_dtypes[0], err);
}

static sp_status prepare_conv_v2(sp_prepare *prepare, sp_error *err)
{
	conv_state *state;
	sp_dtype result;

	SP_TRY(prepare_any(prepare, &state, err));
	SP_TRY(sp_node_attr_int(prepare->node, "batch_group_count", 1, &state->batch_groups, err));
	SP_TRY(sp_node_attr_type(prepare->node, "preferred_element_type", SP_INVALID_DTYPE, &result,
				 err));
	return sp_wide_product__prepare(prepare, &state->product, result, err);
}

/* ------------------------------------------------------------- the shapes */

typedef struct conv {
	int spatial;
	int64_t batch, inputs, outputs; /* batch and features of lhs, features of the output */
	int64_t in[MOST_SPATIAL], kernel[MOST_SPATIAL], places[MOST_SPATIAL];
	sp_strided_window along[MOST_SPATIAL];
	int64_t feature_groups, batch_groups;
	int64_t in_steps[MOST_SPATIAL]; /* of lhs laid out [N, spatial..., inputs], in elements */
	size_t image;                   /* elements of one image of the batch */
	size_t window, place_count;     /* products of kernel and of places */
	size_t size;                    /* bytes of an element in the type of the computation */
} conv;

static sp_status check_placing(const sp_call *call, const placing *p, int rank, const char *what)
{
	sp_dim_list all = p->spatial;

	if (all.count + 2 != rank)
		return sp_call_invalid(call, "%s has %d spatial dimensions and rank %d", what,
				       all.count, rank);
	all.dims[all.count++] = p->first;
	all.dims[all.count++] = p->feature;
	return sp_dim_list__check(&all, call, rank, what);
}

static sp_status need_list(const sp_call *call, size_t i, int count)
{
	SP_TRY(sp_call_need_rank(call, i, 1));
	if (call->in[i]->count != (size_t)count)
		return sp_call_invalid(call, "input %zu has %zu elements for %d spatial dimensions",
				       i, call->in[i]->count, count);
	return SP_OK;
}

static sp_status check_ranks(const sp_call *call)
{
	const conv_state *state = call->state;
	int rank = call->in[0]->shape.rank, spatial = rank - 2;

	SP_TRY(check_placing(call, &state->placings[0], rank, "lhs"));
	SP_TRY(check_placing(call, &state->placings[1], call->in[1]->shape.rank, "rhs"));
	SP_TRY(check_placing(call, &state->placings[2], rank, "the output"));
	if (call->in[1]->shape.rank != rank)
		return sp_call_invalid(call, "lhs has rank %d, rhs rank %d", rank,
				       call->in[1]->shape.rank);
	SP_TRY(need_list(call, 2, spatial));
	SP_TRY(need_list(call, 4, spatial));
	SP_TRY(need_list(call, 5, spatial));
	SP_TRY(sp_call_need_rank(call, 3, 2));
	if (call->in[3]->shape.dims[0] != spatial || call->in[3]->shape.dims[1] != 2)
		return sp_call_invalid(call, "padding is not [%d,2]", spatial);
	return SP_OK;
}

static sp_status check_groups(const sp_call *call, const conv *c, int64_t kernel_inputs)
{
	int64_t f = c->feature_groups, b = c->batch_groups;

	if (f < 1 || b < 1 || (f > 1 && b > 1))
		return sp_call_invalid(call, "%lld feature groups and %lld batch groups",
				       (long long)f, (long long)b);
	if (c->inputs % f != 0 || c->inputs / f != kernel_inputs || c->outputs % f != 0)
		return sp_call_invalid(call,
				       "%lld features by a kernel of %lld to %lld in %lld groups",
				       (long long)c->inputs, (long long)kernel_inputs,
				       (long long)c->outputs, (long long)f);
	if (c->batch % b != 0 || c->outputs % b != 0)
		return sp_call_invalid(call, "a batch of %lld to %lld features in %lld groups",
				       (long long)c->batch, (long long)c->outputs, (long long)b);
	return SP_OK;
}

static sp_status plan(const sp_call *call, conv *c)
{
	const conv_state *state = call->state;
	const placing *l = &state->placings[0], *r = &state->placings[1];
	const sp_shape *lhs = &call->in[0]->shape, *rhs = &call->in[1]->shape;

	SP_TRY(check_ranks(call));
	*c = (conv){.spatial = lhs->rank - 2,
		    .batch = lhs->dims[l->first],
		    .inputs = lhs->dims[l->feature],
		    .outputs = rhs->dims[r->feature],
		    .batch_groups = state->batch_groups,
		    .size = sp_dtype_size(state->product.computed)};
	SP_TRY(sp_call_scalar(call, 6, &c->feature_groups));
	SP_TRY(check_groups(call, c, rhs->dims[r->first]));
	c->window = c->place_count = 1;
	for (int d = 0; d < c->spatial; d++) {
		size_t i = (size_t)d;

		c->in[d] = lhs->dims[l->spatial.dims[d]];
		c->kernel[d] = rhs->dims[r->spatial.dims[d]];
		c->along[d] = (sp_strided_window){
			.size = c->kernel[d],
			.stride = sp_tensor_index(call->in[2], i),
			.dilation = sp_tensor_index(call->in[4], i),
			.window_dilation = sp_tensor_index(call->in[5], i),
			.low = sp_tensor_index(call->in[3], 2 * i),
			.high = sp_tensor_index(call->in[3], 2 * i + 1)};
		SP_TRY(sp_strided_window__plan(&c->along[d], call, d, c->in[d], &c->places[d]));
	}
	return SP_OK;
}

static sp_status make_output(const sp_call *call, const conv *c)
{
	const conv_state *state = call->state;
	const placing *o = &state->placings[2];
	sp_shape shape = {.rank = c->spatial + 2};

	shape.dims[o->first] = c->batch / c->batch_groups;
	shape.dims[o->feature] = c->outputs;
	for (int d = 0; d < c->spatial; d++)
		shape.dims[o->spatial.dims[d]] = c->places[d];
	return sp_call_output(call, 0, state->product.result, &shape);
}

/* From here on, nothing is empty and all sizes can be counted. */
static void plan_steps(conv *c)
{
	c->image = (size_t)c->inputs;
	for (int d = c->spatial - 1; d >= 0; d--) {
		c->in_steps[d] = (int64_t)c->image;
		c->image *= (size_t)c->in[d];
		c->window *= (size_t)c->kernel[d];
		c->place_count *= (size_t)c->places[d];
	}
}

/* --------------------------------------------------------------- layouts */

/*
 * Whether the dimensions are in the order first, spatial, feature (rhs: spatial, first, feature).
 */
static bool is_in_order(const placing *p, int spatial, bool is_kernel)
{
	bool good = p->feature == spatial + 1 && p->first == (is_kernel ? spatial : 0);

	for (int d = 0; d < spatial; d++)
		good &= p->spatial.dims[d] == d + !is_kernel;
	return good;
}

/* A copy from the tensor to a dense tensor in that order. */
static void plan_reorder(const placing *p, const sp_shape *shape, int spatial, bool is_kernel,
			 size_t size, sp_strided_copy *strided)
{
	int64_t strides[SP_MAX_RANK], order[SP_MAX_RANK], step = (int64_t)size;
	int rank = spatial + 2, at = 0;

	sp_strided_copy__strides(shape, size, strides);
	if (!is_kernel)
		order[at++] = p->first;
	for (int d = 0; d < spatial; d++)
		order[at++] = p->spatial.dims[d];
	if (is_kernel)
		order[at++] = p->first;
	order[at] = p->feature;
	strided->rank = rank;
	for (int i = rank - 1; i >= 0; i--) {
		strided->dims[i] = shape->dims[order[i]];
		strided->from[i] = strides[order[i]];
		strided->to[i] = step;
		step *= strided->dims[i];
	}
}

static sp_status arrange(const sp_call *call, int i, const conv *c, const char **out)
{
	const conv_state *state = call->state;
	const sp_tensor *in = call->in[i];
	size_t size = sp_dtype_size(in->dtype);
	const placing *p = &state->placings[i];
	sp_strided_copy strided;
	char *copy;

	*out = in->data;
	if (!is_in_order(p, c->spatial, i == 1)) {
		SP_CALL_BYTES(copy, call, in->count, size);
		plan_reorder(p, &in->shape, c->spatial, i == 1, size, &strided);
		sp_strided_copy__run(&strided, copy, in->data, size);
		*out = copy;
	}
	return sp_wide_product__widen(call, &state->product, (size_t)i, in->count, out);
}

/* Converts the result, [batch, spatial..., feature] in the computed type, to the output. */
static sp_status write_output(const sp_call *call, const conv *c, char *result)
{
	const conv_state *state = call->state;
	const placing *p = &state->placings[2];
	sp_tensor *out = call->out[0];
	size_t size = sp_dtype_size(out->dtype);
	sp_strided_copy strided, back;

	if (result == out->data)
		return SP_OK;
	if (state->product.narrow != NULL && is_in_order(p, c->spatial, false)) {
		state->product.narrow(result, out->data, out->count);
		return SP_OK;
	}
	if (state->product.narrow != NULL) {
		char *narrow;

		SP_CALL_BYTES(narrow, call, out->count, size);
		state->product.narrow(result, narrow, out->count);
		result = narrow;
	}
	plan_reorder(p, &out->shape, c->spatial, false, size, &strided);
	back = strided;
	memcpy(back.to, strided.from, sizeof(strided.from));
	memcpy(back.from, strided.to, sizeof(strided.to));
	sp_strided_copy__run(&back, out->data, result, size);
	return SP_OK;
}

/* ----------------------------------------------------------- the products */

/* Copies the patch at `place`: `features` elements of each of its positions, or zeros. */
static void lay_patch(const conv *c, const char *image, const int64_t *place, size_t features,
		      char *patch)
{
	int64_t k[MOST_SPATIAL] = {0};
	size_t bytes = features * c->size;

	do {
		int64_t at = 0;

		for (int d = 0; d < c->spatial && at >= 0; d++) {
			int64_t i = sp_strided_window__at(&c->along[d], place[d], k[d]);

			at = i < 0 ? -1 : at + i * c->in_steps[d];
		}
		if (at < 0)
			memset(patch, 0, bytes);
		else
			memcpy(patch, image + (size_t)at * c->size, bytes);
		patch += bytes;
	} while (sp_strided_window__step(k, c->spatial, c->kernel));
}

typedef struct scratch {
	char *patches, *products; /* [rows, window * inputs / groups], [rows, outputs / groups] */
	size_t rows;
} scratch;

/* Whether windows are single elements, one at every place: then the image is its own patches. */
static bool is_plain(const conv *c)
{
	for (int d = 0; d < c->spatial; d++) {
		const sp_strided_window *s = &c->along[d];

		if (s->size != 1 || s->stride != 1 || s->dilation != 1 || s->low != 0 ||
		    s->high != 0)
			return false;
	}
	return c->feature_groups == 1;
}

static sp_status make_scratch(const sp_call *call, const conv *c, scratch *s)
{
	size_t groups = (size_t)(c->feature_groups * c->batch_groups);
	size_t depth = c->window * (size_t)(c->inputs / c->feature_groups);
	size_t width = (size_t)c->outputs / groups;
	size_t rows = PATCH_CELLS / (depth + width) + 1;
	size_t all = (size_t)(c->batch / c->batch_groups) * c->place_count;

	s->rows = rows < MOST_ROWS ? rows : MOST_ROWS;
	s->rows = s->rows < all ? s->rows : all;
	s->patches = s->products = NULL;
	if (is_plain(c) && groups == 1) {
		s->rows = all;
		return SP_OK;
	}
	if (depth != 0 && s->rows > SIZE_MAX / depth)
		return sp_call_no_memory(call);
	s->patches = is_plain(c) ? NULL : sp_call_bytes(call, s->rows * depth, c->size);
	s->products = groups == 1 ? NULL : sp_call_bytes(call, s->rows * width, c->size);
	if ((!is_plain(c) && s->patches == NULL) || (groups != 1 && s->products == NULL))
		return sp_call_no_memory(call);
	return SP_OK;
}

/* Copies [rows, width] to columns of the result. */
static void put_columns(const conv *c, const char *from, size_t rows, size_t width, char *to)
{
	for (size_t i = 0; i < rows; i++)
		memcpy(to + i * (size_t)c->outputs * c->size, from + i * width * c->size,
		       width * c->size);
}

/* Computes group g of the result, whose rows are the places of each image in turn. */
static void multiply_group(const conv_state *state, const conv *c, const scratch *s, size_t g,
			   const char *lhs, const char *rhs, char *out)
{
	size_t features = (size_t)(c->inputs / c->feature_groups);
	size_t width = (size_t)(c->outputs / (c->feature_groups * c->batch_groups));
	size_t batch = (size_t)(c->batch / c->batch_groups), all = batch * c->place_count;
	int64_t place[MOST_SPATIAL] = {0};
	sp_gemm gemm = {.n = width,
			.k = c->window * features,
			.a_column = 1,
			.b = rhs + g * width * c->size,
			.b_row = (size_t)c->outputs,
			.b_column = 1};

	gemm.a_row = gemm.k;
	lhs += (c->feature_groups > 1 ? g * features : g * batch * c->image) * c->size;
	for (size_t first = 0; first < all; first += s->rows) {
		gemm.m = all - first < s->rows ? all - first : s->rows;
		gemm.a = s->patches != NULL ? s->patches : lhs + first * gemm.k * c->size;
		for (size_t i = 0; s->patches != NULL && i < gemm.m; i++) {
			const char *image = lhs + (first + i) / c->place_count * c->image * c->size;

			lay_patch(c, image, place, features, s->patches + i * gemm.k * c->size);
			(void)sp_strided_window__step(place, c->spatial, c->places);
		}
		gemm.c = s->products != NULL ? s->products : out + first * width * c->size;
		state->product.multiply(&gemm);
		if (s->products != NULL)
			put_columns(c, s->products, gemm.m, width,
				    out + (first * (size_t)c->outputs + g * width) * c->size);
	}
}

static sp_status run_conv(const sp_call *call)
{
	const conv_state *state = call->state;
	const placing *o = &state->placings[2];
	const char *lhs, *rhs;
	sp_tensor *out;
	char *result;
	scratch s;
	conv c;

	SP_TRY(plan(call, &c));
	SP_TRY(make_output(call, &c));
	out = call->out[0];
	if (out->count == 0)
		return SP_OK;
	if (call->in[0]->count == 0 || call->in[1]->count == 0) { /* empty sums */
		memset(out->data, 0, out->count * sp_dtype_size(out->dtype));
		return SP_OK;
	}
	plan_steps(&c);
	SP_TRY(arrange(call, 0, &c, &lhs));
	SP_TRY(arrange(call, 1, &c, &rhs));
	SP_TRY(make_scratch(call, &c, &s));
	result = out->data;
	if (state->product.narrow != NULL || !is_in_order(o, c.spatial, false))
		SP_CALL_BYTES(result, call, out->count, c.size);
	for (size_t g = 0; g < (size_t)(c.feature_groups * c.batch_groups); g++)
		multiply_group(state, &c, &s, g, lhs, rhs, result);
	return write_output(call, &c, result);
}

SP_DEFINE_OP(XlaConv, NULL, 0, prepare_conv, run_conv);
SP_DEFINE_OP(XlaConvV2, NULL, 0, prepare_conv_v2, run_conv);
