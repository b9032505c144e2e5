#include "engine/passes/simplify.h"

#include <string.h>

#include "base/hash.h"
#include "engine/graph/op.h"

/* Elements of the longest constants that are compared; equal weights are rare. */
static const size_t LONGEST_CONSTANT = 1024;

/* Bounds the time that a hostile graph with colliding hashes takes. */
static const size_t MOST_PROBES = 64;

typedef struct simplifier {
	sp_graph *graph;
	const bool *kept;
	uint32_t *replacement; /* [nodes] the first equal node, or itself */
	uint32_t *buckets; /* index of a node + 1, or 0; open addressing by hash, linear probing */
	size_t bucket_mask;
	sp_error *err;
} simplifier;

/* -------------------------------------------------------------- comparing */

static bool same_bytes(sp_bytes a, sp_bytes b)
{
	return a.size == b.size && (a.size == 0 || memcmp(a.data, b.data, a.size) == 0);
}

static bool same_tensor(const sp_tensor *a, const sp_tensor *b)
{
	if (a == b)
		return true;
	if (a->dtype != b->dtype || !sp_shape_equal(&a->shape, &b->shape))
		return false;
	if (a->count == 0)
		return true;
	if (a->dtype != SP_STRING)
		return memcmp(a->data, b->data, a->count * sp_dtype_size(a->dtype)) == 0;
	for (size_t i = 0; i < a->count; i++)
		if (!same_bytes(sp_tensor_strings(a)[i], sp_tensor_strings(b)[i]))
			return false;
	return true;
}

static bool same_shape(const sp_partial_shape *a, const sp_partial_shape *b)
{
	if (a->rank != b->rank)
		return false;
	for (int32_t i = 0; i < a->rank; i++)
		if (a->dims[i] != b->dims[i])
			return false;
	return true;
}

/* Lists of other element kinds are rare and count as different. */
static bool same_list(const sp_attr *a, const sp_attr *b)
{
	if (a->element != b->element || a->count != b->count)
		return false;
	if (a->count == 0)
		return true;
	switch (a->element) {
	case SP_ATTR_INT:
		return memcmp(a->i_list, b->i_list, a->count * sizeof(*a->i_list)) == 0;
	case SP_ATTR_TYPE:
		return memcmp(a->type_list, b->type_list, a->count * sizeof(*a->type_list)) == 0;
	case SP_ATTR_FLOAT:
		return memcmp(a->f_list, b->f_list, a->count * sizeof(*a->f_list)) == 0;
	default:
		return false;
	}
}

static bool same_attr(const sp_attr *a, const sp_attr *b)
{
	if (a->kind != b->kind || strcmp(a->name, b->name) != 0)
		return false;
	switch (a->kind) {
	case SP_ATTR_BYTES:
		return same_bytes(a->bytes, b->bytes);
	case SP_ATTR_INT:
		return a->i == b->i;
	case SP_ATTR_FLOAT:
		return memcmp(&a->f, &b->f, sizeof(a->f)) == 0;
	case SP_ATTR_BOOL:
		return a->b == b->b;
	case SP_ATTR_TYPE:
		return a->type == b->type;
	case SP_ATTR_SHAPE:
		return same_shape(a->shape, b->shape);
	case SP_ATTR_TENSOR:
		return same_tensor(a->tensor, b->tensor);
	case SP_ATTR_LIST:
		return same_list(a, b);
	default:
		return false;
	}
}

/* Attributes with '_' are annotations and do not affect the value. */
static bool is_annotation(const sp_attr *attr)
{
	return attr->name[0] == '_';
}

static const sp_attr *next_attr(const sp_node *node, size_t *i)
{
	while (*i < node->attr_count && is_annotation(&node->attrs[*i]))
		++*i;
	return *i < node->attr_count ? &node->attrs[(*i)++] : NULL;
}

/* Compared in the order of the file: one writer wrote both nodes. */
static bool same_attrs(const sp_node *a, const sp_node *b)
{
	size_t i = 0, k = 0;

	for (;;) {
		const sp_attr *x = next_attr(a, &i), *y = next_attr(b, &k);

		if (x == NULL || y == NULL)
			return x == y;
		if (!same_attr(x, y))
			return false;
	}
}

/* Sums and products of numbers; Add also joins strings, which does not commute. */
static bool is_commutative(const sp_node *node)
{
	sp_dtype dtype;

	if (node->input_count != 2)
		return false;
	if (node->opcode == SP_OPCODE_AddV2 || node->opcode == SP_OPCODE_Mul)
		return true;
	return node->opcode == SP_OPCODE_Add &&
	       sp_node_attr_type(node, "T", SP_INVALID_DTYPE, &dtype, NULL) == SP_OK &&
	       dtype != SP_STRING;
}

/* Input k, after sorting the inputs of commutative operators. */
static sp_port input_to_compare(const sp_node *node, size_t k)
{
	sp_port a = node->inputs[0], b = node->inputs[node->input_count - 1];

	if (is_commutative(node) && (a.node > b.node || (a.node == b.node && a.port > b.port)))
		return node->inputs[1 - k];
	return node->inputs[k];
}

static bool same_node(const sp_node *a, const sp_node *b)
{
	if (a->op != b->op || a->region != b->region || a->input_count != b->input_count ||
	    a->control_count != b->control_count)
		return false;
	for (size_t i = 0; i < a->control_count; i++)
		if (a->controls[i] != b->controls[i])
			return false;
	for (size_t i = 0; i < a->input_count; i++) {
		sp_port x = input_to_compare(a, i), y = input_to_compare(b, i);

		if (x.node != y.node || x.port != y.port)
			return false;
	}
	return same_attrs(a, b);
}

/* ------------------------------------------------------------- the walk */

static bool is_short_constant(const sp_node *node)
{
	const sp_attr *value = sp_node_attr(node, "value");

	return node->opcode == SP_OPCODE_Const && value != NULL && value->kind == SP_ATTR_TENSOR &&
	       value->tensor->count <= LONGEST_CONSTANT;
}

/*
 * Nodes without inputs other than constants (placeholders, handles) are told apart by their names.
 */
static bool may_be_shared(const sp_node *node)
{
	if (node->op == NULL || (node->op->flags & SP_OP_AT_REQUEST) != 0 ||
	    node->opcode == SP_OPCODE_EmbeddingColumns) /* its columns are not compared */
		return false;
	return node->input_count != 0 || is_short_constant(node);
}

static uint64_t hash_tensor(const sp_tensor *tensor)
{
	uint64_t hash = tensor->count;

	if (tensor->dtype != SP_STRING)
		return sp_fingerprint64(tensor->data, tensor->count * sp_dtype_size(tensor->dtype));
	for (size_t i = 0; i < tensor->count; i++) {
		sp_bytes text = sp_tensor_strings(tensor)[i];

		hash = sp_fingerprint64_join(hash, sp_fingerprint64(text.data, text.size));
	}
	return hash;
}

/* Equal attributes have equal hashes; kinds that are not listed share one. */
static uint64_t hash_attr(const sp_attr *attr)
{
	switch (attr->kind) {
	case SP_ATTR_BYTES:
		return sp_fingerprint64(attr->bytes.data, attr->bytes.size);
	case SP_ATTR_INT:
		return (uint64_t)attr->i;
	case SP_ATTR_FLOAT:
		return sp_fingerprint64(&attr->f, sizeof(attr->f));
	case SP_ATTR_TYPE:
		return attr->type;
	case SP_ATTR_TENSOR:
		return attr->tensor->count <= LONGEST_CONSTANT ? hash_tensor(attr->tensor) : 0;
	default:
		return 0;
	}
}

static uint64_t hash_node(const sp_node *node)
{
	uint64_t hash = node->opcode;
	const sp_attr *attr;

	hash = sp_fingerprint64_join(hash, node->region);
	for (size_t i = 0; i < node->input_count; i++) {
		sp_port input = input_to_compare(node, i);

		hash = sp_fingerprint64_join(hash, (uint64_t)input.node << 16 | input.port);
	}
	for (size_t i = 0; i < node->control_count; i++)
		hash = sp_fingerprint64_join(hash, node->controls[i]);
	for (size_t i = 0; (attr = next_attr(node, &i)) != NULL;)
		hash = sp_fingerprint64_join(hash, hash_attr(attr));
	return hash;
}

/* The first node that is equal to node i, or i itself. */
static uint32_t find_equal(simplifier *si, uint32_t i)
{
	const sp_node *nodes = si->graph->nodes;
	size_t at = hash_node(&nodes[i]) & si->bucket_mask;

	for (size_t probe = 0; probe < MOST_PROBES; probe++) {
		uint32_t other = si->buckets[at];

		if (other == 0) {
			si->buckets[at] = i + 1;
			break;
		}
		if (same_node(&nodes[i], &nodes[other - 1]))
			return other - 1;
		at = (at + 1) & si->bucket_mask;
	}
	return i;
}

/* Redirects the node's inputs to the first of equal nodes, and past identities. */
static sp_status redirect(simplifier *si, sp_node *node)
{
	sp_port *inputs = NULL;

	for (size_t k = 0; k < node->input_count; k++) {
		sp_port from = node->inputs[k];
		const sp_node *source;

		from.node = si->replacement[from.node];
		source = &si->graph->nodes[from.node];
		if (source->op != NULL && (source->op->flags & SP_OP_IDENTITY) != 0 &&
		    source->control_count == 0 && !si->kept[from.node] &&
		    from.port < source->input_count)
			from = source->inputs[from.port]; /* redirected before: sources come first
							   */
		if (from.node == node->inputs[k].node && from.port == node->inputs[k].port)
			continue;
		if (inputs == NULL) {
			inputs = sp_arena_copy(si->graph->arena, node->inputs, node->input_count,
					       node->input_count, sizeof(*inputs));
			SP_NEED_MEMORY(inputs, si->err, "the graph");
			node->inputs = inputs;
		}
		inputs[k] = from;
	}
	return SP_OK;
}

static sp_status walk(simplifier *si)
{
	for (uint32_t i = 0; i < si->graph->node_count; i++) {
		sp_node *node = &si->graph->nodes[i];

		si->replacement[i] = i;
		SP_TRY(redirect(si, node));
		if (!si->kept[i] && may_be_shared(node))
			si->replacement[i] = find_equal(si, i);
	}
	return SP_OK;
}

sp_status sp_graph_simplify(sp_graph *graph, const bool *kept, sp_error *err)
{
	simplifier si = {.graph = graph, .kept = kept, .err = err};
	sp_arena *scratch = sp_arena_create(64 << 10);
	size_t buckets = 64;
	sp_status status;

	while (buckets < 2 * graph->node_count)
		buckets *= 2;
	si.bucket_mask = buckets - 1;
	if (scratch != NULL) {
		si.replacement = sp_arena_array(scratch, graph->node_count,
						sizeof(*si.replacement));
		si.buckets = sp_arena_zeros(scratch, buckets, sizeof(*si.buckets));
	}
	status = si.replacement != NULL && si.buckets != NULL
			 ? walk(&si)
			 : sp_error_set(err, SP_NO_MEMORY, "no memory for the graph");
	sp_arena_destroy(scratch);
	return status;
}
