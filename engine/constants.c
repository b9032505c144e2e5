#include "engine/constants.h"

#include <string.h>

#include "engine/op.h"

bool sp_node_is_constant(const sp_node *node, const bool *constant)
{
	const unsigned apart = SP_OP_STATEFUL | SP_OP_LOAD_ONLY | SP_OP_TAKES_DEAD |
			       SP_OP_MAKES_DEAD | SP_OP_PER_REQUEST;

	if (node->op == NULL || (node->op->flags & apart) != 0 || node->region_count != 0 ||
	    node->control_count > SP_MOST_CONTROLS)
		return false;
	for (size_t k = 0; k < node->input_count; k++)
		if (!constant[node->inputs[k].node])
			return false;
	return node->input_count != 0 || strcmp(node->op_name, "Const") == 0;
}
