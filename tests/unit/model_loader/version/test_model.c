#include "tests/support/cmocka.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "model_loader/version/model.h"
#include "model_loader/version/weights.h"
#include "tests/support/paths.h"

static sp_error err;

/* A model whose weights have been loaded once, into so much memory; 0: any. */
static sp_status load_into(sp_model **out, const char *folder, const char *signature, bool fallback,
			   size_t memory_limit)
{
	char path[SP_PATH_SIZE];
	sp_weights *weights = NULL;
	sp_status status;
	sp_model_options options = {
		.savedmodel_dir = folder[0] == '/' ? folder : sp_source_path(path, folder),
		.signature_name = signature,
		.signature_fallback = fallback};
	sp_weights_options of_weights = {.memory_limit = memory_limit};

	SP_TRY(sp_model_open(out, &options, &err));
	status = sp_weights_load(&weights, *out, &of_weights, &err);
	sp_weights_destroy(weights);
	if (status != SP_OK)
		sp_model_destroy(*out);
	if (status != SP_OK)
		*out = NULL;
	return status;
}

static sp_status load(sp_model **out, const char *folder, const char *signature, bool fallback)
{
	return load_into(out, folder, signature, fallback, 0);
}

static void a_model_has_an_entry_per_signature(void **state)
{
	sp_model *model;
	size_t raw, main;

	(void)state;
	assert_ok(load(&model, "tests/golden/tf1-example/model", "serving_default", false), &err);
	assert_int_equal(sp_model_signature_count(model), 2);
	assert_true(sp_model_find_signature(model, "raw", &raw));
	assert_true(sp_model_find_signature(model, "serving_default", &main));
	assert_int_equal(sp_model_default_signature(model), main);
	assert_null(sp_model_signature_error(model, raw));
	assert_true(sp_program_step_count(sp_model_program(model), main) > 0);
	assert_false(sp_model_find_signature(model, "nobody", NULL));
	sp_model_destroy(model);
}

static void a_signature_that_is_not_there_is_refused_or_replaced(void **state)
{
	sp_model *model;

	(void)state;
	assert_int_equal(load(&model, "tests/golden/tf1-example/model", "nobody", false),
			 SP_INVALID);
	assert_null(model);
	assert_non_null(strstr(err.text, "no signature 'nobody'; it has 'raw', 'serving_default'"));
	assert_ok(load(&model, "tests/golden/tf1-example/model", "nobody", true), &err);
	assert_string_equal(sp_model_signature(model, sp_model_default_signature(model))->name,
			    "raw");
	sp_model_destroy(model);
}

/* TensorFlow goes on without variables/; what then has no value must not be served. */
static void what_nothing_gives_a_value_is_named(void **state)
{
	static const struct {
		const char *graph, *words;
	} cases[] = {
		{"tests/golden/keras2-mlp/model/saved_model.pb", "nothing gives a value to"},
		{"tests/golden/keras2-mlp/model/saved_model.pb", "dense/kernel"},
		{"tests/golden/ev-rows/model/saved_model.pb", "loads embedding 'table'"},
	};
	char source[SP_PATH_SIZE], folder[SP_PATH_SIZE], command[3 * SP_PATH_SIZE];
	sp_model *model;

	(void)state;
	sp_temp_make(folder);
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		sp_source_path(source, cases[i].graph);
		snprintf(command, sizeof(command), "cp '%s' '%s'", source, folder);
		assert_int_equal(system(command), 0);
		assert_int_equal(load(&model, folder, "serving_default", false), SP_INVALID);
		assert_non_null(strstr(err.text, cases[i].words));
		assert_non_null(
			strstr(err.text, "/variables/variables.index, so nothing is restored"));
	}
	sp_temp_remove(folder);
}

static void a_model_without_a_saver_is_named(void **state)
{
	static const char text[] =
		"meta_graphs { graph_def {"
		" node { name: 'v' op: 'VarHandleOp' attr { key: 'dtype' value { type: DT_FLOAT } }"
		"  attr { key: 'shape' value { shape { } } } }"
		" node { name: 'read' op: 'ReadVariableOp' input: 'v'"
		"  attr { key: 'dtype' value { type: DT_FLOAT } } } }"
		" signature_def { key: 's' value {"
		"  outputs { key: 'y' value { name: 'read:0' dtype: DT_FLOAT } } } } }";
	char folder[SP_PATH_SIZE];
	sp_model *model;

	(void)state;
	sp_temp_make(folder);
	sp_temp_write(folder, "/saved_model.pbtxt", sp_bytes_of(text));
	assert_int_equal(load(&model, folder, "s", false), SP_INVALID);
	assert_non_null(strstr(err.text, "the model has no saver, so nothing is restored: nothing "
					 "gives a value to: v"));
	sp_temp_remove(folder);
}

/* What savers wrote before TensorFlow 1.0, and with write_version=V1 after it. */
static void weights_in_the_first_format_are_refused_by_name(void **state)
{
	static const char *const names[] = {"variables", "variables-00000-of-00001"};
	char source[SP_PATH_SIZE], folder[SP_PATH_SIZE], command[5 * SP_PATH_SIZE];
	sp_model *model;

	(void)state;
	sp_source_path(source, "tests/golden/keras2-mlp/model/saved_model.pb");
	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
		sp_temp_make(folder);
		snprintf(command, sizeof(command),
			 "cp '%s' '%s' && mkdir '%s/variables' && touch '%s/variables/%s'", source,
			 folder, folder, folder, names[i]);
		assert_int_equal(system(command), 0);
		assert_int_equal(load(&model, folder, "serving_default", false), SP_UNSUPPORTED);
		assert_non_null(strstr(err.text, "checkpoint of the first format (V1)"));
		sp_temp_remove(folder);
	}
}

static void assert_refused(const sp_model *model, const char *signature, const char *words)
{
	const sp_error *why;
	size_t i;

	assert_true(sp_model_find_signature(model, signature, &i));
	why = sp_model_signature_error(model, i);
	assert_non_null(why);
	if (strstr(why->text, words) == NULL)
		fail_msg("'%s' lacks '%s'", why->text, words);
}

/* The restore operation imports them all, and one more that no signature reads. */
static void an_embedding_that_cannot_be_served_matters_to_who_reads_it(void **state)
{
	static const char path[] = "tests/golden/ev-unneeded/model";
	static const char precise[] = "node 'precise' (KvVarHandleOp): KvVarHandleOp of DT_DOUBLE";
	static const char misfit[] = "'misfit' has 20 default elements for 9 rows of 4";
	sp_model *model;

	(void)state;
	assert_ok(load(&model, path, "serving_default", false), &err);
	assert_null(sp_model_signature_error(model, sp_model_default_signature(model)));
	assert_refused(model, "precise", precise);
	assert_refused(model, "misfit", misfit);
	sp_model_destroy(model);
	assert_int_equal(load(&model, path, "precise", false), SP_UNSUPPORTED);
	assert_non_null(strstr(err.text, precise));
	assert_int_equal(load(&model, path, "misfit", false), SP_INVALID);
	assert_non_null(strstr(err.text, misfit));
}

/* How much memory it would take is asked of all that signatures read. */
static void where_memory_is_limited_it_matters_to_no_others_either(void **state)
{
	static const char path[] = "tests/golden/ev-unneeded/model";
	sp_model *model;

	(void)state;
	assert_ok(load_into(&model, path, "serving_default", false, (size_t)1 << 30), &err);
	assert_refused(model, "misfit", "'misfit'");
	sp_model_destroy(model);
	assert_int_equal(load_into(&model, path, "serving_default", false, 1), SP_NO_MEMORY);
}

static void a_folder_that_is_not_there_is_named(void **state)
{
	sp_model *model;

	(void)state;
	assert_int_equal(load(&model, "/no/such/model", "serving_default", false), SP_NOT_FOUND);
	assert_non_null(strstr(err.text, "/no/such/model"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_model_has_an_entry_per_signature),
		cmocka_unit_test(a_signature_that_is_not_there_is_refused_or_replaced),
		cmocka_unit_test(what_nothing_gives_a_value_is_named),
		cmocka_unit_test(a_model_without_a_saver_is_named),
		cmocka_unit_test(weights_in_the_first_format_are_refused_by_name),
		cmocka_unit_test(an_embedding_that_cannot_be_served_matters_to_who_reads_it),
		cmocka_unit_test(where_memory_is_limited_it_matters_to_no_others_either),
		cmocka_unit_test(a_folder_that_is_not_there_is_named),
	};

	return cmocka_run_group_tests_name("model", tests, NULL, NULL);
}
