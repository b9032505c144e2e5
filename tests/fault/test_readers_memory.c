#include "tests/support/cmocka.h"

#include <stdlib.h>

#include "base/alloc.h"
#include "model_loader/checkpoint/bundle.h"
#include "model_loader/saved_model/saved_model.h"
#include "tests/support/paths.h"

/*
 * Each allocation of a reader made to fail in its turn: the reader says so and
 * leaves nothing behind (a leak checker sees to that), and as soon as memory
 * is there again it succeeds.
 */
typedef sp_status read_fn(const char *path, sp_arena *arena, sp_error *err);

static void fail_each_allocation(read_fn *read, const char *relative)
{
	char path[SP_PATH_SIZE];
	sp_status status;
	int64_t n = 0;

	sp_source_path(path, relative);
	do {
		sp_arena *arena = sp_arena_create(4096);
		sp_error err;

		assert_non_null(arena);
		sp_alloc_fail_after(n++);
		status = read(path, arena, &err);
		sp_alloc_fail_after(-1);
		if (status != SP_OK && status != SP_NO_MEMORY)
			fail_msg("allocation %lld: %s", (long long)n, err.text);
		sp_arena_destroy(arena);
	} while (status != SP_OK);
	assert_true(n > 3);
}

static sp_status read_saved_model(const char *path, sp_arena *arena, sp_error *err)
{
	sp_saved_model model;

	return sp_saved_model_read(&model, path, NULL, arena, err);
}

static sp_status read_bundle(const char *path, sp_arena *arena, sp_error *err)
{
	sp_status status;
	sp_bundle *bundle;

	SP_TRY(sp_bundle_open(&bundle, path, err));
	status = SP_OK;
	for (size_t i = 0; status == SP_OK && i < sp_bundle_count(bundle); i++) {
		sp_tensor tensor;

		status = sp_bundle_read(bundle, sp_bundle_entry_at(bundle, i)->name, arena, &tensor,
					err);
	}
	sp_bundle_close(bundle);
	return status;
}

static void a_saved_model_without_memory_is_refused(void **state)
{
	(void)state;
	fail_each_allocation(read_saved_model, "tests/golden/saved_models/v1");
	fail_each_allocation(read_saved_model, "tests/golden/saved_models/v2");
}

static void a_bundle_without_memory_is_refused(void **state)
{
	(void)state;
	fail_each_allocation(read_bundle, "tests/golden/bundles/sliced/b");
	fail_each_allocation(read_bundle, "tests/golden/bundles/strings/b");
	fail_each_allocation(read_bundle, "tests/golden/bundles/shards/b");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_saved_model_without_memory_is_refused),
		cmocka_unit_test(a_bundle_without_memory_is_refused),
	};

	return cmocka_run_group_tests_name("readers_memory", tests, NULL, NULL);
}
