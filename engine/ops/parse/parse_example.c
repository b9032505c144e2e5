#include "engine/ops/parse/parse_example_internal.h"

#include "base/size.h"
#include "engine/ops/array/array.h"

static bool is_list_dtype(sp_dtype dtype)
{
	return dtype == SP_FLOAT || dtype == SP_INT64 || dtype == SP_STRING;
}

static sp_status prepare_dense_shape(sp_example_column *c, const sp_partial_shape *shape,
				     sp_error *err)
{
	c->count = 1;
	if (shape->rank < 0 || shape->rank >= SP_MAX_RANK)
		return sp_error_set(err, SP_INVALID, "a dense shape of rank %d is not supported",
				    shape->rank);
	c->shape.rank = shape->rank;
	for (int i = 0; i < shape->rank; i++) {
		c->shape.dims[i] = shape->dims[i];
		if (i == 0 && shape->dims[0] == -1) {
			c->is_variable = true;
			c->shape.dims[0] = 0;
		} else if (shape->dims[i] < 0 ||
			   !sp_size_mul(&c->count, c->count, (size_t)shape->dims[i])) {
			return sp_error_set(err, SP_INVALID,
					    "dimension %d of a dense shape is %lld", i,
					    (long long)shape->dims[i]);
		}
	}
	if (c->is_variable && c->count == 0)
		return sp_error_set(err, SP_UNSUPPORTED,
				    "a dense shape with both a variable and an empty dimension");
	return SP_OK;
}

/* Reads the list of element types in an attribute, one for each of `count` columns. */
static sp_status take_types(const sp_prepare *prepare, const char *name, size_t count,
			    sp_example_column *columns, sp_error *err)
{
	const sp_attr *types;

	SP_TRY(sp_node_attr_list(prepare->node, name, SP_ATTR_TYPE, &types, err));
	if (types->count != count)
		return sp_error_set(err, SP_INVALID, "%s has %zu types for %zu features", name,
				    types->count, count);
	for (size_t i = 0; i < count; i++) {
		columns[i].dtype = types->type_list[i];
		if (!is_list_dtype(columns[i].dtype))
			return sp_prepare_unsupported(prepare, columns[i].dtype, err);
	}
	return SP_OK;
}

static sp_status take_dense(const sp_prepare *prepare, sp_example_columns *s,
			    const sp_example_attrs *attrs, sp_error *err)
{
	sp_example_column *dense = s->columns + s->sparse_count;
	const sp_attr *shapes;

	SP_TRY(take_types(prepare, attrs->dense_types, s->dense_count, dense, err));
	SP_TRY(sp_node_attr_list(prepare->node, attrs->dense_shapes, SP_ATTR_SHAPE, &shapes, err));
	if (shapes->count != s->dense_count)
		return sp_error_set(err, SP_INVALID, "%zu dense shapes for %zu features",
				    shapes->count, s->dense_count);
	for (size_t i = 0; i < s->dense_count; i++) {
		dense[i].kind = SP_EXAMPLE_DENSE;
		SP_TRY(prepare_dense_shape(&dense[i], &shapes->shape_list[i], err));
	}
	return SP_OK;
}

static sp_status take_sparse(const sp_prepare *prepare, sp_example_columns *s,
			     const sp_example_attrs *attrs, sp_error *err)
{
	SP_TRY(take_types(prepare, attrs->sparse_types, s->sparse_count, s->columns, err));
	for (size_t i = 0; i < s->sparse_count; i++)
		s->columns[i].kind = SP_EXAMPLE_SPARSE;
	return SP_OK;
}

static sp_status take_ragged(const sp_prepare *prepare, sp_example_columns *s,
			     const sp_example_attrs *attrs, sp_error *err)
{
	sp_example_column *ragged = s->columns + s->sparse_count + s->dense_count;
	const sp_attr *splits;

	SP_TRY(take_types(prepare, attrs->ragged_types, s->ragged_count, ragged, err));
	SP_TRY(sp_node_attr_list(prepare->node, attrs->ragged_splits, SP_ATTR_TYPE, &splits, err));
	if (splits->count != s->ragged_count)
		return sp_error_set(err, SP_INVALID, "%zu types of splits for %zu features",
				    splits->count, s->ragged_count);
	for (size_t i = 0; i < s->ragged_count; i++) {
		ragged[i].kind = SP_EXAMPLE_RAGGED;
		ragged[i].split_dtype = splits->type_list[i];
		if (ragged[i].split_dtype != SP_INT32 && ragged[i].split_dtype != SP_INT64)
			return sp_prepare_unsupported(prepare, ragged[i].split_dtype, err);
	}
	return SP_OK;
}

sp_status sp_example_columns__take(const sp_prepare *prepare, sp_example_columns *s,
				   const sp_example_attrs *attrs, sp_error *err)
{
	s->column_count = s->sparse_count + s->dense_count + s->ragged_count;
	s->columns = sp_arena_zeros(prepare->arena, s->column_count, sizeof(*s->columns));
	SP_NEED_MEMORY(s->columns, err, "%zu features", s->column_count);
	SP_TRY(take_sparse(prepare, s, attrs, err));
	SP_TRY(take_dense(prepare, s, attrs, err));
	return s->ragged_count > 0 ? take_ragged(prepare, s, attrs, err) : SP_OK;
}

sp_status sp_example_columns__take_defaults(const sp_prepare *prepare, sp_example_columns *s,
					    sp_error *err)
{
	sp_example_column *dense = s->columns + s->sparse_count;

	for (size_t i = 0; i < s->dense_count; i++) {
		dense[i].default_input = prepare->in_count - s->dense_count + i;
		SP_TRY(sp_prepare_input_dtype(prepare, dense[i].default_input, dense[i].dtype,
					      err));
	}
	return SP_OK;
}

sp_status sp_example_columns__take_keys(const sp_prepare *prepare, sp_example_columns *s,
					const char *sparse_keys, const char *dense_keys,
					sp_error *err)
{
	SP_TRY(sp_node_attr_list(prepare->node, sparse_keys, SP_ATTR_BYTES, &s->sparse_keys, err));
	SP_TRY(sp_node_attr_list(prepare->node, dense_keys, SP_ATTR_BYTES, &s->dense_keys, err));
	if (s->sparse_keys->count == s->sparse_count && s->dense_keys->count == s->dense_count)
		return SP_OK;
	return sp_error_set(err, SP_INVALID, "%zu %s and %zu %s for %zu and %zu features",
			    s->sparse_keys->count, sparse_keys, s->dense_keys->count, dense_keys,
			    s->sparse_count, s->dense_count);
}

/*
 * Indices, values and shapes of sparse columns, dense values, values and splits of ragged columns.
 */
sp_dtype *sp_example_columns__outputs(const sp_example_columns *s, sp_dtype *to)
{
	for (size_t i = 0; i < s->sparse_count; i++) {
		to[i] = to[2 * s->sparse_count + i] = SP_INT64;
		to[s->sparse_count + i] = s->columns[i].dtype;
	}
	to += 3 * s->sparse_count;
	for (size_t i = s->sparse_count; i < s->column_count; i++)
		*to++ = s->columns[i].dtype;
	for (size_t i = s->column_count - s->ragged_count; i < s->column_count; i++)
		*to++ = s->columns[i].split_dtype;
	return to;
}

sp_status sp_example_columns__count(const sp_prepare *prepare, const char *name, size_t *out,
				    sp_error *err)
{
	enum { MAX_COLUMNS = 1 << 20 };
	int64_t count;

	SP_TRY(sp_node_attr_int(prepare->node, name, 0, &count, err));
	if (count < 0 || count > MAX_COLUMNS)
		return sp_error_set(err, SP_INVALID, "%s is %lld", name, (long long)count);
	*out = (size_t)count;
	return SP_OK;
}

sp_status sp_example_columns__list_length(const sp_prepare *prepare, const char *name, size_t *out,
					  sp_error *err)
{
	const sp_attr *list;

	SP_TRY(sp_node_attr_list(prepare->node, name, SP_ATTR_TYPE, &list, err));
	*out = list->count;
	return SP_OK;
}

/* The common part of the operators, once the counts are known; `strings` inputs come first. */
static sp_status prepare_columns(sp_prepare *prepare, sp_example_columns *s, size_t strings,
				 sp_error *err)
{
	static const sp_example_attrs attrs = {"sparse_types", "Tdense", "dense_shapes",
					       "ragged_value_types", "ragged_split_types"};

	SP_TRY(sp_prepare_inputs(prepare, strings + s->dense_count, err));
	for (size_t i = 0; i < strings; i++)
		SP_TRY(sp_prepare_input_dtype(prepare, i, SP_STRING, err));
	SP_TRY(sp_example_columns__take(prepare, s, &attrs, err));
	SP_TRY(sp_example_columns__take_defaults(prepare, s, err));
	SP_TRY(sp_prepare_outputs(prepare,
				  3 * s->sparse_count + s->dense_count + 2 * s->ragged_count,
				  SP_INT64, err));
	(void)sp_example_columns__outputs(s, prepare->out_dtypes);
	return SP_OK;
}

static sp_status new_state(sp_prepare *prepare, sp_example_columns **out, sp_error *err)
{
	*out = sp_prepare_state(prepare, sizeof(**out));
	SP_NEED_MEMORY(*out, err, "a parser");
	(*out)->first_key = 2;
	return sp_example_columns__list_length(prepare, "Tdense", &(*out)->dense_count, err);
}

static sp_status prepare_v1(sp_prepare *prepare, sp_error *err)
{
	sp_example_columns *s;

	SP_TRY(new_state(prepare, &s, err));
	SP_TRY(sp_example_columns__count(prepare, "Nsparse", &s->sparse_count, err));
	s->one_key_each = true;
	return prepare_columns(prepare, s, 2 + s->sparse_count + s->dense_count, err);
}

static sp_status prepare_v2(sp_prepare *prepare, sp_error *err)
{
	sp_example_columns *s;

	SP_TRY(new_state(prepare, &s, err));
	SP_TRY(sp_example_columns__count(prepare, "num_sparse", &s->sparse_count, err));
	SP_TRY(sp_example_columns__list_length(prepare, "ragged_value_types", &s->ragged_count,
					       err));
	return prepare_columns(prepare, s, 5, err);
}

static sp_status prepare_single(sp_prepare *prepare, sp_error *err)
{
	sp_example_columns *s;

	SP_TRY(new_state(prepare, &s, err));
	SP_TRY(sp_example_columns__count(prepare, "num_sparse", &s->sparse_count, err));
	SP_TRY(sp_example_columns__take_keys(prepare, s, "sparse_keys", "dense_keys", err));
	return prepare_columns(prepare, s, 1, err);
}

static sp_status run_v1(const sp_call *call)
{
	SP_TRY(sp_call_need_rank(call, 0, 1));
	return sp_example_batch_parse(call, call->in[1]);
}

static sp_status run_v2(const sp_call *call)
{
	return sp_example_batch_parse(call, call->in[1]);
}

static sp_status run_single(const sp_call *call)
{
	SP_TRY(sp_call_need_rank(call, 0, 0));
	return sp_example_batch_parse(call, NULL);
}

SP_DEFINE_OP(ParseExample,
	     "sparse_indices:Nsparse sparse_values:sparse_types sparse_shapes:Nsparse "
	     "dense_values:Tdense",
	     0, prepare_v1, run_v1);
SP_DEFINE_OP(ParseExampleV2,
	     "sparse_indices:num_sparse sparse_values:sparse_types "
	     "sparse_shapes:num_sparse dense_values:Tdense "
	     "ragged_values:ragged_value_types ragged_row_splits:ragged_split_types",
	     0, prepare_v2, run_v2);
SP_DEFINE_OP(ParseSingleExample,
	     "sparse_indices:num_sparse sparse_values:sparse_types "
	     "sparse_shapes:num_sparse dense_values:Tdense",
	     0, prepare_single, run_single);
