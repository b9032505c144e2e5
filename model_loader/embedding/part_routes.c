#include "model_loader/embedding/part_routes.h"

#include <string.h>

#include "engine/tensor/tensor.h"
#include "model_loader/checkpoint/part_name.h"
#include "model_loader/embedding/bucket_offsets.h"

enum { MOST_STEPS = 64 }; /* from a gather back to its keys; a graph may have cycles */

typedef struct search {
	const sp_graph_def *graph;
	sp_map numbers; /* indices of nodes by name */
} search;

/* An output of a node; node NULL: not in the graph. */
typedef struct output {
	const sp_node_def *node;
	int64_t number;
} output;

static output find(const search *s, const char *tensor)
{
	const char *colon = strchr(tensor, ':');
	sp_bytes name = sp_bytes_of(tensor);
	output out = {NULL, 0};
	uint64_t at;

	if (colon != NULL)
		name.size = (size_t)(colon - tensor);
	for (const char *digit = colon; digit != NULL && *++digit != '\0';) {
		if (*digit < '0' || *digit > '9' || out.number > SP_BUCKETS)
			return (output){NULL, 0};
		out.number = out.number * 10 + (*digit - '0');
	}
	if (sp_map_get(&s->numbers, name, &at))
		out.node = &s->graph->nodes[at];
	return out;
}

static bool is_among(const char *op, const char *const *ops, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (strcmp(op, ops[i]) == 0)
			return true;
	return false;
}

/* Goes back through nodes that only reshape, cast or reorder numbers. */
static output same_numbers(const search *s, const char *tensor)
{
	static const char *const ops[] = {"Identity",         "Reshape",    "Cast",
					  "Squeeze",          "Unique",     "UniqueV2",
					  "UniqueWithCounts", "ExpandDims", "StopGradient"};
	output out = find(s, tensor);

	for (int step = 0; step < MOST_STEPS; step++) {
		if (out.node == NULL || out.number != 0 || out.node->input_count == 0 ||
		    !is_among(out.node->op, ops, sizeof(ops) / sizeof(ops[0])))
			return out;
		out = find(s, out.node->inputs[0]);
	}
	return (output){NULL, 0};
}

/* The value of a constant scalar integer; -1 for everything else. */
static int64_t constant(const search *s, const char *tensor)
{
	output out = same_numbers(s, tensor);
	const sp_attr *value = NULL;

	if (out.node != NULL && strcmp(out.node->op, "Const") == 0)
		value = sp_attr_find(out.node->attrs, out.node->attr_count, "value");
	if (value == NULL || value->kind != SP_ATTR_TENSOR || value->tensor->count != 1 ||
	    (value->tensor->dtype != SP_INT32 && value->tensor->dtype != SP_INT64))
		return -1;
	return sp_tensor_index(value->tensor, 0);
}

/* The x of x mod `divisor`, if `of` is such a remainder; else node NULL. */
static output dividend(const search *s, output of, int64_t divisor)
{
	static const char *const ops[] = {"FloorMod", "Mod"};

	if (of.node == NULL || !is_among(of.node->op, ops, 2) || of.node->input_count < 2 ||
	    constant(s, of.node->inputs[1]) != divisor)
		return (output){NULL, 0};
	return same_numbers(s, of.node->inputs[0]);
}

/* Whether the node routes keys to `parts` parts as DeepRec does. */
static bool routes_by_key(const search *s, const sp_node_def *partition, int64_t parts)
{
	output keys, source;

	if (partition->input_count < 2)
		return false;
	keys = same_numbers(s, partition->inputs[0]);
	source = dividend(s, same_numbers(s, partition->inputs[1]), parts);
	source = dividend(s, source, SP_BUCKETS);
	return keys.node != NULL && keys.node == source.node && keys.number == source.number;
}

static int64_t attr_int(const sp_node_def *node, const char *name)
{
	const sp_attr *attr = sp_attr_find(node->attrs, node->attr_count, name);

	return attr != NULL && attr->kind == SP_ATTR_INT ? attr->i : -1;
}

static sp_bytes name_of(const sp_node_def *handle)
{
	const sp_attr *name = sp_attr_find(handle->attrs, handle->attr_count, "shared_name");

	return name != NULL && name->kind == SP_ATTR_BYTES && name->bytes.size != 0
		       ? name->bytes
		       : sp_bytes_of(handle->name);
}

/*
 * The number of parts if the gather asks part `number` for the keys that DeepRec routes to it, else
 * 0.
 */
static uint64_t parts_of(const search *s, const sp_node_def *gather, int64_t number)
{
	output from = same_numbers(s, gather->inputs[1]);
	int64_t parts;

	if (from.node == NULL || strcmp(from.node->op, "DynamicPartition") != 0 ||
	    from.number != number)
		return 0;
	parts = attr_int(from.node, "num_partitions");
	return parts > number && routes_by_key(s, from.node, parts) ? (uint64_t)parts : 0;
}

/* Whether the operator only fills a handle, or reads it without keys. */
static bool asks_nothing(const char *op)
{
	static const char *const starts[] = {
		"KvResourceImport", "KvResourceIncrImport", "KvResourceExport",
		"InitializeKv",     "KvVarIsInitialized",   "Save",
		"IncrSave"};

	for (size_t i = 0; i < sizeof(starts) / sizeof(starts[0]); i++)
		if (strncmp(op, starts[i], strlen(starts[i])) == 0)
			return true;
	return false;
}

/* Records the number of parts of the handle; 0 once any reader does not route by key. */
static sp_map_result note_reader(sp_map *verdicts, const search *s, const sp_node_def *reader,
				 size_t input, sp_arena *arena)
{
	output handle = find(s, reader->inputs[input]);
	uint64_t parts = 0, before;
	const char *text;
	sp_part_name name;

	if (handle.node == NULL || strcmp(handle.node->op, "KvVarHandleOp") != 0 ||
	    asks_nothing(reader->op))
		return SP_MAP_PRESENT;
	text = sp_arena_text(arena, name_of(handle.node));
	if (text == NULL)
		return SP_MAP_NO_MEMORY;
	name = sp_part_name_split(text);
	if (name.numbered && input == 0 && reader->input_count > 1 &&
	    strncmp(reader->op, "KvResourceGather", strlen("KvResourceGather")) == 0)
		parts = parts_of(s, reader, (int64_t)name.number);
	if (sp_map_get(verdicts, sp_bytes_of(text), &before) && before != parts)
		parts = 0;
	return sp_map_put(verdicts, sp_bytes_of(text), parts);
}

sp_status sp_part_routes_find(sp_map *out, const sp_graph_def *graph, sp_arena *arena,
			      sp_error *err)
{
	search s = {.graph = graph};
	sp_map verdicts;
	sp_map_result result = SP_MAP_PRESENT;

	sp_map_init(&s.numbers, arena);
	sp_map_init(&verdicts, arena);
	for (size_t i = 0; i < graph->node_count && result != SP_MAP_NO_MEMORY; i++)
		result = sp_map_add(&s.numbers, sp_bytes_of(graph->nodes[i].name), i);
	for (size_t i = 0; i < graph->node_count; i++)
		for (size_t k = 0; k < graph->nodes[i].input_count && result != SP_MAP_NO_MEMORY;
		     k++)
			result = note_reader(&verdicts, &s, &graph->nodes[i], k, arena);
	for (size_t i = 0; i < verdicts.count && result != SP_MAP_NO_MEMORY; i++)
		if (verdicts.entries[i].value != 0)
			result = sp_map_add(out, verdicts.entries[i].key,
					    verdicts.entries[i].value);
	SP_NEED_MEMORY(result != SP_MAP_NO_MEMORY, err, "the handles of a graph");
	return SP_OK;
}
