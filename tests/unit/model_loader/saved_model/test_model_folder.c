#include "tests/support/cmocka.h"

#include <stdio.h>
#include <string.h>

#include "base/bytes.h"
#include "model_loader/saved_model/model_folder.h"
#include "tests/support/paths.h"

static char folder[SP_PATH_SIZE];
static sp_error err;

static int set_up(void **state)
{
	(void)state;
	sp_temp_make(folder);
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	sp_temp_remove(folder);
	return 0;
}

static void put(const char *name)
{
	char path[SP_PATH_SIZE];

	snprintf(path, sizeof(path), "/%s", name);
	sp_temp_write(folder, path, sp_bytes_of("x"));
}

static void check_says(sp_status status, const char *words)
{
	assert_int_equal(sp_model_folder_check(folder, &err), status);
	assert_non_null(strstr(err.text, folder));
	assert_non_null(strstr(err.text, words));
}

static void a_saved_model_is_enough(void **state)
{
	static const char *const names[] = {"saved_model.pb", "saved_model.pbtxt"};

	(void)state;
	for (size_t i = 0; i < 2; i++) {
		put("model.keras");
		put(names[i]);
		assert_ok(sp_model_folder_check(folder, &err), &err);
		sp_temp_remove(folder);
		sp_temp_make(folder);
	}
}

static void another_model_is_named_with_what_helps(void **state)
{
	static const struct {
		const char *name, *words;
	} models[] = {
		{"saved_model.cpb", "'saved_model.cpb', a SavedModel in chunks: export it as"},
		{"ranker.keras", "'ranker.keras', a Keras archive: export it as a SavedModel"},
		{"ranker.weights.h5", "'ranker.weights.h5', a Keras model or its weights in HDF5"},
		{"ranker.hdf5", "'ranker.hdf5', a Keras model"},
		{"ranker.tflite", "'ranker.tflite', a model of TensorFlow Lite: export"},
		{"ranker.onnx", "'ranker.onnx', an ONNX model: export"},
		{"model.ckpt-7.meta", "'model.ckpt-7.meta', a MetaGraphDef: configuration key "
				      "'graph_file' serves it"},
		{"frozen_graph.pb", "'frozen_graph.pb', a graph: configuration key 'graph_file'"},
		{"graph.pbtxt", "'graph.pbtxt', a graph as text: configuration key 'graph_file'"},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(models) / sizeof(models[0]); i++) {
		put(models[i].name);
		check_says(SP_UNSUPPORTED, models[i].words);
		sp_temp_remove(folder);
		sp_temp_make(folder);
	}
}

/* As a training leaves them, in whatever order the folder lists them. */
static void of_several_one_is_always_named(void **state)
{
	(void)state;
	put("graph.pbtxt");
	put("model.ckpt-9.meta");
	put("model.ckpt-7.meta");
	put("model.ckpt-8.meta");
	put("eval.pb");
	check_says(SP_UNSUPPORTED, "'model.ckpt-7.meta'");
}

static void what_is_no_model_is_not_named(void **state)
{
	static const char *const names[] = {"fingerprint.pb", "keras_metadata.pb",  ".frozen.pb",
					    "checkpoint",     "model.ckpt-7.index", "notes.txt"};

	(void)state;
	check_says(SP_NOT_FOUND, "no saved_model.pb in");
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		put(names[i]);
	check_says(SP_NOT_FOUND, "no saved_model.pb in");
	assert_int_equal(sp_model_folder_check("/no/such/folder", &err), SP_NOT_FOUND);
	assert_non_null(strstr(err.text, "/no/such/folder"));
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
	const struct CMUnitTest tests[] = {
		TEST(a_saved_model_is_enough),
		TEST(another_model_is_named_with_what_helps),
		TEST(of_several_one_is_always_named),
		TEST(what_is_no_model_is_not_named),
	};

	return cmocka_run_group_tests_name("model_folder", tests, NULL, NULL);
}
