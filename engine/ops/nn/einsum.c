#include <string.h>

#include "base/size.h"
#include "engine/ops/array/strided_copy.h"
#include "engine/ops/array/element_types.h"
#include "engine/ops/nn/gemm.h"
#include "engine/ops/reduce/reduce.h"

/*
 * Einsum of one or two operands, e.g. "abc,cd->abd".  Every letter labels a dimension.  Letters
 * that are not in the output are summed over; a letter repeated in an operand takes its diagonal;
 * "..." stands for leading dimensions that broadcast.
 *
 * Two operands are multiplied as a batch of matrix products.  The role of a letter follows from
 * where it occurs:
 *
 *   BATCH        in both operands and the output; also every dimension of "..."
 *   LEFT, RIGHT  in one operand and the output: the rows or columns of the result
 *   INNER        in both operands only: summed over by the matrix product
 *   ALONE        in one operand only: summed over before the product
 *
 * Within a role letters are ordered by their first appearance in the equation.  An operand whose
 * dimensions are in another order is copied.  If nothing is summed, elements are multiplied in
 * place without a matrix product.
 *
 * Numerics: engine/ops/nn/gemm.h.  A sum before the product is one running sum (in float for half
 * and bfloat16), rounded to the element type.
 */
enum {
	HIDDEN = SP_MAX_RANK, /* dimensions of "..." come first, the last one is HIDDEN - 1 */
	NAMED = 2 * SP_MAX_RANK,
	LABELS = HIDDEN + NAMED,
	ELLIPSIS = LABELS,
	OUT = 2, /* index of the output, after operands 0 and 1 */
};

typedef struct subscript {
	uint8_t labels[SP_MAX_RANK + 1];
	int count;
	bool has_ellipsis;
} subscript;

/* out[i] = the ordered sum over `reduced` at step i of `kept`; no dimension is empty. */
typedef void collect_fn(const void *in, void *out, sp_reduce_walk *kept, sp_reduce_walk *reduced);

/* An operand of an elementwise product; `walk` covers all dimensions of the output but the last. */
typedef struct factor {
	const void *data;
	sp_reduce_walk walk;
	size_t stride;
} factor;

typedef void pair_fn(factor *a, factor *b, size_t last, void *out);

typedef struct einsum_state {
	subscript subscripts[3]; /* of the operands and the output */
	size_t operands;
	collect_fn *collect;
	sp_gemm_fn *multiply;
	pair_fn *pair;
	char names[NAMED]; /* letters of the labels */
	int name_count;
} einsum_state;

#define COLLECT(type, name)                                                        \
	static void name##_##type(const void *in, void *out, sp_reduce_walk *kept, \
				  sp_reduce_walk *reduced)                         \
	{                                                                          \
		const sp_element_##type *elements = in;                            \
		sp_element_##type *to = out;                                       \
                                                                                   \
		do {                                                               \
			sp_wrap_##type sum = 0;                                    \
                                                                                   \
			do                                                         \
				sum += (sp_wrap_##type)SP_LOAD_##type(             \
					elements[kept->at + reduced->at]);         \
			while (sp_reduce__step(reduced));                          \
			*to++ = SP_STORE_##type(sum);                              \
		} while (sp_reduce__step(kept));                                   \
	}

SP_FOR_FIELD(COLLECT, collect)
COLLECT(i32, collect)
COLLECT(i64, collect)

static collect_fn *const collectors[SP_DTYPE_COUNT] = {
	SP_TABLE_FIELD(collect), [SP_INT32] = collect_i32, [SP_INT64] = collect_i64};

/* out = a * b, element by element. */
#define PAIR(type, name)                                                                     \
	static void name##_##type(factor *a, factor *b, size_t last, void *out)              \
	{                                                                                    \
		sp_element_##type *to = out;                                                 \
                                                                                             \
		do {                                                                         \
			const sp_element_##type *x = (const sp_element_##type *)a->data +    \
						     a->walk.at;                             \
			const sp_element_##type *y = (const sp_element_##type *)b->data +    \
						     b->walk.at;                             \
                                                                                             \
			for (size_t i = 0; i < last; i++, x += a->stride, y += b->stride)    \
				*to++ = SP_STORE_##type((sp_wrap_##type)SP_LOAD_##type(*x) * \
							(sp_wrap_##type)SP_LOAD_##type(*y)); \
			(void)sp_reduce__step(&a->walk);                                     \
		} while (sp_reduce__step(&b->walk));                                         \
	}

SP_FOR_FIELD(PAIR, pair)
PAIR(i32, pair)
PAIR(i64, pair)

static pair_fn *const pairs[SP_DTYPE_COUNT] = {
	SP_TABLE_FIELD(pair), [SP_INT32] = pair_i32, [SP_INT64] = pair_i64};

/* ------------------------------------------------------------ the equation */

/* The number of the label `name`, a new one if it is unknown; -1 when there are too many. */
static int label_of(einsum_state *state, char name)
{
	const char *known = memchr(state->names, name, (size_t)state->name_count);

	if (known != NULL)
		return HIDDEN + (int)(known - state->names);
	if (state->name_count == NAMED)
		return -1;
	state->names[state->name_count] = name;
	return HIDDEN + state->name_count++;
}

static sp_status refuse_equation(sp_bytes equation, const char *why, sp_error *err)
{
	return sp_error_set(err, SP_UNSUPPORTED, "einsum equation '%.*s' %s", (int)equation.size,
			    equation.data, why);
}

static sp_status parse_subscript(einsum_state *state, sp_bytes text, sp_bytes equation,
				 subscript *out, sp_error *err)
{
	for (size_t i = 0; i < text.size; i++) {
		int label;

		if (out->count == SP_MAX_RANK + 1)
			return refuse_equation(equation, "has too many dimensions", err);
		if (text.data[i] != '.') {
			label = label_of(state, text.data[i]);
		} else {
			if (out->has_ellipsis || text.size - i < 3 ||
			    memcmp(text.data + i, "...", 3) != 0)
				return refuse_equation(equation, "has a stray '.'", err);
			out->has_ellipsis = true;
			label = ELLIPSIS;
			i += 2;
		}
		if (label < 0)
			return refuse_equation(equation, "has too many labels", err);
		out->labels[out->count++] = (uint8_t)label;
	}
	return SP_OK;
}

/* The offset of `what` in `text` from `from` on, or text.size. */
static size_t find(sp_bytes text, size_t from, const char *what)
{
	const char *at = NULL;

	if (from < text.size)
		at = memmem(text.data + from, text.size - from, what, strlen(what));
	return at != NULL ? (size_t)(at - text.data) : text.size;
}

static sp_status parse_equation(einsum_state *state, sp_bytes equation, sp_error *err)
{
	size_t arrow = find(equation, 0, "->"), from = 0;
	int known;

	if (arrow == equation.size || find(equation, arrow + 2, "->") != equation.size)
		return sp_error_set(err, SP_INVALID,
				    "einsum equation '%.*s' must have exactly one '->'",
				    (int)equation.size, equation.data);
	for (state->operands = 0; from <= arrow; state->operands++) {
		size_t end = find((sp_bytes){equation.data, arrow}, from, ",");

		if (state->operands == 2)
			return sp_error_set(err, SP_INVALID,
					    "einsum equation '%.*s' has more than two operands",
					    (int)equation.size, equation.data);
		SP_TRY(parse_subscript(state, (sp_bytes){equation.data + from, end - from},
				       equation, &state->subscripts[state->operands], err));
		from = end + 1;
	}
	known = state->name_count;
	SP_TRY(parse_subscript(state,
			       (sp_bytes){equation.data + arrow + 2, equation.size - arrow - 2},
			       equation, &state->subscripts[OUT], err));
	if (state->name_count != known)
		return refuse_equation(equation, "has an output label that no operand has", err);
	return SP_OK;
}

static sp_status prepare_einsum(sp_prepare *prepare, sp_error *err)
{
	einsum_state *state = sp_prepare_state(prepare, sizeof(*state));
	sp_bytes equation;
	sp_dtype dtype;

	SP_NEED_MEMORY(state, err, "an operator");
	SP_TRY(sp_node_attr_bytes(prepare->node, "equation", "", &equation, err));
	SP_TRY(parse_equation(state, equation, err));
	SP_TRY(sp_prepare_types(prepare, state->operands == 1 ? "T -> T" : "T T -> T", err));
	dtype = prepare->in_dtypes[0];
	state->collect = collectors[dtype];
	state->multiply = sp_gemm__find(dtype);
	state->pair = pairs[dtype];
	return state->collect != NULL ? SP_OK : sp_prepare_unsupported(prepare, dtype, err);
}

/* -------------------------------------------------------------- the labels */

typedef struct label {
	int64_t size;
	bool in[3];       /* operand 0, operand 1, the output */
	size_t stride[3]; /* in elements; 0 where it is absent or broadcasts */
} label;

typedef struct binding {
	label labels[LABELS];
	int ellipsis; /* the largest number of dimensions that "..." stands for */
	sp_shape out;
} binding;

/* The labels of the dimensions of an operand of that rank; false when the rank does not fit. */
static bool expand(const subscript *s, int rank, uint8_t *labels)
{
	int hidden = rank - (s->count - s->has_ellipsis), n = 0;

	if (hidden < 0 || (hidden > 0 && !s->has_ellipsis))
		return false;
	for (int i = 0; i < s->count; i++)
		if (s->labels[i] != ELLIPSIS)
			labels[n++] = s->labels[i];
		else
			for (int k = 0; k < hidden; k++)
				labels[n++] = (uint8_t)(HIDDEN - hidden + k);
	return true;
}

/* Checks that `dim` fits the size of the label, or sets it.  Only dimensions of "..." broadcast. */
static bool agree(label *l, int64_t dim, bool broadcasts)
{
	bool known = l->in[0] || l->in[1];

	if (!known || (broadcasts && l->size == 1))
		l->size = dim;
	else if (l->size != dim && !(broadcasts && dim == 1))
		return false;
	return true;
}

static sp_status bind_operand(const sp_call *call, size_t i, binding *b)
{
	const einsum_state *state = call->state;
	const sp_shape *shape = &call->in[i]->shape;
	uint8_t labels[SP_MAX_RANK];
	char text[SP_SHAPE_TEXT_SIZE];
	size_t stride = 1;

	if (!expand(&state->subscripts[i], shape->rank, labels))
		return sp_call_invalid(call, "operand %zu of shape %s does not fit its %d labels",
				       i, sp_shape_text(shape, text), state->subscripts[i].count);
	for (int d = shape->rank - 1; d >= 0; d--) {
		label *l = &b->labels[labels[d]];

		if (!agree(l, shape->dims[d], labels[d] < HIDDEN))
			return sp_call_invalid(
				call, "dimension %d of operand %zu, of shape %s, is not %lld", d, i,
				sp_shape_text(shape, text), (long long)l->size);
		l->in[i] = true;
		if (shape->dims[d] != 1)
			l->stride[i] += stride;
		stride *= (size_t)shape->dims[d];
		if (HIDDEN - labels[d] > b->ellipsis)
			b->ellipsis = HIDDEN - labels[d];
	}
	return SP_OK;
}

static sp_status bind_output(const sp_call *call, binding *b)
{
	const einsum_state *state = call->state;
	const subscript *s = &state->subscripts[OUT];
	int rank = s->count - s->has_ellipsis + b->ellipsis;
	uint8_t labels[SP_MAX_RANK];

	if (b->ellipsis > 0 && !s->has_ellipsis)
		return sp_call_invalid(call, "the output has no '...' for %d dimensions",
				       b->ellipsis);
	if (rank > SP_MAX_RANK)
		return sp_error_set(call->err, SP_UNSUPPORTED, "the output has %d dimensions",
				    rank);
	(void)expand(s, rank, labels);
	b->out.rank = rank;
	for (int d = 0; d < rank; d++) {
		b->out.dims[d] = b->labels[labels[d]].size;
		b->labels[labels[d]].in[OUT] = true;
	}
	SP_TRY(sp_call_output(call, 0, call->in[0]->dtype, &b->out));
	for (size_t d = (size_t)rank, stride = 1; d-- > 0;) {
		b->labels[labels[d]].stride[OUT] += stride;
		stride *= (size_t)b->out.dims[d];
	}
	return SP_OK;
}

/* --------------------------------------------------------------- the walks */

typedef enum role { BATCH, LEFT, RIGHT, INNER, ALONE, ROLES } role;

static role role_of(const binding *b, int number)
{
	const label *l = &b->labels[number];

	if (number < HIDDEN)
		return BATCH;
	if (l->in[OUT])
		return l->in[0] && l->in[1] ? BATCH : l->in[0] ? LEFT : RIGHT;
	return l->in[0] && l->in[1] ? INNER : ALONE;
}

/* The size of operand i (or the output) along a label; 1 where it is absent or broadcasts. */
static int64_t length_of(const binding *b, int number, int i)
{
	const label *l = &b->labels[number];

	return l->stride[i] != 0 ? l->size : 1;
}

/* The labels of one role, in the order of their numbers. */
typedef struct group {
	uint8_t labels[LABELS];
	int count;
	size_t size; /* the product of their sizes */
} group;

static sp_status group_labels(const sp_call *call, const binding *b, group groups[ROLES])
{
	for (int r = 0; r < ROLES; r++)
		groups[r] = (group){.size = 1};
	for (int i = 0; i < LABELS; i++) {
		const label *l = &b->labels[i];
		group *g = &groups[role_of(b, i)];

		if (!l->in[0] && !l->in[1])
			continue;
		g->labels[g->count++] = (uint8_t)i;
		if (!sp_size_mul(&g->size, g->size, (size_t)l->size))
			return sp_call_no_memory(call);
	}
	return SP_OK;
}

/* Adds the labels of a group that operand i (or the output) has to a walk over it. */
static void walk_group(sp_reduce_walk *walk, const binding *b, const group *g, int i)
{
	for (int k = 0; k < g->count; k++) {
		const label *l = &b->labels[g->labels[k]];

		if (!l->in[i])
			continue;
		walk->dims[walk->rank] = (size_t)length_of(b, g->labels[k], i);
		walk->strides[walk->rank++] = l->stride[i];
	}
}

static bool is_dense(const sp_reduce_walk *walk)
{
	size_t stride = 1;

	for (int i = walk->rank - 1; i >= 0; i--) {
		if (walk->dims[i] != 1 && walk->strides[i] != stride)
			return false;
		stride *= walk->dims[i];
	}
	return true;
}

/* Copies strided elements (in the order of the walk) to a dense array, or back if `spreads`. */
static void copy_walk(const sp_reduce_walk *walk, size_t size, bool spreads, void *to,
		      const void *from)
{
	int64_t dense[SP_MAX_RANK], stride = (int64_t)size;
	sp_strided_copy copy = {.rank = 0};

	for (int d = walk->rank; d-- > 0; stride *= (int64_t)walk->dims[d])
		dense[d] = stride;
	for (int d = 0; d < walk->rank; d++) {
		int64_t walked = (int64_t)(walk->strides[d] * size);

		sp_strided_copy__add(&copy, (int64_t)walk->dims[d], spreads ? walked : dense[d],
				     spreads ? dense[d] : walked);
	}
	sp_strided_copy__run(&copy, to, from, size);
}

/* ----------------------------------------------------------- the operands */

/* [BATCH, LEFT or RIGHT, INNER], or [BATCH, INNER, LEFT or RIGHT] if `inner_first`. */
typedef struct operand {
	const void *data;
	bool inner_first;
	sp_tensor copy; /* owns the data if they were copied */
} operand;

static sp_status scratch(const sp_call *call, size_t count, sp_tensor *out)
{
	sp_shape shape = sp_shape_vector((int64_t)count);

	return sp_workspace_tensor(call->workspace, out, call->in[0]->dtype, &shape, call->err);
}

/* The number of steps; cannot overflow, because it is at most the size of a tensor. */
static size_t count_of(const sp_reduce_walk *walk)
{
	size_t count = 1;

	for (int i = 0; i < walk->rank; i++)
		count *= walk->dims[i];
	return count;
}

/* Finds which of the two orders the operand has in memory; copies it if it has neither. */
static sp_status arrange(const sp_call *call, const binding *b, const group *groups, int i,
			 operand *o)
{
	const einsum_state *state = call->state;
	role own = i == 0 ? LEFT : RIGHT;
	sp_reduce_walk orders[2] = {{.rank = 0}}, reduced = {.rank = 0}, *kept;

	o->data = call->in[i]->data;
	walk_group(&reduced, b, &groups[ALONE], i);
	for (int inner_first = 0; inner_first < 2; inner_first++) {
		walk_group(&orders[inner_first], b, &groups[BATCH], i);
		walk_group(&orders[inner_first], b, &groups[inner_first ? INNER : own], i);
		walk_group(&orders[inner_first], b, &groups[inner_first ? own : INNER], i);
		o->inner_first = inner_first;
		if (count_of(&reduced) == 1 && is_dense(&orders[inner_first]))
			return SP_OK;
	}
	o->inner_first = i == 1;
	kept = &orders[o->inner_first];
	SP_TRY(scratch(call, count_of(kept), &o->copy));
	if (count_of(&reduced) == 1)
		copy_walk(kept, sp_dtype_size(o->copy.dtype), false, o->copy.data, o->data);
	else
		state->collect(o->data, o->copy.data, kept, &reduced);
	o->data = o->copy.data;
	return SP_OK;
}

/* -------------------------------------------------------------- the product */

static sp_shape batch_shape(const binding *b, const group *batch, int i)
{
	sp_shape shape = {.rank = batch->count};

	for (int k = 0; k < batch->count; k++)
		shape.dims[k] = length_of(b, batch->labels[k], i);
	return shape;
}

static void multiply(const sp_call *call, const binding *b, const group *groups,
		     const operand operands[2], void *to)
{
	const einsum_state *state = call->state;
	sp_shape shapes[2] = {batch_shape(b, &groups[BATCH], 0), batch_shape(b, &groups[BATCH], 1)};
	sp_broadcast batches;
	sp_gemm g = {.m = groups[LEFT].size,
		     .n = groups[RIGHT].size,
		     .k = groups[INNER].size,
		     .a = operands[0].data,
		     .b = operands[1].data,
		     .c = to};

	g.a_row = operands[0].inner_first ? 1 : g.k;
	g.a_column = operands[0].inner_first ? g.m : 1;
	g.b_row = operands[1].inner_first ? g.n : 1;
	g.b_column = operands[1].inner_first ? 1 : g.k;
	/* Cannot fail: agree() has checked that the batch dimensions broadcast. */
	(void)sp_broadcast__plan(&batches, (const sp_shape *[]){&shapes[0], &shapes[1]}, 2);
	sp_gemm__batch(state->multiply, &g, &batches, sp_dtype_size(call->in[0]->dtype));
}

/* Whether nothing is summed and no letter repeats: every output element is one product. */
static bool is_pairs(const einsum_state *state, const binding *b, const group *groups)
{
	int labels = groups[BATCH].count + groups[LEFT].count + groups[RIGHT].count;

	return state->operands == 2 && groups[INNER].size == 1 && groups[ALONE].size == 1 &&
	       b->out.rank > 0 && b->out.rank == labels;
}

static void multiply_pairs(const sp_call *call, const binding *b)
{
	const einsum_state *state = call->state;
	factor factors[2] = {{.data = call->in[0]->data}, {.data = call->in[1]->data}};
	int last = b->out.rank - 1;
	uint8_t labels[SP_MAX_RANK];

	(void)expand(&state->subscripts[OUT], b->out.rank, labels);
	for (int i = 0; i < 2; i++) {
		sp_reduce_walk *walk = &factors[i].walk;

		for (walk->rank = 0; walk->rank < last; walk->rank++) {
			walk->dims[walk->rank] = (size_t)b->out.dims[walk->rank];
			walk->strides[walk->rank] = b->labels[labels[walk->rank]].stride[i];
		}
		factors[i].stride = b->labels[labels[last]].stride[i];
	}
	state->pair(&factors[0], &factors[1], (size_t)b->out.dims[last], call->out[0]->data);
}

/* Intermediate results. */
typedef struct parts {
	operand operands[2];
	sp_tensor result; /* [BATCH, LEFT, RIGHT], if the output has another order */
} parts;

static void clear(const sp_tensor *t)
{
	memset(t->data, 0, t->count * sp_dtype_size(t->dtype));
}

static sp_status contract(const sp_call *call, const binding *b, const group *groups, parts *p)
{
	size_t size = sp_dtype_size(call->in[0]->dtype);
	sp_reduce_walk walk = {.rank = 0};
	void *to = call->out[0]->data;
	const void *made;
	bool repeats; /* a letter repeats in the output, which is 0 off that diagonal */

	walk_group(&walk, b, &groups[BATCH], OUT);
	walk_group(&walk, b, &groups[LEFT], OUT);
	walk_group(&walk, b, &groups[RIGHT], OUT);
	repeats = b->out.rank != walk.rank;
	if (repeats)
		clear(call->out[0]);
	for (size_t i = 0; i < call->in_count; i++)
		SP_TRY(arrange(call, b, groups, (int)i, &p->operands[i]));
	made = p->operands[0].data;
	if (call->in_count == 2) {
		if (repeats || !is_dense(&walk)) {
			SP_TRY(scratch(call, count_of(&walk), &p->result));
			to = p->result.data;
		}
		multiply(call, b, groups, p->operands, to);
		made = to;
	}
	if (made != call->out[0]->data)
		copy_walk(&walk, size, true, call->out[0]->data, made);
	return SP_OK;
}

static void release(const sp_call *call, parts *p)
{
	for (int i = 0; i < 2; i++)
		sp_workspace_release(call->workspace, &p->operands[i].copy);
	sp_workspace_release(call->workspace, &p->result);
}

static sp_status run_einsum(const sp_call *call)
{
	parts p = {0};
	binding b = {0};
	group groups[ROLES];
	sp_status status;

	for (size_t i = 0; i < call->in_count; i++)
		SP_TRY(bind_operand(call, i, &b));
	SP_TRY(bind_output(call, &b));
	if (call->out[0]->count == 0)
		return SP_OK;
	for (size_t i = 0; i < call->in_count; i++)
		if (call->in[i]->count == 0) {
			clear(call->out[0]);
			return SP_OK;
		}
	SP_TRY(group_labels(call, &b, groups));
	if (is_pairs(call->state, &b, groups)) {
		multiply_pairs(call, &b);
		return SP_OK;
	}
	status = contract(call, &b, groups, &p);
	release(call, &p);
	return status;
}

SP_DEFINE_OP(Einsum, NULL, 0, prepare_einsum, run_einsum);
SP_DEFINE_OP(XlaEinsum, NULL, 0, prepare_einsum, run_einsum);
