#include "engine/passes/match_column_internal.h"

/*
 * Sources of keys other than a sparse tensor: elements of a dense tensor, hashes of its strings, or
 * bucketized numbers.
 */

/* ----------------------------------------------------------- dense sources */

/* The value of a dense tensor that marks a missing key. */
static bool match_ignored(const sp_column_matcher *ma, sp_port port, sp_column_spec *spec)
{
	const sp_tensor *ignored = sp_pattern_constant(ma->graph, port);

	if (ignored == NULL || ignored->count != 1)
		return false;
	if (spec->source == SP_COLUMN_DENSE)
		return sp_pattern_integer(ma->graph, port, &spec->ignored_key);
	if (ignored->dtype != SP_STRING)
		return false;
	spec->ignored_text = sp_tensor_strings(ignored)[0];
	return true;
}

/* Elements of a dense tensor that differ from the missing value, or hashes of such strings. */
static void match_dense(sp_column_matcher *ma)
{
	sp_column_spec spec = ma->out->spec;
	const sp_node *where = sp_column__made_by(ma, ma->indices, SP_OPCODE_Where, 1);
	const sp_node *shape = sp_column__made_by(ma, ma->shape, SP_OPCODE_Shape, 1);
	const sp_node *hash = sp_column__made_by(ma, ma->keys, SP_OPCODE_StringToHashBucketFast, 1);
	const sp_node *cells = sp_column__made_by(ma, hash != NULL ? hash->inputs[0] : ma->keys,
						  SP_OPCODE_GatherNd, 2);
	const sp_node *differs, *widened;
	int64_t buckets = 1;

	if (where == NULL || shape == NULL || cells == NULL || spec.weighted)
		return;
	differs = sp_column__made_by(ma, where->inputs[0], SP_OPCODE_NotEqual, 2);
	if (differs == NULL || !sp_pattern_same(cells->inputs[0], differs->inputs[0]) ||
	    !sp_pattern_same(cells->inputs[1], ma->indices) ||
	    !sp_pattern_same(shape->inputs[0], differs->inputs[0]))
		return;
	spec.source = hash != NULL ? SP_COLUMN_TEXTS : SP_COLUMN_DENSE;
	if (!match_ignored(ma, differs->inputs[1], &spec))
		return;
	if (hash != NULL &&
	    (sp_node_attr_int(hash, "num_buckets", 0, &buckets, NULL) != SP_OK || buckets < 1))
		return;
	spec.hash_buckets = (uint64_t)buckets;
	ma->out->inputs[1] = differs->inputs[0];
	widened = sp_column__made_by(ma, differs->inputs[0], SP_OPCODE_ExpandDims, 2);
	if (widened != NULL && sp_pattern_is_integer(ma->graph, widened->inputs[1], -1)) {
		spec.widen = true;
		ma->out->inputs[1] = widened->inputs[0];
	}
	ma->out->spec = spec;
}

/* ----------------------------------------------------------- bucketized numbers */

/* range(0, limit, 1) */
static const sp_node *match_range(const sp_column_matcher *ma, sp_port port)
{
	const sp_node *range = sp_column__made_by(ma, port, SP_OPCODE_Range, 3);

	return range != NULL && sp_pattern_is_integer(ma->graph, range->inputs[0], 0) &&
			       sp_pattern_is_integer(ma->graph, range->inputs[2], 1)
		       ? range
		       : NULL;
}

/* tile(range(columns), [rows]): the column of each element. */
static bool match_column_numbers(const sp_column_matcher *ma, sp_port port, sp_port *rows,
				 int64_t *columns)
{
	const sp_node *tile = sp_column__made_by(ma, port, SP_OPCODE_Tile, 2);
	const sp_node *range = tile != NULL ? match_range(ma, tile->inputs[0]) : NULL;
	const sp_node *times = tile != NULL
				       ? sp_column__made_by(ma, tile->inputs[1], SP_OPCODE_Pack, 1)
				       : NULL;

	if (range == NULL || times == NULL || !sp_pattern_attr_int(times, "axis", 0) ||
	    !sp_pattern_integer(ma->graph, range->inputs[1], columns))
		return false;
	*rows = times->inputs[0];
	return *columns >= 1;
}

/* reshape(tile(expand_dims(range(rows), 1), [1, columns]), [-1]): the row of each element. */
static bool is_row_numbers(const sp_column_matcher *ma, sp_port port, sp_port rows, int64_t columns)
{
	static const int64_t flat[] = {-1};
	const int64_t times[] = {1, columns};
	const sp_node *reshape = sp_column__made_by(ma, port, SP_OPCODE_Reshape, 2), *tile, *expand,
		      *range;

	if (reshape == NULL || !sp_pattern_is_vector(ma->graph, reshape->inputs[1], flat, 1))
		return false;
	tile = sp_column__made_by(ma, reshape->inputs[0], SP_OPCODE_Tile, 2);
	if (tile == NULL || !sp_pattern_is_vector(ma->graph, tile->inputs[1], times, 2))
		return false;
	expand = sp_column__made_by(ma, tile->inputs[0], SP_OPCODE_ExpandDims, 2);
	if (expand == NULL || !sp_pattern_is_integer(ma->graph, expand->inputs[1], 1))
		return false;
	range = match_range(ma, expand->inputs[0]);
	return range != NULL && sp_pattern_same(range->inputs[1], rows);
}

/* The [n, 2] indices of all rows and columns. */
static bool is_element_indices(const sp_column_matcher *ma, sp_port port, sp_port rows,
			       sp_port column_numbers, int64_t columns)
{
	static const int64_t swapped[] = {1, 0};
	const sp_node *cast = sp_column__made_by(ma, port, SP_OPCODE_Cast, 1);
	const sp_node *transpose = cast != NULL ? sp_column__made_by(ma, cast->inputs[0],
								     SP_OPCODE_Transpose, 2)
						: NULL;
	const sp_node *pack = transpose != NULL ? sp_column__made_by(ma, transpose->inputs[0],
								     SP_OPCODE_Pack, 2)
						: NULL;

	return pack != NULL && sp_pattern_attr_int(pack, "axis", 0) &&
	       sp_pattern_is_vector(ma->graph, transpose->inputs[1], swapped, 2) &&
	       is_row_numbers(ma, pack->inputs[0], rows, columns) &&
	       sp_pattern_same(pack->inputs[1], column_numbers);
}

static bool is_element_shape(const sp_column_matcher *ma, sp_port port, sp_port rows,
			     int64_t columns)
{
	const sp_node *cast = sp_column__made_by(ma, port, SP_OPCODE_Cast, 1);
	const sp_node *pack = cast != NULL
				      ? sp_column__made_by(ma, cast->inputs[0], SP_OPCODE_Pack, 2)
				      : NULL;

	return pack != NULL && sp_pattern_attr_int(pack, "axis", 0) &&
	       sp_pattern_same(pack->inputs[0], rows) &&
	       sp_pattern_is_integer(ma->graph, pack->inputs[1], columns);
}

/* A bucketized column: each element of a row is a key, plus j * bucket_count for element j. */
static void match_buckets(sp_column_matcher *ma)
{
	static const int64_t flat[] = {-1};
	sp_column_spec spec = ma->out->spec;
	const sp_node *sum = sp_column__made_by(ma, ma->keys, SP_OPCODE_AddV2, 2);
	const sp_node *cells = sum != NULL ? sp_column__made_by(ma, sum->inputs[0],
								SP_OPCODE_Reshape, 2)
					   : NULL;
	const sp_node *shift = sum != NULL
				       ? sp_column__made_by(ma, sum->inputs[1], SP_OPCODE_Mul, 2)
				       : NULL;
	sp_port rows;

	if (cells == NULL || shift == NULL || spec.weighted || spec.row_dims > 1 ||
	    !sp_pattern_attr_type(sum, "T", SP_INT32) ||
	    !sp_pattern_is_vector(ma->graph, cells->inputs[1], flat, 1) ||
	    !sp_pattern_integer(ma->graph, shift->inputs[0], &spec.bucket_count) ||
	    !match_column_numbers(ma, shift->inputs[1], &rows, &spec.number_count) ||
	    !sp_pattern_is_dimension(ma->graph, rows, cells->inputs[0], 0) ||
	    !is_element_indices(ma, ma->indices, rows, shift->inputs[1], spec.number_count) ||
	    !is_element_shape(ma, ma->shape, rows, spec.number_count))
		return;
	spec.source = SP_COLUMN_BUCKETS;
	ma->out->inputs[1] = cells->inputs[0];
	ma->out->spec = spec;
}

void sp_column__match_source(sp_column_matcher *ma)
{
	match_dense(ma);
	match_buckets(ma);
}
