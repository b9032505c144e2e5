#include "engine/rows/row_fact.h"

#include "base/size.h"

bool sp_row_is_fixed(const sp_row_fact *fact)
{
	int count = fact->rank == 0 ? 1 : (int)fact->dims[0].factor;

	for (int i = 0; fact->kind == SP_ROW_NUMBERS && i < count; i++)
		if (fact->numbers[i].by_rows)
			return false;
	return fact->kind == SP_ROW_FIXED || fact->kind == SP_ROW_NUMBERS;
}

int64_t sp_row_scalar(const sp_row_fact *fact, int64_t fallback)
{
	const sp_tensor *value = fact->kind == SP_ROW_FIXED ? fact->value : NULL;

	if (value == NULL || value->count != 1 ||
	    (value->dtype != SP_INT32 && value->dtype != SP_INT64))
		return fallback;
	return sp_tensor_index(value, 0);
}

bool sp_row_numbers(const sp_row_fact *fact, sp_row_number numbers[SP_MAX_RANK], int *count)
{
	const sp_tensor *value = fact->value;

	if (fact->kind == SP_ROW_NUMBERS) {
		*count = fact->rank == 0 ? 1 : (int)fact->dims[0].factor;
		for (int i = 0; i < *count; i++)
			numbers[i] = fact->numbers[i];
		return true;
	}
	if (fact->kind != SP_ROW_FIXED || value == NULL || value->shape.rank > 1 ||
	    value->count > SP_MAX_RANK || (value->dtype != SP_INT32 && value->dtype != SP_INT64))
		return false;
	*count = (int)value->count;
	for (int i = 0; i < *count; i++)
		numbers[i] = sp_row_known(sp_tensor_index(value, (size_t)i));
	return true;
}

sp_row_fact sp_row_make_numbers(const sp_row_number *numbers, int count, int rank)
{
	sp_row_fact fact = {.kind = SP_ROW_NUMBERS, .rank = rank, .dims = {{.factor = count}}};

	for (int i = 0; i < count; i++)
		fact.numbers[i] = numbers[i];
	return fact;
}

bool sp_row_multiply(sp_row_number *out, sp_row_number by)
{
	if (out->by_rows && by.by_rows)
		return false;
	out->by_rows |= by.by_rows;
	if (out->factor == SP_ROW_ANY || by.factor == SP_ROW_ANY)
		out->factor = SP_ROW_ANY;
	else if (!sp_i64_mul(&out->factor, out->factor, by.factor))
		return false;
	return true;
}

int64_t sp_row_attr(const sp_node *node, const char *name, int64_t fallback)
{
	const sp_attr *attr = sp_node_attr(node, name);

	if (attr != NULL && attr->kind == SP_ATTR_BOOL)
		return attr->b;
	return attr != NULL && attr->kind == SP_ATTR_INT ? attr->i : fallback;
}

int sp_row_axis(int64_t number, int rank)
{
	int64_t axis = number < 0 ? number + rank : number;

	return axis >= 1 && axis < rank ? (int)axis : 0;
}

bool sp_row_join(sp_row_number *to, sp_row_number with)
{
	if (to->by_rows != with.by_rows)
		return false;
	if (with.factor == to->factor || (!to->by_rows && with.factor == 1))
		return true;
	if (to->factor == SP_ROW_ANY || (!to->by_rows && to->factor == 1)) {
		*to = with;
		return true;
	}
	return with.factor == SP_ROW_ANY;
}

bool sp_row_append(sp_row_fact *to, const sp_row_fact *from, int first)
{
	for (int d = first; d < from->rank; d++) {
		if (to->rank == SP_MAX_RANK)
			return false;
		to->dims[to->rank++] = from->dims[d];
	}
	return true;
}
