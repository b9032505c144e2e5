#include "tests/unit/storage/image/image_scene.h"

#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>

#include "storage/image/image_folder.h"

static sp_image_place place_for(const char *what)
{
	return (sp_image_place){.folder = folder,
				.model = sp_bytes_of("model"),
				.identity = sp_bytes_of(what),
				.keep = 2};
}

static void store(const char *what)
{
	sp_rows *rows = make_rows(SMALL, DIM, SP_ROW_FP32);
	sp_image_table table = {.name = "t", .rows = rows};
	sp_image_place place = place_for(what);
	sp_image *image;
	sp_error err;

	assert_int_equal(sp_image_place_open(&place, &image, &err), SP_NOT_FOUND);
	assert_ok(sp_image_place_store(&place, &table, 1, &image, &err), &err);
	sp_image_place_close(&place);
	sp_image_release(image);
	sp_rows_release(rows);
	usleep(20000); /* times of files are coarse */
}

static bool is_there(const char *what)
{
	sp_image_place place = place_for(what);
	sp_image *image;
	sp_error err;
	sp_status status = sp_image_place_open(&place, &image, &err);

	sp_image_place_close(&place);
	sp_image_release(image);
	return status == SP_OK;
}

static void the_newest_images_of_a_model_stay(void **state)
{
	sp_image_place other = place_for("other");
	sp_rows *rows = make_rows(1, DIM, SP_ROW_FP32);
	sp_image_table table = {.name = "t", .rows = rows};
	sp_image *image;
	sp_error err;

	(void)state;
	other.model = sp_bytes_of("another model");
	assert_int_equal(sp_image_place_open(&other, &image, &err), SP_NOT_FOUND);
	assert_ok(sp_image_place_store(&other, &table, 1, &image, &err), &err);
	sp_image_place_close(&other);
	sp_image_release(image);
	sp_rows_release(rows);

	store("1");
	store("2");
	assert_true(is_there("1"));
	usleep(20000);
	assert_true(is_there("2"));
	usleep(20000);
	assert_true(is_there("1")); /* used last */
	usleep(20000);
	store("3");
	assert_true(is_there("1"));
	assert_false(is_there("2"));
	assert_true(is_there("3"));
	assert_ok(sp_image_place_open(&other, &image, &err), &err);
	sp_image_release(image);
}

static void a_bad_image_is_made_again(void **state)
{
	(void)state;
	for (int round = 0; round < 3; round++) {
		char name[512];
		DIR *d;
		struct dirent *entry;

		store("1");
		d = opendir(folder);
		while ((entry = readdir(d)) != NULL)
			if (strstr(entry->d_name, ".image") != NULL)
				snprintf(path, sizeof(path), "%s/%s", folder,
					 strcpy(name, entry->d_name));
		closedir(d);
		if (round == 0)
			xor_byte(20, 1);
		else if (round == 1)
			assert_int_equal(truncate(path, 5000), 0);
		else
			assert_int_equal(truncate(path, 0), 0);
		assert_false(is_there("1"));
	}
	store("1");
	assert_true(is_there("1"));
}

/* A child that makes images until it is killed. */
static void make_for_ever(void)
{
	for (int i = 0;; i++) {
		sp_rows *rows = make_rows(LARGE, DIM, SP_ROW_FP32);
		sp_image_table table = {.name = "t", .rows = rows};
		sp_image_place place = place_for("k");
		sp_image *image = NULL;
		sp_status status = sp_image_place_open(&place, &image, NULL);

		if (status == SP_NOT_FOUND)
			status = sp_image_place_store(&place, &table, 1, &image, NULL);
		if (image != NULL)
			unlink(sp_image_path(image));
		sp_image_release(image);
		sp_image_place_close(&place);
		sp_rows_release(rows);
		if (status != SP_OK)
			_exit(1);
	}
}

static void a_killed_process_leaves_no_wrong_image_and_no_rubbish(void **state)
{
	sp_rows *rows = make_rows(LARGE, DIM, SP_ROW_FP32);
	sp_image_table source = {.name = "t", .rows = rows};
	unsigned seed = 4711;

	(void)state;
	for (int round = 0; round < 25; round++) {
		sp_image_place place = place_for("k");
		sp_image *image;
		sp_table *table;
		sp_error err;
		pid_t child = fork();
		int how;

		if (child == 0)
			make_for_ever();
		assert_true(child > 0);
		usleep(rand_r(&seed) % 60000);
		kill(child, SIGKILL);
		waitpid(child, &how, 0);
		assert_true(WIFSIGNALED(how));
		if (sp_image_place_open(&place, &image, &err) != SP_OK)
			assert_ok(sp_image_place_store(&place, &source, 1, &image, &err), &err);
		sp_image_place_close(&place);
		table = table_over(take(image, "t"));
		expect_all(table, LARGE);
		sp_table_destroy(table);
		unlink(sp_image_path(image));
		sp_image_release(image);
	}
	store("last");
	assert_int_equal(files_in_folder(), 2); /* the image and the lock */
	sp_rows_release(rows);
}

static bool at_once(void *context)
{
	++*(int *)context;
	return true;
}

static void who_comes_second_waits_and_finds_it_made(void **state)
{
	sp_rows *rows = make_rows(SMALL, DIM, SP_ROW_FP32);
	sp_image_table table = {.name = "t", .rows = rows};
	sp_image_place first = place_for("2"), impatient = place_for("2");
	sp_image *image;
	sp_error err;
	int asked = 0, how;
	pid_t child;

	(void)state;
	assert_int_equal(sp_image_place_open(&first, &image, &err), SP_NOT_FOUND);
	impatient.give_up = at_once;
	impatient.context = &asked;
	assert_int_equal(sp_image_place_open(&impatient, &image, &err), SP_BUSY);
	assert_int_equal(asked, 1);

	child = fork();
	if (child == 0) {
		close(first.lock);
		_exit(is_there("2") ? 0 : 1);
	}
	assert_true(child > 0);
	usleep(100000);
	assert_int_equal(waitpid(child, &how, WNOHANG), 0); /* it waits */
	assert_ok(sp_image_place_store(&first, &table, 1, &image, &err), &err);
	sp_image_place_close(&first);
	assert_int_equal(waitpid(child, &how, 0), child);
	assert_true(WIFEXITED(how) && WEXITSTATUS(how) == 0);
	sp_image_release(image);
	sp_rows_release(rows);
}

static void a_folder_that_cannot_be_is_an_error(void **state)
{
	sp_image_place place = place_for("1");
	char long_path[5000];
	sp_image *image;
	sp_error err;

	(void)state;
	place.folder = "/dev/null/images";
	assert_int_equal(sp_image_place_open(&place, &image, &err), SP_IO);
	memset(long_path, 'x', sizeof(long_path));
	long_path[sizeof(long_path) - 1] = '\0';
	place.folder = long_path;
	assert_int_equal(sp_image_place_open(&place, &image, &err), SP_INVALID);
	sp_image_place_close(&place);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		CASE(the_newest_images_of_a_model_stay),
		CASE(a_bad_image_is_made_again),
		CASE(a_killed_process_leaves_no_wrong_image_and_no_rubbish),
		CASE(who_comes_second_waits_and_finds_it_made),
		CASE(a_folder_that_cannot_be_is_an_error),
	};

	return cmocka_run_group_tests_name("image_folder", tests, NULL, NULL);
}
