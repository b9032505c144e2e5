#include "engine/stablehlo/translate_internal.h"

/* reduce_window and convolution become XLA's operators. */

/* Adds a list with one number per dimension as an input; `fill` if the attribute is absent. */
static sp_status add_list(sp_hlo_body *body, sp_hlo_node *node, const sp_mlir_op *op,
			  const char *name, size_t count, int64_t fill)
{
	sp_hlo *hlo = body->hlo;
	int64_t values[2 * SP_MAX_RANK];
	uint32_t attribute;
	size_t found;

	SP_TRY(sp_vhlo_find(&hlo->module, op, name, &attribute, hlo->err));
	for (size_t i = 0; i < count; i++)
		values[i] = fill;
	if (attribute != SP_MLIR_NONE) {
		SP_TRY(sp_vhlo_ints(&hlo->module, op, name, values, 2 * SP_MAX_RANK, &found,
				    hlo->err));
		if (found != count)
			return sp_hlo__refuse(hlo, op, "a list has not one number per dimension");
	}
	for (size_t i = 0; i < count; i++)
		if (values[i] < -INT32_MAX || values[i] > INT32_MAX)
			return sp_hlo__refuse(hlo, op, "a number is too large");
	sp_hlo__input(node, sp_hlo__ints(body, values, count));
	return hlo->status;
}

/* Padding as pairs (low, high), one per dimension. */
static sp_status add_padding(sp_hlo_body *body, sp_hlo_node *node, const sp_mlir_op *op,
			     size_t count)
{
	int64_t dims[] = {(int64_t)count, 2};

	SP_TRY(add_list(body, node, op, "padding", 2 * count, 0));
	node->inputs[node->input_count - 1] = sp_hlo__reshape(
		body, node->inputs[node->input_count - 1], dims, 2, SP_INT32);
	return body->hlo->status;
}

sp_status sp_hlo__do_reduce_window(sp_hlo_body *body, const sp_mlir_op *op)
{
	static const char *const lists[] = {"window_dimensions", "window_strides", "base_dilations",
					    "window_dilations"};
	sp_hlo *hlo = body->hlo;
	const sp_vhlo_type *type = sp_hlo__value_type(hlo, op->operands[0]);
	const char *function;
	sp_hlo_node node;

	if (op->region_count != 1 || op->operand_count != 2 || op->result_count != 1)
		return sp_hlo__refuse(hlo, op, "of several tensors at once");
	SP_TRY(sp_hlo__scalar_function(hlo, op, &function));
	sp_hlo__begin(body, &node, "XlaReduceWindow", 7);
	sp_hlo__input(&node, sp_hlo__all(body, op->operands[0]));
	sp_hlo__input(&node, sp_hlo__all(body, op->operands[1]));
	for (size_t i = 0; i < sizeof(lists) / sizeof(lists[0]); i++)
		SP_TRY(add_list(body, &node, op, lists[i], (size_t)type->rank, 1));
	SP_TRY(add_padding(body, &node, op, (size_t)type->rank));
	sp_hlo__type(&node, "T", type->dtype);
	sp_hlo__type(&node, "Tindices", SP_INT32);
	sp_hlo__function(&node, "computation", function);
	return sp_hlo__give(body, op, 0, sp_hlo__write(body, &node));
}

/* ------------------------------------------------------------- convolution */

static sp_status read_placing(sp_hlo *hlo, const sp_mlir_op *op, sp_hlo_message *to)
{
	SP_TRY(sp_hlo__add_dim(hlo, to, 3, op, "kernel_input_feature_dimension"));
	SP_TRY(sp_hlo__add_dim(hlo, to, 4, op, "kernel_output_feature_dimension"));
	SP_TRY(sp_hlo__add_dims(hlo, to, 6, op, "kernel_spatial_dimensions"));
	SP_TRY(sp_hlo__add_dim(hlo, to, 7, op, "input_batch_dimension"));
	SP_TRY(sp_hlo__add_dim(hlo, to, 8, op, "input_feature_dimension"));
	SP_TRY(sp_hlo__add_dim(hlo, to, 9, op, "output_batch_dimension"));
	SP_TRY(sp_hlo__add_dim(hlo, to, 10, op, "output_feature_dimension"));
	SP_TRY(sp_hlo__add_dims(hlo, to, 11, op, "input_spatial_dimensions"));
	return sp_hlo__add_dims(hlo, to, 12, op, "output_spatial_dimensions");
}

/* Reverses a kernel along the dimensions with window reversal. */
static const char *reverse_kernel(sp_hlo_body *body, const sp_mlir_op *op, const char *kernel,
				  sp_dtype dtype)
{
	sp_hlo *hlo = body->hlo;
	int64_t places[SP_MAX_RANK], reversal[SP_MAX_RANK], axes[SP_MAX_RANK];
	size_t spatial, count, turns = 0;
	uint32_t attribute;
	sp_hlo_node node;

	hlo->status = sp_vhlo_find(&hlo->module, op, "window_reversal", &attribute, hlo->err);
	if (hlo->status == SP_OK && attribute == SP_MLIR_NONE)
		return kernel;
	if (hlo->status == SP_OK)
		hlo->status = sp_vhlo_ints(&hlo->module, op, "window_reversal", reversal,
					   SP_MAX_RANK, &count, hlo->err);
	if (hlo->status == SP_OK)
		hlo->status = sp_vhlo_ints(&hlo->module, op, "kernel_spatial_dimensions", places,
					   SP_MAX_RANK, &spatial, hlo->err);
	if (hlo->status == SP_OK && spatial != count)
		sp_hlo__refuse(hlo, op, "a list has not one number per dimension");
	for (size_t i = 0; hlo->status == SP_OK && i < count; i++)
		if (reversal[i] != 0)
			axes[turns++] = places[i];
	if (hlo->status != SP_OK || turns == 0)
		return kernel;
	SP_HLO_BEGIN(body, &node, "ReverseV2", dtype, kernel, sp_hlo__ints(body, axes, turns));
	sp_hlo__type(&node, "Tidx", SP_INT32);
	return sp_hlo__write(body, &node);
}

sp_status sp_hlo__do_convolution(sp_hlo_body *body, const sp_mlir_op *op)
{
	sp_hlo *hlo = body->hlo;
	const sp_vhlo_type *lhs = sp_hlo__value_type(hlo, op->operands[0]);
	const sp_vhlo_type *rhs = sp_hlo__value_type(hlo, op->operands[1]);
	sp_hlo_message dims = {.size = 0};
	int64_t feature_groups, batch_groups;
	const char *kernel;
	sp_hlo_node node;
	size_t spatial;

	SP_TRY(hlo->status);
	if (lhs->rank < 2)
		return sp_hlo__refuse(hlo, op, "without batch and features");
	spatial = (size_t)lhs->rank - 2;
	SP_TRY(read_placing(hlo, op, &dims));
	SP_TRY(sp_vhlo_int(&hlo->module, op, "feature_group_count", &feature_groups, hlo->err));
	SP_TRY(sp_vhlo_int(&hlo->module, op, "batch_group_count", &batch_groups, hlo->err));
	if (feature_groups < 1 || feature_groups > INT32_MAX)
		return sp_hlo__refuse(hlo, op, "its feature groups are wrong");
	kernel = reverse_kernel(body, op, sp_hlo__all(body, op->operands[1]), rhs->dtype);
	sp_hlo__begin(body, &node, "XlaConvV2", 7);
	sp_hlo__input(&node, sp_hlo__all(body, op->operands[0]));
	sp_hlo__input(&node, kernel);
	SP_TRY(add_list(body, &node, op, "window_strides", spatial, 1));
	SP_TRY(add_padding(body, &node, op, spatial));
	SP_TRY(add_list(body, &node, op, "lhs_dilation", spatial, 1));
	SP_TRY(add_list(body, &node, op, "rhs_dilation", spatial, 1));
	sp_hlo__input(&node, sp_hlo__int_scalar(body, feature_groups));
	sp_hlo__type(&node, "LhsT", lhs->dtype);
	sp_hlo__type(&node, "RhsT", rhs->dtype);
	sp_hlo__type(&node, "Tindices", SP_INT32);
	SP_TRY(sp_hlo__give_numbers(hlo, &node, &dims));
	sp_hlo__text(&node, "precision_config", (sp_bytes){"", 0});
	sp_hlo__type(&node, "preferred_element_type",
		     sp_hlo__value_type(hlo, op->first_result)->dtype);
	sp_hlo__int(&node, "batch_group_count", batch_groups);
	return sp_hlo__give(body, op, 0, sp_hlo__write(body, &node));
}
