#include "tests/support/cmocka.h"

#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/mapping.h"
#include "base/thread.h"
#include "tests/support/paths.h"

enum { PAGE = 4096, PAGES = 16, SIZE = PAGE * PAGES };

static struct {
	char folder[SP_PATH_SIZE];
	char path[SP_PATH_SIZE + 16];
} here;

/* Page p of the file is full of bytes p + 1. */
static void write_pages(size_t size)
{
	FILE *f = fopen(here.path, "wb");

	assert_non_null(f);
	for (size_t i = 0; i < size; i++)
		fputc((int)(i / PAGE) + 1, f);
	assert_int_equal(fclose(f), 0);
}

static sp_mapping map_file(void)
{
	sp_mapping mapping;
	sp_error err;
	sp_file file;

	assert_ok(sp_file_open(&file, here.path, &err), &err);
	assert_ok(sp_mapping_open(&mapping, &file, &err), &err);
	sp_file_close(&file);
	return mapping;
}

static sp_mapping map_pages(size_t size)
{
	write_pages(size);
	return map_file();
}

static unsigned byte_at(const sp_mapping *mapping, size_t i)
{
	return *(const volatile unsigned char *)(mapping->data + i);
}

static int set_up(void **state)
{
	(void)state;
	sp_temp_make(here.folder);
	snprintf(here.path, sizeof(here.path), "%s/file", here.folder);
	alarm(60);
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	alarm(0);
	sp_temp_remove(here.folder);
	return 0;
}

static void a_mapping_is_the_file(void **state)
{
	sp_mapping m = map_pages(SIZE - 100);

	(void)state;
	assert_int_equal(m.size, SIZE - 100);
	for (size_t i = 0; i < m.size; i++)
		assert_int_equal(byte_at(&m, i), i / PAGE + 1);
	assert_false(sp_mapping_is_broken(&m));
	assert_int_equal(unlink(here.path), 0);
	assert_int_equal(byte_at(&m, SIZE - 101), PAGES);
	sp_mapping_close(&m);
	assert_null(m.data);
	sp_mapping_close(&m);
}

static void an_empty_file_is_an_empty_mapping(void **state)
{
	sp_mapping m = map_pages(0);

	(void)state;
	assert_null(m.data);
	assert_int_equal(m.size, 0);
	assert_false(sp_mapping_is_broken(&m));
	assert_true(sp_mapping_populate(&m, 0, 100));
	sp_mapping_advise(&m, 0, 100, SP_MAPPING_RANDOM);
	sp_mapping_close(&m);
}

static void a_file_cut_under_us_reads_as_zeros_and_is_broken(void **state)
{
	sp_mapping m = map_pages(SIZE), other;

	(void)state;
	snprintf(here.path, sizeof(here.path), "%s/other", here.folder);
	other = map_pages(SIZE);
	snprintf(here.path, sizeof(here.path), "%s/file", here.folder);

	assert_int_equal(truncate(here.path, 5 * PAGE), 0);
	assert_int_equal(byte_at(&m, 4 * PAGE), 5);
	assert_false(sp_mapping_is_broken(&m)); /* nobody has touched the hole */
	assert_int_equal(byte_at(&m, SIZE - 1), 0);
	assert_true(sp_mapping_is_broken(&m));
	for (size_t i = 0; i < SIZE; i++)
		assert_int_equal(byte_at(&m, i), i < 5 * PAGE ? i / PAGE + 1 : 0);
	assert_true(sp_mapping_is_broken(&m));
	assert_false(sp_mapping_is_broken(&other));
	assert_int_equal(byte_at(&other, SIZE - 1), PAGES);
	sp_mapping_close(&m);

	m = map_file(); /* what comes after in its place is whole */
	assert_int_equal(m.size, 5 * PAGE);
	assert_false(sp_mapping_is_broken(&m));
	sp_mapping_close(&m);
	sp_mapping_close(&other);
}

static void populating_says_whether_the_file_is_whole(void **state)
{
	sp_mapping m = map_pages(SIZE);
	unsigned char resident[PAGES];

	(void)state;
	sp_mapping_advise(&m, 0, SIZE, SP_MAPPING_RANDOM);
	sp_mapping_advise(&m, 100, 50, SP_MAPPING_WILL_NEED);
	sp_mapping_advise(&m, 0, SIZE, SP_MAPPING_HUGE);
	assert_true(sp_mapping_populate(&m, 0, SIZE));
	assert_int_equal(mincore((void *)m.data, SIZE, resident), 0);
	for (size_t i = 0; i < PAGES; i++)
		assert_true(resident[i] & 1);
	assert_true(sp_mapping_populate(&m, SIZE, 1));
	assert_true(sp_mapping_populate(&m, SIZE_MAX, SIZE_MAX));
	assert_true(sp_mapping_populate(&m, 17, SIZE_MAX));
	sp_mapping_advise(&m, 1, SIZE_MAX, SP_MAPPING_WILL_NEED);
	sp_mapping_advise(&m, SIZE_MAX, 1, SP_MAPPING_WILL_NEED);
	assert_int_equal(byte_at(&m, SIZE - 1), PAGES);

	assert_int_equal(truncate(here.path, PAGE), 0);
	assert_true(sp_mapping_populate(&m, 0, PAGE));
	assert_false(sp_mapping_populate(&m, 0, SIZE));
	assert_true(sp_mapping_is_broken(&m));
	sp_mapping_close(&m);
}

typedef struct race {
	sp_mapping mapping;
	atomic_bool cut;
	atomic_int wrong; /* bytes that are neither the file's nor known to be ours */
	atomic_int broken;
} race;

static void read_all_the_time(void *context)
{
	race *r = context;
	bool cut;

	do {
		cut = atomic_load(&r->cut);
		for (size_t i = 0; i < r->mapping.size; i += 64)
			if (byte_at(&r->mapping, i) != i / PAGE + 1 &&
			    !sp_mapping_is_broken(&r->mapping))
				atomic_fetch_add(&r->wrong, 1);
	} while (!cut);
	if (sp_mapping_is_broken(&r->mapping))
		atomic_fetch_add(&r->broken, 1);
}

static void threads_that_read_while_the_file_is_cut_all_know_it(void **state)
{
	(void)state;
	for (int round = 0; round < 50; round++) {
		sp_thread_group *threads;
		race r = {.mapping = map_pages(SIZE)};
		sp_error err;

		assert_ok(
			sp_thread_group_create(&threads, 3, "reader", read_all_the_time, &r, &err),
			&err);
		usleep(100);
		assert_int_equal(truncate(here.path, PAGE * (round % PAGES)), 0);
		atomic_store(&r.cut, true);
		sp_thread_group_destroy(threads);
		assert_int_equal(r.wrong, 0);
		assert_int_equal(r.broken, 3);
		sp_mapping_close(&r.mapping);
	}
}

/* Opens, breaks and closes mappings of a file of its own. */
static void open_and_close(void *context)
{
	static atomic_int threads;
	atomic_int *failures = context;
	char path[SP_PATH_SIZE + 16];
	sp_error err;

	snprintf(path, sizeof(path), "%s/%d", here.folder, atomic_fetch_add(&threads, 1));
	for (int round = 0; round < 200; round++) {
		FILE *f = fopen(path, "wb");
		sp_mapping m;
		sp_file file;

		if (f == NULL || ftruncate(fileno(f), SIZE) != 0 ||
		    sp_file_open(&file, path, &err) != SP_OK ||
		    sp_mapping_open(&m, &file, &err) != SP_OK) {
			atomic_fetch_add(failures, 1);
			return;
		}
		if (sp_mapping_is_broken(&m) || ftruncate(fileno(f), PAGE) != 0 ||
		    byte_at(&m, PAGE * (2 + (size_t)round % 10)) != 0 || !sp_mapping_is_broken(&m))
			atomic_fetch_add(failures, 1);
		sp_mapping_close(&m);
		sp_file_close(&file);
		fclose(f);
	}
}

static void mappings_come_and_go_in_many_threads(void **state)
{
	sp_thread_group *threads;
	atomic_int failures = 0;
	sp_error err;

	(void)state;
	assert_ok(sp_thread_group_create(&threads, 4, "opener", open_and_close, &failures, &err),
		  &err);
	sp_thread_group_destroy(threads);
	assert_int_equal(failures, 0);
}

static void as_many_as_there_is_room_for(void **state)
{
	static sp_mapping mappings[SP_MAPPING_LIMIT];
	sp_mapping one_more;
	sp_error err;
	sp_file file;

	(void)state;
	write_pages(2 * PAGE);
	assert_ok(sp_file_open(&file, here.path, &err), &err);
	for (size_t i = 0; i < SP_MAPPING_LIMIT; i++)
		assert_ok(sp_mapping_open(&mappings[i], &file, &err), &err);
	assert_int_equal(sp_mapping_open(&one_more, &file, &err), SP_BUSY);
	assert_non_null(strstr(err.text, "4096 files"));
	assert_null(one_more.data);
	sp_mapping_close(&mappings[17]);
	assert_ok(sp_mapping_open(&mappings[17], &file, &err), &err);

	assert_int_equal(truncate(here.path, PAGE), 0);
	for (size_t i = 0; i < SP_MAPPING_LIMIT; i++) {
		assert_int_equal(byte_at(&mappings[i], PAGE), 0);
		assert_true(sp_mapping_is_broken(&mappings[i]));
		if (i + 1 < SP_MAPPING_LIMIT)
			assert_false(sp_mapping_is_broken(&mappings[i + 1]));
	}
	for (size_t i = 0; i < SP_MAPPING_LIMIT; i++)
		sp_mapping_close(&mappings[i]);
	sp_file_close(&file);
}

static void what_cannot_be_mapped_is_an_error(void **state)
{
	sp_mapping m;
	sp_error err;
	sp_file closed = {.fd = -1, .size = 10}, vast = {.fd = 0, .size = UINT64_MAX};

	(void)state;
	assert_int_equal(sp_mapping_open(&m, &closed, &err), SP_IO);
	assert_non_null(strstr(err.text, "Bad file descriptor"));
	assert_null(m.guard);
	assert_int_equal(sp_mapping_open(&m, &vast, &err), SP_IO);
	sp_mapping_close(&m);
}

static struct sigaction action_now(void)
{
	struct sigaction now;

	assert_int_equal(sigaction(SIGBUS, NULL, &now), 0);
	return now;
}

static void the_former_handler_is_back_after_the_last_mapping(void **state)
{
	struct sigaction before = action_now(), during;
	sp_mapping a = map_pages(SIZE), b = map_file();

	(void)state;
	during = action_now();
	assert_ptr_not_equal(before.sa_handler, during.sa_handler);
	sp_mapping_close(&a);
	assert_ptr_equal(action_now().sa_handler, during.sa_handler);
	sp_mapping_close(&b);
	assert_ptr_equal(action_now().sa_handler, before.sa_handler);
}

/* ---------------------------------------------------------------- in a child of its own */

/* Runs body() in a child; its exit status, or minus the signal that ended it. */
static int in_child(int (*body)(void))
{
	pid_t child = fork();
	int status;

	if (child == 0)
		_exit(body());
	assert_int_not_equal(child, -1);
	assert_int_equal(waitpid(child, &status, 0), child);
	return WIFSIGNALED(status) ? -WTERMSIG(status) : WEXITSTATUS(status);
}

/* A hole that is none of ours. */
static const volatile char *foreign_hole(void)
{
	FILE *f = fopen(here.path, "w+b");
	void *data;

	if (f == NULL || ftruncate(fileno(f), PAGE) != 0)
		_exit(90);
	data = mmap(NULL, PAGE, PROT_READ, MAP_SHARED, fileno(f), 0);
	if (data == MAP_FAILED || ftruncate(fileno(f), 0) != 0)
		_exit(91);
	fclose(f);
	return data;
}

static sigjmp_buf way_out;
static volatile const void *seen_address;

static void note_and_leave(int number, siginfo_t *info, void *context)
{
	(void)number;
	(void)context;
	seen_address = info->si_addr;
	siglongjmp(way_out, 1);
}

static void just_leave(int number)
{
	(void)number;
	siglongjmp(way_out, 1);
}

static int touch_foreign_with(const struct sigaction *former)
{
	sp_mapping m;
	const volatile char *hole;

	sigaction(SIGBUS, former, NULL);
	m = map_pages(SIZE);
	hole = foreign_hole();
	if (sigsetjmp(way_out, 1) == 0) {
		(void)*hole;
		return 1;
	}
	if ((former->sa_flags & SA_SIGINFO) != 0 && seen_address != hole)
		return 2;
	return sp_mapping_is_broken(&m) ? 3 : 0;
}

static int with_action(void)
{
	return touch_foreign_with(
		&(struct sigaction){.sa_sigaction = note_and_leave, .sa_flags = SA_SIGINFO});
}

static int with_handler(void)
{
	return touch_foreign_with(&(struct sigaction){.sa_handler = just_leave});
}

static int with_default(void)
{
	return touch_foreign_with(&(struct sigaction){.sa_handler = SIG_DFL});
}

static int with_ignore(void)
{
	return touch_foreign_with(&(struct sigaction){.sa_handler = SIG_IGN});
}

static void a_foreign_hole_is_the_former_handlers(void **state)
{
	(void)state;
	assert_int_equal(in_child(with_action), 0);
	assert_int_equal(in_child(with_handler), 0);
	assert_int_equal(in_child(with_default), -SIGBUS);
	assert_int_equal(in_child(with_ignore), -SIGBUS); /* as without us */
}

static int sent_by_kill_with(void (*handler)(int))
{
	signal(SIGBUS, handler);
	map_pages(SIZE);
	if (sigsetjmp(way_out, 1) == 0) {
		kill(getpid(), SIGBUS);
		return 5;
	}
	return 6;
}

static int sent_to_default(void)
{
	return sent_by_kill_with(SIG_DFL);
}

static int sent_to_nobody(void)
{
	return sent_by_kill_with(SIG_IGN);
}

static int sent_to_handler(void)
{
	return sent_by_kill_with(just_leave);
}

static void a_signal_that_somebody_sent_is_passed_on(void **state)
{
	(void)state;
	assert_int_equal(in_child(sent_to_default), -SIGBUS);
	assert_int_equal(in_child(sent_to_nobody), 5);
	assert_int_equal(in_child(sent_to_handler), 6);
}

static struct sigaction below;

static void ask_below(int number, siginfo_t *info, void *context)
{
	if ((uintptr_t)info->si_addr == (uintptr_t)seen_address)
		siglongjmp(way_out, 1);
	below.sa_sigaction(number, info, context);
}

static int with_a_later_handler(void)
{
	struct sigaction later = {.sa_sigaction = ask_below, .sa_flags = SA_SIGINFO};
	sp_mapping m = map_pages(SIZE), again;

	sigaction(SIGBUS, &later, &below);
	if (truncate(here.path, PAGE) != 0 || byte_at(&m, SIZE - 1) != 0 ||
	    !sp_mapping_is_broken(&m))
		return 1;
	sp_mapping_close(&m);
	if (action_now().sa_sigaction != ask_below)
		return 2;
	again = map_pages(SIZE);
	if (truncate(here.path, PAGE) != 0 || byte_at(&again, SIZE - 1) != 0 ||
	    !sp_mapping_is_broken(&again))
		return 3;
	sp_mapping_close(&again);
	seen_address = foreign_hole();
	if (sigsetjmp(way_out, 1) == 0) {
		(void)*(const volatile char *)seen_address;
		return 4;
	}
	return 0;
}

static void a_handler_installed_later_may_pass_on_to_ours(void **state)
{
	(void)state;
	assert_int_equal(in_child(with_a_later_handler), 0);
}

#define CASE(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)

/* A host that handled SIGBUS for a while and then put back the default, not ours. */
static int lost_and_found(void)
{
	sp_mapping first, second;

	signal(SIGBUS, SIG_DFL);
	first = map_pages(SIZE);
	signal(SIGBUS, just_leave);
	signal(SIGBUS, SIG_DFL);
	second = map_pages(SIZE);
	if (truncate(here.path, 0) != 0 || second.data[0] != 0 || !sp_mapping_is_broken(&second) ||
	    first.data[0] != 0 || !sp_mapping_is_broken(&first))
		return 1;
	signal(SIGBUS, SIG_DFL);
	sp_mapping_close(&first);
	sp_mapping_close(&second);
	first = map_pages(SIZE);
	return truncate(here.path, 0) == 0 && first.data[0] == 0 && sp_mapping_is_broken(&first)
		       ? 0
		       : 2;
}

static void a_handler_that_was_lost_is_installed_again(void **state)
{
	(void)state;
	assert_int_equal(in_child(lost_and_found), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		CASE(a_mapping_is_the_file),
		CASE(an_empty_file_is_an_empty_mapping),
		CASE(a_file_cut_under_us_reads_as_zeros_and_is_broken),
		CASE(populating_says_whether_the_file_is_whole),
		CASE(threads_that_read_while_the_file_is_cut_all_know_it),
		CASE(mappings_come_and_go_in_many_threads),
		CASE(as_many_as_there_is_room_for),
		CASE(what_cannot_be_mapped_is_an_error),
		CASE(the_former_handler_is_back_after_the_last_mapping),
		CASE(a_foreign_hole_is_the_former_handlers),
		CASE(a_signal_that_somebody_sent_is_passed_on),
		CASE(a_handler_installed_later_may_pass_on_to_ours),
		CASE(a_handler_that_was_lost_is_installed_again),
	};

	return cmocka_run_group_tests_name("mapping", tests, NULL, NULL);
}
