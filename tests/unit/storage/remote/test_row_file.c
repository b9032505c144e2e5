#include "tests/support/cmocka.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/parallel.h"
#include "storage/remote/row_file.h"
#include "tests/support/paths.h"

/* Two tables of different rows; what a row has in it follows from table, key and age. */
enum { MS = 1000000, TABLES = 2, WIDEST = 260, MANY = 1000, LONG_MS = 20000 };

static const uint32_t sizes[TABLES] = {260, 36};
static char root[SP_PATH_SIZE];
static sp_error err;

static void make_row(uint32_t table, int64_t key, unsigned age, unsigned char row[WIDEST])
{
	for (size_t i = 0; i < sizes[table]; i++)
		row[i] = (unsigned char)((uint64_t)key * 41 + (uint64_t)key / 251 + i * 7 +
					 table * 101 + age * 13);
}

static sp_row_file *open_file(uint64_t bytes, bool no_rings)
{
	const sp_row_file_options options = {
		.folder = root, .cap_bytes = bytes, .readers = 4, .no_rings = no_rings};
	sp_row_file *file;

	assert_ok(sp_row_file_open(&file, &options, &err), &err);
	for (uint32_t t = 0; t < TABLES; t++)
		assert_int_equal(sp_row_file_add_table(file, sizes[t], SIZE_MAX), t);
	return file;
}

/* Waits for room. */
static void put(sp_row_file *file, uint32_t table, int64_t key, unsigned age)
{
	unsigned char row[WIDEST];

	make_row(table, key, age, row);
	while (!sp_row_file_put(file, table, key, row, sizes[table]))
		usleep(100);
}

/* What reads find. */
typedef struct seen {
	unsigned age; /* that rows should have */
	size_t right, wrong, unreadable;
} seen;

static void take(void *context, const sp_row_file_row *from, const void *bytes)
{
	unsigned char row[WIDEST];
	seen *s = context;

	if (bytes == NULL) {
		s->unreadable++;
		return;
	}
	make_row(from->table, from->key, s->age, row);
	if (memcmp(row, bytes, sizes[from->table]) == 0)
		s->right++;
	else
		s->wrong++;
}

/* Looks for keys `first`, `first` + 1 ... */
static seen look(sp_row_file *file, uint32_t table, int64_t first, size_t count, unsigned age)
{
	sp_row_file_row *rows = calloc(count, sizeof(*rows));
	seen s = {.age = age};

	for (size_t i = 0; i < count; i++)
		rows[i] = (sp_row_file_row){
			.key = first + (int64_t)i, .table = table, .size = sizes[table]};
	sp_row_file_read(file, rows, sp_row_file_find(file, rows, count), take, &s, 0);
	free(rows);
	return s;
}

/* Two keys of one tag in one set, which are rare, can only be held in turn. */
static bool is_nearly(size_t right, size_t count)
{
	return right <= count && right + count / 100 >= count;
}

/* Until that many rows are right. */
static void await(sp_row_file *file, uint32_t table, int64_t first, size_t count, unsigned age)
{
	int64_t end = sp_clock_now_ns() + (int64_t)LONG_MS * MS;

	while (!is_nearly(look(file, table, first, count, age).right, count)) {
		assert_true(sp_clock_now_ns() < end);
		usleep(2000);
	}
}

/* The descriptor of the nameless file. */
static int find_descriptor(void)
{
	DIR *folder = opendir("/proc/self/fd");
	char path[300], target[SP_PATH_SIZE];
	int found = -1;

	for (struct dirent *entry; (entry = readdir(folder)) != NULL;) {
		ssize_t size;

		snprintf(path, sizeof(path), "/proc/self/fd/%s", entry->d_name);
		size = readlink(path, target, sizeof(target) - 1);
		if (size > 0 && strncmp(target, root, strlen(root)) == 0)
			found = atoi(entry->d_name);
	}
	closedir(folder);
	assert_true(found >= 0);
	return found;
}

/* The file, opened once more. */
static int find_file(void)
{
	char path[64];
	int fd;

	snprintf(path, sizeof(path), "/proc/self/fd/%d", find_descriptor());
	fd = open(path, O_RDWR | O_CLOEXEC);
	assert_true(fd >= 0);
	return fd;
}

static uint64_t file_size(int fd)
{
	struct stat info;

	assert_int_equal(fstat(fd, &info), 0);
	return (uint64_t)info.st_size;
}

/* ---- */

static void check_rows(bool no_rings)
{
	sp_row_file *file = open_file(4 << 20, no_rings);
	size_t right = 0;

	assert_int_equal(look(file, 0, 0, MANY, 0).right, 0);
	for (int64_t key = 0; key < MANY; key++)
		for (uint32_t t = 0; t < TABLES; t++)
			put(file, t, key * (t + 1), 0);
	await(file, 0, 0, MANY, 0);
	for (int64_t key = 0; key < MANY; key++)
		right += look(file, 1, 2 * key, 2, 0).right;
	assert_true(is_nearly(right, MANY));
	assert_int_equal(look(file, 0, MANY, MANY, 0).right, 0);
	assert_int_equal(look(file, 1, INT64_MIN, MANY, 0).right, 0);
	assert_true(sp_row_file_is_on(file) && sp_row_file_is_ready(file));
	sp_row_file_close(file);
}

static void rows_are_read_as_they_were_written(void **state)
{
	(void)state;
	check_rows(false);
	check_rows(true);
}

static void a_key_has_its_last_row(void **state)
{
	sp_row_file *file = open_file(1 << 20, false);

	(void)state;
	for (unsigned age = 0; age < 5; age++) {
		for (int64_t key = 0; key < 200; key++)
			put(file, 0, key, age);
		await(file, 0, 0, 200, age);
		assert_int_equal(look(file, 0, 0, 200, age).wrong, 0);
	}
	sp_row_file_close(file);
}

static void absent_keys_cost_no_read(void **state)
{
	static sp_row_file_row rows[20 * MANY];
	sp_row_file *file = open_file(1 << 20, false);
	size_t found;

	(void)state;
	for (int64_t key = 0; key < MANY; key++)
		put(file, 0, key, 0);
	await(file, 0, 0, MANY, 0);
	for (size_t i = 0; i < 20 * MANY; i++)
		rows[i] = (sp_row_file_row){.key = (int64_t)i + MANY, .size = sizes[0]};
	found = sp_row_file_find(file, rows, 20 * MANY);
	assert_true(found < 30); /* some three thousandths share a tag */
	sp_row_file_close(file);
}

static void the_file_has_a_fixed_size_and_keeps_new_rows(void **state)
{
	sp_row_file *file = open_file(1 << 20, false);
	size_t held = 0, wrong = 0;
	int fd = find_file();

	(void)state;
	for (int64_t key = 0; key < 40 * MANY; key++)
		put(file, 0, key, 0);
	await(file, 0, 39 * MANY, MANY, 0);
	for (int64_t first = 0; first < 40 * MANY; first += MANY) {
		seen s = look(file, 0, first, MANY, 0);

		held += s.right;
		wrong += s.wrong + s.unreadable;
	}
	print_message("%zu rows of %zu bytes held\n", held, (size_t)sizes[0]);
	assert_int_equal(wrong, 0);
	/* But for a piece that is written next, and the end of the ring, where one did not fit. */
	assert_true(held > (512 << 10) / 280 && held <= (1 << 20) / 280);
	assert_int_equal(look(file, 0, 0, MANY, 0).right, 0);
	assert_in_range(file_size(fd), 512 << 10, 1 << 20);
	assert_true(sp_row_file_footprint(file) < (1 << 20));
	close(fd);
	sp_row_file_close(file);
}

static void rows_in_use_stay(void **state)
{
	enum { HOT = 100 };
	/* An eighth of it is more than is written between looks. */
	sp_row_file *file = open_file(8 << 20, false);

	(void)state;
	for (int64_t key = 0; key < HOT; key++)
		put(file, 1, key, 0);
	await(file, 1, 0, HOT, 0);
	for (int64_t key = 0; key < 50 * MANY; key++) {
		put(file, 0, key, 0);
		if (key % 1000 != 0)
			continue;
		await(file, 0, key, 1, 0); /* so that there is room */
		(void)look(file, 1, 0, HOT, 0);
	}
	assert_true(look(file, 1, 0, HOT, 0).right > HOT * 9 / 10);
	sp_row_file_close(file);
}

static void what_is_damaged_is_told(void **state)
{
	static char bytes[1 << 20];
	sp_row_file *file = open_file(1 << 20, false);
	ssize_t size;
	seen s;
	int fd;

	(void)state;
	for (int64_t key = 0; key < MANY; key++)
		put(file, 0, key, 0);
	await(file, 0, 0, MANY, 0);
	fd = find_file();
	size = pread(fd, bytes, sizeof(bytes), 0);
	assert_true(size > MANY * 280);
	for (ssize_t i = 200; i < size; i += 4096)
		bytes[i] ^= 4;
	assert_int_equal(pwrite(fd, bytes, (size_t)size, 0), size);
	s = look(file, 0, 0, MANY, 0);
	print_message("%zu rows right, %zu damaged\n", s.right, s.unreadable);
	assert_int_equal(s.wrong, 0);
	assert_true(s.unreadable > 20 && s.right >= MANY * 99 / 100 - (size_t)size / 4096 - 1);

	assert_int_equal(ftruncate(fd, 100000), 0); /* it ends within a page */
	s = look(file, 0, 0, MANY, 0);
	assert_int_equal(s.wrong, 0);
	assert_true(s.right > 0 && s.unreadable > MANY / 2);
	close(fd);
	sp_row_file_close(file);
}

static void await_off(const sp_row_file *file)
{
	int64_t end = sp_clock_now_ns() + (int64_t)LONG_MS * MS;

	while (sp_row_file_is_on(file)) {
		assert_true(sp_clock_now_ns() < end);
		usleep(1000);
	}
}

static void a_full_disk_ends_it(void **state)
{
	struct rlimit old, little;
	sp_row_file *file = open_file(4 << 20, false);
	int fd = find_file();

	(void)state;
	for (int64_t key = 0; key < MANY; key++)
		put(file, 0, key, 0);
	await(file, 0, 0, MANY, 0);
	assert_int_equal(getrlimit(RLIMIT_FSIZE, &old), 0);
	little = (struct rlimit){.rlim_cur = 1 << 20, .rlim_max = old.rlim_max};
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &little), 0);
	for (int64_t key = 0; key < 4 * MANY; key++)
		put(file, 0, key, 0);
	await_off(file);
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &old), 0);
	assert_false(sp_row_file_is_ready(file));
	assert_int_equal(look(file, 0, 0, MANY, 0).right, 0);
	put(file, 0, 1, 0); /* nobody waits */
	while (file_size(fd) != 0)
		usleep(1000);
	close(fd);
	sp_row_file_close(file);
}

static void nothing_has_a_name(void **state)
{
	sp_row_file_options options = {.folder = "/proc/none", .cap_bytes = 1};
	sp_row_file *file = open_file(1, false);
	char path[SP_PATH_SIZE + 8];

	(void)state;
	put(file, 0, 1, 0);
	await(file, 0, 1, 1, 0);
	assert_int_equal(rmdir(root), 0); /* it is empty */
	sp_row_file_close(file);
	sp_row_file_close(open_file(1, false)); /* makes the folder */
	assert_int_equal(sp_row_file_open(&file, &options, &err), SP_IO);
	assert_non_null(strstr(err.text, "/proc/none"));
	snprintf(path, sizeof(path), "%s/file", root);
	close(creat(path, 0600));
	options.folder = path;
	assert_int_equal(sp_row_file_open(&file, &options, &err), SP_IO);
	unlink(path);
}

static void no_memory_is_an_error(void **state)
{
	const sp_row_file_options options = {.folder = root, .cap_bytes = 1 << 20, .readers = 2};
	sp_status status = SP_NO_MEMORY;
	sp_row_file *file;
	int64_t n = 0;

	(void)state;
	for (; status != SP_OK; n++) {
		sp_alloc_fail_after(n);
		status = sp_row_file_open(&file, &options, &err);
		sp_alloc_fail_after(-1);
		assert_true(status == SP_OK || status == SP_NO_MEMORY);
		assert_true(n < 1000);
	}
	assert_true(n > 5);
	for (uint32_t t = 0; t < TABLES; t++)
		(void)sp_row_file_add_table(file, sizes[t], MANY);
	sp_alloc_fail_after(0);
	put(file, 0, 1, 0);
	await_off(file);
	sp_alloc_fail_after(-1);
	sp_row_file_close(file);
}

/* A disk that answers some day: a pipe that nobody writes to. */
static void a_disk_that_is_silent_is_left_alone(void **state)
{
	enum { TRIES = 8 };
	sp_row_file_row rows[200];
	sp_row_file *file = open_file(1 << 20, false);
	int ends[2], fd = find_descriptor(), before = dup(fd);
	seen s = {0};

	(void)state;
	for (int64_t key = 0; key < 200; key++) {
		put(file, 0, key, 0);
		rows[key] = (sp_row_file_row){.key = key, .size = sizes[0]};
	}
	await(file, 0, 0, 200, 0);
	assert_true(is_nearly(sp_row_file_find(file, rows, 200), 200));
	sp_row_file_read(file, rows, 200, take, &s, 1); /* long ago */
	assert_int_equal(pipe(ends), 0);
	assert_int_equal(dup2(ends[0], fd), fd);
	s = (seen){0};
	for (int i = 0; i < TRIES && s.unreadable == 0; i++) {
		assert_true(sp_row_file_is_ready(file));
		sp_row_file_read(file, rows, 2, take, &s, sp_clock_now_ns() + 5 * MS);
	}
	if (s.unreadable == 0) /* with io_uring; others cannot read from a pipe */
		assert_false(sp_row_file_is_ready(file)); /* for a second */
	assert_int_equal(s.right, 0);
	assert_true(sp_row_file_is_on(file));
	assert_int_equal(dup2(before, fd), fd);
	close(before);
	close(ends[0]);
	close(ends[1]);
	await(file, 0, 0, 200, 0);
	sp_row_file_close(file);
}

/* ---- many at once ---- */

enum { THREADS = 4, ROUNDS = 60, KEYS = 6000 };

static sp_status use(void *context, size_t part, sp_error *why)
{
	sp_row_file *file = context;
	unsigned char row[WIDEST];

	for (unsigned round = 0; round < ROUNDS; round++) {
		int64_t first = (int64_t)(round * 997 + part * 131) % KEYS;
		seen s = look(file, 0, first, 200, 0);

		if (s.wrong + s.unreadable != 0)
			return sp_error_set(why, SP_CORRUPT, "%zu rows wrong, %zu unreadable",
					    s.wrong, s.unreadable);
		for (int64_t key = first; key < first + 200; key++) {
			make_row(0, key, 0, row);
			(void)sp_row_file_put(file, 0, key, row, sizes[0]);
		}
	}
	return SP_OK;
}

/* The file is written over several times while it is read. */
static void many_at_once_read_right_rows(void **state)
{
	sp_row_file *file = open_file(1 << 20, false);

	(void)state;
	assert_ok(sp_parallel_run(THREADS, THREADS, use, file, &err), &err);
	sp_row_file_close(file);
}

static int set_up(void **state)
{
	(void)state;
	sp_temp_make(root);
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	sp_temp_remove(root);
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(rows_are_read_as_they_were_written),
		cmocka_unit_test(a_key_has_its_last_row),
		cmocka_unit_test(absent_keys_cost_no_read),
		cmocka_unit_test(the_file_has_a_fixed_size_and_keeps_new_rows),
		cmocka_unit_test(rows_in_use_stay),
		cmocka_unit_test(what_is_damaged_is_told),
		cmocka_unit_test(a_full_disk_ends_it),
		cmocka_unit_test(nothing_has_a_name),
		cmocka_unit_test(no_memory_is_an_error),
		cmocka_unit_test(a_disk_that_is_silent_is_left_alone),
		cmocka_unit_test(many_at_once_read_right_rows),
	};

	return cmocka_run_group_tests_name("row_file", tests, set_up, tear_down);
}
