#include "engine/graph/graph.h"

#include <stdlib.h>
#include <string.h>

#include "engine/graph/op.h"

sp_status sp_graph_find(const sp_graph *graph, const char *tensor_name, sp_port *out, sp_error *err)
{
	const char *colon = strrchr(tensor_name, ':');
	size_t size = colon != NULL ? (size_t)(colon - tensor_name) : strlen(tensor_name);
	unsigned long port = 0;
	uint64_t node;

	if (colon != NULL) {
		char *end;

		port = strtoul(colon + 1, &end, 10);
		if (colon[1] < '0' || colon[1] > '9' || *end != '\0' || port > UINT16_MAX)
			return sp_error_set(err, SP_INVALID, "'%s' is not the name of a tensor",
					    tensor_name);
	}
	if (!sp_map_get(&graph->names, (sp_bytes){tensor_name, size}, &node))
		return sp_error_set(err, SP_NOT_FOUND, "the graph has no node '%.*s'", (int)size,
				    tensor_name);
	*out = (sp_port){(uint32_t)node, (uint32_t)port};
	return SP_OK;
}

const sp_attr *sp_node_attr(const sp_node *node, const char *name)
{
	return sp_attr_find(node->attrs, node->attr_count, name);
}

static sp_status wrong_kind(const sp_attr *attr, const char *wanted, sp_error *err)
{
	if (attr->kind == SP_ATTR_NONE && attr->text != NULL)
		return sp_error_set(err, SP_UNSUPPORTED, "attribute '%s': %s", attr->name,
				    attr->text);
	return sp_error_set(err, SP_INVALID, "attribute '%s' is not %s", attr->name, wanted);
}

sp_status sp_node_attr_bool(const sp_node *node, const char *name, bool fallback, bool *out,
			    sp_error *err)
{
	const sp_attr *attr = sp_node_attr(node, name);

	if (attr != NULL && attr->kind != SP_ATTR_BOOL)
		return wrong_kind(attr, "a bool", err);
	*out = attr != NULL ? attr->b : fallback;
	return SP_OK;
}

sp_status sp_node_attr_int(const sp_node *node, const char *name, int64_t fallback, int64_t *out,
			   sp_error *err)
{
	const sp_attr *attr = sp_node_attr(node, name);

	if (attr != NULL && attr->kind != SP_ATTR_INT)
		return wrong_kind(attr, "an int", err);
	*out = attr != NULL ? attr->i : fallback;
	return SP_OK;
}

sp_status sp_node_attr_float(const sp_node *node, const char *name, float fallback, float *out,
			     sp_error *err)
{
	const sp_attr *attr = sp_node_attr(node, name);

	if (attr != NULL && attr->kind != SP_ATTR_FLOAT)
		return wrong_kind(attr, "a float", err);
	*out = attr != NULL ? attr->f : fallback;
	return SP_OK;
}

sp_status sp_node_attr_bytes(const sp_node *node, const char *name, const char *fallback,
			     sp_bytes *out, sp_error *err)
{
	const sp_attr *attr = sp_node_attr(node, name);

	if (attr != NULL && attr->kind != SP_ATTR_BYTES)
		return wrong_kind(attr, "a string", err);
	*out = attr != NULL ? attr->bytes : sp_bytes_of(fallback);
	return SP_OK;
}

sp_status sp_node_attr_type(const sp_node *node, const char *name, sp_dtype fallback, sp_dtype *out,
			    sp_error *err)
{
	const sp_attr *attr = sp_node_attr(node, name);

	if (attr != NULL && attr->kind != SP_ATTR_TYPE)
		return wrong_kind(attr, "a type", err);
	if (attr == NULL && fallback == SP_INVALID_DTYPE)
		return sp_error_set(err, SP_INVALID, "attribute '%s' is missing", name);
	if (attr != NULL && attr->type == SP_INVALID_DTYPE)
		return sp_error_set(err, SP_UNSUPPORTED,
				    "attribute '%s' is a data type that is not known", name);
	*out = attr != NULL ? attr->type : fallback;
	return SP_OK;
}

sp_status sp_node_attr_tensor(const sp_node *node, const char *name, const sp_tensor **out,
			      sp_error *err)
{
	const sp_attr *attr = sp_node_attr(node, name);

	if (attr == NULL)
		return sp_error_set(err, SP_INVALID, "attribute '%s' is missing", name);
	if (attr->kind != SP_ATTR_TENSOR)
		return wrong_kind(attr, "a tensor", err);
	*out = attr->tensor;
	return SP_OK;
}

sp_status sp_node_attr_list(const sp_node *node, const char *name, sp_attr_kind element,
			    const sp_attr **out, sp_error *err)
{
	static const sp_attr empty = {.name = "", .kind = SP_ATTR_LIST};
	const sp_attr *attr = sp_node_attr(node, name);

	if (attr != NULL &&
	    (attr->kind != SP_ATTR_LIST || (attr->count != 0 && attr->element != element)))
		return wrong_kind(attr, "a list of the right kind", err);
	*out = attr != NULL ? attr : &empty;
	return SP_OK;
}

bool sp_node_is_loop(const sp_node *node)
{
	return node->op != NULL && node->region_count != 0 &&
	       (node->opcode == SP_OPCODE_While || node->opcode == SP_OPCODE_StatelessWhile ||
		node->opcode == SP_OPCODE_XlaWhile);
}
