#include "engine/constants.h"

#include <string.h>

#include "engine/op.h"

bool sp_node_reads_constant(const sp_optimizer_names *names, const sp_node *node, size_t k,
			    const bool *constant)
{
	return constant[node->inputs[k].node] && sp_optimizer_sees(names, node, node->inputs[k]);
}

bool sp_node_is_constant(const sp_optimizer_names *names, const sp_node *node, const bool *constant)
{
	const unsigned apart = SP_OP_STATEFUL | SP_OP_LOAD_ONLY | SP_OP_TAKES_DEAD |
			       SP_OP_MAKES_DEAD | SP_OP_PER_REQUEST;

	if (node->op == NULL || (node->op->flags & apart) != 0 || node->region_count != 0 ||
	    node->control_count > SP_MOST_CONTROLS)
		return false;
	for (size_t k = 0; k < node->input_count; k++)
		if (!sp_node_reads_constant(names, node, k, constant))
			return false;
	return node->input_count != 0 || strcmp(node->op_name, "Const") == 0;
}

/* The first element; false for other types. */
static bool number_of(const sp_tensor *tensor, float *out)
{
	if (tensor->dtype == SP_FLOAT)
		*out = sp_tensor_f32(tensor)[0];
	else if (tensor->dtype == SP_HALF)
		*out = sp_half_to_float(*(const uint16_t *)tensor->data);
	else if (tensor->dtype == SP_BFLOAT16)
		*out = sp_bfloat16_to_float(*(const uint16_t *)tensor->data);
	else
		return false;
	return true;
}

const char *sp_power_op(const sp_node *exponent)
{
	static const struct {
		float exponent;
		const char *op;
	} powers[] = {
		{2, "Square"}, {3, "_Cube"}, {0.5F, "Sqrt"}, {-0.5F, "Rsqrt"}, {-1, "Reciprocal"}};
	const sp_attr *value = sp_node_attr(exponent, "value");
	float number;

	if (strcmp(exponent->op_name, "Const") != 0 || value == NULL ||
	    value->kind != SP_ATTR_TENSOR || value->tensor->count != 1 ||
	    !number_of(value->tensor, &number))
		return NULL;
	for (size_t i = 0; i < sizeof(powers) / sizeof(powers[0]); i++)
		if (number == powers[i].exponent)
			return powers[i].op;
	return NULL;
}
