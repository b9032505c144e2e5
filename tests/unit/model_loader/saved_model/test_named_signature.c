/* Graphs that are no SavedModels, and signatures made of names. */
#include "tests/support/cmocka.h"

#include <stdio.h>
#include <string.h>

#include "model_loader/saved_model/named_signature.h"
#include "model_loader/version/model.h"
#include "tests/support/paths.h"

static sp_error err;

static int setup(void **state)
{
	*state = sp_arena_create(4096);
	return *state == NULL;
}

static int teardown(void **state)
{
	sp_arena_destroy(*state);
	return 0;
}

static void read_graph(sp_saved_model *out, const char *path, sp_arena *arena)
{
	char full[SP_PATH_SIZE];

	assert_ok(sp_saved_model_read_graph(out, sp_source_path(full, path), arena, &err), &err);
}

static const char frozen[] = "tests/golden/tf1-frozen-graph/model/frozen.pb";
static const char meta[] = "tests/golden/tf1-metagraph/model/model.ckpt-7.meta";

static void a_graph_is_told_from_a_metagraph(void **state)
{
	sp_saved_model model;

	read_graph(&model, frozen, *state);
	assert_int_equal(model.signature_count, 0);
	assert_null(model.saver.restore_op);
	assert_null(model.init_op);
	assert_true(model.graph.node_count > 5);
	read_graph(&model, meta, *state);
	assert_string_equal(model.saver.filename_tensor, "save/Const:0");
	assert_true(model.graph.node_count > 50);
}

static void a_metagraph_initialises_all_its_tables(void **state)
{
	const sp_node_def *last;
	sp_saved_model model;

	read_graph(&model, meta, *state);
	assert_non_null(model.init_op);
	last = &model.graph.nodes[model.graph.node_count - 1];
	assert_string_equal(last->name, model.init_op);
	assert_int_equal(last->input_count, 1);
	assert_int_equal(last->inputs[0][0], '^');
}

static void what_is_no_graph_is_refused(void **state)
{
	static const char bytes[] = "no graph at all";
	sp_saved_model model;
	char path[SP_PATH_SIZE];

	assert_int_equal(sp_saved_model_parse_graph(&model, bytes, sizeof(bytes), *state, &err),
			 SP_CORRUPT);
	assert_int_equal(sp_saved_model_parse_graph(&model, "", 0, *state, &err), SP_CORRUPT);
	assert_int_equal(sp_saved_model_read_graph(&model, "/nowhere/graph.pb", *state, &err),
			 SP_NOT_FOUND);
	/* A SavedModel is neither. */
	assert_int_not_equal(
		sp_saved_model_read_graph(
			&model,
			sp_source_path(path, "tests/golden/tf1-example/model/saved_model.pb"),
			*state, &err),
		SP_OK);
}

static void names_become_a_signature(void **state)
{
	const sp_signature *signature;
	sp_saved_model model;

	read_graph(&model, frozen, *state);
	assert_ok(sp_saved_model_add_signature(&model, "s", " x = ids ,price,\tcolor:0 ",
					       "pieces:2, p=prob", &err),
		  &err);
	signature = sp_saved_model_signature(&model, "s");
	assert_non_null(signature);
	assert_int_equal(signature->input_count, 3);
	assert_string_equal(signature->inputs[0].alias, "color");
	assert_int_equal(signature->inputs[0].dtype, SP_STRING);
	assert_string_equal(signature->inputs[1].alias, "price");
	assert_string_equal(signature->inputs[1].tensor_name, "price:0");
	assert_int_equal(signature->inputs[1].shape.rank, 2);
	assert_int_equal(signature->inputs[1].shape.dims[1], 2);
	assert_string_equal(signature->inputs[2].alias, "x");
	assert_int_equal(signature->inputs[2].dtype, SP_INT64);
	assert_int_equal(signature->output_count, 2);
	assert_string_equal(signature->outputs[0].alias, "p");
	assert_string_equal(signature->outputs[1].tensor_name, "pieces:2");
	assert_int_equal(signature->outputs[0].dtype, SP_FLOAT);
}

static void a_named_signature_takes_the_place_of_one(void **state)
{
	sp_saved_model model;
	char path[SP_PATH_SIZE];

	assert_ok(sp_saved_model_read(&model,
				      sp_source_path(path, "tests/golden/tf1-example/model"), NULL,
				      *state, &err),
		  &err);
	assert_int_equal(model.signature_count, 2);
	assert_ok(sp_saved_model_add_signature(&model, "raw", "examples", "ArgMax", &err), &err);
	assert_int_equal(model.signature_count, 2);
	assert_int_equal(sp_saved_model_signature(&model, "raw")->output_count, 1);
	assert_ok(sp_saved_model_add_signature(&model, "a", "examples", "ArgMax", &err), &err);
	assert_int_equal(model.signature_count, 3);
	assert_string_equal(model.signatures[0].name, "a");
	assert_string_equal(model.signatures[2].name, "serving_default");
}

static void assert_refused(sp_saved_model *model, const char *inputs, const char *outputs,
			   const char *words)
{
	assert_int_equal(sp_saved_model_add_signature(model, "s", inputs, outputs, &err),
			 SP_INVALID);
	if (strstr(err.text, words) == NULL)
		fail_msg("'%s' lacks '%s'", err.text, words);
}

static void wrong_names_are_refused_with_candidates(void **state)
{
	sp_saved_model model;

	read_graph(&model, frozen, *state);
	assert_refused(&model, "nobody", "prob", "'nobody'; placeholders: ids, price, color");
	assert_refused(&model, "ids,,price", "prob", "input_names");
	assert_refused(&model, "=ids", "prob", "'=ids' names no tensor");
	assert_refused(&model, "x=", "prob", "names no tensor");
	assert_refused(&model, "ids, ids:0", "prob", "'ids' is named twice");
	assert_refused(&model, "ids", "", "output_names: no output is named");
	assert_refused(&model, "ids", NULL, "output_names");
	assert_int_equal(sp_saved_model_check_signatures(&model, &err), SP_INVALID);
	assert_non_null(strstr(err.text, "input_names"));
	assert_non_null(strstr(err.text, "ids, price, color"));
}

static void a_port_that_is_not_there_stops_the_model(void **state)
{
	char path[SP_PATH_SIZE];
	sp_model_options options = {
		.savedmodel_dir = sp_source_path(path, "tests/golden/tf1-frozen-graph/model"),
		.graph_file = "frozen.pb",
		.signature_name = "s",
		.input_names = "ids, price, color",
		.output_names = "prob:1"};
	sp_model *model;

	(void)state;
	assert_int_not_equal(sp_model_open(&model, &options, &err), SP_OK);
	assert_non_null(strstr(err.text, "has no output 1"));
	options.output_names = "prob:x";
	assert_int_not_equal(sp_model_open(&model, &options, &err), SP_OK);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(a_graph_is_told_from_a_metagraph, setup, teardown),
		cmocka_unit_test_setup_teardown(a_metagraph_initialises_all_its_tables, setup,
						teardown),
		cmocka_unit_test_setup_teardown(what_is_no_graph_is_refused, setup, teardown),
		cmocka_unit_test_setup_teardown(names_become_a_signature, setup, teardown),
		cmocka_unit_test_setup_teardown(a_named_signature_takes_the_place_of_one, setup,
						teardown),
		cmocka_unit_test_setup_teardown(wrong_names_are_refused_with_candidates, setup,
						teardown),
		cmocka_unit_test(a_port_that_is_not_there_stops_the_model),
	};
	return cmocka_run_group_tests_name("named_signature", tests, NULL, NULL);
}
