#include "engine/rows/row_fact.h"

#include "engine/ops/embedding/column_spec.h"

/* Entries of sparse tensors and of masks, distinct elements, and rows of embeddings. */

/* Of a set: each row without entries has got one. */
static const uint32_t FILLED = UINT32_C(1) << 31;

/* Whether they are the row numbers, or begin with the row number, of entries of `set`. */
static bool counts_rows(const sp_row_fact *fact, sp_row_kind kind, uint32_t set)
{
	return fact->kind == kind && fact->of == 0 && fact->group == 1 && fact->lead.set == set;
}

static bool is_entries(const sp_row_fact *fact, uint32_t set)
{
	return fact->kind == SP_ROW_ENTRIES && fact->rank == 1 && fact->lead.set == set;
}

/* Reads a shape of R rows. */
static bool read_shape(const sp_row_fact *fact, sp_row_number dims[SP_MAX_RANK], int *rank)
{
	if (!sp_row_numbers(fact, dims, rank) || *rank == 0 || !sp_row_is(dims[0], 1, true))
		return false;
	for (int d = 1; d < *rank; d++)
		if (dims[d].by_rows)
			return false;
	return true;
}

/* ------------------------------------------------------------ finding and taking */

void sp_row__where(sp_row_step *step)
{
	const sp_row_fact *in = step->in[0];
	sp_row_fact out = {.kind = SP_ROW_INDICES, .rank = 2};

	if (!sp_row_has_lead(in))
		return;
	out.dims[0] = sp_row_known(SP_ROW_ANY);
	out.dims[1] = sp_row_known(in->rank);
	out.lead = (sp_row_lead){.set = step->fresh,
				 .even = in->kind == SP_ROW_ROWS && in->uniform};
	out.of = in->lead.set;
	out.group = in->kind == SP_ROW_ROWS ? in->dims[0].factor : 0;
	step->out[0] = out;
}

/* Whether the indices or positions count along dimension 0 of the value. */
static bool count_along(const sp_row_fact *positions, const sp_row_fact *value)
{
	if (value->kind == SP_ROW_ROWS)
		return positions->of == 0 && positions->group == value->dims[0].factor &&
		       positions->group != SP_ROW_ANY;
	return (value->kind == SP_ROW_ENTRIES || value->kind == SP_ROW_INDICES ||
		value->kind == SP_ROW_POSITIONS) &&
	       positions->of == value->lead.set;
}

/* Makes dimension 0 that of the entries; as many for each row are rows. */
static void set_lead(sp_row_fact *out, sp_row_lead lead)
{
	out->lead = lead;
	out->dims[0] = sp_row_known(SP_ROW_ANY);
	if (out->kind == SP_ROW_ROWS)
		out->kind = SP_ROW_ENTRIES;
	if (out->kind == SP_ROW_ENTRIES && lead.even) {
		out->kind = SP_ROW_ROWS;
		out->dims[0].by_rows = true;
		out->lead = (sp_row_lead){0};
	}
}

/* Elements of a shape. */
static void gather_numbers(sp_row_step *step)
{
	const sp_row_fact *numbers = step->in[0];
	sp_row_number at[SP_MAX_RANK], found[SP_MAX_RANK];
	int count;

	if (!sp_row_is_fixed(step->in[1]) || !sp_row_numbers(step->in[1], at, &count))
		return;
	for (int i = 0; i < count; i++) {
		if (at[i].factor < 0 || at[i].factor >= numbers->dims[0].factor)
			return;
		found[i] = numbers->numbers[at[i].factor];
	}
	step->out[0] = sp_row_make_numbers(found, count, step->in[1]->rank);
}

static void gather_along(sp_row_step *step, int axis)
{
	const sp_row_fact *params = step->in[0];
	sp_row_fact out = *params;

	out.rank = axis;
	if (axis != 0 && sp_row_has_lead(params) && sp_row_is_fixed(step->in[1]) &&
	    sp_row_append(&out, step->in[1], 0) && sp_row_append(&out, params, axis + 1))
		step->out[0] = out;
}

void sp_row__gather(sp_row_step *step)
{
	const sp_row_fact *params = step->in[0], *ids = step->in[1];
	int64_t axis = step->in_count == 3 ? sp_row_scalar(step->in[2], INT64_MAX) : 0;
	sp_row_fact out;

	if (sp_row_attr(step->node, "batch_dims", 0) != 0 || params->rank == 0)
		return;
	if (axis != 0) {
		gather_along(step, sp_row_axis(axis, params->rank));
	} else if (params->kind == SP_ROW_NUMBERS) {
		gather_numbers(step);
	} else if (sp_row_is_fixed(params)) {
		out = *ids;
		if ((sp_row_has_lead(ids) || ids->kind == SP_ROW_DISTINCT) &&
		    sp_row_append(&out, params, 1))
			step->out[0] = out;
	} else if (ids->kind == SP_ROW_POSITIONS && count_along(ids, params)) {
		step->out[0] = *params;
		set_lead(&step->out[0], ids->lead);
	} else if (ids->kind == SP_ROW_PLACES && params->kind == SP_ROW_DISTINCT &&
		   ids->of == params->of) {
		step->out[0] = *params;
		step->out[0].kind = ids->lead.set == 0 ? SP_ROW_ROWS : SP_ROW_ENTRIES;
		step->out[0].lead = ids->lead;
		step->out[0].dims[0] = ids->dims[0];
	}
}

void sp_row__gather_nd(sp_row_step *step)
{
	const sp_row_fact *params = step->in[0], *indices = step->in[1];
	int64_t depth = indices->rank > 0 ? indices->dims[indices->rank - 1].factor : SP_ROW_ANY;
	sp_row_fact out = *indices;

	if (depth < 1 || depth > params->rank || indices->rank < 2)
		return;
	out.rank--;
	if (sp_row_is_fixed(params) && sp_row_has_lead(indices)) {
		if (sp_row_append(&out, params, (int)depth))
			step->out[0] = out;
	} else if (indices->kind == SP_ROW_INDICES && count_along(indices, params) &&
		   sp_row_has_lead(params)) {
		out.kind = SP_ROW_ENTRIES;
		set_lead(&out, indices->lead);
		if (sp_row_append(&out, params, (int)depth))
			step->out[0] = out;
	}
}

void sp_row__unique(sp_row_step *step)
{
	const sp_row_fact *in = step->in[0];

	if (in->rank != 1 || !sp_row_has_lead(in))
		return;
	step->out[0] = (sp_row_fact){.kind = SP_ROW_DISTINCT, .rank = 1, .of = step->fresh};
	step->out[0].dims[0] = sp_row_known(SP_ROW_ANY);
	step->out[1] = *in;
	step->out[1].kind = SP_ROW_PLACES;
	step->out[1].of = step->fresh;
}

/* --------------------------------------------------------------- sparse tensors */

void sp_row__fill_empty(sp_row_step *step)
{
	uint32_t set = step->in[0]->lead.set;
	/* The same entries for every tensor of that set. */
	sp_row_lead lead = {.set = set | FILLED, .full = true};
	sp_row_number dims[SP_MAX_RANK];
	int rank;

	if (!counts_rows(step->in[0], SP_ROW_INDICES, set) || !is_entries(step->in[1], set) ||
	    !read_shape(step->in[2], dims, &rank) || !sp_row_is_fixed(step->in[3]))
		return;
	for (int i = 0; i < 2; i++) {
		step->out[i] = *step->in[i];
		step->out[i].lead = lead;
	}
	step->out[2] = (sp_row_fact){.kind = SP_ROW_ROWS, .rank = 1};
	step->out[2].dims[0] = dims[0];
}

/* From R rows to R rows: column 0 stays the row. */
void sp_row__sparse_reshape(sp_row_step *step)
{
	const sp_row_fact *in = step->in[0];
	sp_row_number dims[SP_MAX_RANK];
	int rank;

	if (!counts_rows(in, SP_ROW_INDICES, in->lead.set) ||
	    !read_shape(step->in[1], dims, &rank) || !read_shape(step->in[2], dims, &rank))
		return;
	for (int d = 1; d < rank; d++)
		if (dims[d].factor == -1)
			dims[d] = sp_row_known(SP_ROW_ANY);
	step->out[0] = *in;
	step->out[0].dims[1] = sp_row_known(rank);
	step->out[1] = sp_row_make_numbers(dims, rank, 1);
}

/* SparseToDense(indices, shape, values, default) */
void sp_row__to_dense(sp_row_step *step)
{
	uint32_t set = step->in[0]->lead.set;
	sp_row_fact out = {.kind = SP_ROW_ROWS};

	if (counts_rows(step->in[0], SP_ROW_INDICES, set) &&
	    read_shape(step->in[1], out.dims, &out.rank) &&
	    sp_row_is(step->in[0]->dims[1], out.rank, false) &&
	    (is_entries(step->in[2], set) ||
	     (sp_row_is_fixed(step->in[2]) && step->in[2]->rank == 0)) &&
	    sp_row_is_fixed(step->in[3]))
		step->out[0] = out;
}

/* A row of the result for each row, since every row has entries. */
static void combine(sp_row_step *step, const sp_row_fact *data, const sp_row_fact *rows)
{
	sp_row_fact out = {.kind = SP_ROW_ROWS, .rank = 1};

	out.dims[0] = sp_row_rows(1);
	if (rows->lead.full && sp_row_append(&out, data, 1))
		step->out[0] = out;
}

/* SegmentSum(data, rows) */
void sp_row__segment(sp_row_step *step)
{
	const sp_row_fact *data = step->in[0], *rows = step->in[1];

	if (data->kind == SP_ROW_ENTRIES && counts_rows(rows, SP_ROW_POSITIONS, data->lead.set))
		combine(step, data, rows);
}

/* SparseSegmentSum(data, places, rows) */
void sp_row__sparse_segment(sp_row_step *step)
{
	const sp_row_fact *data = step->in[0], *places = step->in[1], *rows = step->in[2];

	if (data->kind == SP_ROW_DISTINCT && places->kind == SP_ROW_PLACES &&
	    data->of == places->of && places->lead.set != 0 &&
	    counts_rows(rows, SP_ROW_POSITIONS, places->lead.set))
		combine(step, data, rows);
}

/* ------------------------------------------------------------------- embeddings */

/* The width of rows of an embedding; ANY: its declaration leaves it open. */
static sp_row_number width_of(const sp_row_step *step, const sp_row_fact *handle)
{
	sp_resource *resource;

	if (handle->value == NULL ||
	    sp_resources_get(step->resources, handle->value, SP_RESOURCE_EMBEDDING, &resource,
			     NULL) != SP_OK ||
	    sp_resource_row_width(resource) == 0)
		return sp_row_known(SP_ROW_ANY);
	return sp_row_known((int64_t)sp_resource_row_width(resource));
}

/* KvResourceGather(handle, keys, default) and V1 with counts, which are not used. */
void sp_row__kv_gather(sp_row_step *step)
{
	const sp_row_fact *keys = step->in[1];
	sp_row_fact out = *keys;

	if (!sp_row_is_fixed(step->in[0]) || !sp_row_is_fixed(step->in[2]) ||
	    out.rank == SP_MAX_RANK ||
	    sp_row_attr(step->node, "is_use_default_value_tensor", 0) != 0 ||
	    (!sp_row_has_lead(keys) && keys->kind != SP_ROW_DISTINCT))
		return;
	out.dims[out.rank++] = width_of(step, step->in[0]);
	step->out[0] = out;
}

/* The dimensions of a column's keys; false: they are not by rows. */
static bool read_keys(const sp_column_spec *spec, const sp_row_fact *const *in, sp_row_fact *keys)
{
	uint32_t set = in[1]->lead.set;

	*keys = *in[1];
	if (spec->source == SP_COLUMN_SPARSE)
		return counts_rows(in[1], SP_ROW_INDICES, set) && is_entries(in[2], set) &&
		       (!spec->weighted || is_entries(in[4], set)) &&
		       read_shape(in[3], keys->dims, &keys->rank);
	if (spec->source == SP_COLUMN_BUCKETS) {
		keys->rank = 2;
		keys->dims[1] = sp_row_known(spec->number_count);
	}
	if (spec->widen && keys->rank < SP_MAX_RANK)
		keys->dims[keys->rank++] = sp_row_known(1);
	return in[1]->kind == SP_ROW_ROWS && !spec->weighted;
}

static void look_up(sp_row_step *step, const sp_column_spec *spec, const sp_row_fact *const *in,
		    sp_row_fact *result)
{
	int lead = spec->row_dims != 0 ? (int)spec->row_dims : 1;
	sp_row_fact keys, out = {.kind = SP_ROW_ROWS};

	if (!sp_row_is_fixed(in[0]) || !read_keys(spec, in, &keys) || lead > keys.rank)
		return;
	for (int d = 0; d < lead; d++)
		out.dims[out.rank++] = keys.dims[d];
	for (; !spec->keeps_shape && out.rank > 1; out.rank--)
		if (!sp_row_multiply(&out.dims[0], out.dims[out.rank - 1]))
			return;
	if (out.rank == SP_MAX_RANK || (!spec->is_table && !sp_row_append(&out, in[0], 1)))
		return;
	if (spec->is_table)
		out.dims[out.rank++] = width_of(step, in[0]);
	if (spec->width != 0) {
		out.rank = 2;
		out.dims[1] = sp_row_known(spec->width);
	}
	*result = out;
}

void sp_row__columns(sp_row_step *step)
{
	const sp_embedding_columns *columns = step->node->columns;
	size_t first = 0;

	for (size_t i = 0; i < columns->count; i++) {
		look_up(step, &columns->specs[i], step->in + first, &step->out[i]);
		first += sp_column_input_count(&columns->specs[i]);
	}
}
