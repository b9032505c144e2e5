#include "tests/support/embedding_graph.h"

#include <string.h>

#include "storage/table/table_builder.h"
#include "tests/support/cmocka.h"

void sp_embedding_graph_init(sp_embedding_graph *g)
{
	*g = (sp_embedding_graph){.shared_name = "user_emb",
				  .dtype = SP_FLOAT,
				  .key_dtype = SP_INT64,
				  .shape = {.rank = 1, .dims = {3}},
				  .fetches = true};
	sp_small_graph_init(&g->graph);
}

void sp_embedding_graph_fini(sp_embedding_graph *g)
{
	sp_small_graph_fini(&g->graph);
	sp_table_destroy(g->table);
}

sp_attr sp_type_attr(const char *name, sp_dtype type)
{
	return (sp_attr){.name = name, .kind = SP_ATTR_TYPE, .type = type};
}

sp_attr sp_int_attr(const char *name, int64_t i)
{
	return (sp_attr){.name = name, .kind = SP_ATTR_INT, .i = i};
}

static sp_node_def handle(const sp_embedding_graph *g)
{
	sp_attr *attrs = sp_arena_array(g->graph.arena, 4, sizeof(*attrs));

	attrs[0] = sp_type_attr("dtype", g->dtype);
	attrs[1] = sp_type_attr("Tkeys", g->key_dtype);
	attrs[2] = (sp_attr){.name = "shape", .kind = SP_ATTR_SHAPE, .shape = &g->shape};
	attrs[3] = (sp_attr){
		.name = "shared_name", .kind = SP_ATTR_BYTES, .bytes = sp_bytes_of(g->shared_name)};
	return (sp_node_def){.name = "emb", .op = "KvVarHandleOp", .attrs = attrs, .attr_count = 4};
}

static sp_node_def placeholder(const sp_embedding_graph *g, const sp_embedding_input *in)
{
	sp_attr *dtype = sp_arena_array(g->graph.arena, 1, sizeof(*dtype));

	*dtype = sp_type_attr("dtype", in->value.dtype);
	return (sp_node_def){NODE(in->name, "Placeholder"), .attrs = dtype, .attr_count = 1};
}

static bool is_fed(const sp_embedding_input *in)
{
	return strcmp(in->name, "emb") != 0;
}

sp_status sp_embedding_graph_build(sp_embedding_graph *g, const char *op, const sp_attr *attrs,
				   size_t attr_count, const sp_embedding_input *inputs,
				   size_t count)
{
	const char **names = sp_arena_array(g->graph.arena, count, sizeof(*names));
	sp_ends ends = {.loading = g->loading};
	size_t feed_count = 0, node_count = 0;

	g->nodes[node_count++] = handle(g);
	for (size_t i = 0; i < count; i++) {
		names[i] = inputs[i].name;
		if (!is_fed(&inputs[i]))
			continue;
		g->nodes[node_count++] = placeholder(g, &inputs[i]);
		ends.feeds[feed_count++] = names[i];
	}
	g->nodes[node_count++] = (sp_node_def){NODE("op", op), .inputs = names,
					       .input_count = count, .attrs = attrs,
					       .attr_count = attr_count};
	if (g->fetches)
		ends.fetches[0] = "op";
	else
		ends.target = "op";
	return sp_small_graph_compile(&g->graph, g->nodes, node_count, &ends);
}

static sp_tensor feed(sp_dtype dtype, sp_shape shape, const void *data)
{
	sp_tensor out = {.dtype = dtype, .shape = shape, .data = (void *)data};

	assert_true(sp_shape_count(&shape, &out.count));
	return out;
}

sp_tensor sp_feed_ids(sp_shape shape, const int64_t *ids)
{
	return feed(SP_INT64, shape, ids);
}

sp_tensor sp_feed_ids32(sp_shape shape, const int32_t *ids)
{
	return feed(SP_INT32, shape, ids);
}

sp_tensor sp_feed_floats(sp_shape shape, const float *values)
{
	return feed(SP_FLOAT, shape, values);
}

void sp_embedding_graph_load(sp_embedding_graph *g, sp_table_filter filter)
{
	static const float defaults[] = {-1, -2, -3};
	sp_table_options options = {.name = "user_emb",
				    .dim = 3,
				    .filter = filter,
				    .default_value_no_permission = 7.0f,
				    .default_rows = defaults,
				    .default_row_count = 1};
	const int64_t keys[] = {10, 20, 30};
	float rows[9];

	for (size_t i = 0; i < 9; i++)
		rows[i] = (float)keys[i / 3] + 0.25f * (float)(i % 3);
	assert_ok(sp_table_from_rows(&g->table, &options, keys, rows, 3, &g->graph.err),
		  &g->graph.err);
	assert_int_equal(g->graph.resources.count, 1);
	g->graph.resources.items[0].table = g->table;
}

sp_status sp_embedding_graph_run(sp_embedding_graph *g, const sp_embedding_input *inputs,
				 size_t count, const sp_tensor **out)
{
	sp_tensor feeds[SP_EMBEDDING_MAX_INPUTS];
	size_t n = 0;

	for (size_t i = 0; i < count; i++)
		if (is_fed(&inputs[i]))
			feeds[n++] = inputs[i].value;
	return sp_small_graph_run(&g->graph, feeds, NULL, out);
}
