#include <string.h>

#include "engine/ops/array/array.h"
#include "engine/ops/array/strided_copy.h"
#include "engine/stablehlo/ops/dimension_numbers.h"
#include "engine/ops/nn/wide_product.h"

/*
 * XlaDot and XlaDotV2: products of `lhs` and `rhs`, summed over the contracting dimensions, for
 * each position in the batch dimensions that both have.
 *
 *     output  [batch..., others of lhs..., others of rhs...]
 *
 * preferred_element_type of XlaDotV2 sets the output's type.
 *
 * Numerics: engine/ops/nn/wide_product.h.
 * Source: dot_general of the StableHLO specification.
 */
typedef struct dot_state {
	sp_dim_list contracting[2], batch[2]; /* of lhs, of rhs */
	sp_wide_product product;
} dot_state;

static sp_status read_numbers(const sp_prepare *prepare, dot_state *state, sp_error *err)
{
	const sp_dim_field fields[] = {{1, &state->contracting[0], NULL},
				       {2, &state->contracting[1], NULL},
				       {3, &state->batch[0], NULL},
				       {4, &state->batch[1], NULL}};

	return sp_dimension_numbers__read(prepare, fields, 4, err);
}

static sp_status prepare_any(sp_prepare *prepare, dot_state **out, sp_error *err)
{
	dot_state *state = sp_prepare_state(prepare, sizeof(*state));

	*out = state;
	SP_NEED_MEMORY(state, err, "an operator");
	SP_TRY(sp_prepare_inputs(prepare, 2, err));
	return read_numbers(prepare, state, err);
}

static sp_status prepare_dot(sp_prepare *prepare, sp_error *err)
{
	dot_state *state;

	SP_TRY(prepare_any(prepare, &state, err));
	SP_TRY(sp_prepare_input_dtype(prepare, 1, prepare->in_dtypes[0], err));
	return sp_wide_product__prepare(prepare, &state->product, prepare->in_dtypes[0], err);
}

static sp_status prepare_dot_v2(sp_prepare *prepare, sp_error *err)
{
	dot_state *state;
	sp_dtype result;

	SP_TRY(prepare_any(prepare, &state, err));
	SP_TRY(sp_node_attr_type(prepare->node, "preferred_element_type", SP_INVALID_DTYPE, &result,
				 err));
	return sp_wide_product__prepare(prepare, &state->product, result, err);
}

/* ------------------------------------------------------------- the shapes */

/* Dimensions of an operand that are traversed like one dimension. */
typedef struct group {
	sp_dim_list list;
	size_t size;
	int64_t stride; /* in elements */
} group;

typedef enum role { BATCH, OTHER, CONTRACTING, ROLES } role;

typedef struct operand {
	group groups[ROLES];
	const char *data;
} operand;

static sp_status check_dims(const sp_call *call)
{
	static const char *const what[] = {"the contraction of lhs", "the contraction of rhs",
					   "the batch of lhs", "the batch of rhs"};
	const dot_state *state = call->state;

	for (int i = 0; i < 4; i++) {
		const sp_dim_list *list = i < 2 ? &state->contracting[i] : &state->batch[i - 2];

		SP_TRY(sp_dim_list__check(list, call, call->in[i % 2]->shape.rank, what[i]));
	}
	for (int i = 0; i < 2; i++)
		for (int k = 0; k < state->batch[i].count; k++)
			if (sp_dim_list__has(&state->contracting[i], state->batch[i].dims[k]))
				return sp_call_invalid(call,
						       "dimension %lld of operand %d is used twice",
						       (long long)state->batch[i].dims[k], i);
	return SP_OK;
}

/* Checks that the listed dimensions of lhs and rhs have equal sizes. */
static sp_status check_pairs(const sp_call *call, const sp_dim_list list[2])
{
	const sp_shape *a = &call->in[0]->shape, *b = &call->in[1]->shape;

	if (list[0].count != list[1].count)
		return sp_call_invalid(call, "%d dimensions of lhs are paired with %d of rhs",
				       list[0].count, list[1].count);
	for (int i = 0; i < list[0].count; i++)
		if (a->dims[list[0].dims[i]] != b->dims[list[1].dims[i]])
			return sp_call_invalid(
				call,
				"dimension %lld of lhs is %lld, dimension %lld of rhs is %lld",
				(long long)list[0].dims[i], (long long)a->dims[list[0].dims[i]],
				(long long)list[1].dims[i], (long long)b->dims[list[1].dims[i]]);
	return SP_OK;
}

static void list_others(const dot_state *state, int i, int rank, sp_dim_list *out)
{
	out->count = 0;
	for (int d = 0; d < rank; d++)
		if (!sp_dim_list__has(&state->contracting[i], d) &&
		    !sp_dim_list__has(&state->batch[i], d))
			out->dims[out->count++] = d;
}

static sp_status make_output(const sp_call *call, const operand operands[2])
{
	const group *parts[] = {&operands[0].groups[BATCH], &operands[0].groups[OTHER],
				&operands[1].groups[OTHER]};
	const dot_state *state = call->state;
	sp_shape shape = {.rank = 0};

	SP_TRY(sp_array__rank(call,
			      parts[0]->list.count + parts[1]->list.count + parts[2]->list.count));
	for (int p = 0; p < 3; p++)
		for (int i = 0; i < parts[p]->list.count; i++)
			shape.dims[shape.rank++] =
				call->in[p == 2]->shape.dims[parts[p]->list.dims[i]];
	return sp_call_output(call, 0, state->product.result, &shape);
}

/* ----------------------------------------------------------- the operands */

/* Merges the group's dimensions; false when one stride does not reach all of its elements. */
static bool join(group *g, const sp_shape *shape, const int64_t *strides)
{
	bool joined = true;

	g->size = 1;
	g->stride = 1;
	for (int i = g->list.count - 1; i >= 0; i--) {
		int64_t d = g->list.dims[i];

		if (shape->dims[d] == 1)
			continue;
		if (g->size == 1)
			g->stride = strides[d];
		else if (strides[d] != g->stride * (int64_t)g->size)
			joined = false;
		g->size *= (size_t)shape->dims[d];
	}
	return joined;
}

/* Copies the operand so that its groups are contiguous. */
static sp_status rearrange(const sp_call *call, int i, operand *o)
{
	const sp_tensor *in = call->in[i];
	size_t size = sp_dtype_size(in->dtype);
	int64_t strides[SP_MAX_RANK], to = (int64_t)(in->count * size);
	char *copy;
	sp_strided_copy strided = {.rank = 0};

	SP_CALL_BYTES(copy, call, in->count, size);
	sp_strided_copy__strides(&in->shape, size, strides);
	for (int r = 0; r < ROLES; r++) {
		group *g = &o->groups[r];

		for (int k = 0; k < g->list.count; k++) {
			int64_t d = g->list.dims[k];

			to /= in->shape.dims[d];
			sp_strided_copy__add(&strided, in->shape.dims[d], to, strides[d]);
		}
		g->stride = to / (int64_t)size;
	}
	sp_strided_copy__run(&strided, copy, in->data, size);
	o->data = copy;
	return SP_OK;
}

/* Converts the operand to the type of the computation and merges its groups. */
static sp_status arrange(const sp_call *call, int i, operand *o)
{
	const dot_state *state = call->state;
	const sp_tensor *in = call->in[i];
	int64_t strides[SP_MAX_RANK];
	bool joined = true;

	sp_strided_copy__strides(&in->shape, 1, strides);
	o->data = in->data;
	for (int r = 0; r < ROLES; r++)
		joined &= join(&o->groups[r], &in->shape, strides);
	if (!joined)
		SP_TRY(rearrange(call, i, o));
	return sp_wide_product__widen(call, &state->product, (size_t)i, in->count, &o->data);
}

static void multiply(const dot_state *state, const operand operands[2], char *c)
{
	const group *a = operands[0].groups, *b = operands[1].groups;
	size_t size = sp_dtype_size(state->product.computed);
	sp_gemm g = {.m = a[OTHER].size,
		     .k = a[CONTRACTING].size,
		     .n = b[OTHER].size,
		     .a_row = (size_t)a[OTHER].stride,
		     .a_column = (size_t)a[CONTRACTING].stride,
		     .b_row = (size_t)b[CONTRACTING].stride,
		     .b_column = (size_t)b[OTHER].stride};

	for (size_t i = 0; i < a[BATCH].size; i++) {
		g.a = operands[0].data + i * (size_t)a[BATCH].stride * size;
		g.b = operands[1].data + i * (size_t)b[BATCH].stride * size;
		g.c = c + i * g.m * g.n * size;
		state->product.multiply(&g);
	}
}

static sp_status run_dot(const sp_call *call)
{
	const dot_state *state = call->state;
	operand operands[2];
	sp_tensor *out;
	char *c;

	SP_TRY(check_dims(call));
	SP_TRY(check_pairs(call, state->contracting));
	SP_TRY(check_pairs(call, state->batch));
	for (int i = 0; i < 2; i++) {
		operands[i].groups[BATCH].list = state->batch[i];
		operands[i].groups[CONTRACTING].list = state->contracting[i];
		list_others(state, i, call->in[i]->shape.rank, &operands[i].groups[OTHER].list);
	}
	SP_TRY(make_output(call, operands));
	out = call->out[0];
	if (out->count == 0)
		return SP_OK;
	if (call->in[0]->count == 0) { /* empty sums */
		memset(out->data, 0, out->count * sp_dtype_size(out->dtype));
		return SP_OK;
	}
	for (int i = 0; i < 2; i++)
		SP_TRY(arrange(call, i, &operands[i]));
	c = out->data;
	if (state->product.narrow != NULL)
		SP_CALL_BYTES(c, call, out->count, sp_dtype_size(state->product.computed));
	multiply(state, operands, c);
	if (state->product.narrow != NULL)
		state->product.narrow(c, out->data, out->count);
	return SP_OK;
}

SP_DEFINE_OP(XlaDot, NULL, 0, prepare_dot, run_dot);
SP_DEFINE_OP(XlaDotV2, NULL, 0, prepare_dot_v2, run_dot);
