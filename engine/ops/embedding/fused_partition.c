#include <string.h>

#include "base/size.h"
#include "engine/ops/array/array.h"

/*
 * DeepRec's partitioned tables: the partition of an id, and its id there.
 *
 *   div     consecutive ids; the first partitions have one row more than the others
 *   mod     partition id mod n, id / n there
 *   mod_ev  partition (id mod 1000) mod n, the id is unchanged: partitions of an
 *           EmbeddingVariable
 *
 * PartitionWithPermutation: input, n partition_shapes [rows, dim].  Outputs the ids of each
 * partition in order, and for each id (partition, position in it).
 *
 * FusedEmbeddingSparsePreLookUp: n partition_shapes, and a sparse tensor of ids in three inputs.
 * Outputs the ids of each partition in order, their indices, and flags: one per row, 1 if it was
 * empty and is filled, and one per id, 0 if it is negative.  With prune_invalid_id negative ids are
 * dropped, else they go to partition 0 unchanged; with fill_empty_row default_id (0 when it is
 * negative) is added, at the end of its partition, for every row without ids.  One partition of the
 * shape [1, 1] stands for an EmbeddingVariable: ids stay unchanged.
 */
typedef enum partition_rule { BY_DIV, BY_MOD, BY_MOD_EV } partition_rule;

typedef struct partition {
	partition_rule rule;
	int64_t parts; /* >= 1 */
	int64_t rows;  /* of all partitions together */
} partition;

typedef struct partition_state {
	partition_rule rule;
	size_t parts;
	bool fill, prune;
	int64_t default_id;
} partition_state;

/* Reads the rule; `fallback` "": the attribute is required. */
static sp_status read_rule(const sp_prepare *prepare, const char *fallback, partition_rule *out,
			   sp_error *err)
{
	sp_bytes name;

	SP_TRY(sp_node_attr_bytes(prepare->node, "partition_strategy", fallback, &name, err));
	if (sp_bytes_equal_text(name, "div"))
		*out = BY_DIV;
	else if (sp_bytes_equal_text(name, "mod"))
		*out = BY_MOD;
	else if (sp_bytes_equal_text(name, "mod_ev"))
		*out = BY_MOD_EV;
	else
		return sp_error_set(err, SP_INVALID,
				    "partition_strategy must be div, mod or mod_ev, not '%.*s'",
				    (int)name.size, name.data);
	return SP_OK;
}

static sp_status find_part(const partition *p, const sp_call *call, int64_t id, size_t *part,
			   int64_t *local_id)
{
	int64_t n = p->parts, each = p->rows / n, extra = p->rows % n;

	if (id < 0)
		return sp_call_invalid(call, "id %lld is negative, and in no part of a table",
				       (long long)id);
	if (p->rule == BY_DIV && id >= p->rows)
		return sp_call_invalid(call, "id %lld is in no part of a table of %lld rows",
				       (long long)id, (long long)p->rows);
	switch (p->rule) {
	case BY_MOD:
		*part = (size_t)(id % n);
		*local_id = id / n;
		break;
	case BY_MOD_EV:
		*part = (size_t)(id % 1000 % n);
		*local_id = id;
		break;
	case BY_DIV:
		if (id < extra * (each + 1)) {
			*part = (size_t)(id / (each + 1));
			*local_id = id % (each + 1);
		} else {
			*part = (size_t)((id - extra) / each);
			*local_id = (id - extra) % each;
		}
		break;
	}
	return SP_OK;
}

/* Sums the rows of all partitions, whose shapes are the inputs from `first` on. */
static sp_status read_partition(const sp_call *call, size_t first, partition *out)
{
	const partition_state *state = call->state;

	*out = (partition){.rule = state->rule, .parts = (int64_t)state->parts};
	for (size_t i = first; i < first + state->parts; i++) {
		const sp_tensor *shape = call->in[i];

		SP_TRY(sp_call_need_rank(call, i, 1));
		if (shape->count == 0 || sp_tensor_i64(shape)[0] < 0 ||
		    !sp_i64_add(&out->rows, out->rows, sp_tensor_i64(shape)[0]))
			return sp_call_invalid(call, "input %zu is not the shape of a table", i);
	}
	return SP_OK;
}

static sp_status prepare_any(sp_prepare *prepare, const char *rule, int64_t parts,
			     partition_state **out, sp_error *err)
{
	partition_state *state = sp_prepare_state(prepare, sizeof(*state));

	*out = state;
	SP_NEED_MEMORY(state, err, "an operator");
	SP_TRY(read_rule(prepare, rule, &state->rule, err));
	SP_TRY(sp_node_attr_int(prepare->node, "num_partitions", parts, &parts, err));
	if (parts < 1 || (uint64_t)parts > prepare->in_count)
		return sp_error_set(err, SP_INVALID,
				    "attribute 'num_partitions' is %lld for %zu inputs",
				    (long long)parts, prepare->in_count);
	state->parts = (size_t)parts;
	return sp_prepare_types(prepare, "int64*", err);
}

/* ------------------------------------------------- PartitionWithPermutation */

static sp_status prepare_permutation(sp_prepare *prepare, sp_error *err)
{
	partition_state *state;

	SP_TRY(prepare_any(prepare, "", 2, &state, err));
	SP_TRY(sp_prepare_inputs(prepare, state->parts + 1, err));
	SP_TRY(sp_prepare_outputs(prepare, state->parts + 1, SP_INT64, err));
	prepare->out_dtypes[state->parts] = SP_INT32;
	return SP_OK;
}

static sp_status run_permutation(const sp_call *call)
{
	size_t parts = ((const partition_state *)call->state)->parts, part;
	const sp_tensor *ids = call->in[0];
	int64_t *local_id = sp_call_bytes(call, ids->count, sizeof(*local_id));
	int64_t *counts = sp_call_bytes(call, parts, sizeof(*counts));
	int32_t *places;
	partition p;

	SP_TRY(sp_call_need_rank(call, 0, 1));
	if (local_id == NULL || counts == NULL)
		return sp_call_no_memory(call);
	if (ids->count > INT32_MAX)
		return sp_call_invalid(call, "%zu ids are too many to number", ids->count);
	SP_TRY(read_partition(call, 1, &p));
	SP_TRY(sp_call_output_matrix(call, parts, SP_INT32, (int64_t)ids->count, 2));
	places = call->out[parts]->data;
	memset(counts, 0, parts * sizeof(*counts));
	for (size_t k = 0; k < ids->count; k++) {
		SP_TRY(find_part(&p, call, sp_tensor_i64(ids)[k], &part, &local_id[k]));
		places[2 * k] = (int32_t)part;
		places[2 * k + 1] = (int32_t)counts[part]++;
	}
	for (size_t i = 0; i < parts; i++) {

		SP_TRY(sp_call_output_vector(call, i, SP_INT64, counts[i]));
	}
	for (size_t k = 0; k < ids->count; k++)
		sp_tensor_i64(call->out[places[2 * k]])[places[2 * k + 1]] = local_id[k];
	return SP_OK;
}

/* -------------------------------------------- FusedEmbeddingSparsePreLookUp */

static sp_status prepare_pre(sp_prepare *prepare, sp_error *err)
{
	const sp_node *node = prepare->node;
	partition_state *state;
	int64_t axis;

	SP_TRY(prepare_any(prepare, "div", 1, &state, err));
	SP_TRY(sp_prepare_inputs(prepare, state->parts + 3, err));
	SP_TRY(sp_node_attr_int(node, "partition_axis", 0, &axis, err));
	if (axis != 0)
		return sp_error_set(err, SP_UNSUPPORTED,
				    "%s with partition_axis %lld is not supported", node->op_name,
				    (long long)axis);
	SP_TRY(sp_node_attr_bool(node, "fill_empty_row", false, &state->fill, err));
	SP_TRY(sp_node_attr_bool(node, "prune_invalid_id", false, &state->prune, err));
	SP_TRY(sp_node_attr_int(node, "default_id", -1, &state->default_id, err));
	if (state->default_id < 0)
		state->default_id = 0;
	SP_TRY(sp_prepare_outputs(prepare, 2 * state->parts + 1, SP_INT64, err));
	prepare->out_dtypes[2 * state->parts] = SP_INT32;
	return SP_OK;
}

/* The sparse tensor, and the destinations of its ids. */
typedef struct pre_lookup {
	const int64_t *ids, *indices;
	size_t count;
	int64_t batch;
	int32_t *row_flags, *id_flags;

	size_t *part;      /* of each id; `parts` if it is dropped */
	int64_t *local_id; /* its id in that partition */
	int64_t *counts;   /* [parts] */
	size_t default_part;
	int64_t default_local_id;
	int64_t empty; /* empty rows */
} pre_lookup;

static sp_status read_ids(const sp_call *call, pre_lookup *pre)
{
	size_t parts = ((const partition_state *)call->state)->parts;
	const sp_tensor *ids = call->in[parts], *indices = call->in[parts + 1];
	const sp_tensor *shape = call->in[parts + 2];

	SP_TRY(sp_call_need_rank(call, parts, 1));
	SP_TRY(sp_call_need_rank(call, parts + 1, 2));
	if (indices->shape.dims[0] != (int64_t)ids->count || indices->shape.dims[1] != 2)
		return sp_call_invalid(call, "indices of [%lld,%lld] for %zu ids",
				       (long long)indices->shape.dims[0],
				       (long long)indices->shape.dims[1], ids->count);
	SP_TRY(sp_call_need_rank(call, parts + 2, 1));
	if (shape->count == 0 || sp_tensor_i64(shape)[0] < 0)
		return sp_call_invalid(call, "the dense shape has no number of rows");
	*pre = (pre_lookup){.ids = ids->data,
			    .indices = indices->data,
			    .count = ids->count,
			    .batch = sp_tensor_i64(shape)[0]};
	for (size_t k = 0; k < pre->count; k++)
		if (pre->indices[2 * k] < 0 || pre->indices[2 * k] >= pre->batch)
			return sp_call_invalid(call, "index %zu is of row %lld, not below %lld", k,
					       (long long)pre->indices[2 * k],
					       (long long)pre->batch);
	return SP_OK;
}

static sp_status make_room(const sp_call *call, pre_lookup *pre)
{
	size_t parts = ((const partition_state *)call->state)->parts;
	int64_t size;

	if (!sp_i64_add(&size, pre->batch, (int64_t)pre->count))
		return sp_call_invalid(call, "%lld rows are too many", (long long)pre->batch);
	SP_TRY(sp_call_output_vector(call, 2 * parts, SP_INT32, size));
	if (size != 0)
		memset(call->out[2 * parts]->data, 0, (size_t)size * sizeof(int32_t));
	pre->row_flags = call->out[2 * parts]->data;
	pre->id_flags = pre->row_flags + pre->batch;
	SP_CALL_ARRAY(pre->part, call, pre->count);
	SP_CALL_ARRAY(pre->local_id, call, pre->count);
	SP_CALL_ARRAY(pre->counts, call, parts);
	memset(pre->counts, 0, parts * sizeof(*pre->counts));
	return SP_OK;
}

static sp_status place_ids(const sp_call *call, const partition *p, pre_lookup *pre)
{
	const partition_state *state = call->state;
	bool as_they_are = p->parts == 1 && p->rows == 1;

	for (size_t k = 0; k < pre->count; k++) {
		pre->part[k] = 0;
		pre->local_id[k] = pre->ids[k];
		pre->id_flags[k] = pre->ids[k] >= 0;
		if (pre->ids[k] < 0 && state->prune) {
			pre->part[k] = state->parts;
			continue;
		}
		if (pre->ids[k] >= 0 && !as_they_are)
			SP_TRY(find_part(p, call, pre->ids[k], &pre->part[k], &pre->local_id[k]));
		pre->counts[pre->part[k]]++;
		pre->row_flags[pre->indices[2 * k]] = 1;
	}
	/* The flags mark rows with ids; invert them to mark rows that get the default id. */
	for (int64_t row = 0; row < pre->batch; row++) {
		pre->row_flags[row] = state->fill && !pre->row_flags[row];
		pre->empty += pre->row_flags[row];
	}
	pre->default_local_id = state->default_id;
	if (pre->empty != 0 && !as_they_are)
		SP_TRY(find_part(p, call, state->default_id, &pre->default_part,
				 &pre->default_local_id));
	return SP_OK;
}

static sp_status write_parts(const sp_call *call, pre_lookup *pre)
{
	size_t parts = ((const partition_state *)call->state)->parts, part;
	int64_t *ids, *indices;

	pre->counts[pre->default_part] += pre->empty;
	for (size_t i = 0; i < parts; i++) {

		SP_TRY(sp_call_output_vector(call, i, SP_INT64, pre->counts[i]));
		SP_TRY(sp_call_output_matrix(call, parts + i, SP_INT64, pre->counts[i], 2));
		pre->counts[i] = 0;
	}
	for (size_t k = 0; k < pre->count; k++) {
		part = pre->part[k];
		if (part == parts)
			continue;
		ids = sp_tensor_i64(call->out[part]);
		indices = sp_tensor_i64(call->out[parts + part]);
		ids[pre->counts[part]] = pre->local_id[k];
		memcpy(indices + 2 * pre->counts[part]++, pre->indices + 2 * k, 2 * sizeof(*ids));
	}
	part = pre->default_part;
	ids = sp_tensor_i64(call->out[part]);
	indices = sp_tensor_i64(call->out[parts + part]);
	for (int64_t row = 0; row < pre->batch; row++) {
		if (!pre->row_flags[row])
			continue;
		ids[pre->counts[part]] = pre->default_local_id;
		indices[2 * pre->counts[part]] = row;
		indices[2 * pre->counts[part]++ + 1] = 0;
	}
	return SP_OK;
}

static sp_status run_pre(const sp_call *call)
{
	pre_lookup pre;
	partition p;

	SP_TRY(read_partition(call, 0, &p));
	SP_TRY(read_ids(call, &pre));
	SP_TRY(make_room(call, &pre));
	SP_TRY(place_ids(call, &p, &pre));
	return write_parts(call, &pre);
}

SP_DEFINE_OP(PartitionWithPermutation, "partitioned_values:num_partitions partition_permutation", 0,
	     prepare_permutation, run_permutation);
SP_DEFINE_OP(FusedEmbeddingSparsePreLookUp,
	     "partitioned_values:num_partitions partitioned_indices:num_partitions "
	     "row_empty_and_invalid_flags",
	     0, prepare_pre, run_pre);
