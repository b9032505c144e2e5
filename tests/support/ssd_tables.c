#include "tests/support/ssd_tables.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/log.h"
#include "tests/support/cmocka.h"

char sp_ssd_test_root[SP_PATH_SIZE + 16];
bool sp_ssd_test_no_rings;

static char temp[SP_PATH_SIZE];

int sp_ssd_test_set_up(void **state)
{
	(void)state;
	/* What is made anew is said in the log. */
	sp_log_set_level(SP_LOG_ERROR);
	sp_temp_make(temp);
	snprintf(sp_ssd_test_root, sizeof(sp_ssd_test_root), "%s/ssd", temp);
	return 0;
}

int sp_ssd_test_tear_down(void **state)
{
	(void)state;
	sp_temp_remove(temp);
	return 0;
}

sp_status sp_ssd_test_try_store(sp_ssd_store **out, const char *version, sp_row_cache_policy policy,
				sp_error *err)
{
	const sp_ssd_store_options options = {.path = sp_ssd_test_root,
					      .model = "model",
					      .version = version,
					      .cache_bytes = SP_SSD_TEST_CACHE,
					      .policy = policy,
					      .readers = 4,
					      .no_rings = sp_ssd_test_no_rings};

	return sp_ssd_store_open(out, &options, err);
}

sp_ssd_store *sp_ssd_test_open_store(const char *version)
{
	sp_ssd_store *store;
	sp_error error;

	assert_ok(sp_ssd_test_try_store(&store, version, SP_ROW_CACHE_LFU, &error), &error);
	return store;
}

sp_ssd_table sp_ssd_test_table_named(const char *name)
{
	return (sp_ssd_table){.name = name, .dim = SP_SSD_TEST_DIM, .format = SP_ROW_FP32};
}

static float element(int64_t key, size_t d, int generation)
{
	return (float)(key % 1000003) * 0.25f + (float)d + (float)generation * 0.125f;
}

void sp_ssd_test_make_row(int64_t key, int generation, float row[SP_SSD_TEST_DIM])
{
	for (size_t d = 0; d < SP_SSD_TEST_DIM; d++)
		row[d] = element(key, d, generation);
}

sp_status sp_ssd_test_put_range(sp_ssd_builder *builder, int64_t first, int64_t step, size_t count,
				int generation, sp_error *err)
{
	for (size_t i = 0; i < count; i++) {
		int64_t key = first + (int64_t)i * step, frequency = 10000000 / (int64_t)(i + 1);
		float row[SP_SSD_TEST_DIM];

		sp_ssd_test_make_row(key, generation, row);
		SP_TRY(sp_ssd_builder_put(builder, &key, row, &frequency, 1, err));
	}
	return SP_OK;
}

sp_status sp_ssd_test_try_build(sp_tier **out, sp_ssd_store *store, const char *name, size_t count,
				sp_error *err)
{
	const sp_ssd_table table = sp_ssd_test_table_named(name);
	sp_ssd_builder *builder;
	sp_status status;

	SP_TRY(sp_ssd_builder_create(&builder, store, &table, count, err));
	status = sp_ssd_test_put_range(builder, 0, 3, count, 0, err);
	if (status == SP_OK)
		status = sp_ssd_builder_freeze(builder, out, err);
	sp_ssd_builder_destroy(builder);
	return status;
}

sp_tier *sp_ssd_test_build(sp_ssd_store *store, const char *name, size_t count)
{
	sp_tier *tier;
	sp_error error;

	assert_ok(sp_ssd_test_try_build(&tier, store, name, count, &error), &error);
	return tier;
}

sp_ssd_test_lookup sp_ssd_test_ask(sp_tier *tier, const int64_t *keys, size_t count)
{
	sp_ssd_test_lookup q = {.keys = malloc((count + 1) * sizeof(*q.keys)),
				.elements = malloc((count + 1) * SP_SSD_TEST_DIM * sizeof(float)),
				.rows = malloc((count + 1) * sizeof(*q.rows)),
				.found = malloc(count + 1)};

	assert_true(q.keys != NULL && q.elements != NULL && q.rows != NULL && q.found != NULL);
	if (count != 0)
		memcpy(q.keys, keys, count * sizeof(*keys));
	memset(q.found, 1, count + 1);
	for (size_t i = 0; i < count * SP_SSD_TEST_DIM; i++)
		q.elements[i] = -1;
	for (size_t i = 0; i < count; i++)
		q.rows[i] = q.elements + i * SP_SSD_TEST_DIM;
	q.read = (sp_tier_read){
		.tier = tier, .keys = q.keys, .count = count, .rows = q.rows, .found = q.found};
	return q;
}

void sp_ssd_test_free_lookup(sp_ssd_test_lookup *q)
{
	free(q->keys);
	free(q->elements);
	free(q->rows);
	free(q->found);
}

void sp_ssd_test_check_answers(const sp_tier_read *read, size_t count, int generation)
{
	for (size_t i = 0; i < read->count; i++) {
		int64_t key = read->keys[i];
		bool there = key >= 0 && key % 3 == 0 && (size_t)(key / 3) < count;

		assert_int_equal(read->found[i], there);
		for (size_t d = 0; d < SP_SSD_TEST_DIM; d++) {
			float want = there ? element(key, d, generation) : -1;

			assert_true(read->rows[i][d] == want);
		}
	}
}

void sp_ssd_test_check_read(sp_tier *tier, const int64_t *keys, size_t count, size_t rows)
{
	sp_ssd_test_lookup q = sp_ssd_test_ask(tier, keys, count);
	sp_error error;

	assert_ok(sp_test_tier_read(&q.read, 1, 0, &error), &error);
	sp_ssd_test_check_answers(&q.read, rows, 0);
	sp_ssd_test_free_lookup(&q);
}

void sp_ssd_test_check_range(sp_tier *tier, int64_t start, size_t count, size_t rows)
{
	int64_t *keys = malloc(count * sizeof(*keys));

	assert_non_null(keys);
	for (size_t i = 0; i < count; i++)
		keys[i] = start + (int64_t)i;
	sp_ssd_test_check_read(tier, keys, count, rows);
	free(keys);
}

size_t sp_ssd_test_count_folders(void)
{
	DIR *entries = opendir(sp_ssd_test_root);
	const struct dirent *entry;
	size_t count = 0;

	assert_non_null(entries);
	while ((entry = readdir(entries)) != NULL)
		count += strncmp(entry->d_name, "sp-ssd-", strlen("sp-ssd-")) == 0;
	closedir(entries);
	return count;
}

void sp_ssd_test_find_file(const char *folder, const char *ending, char *out, size_t size)
{
	DIR *entries = opendir(folder);
	const struct dirent *entry;

	assert_non_null(entries);
	while ((entry = readdir(entries)) != NULL) {
		size_t length = strlen(entry->d_name), tail = strlen(ending);
		char path[2 * SP_PATH_SIZE];

		if (entry->d_name[0] == '.')
			continue;
		snprintf(path, sizeof(path), "%s/%s", folder, entry->d_name);
		if (entry->d_type == DT_DIR)
			sp_ssd_test_find_file(path, ending, out, size);
		else if (length >= tail && strcmp(entry->d_name + length - tail, ending) == 0)
			snprintf(out, size, "%s", path);
	}
	closedir(entries);
}

void sp_ssd_test_change_bytes(const char *ending, off_t from, off_t step)
{
	char path[2 * SP_PATH_SIZE] = "";
	struct stat info;
	int fd;

	sp_ssd_test_find_file(sp_ssd_test_root, ending, path, sizeof(path));
	fd = open(path, O_RDWR);
	assert_true(fd >= 0);
	assert_int_equal(fstat(fd, &info), 0);
	for (off_t at = from; at < info.st_size; at += step)
		assert_int_equal(pwrite(fd, "\xa5\x5a", 2, at), 2);
	close(fd);
}
