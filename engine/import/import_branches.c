#include <string.h>

#include "engine/import/import_internal.h"

/*
 * TensorFlow 1 conditionals (Switch, Merge) whose predicate is a constant.  Every reference to a
 * Merge searches for its Switch again, so only short chains of identities are followed.
 */
enum { MAX_IDENTITIES = 16 };

/* The node that a data reference names; NULL for control references and arguments. */
static const sp_node_def *data_source(const sp_scope *in, const char *ref, uint32_t *port)
{
	sp_bytes name, ignored;
	uint64_t found;

	if (ref[0] == '^' || !sp_import__split_reference(ref, false, &name, &ignored, port) ||
	    !sp_map_get(in->names, name, &found) || found >= SP_ARGUMENT)
		return NULL;
	return &in->nodes[found];
}

/* The same, with identities skipped. */
static const sp_node_def *real_source(const sp_scope *in, const char *ref, uint32_t *port)
{
	const sp_node_def *node = data_source(in, ref, port);

	for (int hops = 0; hops < MAX_IDENTITIES && node != NULL; hops++) {
		if (strcmp(node->op, "Identity") != 0 || node->input_count != 1)
			return node;
		node = data_source(in, node->inputs[0], port);
	}
	return NULL;
}

/* Whether the node is a Switch with a constant predicate, which goes into *taken. */
static bool is_decided(const sp_scope *in, const sp_node_def *node, bool *taken)
{
	const sp_node_def *predicate;
	const sp_attr *value;
	uint32_t port;

	if (node == NULL || strcmp(node->op, "Switch") != 0 || node->input_count != 2)
		return false;
	predicate = real_source(in, node->inputs[1], &port);
	if (predicate == NULL || strcmp(predicate->op, "Const") != 0)
		return false;
	value = sp_attr_find(predicate->attrs, predicate->attr_count, "value");
	if (value == NULL || value->kind != SP_ATTR_TENSOR || value->tensor->dtype != SP_BOOL ||
	    !sp_tensor_is_scalar(value->tensor))
		return false;
	*taken = *(const bool *)value->tensor->data;
	return true;
}

/*
 * If one of the two inputs of a Merge is the dead output of a Switch with a constant predicate, the
 * value is the other input; NULL for all other nodes.  Graphs for both training and inference are
 * exported in this form, and like TensorFlow the import leaves out the dead branch, with the moving
 * averages that it updates.
 */
const char *sp_import__decided_side(const sp_scope *in, uint32_t node)
{
	const sp_node_def *merge = &in->nodes[node];

	if (in->function != NULL || merge->input_count != 2 || strcmp(merge->op, "Merge") != 0)
		return NULL;
	for (size_t i = 0; i < 2; i++) {
		const char *other = merge->inputs[1 - i];
		uint32_t port, other_port;
		bool taken;

		if (!is_decided(in, real_source(in, merge->inputs[i], &port), &taken) ||
		    port == taken || other[0] == '^')
			continue;
		merge = data_source(in, other, &other_port);
		if (is_decided(in, merge, &taken) && other_port == taken)
			return merge->inputs[0];
		return other;
	}
	return NULL;
}
