#include <string.h>

#include "engine/stablehlo/translate_internal.h"

/* Constants, and operations that only move elements. */

/* A list of one number per dimension of the operation's first operand. */
static sp_status read_dims(sp_hlo *hlo, const sp_mlir_op *op, const char *name, int32_t rank,
			   int64_t *out)
{
	size_t count;

	SP_TRY(sp_vhlo_ints(&hlo->module, op, name, out, SP_MAX_RANK, &count, hlo->err));
	return count == (size_t)rank
		       ? SP_OK
		       : sp_hlo__refuse(hlo, op, "a list does not have one number per dimension");
}

/* A dimension in an attribute. */
static sp_status read_dimension(sp_hlo *hlo, const sp_mlir_op *op, const char *name, int32_t rank,
				int64_t *out)
{
	SP_TRY(sp_vhlo_int(&hlo->module, op, name, out, hlo->err));
	return *out >= 0 && *out < rank ? SP_OK
					: sp_hlo__refuse(hlo, op, "there is no such dimension");
}

/* --------------------------------------------------------------- constants */

/* A constant is decoded once, however many operations refer to it. */
static sp_status read_constant(sp_hlo *hlo, uint32_t attribute, const sp_tensor **out,
			       bool *is_splat)
{
	enum { IS_READ = 1, IS_SPLAT = 2 };
	uint8_t *state = &hlo->constant_is_read[attribute];
	sp_vhlo_type type;

	if (*state == 0) {
		SP_TRY(sp_vhlo_tensor(&hlo->module, attribute, &type, &hlo->constants[attribute],
				      is_splat, hlo->arena, hlo->err));
		*state = IS_READ | (*is_splat ? IS_SPLAT : 0);
	}
	*is_splat = (*state & IS_SPLAT) != 0;
	*out = sp_arena_zeros(hlo->arena, 1, sizeof(**out));
	if (*out == NULL)
		return sp_hlo__out_of_memory(hlo);
	*(sp_tensor *)*out = hlo->constants[attribute];
	return SP_OK;
}

sp_status sp_hlo__do_constant(sp_hlo_body *body, const sp_mlir_op *op)
{
	sp_hlo *hlo = body->hlo;
	const sp_vhlo_type *type = sp_hlo__value_type(hlo, op->first_result);
	sp_hlo_value *value = &hlo->values[op->first_result];
	const sp_tensor *tensor;
	uint32_t attribute;
	bool is_splat;
	size_t count;
	sp_shape shape;

	SP_TRY(hlo->status);
	SP_TRY(sp_vhlo_find(&hlo->module, op, "value", &attribute, hlo->err));
	if (attribute == SP_MLIR_NONE || !sp_vhlo_is_static(type, &shape) ||
	    !sp_shape_count(&shape, &count))
		return sp_hlo__refuse(hlo, op, "its shape is not known");
	SP_TRY(read_constant(hlo, attribute, &tensor, &is_splat));
	if (tensor->dtype != type->dtype || (!is_splat && !sp_shape_equal(&tensor->shape, &shape)))
		return sp_hlo__refuse(hlo, op, "its value is of another type");
	*value = (sp_hlo_value){.constant = tensor, .op = op};
	value->is_broadcast = is_splat && type->rank != 0;
	value->source_type = (sp_vhlo_type){.dtype = type->dtype};
	return SP_OK;
}

/* Gives the numbers 0 ... limit - 1, broadcast along dimension `at` of the result. */
static sp_status give_iota(sp_hlo_body *body, const sp_mlir_op *op, const char *limit, int64_t size,
			   int32_t at, const sp_hlo_value *like)
{
	const sp_vhlo_type *type = sp_hlo__value_type(body->hlo, op->first_result);
	sp_vhlo_type source = {.rank = type->rank - at};
	sp_hlo_node node;
	const char *numbers;

	source.dtype = type->dtype;
	for (int32_t i = 0; i < source.rank; i++)
		source.dims[i] = 1;
	source.dims[0] = size;
	sp_hlo__begin(body, &node, "Range", 3);
	sp_hlo__input(&node, sp_hlo__int_scalar(body, 0));
	sp_hlo__input(&node, limit);
	sp_hlo__input(&node, sp_hlo__int_scalar(body, 1));
	sp_hlo__type(&node, "Tidx", SP_INT32);
	numbers = sp_hlo__cast(body, sp_hlo__write(body, &node), SP_INT32, type->dtype);
	if (source.rank > 1)
		numbers = sp_hlo__reshape(body, numbers, source.dims, source.rank, type->dtype);
	return sp_hlo__give_broadcast(body, op, numbers, &source, like);
}

sp_status sp_hlo__do_iota(sp_hlo_body *body, const sp_mlir_op *op)
{
	sp_hlo *hlo = body->hlo;
	const sp_vhlo_type *type = sp_hlo__value_type(hlo, op->first_result);
	int64_t at;

	SP_TRY(hlo->status);
	SP_TRY(read_dimension(hlo, op, "iota_dimension", type->rank, &at));
	if (!sp_vhlo_is_static(type, NULL) || type->dims[at] > INT32_MAX)
		return sp_hlo__refuse(hlo, op, "of a size that is not known or too large");
	return give_iota(body, op, sp_hlo__int_scalar(body, type->dims[at]), type->dims[at],
			 (int32_t)at, NULL);
}

/* Element `i` of a vector of sizes, as an int32 scalar. */
static const char *size_at(sp_hlo_body *body, uint32_t sizes, int64_t i)
{
	sp_dtype dtype = sp_hlo__dtype(body->hlo, sizes);

	return sp_hlo__cast(body, sp_hlo__element(body, sp_hlo__all(body, sizes), i, dtype), dtype,
			    SP_INT32);
}

/* Describes a value broadcast to the sizes in an operand. */
static sp_hlo_value broadcast_to(sp_hlo_body *body, uint32_t sizes)
{
	sp_hlo_value like = {.shape_dtype = sp_hlo__dtype(body->hlo, sizes)};

	like.shape = sp_hlo__all(body, sizes);
	return like;
}

static sp_status need_sizes(sp_hlo *hlo, const sp_mlir_op *op, uint32_t sizes)
{
	sp_dtype dtype = sp_hlo__dtype(hlo, sizes);

	if (hlo->status != SP_OK || dtype == SP_INT32 || dtype == SP_INT64)
		return hlo->status;
	return sp_hlo__refuse(hlo, op, "sizes are translated as int32 and int64 only");
}

sp_status sp_hlo__do_dynamic_iota(sp_hlo_body *body, const sp_mlir_op *op)
{
	sp_hlo *hlo = body->hlo;
	const sp_vhlo_type *type = sp_hlo__value_type(hlo, op->first_result);
	sp_hlo_value like;
	int64_t at;

	SP_TRY(hlo->status);
	if (sp_vhlo_is_static(type, NULL))
		return sp_hlo__do_iota(body, op);
	SP_TRY(need_sizes(hlo, op, op->operands[0]));
	SP_TRY(read_dimension(hlo, op, "iota_dimension", type->rank, &at));
	if (type->dims[at] > INT32_MAX)
		return sp_hlo__refuse(hlo, op, "it is too large");
	like = broadcast_to(body, op->operands[0]);
	return give_iota(body, op,
			 type->dims[at] >= 0 ? sp_hlo__int_scalar(body, type->dims[at])
					     : size_at(body, op->operands[0], at),
			 type->dims[at], (int32_t)at, &like);
}

/* --------------------------------------------------------------- broadcasts */

/* Reshapes `x` of type *type: inserts a dimension of 1 wherever `stays` is false. */
static const char *insert_ones(sp_hlo_body *body, const char *x, const sp_vhlo_type *type,
			       const bool *stays, sp_vhlo_type *out)
{
	int32_t unknown = 0, from = 0;

	for (int32_t i = 0; i < out->rank; i++) {
		out->dims[i] = stays[i] ? type->dims[from++] : 1;
		unknown += out->dims[i] < 0;
	}
	if (unknown <= 1)
		return sp_hlo__reshape(body, x, out->dims, out->rank, type->dtype);
	for (int32_t i = 0; i < out->rank; i++) {
		sp_hlo_node node;

		if (stays[i])
			continue;
		sp_hlo__begin(body, &node, "ExpandDims", 2);
		sp_hlo__input(&node, x);
		sp_hlo__input(&node, sp_hlo__int_scalar(body, i));
		sp_hlo__type(&node, "T", type->dtype);
		sp_hlo__type(&node, "Tdim", SP_INT32);
		x = sp_hlo__write(body, &node);
	}
	return x;
}

/* broadcast_in_dim and its dynamic variants: dimension i of the operand becomes dims[i]. */
sp_status sp_hlo__do_broadcast(sp_hlo_body *body, const sp_mlir_op *op)
{
	sp_hlo *hlo = body->hlo;
	uint32_t operand = op->operands[0];
	const sp_vhlo_type *type = sp_hlo__value_type(hlo, op->first_result);
	const sp_vhlo_type *from = sp_hlo__value_type(hlo, operand);
	const sp_vhlo_type *source = sp_hlo__source_type(hlo, operand);
	sp_hlo_value like = {.shape = NULL};
	int64_t dims[SP_MAX_RANK];
	bool stays[SP_MAX_RANK] = {false};
	sp_vhlo_type out;
	int32_t skipped, first;
	const char *ref;
	bool is_dynamic = op->operand_count > 1;

	if (hlo->status != SP_OK)
		return hlo->status;
	SP_TRY(read_dims(hlo, op, "broadcast_dimensions", from->rank, dims));
	for (int32_t i = 0; i < from->rank; i++)
		if (dims[i] < 0 || dims[i] >= type->rank || (i > 0 && dims[i] <= dims[i - 1]))
			return sp_hlo__refuse(hlo, op, "dimensions that are not ascending");
	if (!is_dynamic && !sp_vhlo_is_static(type, NULL))
		return sp_hlo__refuse(hlo, op, "to a shape that is not known");
	if (!sp_vhlo_is_static(type, NULL)) {
		SP_TRY(need_sizes(hlo, op, op->operands[1]));
		like = broadcast_to(body, op->operands[1]);
	}
	/* If the operand is itself a broadcast, its source lacks the leading dimensions. */
	skipped = from->rank - source->rank;
	first = source->rank != 0 ? (int32_t)dims[skipped] : type->rank;
	out = (sp_vhlo_type){.dtype = type->dtype, .rank = type->rank - first};
	for (int32_t i = skipped; i < from->rank; i++)
		stays[dims[i] - first] = true;
	ref = sp_hlo__source(body, operand);
	if (out.rank != source->rank)
		ref = insert_ones(body, ref, source, stays, &out);
	else
		out = *source;
	SP_TRY(sp_hlo__give_broadcast(body, op, ref, &out, &like));
	if (out.rank == 0)
		hlo->values[op->first_result].constant = sp_hlo__known(hlo, operand);
	return SP_OK;
}

/* --------------------------------------------------------------- reshaping */

/* The result of reshaping a constant is a constant. */
static void keep_constant(sp_hlo_body *body, const sp_mlir_op *op)
{
	sp_hlo *hlo = body->hlo;
	const sp_tensor *known = sp_hlo__known(hlo, op->operands[0]);
	const sp_vhlo_type *type = sp_hlo__value_type(hlo, op->first_result);
	sp_tensor *shaped;
	sp_shape shape;
	size_t count;

	if (hlo->status != SP_OK || known == NULL || sp_hlo__is_broadcast(hlo, op->operands[0]) ||
	    !sp_vhlo_is_static(type, &shape) || !sp_shape_count(&shape, &count) ||
	    count != known->count)
		return;
	shaped = sp_arena_zeros(hlo->arena, 1, sizeof(*shaped));
	if (shaped == NULL)
		return;
	*shaped = *known;
	shaped->shape = shape;
	hlo->values[op->first_result] = (sp_hlo_value){.constant = shaped, .op = op};
}

sp_status sp_hlo__do_reshape(sp_hlo_body *body, const sp_mlir_op *op)
{
	sp_hlo *hlo = body->hlo;
	const sp_vhlo_type *type = sp_hlo__value_type(hlo, op->first_result);
	const sp_hlo_value *value = &hlo->values[op->operands[0]];
	int32_t unknown = 0;

	if (hlo->status != SP_OK)
		return hlo->status;
	for (int32_t i = 0; i < type->rank; i++)
		unknown += type->dims[i] < 0;
	if (unknown > 1)
		return sp_hlo__refuse(hlo, op, "to a shape with more than one unknown dimension");
	/* A broadcast scalar is a broadcast scalar in any shape. */
	if (value->is_broadcast && value->source_type.rank == 0 && unknown == 0 &&
	    type->rank != 0) {
		const sp_tensor *known = value->constant;

		SP_TRY(sp_hlo__give_broadcast(body, op, sp_hlo__source(body, op->operands[0]),
					      &value->source_type, NULL));
		hlo->values[op->first_result].constant = known;
		return SP_OK;
	}
	SP_TRY(sp_hlo__give(body, op, 0,
			    sp_hlo__reshape(body, sp_hlo__all(body, op->operands[0]), type->dims,
					    type->rank, type->dtype)));
	keep_constant(body, op);
	return hlo->status;
}

sp_status sp_hlo__do_dynamic_reshape(sp_hlo_body *body, const sp_mlir_op *op)
{
	sp_hlo *hlo = body->hlo;
	sp_dtype dtype = sp_hlo__dtype(hlo, op->first_result);
	const sp_vhlo_type *type = sp_hlo__value_type(hlo, op->first_result);

	if (sp_vhlo_is_static(type, NULL))
		return sp_hlo__do_reshape(body, op);
	SP_TRY(need_sizes(hlo, op, op->operands[1]));
	return sp_hlo__give(body, op, 0,
			    sp_hlo__binary(body, "Reshape", sp_hlo__all(body, op->operands[0]),
					   sp_hlo__all(body, op->operands[1]), dtype));
}

sp_status sp_hlo__do_transpose(sp_hlo_body *body, const sp_mlir_op *op)
{
	sp_hlo *hlo = body->hlo;
	const sp_vhlo_type *type = sp_hlo__value_type(hlo, op->operands[0]);
	int64_t permutation[SP_MAX_RANK];

	SP_TRY(hlo->status);
	SP_TRY(read_dims(hlo, op, "permutation", type->rank, permutation));
	return sp_hlo__give(body, op, 0,
			    sp_hlo__transpose(body, sp_hlo__all(body, op->operands[0]), permutation,
					      type->rank, type->dtype));
}

sp_status sp_hlo__do_reverse(sp_hlo_body *body, const sp_mlir_op *op)
{
	sp_hlo *hlo = body->hlo;
	int64_t dims[SP_MAX_RANK];
	size_t count;
	sp_hlo_node node;

	SP_TRY(sp_vhlo_ints(&hlo->module, op, "dimensions", dims, SP_MAX_RANK, &count, hlo->err));
	SP_HLO_BEGIN(body, &node, "ReverseV2", sp_hlo__dtype(hlo, op->first_result),
		     sp_hlo__all(body, op->operands[0]), sp_hlo__ints(body, dims, count));
	sp_hlo__type(&node, "Tidx", SP_INT32);
	return sp_hlo__give(body, op, 0, sp_hlo__write(body, &node));
}

sp_status sp_hlo__do_concatenate(sp_hlo_body *body, const sp_mlir_op *op)
{
	sp_hlo *hlo = body->hlo;
	const sp_vhlo_type *type = sp_hlo__value_type(hlo, op->first_result);
	sp_hlo_node node;
	int64_t at;

	SP_TRY(hlo->status);
	SP_TRY(read_dimension(hlo, op, "dimension", type->rank, &at));
	if (op->operand_count == 1)
		return sp_hlo__do_identity(body, op);
	sp_hlo__begin(body, &node, "ConcatV2", op->operand_count + 1);
	for (size_t i = 0; i < op->operand_count; i++)
		sp_hlo__input(&node, sp_hlo__all(body, op->operands[i]));
	sp_hlo__input(&node, sp_hlo__int_scalar(body, at));
	sp_hlo__int(&node, "N", (int64_t)op->operand_count);
	sp_hlo__type(&node, "T", type->dtype);
	sp_hlo__type(&node, "Tidx", SP_INT32);
	return sp_hlo__give(body, op, 0, sp_hlo__write(body, &node));
}

sp_status sp_hlo__do_dimension_size(sp_hlo_body *body, const sp_mlir_op *op)
{
	sp_hlo *hlo = body->hlo;
	const sp_vhlo_type *from = sp_hlo__value_type(hlo, op->operands[0]);
	sp_dtype dtype = sp_hlo__dtype(hlo, op->first_result);
	const char *size;
	int64_t at;

	if (hlo->status != SP_OK)
		return hlo->status;
	SP_TRY(read_dimension(hlo, op, "dimension", from->rank, &at));
	size = from->dims[at] >= 0 ? sp_hlo__int_scalar(body, from->dims[at])
				   : sp_hlo__dimension(body, sp_hlo__all(body, op->operands[0]),
						       (int32_t)at, from->dtype);
	return sp_hlo__give(body, op, 0, sp_hlo__cast(body, size, SP_INT32, dtype));
}

/* ----------------------------------------------------------------- slicing */

static const char *strided_slice(sp_hlo_body *body, const char *x, const char *begin,
				 const char *end, const char *strides, sp_dtype dtype,
				 sp_dtype index)
{
	sp_hlo_node node;

	SP_HLO_BEGIN(body, &node, "StridedSlice", dtype, x, begin, end, strides);
	sp_hlo__type(&node, "Index", index);
	return sp_hlo__write(body, &node);
}

static const char *slice(sp_hlo_body *body, const char *x, const char *begin, const char *size,
			 sp_dtype dtype, sp_dtype index)
{
	sp_hlo_node node;

	SP_HLO_BEGIN(body, &node, "Slice", dtype, x, begin, size);
	sp_hlo__type(&node, "Index", index);
	return sp_hlo__write(body, &node);
}

sp_status sp_hlo__do_slice(sp_hlo_body *body, const sp_mlir_op *op)
{
	sp_hlo *hlo = body->hlo;
	const sp_vhlo_type *from = sp_hlo__value_type(hlo, op->operands[0]);
	int64_t begin[SP_MAX_RANK], end[SP_MAX_RANK], strides[SP_MAX_RANK];
	size_t rank;
	bool is_plain = true;
	const char *x;

	SP_TRY(hlo->status);
	rank = (size_t)from->rank;
	SP_TRY(read_dims(hlo, op, "start_indices", from->rank, begin));
	SP_TRY(read_dims(hlo, op, "limit_indices", from->rank, end));
	SP_TRY(read_dims(hlo, op, "strides", from->rank, strides));
	for (size_t i = 0; i < rank; i++) {
		if (begin[i] < 0 || end[i] < begin[i] || end[i] > INT32_MAX || strides[i] < 1 ||
		    strides[i] > INT32_MAX || (from->dims[i] >= 0 && end[i] > from->dims[i]))
			return sp_hlo__refuse(hlo, op, "it does not lie in its operand");
		is_plain &= strides[i] == 1;
	}
	x = sp_hlo__all(body, op->operands[0]);
	if (!is_plain)
		return sp_hlo__give(body, op, 0,
				    strided_slice(body, x, sp_hlo__ints(body, begin, rank),
						  sp_hlo__ints(body, end, rank),
						  sp_hlo__ints(body, strides, rank), from->dtype,
						  SP_INT32));
	for (size_t i = 0; i < rank; i++)
		end[i] -= begin[i];
	return sp_hlo__give(body, op, 0,
			    slice(body, x, sp_hlo__ints(body, begin, rank),
				  sp_hlo__ints(body, end, rank), from->dtype, SP_INT32));
}

/* Start and limit are computed values; the strides are 1. */
sp_status sp_hlo__do_real_dynamic_slice(sp_hlo_body *body, const sp_mlir_op *op)
{
	sp_hlo *hlo = body->hlo;
	sp_dtype dtype = sp_hlo__dtype(hlo, op->operands[0]),
		 index = sp_hlo__dtype(hlo, op->operands[1]);
	int64_t strides[SP_MAX_RANK];
	const char *begin, *end, *x;
	size_t count;
	bool is_plain;

	for (size_t i = 1; i < op->operand_count; i++)
		SP_TRY(need_sizes(hlo, op, op->operands[i]));
	is_plain = sp_hlo__known_ints(hlo, op->operands[3], strides, SP_MAX_RANK, &count);
	for (size_t i = 0; is_plain && i < count; i++)
		is_plain = strides[i] == 1;
	x = sp_hlo__all(body, op->operands[0]);
	begin = sp_hlo__all(body, op->operands[1]);
	end = sp_hlo__all(body, op->operands[2]);
	if (!is_plain)
		return sp_hlo__give(body, op, 0,
				    strided_slice(body, x, begin, end,
						  sp_hlo__all(body, op->operands[3]), dtype,
						  index));
	return sp_hlo__give(body, op, 0,
			    slice(body, x, begin, sp_hlo__binary(body, "Sub", end, begin, index),
				  dtype, index));
}

/* Packs scalars into a vector of int32, or of int64 when they have 64 bits. */
static const char *pack_starts(sp_hlo_body *body, const uint32_t *starts, size_t count,
			       sp_dtype *index)
{
	sp_hlo *hlo = body->hlo;
	sp_hlo_node node;

	*index = SP_INT32;
	for (size_t i = 0; i < count; i++)
		if (sp_dtype_size(sp_hlo__dtype(hlo, starts[i])) > sizeof(int32_t) ||
		    sp_hlo__dtype(hlo, starts[i]) == SP_UINT32)
			*index = SP_INT64;
	sp_hlo__begin(body, &node, "Pack", count);
	for (size_t i = 0; i < count; i++)
		sp_hlo__input(&node, sp_hlo__cast(body, sp_hlo__all(body, starts[i]),
						  sp_hlo__dtype(hlo, starts[i]), *index));
	sp_hlo__int(&node, "N", (int64_t)count);
	sp_hlo__type(&node, "T", *index);
	sp_hlo__int(&node, "axis", 0);
	return sp_hlo__write(body, &node);
}

sp_status sp_hlo__do_dynamic_slice(sp_hlo_body *body, const sp_mlir_op *op)
{
	sp_hlo *hlo = body->hlo;
	const sp_vhlo_type *type = sp_hlo__value_type(hlo, op->operands[0]);
	int64_t sizes[SP_MAX_RANK];
	sp_hlo_node node;
	const char *starts;
	sp_dtype index;

	SP_TRY(hlo->status);
	SP_TRY(read_dims(hlo, op, "slice_sizes", type->rank, sizes));
	if (op->operand_count != (size_t)type->rank + 1)
		return sp_hlo__refuse(hlo, op, "it does not have one start per dimension");
	if (type->rank == 0)
		return sp_hlo__give(body, op, 0, sp_hlo__all(body, op->operands[0]));
	starts = pack_starts(body, op->operands + 1, op->operand_count - 1, &index);
	SP_HLO_BEGIN(
		body, &node, "XlaDynamicSlice", type->dtype, sp_hlo__all(body, op->operands[0]),
		starts,
		sp_hlo__cast(body, sp_hlo__ints(body, sizes, (size_t)type->rank), SP_INT32, index));
	sp_hlo__type(&node, "Tindices", index);
	return sp_hlo__give(body, op, 0, sp_hlo__write(body, &node));
}

sp_status sp_hlo__do_dynamic_update_slice(sp_hlo_body *body, const sp_mlir_op *op)
{
	sp_hlo *hlo = body->hlo;
	const sp_vhlo_type *type = sp_hlo__value_type(hlo, op->operands[0]);
	sp_hlo_node node;
	const char *starts;
	sp_dtype index;

	SP_TRY(hlo->status);
	if (op->operand_count != (size_t)type->rank + 2)
		return sp_hlo__refuse(hlo, op, "it does not have one start per dimension");
	if (type->rank == 0)
		return sp_hlo__give(body, op, 0, sp_hlo__all(body, op->operands[1]));
	starts = pack_starts(body, op->operands + 2, op->operand_count - 2, &index);
	SP_HLO_BEGIN(body, &node, "XlaDynamicUpdateSlice", type->dtype,
		     sp_hlo__all(body, op->operands[0]), sp_hlo__all(body, op->operands[1]),
		     starts);
	sp_hlo__type(&node, "Tindices", index);
	return sp_hlo__give(body, op, 0, sp_hlo__write(body, &node));
}

/* ----------------------------------------------------------------- padding */

/* XlaPad accepts negative and interior padding, too. */
static const char *pad(sp_hlo_body *body, const char *const inputs[5], sp_dtype dtype,
		       sp_dtype index)
{
	sp_hlo_node node;

	sp_hlo__begin(body, &node, "XlaPad", 5);
	for (int i = 0; i < 5; i++)
		sp_hlo__input(&node, inputs[i]);
	sp_hlo__type(&node, "T", dtype);
	sp_hlo__type(&node, "Tindices", index);
	return sp_hlo__write(body, &node);
}

sp_status sp_hlo__do_pad(sp_hlo_body *body, const sp_mlir_op *op)
{
	static const char *const names[] = {"edge_padding_low", "edge_padding_high",
					    "interior_padding"};
	sp_hlo *hlo = body->hlo;
	const sp_vhlo_type *type = sp_hlo__value_type(hlo, op->operands[0]);
	const char *inputs[5] = {sp_hlo__all(body, op->operands[0]),
				 sp_hlo__all(body, op->operands[1])};
	bool pads = false;

	for (int i = 0; i < 3; i++) {
		int64_t values[SP_MAX_RANK];

		SP_TRY(read_dims(hlo, op, names[i], type->rank, values));
		for (int32_t d = 0; d < type->rank; d++) {
			if (values[d] < -INT32_MAX || values[d] > INT32_MAX)
				return sp_hlo__refuse(hlo, op, "its padding is too large");
			pads |= values[d] != 0;
		}
		inputs[2 + i] = sp_hlo__ints(body, values, (size_t)type->rank);
	}
	return sp_hlo__give(body, op, 0,
			    pads ? pad(body, inputs, type->dtype, SP_INT32) : inputs[0]);
}

sp_status sp_hlo__do_dynamic_pad(sp_hlo_body *body, const sp_mlir_op *op)
{
	sp_hlo *hlo = body->hlo;
	const char *inputs[5];

	for (size_t i = 0; i < op->operand_count; i++) {
		if (i >= 2)
			SP_TRY(need_sizes(hlo, op, op->operands[i]));
		inputs[i] = sp_hlo__all(body, op->operands[i]);
	}
	return sp_hlo__give(body, op, 0,
			    pad(body, inputs, sp_hlo__dtype(hlo, op->operands[0]),
				sp_hlo__dtype(hlo, op->operands[2])));
}
