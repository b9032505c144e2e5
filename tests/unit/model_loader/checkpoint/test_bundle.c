#include "tests/support/cmocka.h"

#include <ftw.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/file.h"
#include "base/hash.h"
#include "model_loader/checkpoint/bundle.h"
#include "model_loader/checkpoint/ordered_code.h"
#include "tests/support/expected.h"
#include "tests/support/paths.h"
#include "tests/support/table_writer.h"
#include "tests/support/wire.h"

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

/* -------------------------------------------------- bundles that TensorFlow made */

static sp_bundle *open_fixture(const char *name)
{
	char relative[128], path[SP_PATH_SIZE];
	sp_bundle *bundle;
	sp_error err;

	snprintf(relative, sizeof(relative), "tests/golden/bundles/%s/b", name);
	assert_ok(sp_bundle_open(&bundle, sp_source_path(path, relative), &err), &err);
	assert_string_equal(sp_bundle_prefix(bundle), path);
	return bundle;
}

static const sp_expected *expectations(const char *name, sp_arena *arena, size_t *count)
{
	char relative[128];

	snprintf(relative, sizeof(relative), "tests/golden/bundles/%s/expected.txt", name);
	return sp_expected_read(relative, 2, arena, count);
}

/* Every read gives what RestoreV2 gave; every tensor of the bundle is among them. */
static void check_fixture(const char *name, void **state)
{
	sp_bundle *bundle = open_fixture(name);
	size_t count, whole = 0;
	const sp_expected *want = expectations(name, *state, &count);

	for (size_t i = 0; i < count; i++) {
		sp_bytes tensor = sp_bytes_of(want[i].texts[0]),
			 slice = sp_bytes_of(want[i].texts[1]);
		const sp_bundle_entry *entry = sp_bundle_find(bundle, tensor);
		sp_error err;
		sp_tensor got;

		assert_non_null(entry);
		assert_int_equal(entry->dtype, want[i].tensor.dtype);
		assert_ok(sp_bundle_read_slice(bundle, tensor, slice, *state, &got, &err), &err);
		sp_assert_same_tensor(&got, &want[i].tensor, want[i].texts[0]);
		if (slice.size != 0)
			continue;
		assert_true(sp_shape_equal(&entry->shape, &want[i].tensor.shape));
		assert_ok(sp_bundle_read(bundle, tensor, *state, &got, &err), &err);
		sp_assert_same_tensor(&got, &want[i].tensor, want[i].texts[0]);
		whole++;
	}
	assert_int_equal(sp_bundle_count(bundle), whole);
	sp_bundle_close(bundle);
}

static void all_types_are_read(void **state)
{
	check_fixture("dtypes", state);
}

static void strings_are_read(void **state)
{
	check_fixture("strings", state);
}

static void slices_are_put_together(void **state)
{
	check_fixture("sliced", state);
}

static void several_shards_are_one_bundle(void **state)
{
	check_fixture("shards", state);
}

static void names_may_share_their_beginnings(void **state)
{
	check_fixture("names", state);
}

static void tensors_come_in_the_order_of_their_names(void **state)
{
	sp_bundle *bundle = open_fixture("sliced");

	(void)state;
	for (size_t i = 0; i < sp_bundle_count(bundle); i++) {
		const sp_bundle_entry *entry = sp_bundle_entry_at(bundle, i);

		assert_true(entry->name.size != 0 && entry->name.data[0] != '\0');
		assert_ptr_equal(sp_bundle_find(bundle, entry->name), entry);
		assert_int_equal(entry->sliced, !sp_bytes_equal_text(entry->name, "plain"));
		assert_true(!entry->sliced || entry->size == 0);
	}
	sp_bundle_close(bundle);
}

static void what_is_not_there_is_not_found(void **state)
{
	sp_bundle *bundle = open_fixture("sliced");
	sp_tensor_slice part = {2, {0, 0}, {3, 4}};
	sp_buffer key = sp_wire_begin();
	sp_tensor tensor;

	assert_null(sp_bundle_find(bundle, sp_bytes_of("none")));
	assert_null(sp_bundle_find(bundle, sp_bytes_of("")));
	assert_int_equal(sp_bundle_read(bundle, sp_bytes_of("none"), *state, &tensor, NULL),
			 SP_NOT_FOUND);
	/* A single slice is there under its key, but is no tensor. */
	sp_ordered_code_slice_key(&key, sp_bytes_of("rows"), &part);
	assert_null(sp_bundle_find(bundle, sp_wire_view(&key)));
	sp_buffer_fini(&key);
	sp_bundle_close(bundle);
}

static void a_slice_that_does_not_fit_is_refused(void **state)
{
	sp_bundle *bundle = open_fixture("sliced");
	sp_tensor tensor;

	assert_int_equal(sp_bundle_read_slice(bundle, sp_bytes_of("rows"), sp_bytes_of("8 4 0,1:-"),
					      *state, &tensor, NULL),
			 SP_INVALID);
	assert_int_equal(sp_bundle_read_slice(bundle, sp_bytes_of("plain"),
					      sp_bytes_of("5 4 5,1:-"), *state, &tensor, NULL),
			 SP_INVALID);
	sp_bundle_close(bundle);
}

/* In pieces of `piece` elements, the checksum continued or joined. */
static void check_span(const sp_bundle *bundle, const sp_expected *want, size_t piece)
{
	const char *data = want->tensor.data;
	size_t width = sp_dtype_size(want->tensor.dtype);
	uint32_t continued = 0, joined = 0;
	sp_bundle_span span;
	char buffer[64];
	sp_error err;

	assert_ok(sp_bundle_span_open(&span, bundle, sp_bytes_of(want->texts[0]), &err), &err);
	assert_int_equal(span.count, want->tensor.count);
	assert_int_equal(span.width, width);
	for (size_t first = 0, count; first < span.count; first += count) {
		uint32_t alone = 0;

		count = span.count - first < piece ? span.count - first : piece;
		sp_bundle_span_fetch(&span, first, count, true);
		assert_ok(sp_bundle_span_read(&span, first, count, buffer, &continued, &err), &err);
		assert_memory_equal(buffer, data + first * width, count * width);
		assert_ok(sp_bundle_span_read(&span, first, count, buffer, &alone, &err), &err);
		joined = sp_crc32c_join(joined, alone, count * width);
	}
	assert_ok(sp_bundle_span_check(&span, continued, &err), &err);
	assert_int_equal(joined, continued);
	assert_int_equal(sp_bundle_span_check(&span, continued ^ 1, &err), SP_CORRUPT);
}

static void spans_are_read_in_pieces(void **state)
{
	sp_bundle *bundle = open_fixture("dtypes");
	size_t count;
	const sp_expected *want = expectations("dtypes", *state, &count);

	for (size_t i = 0; i < count; i++)
		for (size_t piece = 1; want[i].tensor.dtype != SP_BOOL && piece <= 4; piece++)
			check_span(bundle, &want[i], piece);
	sp_bundle_close(bundle);
}

static void spans_are_of_plain_tensors(void **state)
{
	sp_bundle *bundle = open_fixture("sliced"), *strings = open_fixture("strings");
	sp_bundle_span span;

	(void)state;
	assert_int_equal(sp_bundle_span_open(&span, bundle, sp_bytes_of("rows"), NULL),
			 SP_UNSUPPORTED);
	assert_int_equal(sp_bundle_span_open(&span, strings, sp_bytes_of("matrix"), NULL),
			 SP_UNSUPPORTED);
	assert_int_equal(sp_bundle_span_open(&span, bundle, sp_bytes_of("none"), NULL),
			 SP_NOT_FOUND);
	assert_int_equal(sp_bundle_span_open(&span, bundle, sp_bytes_of("plain"), NULL), SP_OK);
	sp_bundle_close(strings);
	sp_bundle_close(bundle);
}

/*
 * A folder of whole models beside the source tree: every bundle in it is sound,
 * but for those that come later in a timeline, of which some are broken on purpose.
 */
static void check_bundle(const char *prefix, sp_arena *arena)
{
	sp_bundle *bundle;
	sp_error err;

	assert_ok(sp_bundle_open(&bundle, prefix, &err), &err);
	assert_true(sp_bundle_count(bundle) != 0);
	for (size_t i = 0; i < sp_bundle_count(bundle); i++) {
		sp_tensor tensor;

		assert_ok(sp_bundle_read(bundle, sp_bundle_entry_at(bundle, i)->name, arena,
					 &tensor, &err),
			  &err);
		sp_arena_reset(arena);
	}
	sp_bundle_close(bundle);
}

static sp_arena *walk_arena; /* nftw() passes nothing on */
static size_t walk_count;

static int visit(const char *path, const struct stat *info, int type, struct FTW *walk)
{
	static const char suffix[] = ".index";
	size_t size = strlen(path), end = sizeof(suffix) - 1;
	char prefix[SP_PATH_SIZE];

	(void)info;
	(void)walk;
	if (type != FTW_F || size <= end || size >= SP_PATH_SIZE ||
	    strcmp(path + size - end, suffix) != 0 || strstr(path, "/timeline/") != NULL)
		return 0;
	memcpy(prefix, path, size - end);
	prefix[size - end] = '\0';
	check_bundle(prefix, walk_arena);
	walk_count++;
	return 0;
}

static void bundles_of_whole_models_are_read(void **state)
{
	static const char *const folders[] = {"tests/golden", "../shared/golden"};

	walk_arena = *state;
	for (size_t i = 0; i < 2; i++) {
		char path[SP_PATH_SIZE];

		walk_count = 0;
		nftw(sp_source_path(path, folders[i]), visit, 16, FTW_PHYS);
		assert_true(walk_count != 0 || !sp_file_exists(path));
	}
}

/* ------------------------------------------------------------------ broken bytes */

static void copy_file(const char *from, const char *to_prefix, const char *suffix, size_t cut,
		      size_t flip)
{
	char path[SP_PATH_SIZE + 64], *data;
	sp_error err;
	size_t size;

	snprintf(path, sizeof(path), "%s%s", from, suffix);
	assert_ok(sp_file_read(&data, &size, path, (size_t)1 << 20, &err), &err);
	assert_true(flip == SIZE_MAX || flip < size);
	if (flip != SIZE_MAX)
		data[flip] ^= 0x10;
	sp_temp_write(to_prefix, suffix, (sp_bytes){data, cut < size ? cut : size});
	sp_free(data);
}

/* A fixture with its data cut to `cut` bytes, or with one byte flipped. */
static void break_fixture(const char *name, const char *prefix, size_t cut, size_t flip)
{
	char relative[128], from[SP_PATH_SIZE];

	snprintf(relative, sizeof(relative), "tests/golden/bundles/%s/b", name);
	sp_source_path(from, relative);
	copy_file(from, prefix, ".index", SIZE_MAX, SIZE_MAX);
	copy_file(from, prefix, ".data-00000-of-00001", cut, flip);
}

static void a_shard_that_is_too_short_is_refused(void **state)
{
	char directory[SP_PATH_SIZE], prefix[SP_PATH_SIZE + 8];
	sp_bundle *bundle;
	sp_error err;

	(void)state;
	sp_temp_make(directory);
	snprintf(prefix, sizeof(prefix), "%s/b", directory);
	for (size_t cut = 0; cut < 400; cut += 7) { /* of 400 */
		break_fixture("names", prefix, cut, SIZE_MAX);
		assert_int_equal(sp_bundle_open(&bundle, prefix, &err), SP_CORRUPT);
		assert_non_null(strstr(err.text, "outside shard 0"));
	}
	sp_temp_remove(directory);
}

/* Exactly the tensor (or, of sliced ones, a tensor) that holds the byte is refused. */
static void flipped_bytes_are_seen(void **state)
{
	static const char *const names[] = {"strings", "sliced"};
	char directory[SP_PATH_SIZE], prefix[SP_PATH_SIZE + 8];

	sp_temp_make(directory);
	snprintf(prefix, sizeof(prefix), "%s/b", directory);
	for (int i = 0; i < 2; i++)
		for (size_t flip = 0; flip < 500; flip += 3) {
			size_t corrupt = 0;
			sp_bundle *bundle;
			sp_error err;

			break_fixture(names[i], prefix, SIZE_MAX, flip);
			assert_ok(sp_bundle_open(&bundle, prefix, &err), &err);
			for (size_t t = 0; t < sp_bundle_count(bundle); t++) {
				sp_tensor tensor;
				sp_status status = sp_bundle_read(
					bundle, sp_bundle_entry_at(bundle, t)->name, *state,
					&tensor, NULL);

				assert_true(status == SP_OK || status == SP_CORRUPT);
				corrupt += status == SP_CORRUPT;
			}
			assert_int_equal(corrupt, 1);
			sp_bundle_close(bundle);
		}
	sp_temp_remove(directory);
}

static void a_span_with_a_flipped_byte_fails_its_check(void **state)
{
	char directory[SP_PATH_SIZE], prefix[SP_PATH_SIZE + 8];
	sp_bundle_span span;
	sp_bundle *bundle;
	uint32_t crc = 0;
	char buffer[80];
	sp_error err;

	(void)state;
	sp_temp_make(directory);
	snprintf(prefix, sizeof(prefix), "%s/b", directory);
	/* "plain" was written last: the 80 bytes at the end. */
	break_fixture("sliced", prefix, SIZE_MAX, 909);
	assert_ok(sp_bundle_open(&bundle, prefix, &err), &err);
	assert_ok(sp_bundle_span_open(&span, bundle, sp_bytes_of("plain"), &err), &err);
	assert_int_equal(span.count * span.width, sizeof(buffer));
	assert_ok(sp_bundle_span_read(&span, 0, span.count, buffer, &crc, &err), &err);
	assert_int_equal(sp_bundle_span_check(&span, crc, &err), SP_CORRUPT);
	assert_non_null(strstr(err.text, "plain"));
	sp_bundle_close(bundle);
	sp_temp_remove(directory);
}

/* A trainer writes over a checkpoint while it is read. */
static void a_shard_that_gets_shorter_is_an_error(void **state)
{
	char directory[SP_PATH_SIZE], prefix[SP_PATH_SIZE + 8], data[SP_PATH_SIZE + 64];
	char buffer[80];
	sp_bundle_span span;
	sp_bundle *bundle;
	uint32_t crc = 0;
	sp_tensor tensor;
	sp_error err;

	sp_temp_make(directory);
	snprintf(prefix, sizeof(prefix), "%s/b", directory);
	snprintf(data, sizeof(data), "%s.data-00000-of-00001", prefix);
	break_fixture("sliced", prefix, SIZE_MAX, SIZE_MAX);
	assert_ok(sp_bundle_open(&bundle, prefix, &err), &err);
	assert_ok(sp_bundle_span_open(&span, bundle, sp_bytes_of("plain"), &err), &err);
	assert_int_equal(truncate(data, 0), 0);
	assert_int_equal(sp_bundle_read(bundle, sp_bytes_of("plain"), *state, &tensor, &err),
			 SP_IO);
	assert_non_null(strstr(err.text, "plain"));
	assert_int_equal(span.count * span.width, sizeof(buffer));
	assert_int_equal(sp_bundle_span_read(&span, 0, span.count, buffer, &crc, &err), SP_IO);
	assert_non_null(strstr(err.text, "plain"));
	sp_bundle_close(bundle);
	sp_temp_remove(directory);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
	const struct CMUnitTest tests[] = {
		TEST(all_types_are_read),
		TEST(strings_are_read),
		TEST(slices_are_put_together),
		TEST(several_shards_are_one_bundle),
		TEST(names_may_share_their_beginnings),
		TEST(bundles_of_whole_models_are_read),
		TEST(tensors_come_in_the_order_of_their_names),
		TEST(what_is_not_there_is_not_found),
		TEST(a_slice_that_does_not_fit_is_refused),
		TEST(spans_are_read_in_pieces),
		TEST(spans_are_of_plain_tensors),
		TEST(a_shard_that_is_too_short_is_refused),
		TEST(flipped_bytes_are_seen),
		TEST(a_span_with_a_flipped_byte_fails_its_check),
		TEST(a_shard_that_gets_shorter_is_an_error),
	};

	return cmocka_run_group_tests_name("bundle", tests, NULL, NULL);
}
