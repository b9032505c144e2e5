#include <string.h>

#include "engine/kernels/protobuf_writer.h"
#include "engine/stablehlo/translate_internal.h"

/* gather, scatter and sort become XlaGather, XlaScatter and XlaVariadicSort. */

/* ------------------------------------------------------ dimension numbers */

/* Adds a field of a message: a list of dimensions or a single one. */
static sp_status add_field(sp_hlo *hlo, sp_hlo_message *to, int field, const int64_t *values,
			   size_t count)
{
	for (size_t i = 0; i < count; i++) {
		if (to->size + 2 * SP_PROTOBUF_MAX_VARINT > sizeof(to->bytes))
			return sp_error_set(hlo->err, SP_UNSUPPORTED, "too many dimension numbers");
		to->size = (size_t)(sp_protobuf_put_varint(to->bytes + to->size,
							   (uint64_t)field << 3) -
				    to->bytes);
		to->size = (size_t)(sp_protobuf_put_varint(to->bytes + to->size,
							   (uint64_t)values[i]) -
				    to->bytes);
	}
	return SP_OK;
}

sp_status sp_hlo__add_dims(sp_hlo *hlo, sp_hlo_message *to, int field, const sp_mlir_op *op,
			   const char *name)
{
	int64_t values[SP_MAX_RANK];
	size_t count;

	SP_TRY(sp_vhlo_ints(&hlo->module, op, name, values, SP_MAX_RANK, &count, hlo->err));
	return add_field(hlo, to, field, values, count);
}

sp_status sp_hlo__add_dim(sp_hlo *hlo, sp_hlo_message *to, int field, const sp_mlir_op *op,
			  const char *name)
{
	int64_t value;

	SP_TRY(sp_vhlo_int(&hlo->module, op, name, &value, hlo->err));
	return add_field(hlo, to, field, &value, 1);
}

sp_status sp_hlo__give_numbers(sp_hlo *hlo, sp_hlo_node *node, const sp_hlo_message *message)
{
	sp_bytes bytes = {message->bytes, message->size};
	char *copy = sp_arena_text(hlo->arena, bytes);

	if (copy == NULL)
		return sp_hlo__out_of_memory(hlo);
	sp_hlo__text(node, "dimension_numbers", (sp_bytes){copy, message->size});
	return SP_OK;
}

/* Version 2 of the operation has batch dimensions. */
static bool has_batches(const sp_mlir_op *op)
{
	return op->name[strlen(op->name) - 1] != '1';
}

/* ----------------------------------------------------------------- indices */

/* The indices as int32 or, if their type is wider, int64. */
static const char *indices_of(sp_hlo_body *body, uint32_t value, sp_dtype *index)
{
	sp_dtype dtype = sp_hlo__value_type(body->hlo, value)->dtype;

	*index = sp_dtype_size(dtype) > sizeof(int32_t) || dtype == SP_UINT32 ? SP_INT64 : SP_INT32;
	return sp_hlo__cast(body, sp_hlo__all(body, value), dtype, *index);
}

static sp_status need_index(sp_hlo *hlo, const sp_mlir_op *op, uint32_t value)
{
	return sp_dtype_is_integer(sp_hlo__value_type(hlo, value)->dtype)
		       ? hlo->status
		       : sp_hlo__refuse(hlo, op, "with indices that are no integers");
}

/* ------------------------------------------------------------------ gather */

static sp_status gather(sp_hlo_body *body, const sp_mlir_op *op, const char *sizes)
{
	sp_hlo *hlo = body->hlo;
	sp_hlo_message dims = {.size = 0};
	sp_hlo_node node;
	sp_dtype index;
	const char *starts;

	SP_TRY(need_index(hlo, op, op->operands[1]));
	SP_TRY(sp_hlo__add_dims(hlo, &dims, 1, op, "offset_dims"));
	SP_TRY(sp_hlo__add_dims(hlo, &dims, 2, op, "collapsed_slice_dims"));
	SP_TRY(sp_hlo__add_dims(hlo, &dims, 3, op, "start_index_map"));
	SP_TRY(sp_hlo__add_dim(hlo, &dims, 4, op, "index_vector_dim"));
	if (has_batches(op)) {
		SP_TRY(sp_hlo__add_dims(hlo, &dims, 5, op, "operand_batching_dims"));
		SP_TRY(sp_hlo__add_dims(hlo, &dims, 6, op, "start_indices_batching_dims"));
	}
	starts = indices_of(body, op->operands[1], &index);
	sp_hlo__begin(body, &node, "XlaGather", 3);
	sp_hlo__input(&node, sp_hlo__all(body, op->operands[0]));
	sp_hlo__input(&node, starts);
	sp_hlo__input(&node, sizes);
	SP_TRY(sp_hlo__give_numbers(hlo, &node, &dims));
	sp_hlo__bool(&node, "indices_are_sorted", false);
	sp_hlo__type(&node, "T", sp_hlo__value_type(hlo, op->operands[0])->dtype);
	sp_hlo__type(&node, "Tindices", index);
	return sp_hlo__give(body, op, 0, sp_hlo__write(body, &node));
}

sp_status sp_hlo__do_gather(sp_hlo_body *body, const sp_mlir_op *op)
{
	sp_hlo *hlo = body->hlo;
	int64_t sizes[SP_MAX_RANK];
	size_t count;
	sp_dtype index;

	SP_TRY(sp_vhlo_ints(&hlo->module, op, "slice_sizes", sizes, SP_MAX_RANK, &count, hlo->err));
	for (size_t i = 0; i < count; i++)
		if (sizes[i] < 0 || sizes[i] > INT32_MAX)
			return sp_hlo__refuse(hlo, op, "its windows are too large");
	indices_of(body, op->operands[1], &index);
	return gather(body, op,
		      sp_hlo__cast(body, sp_hlo__ints(body, sizes, count), SP_INT32, index));
}

sp_status sp_hlo__do_dynamic_gather(sp_hlo_body *body, const sp_mlir_op *op)
{
	sp_hlo *hlo = body->hlo;
	sp_dtype index;

	SP_TRY(need_index(hlo, op, op->operands[2]));
	indices_of(body, op->operands[1], &index);
	return gather(body, op,
		      sp_hlo__cast(body, sp_hlo__all(body, op->operands[2]),
				   sp_hlo__value_type(hlo, op->operands[2])->dtype, index));
}

/* ----------------------------------------------------------------- scatter */

sp_status sp_hlo__scalar_function(sp_hlo *hlo, const sp_mlir_op *op, const char **out)
{
	uint32_t *captured;
	size_t count, left = 0;

	SP_TRY(sp_hlo__captured(hlo, op, &captured, &count));
	/* Captured constants are written into the function. */
	for (size_t i = 0; i < count; i++)
		if (sp_hlo__known(hlo, captured[i]) == NULL ||
		    hlo->values[captured[i]].shape != NULL)
			captured[left++] = captured[i];
	if (left != 0)
		return sp_hlo__refuse(hlo, op, "by a function that reads other values");
	return sp_hlo__make_function(hlo, &op->regions[0], captured, count, SP_HLO_SCALAR, out);
}

sp_status sp_hlo__do_scatter(sp_hlo_body *body, const sp_mlir_op *op)
{
	sp_hlo *hlo = body->hlo;
	sp_hlo_message dims = {.size = 0};
	const char *function, *indices;
	sp_hlo_node node;
	sp_dtype index;

	if (op->region_count != 1 || op->operand_count != 3 || op->result_count != 1)
		return sp_hlo__refuse(hlo, op, "of several tensors at once");
	SP_TRY(need_index(hlo, op, op->operands[1]));
	SP_TRY(sp_hlo__add_dims(hlo, &dims, 1, op, "update_window_dims"));
	SP_TRY(sp_hlo__add_dims(hlo, &dims, 2, op, "inserted_window_dims"));
	SP_TRY(sp_hlo__add_dims(hlo, &dims, 3, op, "scatter_dims_to_operand_dims"));
	SP_TRY(sp_hlo__add_dim(hlo, &dims, 4, op, "index_vector_dim"));
	if (has_batches(op)) {
		SP_TRY(sp_hlo__add_dims(hlo, &dims, 5, op, "input_batching_dims"));
		SP_TRY(sp_hlo__add_dims(hlo, &dims, 6, op, "scatter_indices_batching_dims"));
	}
	SP_TRY(sp_hlo__scalar_function(hlo, op, &function));
	indices = indices_of(body, op->operands[1], &index);
	sp_hlo__begin(body, &node, "XlaScatter", 3);
	sp_hlo__input(&node, sp_hlo__all(body, op->operands[0]));
	sp_hlo__input(&node, indices);
	sp_hlo__input(&node, sp_hlo__all(body, op->operands[2]));
	SP_TRY(sp_hlo__give_numbers(hlo, &node, &dims));
	sp_hlo__function(&node, "update_computation", function);
	sp_hlo__bool(&node, "indices_are_sorted", false);
	sp_hlo__type(&node, "T", sp_hlo__value_type(hlo, op->operands[0])->dtype);
	sp_hlo__type(&node, "Tindices", index);
	return sp_hlo__give(body, op, 0, sp_hlo__write(body, &node));
}

/* -------------------------------------------------------------------- sort */

/* The first `count` operands, sorted together. */
static sp_status write_sort(sp_hlo_body *body, const sp_mlir_op *op, size_t count,
			    int64_t dimension, const char *comparator, sp_hlo_node *node)
{
	sp_hlo *hlo = body->hlo;
	sp_dtype *dtypes = sp_arena_array(hlo->arena, count, sizeof(*dtypes));

	if (dtypes == NULL)
		return sp_hlo__out_of_memory(hlo);
	sp_hlo__begin(body, node, "XlaVariadicSort", count + 1);
	for (size_t i = 0; i < count; i++) {
		sp_hlo__input(node, sp_hlo__all(body, op->operands[i]));
		dtypes[i] = sp_hlo__value_type(hlo, op->operands[i])->dtype;
	}
	sp_hlo__input(node, sp_hlo__int_scalar(body, dimension));
	sp_hlo__types(node, "T", dtypes, count);
	sp_hlo__function(node, "comparator", comparator);
	sp_hlo__bool(node, "is_stable", true);
	sp_hlo__write(body, node);
	return hlo->status;
}

sp_status sp_hlo__do_sort(sp_hlo_body *body, const sp_mlir_op *op)
{
	sp_hlo *hlo = body->hlo;
	const char *comparator;
	sp_hlo_node node;
	int64_t dimension;

	if (op->region_count != 1 || op->operand_count != op->result_count)
		return sp_hlo__refuse(hlo, op, "its operands and results do not belong together");
	SP_TRY(sp_vhlo_int(&hlo->module, op, "dimension", &dimension, hlo->err));
	SP_TRY(sp_hlo__scalar_function(hlo, op, &comparator));
	SP_TRY(write_sort(body, op, op->operand_count, dimension, comparator, &node));
	for (uint32_t i = 0; i < op->result_count; i++)
		SP_TRY(sp_hlo__give(body, op, i, sp_hlo__output(body, &node, i)));
	return hlo->status;
}

/* ------------------------------------------------------- approximate top k */

static bool find_number(const sp_hlo *hlo, uint32_t config, const char *key, int64_t *out)
{
	uint32_t attribute = sp_vhlo_dictionary(&hlo->module, config, key);

	return attribute != SP_MLIR_NONE && sp_vhlo_number(&hlo->module, attribute, out);
}

static const char *find_comparator(const sp_hlo *hlo, uint32_t list)
{
	uint32_t attribute = sp_vhlo_element(&hlo->module, list, 0);
	sp_bytes name;
	int64_t function;

	if (attribute == SP_MLIR_NONE || !sp_vhlo_string(&hlo->module, attribute, &name))
		return NULL;
	function = sp_hlo__find_function(hlo, name);
	return function >= 0 ? hlo->function_names[function] : NULL;
}

/*
 * The operands are values and payloads, then their initial values, which are not needed: on a CPU,
 * XLA sorts and keeps the first top_k.
 */
sp_status sp_hlo__approximate_top_k(sp_hlo_body *body, const sp_mlir_op *op)
{
	sp_hlo *hlo = body->hlo;
	int64_t k, dimension, aggregates, begin[SP_MAX_RANK] = {0}, size[SP_MAX_RANK];
	uint32_t config, list;
	const char *comparator;
	sp_hlo_node sorted, node;

	SP_TRY(sp_vhlo_find(&hlo->module, op, "mhlo.backend_config", &config, hlo->err));
	SP_TRY(sp_vhlo_find(&hlo->module, op, "called_computations", &list, hlo->err));
	comparator = list != SP_MLIR_NONE ? find_comparator(hlo, list) : NULL;
	if (config == SP_MLIR_NONE || comparator == NULL || op->result_count == 0 ||
	    op->operand_count != 2 * (size_t)op->result_count ||
	    !find_number(hlo, config, "top_k", &k) ||
	    !find_number(hlo, config, "reduction_dim", &dimension) ||
	    !find_number(hlo, config, "aggregate_to_topk", &aggregates) || aggregates != 1)
		return sp_hlo__refuse(hlo, op, "ApproxTopK that is not aggregated");
	SP_TRY(write_sort(body, op, op->result_count, dimension, comparator, &sorted));
	for (uint32_t i = 0; i < op->result_count; i++) {
		const sp_vhlo_type *type = sp_hlo__value_type(hlo, op->operands[i]);

		if (dimension < 0 || dimension >= type->rank || k < 0 || k > INT32_MAX)
			return sp_hlo__refuse(hlo, op,
					      "ApproxTopK of a dimension that is not there");
		for (int32_t d = 0; d < type->rank; d++)
			size[d] = d == dimension ? k : -1;
		sp_hlo__begin(body, &node, "Slice", 3);
		sp_hlo__input(&node, sp_hlo__output(body, &sorted, i));
		sp_hlo__input(&node, sp_hlo__ints(body, begin, (size_t)type->rank));
		sp_hlo__input(&node, sp_hlo__ints(body, size, (size_t)type->rank));
		sp_hlo__type(&node, "T", type->dtype);
		sp_hlo__type(&node, "Index", SP_INT32);
		SP_TRY(sp_hlo__give(body, op, i, sp_hlo__write(body, &node)));
	}
	return hlo->status;
}
