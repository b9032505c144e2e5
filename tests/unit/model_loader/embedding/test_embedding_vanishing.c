#include "tests/support/cmocka.h"

#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "model_loader/embedding/embedding_variable.h"
#include "tests/support/paths.h"

/* Trainers delete and overwrite checkpoints that are being read. */

static char folder[SP_PATH_SIZE], prefix[SP_PATH_SIZE + 16], data[SP_PATH_SIZE + 48];
static const size_t data_size = 389012;
static sp_bundle *bundle;
static sp_arena *arena;
static sp_error err;

static void copy_bundle(void)
{
	char from[SP_PATH_SIZE], command[4 * SP_PATH_SIZE];

	sp_source_path(from, "tests/golden/embeddings");
	snprintf(command, sizeof(command), "cp %s/formats.* %s && chmod u+w %s/*", from, folder,
		 folder);
	assert_int_equal(system(command), 0);
}

static void begin(void)
{
	sp_temp_make(folder);
	snprintf(prefix, sizeof(prefix), "%s/formats", folder);
	snprintf(data, sizeof(data), "%s.data-00000-of-00001", prefix);
	copy_bundle();
	assert_ok(sp_bundle_open(&bundle, prefix, &err), &err);
	arena = sp_arena_create(64 << 10);
	assert_non_null(arena);
}

static void end(void)
{
	sp_arena_destroy(arena);
	sp_bundle_close(bundle);
	sp_temp_remove(folder);
}

static const sp_embedding_spec spec = {
	.name = "many", .key_dtype = SP_INT64, .dtype = SP_FLOAT, .dim = 2, .partition_num = 1};

static sp_status load(sp_table **out)
{
	const sp_load_policy policy = {.threads = 2};
	sp_embedding embedding;

	SP_TRY(sp_embedding_find(&embedding, &spec, bundle, NULL, arena, &err));
	return sp_embedding_load(out, &embedding, &spec, &policy, NULL, &err);
}

static void a_file_that_is_cut_before_it_is_read_is_an_error(void **state)
{
	sp_table *table;

	(void)state;
	begin();
	assert_int_equal(truncate(data, 0), 0);
	assert_int_equal(load(&table), SP_IO);
	assert_non_null(strstr(err.text, "many"));
	end();
}

static void a_file_that_is_deleted_is_read_to_its_end(void **state)
{
	sp_table *table;

	(void)state;
	begin();
	assert_int_equal(unlink(data), 0);
	assert_ok(load(&table), &err);
	assert_int_equal(sp_table_row_count(table), 9999);
	sp_table_destroy(table);
	end();
}

static sp_status cut_and_start(void *context, bool *in_order, sp_error *error)
{
	(void)context;
	(void)in_order;
	(void)error;
	assert_int_equal(truncate(data, 4096), 0);
	return SP_OK;
}

static sp_status ignore(void *context, const sp_row_piece *piece, sp_error *error)
{
	(void)context;
	(void)piece;
	(void)error;
	return SP_OK;
}

/* Its keys have been read, its rows are gone. */
static void a_file_that_is_cut_between_the_passes_is_an_error(void **state)
{
	const sp_row_selection all = {.part_count = 1, .slice_count = 1};
	const sp_row_sink sink = {
		.add_keys = ignore, .start_rows = cut_and_start, .put_rows = ignore};
	sp_embedding embedding;

	(void)state;
	begin();
	assert_ok(sp_embedding_find(&embedding, &spec, bundle, NULL, arena, &err), &err);
	assert_int_equal(sp_embedding_read(&embedding.full, 2, &all, &sink, 2, &err), SP_IO);
	assert_non_null(strstr(err.text, "too early"));
	end();
}

/* Cuts the file page by page, from its end. */
static void *cut_slowly(void *context)
{
	(void)context;
	for (size_t size = data_size; size > 8192; size -= 4096) {
		assert_int_equal(truncate(data, (off_t)size), 0);
		usleep(20);
	}
	return NULL;
}

/* Whenever it happens: the table is right, or there is none. */
static void a_file_that_is_cut_while_it_is_read_is_no_crash(void **state)
{
	(void)state;
	for (int round = 0; round < 30; round++) {
		pthread_t cutter;
		sp_table *table;

		begin();
		assert_int_equal(pthread_create(&cutter, NULL, cut_slowly, NULL), 0);
		usleep((useconds_t)(round * 50));
		if (load(&table) == SP_OK) {
			const int64_t key = 9000;
			float row[2];

			assert_int_equal(sp_table_row_count(table), 9999);
			assert_ok(sp_table_lookup(table, &key, 1, NULL, row, &err), &err);
			assert_true(row[0] == 4500.0f && row[1] == 4500.125f);
			sp_table_destroy(table);
		} else {
			assert_true(err.status == SP_IO || err.status == SP_CORRUPT);
		}
		pthread_join(cutter, NULL);
		end();
	}
}

/* ------------------------------------------------------------- written over in place */

/* Turns every bit of the data file; again, and it is as it was. */
static void turn(void)
{
	unsigned char *bytes = malloc(data_size);
	int fd = open(data, O_RDWR);

	assert_non_null(bytes);
	assert_true(fd >= 0);
	assert_int_equal(pread(fd, bytes, data_size, 0), data_size);
	for (size_t i = 0; i < data_size; i++)
		bytes[i] ^= 0xff;
	assert_int_equal(pwrite(fd, bytes, data_size, 0), data_size);
	close(fd);
	free(bytes);
}

/* Rows as they are put, one piece after the other. */
typedef struct putting {
	float rows[10000][2];
	size_t count;
	const struct putting *right; /* NULL: the file stays as it is */
} putting;

/* The checksum of a piece has been taken; what is put must be what it was taken of. */
static sp_status collect(void *context, const sp_row_piece *piece, sp_error *error)
{
	putting *p = context;

	(void)error;
	assert_true(piece->count <= 10000 - p->count);
	if (p->right != NULL)
		turn();
	memcpy(p->rows[p->count], piece->rows, piece->count * sizeof(p->rows[0]));
	p->count += piece->count;
	if (p->right != NULL)
		turn();
	return SP_OK;
}

static void what_is_put_is_what_was_checked(void **state)
{
	const sp_row_selection all = {.part_count = 1, .slice_count = 1};
	static putting right, disturbed;
	sp_row_sink sink = {.context = &right, .put_rows = collect};
	sp_embedding embedding;

	(void)state;
	begin();
	assert_ok(sp_embedding_find(&embedding, &spec, bundle, NULL, arena, &err), &err);
	assert_ok(sp_embedding_read(&embedding.full, 2, &all, &sink, 1, &err), &err);
	disturbed.right = &right;
	sink.context = &disturbed;
	assert_ok(sp_embedding_read(&embedding.full, 2, &all, &sink, 1, &err), &err);
	assert_int_equal(right.count, 10000);
	assert_int_equal(disturbed.count, 10000);
	assert_memory_equal(disturbed.rows, right.rows, sizeof(right.rows));
	end();
}

static atomic_bool done;

static void *turn_on_and_on(void *context)
{
	(void)context;
	while (!atomic_load(&done)) {
		turn();
		turn();
	}
	return NULL;
}

/* Whenever it is written over, and back: the table is right, or there is none. */
static void a_file_that_flickers_is_read_right_or_not_at_all(void **state)
{
	sp_table *right;

	(void)state;
	begin();
	assert_ok(load(&right), &err);
	for (int round = 0; round < 40; round++) {
		pthread_t turner;
		sp_table *table;

		atomic_store(&done, false);
		assert_int_equal(pthread_create(&turner, NULL, turn_on_and_on, NULL), 0);
		usleep((useconds_t)(round * 20));
		if (load(&table) != SP_OK)
			table = NULL;
		atomic_store(&done, true);
		pthread_join(turner, NULL);
		if (table == NULL) {
			assert_int_equal(err.status, SP_CORRUPT);
			continue;
		}
		assert_int_equal(sp_table_row_count(table), 9999);
		for (int64_t key = 0; key < 10000; key++) {
			float row[2], want[2];

			assert_ok(sp_table_lookup(table, &key, 1, NULL, row, &err), &err);
			assert_ok(sp_table_lookup(right, &key, 1, NULL, want, &err), &err);
			assert_memory_equal(row, want, sizeof(row));
		}
		sp_table_destroy(table);
	}
	sp_table_destroy(right);
	end();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_file_that_is_cut_before_it_is_read_is_an_error),
		cmocka_unit_test(a_file_that_is_deleted_is_read_to_its_end),
		cmocka_unit_test(a_file_that_is_cut_between_the_passes_is_an_error),
		cmocka_unit_test(a_file_that_is_cut_while_it_is_read_is_no_crash),
		cmocka_unit_test(what_is_put_is_what_was_checked),
		cmocka_unit_test(a_file_that_flickers_is_read_right_or_not_at_all),
	};

	return cmocka_run_group_tests_name("embedding_vanishing", tests, NULL, NULL);
}
