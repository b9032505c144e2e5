#include "model_loader/version/example_features.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"

/* The features found so far. */
typedef struct search {
	const sp_graph *graph;
	sp_arena *arena;
	sp_error *err;
	sp_example_feature *items;
	size_t count, capacity;
	bool is_known; /* until something else than a parser reads the records */
} search;

/* ---------------------------------------------------------------------- parsers */

static sp_status add(search *s, sp_bytes name, sp_dtype dtype, sp_feature_kind kind)
{
	if (dtype != SP_FLOAT && dtype != SP_INT64 && dtype != SP_STRING) {
		s->is_known = false; /* the operator refuses it, too */
		return SP_OK;
	}
	if (s->count == s->capacity) {
		size_t capacity = s->capacity != 0 ? 2 * s->capacity : 32;
		sp_example_feature *grown = sp_arena_array(s->arena, capacity, sizeof(*grown));

		SP_NEED_MEMORY(grown, s->err, "the features of examples");
		if (s->count != 0)
			memcpy(grown, s->items, s->count * sizeof(*grown));
		s->items = grown;
		s->capacity = capacity;
	}
	s->items[s->count++] = (sp_example_feature){name, (int)dtype, (int)kind};
	return SP_OK;
}

/* The value of a constant with strings; NULL for anything else. */
static const sp_tensor *constant_names(const search *s, sp_port port)
{
	const sp_node *node = &s->graph->nodes[port.node];
	const sp_tensor *value;

	if (node->opcode != SP_OPCODE_Const ||
	    sp_node_attr_tensor(node, "value", &value, NULL) != SP_OK || value->dtype != SP_STRING)
		return NULL;
	return value;
}

/* Takes the features of one kind; their names are the elements of `port_count` inputs. */
static sp_status take_kind(search *s, const sp_node *parser, size_t first, size_t port_count,
			   const char *types_name, sp_feature_kind kind)
{
	const sp_attr *types;
	size_t taken = 0;

	if (sp_node_attr_list(parser, types_name, SP_ATTR_TYPE, &types, NULL) != SP_OK ||
	    port_count > parser->input_count || first > parser->input_count - port_count) {
		s->is_known = false;
		return SP_OK;
	}
	for (size_t i = 0; i < port_count; i++) {
		const sp_tensor *names = constant_names(s, parser->inputs[first + i]);

		if (names == NULL || names->count > types->count - taken) {
			s->is_known = false;
			return SP_OK;
		}
		for (size_t k = 0; k < names->count; k++)
			SP_TRY(add(s, sp_tensor_strings(names)[k], types->type_list[taken++],
				   kind));
	}
	s->is_known &= taken == types->count;
	return SP_OK;
}

/* ParseExample has an input for each name, after the records and their names. */
static sp_status take_parser(search *s, const sp_node *parser)
{
	enum { FIRST = 2 };
	const sp_attr *sparse, *dense;

	if (parser->opcode == SP_OPCODE_ParseExampleV2) {
		SP_TRY(take_kind(s, parser, FIRST, 1, "sparse_types", SP_FEATURE_SPARSE));
		SP_TRY(take_kind(s, parser, FIRST + 1, 1, "Tdense", SP_FEATURE_DENSE));
		return take_kind(s, parser, FIRST + 2, 1, "ragged_value_types", SP_FEATURE_RAGGED);
	}
	if (sp_node_attr_list(parser, "sparse_types", SP_ATTR_TYPE, &sparse, NULL) != SP_OK ||
	    sp_node_attr_list(parser, "Tdense", SP_ATTR_TYPE, &dense, NULL) != SP_OK) {
		s->is_known = false;
		return SP_OK;
	}
	SP_TRY(take_kind(s, parser, FIRST, sparse->count, "sparse_types", SP_FEATURE_SPARSE));
	return take_kind(s, parser, FIRST + sparse->count, dense->count, "Tdense",
			 SP_FEATURE_DENSE);
}

/* --------------------------------------------------------------------- the graph */

/* Whether the node hands its first input on, perhaps in another shape. */
static bool hands_on(const sp_node *node)
{
	switch (node->opcode) {
	case SP_OPCODE_ExpandDims:
	case SP_OPCODE_Identity:
	case SP_OPCODE_Reshape:
	case SP_OPCODE_Snapshot:
	case SP_OPCODE_Squeeze:
	case SP_OPCODE_StopGradient:
		return true;
	default:
		return false;
	}
}

static bool asks_for_shape(const sp_node *node)
{
	return node->opcode == SP_OPCODE_Shape || node->opcode == SP_OPCODE_Size ||
	       node->opcode == SP_OPCODE_Rank;
}

static bool is_parser(const sp_node *node)
{
	return node->opcode == SP_OPCODE_ParseExample || node->opcode == SP_OPCODE_ParseExampleV2;
}

/* A node reads the records by its input number `input`. */
static sp_status take_reader(search *s, const sp_node *node, size_t input, bool *carries)
{
	if (input == 0 && is_parser(node))
		return take_parser(s, node);
	if (input == 0 && hands_on(node))
		*carries = true;
	else if (!asks_for_shape(node))
		s->is_known = false;
	return SP_OK;
}

/* The inputs of a node stand before it.  carries[node]: its output 0 is the records. */
static sp_status walk(search *s, sp_port fed, bool *carries)
{
	const sp_graph *graph = s->graph;

	for (size_t i = 0; i < graph->node_count && s->is_known; i++) {
		const sp_node *node = &graph->nodes[i];

		for (size_t k = 0; k < node->input_count && s->is_known; k++) {
			sp_port from = node->inputs[k];
			bool is_fed = from.node == fed.node && from.port == fed.port;

			if (is_fed || (from.port == 0 && carries[from.node]))
				SP_TRY(take_reader(s, node, k, &carries[i]));
		}
	}
	return SP_OK;
}

/* -------------------------------------------------------------------- the result */

static int compare(const void *a, const void *b)
{
	sp_bytes x = ((const sp_example_feature *)a)->name;
	sp_bytes y = ((const sp_example_feature *)b)->name;
	size_t shorter = x.size < y.size ? x.size : y.size;
	int order = shorter != 0 ? memcmp(x.data, y.data, shorter) : 0;

	return order != 0 ? order : (x.size > y.size) - (x.size < y.size);
}

/* Keeps one of those with equal names, or none if their types differ. */
static void keep_one_of_each(search *s)
{
	size_t kept = 0, next;

	for (size_t i = 0; i < s->count; i = next) {
		bool alike = true;

		for (next = i + 1;
		     next < s->count && sp_bytes_equal(s->items[next].name, s->items[i].name);
		     next++)
			alike &= s->items[next].dtype == s->items[i].dtype;
		if (alike)
			s->items[kept++] = s->items[i];
	}
	s->count = kept;
}

sp_status sp_example_features_find(sp_example_features *out, const sp_graph *graph, sp_port fed,
				   sp_arena *arena, sp_error *err)
{
	search s = {.graph = graph, .arena = arena, .err = err, .is_known = true};
	bool *carries = sp_alloc_zero(graph->node_count, sizeof(*carries));
	sp_status status;

	*out = (sp_example_features){NULL, 0};
	SP_NEED_MEMORY(carries, err, "the features of examples");
	status = walk(&s, fed, carries);
	sp_free(carries);
	if (status != SP_OK || !s.is_known || s.count == 0)
		return status;
	qsort(s.items, s.count, sizeof(s.items[0]), compare);
	keep_one_of_each(&s);
	*out = (sp_example_features){s.items, s.count};
	return SP_OK;
}
