#include "engine/stablehlo/ops/dimension_numbers.h"

#include "engine/kernels/protobuf_reader.h"

static sp_status add(sp_dim_list *list, uint64_t number, sp_error *err)
{
	if (list->count == SP_MAX_RANK)
		return sp_error_set(err, SP_UNSUPPORTED,
				    "dimension numbers list more than %d dimensions", SP_MAX_RANK);
	list->dims[list->count++] = (int64_t)number;
	return SP_OK;
}

/* A list is packed, or has a tag before each number. */
static sp_status take_field(const sp_dim_field *field, uint32_t tag, uint64_t number,
			    sp_bytes bytes, bool *good, sp_error *err)
{
	if (field->one != NULL) {
		*good = (tag & 7) == SP_PROTOBUF_VARINT;
		*field->one = (int64_t)number;
		return SP_OK;
	}
	if ((tag & 7) == SP_PROTOBUF_VARINT)
		return add(field->list, number, err);
	*good = (tag & 7) == SP_PROTOBUF_DELIMITED;
	while (*good && bytes.size != 0) {
		*good = sp_protobuf_varint(&bytes, &number);
		if (*good)
			SP_TRY(add(field->list, number, err));
	}
	return SP_OK;
}

sp_status sp_dimension_numbers__read(const sp_prepare *prepare, const sp_dim_field *fields,
				     size_t count, sp_error *err)
{
	sp_bytes from;

	SP_TRY(sp_node_attr_bytes(prepare->node, "dimension_numbers", "", &from, err));
	while (from.size != 0) {
		uint64_t number;
		sp_bytes bytes;
		uint32_t tag;
		bool good = sp_protobuf_tag(&from, &tag) &&
			    sp_protobuf_value(&from, tag, &number, &bytes);

		for (size_t i = 0; good && i < count; i++)
			if (fields[i].number == tag >> 3)
				SP_TRY(take_field(&fields[i], tag, number, bytes, &good, err));
		if (!good)
			return sp_error_set(err, SP_INVALID,
					    "attribute 'dimension_numbers' is not such a message");
	}
	return SP_OK;
}

bool sp_dim_list__has(const sp_dim_list *list, int64_t dim)
{
	for (int i = 0; i < list->count; i++)
		if (list->dims[i] == dim)
			return true;
	return false;
}

sp_status sp_dim_list__check(const sp_dim_list *list, const sp_call *call, int rank,
			     const char *what)
{
	unsigned seen = 0;

	for (int i = 0; i < list->count; i++) {
		int64_t dim = list->dims[i];

		if (dim < 0 || dim >= rank)
			return sp_call_invalid(call, "%s has dimension %lld of rank %d", what,
					       (long long)dim, rank);
		if ((seen >> dim & 1) != 0)
			return sp_call_invalid(call, "%s has dimension %lld twice", what,
					       (long long)dim);
		seen |= 1u << dim;
	}
	return SP_OK;
}

sp_status sp_dim_list__check_sorted(const sp_dim_list *list, const sp_call *call, int rank,
				    const char *what)
{
	SP_TRY(sp_dim_list__check(list, call, rank, what));
	for (int i = 1; i < list->count; i++)
		if (list->dims[i - 1] > list->dims[i])
			return sp_call_invalid(call, "%s is not sorted", what);
	return SP_OK;
}
