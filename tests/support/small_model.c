#include "tests/support/small_model.h"

#include "engine/import/import.h"
#include "tests/support/cmocka.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

static const sp_attr float_dtype[] = {{.name = "dtype", .kind = SP_ATTR_TYPE, .type = SP_FLOAT}};
static const sp_attr string_dtype[] = {{.name = "dtype", .kind = SP_ATTR_TYPE, .type = SP_STRING}};
static const sp_attr float_t[] = {{.name = "T", .kind = SP_ATTR_TYPE, .type = SP_FLOAT}};
static const sp_attr string_t[] = {{.name = "T", .kind = SP_ATTR_TYPE, .type = SP_STRING}};

static const char *const of_a[] = {"ph/a"};
static const char *const of_t[] = {"ph/t"};
static const char *const of_a_and_b[] = {"ph/a", "ph/b"};

static const sp_node_def nodes[] = {
	{.name = "ph/a", .op = "Placeholder", .attrs = float_dtype, .attr_count = 1},
	{.name = "ph/b", .op = "Placeholder", .attrs = float_dtype, .attr_count = 1},
	{.name = "ph/t", .op = "Placeholder", .attrs = string_dtype, .attr_count = 1},
	{.name = "out/sum",
	 .op = "AddV2",
	 .inputs = of_a_and_b,
	 .input_count = 2,
	 .attrs = float_t,
	 .attr_count = 1},
	{.name = "out/same_a",
	 .op = "Identity",
	 .inputs = of_a,
	 .input_count = 1,
	 .attrs = float_t,
	 .attr_count = 1},
	{.name = "out/same_t",
	 .op = "Identity",
	 .inputs = of_t,
	 .input_count = 1,
	 .attrs = string_t,
	 .attr_count = 1},
};

#define INFO(name, tensor, type)                                           \
	{                                                                  \
		.alias = (name), .tensor_name = (tensor), .dtype = (type), \
		.shape = {.rank = 1, .dims = {-1}},                        \
	}

static const sp_tensor_info number_inputs[] = {INFO("a", "ph/a:0", SP_FLOAT),
					       INFO("b", "ph/b:0", SP_FLOAT)};
static const sp_tensor_info number_outputs[] = {INFO("same_a", "out/same_a:0", SP_FLOAT),
						INFO("sum", "out/sum:0", SP_FLOAT)};
static const sp_tensor_info text_inputs[] = {INFO("t", "ph/t:0", SP_STRING)};
static const sp_tensor_info text_outputs[] = {INFO("same_t", "out/same_t:0", SP_STRING)};

static const sp_signature signatures[] = {
	{.name = "numbers",
	 .method = "tensorflow/serving/predict",
	 .inputs = number_inputs,
	 .input_count = 2,
	 .outputs = number_outputs,
	 .output_count = 2},
	{.name = "texts",
	 .method = "tensorflow/serving/predict",
	 .inputs = text_inputs,
	 .input_count = 1,
	 .outputs = text_outputs,
	 .output_count = 1},
};

static void find_ports(const sp_small_model *model, sp_port *ports, const sp_tensor_info *infos,
		       size_t count)
{
	sp_error err;

	for (size_t i = 0; i < count; i++)
		assert_ok(sp_graph_find(&model->graph, infos[i].tensor_name, &ports[i], &err),
			  &err);
}

static void import(sp_small_model *model)
{
	static const sp_graph_def def = {.nodes = nodes, .node_count = COUNT(nodes)};
	const char *names[COUNT(nodes)];
	sp_import_roots roots = {names, COUNT(nodes)};
	sp_error err;

	for (size_t i = 0; i < COUNT(nodes); i++)
		names[i] = nodes[i].name;
	assert_ok(sp_graph_import(&model->graph, &def, &roots, model->arena, &err), &err);
}

static void compile(sp_small_model *model)
{
	sp_port feeds[2][2], fetches[2][2];
	sp_entry_spec entries[2];
	sp_error err;

	for (int i = 0; i < 2; i++) {
		const sp_signature *signature = &signatures[i];

		find_ports(model, feeds[i], signature->inputs, signature->input_count);
		find_ports(model, fetches[i], signature->outputs, signature->output_count);
		entries[i] = (sp_entry_spec){.name = signature->name,
					     .feeds = feeds[i],
					     .feed_count = signature->input_count,
					     .fetches = fetches[i],
					     .fetch_count = signature->output_count};
		assert_ok(sp_endpoint_init(&model->endpoints[i], signature, (size_t)i, model->arena,
					   &err),
			  &err);
	}
	assert_ok(sp_program_compile(&model->program, &model->graph, entries, 2, &model->resources,
				     NULL, &err),
		  &err);
	assert_null(sp_program_entry_error(model->program, 0));
	assert_null(sp_program_entry_error(model->program, 1));
}

void sp_small_model_init(sp_small_model *model)
{
	sp_error err;

	*model = (sp_small_model){.arena = sp_arena_create(64 << 10)};
	assert_non_null(model->arena);
	sp_resources_init(&model->resources, model->arena);
	import(model);
	compile(model);
	assert_ok(sp_snapshot_build(&model->snapshot, model->program, &model->resources, &err),
		  &err);
}

void sp_small_model_fini(sp_small_model *model)
{
	sp_snapshot_destroy(model->snapshot);
	sp_program_destroy(model->program);
	sp_arena_destroy(model->arena);
}
