#include "tests/support/cmocka.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#include "api/host/model/models.h"
#include "tests/support/paths.h"

/*
 * The registry of models, with the processor of processor_double.c: models come and go while
 * requests ask for them, by configurations and by orders.
 */

enum { READERS = 4, RELOADS = 60 };

static sp_models *models;
static atomic_bool done;
static atomic_size_t found, not_found, wrong;

/* The version of every model of the double is 77. */
static void ask(const char *name, bool has_version, int64_t version)
{
	const sp_model_selector selector = {
		.name = sp_bytes_of(name), .has_version = has_version, .version = version};
	size_t count;
	sp_servable servable;
	sp_error err;
	sp_status status = sp_models_acquire(models, &selector, &servable, &err);

	if (status != SP_OK) {
		atomic_fetch_add(status == SP_NOT_FOUND || status == SP_BUSY ? &not_found : &wrong,
				 1);
		return;
	}
	if (servable.version != 77 || strcmp(servable.model->name, name) != 0 ||
	    servable.served->processor != servable.handle ||
	    serving_processor_handle_signatures(servable.handle, &count) == NULL)
		atomic_fetch_add(&wrong, 1);
	atomic_fetch_add(&found, 1);
	sp_servable_release(&servable);
}

static void *read_models(void *unused)
{
	sp_arena *arena = sp_arena_create(1 << 12);

	(void)unused;
	while (!atomic_load(&done)) {
		const sp_model_summary *list;
		sp_version_statuses statuses;
		sp_status status;
		size_t count;
		sp_error err;

		for (int i = 0; i < 100; i++) {
			ask("a", false, 0);
			ask("b", true, 77);
			ask("c", true, 78);
		}
		if (sp_models_list(models, &list, &count, arena, &err) != SP_OK)
			atomic_fetch_add(&wrong, 1);
		status = sp_models_statuses(models, &(sp_model_selector){.name = sp_bytes_of("b")},
					    &statuses, arena, &err);
		if (status != SP_OK && status != SP_NOT_FOUND)
			atomic_fetch_add(&wrong, 1);
		(void)sp_models_are_ready(models, NULL);
		sp_arena_reset(arena);
	}
	sp_arena_destroy(arena);
	return NULL;
}

#define MODEL(name) "{\"name\": \"" name "\", \"processor_config\": {}}"
#define LIST(list)  "{\"models\": [" list "]}"

static void give_order(sp_model_order_kind kind, sp_status want)
{
	const sp_model_order order = {
		.kind = kind,
		.model = sp_bytes_of("b"),
		.version = -1,
		.label = sp_bytes_of(kind >= SP_MODEL_ORDER_ASSIGN ? "x" : ""),
		.by = "a test"};
	sp_error err;

	assert_int_equal(sp_models_order(models, &order, &err), want);
}

static void models_come_and_go(void **state)
{
	static const char *const configs[] = {LIST(MODEL("a") "," MODEL("b") "," MODEL("c")),
					      LIST(MODEL("a")), LIST(""),
					      LIST(MODEL("b") "," MODEL("c")),
					      LIST("{\"name\": \"a\", \"processor_config\": {}, "
						   "\"session_num\": 3}," MODEL("b"))};
	char folder[SP_PATH_SIZE], path[SP_PATH_SIZE + 10];
	sp_flags flags = {.model_name = "",
			  .version_labels = "",
			  .model_config_file = path,
			  .num_load_threads = 2,
			  .file_system_poll_wait_seconds = 1};
	pthread_t threads[READERS];
	sp_error err;

	(void)state;
	sp_temp_make(folder);
	snprintf(path, sizeof(path), "%s/models", folder);
	sp_temp_write(folder, "/models", sp_bytes_of(configs[0]));
	assert_ok(sp_models_create(&models, &flags, 1, &err), &err);
	for (int i = 0; i < READERS; i++)
		assert_int_equal(pthread_create(&threads[i], NULL, read_models, NULL), 0);
	assert_ok(sp_models_load(models, &err), &err);
	assert_true(sp_models_are_ready(models, NULL));
	for (size_t i = 0; i < RELOADS; i++) {
		/* Of these configurations two have no model b. */
		sp_status want = i % 5 == 1 || i % 5 == 2 ? SP_NOT_FOUND : SP_OK;

		assert_ok(sp_models_reload(models, sp_bytes_of(configs[i % 5]), &err), &err);
		give_order(SP_MODEL_ORDER_ASSIGN, want);
		give_order(SP_MODEL_ORDER_UNLOAD, want);
		give_order(SP_MODEL_ORDER_LOAD, want);
		give_order(SP_MODEL_ORDER_REMOVE, want);
	}
	atomic_store(&done, true);
	for (int i = 0; i < READERS; i++)
		pthread_join(threads[i], NULL);
	sp_models_destroy(models);
	sp_temp_remove(folder);
	assert_true(atomic_load(&found) > 0);
	assert_true(atomic_load(&not_found) > 0);
	assert_int_equal(atomic_load(&wrong), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(models_come_and_go)};

	return cmocka_run_group_tests_name("models", tests, NULL, NULL);
}
