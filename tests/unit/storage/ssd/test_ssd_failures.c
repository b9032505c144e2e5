#include "tests/support/cmocka.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "tests/support/ssd_tables.h"

/*
 * What goes wrong with a table on an SSD: the next start is right, a request
 * gets an error and never a wrong row, and nothing is left behind.
 */

static void corrupt_rows_are_an_error_that_names_table_and_tier(void **state)
{
	enum { ROWS = 20000 };
	const sp_ssd_table table = sp_ssd_test_table_named("user_table");
	sp_ssd_store *store = sp_ssd_test_open_store("1");
	sp_tier *tier = sp_ssd_test_build(store, "user_table", ROWS);
	size_t failed = 0;
	sp_error error;

	(void)state;
	/* Something in every block, the index and all behind it included. */
	sp_ssd_test_change_bytes(".sst", 50, 500);
	for (int64_t key = 0; key < 3 * ROWS; key += 61) {
		sp_ssd_test_lookup q = sp_ssd_test_ask(tier, &key, 1);
		sp_status status = sp_test_tier_read(&q.read, 1, 0, &error);

		if (status == SP_OK) {
			sp_ssd_test_check_answers(&q.read, ROWS, 0); /* out of the cache */
		} else {
			assert_int_equal(status, SP_CORRUPT);
			assert_non_null(strstr(error.text, "user_table"));
			assert_non_null(strstr(error.text, "SSD tier"));
			failed++;
		}
		sp_ssd_test_free_lookup(&q);
	}
	assert_true(failed > 100);
	assert_int_equal(sp_test_tier_counters(tier).errors, failed);
	sp_tier_release(tier);
	/* The next start makes it anew. */
	assert_int_equal(sp_ssd_tier_open(&tier, store, &table, &error), SP_NOT_FOUND);
	tier = sp_ssd_test_build(store, "user_table", ROWS);
	sp_ssd_test_check_range(tier, 0, 3 * ROWS, ROWS);
	assert_int_equal(sp_ssd_test_count_folders(), 1);
	sp_tier_release(tier);
	sp_ssd_store_release(store);
}

/* A folder that is damaged while nobody looks: the tier is not found, or every answer is right. */
static void check_damage(const char *ending, bool delete)
{
	enum { ROWS = 3000 };
	const sp_ssd_table table = sp_ssd_test_table_named("t");
	sp_ssd_store *store = sp_ssd_test_open_store("1");
	char path[2 * SP_PATH_SIZE] = "";
	sp_error error;
	sp_tier *tier;
	sp_status status;

	sp_tier_release(sp_ssd_test_build(store, "t", ROWS));
	sp_ssd_test_find_file(sp_ssd_test_root, ending, path, sizeof(path));
	assert_string_not_equal(path, "");
	if (delete)
		assert_int_equal(unlink(path), 0);
	else
		sp_ssd_test_change_bytes(ending, 7, 64);
	status = sp_ssd_tier_open(&tier, store, &table, &error);
	if (status == SP_OK) {
		sp_ssd_test_check_range(tier, 0, 3 * ROWS, ROWS);
		sp_tier_release(tier);
	} else {
		assert_int_equal(status, SP_NOT_FOUND);
	}
	tier = sp_ssd_test_build(store, "t", ROWS);
	sp_ssd_test_check_range(tier, 0, 3 * ROWS, ROWS);
	sp_tier_release(tier);
	assert_int_equal(sp_ssd_test_count_folders(), 1);
	sp_ssd_store_release(store);
}

static void a_damaged_folder_is_made_anew(void **state)
{
	static const char *const endings[] = {".sst", "CURRENT", "label", "hot", "filter"};

	(void)state;
	for (size_t i = 0; i < sizeof(endings) / sizeof(endings[0]); i++) {
		check_damage(endings[i], true);
		check_damage(endings[i], false);
	}
}

/* In the process that serves the files stay open; the next start builds. */
static void files_that_are_deleted_underneath_go_on_answering(void **state)
{
	enum { ROWS = 3000 };
	const sp_ssd_table table = sp_ssd_test_table_named("t");
	sp_ssd_store *store = sp_ssd_test_open_store("1");
	sp_tier *tier = sp_ssd_test_build(store, "t", ROWS);
	char path[2 * SP_PATH_SIZE] = "";
	sp_error error;

	(void)state;
	sp_ssd_test_find_file(sp_ssd_test_root, ".sst", path, sizeof(path));
	assert_int_equal(unlink(path), 0);
	sp_ssd_test_check_range(tier, 0, 3 * ROWS, ROWS);
	sp_tier_release(tier);
	assert_int_equal(sp_ssd_tier_open(&tier, store, &table, &error), SP_NOT_FOUND);
	tier = sp_ssd_test_build(store, "t", ROWS);
	sp_temp_remove(sp_ssd_test_root);
	sp_ssd_test_check_range(tier, 0, 3 * ROWS, ROWS);
	sp_tier_release(tier);
	sp_ssd_store_release(store);
	store = sp_ssd_test_open_store("1");
	tier = sp_ssd_test_build(store, "t", ROWS);
	sp_ssd_test_check_range(tier, 0, 3 * ROWS, ROWS);
	assert_int_equal(sp_ssd_test_count_folders(), 1);
	sp_tier_release(tier);
	sp_ssd_store_release(store);
}

static void a_deadline_that_has_passed_ends_the_read(void **state)
{
	enum { ROWS = 20000 };
	sp_ssd_store *store = sp_ssd_test_open_store("1");
	sp_tier *tier = sp_ssd_test_build(store, "t", ROWS);
	int64_t keys[2000];
	sp_error error;

	(void)state;
	for (int64_t i = 0; i < 2000; i++)
		keys[i] = 3 * (ROWS - 1 - i);
	for (int i = 0; i < 20; i++) {
		sp_ssd_test_lookup q = sp_ssd_test_ask(tier, keys, 2000);

		assert_int_equal(
			sp_test_tier_read(&q.read, 1, sp_clock_now_ns() + i * 1000, &error),
			SP_DEADLINE);
		assert_non_null(strstr(error.text, "'t'"));
		sp_ssd_test_free_lookup(&q);
	}
	/* What was left behind disturbs nobody. */
	sp_ssd_test_check_range(tier, 0, 3 * ROWS, ROWS);
	sp_tier_release(tier);
	sp_ssd_store_release(store);
}

static void a_tier_whose_reads_were_left_behind_closes(void **state)
{
	enum { ROWS = 20000 };

	(void)state;
	for (int round = 0; round < 10; round++) {
		sp_ssd_store *store = sp_ssd_test_open_store("1");
		sp_tier *tier = sp_ssd_test_build(store, "t", 3000);
		int64_t keys[1000];
		sp_ssd_test_lookup q;

		for (int64_t i = 0; i < 1000; i++)
			keys[i] = 3 * (2999 - i);
		q = sp_ssd_test_ask(tier, keys, 1000);
		assert_int_equal(sp_test_tier_read(&q.read, 1, sp_clock_now_ns() + 1, NULL),
				 SP_DEADLINE);
		sp_ssd_test_free_lookup(&q);
		sp_ssd_store_release(store);
		sp_tier_release(tier);
	}
}

static void a_path_that_cannot_be_is_refused(void **state)
{
	sp_ssd_store *store;
	sp_error error;

	(void)state;
	snprintf(sp_ssd_test_root, sizeof(sp_ssd_test_root), "/dev/null");
	assert_int_equal(sp_ssd_test_try_store(&store, "1", SP_ROW_CACHE_LFU, &error), SP_INVALID);
	assert_non_null(strstr(error.text, "/dev/null"));
}

static void memory_that_is_out_is_an_error(void **state)
{
	sp_status status = SP_NO_MEMORY;

	(void)state;
	for (int64_t n = 0; status != SP_OK; n++) {
		sp_ssd_store *store = NULL;
		sp_tier *tier = NULL;

		sp_alloc_fail_after(n);
		status = sp_ssd_test_try_store(&store, "1", SP_ROW_CACHE_LFU, NULL);
		if (status == SP_OK)
			status = sp_ssd_test_try_build(&tier, store, "t", 50, NULL);
		sp_alloc_fail_after(-1);
		assert_true(status == SP_OK || status == SP_NO_MEMORY);
		sp_tier_release(tier);
		sp_ssd_store_release(store);
		assert_true(n < 200);
	}
	assert_int_equal(sp_ssd_test_count_folders(), 1);
}

/* ---- processes: before any threads of RocksDB, which a child has not ---- */

static size_t space; /* bytes that a file of a child may have; 0: any */

/* In a child: builds until it is killed, or has no space. */
static void child_builds(void)
{
	const struct rlimit limit = {space, space};
	sp_ssd_store *store;
	sp_tier *tier;
	sp_error error;
	sp_status status;

	signal(SIGXFSZ, SIG_IGN);
	if (space != 0 && setrlimit(RLIMIT_FSIZE, &limit) != 0)
		_exit(2);
	if (sp_ssd_test_try_store(&store, "1", SP_ROW_CACHE_LFU, &error) != SP_OK)
		_exit(3);
	do {
		status = sp_ssd_test_try_build(&tier, store, "t", 80000, &error);
		if (status == SP_OK)
			sp_tier_release(tier);
	} while (status == SP_OK && space == 0);
	_exit(status == SP_IO && sp_ssd_test_count_folders() == 0 ? 0 : 1);
}

/* After whatever happened to a child: the next start is right and leaves one folder. */
static int child_starts(void)
{
	const sp_ssd_table table = sp_ssd_test_table_named("t");
	sp_ssd_store *store = sp_ssd_test_open_store("1");
	sp_error error;
	sp_tier *tier;
	sp_status status = sp_ssd_tier_open(&tier, store, &table, &error);

	if (status == SP_NOT_FOUND)
		status = sp_ssd_test_try_build(&tier, store, "t", 80000, &error);
	assert_ok(status, &error);
	for (int64_t start = 0; start < 240000; start += 40001)
		sp_ssd_test_check_range(tier, start, 1000, 80000);
	assert_int_equal(sp_ssd_test_count_folders(), 1);
	sp_tier_release(tier);
	sp_ssd_store_release(store);
	return 0;
}

static pid_t start_child(int (*body)(void))
{
	pid_t pid = fork();

	assert_true(pid >= 0);
	if (pid == 0) {
		if (body != NULL)
			_exit(body());
		child_builds();
	}
	return pid;
}

static int finish_child(pid_t pid)
{
	int status;

	assert_int_equal(waitpid(pid, &status, 0), pid);
	return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static void killed_at_any_moment_the_next_start_is_right(void **state)
{
	const char *rounds = getenv("SP_SSD_KILLS");
	unsigned seed = 1;

	(void)state;
	for (int i = rounds != NULL ? atoi(rounds) : 3; i > 0; i--) {
		struct timespec pause = {.tv_nsec = (long)(rand_r(&seed) % 300) * 1000000};
		pid_t pid = start_child(NULL);

		nanosleep(&pause, NULL);
		kill(pid, SIGKILL);
		assert_int_equal(finish_child(pid), -1);
		assert_int_equal(finish_child(start_child(child_starts)), 0);
	}
}

static void a_full_disk_refuses_and_leaves_nothing(void **state)
{
	/* At the first file; in a run of rows. */
	static const size_t spaces[] = {100, 1 << 20};

	(void)state;
	for (size_t i = 0; i < sizeof(spaces) / sizeof(spaces[0]); i++) {
		space = spaces[i];
		assert_int_equal(finish_child(start_child(NULL)), 0);
	}
	space = 0;
	assert_int_equal(finish_child(start_child(child_starts)), 0);
}

#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)

static size_t address_space(void)
{
	FILE *file = fopen("/proc/self/statm", "r");
	size_t pages = 0;

	assert_non_null(file);
	assert_int_equal(fscanf(file, "%zu", &pages), 1);
	fclose(file);
	return pages * (size_t)sysconf(_SC_PAGESIZE);
}

static size_t address_room; /* bytes that a child may take beyond what it has */

/* In a child: 0 when there was room enough, 1 when it was told that there was none. */
static int child_has_little_room(void)
{
	struct rlimit limit;
	sp_ssd_store *store = sp_ssd_test_open_store("1");
	sp_error error;
	sp_tier *tier;
	sp_status status;

	limit.rlim_cur = limit.rlim_max = address_space() + address_room;
	assert_int_equal(setrlimit(RLIMIT_AS, &limit), 0);
	status = sp_ssd_test_try_build(&tier, store, "t", 300, &error);
	if (status == SP_OK)
		sp_tier_release(tier);
	sp_ssd_store_release(store);
	return status == SP_OK ? 0 : status == SP_NO_MEMORY ? 1 : 2;
}

/* RocksDB itself would end the process. */
static void without_memory_or_threads_it_is_not_called(void **state)
{
	(void)state;
	for (address_room = 0; address_room <= 48 << 20; address_room += 3 << 20)
		assert_int_equal(finish_child(start_child(child_has_little_room)), 1);
	address_room = (size_t)1 << 30;
	assert_int_equal(finish_child(start_child(child_has_little_room)), 0);
}

#endif

#define ON_DISK(test) \
	cmocka_unit_test_setup_teardown(test, sp_ssd_test_set_up, sp_ssd_test_tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		/* First those that fork. */
		ON_DISK(killed_at_any_moment_the_next_start_is_right),
		ON_DISK(a_full_disk_refuses_and_leaves_nothing),
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
		ON_DISK(without_memory_or_threads_it_is_not_called),
#endif
		ON_DISK(a_damaged_folder_is_made_anew),
		ON_DISK(a_path_that_cannot_be_is_refused),
	};
	/* Whoever reads. */
	const struct CMUnitTest reads[] = {
		ON_DISK(corrupt_rows_are_an_error_that_names_table_and_tier),
		ON_DISK(files_that_are_deleted_underneath_go_on_answering),
		ON_DISK(a_deadline_that_has_passed_ends_the_read),
		ON_DISK(a_tier_whose_reads_were_left_behind_closes),
		ON_DISK(memory_that_is_out_is_an_error),
	};
	int failed;

	/* Hundreds of folders are made durable, which a busy disk takes long for. */
	if (getenv("TMPDIR") == NULL && access("/dev/shm", W_OK) == 0)
		setenv("TMPDIR", "/dev/shm", 1);
	failed = cmocka_run_group_tests_name("ssd_failures", tests, NULL, NULL);
	failed += cmocka_run_group_tests_name("ssd_failures, read by io_uring", reads, NULL, NULL);
	sp_ssd_test_no_rings = true;
	return failed +
	       cmocka_run_group_tests_name("ssd_failures, read by threads", reads, NULL, NULL);
}
