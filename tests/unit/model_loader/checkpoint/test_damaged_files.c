#include "tests/support/cmocka.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/file.h"
#include "model_loader/checkpoint/bundle.h"
#include "model_loader/saved_model/saved_model.h"
#include "tests/support/expected.h"
#include "tests/support/paths.h"

/*
 * Files of true models with seeded damage: bytes changed, runs overwritten,
 * the end cut off or doubled.  Each must be read or refused with a status that
 * blames the file, and what a bundle still delivers must be the true values:
 * nothing in it is without a checksum.  SP_MUTATIONS says how often.
 */
enum { DEFAULT_MUTATIONS = 300 };

typedef struct content {
	char *data;
	size_t size;
} content;

static int mutations(void)
{
	const char *text = getenv("SP_MUTATIONS");

	return text != NULL ? atoi(text) : DEFAULT_MUTATIONS;
}

static content load(const char *path)
{
	content out;
	sp_error err;

	assert_ok(sp_file_read(&out.data, &out.size, path, (size_t)1 << 24, &err), &err);
	return out;
}

static content damaged(const content *whole, unsigned seed)
{
	content out = {malloc(2 * whole->size + 1), whole->size};
	size_t at, n;

	assert_non_null(out.data);
	memcpy(out.data, whole->data, whole->size);
	memcpy(out.data + whole->size, whole->data, whole->size);
	srand(seed);
	at = (size_t)rand() % whole->size;
	n = (size_t)rand() % 16;
	if (n > whole->size - at)
		n = whole->size - at;
	switch (rand() % 6) {
	case 0:
		out.size = at;
		break;
	case 1:
		out.size += at;
		break;
	case 2:
		memset(out.data + at, rand() % 2 == 0 ? 0 : 0xff, n);
		break;
	case 3: /* a run from elsewhere in the file */
		memcpy(out.data + at, whole->data + (size_t)rand() % (whole->size - n), n);
		break;
	default:
		for (int i = rand() % 4; i >= 0; i--)
			out.data[(size_t)rand() % whole->size] ^= (char)(1 << rand() % 8);
	}
	return out;
}

static void assert_blames_the_file(sp_status status, const sp_error *err, unsigned seed)
{
	if (status != SP_OK && status != SP_CORRUPT && status != SP_UNSUPPORTED &&
	    status != SP_NOT_FOUND)
		fail_msg("mutation %u: %s: %s", seed, sp_status_name(status), err->text);
}

static void check_saved_model(const char *relative)
{
	char path[SP_PATH_SIZE];
	content whole = load(sp_source_path(path, relative));

	for (unsigned seed = 0; seed < (unsigned)mutations(); seed++) {
		content file = damaged(&whole, seed);
		sp_arena *arena = sp_arena_create((size_t)1 << 16);
		sp_saved_model model;
		sp_status status;
		sp_error err;

		status = sp_saved_model_parse(&model, file.data, file.size, NULL, arena, &err);
		assert_blames_the_file(status, &err, seed);
		sp_arena_destroy(arena);
		free(file.data);
	}
	sp_free(whole.data);
}

static void saved_models_are_read_or_refused(void **state)
{
	(void)state;
	check_saved_model("tests/golden/saved_models/v1/saved_model.pb");
	check_saved_model("tests/golden/saved_models/v2/saved_model.pb");
}

static void write_file(const char *path, const content *file)
{
	FILE *out = fopen(path, "wb");

	assert_non_null(out);
	if (file->size != 0)
		assert_int_equal(fwrite(file->data, 1, file->size, out), file->size);
	assert_int_equal(fclose(out), 0);
}

/* Opens the bundle and reads all that is expected of it. */
static void check_bundle(const char *prefix, const sp_expected *want, size_t count, unsigned seed)
{
	sp_arena *arena = sp_arena_create((size_t)1 << 16);
	sp_bundle *bundle;
	sp_error err;
	sp_status status = sp_bundle_open(&bundle, prefix, &err);

	assert_blames_the_file(status, &err, seed);
	for (size_t i = 0; status == SP_OK && i < count; i++) {
		sp_tensor got;
		sp_status read = sp_bundle_read_slice(bundle, sp_bytes_of(want[i].texts[0]),
						      sp_bytes_of(want[i].texts[1]), arena, &got,
						      &err);

		assert_blames_the_file(read, &err, seed);
		if (read == SP_OK)
			sp_assert_same_tensor(&got, &want[i].tensor, want[i].texts[0]);
	}
	if (status == SP_OK)
		sp_bundle_close(bundle);
	sp_arena_destroy(arena);
}

static void mutate_bundle(const char *name, const char *victim)
{
	static const char *const suffixes[] = {".index", ".data-00000-of-00001"};
	char relative[128], source[SP_PATH_SIZE], folder[SP_PATH_SIZE];
	char prefix[SP_PATH_SIZE + 8];
	sp_arena *arena = sp_arena_create((size_t)1 << 16);
	const sp_expected *want;
	size_t count;

	snprintf(relative, sizeof(relative), "tests/golden/bundles/%s/expected.txt", name);
	want = sp_expected_read(relative, 2, arena, &count);
	snprintf(relative, sizeof(relative), "tests/golden/bundles/%s/b", name);
	sp_source_path(source, relative);
	snprintf(prefix, sizeof(prefix), "%s/b", sp_temp_make(folder));
	for (unsigned seed = 0; seed < (unsigned)mutations(); seed++) {
		for (int i = 0; i < 2; i++) {
			char from[SP_PATH_SIZE + 32], to[SP_PATH_SIZE + 64];
			content whole, file;

			snprintf(from, sizeof(from), "%s%s", source, suffixes[i]);
			snprintf(to, sizeof(to), "%s%s", prefix, suffixes[i]);
			whole = load(from);
			file = damaged(&whole, seed);
			write_file(to, strcmp(suffixes[i], victim) == 0 ? &file : &whole);
			free(file.data);
			sp_free(whole.data);
		}
		check_bundle(prefix, want, count, seed);
	}
	sp_temp_remove(folder);
	sp_arena_destroy(arena);
}

static void a_damaged_index_never_gives_other_values(void **state)
{
	(void)state;
	mutate_bundle("dtypes", ".index");
	mutate_bundle("sliced", ".index");
	mutate_bundle("strings", ".index");
}

static void damaged_data_never_give_other_values(void **state)
{
	(void)state;
	mutate_bundle("dtypes", ".data-00000-of-00001");
	mutate_bundle("sliced", ".data-00000-of-00001");
	mutate_bundle("strings", ".data-00000-of-00001");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(saved_models_are_read_or_refused),
		cmocka_unit_test(a_damaged_index_never_gives_other_values),
		cmocka_unit_test(damaged_data_never_give_other_values),
	};

	return cmocka_run_group_tests_name("mutations", tests, NULL, NULL);
}
