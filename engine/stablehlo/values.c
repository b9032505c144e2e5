#include "engine/ops/array/elements.h"
#include "engine/stablehlo/translate_internal.h"

/* How values of the module are represented in the graph. */

const sp_vhlo_type *sp_hlo__value_type(sp_hlo *hlo, uint32_t value)
{
	static const sp_vhlo_type none;
	uint32_t type = hlo->module.value_types[value];

	if (hlo->status != SP_OK)
		return &none;
	if (!hlo->type_is_read[type]) {
		hlo->status = sp_vhlo_read_type(&hlo->module, type, &hlo->types[type], hlo->err);
		if (hlo->status != SP_OK)
			return &none;
		hlo->type_is_read[type] = true;
	}
	return &hlo->types[type];
}

sp_dtype sp_hlo__dtype(sp_hlo *hlo, uint32_t value)
{
	return sp_hlo__value_type(hlo, value)->dtype;
}

/* ------------------------------------------------------------ broadcasts */

static bool same_dims(const sp_vhlo_type *a, const sp_vhlo_type *b)
{
	if (a->rank != b->rank)
		return false;
	for (int32_t i = 0; i < a->rank; i++)
		if (a->dims[i] != b->dims[i] || a->dims[i] < 0)
			return false;
	return true;
}

static const char *broadcast(sp_hlo_body *body, const sp_hlo_value *value, const sp_vhlo_type *type)
{
	sp_hlo_node node;

	if (same_dims(&value->source_type, type))
		return value->source;
	SP_HLO_BEGIN(body, &node, "BroadcastTo", type->dtype, value->source,
		     value->shape != NULL ? value->shape
					  : sp_hlo__ints(body, type->dims, (size_t)type->rank));
	sp_hlo__type(&node, "Tidx", SP_INT32);
	if (value->shape != NULL)
		node.attrs[node.attr_count - 1].type = value->shape_dtype;
	else
		for (int32_t i = 0; i < type->rank; i++)
			if (type->dims[i] > INT32_MAX)
				node.attrs[node.attr_count - 1].type = SP_INT64;
	return sp_hlo__write(body, &node);
}

/* A constant gets its node when it is first read. */
static void write_constant(sp_hlo_body *body, sp_hlo_value *value)
{
	if (value->constant == NULL || value->all != NULL || value->source != NULL)
		return;
	if (value->is_broadcast)
		value->source = sp_hlo__constant(body, value->constant);
	else
		value->all = sp_hlo__constant(body, value->constant);
}

const char *sp_hlo__all(sp_hlo_body *body, uint32_t number)
{
	sp_hlo_value *value = &body->hlo->values[number];
	const sp_vhlo_type *type = sp_hlo__value_type(body->hlo, number);

	if (body->hlo->status != SP_OK)
		return NULL;
	write_constant(body, value);
	if (value->all == NULL && value->source != NULL)
		value->all = broadcast(body, value, type);
	if (value->all == NULL && body->hlo->status == SP_OK)
		body->hlo->status = sp_error_set(body->hlo->err, SP_CORRUPT,
						 "a value is read that has no value");
	return value->all;
}

bool sp_hlo__is_broadcast(const sp_hlo *hlo, uint32_t number)
{
	return hlo->values[number].is_broadcast;
}

const char *sp_hlo__source(sp_hlo_body *body, uint32_t number)
{
	sp_hlo_value *value = &body->hlo->values[number];

	write_constant(body, value);
	return value->source != NULL ? value->source : sp_hlo__all(body, number);
}

const sp_vhlo_type *sp_hlo__source_type(sp_hlo *hlo, uint32_t number)
{
	return sp_hlo__is_broadcast(hlo, number) ? &hlo->values[number].source_type
						 : sp_hlo__value_type(hlo, number);
}

sp_status sp_hlo__give(sp_hlo_body *body, const sp_mlir_op *op, uint32_t result, const char *ref)
{
	sp_hlo *hlo = body->hlo;

	if (hlo->status == SP_OK)
		hlo->values[op->first_result + result] = (sp_hlo_value){.all = ref, .op = op};
	return hlo->status;
}

/* Whether a value of type `source` can be broadcast to `type` as its last dimensions. */
static bool broadcasts_to(const sp_vhlo_type *source, const sp_vhlo_type *type)
{
	int32_t more = type->rank - source->rank;

	if (more < 0)
		return false;
	for (int32_t i = 0; i < source->rank; i++) {
		int64_t from = source->dims[i], to = type->dims[more + i];

		if (from != 1 && from >= 0 && to >= 0 && from != to)
			return false;
	}
	return true;
}

sp_status sp_hlo__give_broadcast(sp_hlo_body *body, const sp_mlir_op *op, const char *source,
				 const sp_vhlo_type *type, const sp_hlo_value *like)
{
	sp_hlo *hlo = body->hlo;
	sp_hlo_value *value = &hlo->values[op->first_result];
	const sp_vhlo_type *says = sp_hlo__value_type(hlo, op->first_result);

	if (hlo->status == SP_OK && !broadcasts_to(type, says))
		hlo->status = sp_error_set(hlo->err, SP_CORRUPT,
					   "operation %s gives a value of another shape than it "
					   "says",
					   op->name);
	if (hlo->status != SP_OK)
		return hlo->status;
	*value = (sp_hlo_value){
		.is_broadcast = true, .source = source, .source_type = *type, .op = op};
	if (like != NULL) {
		value->shape = like->shape;
		value->shape_dtype = like->shape_dtype;
	}
	return SP_OK;
}

/* --------------------------------------------------------------- constants */

const sp_tensor *sp_hlo__known(const sp_hlo *hlo, uint32_t value)
{
	return hlo->values[value].constant;
}

bool sp_hlo__tensor_number(const sp_tensor *tensor, size_t i, double *out)
{
	const void *data = tensor->data;

	switch (tensor->dtype) {
	case SP_FLOAT:
		*out = (double)((const float *)data)[i];
		return true;
	case SP_DOUBLE:
		*out = ((const double *)data)[i];
		return true;
	case SP_HALF:
		*out = (double)sp_half_to_float(((const uint16_t *)data)[i]);
		return true;
	case SP_BFLOAT16:
		*out = (double)sp_bfloat16_to_float(((const uint16_t *)data)[i]);
		return true;
	case SP_BOOL:
		*out = (double)((const bool *)data)[i];
		return true;
	case SP_UINT64:
		*out = (double)((const uint64_t *)data)[i];
		return true;
	default:
		if (!sp_dtype_is_integer(tensor->dtype))
			return false;
		*out = (double)sp_element__integer(tensor, i);
		return true;
	}
}

bool sp_hlo__known_number(const sp_hlo *hlo, uint32_t value, double *out)
{
	const sp_tensor *known = sp_hlo__known(hlo, value);

	return known != NULL && known->count == 1 && sp_hlo__tensor_number(known, 0, out);
}

bool sp_hlo__known_ints(sp_hlo *hlo, uint32_t value, int64_t *out, size_t limit, size_t *count)
{
	const sp_vhlo_type *type = sp_hlo__value_type(hlo, value);
	const sp_tensor *known = sp_hlo__known(hlo, value);
	sp_shape shape;

	if (hlo->status != SP_OK || known == NULL || !sp_vhlo_is_static(type, &shape) ||
	    !sp_shape_count(&shape, count) || *count > limit ||
	    (known->dtype != SP_INT32 && known->dtype != SP_INT64) ||
	    (known->count != 1 && known->count != *count))
		return false;
	for (size_t i = 0; i < *count; i++)
		out[i] = sp_tensor_index(known, known->count == 1 ? 0 : i);
	return true;
}
