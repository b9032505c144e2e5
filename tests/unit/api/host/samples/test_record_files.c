#include "tests/support/cmocka.h"

#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "api/host/samples/record_files.h"
#include "api/host/samples/record_frame.h"
#include "base/clock.h"
#include "base/log.h"
#include "tests/support/paths.h"

static char folder[SP_PATH_SIZE], prefix[SP_PATH_SIZE + 16];
static int log_lines;

static const sp_record_limits wide = {1000, 1 << 20, INT64_MAX};

static void count_line(void *context, int level, const char *line)
{
	(void)context;
	(void)level;
	(void)line;
	log_lines++;
}

static int set_up(void **state)
{
	(void)state;
	log_lines = 0;
	sp_log_set_sink(count_line, NULL);
	snprintf(prefix, sizeof(prefix), "%s/p", sp_temp_make(folder));
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	sp_log_set_sink(NULL, NULL);
	sp_temp_remove(folder);
	return 0;
}

/* How many files have names with that end; the path of the last one seen. */
static int count_files(const char *end, char *path)
{
	DIR *listed = opendir(folder);
	const struct dirent *entry;
	int count = 0;

	assert_non_null(listed);
	while ((entry = readdir(listed)) != NULL) {
		size_t size = strlen(entry->d_name);

		if (size < strlen(end) || strcmp(entry->d_name + size - strlen(end), end) != 0)
			continue;
		if (path != NULL)
			snprintf(path, SP_PATH_SIZE + 300, "%s/%s", folder, entry->d_name);
		count++;
	}
	closedir(listed);
	return count;
}

static size_t read_file(const char *path, char *out, size_t room)
{
	FILE *file = fopen(path, "rb");
	size_t size;

	assert_non_null(file);
	size = fread(out, 1, room, file);
	fclose(file);
	return size;
}

static bool add(sp_record_files *files, const char *text)
{
	return sp_record_files_add(files, sp_bytes_of(text));
}

/* Written by TFRecordWriter of TensorFlow 2.15. */
static void records_are_framed_as_tensorflow_does(void **state)
{
	static const char record[] = "\062\043\012\041\012\012\012\001\155\032\005\164\145\170\164"
				     "\163\022\023\012\001\164\022\016\010\007\022\004\022\002\010"
				     "\001\102\004\167\141\162\155";
	static const char framed[] = "\045\000\000\000\000\000\000\000\352\274\066\363\062\043\012"
				     "\041\012\012\012\001\155\032\005\164\145\170\164\163\022\023"
				     "\012\001\164\022\016\010\007\022\004\022\002\010\001\102\004"
				     "\167\141\162\155\360\200\070\100";
	sp_record_files *files = sp_record_files_create(prefix, &wide);
	char path[SP_PATH_SIZE + 300], bytes[256];

	(void)state;
	assert_non_null(files);
	assert_true(sp_record_files_add(files, (sp_bytes){record, sizeof(record) - 1}));
	assert_int_equal(count_files(".tfrecord.part", path), 1);
	assert_int_equal(count_files(".tfrecord", NULL), 0);
	assert_int_equal(read_file(path, bytes, sizeof(bytes)), sizeof(framed) - 1);
	assert_memory_equal(bytes, framed, sizeof(framed) - 1);
	sp_record_files_destroy(files);
	assert_int_equal(count_files(".part", NULL), 0);
	assert_int_equal(count_files(".tfrecord", NULL), 1);
	sp_record_files_destroy(NULL);
}

static void files_end_by_records_size_and_time(void **state)
{
	const sp_record_limits two = {2, 1 << 20, INT64_MAX}, small = {1000, 60, INT64_MAX},
			       short_time = {1000, 1 << 20, 1000000000};
	sp_record_files *files = sp_record_files_create(prefix, &two);

	(void)state;
	for (int i = 0; i < 5; i++)
		assert_true(add(files, "record"));
	assert_int_equal(count_files(".tfrecord", NULL), 2);
	assert_int_equal(count_files(".part", NULL), 1);
	sp_record_files_destroy(files);
	assert_int_equal(count_files(".tfrecord", NULL), 3);

	files = sp_record_files_create(prefix, &small); /* a record has 22 bytes in its file */
	for (int i = 0; i < 4; i++)
		assert_true(add(files, "record"));
	assert_int_equal(count_files(".tfrecord", NULL), 4);
	assert_true(add(files, "a record that is larger than a file should be, sixty bytes"));
	assert_int_equal(count_files(".tfrecord", NULL), 6);
	sp_record_files_destroy(files);
	assert_int_equal(count_files(".tfrecord", NULL), 6);

	files = sp_record_files_create(prefix, &short_time);
	sp_record_files_tick(files, INT64_MAX);
	assert_true(add(files, "record"));
	sp_record_files_tick(files, sp_clock_now_ns());
	assert_int_equal(count_files(".part", NULL), 1);
	sp_record_files_tick(files, sp_clock_now_ns() + 1000000000);
	assert_int_equal(count_files(".part", NULL), 0);
	assert_int_equal(count_files(".tfrecord", NULL), 7);
	sp_record_files_destroy(files);
}

/* A limit of the size of files stands in for a full disk: the write fails after a part of it. */
static void a_full_disk_leaves_whole_records(void **state)
{
	sp_record_files *files = sp_record_files_create(prefix, &wide);
	char path[SP_PATH_SIZE + 300], bytes[256];
	struct rlimit usual, full;

	(void)state;
	assert_int_equal(getrlimit(RLIMIT_FSIZE, &usual), 0);
	full = (struct rlimit){30, usual.rlim_max};
	signal(SIGXFSZ, SIG_IGN);
	assert_true(add(files, "record"));
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &full), 0);
	for (int i = 0; i < 3; i++)
		assert_false(add(files, "record"));
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &usual), 0);
	assert_int_equal(log_lines, 1);
	assert_int_equal(count_files(".part", path), 1);
	assert_int_equal(read_file(path, bytes, sizeof(bytes)), 22);
	assert_true(add(files, "record"));
	assert_int_equal(log_lines, 2);
	assert_int_equal(read_file(path, bytes, sizeof(bytes)), 44);
	assert_memory_equal(bytes, bytes + 22, 22);
	sp_record_files_destroy(files);
}

static void a_missing_folder_is_told_once(void **state)
{
	char missing[SP_PATH_SIZE + 16];
	sp_record_files *files;

	(void)state;
	snprintf(missing, sizeof(missing), "%s/later/p", folder);
	files = sp_record_files_create(missing, &wide);
	assert_false(add(files, "record"));
	assert_false(add(files, "record"));
	assert_int_equal(log_lines, 1);
	*strrchr(missing, '/') = '\0';
	assert_int_equal(mkdir(missing, 0700), 0);
	strcat(missing, "/p");
	assert_true(add(files, "record"));
	assert_int_equal(log_lines, 2);
	sp_record_files_destroy(files);
}

static void what_a_killed_process_leaves_is_finished(void **state)
{
	unsigned char head[SP_RECORD_HEAD], tail[SP_RECORD_TAIL];
	char bytes[256], path[SP_PATH_SIZE + 300];
	sp_record_files *files;
	int held;

	(void)state;
	sp_record_frame(head, tail, sp_bytes_of("record"));
	memcpy(bytes, head, sizeof(head));
	memcpy(bytes + 12, "record", 6);
	memcpy(bytes + 18, tail, sizeof(tail));
	memcpy(bytes + 22, bytes, 21);
	sp_temp_write(prefix, "-1.tfrecord.part", (sp_bytes){bytes, 43});
	sp_temp_write(prefix, "-2.tfrecord.part", (sp_bytes){bytes, 21});
	sp_temp_write(prefix, "-3.tfrecord.part", (sp_bytes){bytes, 22});
	sp_temp_write(folder, "/other-1.tfrecord.part", (sp_bytes){bytes, 43});
	snprintf(path, sizeof(path), "%s-3.tfrecord.part", prefix);
	held = open(path, O_RDONLY | O_CLOEXEC);
	assert_int_equal(flock(held, LOCK_EX), 0);

	files = sp_record_files_create(prefix, &wide);
	assert_true(add(files, "record"));
	assert_int_equal(log_lines, 1);
	assert_int_equal(count_files(".part", NULL), 3); /* the held one, the other, our own */
	assert_int_equal(count_files(".tfrecord", path), 1);
	assert_int_equal(read_file(path, bytes + 100, 100), 22);
	assert_memory_equal(bytes, bytes + 100, 22);
	sp_record_files_destroy(files);
	close(held);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(records_are_framed_as_tensorflow_does, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(files_end_by_records_size_and_time, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(a_full_disk_leaves_whole_records, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(a_missing_folder_is_told_once, set_up, tear_down),
		cmocka_unit_test_setup_teardown(what_a_killed_process_leaves_is_finished, set_up,
						tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
