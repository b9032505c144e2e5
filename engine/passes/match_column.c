#include "engine/passes/match_column_internal.h"

/*
 * The nodes of a column, from its end to its beginning:
 *
 *   Select             zeros in rows without keys              match_select
 *   SparseSegmentMean  or a weighted sum by hand                match_unweighted, match_weighted
 *   Unique, gather     rows of the table                        match_rows
 *   SparseFillEmptyRows                                         match_fill
 *   Where, GatherV2    keys >= 0, weights > 0                   match_one_filter
 *   SparseReshape      to two dimensions                        match_flattening
 *   Where, GatherNd    elements that are not empty              match_column_source.c
 *   Range, Tile        or every bucket of a number
 */

static bool is_output(sp_port port, uint32_t node, uint32_t number)
{
	return port.node == node && port.port == number;
}

/* ------------------------------------------------------------ row numbers */

/* int32(indices[:, 0]), the row numbers of SparseFillEmptyRows node *fill. */
static bool match_row_numbers(const sp_column_matcher *ma, sp_port port, uint32_t *fill)
{
	static const int64_t zeros[] = {0, 0}, end[] = {0, 1}, ones[] = {1, 1};
	const sp_node *cast = sp_column__made_by(ma, port, SP_OPCODE_Cast, 1);
	const sp_node *slice = sp_column__made_by(ma, cast != NULL ? cast->inputs[0] : port,
						  SP_OPCODE_StridedSlice, 4);

	if (slice == NULL || slice->inputs[0].port != 0 ||
	    !sp_pattern_is_vector(ma->graph, slice->inputs[1], zeros, 2) ||
	    !sp_pattern_is_vector(ma->graph, slice->inputs[2], end, 2) ||
	    !sp_pattern_is_vector(ma->graph, slice->inputs[3], ones, 2) ||
	    !sp_pattern_attr_int(slice, "begin_mask", 1) ||
	    !sp_pattern_attr_int(slice, "end_mask", 1) ||
	    !sp_pattern_attr_int(slice, "shrink_axis_mask", 2) ||
	    !sp_pattern_attr_int(slice, "ellipsis_mask", 0) ||
	    !sp_pattern_attr_int(slice, "new_axis_mask", 0))
		return false;
	*fill = slice->inputs[0].node;
	return sp_column__made_by(ma, (sp_port){*fill, 0}, SP_OPCODE_SparseFillEmptyRows, 4) !=
	       NULL;
}

/* ------------------------------------------------------------------- rows */

static bool is_weights(const sp_column_matcher *ma, sp_port port)
{
	return ma->early[port.node];
}

/* A gather with other key types than the embedding's is left alone, so that its error names it. */
static bool is_plain_gather(const sp_column_matcher *ma, const sp_node *gather)
{
	const sp_node *handle = sp_column__made_by(ma, gather->inputs[0], SP_OPCODE_KvVarHandleOp,
						   0);
	bool has_fallback;
	sp_dtype keys;

	return handle != NULL &&
	       sp_node_attr_type(handle, "Tkeys", SP_INVALID_DTYPE, &keys, NULL) == SP_OK &&
	       sp_pattern_attr_type(gather, "Tkeys", keys) &&
	       sp_pattern_attr_type(gather, "dtype", SP_FLOAT) &&
	       sp_node_attr_bool(gather, "is_use_default_value_tensor", false, &has_fallback,
				 NULL) == SP_OK &&
	       !has_fallback;
}

/* Rows of a table, gathered by *keys. */
static bool match_gather(sp_column_matcher *ma, sp_port port, sp_port *keys)
{
	sp_column_match *out = ma->out;
	const sp_node *gather = sp_column__made_by(ma, port, SP_OPCODE_KvResourceGather, 3);

	if (gather == NULL)
		gather = sp_column__made_by(ma, port, SP_OPCODE_KvResourceGatherV1, 4);
	if (gather != NULL) {
		out->spec.is_table = true;
		out->inputs[0] = gather->inputs[0];
		*keys = gather->inputs[1];
		return is_plain_gather(ma, gather);
	}
	gather = sp_column__made_by(ma, port, SP_OPCODE_GatherV2, 3);
	if (gather == NULL || !is_weights(ma, gather->inputs[0]) ||
	    !sp_pattern_is_integer(ma->graph, gather->inputs[2], 0) ||
	    !sp_pattern_attr_int(gather, "batch_dims", 0) ||
	    !(sp_pattern_attr_type(gather, "Tparams", SP_FLOAT) ||
	      sp_pattern_attr_type(gather, "dtype", SP_FLOAT))) /* what a ResourceGather became */
		return false;
	out->spec.is_table = false;
	out->inputs[0] = gather->inputs[0];
	*keys = gather->inputs[1];
	return true;
}

/* Rows of the unique keys; `numbers` has the index of each key's unique one. */
static bool match_rows(sp_column_matcher *ma, sp_port rows, sp_port numbers)
{
	const sp_node *unique = &ma->graph->nodes[numbers.node];
	sp_port keys;

	if (numbers.port != 1 || unique->control_count != 0 || unique->input_count != 1 ||
	    (unique->opcode != SP_OPCODE_Unique && unique->opcode != SP_OPCODE_UniqueWithCounts))
		return false;
	return is_output(unique->inputs[0], ma->fill, 1) && match_gather(ma, rows, &keys) &&
	       is_output(keys, numbers.node, 0);
}

/* -------------------------------------------------------------- combining */

static bool match_unweighted(sp_column_matcher *ma, sp_port port)
{
	static const struct {
		sp_opcode opcode;
		sp_combiner combiner;
	} kinds[] = {{SP_OPCODE_SparseSegmentSum, SP_COMBINE_SUM},
		     {SP_OPCODE_SparseSegmentMean, SP_COMBINE_MEAN},
		     {SP_OPCODE_SparseSegmentSqrtN, SP_COMBINE_SQRTN}};
	const sp_node *combined = NULL;

	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]) && combined == NULL; i++) {
		combined = sp_column__made_by(ma, port, kinds[i].opcode, 3);
		ma->out->spec.combiner = kinds[i].combiner;
	}
	if (combined == NULL || !sp_pattern_attr_type(combined, "T", SP_FLOAT) ||
	    !match_row_numbers(ma, combined->inputs[2], &ma->fill))
		return false;
	if (is_output(combined->inputs[1], ma->fill, 1) && is_weights(ma, combined->inputs[0])) {
		ma->out->spec.is_table = false;
		ma->out->inputs[0] = combined->inputs[0];
		return true;
	}
	return match_rows(ma, combined->inputs[0], combined->inputs[1]);
}

/* [1], written out as fill([2 - 1], 1). */
static bool is_one(const sp_column_matcher *ma, sp_port port)
{
	static const int64_t one[] = {1};
	const sp_node *fill = sp_column__made_by(ma, port, SP_OPCODE_Fill, 2), *expand, *sub;

	if (sp_pattern_is_vector(ma->graph, port, one, 1))
		return true;
	if (fill == NULL || !sp_pattern_is_integer(ma->graph, fill->inputs[1], 1))
		return false;
	expand = sp_column__made_by(ma, fill->inputs[0], SP_OPCODE_ExpandDims, 2);
	if (expand == NULL || !sp_pattern_is_integer(ma->graph, expand->inputs[1], 0))
		return false;
	sub = sp_column__made_by(ma, expand->inputs[0], SP_OPCODE_Sub, 2);
	return sub != NULL && sp_pattern_is_integer(ma->graph, sub->inputs[0], 2) &&
	       sp_pattern_is_integer(ma->graph, sub->inputs[1], 1);
}

/* The filled weights as a column: [n, 1]. */
static bool match_weight_column(sp_column_matcher *ma, sp_port port)
{
	const sp_node *reshape = sp_column__made_by(ma, port, SP_OPCODE_Reshape, 2), *concat,
		      *shape;

	if (reshape == NULL || reshape->inputs[0].port != 1)
		return false;
	concat = sp_column__made_by(ma, reshape->inputs[1], SP_OPCODE_ConcatV2, 3);
	if (concat == NULL || !is_one(ma, concat->inputs[1]) ||
	    !sp_pattern_is_integer(ma->graph, concat->inputs[2], 0))
		return false;
	shape = sp_column__made_by(ma, concat->inputs[0], SP_OPCODE_Shape, 1);
	if (shape == NULL || !sp_pattern_same(shape->inputs[0], reshape->inputs[0]))
		return false;
	ma->weight_fill = reshape->inputs[0].node;
	return sp_column__made_by(ma, (sp_port){ma->weight_fill, 0}, SP_OPCODE_SparseFillEmptyRows,
				  4) != NULL;
}

/* segment_sum(rows * weights, row numbers) */
static bool match_weighted_sum(sp_column_matcher *ma, sp_port port, sp_port *weights,
			       sp_port *row_numbers)
{
	const sp_node *sum = sp_column__made_by(ma, port, SP_OPCODE_SegmentSum, 2), *product, *rows;

	if (sum == NULL || !match_row_numbers(ma, sum->inputs[1], &ma->fill))
		return false;
	product = sp_column__made_by(ma, sum->inputs[0], SP_OPCODE_Mul, 2);
	if (product == NULL || !match_weight_column(ma, product->inputs[1]))
		return false;
	rows = sp_column__made_by(ma, product->inputs[0], SP_OPCODE_GatherV2, 3);
	if (rows == NULL || !sp_pattern_is_integer(ma->graph, rows->inputs[2], 0) ||
	    !sp_pattern_attr_int(rows, "batch_dims", 0))
		return false;
	*weights = product->inputs[1];
	*row_numbers = sum->inputs[1];
	return match_rows(ma, rows->inputs[0], rows->inputs[1]);
}

/* segment_sum(weights), or the root of segment_sum(weights^2) */
static bool match_divisor(sp_column_matcher *ma, sp_port port, sp_port weights, sp_port row_numbers)
{
	const sp_node *root = sp_column__made_by(ma, port, SP_OPCODE_Sqrt, 1);
	const sp_node *sum = sp_column__made_by(ma, root != NULL ? root->inputs[0] : port,
						SP_OPCODE_SegmentSum, 2);
	const sp_node *square, *power;
	const sp_tensor *exponent;

	ma->out->spec.combiner = root != NULL ? SP_COMBINE_SQRTN : SP_COMBINE_MEAN;
	if (sum == NULL || !sp_pattern_same(sum->inputs[1], row_numbers))
		return false;
	if (root == NULL)
		return sp_pattern_same(sum->inputs[0], weights);
	square = sp_column__made_by(ma, sum->inputs[0], SP_OPCODE_Square, 1);
	if (square != NULL)
		return sp_pattern_same(square->inputs[0], weights);
	power = sp_column__made_by(ma, sum->inputs[0], SP_OPCODE_Pow, 2);
	exponent = power != NULL ? sp_pattern_constant(ma->graph, power->inputs[1]) : NULL;
	return exponent != NULL && exponent->dtype == SP_FLOAT && exponent->count == 1 &&
	       sp_tensor_f32(exponent)[0] == 2.0f && sp_pattern_same(power->inputs[0], weights);
}

static bool match_weighted(sp_column_matcher *ma, sp_port port)
{
	sp_column_spec *spec = &ma->out->spec;
	const sp_node *quotient = sp_column__made_by(ma, port, SP_OPCODE_RealDiv, 2);
	sp_port weights, row_numbers;

	spec->weighted = true;
	if (quotient == NULL) {
		quotient = sp_column__made_by(ma, port, SP_OPCODE_DivNoNan, 2);
		spec->zero_divisor_is_zero = quotient != NULL;
	}
	if (!match_weighted_sum(ma, quotient != NULL ? quotient->inputs[0] : port, &weights,
				&row_numbers))
		return false;
	spec->combiner = SP_COMBINE_SUM;
	return quotient == NULL || match_divisor(ma, quotient->inputs[1], weights, row_numbers);
}

/* -------------------------------------------------- filling and filtering */

/* Takes the default key and weight; the match continues at the tensors that were filled. */
static bool match_fill(sp_column_matcher *ma)
{
	sp_column_spec *spec = &ma->out->spec;
	const sp_node *fill = &ma->graph->nodes[ma->fill], *weights;
	const sp_tensor *weight;

	if (!sp_pattern_integer(ma->graph, fill->inputs[3], &spec->default_key))
		return false;
	ma->indices = fill->inputs[0];
	ma->keys = fill->inputs[1];
	ma->shape = fill->inputs[2];
	if (!spec->weighted)
		return true;
	weights = &ma->graph->nodes[ma->weight_fill];
	weight = sp_pattern_constant(ma->graph, weights->inputs[3]);
	if (weight == NULL || weight->dtype != SP_FLOAT || weight->count != 1 ||
	    !sp_pattern_same(weights->inputs[0], ma->indices) ||
	    !sp_pattern_same(weights->inputs[2], ma->shape))
		return false;
	spec->default_weight = sp_tensor_f32(weight)[0];
	ma->weights = weights->inputs[1];
	return true;
}

/* x at the places where some condition holds: GatherV2(x, Reshape(Where(condition), [-1]), 0) */
static const sp_node *match_filter(const sp_column_matcher *ma, sp_port port, sp_port *condition)
{
	static const int64_t flat[] = {-1};
	const sp_node *gather = sp_column__made_by(ma, port, SP_OPCODE_GatherV2, 3), *reshape,
		      *where;

	if (gather == NULL || !sp_pattern_is_integer(ma->graph, gather->inputs[2], 0) ||
	    !sp_pattern_attr_int(gather, "batch_dims", 0))
		return NULL;
	reshape = sp_column__made_by(ma, gather->inputs[1], SP_OPCODE_Reshape, 2);
	if (reshape == NULL || !sp_pattern_is_vector(ma->graph, reshape->inputs[1], flat, 1))
		return NULL;
	where = sp_column__made_by(ma, reshape->inputs[0], SP_OPCODE_Where, 1);
	if (where == NULL)
		return NULL;
	*condition = where->inputs[0];
	return gather;
}

/* keys >= 0, perhaps combined by "and" with ones for every weight. */
static bool is_valid_key(const sp_column_matcher *ma, sp_port condition, sp_port keys,
			 sp_port weights)
{
	const sp_node *both = sp_column__made_by(ma, condition, SP_OPCODE_LogicalAnd, 2);
	const sp_node *compare = sp_column__made_by(ma, both != NULL ? both->inputs[0] : condition,
						    SP_OPCODE_GreaterEqual, 2);
	const sp_node *ones, *shape;
	const sp_tensor *one;

	if (compare == NULL || !sp_pattern_same(compare->inputs[0], keys) ||
	    !sp_pattern_is_integer(ma->graph, compare->inputs[1], 0))
		return false;
	if (both == NULL)
		return true;
	ones = sp_column__made_by(ma, both->inputs[1], SP_OPCODE_Fill, 2);
	one = ones != NULL ? sp_pattern_constant(ma->graph, ones->inputs[1]) : NULL;
	shape = ones != NULL ? sp_column__made_by(ma, ones->inputs[0], SP_OPCODE_Shape, 1) : NULL;
	return ma->out->spec.weighted && one != NULL && one->dtype == SP_BOOL && one->count == 1 &&
	       sp_tensor_bool(one)[0] && shape != NULL &&
	       sp_pattern_same(shape->inputs[0], weights);
}

/* weights > 0 */
static bool is_valid_weight(const sp_column_matcher *ma, sp_port condition, sp_port weights)
{
	const sp_node *compare = sp_column__made_by(ma, condition, SP_OPCODE_Greater, 2);
	const sp_tensor *zero = compare != NULL ? sp_pattern_constant(ma->graph, compare->inputs[1])
						: NULL;

	return zero != NULL && zero->dtype == SP_FLOAT && zero->count == 1 &&
	       sp_tensor_f32(zero)[0] == 0 && sp_pattern_same(compare->inputs[0], weights);
}

/*
 * Moves the match past one filter of indices, keys and weights; false when there is no known one.
 */
static bool match_one_filter(sp_column_matcher *ma)
{
	sp_column_spec *spec = &ma->out->spec;
	sp_port conditions[3];
	const sp_node *indices = match_filter(ma, ma->indices, &conditions[0]);
	const sp_node *keys = match_filter(ma, ma->keys, &conditions[1]);
	const sp_node *weights = spec->weighted ? match_filter(ma, ma->weights, &conditions[2])
						: NULL;
	sp_port old_weights = weights != NULL ? weights->inputs[0] : (sp_port){0, 0};

	if (indices == NULL || keys == NULL || !sp_pattern_same(conditions[0], conditions[1]))
		return false;
	if (spec->weighted && (weights == NULL || !sp_pattern_same(conditions[0], conditions[2])))
		return false;
	if (!spec->drops_ids && is_valid_key(ma, conditions[0], keys->inputs[0], old_weights))
		spec->drops_ids = true;
	else if (spec->weighted && !spec->drops_weights && !spec->drops_ids &&
		 is_valid_weight(ma, conditions[0], old_weights))
		spec->drops_weights = true;
	else
		return false;
	ma->indices = indices->inputs[0];
	ma->keys = keys->inputs[0];
	ma->weights = old_weights;
	return true;
}

/* [prod(shape[:k]), shape[k]] */
static bool match_flat_shape(const sp_column_matcher *ma, sp_port port, sp_port shape, int64_t *k)
{
	static const int64_t zero[] = {0};
	const sp_node *pack = sp_column__made_by(ma, port, SP_OPCODE_Pack, 2), *product, *slice,
		      *last;

	if (pack == NULL || !sp_pattern_attr_int(pack, "axis", 0))
		return false;
	product = sp_column__made_by(ma, pack->inputs[0], SP_OPCODE_Prod, 2);
	last = sp_column__made_by(ma, pack->inputs[1], SP_OPCODE_GatherV2, 3);
	if (product == NULL || last == NULL ||
	    !sp_pattern_is_vector(ma->graph, product->inputs[1], zero, 1) ||
	    !sp_pattern_same(last->inputs[0], shape) ||
	    !sp_pattern_integer(ma->graph, last->inputs[1], k) ||
	    !sp_pattern_is_integer(ma->graph, last->inputs[2], 0))
		return false;
	slice = sp_column__made_by(ma, product->inputs[0], SP_OPCODE_Slice, 3);
	return slice != NULL && sp_pattern_same(slice->inputs[0], shape) &&
	       sp_pattern_is_vector(ma->graph, slice->inputs[1], zero, 1) &&
	       sp_pattern_is_vector(ma->graph, slice->inputs[2], k, 1) && *k >= 1 &&
	       *k < SP_MAX_RANK;
}

/* [shape[0], -1], by way of int32 */
static bool is_rows_and_rest(const sp_column_matcher *ma, sp_port port, sp_port shape)
{
	const sp_node *wide = sp_column__made_by(ma, port, SP_OPCODE_Cast, 1);
	const sp_node *pack = wide != NULL
				      ? sp_column__made_by(ma, wide->inputs[0], SP_OPCODE_Pack, 2)
				      : NULL;
	const sp_node *slice, *narrow;

	if (pack == NULL || !sp_pattern_attr_int(pack, "axis", 0) ||
	    !sp_pattern_is_integer(ma->graph, pack->inputs[1], -1))
		return false;
	slice = sp_column__made_by(ma, pack->inputs[0], SP_OPCODE_StridedSlice, 4);
	narrow = slice != NULL ? sp_column__made_by(ma, slice->inputs[0], SP_OPCODE_Cast, 1) : NULL;
	return narrow != NULL && sp_pattern_same(narrow->inputs[0], shape) &&
	       sp_pattern_is_element(ma->graph, pack->inputs[0], slice->inputs[0], 0);
}

/* A sparse tensor of more dimensions, reshaped to two; perhaps twice, as linear models do. */
static void match_flattening(sp_column_matcher *ma)
{
	const sp_node *reshape = sp_column__made_by(ma, ma->indices, SP_OPCODE_SparseReshape, 3);
	int64_t k;

	if (reshape != NULL && is_output(ma->shape, ma->indices.node, 1) &&
	    match_flat_shape(ma, reshape->inputs[2], reshape->inputs[1], &k)) {
		ma->out->spec.row_dims = (size_t)k;
		ma->indices = reshape->inputs[0];
		ma->shape = reshape->inputs[1];
	}
	ma->out->shape = ma->shape;
	reshape = sp_column__made_by(ma, ma->indices, SP_OPCODE_SparseReshape, 3);
	if (reshape == NULL || !is_output(ma->shape, ma->indices.node, 1) ||
	    ma->out->spec.row_dims > 1 ||
	    !is_rows_and_rest(ma, reshape->inputs[2], reshape->inputs[1]))
		return;
	ma->out->spec.flattens = true;
	ma->indices = reshape->inputs[0];
	ma->shape = reshape->inputs[1];
}

/* ------------------------------------------------------------------ the end */

/* Clears rows that were empty: select(tile(empty), zeros_like(rows), rows). */
static const sp_node *match_select(const sp_column_matcher *ma, uint32_t anchor, sp_port *empty)
{
	static const int64_t column[] = {-1, 1};
	const sp_node *select = sp_column__made_by(ma, (sp_port){anchor, 0}, SP_OPCODE_Select, 3);
	const sp_node *tile, *reshape, *times, *zeros;

	if (select == NULL)
		select = sp_column__made_by(ma, (sp_port){anchor, 0}, SP_OPCODE_SelectV2, 3);
	if (select == NULL)
		return NULL;
	zeros = sp_column__made_by(ma, select->inputs[1], SP_OPCODE_ZerosLike, 1);
	tile = sp_column__made_by(ma, select->inputs[0], SP_OPCODE_Tile, 2);
	if (zeros == NULL || tile == NULL || !sp_pattern_same(zeros->inputs[0], select->inputs[2]))
		return NULL;
	reshape = sp_column__made_by(ma, tile->inputs[0], SP_OPCODE_Reshape, 2);
	times = sp_column__made_by(ma, tile->inputs[1], SP_OPCODE_Pack, 2);
	if (reshape == NULL || times == NULL || !sp_pattern_attr_int(times, "axis", 0) ||
	    !sp_pattern_is_vector(ma->graph, reshape->inputs[1], column, 2) ||
	    !sp_pattern_is_integer(ma->graph, times->inputs[0], 1) ||
	    !sp_pattern_is_dimension(ma->graph, times->inputs[1], select->inputs[2], 1))
		return NULL;
	*empty = reshape->inputs[0];
	return select;
}

bool sp_column_find(const sp_graph *graph, const bool *early, uint32_t anchor, sp_column_match *out)
{
	sp_column_matcher ma = {.graph = graph, .early = early, .out = out};
	sp_port combined = {anchor, 0}, empty = {0, 0};
	const sp_node *select = match_select(&ma, anchor, &empty);

	*out = (sp_column_match){.spec = {.name = graph->nodes[anchor].name}};
	if (select != NULL)
		combined = select->inputs[2];
	if (!match_unweighted(&ma, combined)) {
		*out = (sp_column_match){.spec = {.name = graph->nodes[anchor].name}};
		if (!match_weighted(&ma, combined))
			return false;
	}
	if (!match_fill(&ma) || (select != NULL && !is_output(empty, ma.fill, 2)))
		return false;
	out->spec.fills = select == NULL;
	for (size_t i = 0; i < 2 && match_one_filter(&ma);)
		i++;
	match_flattening(&ma);
	sp_column__match_source(&ma);
	if (out->spec.source == SP_COLUMN_SPARSE) {
		out->inputs[1] = ma.indices;
		out->inputs[2] = ma.keys;
		out->inputs[3] = ma.shape;
		out->inputs[4] = ma.weights;
	}
	return true;
}

/* concat(shape[:k], shape(column)[1:]) */
static bool is_full_shape(const sp_graph *graph, sp_port port, sp_port of,
			  const sp_column_match *match)
{
	static const int64_t zero[] = {0}, one[] = {1}, rest[] = {-1};
	const int64_t k = (int64_t)match->spec.row_dims;
	const sp_node *concat = sp_pattern_made_by(graph, port, SP_OPCODE_ConcatV2, 3);
	const sp_node *rows, *cast, *columns, *shape;

	if (concat == NULL || !sp_pattern_is_integer(graph, concat->inputs[2], 0))
		return false;
	rows = sp_pattern_made_by(graph, concat->inputs[0], SP_OPCODE_Slice, 3);
	columns = sp_pattern_made_by(graph, concat->inputs[1], SP_OPCODE_Slice, 3);
	if (rows == NULL || columns == NULL)
		return false;
	cast = sp_pattern_made_by(graph, rows->inputs[0], SP_OPCODE_Cast, 1);
	shape = sp_pattern_made_by(graph, columns->inputs[0], SP_OPCODE_Shape, 1);
	return cast != NULL && shape != NULL && sp_pattern_same(cast->inputs[0], match->shape) &&
	       sp_pattern_same(shape->inputs[0], of) &&
	       sp_pattern_is_vector(graph, rows->inputs[1], zero, 1) &&
	       sp_pattern_is_vector(graph, rows->inputs[2], &k, 1) &&
	       sp_pattern_is_vector(graph, columns->inputs[1], one, 1) &&
	       sp_pattern_is_vector(graph, columns->inputs[2], rest, 1);
}

bool sp_column_take_reshape(const sp_graph *graph, uint32_t anchor, uint32_t of,
			    sp_column_match *match)
{
	const sp_port column = {of, 0};
	const sp_node *reshape = sp_pattern_made_by(graph, (sp_port){anchor, 0}, SP_OPCODE_Reshape,
						    2);
	const sp_node *pack;
	int64_t width;

	if (reshape == NULL || !sp_pattern_same(reshape->inputs[0], column) ||
	    match->spec.width != 0)
		return false;
	if (match->spec.row_dims != 0 && !match->spec.keeps_shape &&
	    is_full_shape(graph, reshape->inputs[1], column, match)) {
		match->spec.keeps_shape = true;
		return true;
	}
	pack = sp_pattern_made_by(graph, reshape->inputs[1], SP_OPCODE_Pack, 2);
	if (pack == NULL || !sp_pattern_attr_int(pack, "axis", 0) ||
	    !sp_pattern_is_dimension(graph, pack->inputs[0], column, 0) ||
	    !sp_pattern_integer(graph, pack->inputs[1], &width) || width < 1)
		return false;
	match->spec.width = width;
	return true;
}
