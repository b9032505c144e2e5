#include "tests/support/cmocka.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/parallel.h"
#include "storage/ssd/read_rings.h"
#include "storage/ssd/rocks.h"
#include "tests/support/paths.h"

/*
 * Keys 0, 2, 4 ... in one run, and of every tenth of them another row in a run
 * over it, which has their successors as well; by rings and by threads.
 */
enum { ROWS = 20000, ROW = 100, READERS = 3, MS = 1000000 };

static char root[SP_PATH_SIZE];
static sp_sst_run *runs[SP_READ_RUNS];
static sp_read_rings *rings;
static sp_error err;

static void make_row(int64_t key, unsigned run, unsigned char row[ROW])
{
	for (size_t i = 0; i < ROW; i++)
		row[i] = (unsigned char)((uint64_t)key * 41 + i * 7 + run * 101);
}

static bool is_over(int64_t key)
{
	return key % 20 < 2 && key < 2 * ROWS;
}

static sp_sst_run *make_run(unsigned run, int64_t step)
{
	char path[SP_PATH_SIZE + 16];
	const char *files[] = {path};
	unsigned char row[ROW];
	sp_rocks_run *writer;
	sp_sst_run *out;

	snprintf(path, sizeof(path), "%s/%u.sst", root, run);
	assert_ok(sp_rocks_run_begin(&writer, path, ROW, &err), &err);
	for (int64_t key = 0; key < 2 * ROWS; key += step) {
		if (run == 0 && !is_over(key))
			continue;
		make_row(key, run, row);
		assert_ok(sp_rocks_run_put(writer, key, row, &err), &err);
	}
	assert_ok(sp_rocks_run_end(writer, &err), &err);
	sp_rocks_run_destroy(writer);
	assert_ok(sp_sst_run_scan(&out, files, 1, ROW, ROWS, &err), &err);
	return out;
}

static int set_up(void **state)
{
	(void)state;
	sp_temp_make(root);
	runs[0] = make_run(0, 1);
	runs[1] = make_run(1, 2);
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	sp_read_rings_destroy(rings);
	rings = NULL;
	for (size_t r = 0; r < SP_READ_RUNS; r++)
		sp_sst_run_release(runs[r]);
	sp_temp_remove(root);
	return 0;
}

/* Skips the test where there is no io_uring: it tests nothing then. */
static int with_rings(void **state)
{
	sp_status status = sp_read_rings_create(&rings, READERS, false, &err);

	if (status == SP_UNSUPPORTED) {
		fprintf(stderr, "%s\n", err.text);
		rings = NULL;
	} else {
		assert_ok(status, &err);
	}
	return set_up(state);
}

static int with_threads(void **state)
{
	assert_ok(sp_read_rings_create(&rings, READERS, true, &err), &err);
	return set_up(state);
}

/* ---- a call ---- */

typedef struct answers {
	unsigned char (*rows)[ROW];
	unsigned *taken; /* how often */
	bool *found;
} answers;

static void take(const sp_read_request *request, size_t i, const void *row)
{
	answers *a = request->owner;

	a->taken[i]++;
	a->found[i] = row != NULL;
	if (row != NULL)
		memcpy(a->rows[i], row, ROW);
}

static sp_status run(const sp_read_request *request, int64_t deadline_ns)
{
	size_t failed;

	return sp_read_rings_run(rings, request, 1, take, deadline_ns, &failed, &err);
}

static void check_answers(const int64_t *keys, size_t count, size_t run_count, const answers *a)
{
	for (size_t i = 0; i < count; i++) {
		bool over = run_count == SP_READ_RUNS && is_over(keys[i]);
		unsigned char want[ROW];

		assert_int_equal(a->taken[i], 1);
		assert_int_equal(a->found[i],
				 over || (keys[i] >= 0 && keys[i] % 2 == 0 && keys[i] < 2 * ROWS));
		make_row(keys[i], over ? 0 : 1, want);
		if (a->found[i])
			assert_memory_equal(a->rows[i], want, ROW);
	}
}

/* Keys first, first + step, ... of the older run alone, or of both. */
static uint64_t check_keys(int64_t first, int64_t step, size_t count, size_t run_count)
{
	int64_t *keys = malloc((count + 1) * sizeof(*keys));
	answers a = {.rows = calloc(count + 1, ROW),
		     .taken = calloc(count + 1, sizeof(unsigned)),
		     .found = calloc(count + 1, sizeof(bool))};
	atomic_uint_least64_t bytes = 0;
	const sp_read_request request = {.runs = runs + SP_READ_RUNS - run_count,
					 .run_count = run_count,
					 .keys = keys,
					 .count = count,
					 .bytes_read = &bytes,
					 .owner = &a};

	assert_true(keys != NULL && a.rows != NULL && a.taken != NULL && a.found != NULL);
	for (size_t i = 0; i < count; i++)
		keys[i] = first + (int64_t)i * step;
	assert_ok(run(&request, 0), &err);
	check_answers(keys, count, run_count, &a);
	free(keys);
	free(a.rows);
	free(a.taken);
	free(a.found);
	return bytes;
}

static bool has_readers(void)
{
	return rings != NULL;
}

/* ---- tests ---- */

static void rows_come_from_the_newest_run_that_has_them(void **state)
{
	(void)state;
	if (!has_readers())
		skip();
	for (size_t run_count = 1; run_count <= SP_READ_RUNS; run_count++) {
		check_keys(0, 1, 0, run_count);
		check_keys(7, 1, 1, run_count);
		check_keys(0, 1, 2 * ROWS + 50, run_count);
		check_keys(5, 997, 60, run_count);
		check_keys(1, 2, ROWS, run_count);
		check_keys(INT64_MAX - 100, 1, 100, run_count);
	}
}

/* All rows of a block are read at once, and a key that a filter knows is absent is not. */
static void a_block_is_read_once(void **state)
{
	struct stat file;
	sp_sst_place place;
	size_t blocks;

	(void)state;
	if (!has_readers())
		skip();
	assert_true(sp_sst_run_locate(runs[1], 0, &place));
	assert_int_equal(fstat(place.fd, &file), 0);
	blocks = (size_t)file.st_size / SP_SST_PAGE;
	assert_in_range(check_keys(0, 2, ROWS, 1), (blocks - 10) * SP_SST_PAGE,
			(blocks + READERS * 8) * SP_SST_PAGE);
	/* None of these is there; of a hundred, about three seem to be. */
	assert_in_range(check_keys(1, 2, 2000, 1), SP_SST_PAGE, 200 * SP_SST_PAGE);
}

static sp_status ask_for_all(void *context, size_t i, sp_error *error)
{
	(void)context;
	(void)error;
	check_keys((int64_t)i, 3, 3000, SP_READ_RUNS);
	return SP_OK;
}

static void more_calls_than_readers_all_have_their_turn(void **state)
{
	(void)state;
	if (!has_readers())
		skip();
	assert_ok(sp_parallel_run(3 * READERS, 12 * READERS, ask_for_all, NULL, &err), &err);
}

/* Where the rows of the older run are read from, something else is: `fd`. */
static int exchange_file(int fd)
{
	sp_sst_place place;
	int before;

	assert_true(sp_sst_run_locate(runs[1], 0, &place));
	before = dup(place.fd);
	assert_true(before >= 0);
	assert_int_equal(dup2(fd, place.fd), place.fd);
	return before;
}

static void what_cannot_be_read_is_an_error(void **state)
{
	atomic_uint_least64_t bytes = 0;
	int64_t keys[500];
	answers a = {.rows = calloc(500, ROW), .taken = calloc(500, 4), .found = calloc(500, 1)};
	const sp_read_request request = {runs + 1, 1, keys, 500, &bytes, &a, NULL};
	int folder = open(root, O_RDONLY | O_DIRECTORY), before;

	(void)state;
	if (!has_readers())
		skip();
	for (int64_t i = 0; i < 500; i++)
		keys[i] = 80 * i;
	before = exchange_file(folder);
	for (int round = 0; round < 10; round++) {
		assert_int_equal(run(&request, 0), SP_IO);
		assert_non_null(strstr(err.text, "cannot read"));
	}
	close(exchange_file(before));
	close(before);
	close(folder);
	check_keys(0, 80, 500, 1);
	free(a.rows);
	free(a.taken);
	free(a.found);
}

/* A disk that answers some day: a pipe that nobody writes to. */
static void a_call_whose_time_is_over_leaves_what_it_waits_for(void **state)
{
	atomic_uint_least64_t bytes = 0;
	int64_t keys[] = {0, 8000};
	answers a = {.rows = calloc(2, ROW), .taken = calloc(2, 4), .found = calloc(2, 1)};
	const sp_read_request request = {runs + 1, 1, keys, 2, &bytes, &a, NULL};
	int ends[2], before;

	(void)state;
	if (!has_readers())
		skip();
	assert_int_equal(pipe(ends), 0);
	before = exchange_file(ends[0]);
	for (int round = 0; round < 2 * READERS; round++) {
		int64_t start = sp_clock_now_ns();

		assert_int_equal(run(&request, start + 20 * MS), SP_DEADLINE);
		assert_true(sp_clock_now_ns() - start >= 20 * MS);
	}
	close(exchange_file(before));
	close(before);
	/* The rings still wait for these, and are used on. */
	check_keys(0, 3, 5000, SP_READ_RUNS);
	close(ends[0]);
	close(ends[1]);
	check_keys(0, 3, 5000, SP_READ_RUNS);
	assert_int_equal(a.taken[0] + a.taken[1], 0);
	free(a.rows);
	free(a.taken);
	free(a.found);
}

/* All places of a ring wait for a pipe, and calls take the others. */
static void a_ring_full_of_reads_that_hang_is_taken_last(void **state)
{
	enum { KEYS = 500 };
	atomic_uint_least64_t bytes = 0;
	int64_t keys[KEYS];
	answers a = {.rows = calloc(KEYS, ROW), .taken = calloc(KEYS, 4), .found = calloc(KEYS, 1)};
	const sp_read_request request = {runs + 1, 1, keys, KEYS, &bytes, &a, NULL};
	int ends[2], before;

	(void)state;
	if (!has_readers())
		skip();
	for (int64_t i = 0; i < KEYS; i++)
		keys[i] = 80 * i;
	assert_int_equal(pipe(ends), 0);
	before = exchange_file(ends[0]);
	assert_int_equal(run(&request, sp_clock_now_ns() + 20 * MS), SP_DEADLINE);
	close(exchange_file(before));
	close(before);
	for (int round = 0; round < 2 * READERS; round++)
		check_keys(0, 80, KEYS, 1);
	close(ends[0]);
	close(ends[1]);
	free(a.rows);
	free(a.taken);
	free(a.found);
}

/* What the kernel may still write to is left to it. */
static void the_end_does_not_wait_for_a_disk_for_ever(void **state)
{
	atomic_uint_least64_t bytes = 0;
	int64_t keys[] = {0};
	answers a = {.rows = NULL};
	const sp_read_request request = {runs + 1, 1, keys, 1, &bytes, &a, NULL};
	int ends[2], before;

	(void)state;
	if (rings == NULL)
		skip();
#ifdef __SANITIZE_ADDRESS__
	skip(); /* what is left is a leak to it */
#endif
	a = (answers){.rows = calloc(1, ROW), .taken = calloc(1, 4), .found = calloc(1, 1)};
	assert_int_equal(pipe(ends), 0);
	before = exchange_file(ends[0]);
	assert_int_equal(run(&request, sp_clock_now_ns() + MS), SP_DEADLINE);
	sp_read_rings_destroy(rings);
	rings = NULL;
	close(exchange_file(before));
	close(before);
	close(ends[0]);
	close(ends[1]);
	free(a.rows);
	free(a.taken);
	free(a.found);
}

/* A pipe gives what is in it, however much was asked for. */
static void a_block_may_come_in_pieces(void **state)
{
	atomic_uint_least64_t bytes = 0;
	int64_t key = 8000;
	answers a = {.rows = calloc(1, ROW), .taken = calloc(1, 4), .found = calloc(1, 1)};
	const sp_read_request request = {runs + 1, 1, &key, 1, &bytes, &a, NULL};
	_Alignas(SP_SST_PAGE) char block[SP_SST_PAGE];
	sp_sst_place place;
	pid_t writer;
	int ends[2], before, status;

	(void)state;
	if (!has_readers())
		skip();
	assert_true(sp_sst_run_locate(runs[1], key, &place));
	assert_int_equal(place.span, sizeof(block));
	assert_int_equal(pread(place.fd, block, sizeof(block), (off_t)place.offset), sizeof(block));
	assert_int_equal(pipe(ends), 0);
	before = exchange_file(ends[0]);
	writer = fork();
	assert_true(writer >= 0);
	for (size_t at = 0; writer == 0 && at < sizeof(block); at += 512) {
		if (write(ends[1], block + at, 512) != 512)
			_exit(1);
		usleep(10000);
	}
	if (writer == 0)
		_exit(0);
	assert_ok(run(&request, 0), &err);
	check_answers(&key, 1, 1, &a);
	assert_int_equal(bytes, sizeof(block));
	assert_int_equal(waitpid(writer, &status, 0), writer);
	assert_int_equal(status, 0);
	close(exchange_file(before));
	close(before);
	close(ends[0]);
	close(ends[1]);
	free(a.rows);
	free(a.taken);
	free(a.found);
}

/* The kernel's side of the rings is the parent's: what a child asked for would come there. */
static void a_process_that_is_forked_off_reads_nothing(void **state)
{
	atomic_uint_least64_t bytes = 0;
	int64_t key = 0;
	answers a = {.rows = calloc(1, ROW), .taken = calloc(1, 4), .found = calloc(1, 1)};
	const sp_read_request request = {runs, SP_READ_RUNS, &key, 1, &bytes, &a, NULL};
	int status;
	pid_t child;

	(void)state;
	if (!has_readers())
		skip();
	child = fork();
	assert_true(child >= 0);
	if (child == 0) {
		bool refused = run(&request, 0) == SP_UNSUPPORTED && a.taken[0] == 0;

		sp_read_rings_destroy(rings);
		_exit(refused ? 0 : 1);
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_int_equal(status, 0);
	check_keys(0, 3, 5000, SP_READ_RUNS);
	free(a.rows);
	free(a.taken);
	free(a.found);
}

#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)

/* A ring has memory of its own, which may be limited apart from what malloc() has. */
static void without_memory_for_rings_threads_can_read(void **state)
{
	const struct rlimit none = {1, 1};
	sp_read_rings *more;
	int status;
	pid_t child;

	(void)state;
	if (!has_readers())
		skip();
	child = fork();
	assert_true(child >= 0);
	if (child == 0) {
		free(malloc(64 << 10)); /* what is there is enough for all but the ring */
		_exit(setrlimit(RLIMIT_AS, &none) == 0 &&
				      sp_read_rings_create(&more, 1, false, &err) == SP_UNSUPPORTED
			      ? 0
			      : 1);
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_int_equal(status, 0);
}

#endif

#define BY_RINGS(test) cmocka_unit_test_setup_teardown(test, with_rings, tear_down)
#define BY_BOTH(test)  BY_RINGS(test), cmocka_unit_test_setup_teardown(test, with_threads, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		BY_BOTH(rows_come_from_the_newest_run_that_has_them),
		BY_BOTH(a_block_is_read_once),
		BY_BOTH(more_calls_than_readers_all_have_their_turn),
		BY_BOTH(what_cannot_be_read_is_an_error),
		/* A thread cannot read from a pipe at a place. */
		BY_RINGS(a_block_may_come_in_pieces),
		BY_RINGS(a_call_whose_time_is_over_leaves_what_it_waits_for),
		BY_RINGS(a_ring_full_of_reads_that_hang_is_taken_last),
		BY_RINGS(the_end_does_not_wait_for_a_disk_for_ever),
		BY_RINGS(a_process_that_is_forked_off_reads_nothing),
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
		BY_RINGS(without_memory_for_rings_threads_can_read),
#endif
	};
	return cmocka_run_group_tests_name("read_rings", tests, NULL, NULL);
}
