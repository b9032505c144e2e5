#include "engine/rows/row_fact.h"

#include <ctype.h>
#include <string.h>

#include "engine/ops/nn/dense.h"

/*
 * What each operator does to rows.  A rule fills in an output when the conditions are met, and else
 * leaves it unknown.  Operators that are not in the table may mix rows.
 */

/* ------------------------------------------------------------------ elementwise */

/* Whether two values that are not fixed have the same dimension 0. */
static bool same_lead(const sp_row_fact *a, const sp_row_fact *b)
{
	return a->kind == b->kind &&
	       (a->kind == SP_ROW_DISTINCT ? a->of == b->of : a->lead.set == b->lead.set);
}

/*
 * The first input that is not fixed; a fixed one if there is none.  NULL when inputs do not have
 * one dimension 0.
 */
static const sp_row_fact *leader(const sp_row_step *step)
{
	const sp_row_fact *found = NULL;

	for (size_t i = 0; i < step->in_count; i++) {
		const sp_row_fact *in = step->in[i];

		if (sp_row_is_fixed(in))
			continue;
		if ((!sp_row_has_lead(in) && in->kind != SP_ROW_DISTINCT) ||
		    (found != NULL && !same_lead(found, in)))
			return NULL;
		found = found != NULL ? found : in;
	}
	return found != NULL || step->in_count == 0 ? found : step->in[0];
}

/* Elementwise with broadcasting.  A fixed value has fewer dimensions than rows, or 1 for them. */
static void alike(sp_row_step *step)
{
	const sp_row_fact *lead = leader(step);
	sp_row_fact out = {.kind = SP_ROW_FIXED};

	for (size_t i = 0; i < step->in_count; i++)
		out.rank = step->in[i]->rank > out.rank ? step->in[i]->rank : out.rank;
	for (int d = 0; d < out.rank; d++)
		out.dims[d] = sp_row_known(1);
	if (lead == NULL || (!sp_row_is_fixed(lead) && lead->rank != out.rank))
		return;
	if (!sp_row_is_fixed(lead))
		out = *lead;
	for (size_t i = 0; i < step->in_count; i++) {
		const sp_row_fact *in = step->in[i];
		int shift = out.rank - in->rank;

		for (int d = 0; d < in->rank; d++) {
			bool is_lead = d + shift == 0 && !sp_row_is_fixed(lead);

			if (is_lead && sp_row_is_fixed(in) && sp_row_is(in->dims[d], 1, false))
				continue;
			if ((is_lead && sp_row_is_fixed(in)) ||
			    !sp_row_join(&out.dims[d + shift], in->dims[d]))
				return;
		}
		if (shift != 0 && !sp_row_is_fixed(in))
			return;
	}
	step->out[0] = out;
}

/* Select takes a vector of conditions for the rows of matrices. */
static void select_rows(sp_row_step *step)
{
	const sp_row_fact *condition = step->in[0], *then = step->in[1];

	if (condition->rank != 1 || then->rank <= 1) {
		alike(step);
		return;
	}
	for (size_t i = 0; i < 3; i++)
		if (step->in[i]->kind != SP_ROW_ROWS || (i != 0 && step->in[i]->rank != then->rank))
			return;
	step->out[0] = *then;
	for (int d = 0; d < then->rank; d++)
		if (!sp_row_join(&step->out[0].dims[d], step->in[2]->dims[d]))
			step->out[0].kind = SP_ROW_UNKNOWN;
	if (!sp_row_join(&step->out[0].dims[0], condition->dims[0]))
		step->out[0].kind = SP_ROW_UNKNOWN;
}

/* Products of scalars that follow from the number of rows. */
static void multiply(sp_row_step *step)
{
	sp_row_number a[SP_MAX_RANK], b[SP_MAX_RANK];
	int count, other;

	if (sp_row_numbers(step->in[0], a, &count) && sp_row_numbers(step->in[1], b, &other) &&
	    step->in[0]->rank == 0 && step->in[1]->rank == 0 && sp_row_multiply(a, b[0]))
		step->out[0] = sp_row_make_numbers(a, 1, 0);
	else
		alike(step);
}

/* What JAX asks of a dimension of any size: R, which is 2 or more, is at least 1. */
static void at_least(sp_row_step *step)
{
	const sp_row_fact *a = step->in[0];

	if (a->kind == SP_ROW_NUMBERS && a->rank == 0 && a->numbers[0].by_rows &&
	    a->numbers[0].factor >= 1 && sp_row_scalar(step->in[1], INT64_MAX) <= 1)
		step->out[0] = (sp_row_fact){.kind = SP_ROW_FIXED, .rank = 0};
	else
		alike(step);
}

/* The value itself. */
static void same(sp_row_step *step)
{
	for (size_t i = 0; i < step->in_count && i < step->out_count; i++)
		step->out[i] = *step->in[i];
}

static void cast(sp_row_step *step)
{
	const sp_attr *to = sp_node_attr(step->node, "DstT");
	bool to_index = to != NULL && to->kind == SP_ATTR_TYPE &&
			(to->type == SP_INT32 || to->type == SP_INT64);

	if (to_index && leader(step) == NULL)
		same(step);
	else
		alike(step);
}

static void uniform(sp_row_step *step)
{
	alike(step);
	step->uniform = true;
}

static void ensure_shape(sp_row_step *step)
{
	const sp_attr *shape = sp_node_attr(step->node, "shape");

	if (step->in[0]->kind == SP_ROW_ROWS && shape != NULL && shape->kind == SP_ATTR_SHAPE &&
	    (shape->shape->rank < 0 || (shape->shape->rank > 0 && shape->shape->dims[0] < 0)))
		same(step);
}

/* A lookup table of scalars by scalar keys. */
static void table_find(sp_row_step *step)
{
	const sp_row_fact *keys = step->in[1];
	sp_resource *table;

	if (step->in[0]->value == NULL || step->in[2]->rank != 0 || !sp_row_is_fixed(step->in[2]) ||
	    (!sp_row_has_lead(keys) && keys->kind != SP_ROW_DISTINCT) ||
	    sp_resources_get(step->resources, step->in[0]->value, SP_RESOURCE_HASH_TABLE, &table,
			     NULL) != SP_OK ||
	    table->key_width != 0 || table->shape.rank != 0)
		return;
	step->out[0] = *keys;
}

/* -------------------------------------------------------- along other dimensions */

/* Whether every axis in input 1 is an axis of input 0 that is not 0; marks them. */
static bool read_axes(const sp_row_step *step, bool marked[SP_MAX_RANK])
{
	sp_row_number axes[SP_MAX_RANK];
	int count;

	for (int d = 0; d < SP_MAX_RANK; d++)
		marked[d] = false;
	if (step->in[1]->kind != SP_ROW_FIXED || !sp_row_numbers(step->in[1], axes, &count))
		return false;
	for (int i = 0; i < count; i++) {
		int axis = sp_row_axis(axes[i].factor, step->in[0]->rank);

		if (axis == 0)
			return false;
		marked[axis] = true;
	}
	return true;
}

static void reduce(sp_row_step *step)
{
	const sp_row_fact *in = step->in[0];
	bool keep = sp_row_attr(step->node, "keep_dims", 0) != 0, gone[SP_MAX_RANK];
	sp_row_fact out = *in;

	if (!sp_row_has_lead(in) || !read_axes(step, gone))
		return;
	out.rank = 0;
	for (int d = 0; d < in->rank; d++)
		if (!gone[d])
			out.dims[out.rank++] = in->dims[d];
		else if (keep)
			out.dims[out.rank++] = sp_row_known(1);
	step->out[0] = out;
}

/* Of numbers, or as all reductions. */
static void prod(sp_row_step *step)
{
	sp_row_number product = sp_row_known(1);

	if (step->in[0]->kind != SP_ROW_NUMBERS) {
		reduce(step);
		return;
	}
	for (int i = 0; step->in[0]->rank == 1 && i < step->in[0]->dims[0].factor; i++)
		if (!sp_row_multiply(&product, step->in[0]->numbers[i]))
			return;
	if (step->in[0]->rank == 1 && sp_row_scalar(step->in[1], INT64_MAX) == 0 &&
	    sp_row_attr(step->node, "keep_dims", 0) == 0)
		step->out[0] = sp_row_make_numbers(&product, 1, 0);
}

/* All of all elements: true when it is true in all parts. */
static void all(sp_row_step *step)
{
	sp_row_number axes[SP_MAX_RANK];
	int count;

	if (step->in[0]->rank >= 1 && sp_row_has_lead(step->in[0]) &&
	    sp_row_attr(step->node, "keep_dims", 0) == 0 &&
	    sp_row_numbers(step->in[1], axes, &count) && count == step->in[0]->rank)
		step->out[0] = (sp_row_fact){.kind = SP_ROW_ALL, .id = step->fresh};
	else
		reduce(step);
}

/* Softmax along the last dimension. */
static void last(sp_row_step *step)
{
	if (sp_row_has_lead(step->in[0]) && step->in[0]->rank >= 2)
		step->out[0] = *step->in[0];
}

/* The shape stays; input 1 has the axes. */
static void along(sp_row_step *step)
{
	bool marked[SP_MAX_RANK];

	if (sp_row_has_lead(step->in[0]) && read_axes(step, marked))
		step->out[0] = *step->in[0];
}

static void top_k(sp_row_step *step)
{
	if (!sp_row_has_lead(step->in[0]) || step->in[0]->rank < 2 || !sp_row_is_fixed(step->in[1]))
		return;
	for (size_t i = 0; i < 2; i++) {
		step->out[i] = *step->in[0];
		step->out[i].dims[step->in[0]->rank - 1] = sp_row_known(
			sp_row_scalar(step->in[1], SP_ROW_ANY));
	}
}

/* Split(axis, x) */
static void split(sp_row_step *step)
{
	const sp_row_fact *in = step->in[1];
	int axis = sp_row_axis(sp_row_scalar(step->in[0], 0), in->rank);
	int64_t parts = (int64_t)step->out_count;

	if (!sp_row_has_lead(in) || axis == 0)
		return;
	for (size_t i = 0; i < step->out_count; i++) {
		int64_t *size = &step->out[i].dims[axis].factor;

		step->out[i] = *in;
		*size = *size != SP_ROW_ANY && *size % parts == 0 ? *size / parts : SP_ROW_ANY;
	}
}

static void one_hot(sp_row_step *step)
{
	const sp_row_fact *in = step->in[0];
	int64_t axis = sp_row_attr(step->node, "axis", -1);
	int at = axis == -1 ? in->rank : sp_row_axis(axis, in->rank + 1);

	if (!sp_row_has_lead(in) || in->rank == SP_MAX_RANK || at == 0 ||
	    !sp_row_is_fixed(step->in[1]) || !sp_row_is_fixed(step->in[2]) ||
	    !sp_row_is_fixed(step->in[3]))
		return;
	step->out[0] = *in;
	step->out[0].dims[at] = sp_row_known(sp_row_scalar(step->in[1], SP_ROW_ANY));
	step->out[0].rank = at + 1;
	(void)sp_row_append(&step->out[0], in, at);
}

static void band_part(sp_row_step *step)
{
	if (step->in[0]->kind == SP_ROW_ROWS && step->in[0]->rank >= 3 &&
	    sp_row_is_fixed(step->in[1]) && sp_row_is_fixed(step->in[2]))
		step->out[0] = *step->in[0];
}

/* --------------------------------------------------------------------- products */

static void dense(sp_row_step *step)
{
	const sp_row_fact *in = step->in[0], *layer = step->in[1];

	if (in->kind != SP_ROW_ROWS || in->rank != 2 || layer->value == NULL)
		return;
	step->out[0] = *in;
	step->out[0].dims[1] = sp_row_known(sp_dense_width(layer->value));
}

static void bias_add(sp_row_step *step)
{
	if (sp_row_has_lead(step->in[0]) && step->in[0]->rank >= 2 && sp_row_is_fixed(step->in[1]))
		step->out[0] = *step->in[0];
}

/* MatMul, BatchMatMul: the rows are those of a left matrix, or one of the batch dimensions. */
static void product(sp_row_step *step)
{
	const sp_row_fact *a = step->in[0], *b = step->in[1];
	bool plain = step->node->opcode == SP_OPCODE_MatMul;
	bool left = sp_row_attr(step->node, plain ? "transpose_a" : "adj_x", 0) != 0;
	bool right = sp_row_attr(step->node, plain ? "transpose_b" : "adj_y", 0) != 0;
	sp_row_fact out = a->kind == SP_ROW_ROWS ? *a : *b;

	if (out.kind != SP_ROW_ROWS || a->rank < 2 || b->rank < 2)
		return;
	for (int i = 0; i < 2; i++) {
		const sp_row_fact *in = step->in[i];

		if (in->kind == SP_ROW_ROWS ? in->rank != out.rank : !sp_row_is_fixed(in))
			return;
		if (in->kind != SP_ROW_ROWS && in->rank > out.rank)
			return;
	}
	if (out.rank == 2 && (a->kind != SP_ROW_ROWS || b->kind == SP_ROW_ROWS || left))
		return;
	for (int i = 0; i < 2 && out.rank > 2; i++) {
		const sp_row_fact *in = step->in[i];

		for (int d = 0; d < in->rank - 2; d++) {
			int to = d + out.rank - in->rank;

			if (to == 0 && in->kind != SP_ROW_ROWS) {
				if (!sp_row_is(in->dims[d], 1, false))
					return;
			} else if (!sp_row_join(&out.dims[to], in->dims[d])) {
				return;
			}
		}
	}
	out.dims[out.rank - 2] = a->dims[a->rank - (left ? 1 : 2)];
	out.dims[out.rank - 1] = b->dims[b->rank - (right ? 2 : 1)];
	step->out[0] = out;
}

/* Reads the letters of an operand; false: there is something else, or a letter twice. */
static bool read_letters(sp_bytes text, size_t first, char end, const sp_row_fact *fact,
			 sp_row_number sizes[128])
{
	size_t rank = (size_t)fact->rank;

	if (first + rank >= text.size || text.data[first + rank] != end)
		return false;
	for (size_t d = 0; d < rank; d++) {
		unsigned char c = (unsigned char)text.data[first + d];

		if (!isalpha(c) || c >= 128 || memchr(text.data + first, c, d) != NULL)
			return false;
		if (sizes[c].factor == 0)
			sizes[c] = fact->dims[d];
		else if (!sp_row_join(&sizes[c], fact->dims[d]))
			return false;
	}
	return true;
}

/* The first letter of the output is the rows of all operands that have rows, and in no other. */
static void einsum(sp_row_step *step)
{
	sp_row_number sizes[128] = {{0}};
	sp_row_fact out = {.kind = SP_ROW_ROWS};
	sp_bytes text;
	char row = 0;
	size_t at = 0;

	if (sp_node_attr_bytes(step->node, "equation", "", &text, NULL) != SP_OK)
		return;
	for (size_t i = 0; i < step->in_count; i++) {
		const sp_row_fact *in = step->in[i];
		char end = i + 1 < step->in_count ? ',' : '-';
		size_t first = at;

		if ((in->kind != SP_ROW_ROWS && !sp_row_is_fixed(in)) || first >= text.size ||
		    !read_letters(text, first, end, in, sizes))
			return;
		if (in->kind == SP_ROW_ROWS && row != 0 && row != text.data[first])
			return;
		row = in->kind == SP_ROW_ROWS ? text.data[first] : row;
		at = first + (size_t)in->rank + 1;
	}
	if (at >= text.size || text.data[at++] != '>')
		return;
	for (; at < text.size && out.rank < SP_MAX_RANK; at++) {
		unsigned char c = (unsigned char)text.data[at];

		if (c >= 128 || sizes[c].factor == 0 || sizes[c].by_rows != (out.rank == 0))
			return;
		out.dims[out.rank++] = sizes[c];
	}
	if (at == text.size && out.rank > 0)
		step->out[0] = out;
}

/* -------------------------------------------------------------------- the table */

#define OP(op, rule) [SP_OPCODE_##op] = (rule),
#define ALIKE(op)    OP(op, alike)

/* clang-format off */
static sp_row_rule *const rules[] = {
	ALIKE(Abs) ALIKE(Acos) ALIKE(Acosh) ALIKE(Add) ALIKE(AddN) ALIKE(AddV2) ALIKE(AsString)
	ALIKE(Asin) ALIKE(Asinh) ALIKE(Atan) ALIKE(Atan2) ALIKE(Atanh) ALIKE(BitwiseAnd)
	ALIKE(BitwiseOr) ALIKE(BitwiseXor) ALIKE(Bucketize) ALIKE(Ceil) ALIKE(CheckNumerics)
	ALIKE(ClipByValue) ALIKE(Cos) ALIKE(Cosh) ALIKE(Cube) ALIKE(Digamma) ALIKE(Div)
	ALIKE(DivNoNan) ALIKE(Elu) ALIKE(Equal) ALIKE(Erf) ALIKE(Erfc) ALIKE(Erfinv) ALIKE(Exp)
	ALIKE(Expm1) ALIKE(Floor) ALIKE(FloorDiv) ALIKE(FloorMod) ALIKE(Greater) ALIKE(Inv)
	ALIKE(Invert) ALIKE(IsFinite) ALIKE(IsInf) ALIKE(IsNan) ALIKE(LeakyRelu) ALIKE(LeftShift)
	ALIKE(Less) ALIKE(LessEqual) ALIKE(Lgamma) ALIKE(Log) ALIKE(Log1p) ALIKE(LogicalAnd)
	ALIKE(LogicalNot) ALIKE(LogicalOr) ALIKE(Maximum) ALIKE(Minimum) ALIKE(Mod) ALIKE(MulNoNan)
	ALIKE(Ndtri) ALIKE(Neg) ALIKE(NextAfter) ALIKE(NotEqual) ALIKE(PopulationCount) ALIKE(Pow)
	ALIKE(RealDiv) ALIKE(Reciprocal) ALIKE(Relu) ALIKE(Relu6) ALIKE(RightShift) ALIKE(Rint)
	ALIKE(Round) ALIKE(Rsqrt) ALIKE(SelectV2) ALIKE(Selu) ALIKE(Sigmoid) ALIKE(Sign) ALIKE(Sin)
	ALIKE(Sinh) ALIKE(Softplus) ALIKE(Softsign) ALIKE(Sqrt) ALIKE(Square)
	ALIKE(SquaredDifference) ALIKE(StaticRegexFullMatch) ALIKE(StaticRegexReplace)
	ALIKE(StringJoin) ALIKE(StringLength) ALIKE(StringLower) ALIKE(StringStrip)
	ALIKE(StringToHashBucket) ALIKE(StringToHashBucketFast) ALIKE(StringToHashBucketStrong)
	ALIKE(StringToNumber) ALIKE(StringUpper) ALIKE(Sub) ALIKE(Substr) ALIKE(Tan) ALIKE(Tanh)
	ALIKE(TruncateDiv) ALIKE(TruncateMod) ALIKE(Xdivy) ALIKE(Xlog1py) ALIKE(Xlogy)

	OP(OnesLike, uniform) OP(ZerosLike, uniform)
	OP(Mul, multiply) OP(GreaterEqual, at_least) OP(Select, select_rows) OP(Cast, cast)
	OP(Identity, same) OP(Snapshot, same) OP(StopGradient, same)
	OP(EnsureShape, ensure_shape) OP(LookupTableFind, table_find)
	OP(LookupTableFindV2, table_find)

	OP(Any, reduce) OP(EuclideanNorm, reduce) OP(Max, reduce) OP(Mean, reduce) OP(Min, reduce)
	OP(Sum, reduce) OP(Prod, prod) OP(All, all)
	OP(LogSoftmax, last) OP(Softmax, last) OP(Cumprod, along) OP(Cumsum, along)
	OP(ReverseV2, along) OP(ArgMax, reduce) OP(ArgMin, reduce) OP(TopKV2, top_k)
	OP(Split, split) OP(OneHot, one_hot) OP(MatrixBandPart, band_part)

	OP(Dense, dense) OP(BiasAdd, bias_add) OP(BiasAddV1, bias_add) OP(MatMul, product)
	OP(BatchMatMul, product) OP(BatchMatMulV2, product) OP(BatchMatMulV3, product)
	OP(Einsum, einsum)

	OP(Reshape, sp_row__reshape) OP(ExpandDims, sp_row__expand_dims)
	OP(Squeeze, sp_row__squeeze) OP(Transpose, sp_row__transpose) OP(Tile, sp_row__tile)
	OP(StridedSlice, sp_row__strided_slice) OP(Slice, sp_row__slice) OP(Shape, sp_row__shape)
	OP(ShapeN, sp_row__shape) OP(Size, sp_row__size) OP(Fill, sp_row__fill)
	OP(Pack, sp_row__pack) OP(Concat, sp_row__concat)
	OP(ConcatV2, sp_row__concat)

	OP(Where, sp_row__where) OP(Gather, sp_row__gather) OP(GatherV2, sp_row__gather)
	OP(GatherNd, sp_row__gather_nd) OP(Unique, sp_row__unique)
	OP(UniqueWithCounts, sp_row__unique) OP(SparseFillEmptyRows, sp_row__fill_empty)
	OP(SparseReshape, sp_row__sparse_reshape) OP(SparseToDense, sp_row__to_dense)
	OP(SegmentSum, sp_row__segment) OP(SegmentMean, sp_row__segment)
	OP(SparseSegmentSum, sp_row__sparse_segment) OP(SparseSegmentMean, sp_row__sparse_segment)
	OP(SparseSegmentSqrtN, sp_row__sparse_segment) OP(EmbeddingColumns, sp_row__columns)
	OP(KvResourceGather, sp_row__kv_gather) OP(KvResourceGatherV1, sp_row__kv_gather)
};
/* clang-format on */

sp_row_rule *sp_row_rule_of(sp_opcode opcode)
{
	return (size_t)opcode < sizeof(rules) / sizeof(rules[0]) ? rules[opcode] : NULL;
}
