#include "tests/support/cmocka.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "incremental/identity.h"
#include "tests/support/paths.h"

static char temp[SP_PATH_SIZE], prefix[SP_PATH_SIZE + 16];
static sp_arena *arena;

static void write_file(const char *ending, const char *text)
{
	char path[2 * SP_PATH_SIZE];
	FILE *file;

	snprintf(path, sizeof(path), "%s%s", prefix, ending);
	file = fopen(path, "w");
	assert_non_null(file);
	fputs(text, file);
	fclose(file);
}

static int set_up(void **state)
{
	char folder[2 * SP_PATH_SIZE];

	(void)state;
	sp_temp_make(temp);
	snprintf(prefix, sizeof(prefix), "%s/model.ckpt-7", temp);
	arena = sp_arena_create(4096);
	assert_non_null(arena);
	write_file(".index", "index");
	write_file("-emb-ssd_record.index", "records");
	snprintf(folder, sizeof(folder), "%s-emb-emb_files", prefix);
	assert_int_equal(mkdir(folder, 0755), 0);
	write_file("-emb-emb_files/0.emb", "rows");
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	sp_arena_destroy(arena);
	sp_temp_remove(temp);
	return 0;
}

static uint64_t content(void)
{
	uint64_t number = sp_identity_of_content(prefix, arena);

	assert_int_equal(sp_identity_of_content(prefix, arena), number);
	return number;
}

static void all_that_holds_rows_counts(void **state)
{
	static const struct {
		const char *ending, *text;
	} changes[] = {
		{".index", "other"},
		{"-emb-ssd_record.index", "others!"},
		{"-more-ssd_record.index", "records"},
		{"-emb-emb_files/0.emb", "rows and rows"},
		{"-emb-emb_files/1.emb", "rows"},
	};
	uint64_t before = content();

	(void)state;
	assert_int_not_equal(before, 0);
	for (size_t i = 0; i < sizeof(changes) / sizeof(changes[0]); i++) {
		uint64_t after, rows = sp_identity_of_rows(prefix, arena);

		write_file(changes[i].ending, changes[i].text);
		after = content();
		assert_int_not_equal(after, before);
		assert_int_not_equal(sp_identity_of_rows(prefix, arena), rows);
		before = after;
	}
}

/* Another folder, other inodes and times. */
static void the_rows_of_a_copy_are_the_same(void **state)
{
	uint64_t rows = sp_identity_of_rows(prefix, arena), all = content();
	char first[SP_PATH_SIZE];

	(void)state;
	assert_int_not_equal(rows, 0);
	memcpy(first, temp, sizeof(first));
	assert_int_equal(tear_down(NULL), 0);
	assert_int_equal(set_up(NULL), 0);
	assert_string_not_equal(temp, first);
	assert_int_equal(sp_identity_of_rows(prefix, arena), rows);
	assert_int_not_equal(content(), all);
}

static void what_is_not_the_checkpoints_does_not_count(void **state)
{
	uint64_t before = content();

	(void)state;
	write_file("0.index", "another checkpoint");
	write_file("0-emb-ssd_record.index", "records of another");
	write_file("-emb-notes", "notes");
	write_file("-emb-emb_files/1.emb.tmp", "rows on their way");
	write_file("-emb-emb_files/notes", "notes");
	write_file("-emb-ssd_record.index~", "an editor's");
	write_file(".index", "index"); /* the same bytes, at another time */
	write_file("-emb-ssd_record.index", "records");
	assert_int_equal(content(), before);
}

static void without_an_index_there_is_none(void **state)
{
	char path[2 * SP_PATH_SIZE];

	(void)state;
	snprintf(path, sizeof(path), "%s.index", prefix);
	assert_int_equal(unlink(path), 0);
	assert_int_equal(sp_identity_of_content(prefix, arena), 0);
}

static void files_are_told_by_name_and_time(void **state)
{
	uint64_t before = sp_identity_of_files(prefix, arena);

	(void)state;
	assert_int_not_equal(before, 0);
	write_file("-emb-notes", "notes");
	write_file("0.index", "another checkpoint");
	write_file(".index.crc", "of another system");
	write_file(".data-00000-of-00001.tempstate17", "of a killed save");
	write_file(".meta", "a graph");
	write_file(".index._COPYING_", "on its way");
	assert_int_equal(sp_identity_of_files(prefix, arena), before);
	write_file(".data-00000-of-00001", "data");
	assert_int_not_equal(sp_identity_of_files(prefix, arena), before);
	before = sp_identity_of_files(prefix, arena);
	write_file(".pb", "a graph");
	assert_int_not_equal(sp_identity_of_files(prefix, arena), before);
	assert_int_equal(sp_identity_of_files("/nowhere/at/all", arena), 0);
}

int main(void)
{
#define CASE(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)
	const struct CMUnitTest tests[] = {
		CASE(all_that_holds_rows_counts),
		CASE(the_rows_of_a_copy_are_the_same),
		CASE(what_is_not_the_checkpoints_does_not_count),
		CASE(without_an_index_there_is_none),
		CASE(files_are_told_by_name_and_time),
	};
	return cmocka_run_group_tests_name("identity", tests, NULL, NULL);
}
