#include "tests/support/cmocka.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/file.h"
#include "engine/import/import.h"
#include "engine/import/lower.h"
#include "engine/passes/optimize.h"
#include "engine/tensor/hash_table.h"
#include "model_loader/saved_model/saved_model.h"
#include "tests/support/graph.h"
#include "tests/support/paths.h"

/*
 * Golden models with a few things in them exchanged: inputs led elsewhere,
 * operators and attributes of other nodes, numbers and types.  Each is refused,
 * or runs and answers or not; what it may not do is crash, hang or take more than
 * its memory.  $SP_MUTATIONS says how many per model.
 */

enum { MUTATIONS = 150, MEMORY = 8 << 20 };

typedef struct victim {
	sp_arena *arena;
	sp_saved_model saved;
	sp_node_def **nodes; /* of the graph and of all functions */
	size_t node_count;
	size_t refused, failed, answered;
} victim;

/* ---------------------------------------------------------------- the model */

static void take_nodes(victim *v, const sp_node_def *nodes, size_t count)
{
	for (size_t i = 0; i < count; i++)
		v->nodes[v->node_count++] = (sp_node_def *)&nodes[i];
}

static void read_model(victim *v, const char *name)
{
	char path[SP_PATH_SIZE], relative[256];
	size_t size, count;
	sp_error err;
	char *data;

	snprintf(relative, sizeof(relative), "tests/golden/%s/model/saved_model.pb", name);
	assert_ok(sp_file_read(&data, &size, sp_source_path(path, relative), 16 << 20, &err), &err);
	*v = (victim){.arena = sp_arena_create(1 << 20)};
	assert_ok(sp_saved_model_parse(&v->saved, data, size, NULL, v->arena, &err), &err);
	sp_free(data);
	count = v->saved.graph.node_count;
	for (size_t i = 0; i < v->saved.graph.function_count; i++)
		count += v->saved.graph.functions[i].node_count;
	v->nodes = sp_arena_array(v->arena, count, sizeof(*v->nodes));
	assert_non_null(v->nodes);
	take_nodes(v, v->saved.graph.nodes, v->saved.graph.node_count);
	for (size_t i = 0; i < v->saved.graph.function_count; i++)
		take_nodes(v, v->saved.graph.functions[i].nodes,
			   v->saved.graph.functions[i].node_count);
}

/* --------------------------------------------------------------- the damage */

static uint64_t chance_state;

static size_t chance(size_t below)
{
	chance_state = chance_state * 6364136223846793005u + 1442695040888963407u;
	return below != 0 ? (size_t)(chance_state >> 33) % below : 0;
}

static const sp_node_def *any(const victim *v)
{
	return v->nodes[chance(v->node_count)];
}

/* An input from elsewhere, preferably of the same function. */
static void lead_elsewhere(const victim *v, sp_node_def *node, sp_arena *arena)
{
	const char **inputs = sp_arena_array(arena, node->input_count + 1, sizeof(*inputs));
	const sp_node_def *from = chance(8) != 0 ? node + (ptrdiff_t)chance(9) - 4 : any(v);
	size_t i = chance(node->input_count + 1);

	if (from < v->saved.graph.nodes ||
	    (size_t)(from - v->saved.graph.nodes) >= v->saved.graph.node_count)
		from = any(v);
	memcpy(inputs, node->inputs, node->input_count * sizeof(*inputs));
	if (chance(3) != 0 && from->input_count != 0)
		inputs[i] = from->inputs[chance(from->input_count)];
	else
		inputs[i] = sp_arena_printf(arena, chance(4) == 0 ? "^%s" : "%s", from->name);
	node->input_count += i == node->input_count;
	node->inputs = inputs;
}

static void change_attr(const victim *v, sp_node_def *node, sp_arena *arena)
{
	sp_attr *attrs = sp_arena_array(arena, node->attr_count, sizeof(*attrs));
	const sp_node_def *other = any(v);
	sp_attr *attr;

	if (node->attr_count == 0)
		return;
	memcpy(attrs, node->attrs, node->attr_count * sizeof(*attrs));
	attr = &attrs[chance(node->attr_count)];
	node->attrs = attrs;
	if (other->attr_count != 0 && chance(3) == 0) {
		const char *name = attr->name;

		*attr = other->attrs[chance(other->attr_count)];
		attr->name = name;
	} else if (attr->kind == SP_ATTR_INT) {
		attr->i = (int64_t)chance(5) - 2;
	} else if (attr->kind == SP_ATTR_TYPE) {
		attr->type = (sp_dtype)chance(SP_FILE_DTYPE_MAX + 1);
	} else if (attr->kind == SP_ATTR_BOOL) {
		attr->b = !attr->b;
	} else {
		attr->name = "gone";
	}
}

static void damage(const victim *v, sp_node_def *node, sp_arena *arena)
{
	switch (chance(4)) {
	case 0:
		node->op = any(v)->op;
		break;
	case 1:
		change_attr(v, node, arena);
		break;
	default:
		lead_elsewhere(v, node, arena);
		break;
	}
}

/* ------------------------------------------------------------------ the run */

typedef struct model {
	sp_arena *arena;
	sp_graph graph;
	sp_resources resources;
	sp_entry_spec entry;
	sp_program *program;
	sp_snapshot *snapshot;
	sp_session *session;
	sp_error err;
} model;

static sp_status find_ports(model *m, const sp_tensor_info *infos, size_t count,
			    const sp_port **out)
{
	sp_port *ports = sp_arena_array(m->arena, count, sizeof(*ports));

	*out = ports;
	for (size_t i = 0; i < count; i++)
		SP_TRY(sp_graph_find(&m->graph, infos[i].tensor_name, &ports[i], &m->err));
	return SP_OK;
}

static sp_status find_entry(model *m, const sp_signature *s)
{
	m->entry = (sp_entry_spec){
		.name = s->name, .feed_count = s->input_count, .fetch_count = s->output_count};
	SP_TRY(find_ports(m, s->inputs, s->input_count, &m->entry.feeds));
	return find_ports(m, s->outputs, s->output_count, &m->entry.fetches);
}

static sp_status build(model *m, const sp_graph_def *def, const sp_signature *s, bool reference)
{
	const char **names = sp_arena_array(m->arena, s->input_count + s->output_count,
					    sizeof(*names));
	size_t count = 0;

	for (size_t i = 0; i < s->input_count; i++)
		names[count++] = s->inputs[i].tensor_name;
	for (size_t i = 0; i < s->output_count; i++)
		names[count++] = s->outputs[i].tensor_name;
	SP_TRY(sp_graph_import(&m->graph, def, &(sp_import_roots){names, count}, m->arena,
			       &m->err));
	SP_TRY(sp_graph_lower(&m->graph, &m->err));
	SP_TRY(find_entry(m, s));
	if (!reference) {
		SP_TRY(sp_graph_optimize(&m->graph, &m->entry, 1, &m->err));
		SP_TRY(find_entry(m, s));
	}
	SP_TRY(sp_program_compile(&m->program, &m->graph, &m->entry, 1, &m->resources, NULL,
				  &m->err));
	if (sp_program_entry_error(m->program, 0) == NULL)
		return SP_OK;
	m->err = *sp_program_entry_error(m->program, 0);
	return m->err.status;
}

/* A tensor of threes or of texts; unknown dimensions are 2. */
static sp_status make(sp_tensor *out, sp_dtype dtype, const sp_partial_shape *partial,
		      sp_arena *arena)
{
	sp_shape shape = {.rank = partial->rank < 0 ? 1 : partial->rank};

	for (int d = 0; d < shape.rank; d++)
		shape.dims[d] = partial->rank < 0 || partial->dims[d] < 0 ? 2 : partial->dims[d];
	SP_TRY(sp_tensor_create(out, arena, dtype, &shape, NULL));
	memset(out->data, 0, out->count * sp_dtype_size(dtype));
	for (size_t i = 0; i < out->count; i++)
		if (dtype == SP_STRING)
			sp_tensor_strings(out)[i] = (sp_bytes){"a", 1};
		else if (dtype == SP_FLOAT)
			sp_tensor_f32(out)[i] = 3;
		else if (dtype == SP_BOOL || sp_dtype_is_integer(dtype))
			((char *)out->data)[i * sp_dtype_size(dtype)] = dtype == SP_BOOL ? 1 : 3;
	return SP_OK;
}

/* Variables of threes, empty tables; what cannot have one stays without. */
static void give_values(model *m)
{
	for (size_t i = 0; i < m->resources.count; i++) {
		sp_resource *resource = &m->resources.items[i];
		sp_hash_table_options table = {.key_dtype = resource->key_dtype,
					       .value_dtype = resource->dtype};
		sp_tensor value;

		if (resource->kind == SP_RESOURCE_HASH_TABLE)
			(void)!sp_hash_table_create(&resource->hash_table, m->arena, &table, NULL);
		else if (resource->kind == SP_RESOURCE_VARIABLE &&
			 make(&value, resource->dtype, &resource->shape, m->arena) == SP_OK)
			(void)!sp_resource_assign(&m->resources, resource, &value, NULL);
	}
}

static sp_status ask(model *m, const sp_signature *s)
{
	sp_tensor *feeds = sp_arena_zeros(m->arena, s->input_count, sizeof(*feeds));
	const sp_tensor **fetches = sp_arena_array(m->arena, s->output_count, sizeof(*fetches));
	sp_run run = {.feeds = feeds, .deadline_ns = sp_clock_now_ns() + 100000000};

	give_values(m);
	SP_TRY(sp_snapshot_build(&m->snapshot, m->program, &m->resources, &m->err));
	SP_TRY(sp_session_create(&m->session, m->program, MEMORY, &m->err));
	run.snapshot = m->snapshot;
	for (size_t i = 0; i < s->input_count; i++)
		SP_TRY(make(&feeds[i], s->inputs[i].dtype, &s->inputs[i].shape, m->arena));
	return sp_session_run(m->session, &run, fetches, &m->err);
}

static void try_it(victim *v, bool reference)
{
	const sp_signature *s = sp_saved_model_signature(&v->saved, "serving_default");
	model m = {.arena = sp_arena_create(1 << 20)};

	sp_resources_init(&m.resources, m.arena);
	if (build(&m, &v->saved.graph, s, reference) != SP_OK)
		v->refused++;
	else if (ask(&m, s) != SP_OK)
		v->failed++;
	else
		v->answered++;
	sp_session_destroy(m.session);
	sp_snapshot_destroy(m.snapshot);
	sp_program_destroy(m.program);
	sp_arena_destroy(m.arena);
}

static void mutate(const char *name)
{
	const char *wish = getenv("SP_MUTATIONS");
	int count = wish != NULL ? atoi(wish) : MUTATIONS;
	victim v;

	read_model(&v, name);
	try_it(&v, false);
	assert_int_equal(v.refused, 0);
	for (int i = 0; i < count; i++) {
		sp_arena *arena = sp_arena_create(1 << 16);
		sp_node_def *hit[3], was[3];
		int hits = 1 + (int)chance(3);

		for (int k = 0; k < hits; k++) {
			hit[k] = v.nodes[chance(v.node_count)];
			was[k] = *hit[k];
			damage(&v, hit[k], arena);
		}
		try_it(&v, i % 2 != 0);
		for (int k = hits; k-- > 0;)
			*hit[k] = was[k];
		sp_arena_destroy(arena);
	}
	print_message("%s: %zu refused, %zu failed, %zu answered\n", name, v.refused, v.failed,
		      v.answered);
	assert_true(v.refused > 0 && v.failed + v.answered > 1);
	sp_arena_destroy(v.arena);
}

static void loops_of_the_first_generation(void **state)
{
	(void)state;
	mutate("tf1-control-flow");
	mutate("tf1-array-errors");
}

static void loops_of_the_second_generation(void **state)
{
	(void)state;
	mutate("tf2-control-flow");
	mutate("tf2-list-errors");
	mutate("tf2-loops");
}

static void lists_of_lists_and_ragged_values(void **state)
{
	(void)state;
	mutate("tf2-variants");
}

static void optionals(void **state)
{
	(void)state;
	mutate("tf2-containers");
	mutate("tf2-container-errors");
}

static void anonymous_tables(void **state)
{
	(void)state;
	mutate("tf2-anonymous-tables");
}

#ifdef SP_STABLEHLO
static void xla_operators(void **state)
{
	(void)state;
	mutate("jax-graph-ranking");
	mutate("jax-graph-image");
	mutate("jax-graph-gru");
}
#endif

static void models_without_loops(void **state)
{
	(void)state;
	mutate("keras2-mlp");
	mutate("tf1-example");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(loops_of_the_first_generation),
		cmocka_unit_test(loops_of_the_second_generation),
		cmocka_unit_test(lists_of_lists_and_ragged_values),
		cmocka_unit_test(optionals),
		cmocka_unit_test(anonymous_tables),
#ifdef SP_STABLEHLO
		cmocka_unit_test(xla_operators),
#endif
		cmocka_unit_test(models_without_loops),
	};

	chance_state = 42;
	return cmocka_run_group_tests_name("mutated graphs", tests, NULL, NULL);
}
