#include "tests/support/cmocka.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/file.h"
#include "base/log.h"
#include "storage/ssd/ssd_folder.h"
#include "tests/support/paths.h"

static char temp[SP_PATH_SIZE], root[SP_PATH_SIZE + 16];

static int set_up(void **state)
{
	sp_error error;

	(void)state;
	sp_log_set_level(SP_LOG_ERROR);
	sp_temp_make(temp);
	snprintf(root, sizeof(root), "%s/ssd", temp);
	assert_ok(sp_ssd_root_prepare(root, &error), &error);
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	sp_temp_remove(temp);
	return 0;
}

/* Entries of the root that are folders of the tier. */
static size_t count_folders(void)
{
	DIR *entries = opendir(root);
	const struct dirent *entry;
	size_t count = 0;

	assert_non_null(entries);
	while ((entry = readdir(entries)) != NULL)
		count += strncmp(entry->d_name, "sp-ssd-", strlen("sp-ssd-")) == 0;
	closedir(entries);
	return count;
}

/* A folder with a file in it. */
static sp_ssd_folder begin(const char *name)
{
	sp_ssd_folder folder;
	sp_error error;
	int fd;

	assert_ok(sp_ssd_folder_begin(&folder, root, name, &error), &error);
	assert_int_equal(mkdir(sp_ssd_folder_file(&folder, "rows").text, 0755), 0);
	fd = open(sp_ssd_folder_file(&folder, "rows/file").text, O_CREAT | O_WRONLY, 0644);
	assert_true(fd >= 0);
	close(fd);
	return folder;
}

static sp_ssd_folder publish(const char *name, const char *label)
{
	sp_ssd_folder folder = begin(name);
	sp_error error;

	assert_ok(sp_ssd_folder_publish(&folder, root, name, label, &error), &error);
	return folder;
}

static void publish_and_close(const char *name, const char *label)
{
	sp_ssd_folder folder = publish(name, label);

	sp_ssd_folder_close(&folder);
}

static bool exists(const char *name, const char *label)
{
	sp_ssd_folder folder = {.lock = -1};
	sp_error error;
	sp_status status = sp_ssd_folder_open(&folder, root, name, label, &error);

	assert_true(status == SP_OK || status == SP_NOT_FOUND);
	sp_ssd_folder_close(&folder);
	return status == SP_OK;
}

static void clean(const char *family, const char *current)
{
	sp_error error;

	assert_ok(sp_ssd_root_clean(root, family, current, &error), &error);
}

static void a_folder_is_there_once_it_is_published(void **state)
{
	sp_ssd_folder folder = begin("a-1");
	sp_error error;

	(void)state;
	assert_false(exists("a-1", "words"));
	assert_ok(sp_ssd_folder_publish(&folder, root, "a-1", "words", &error), &error);
	assert_true(exists("a-1", "words"));
	assert_true(sp_file_exists(sp_ssd_folder_file(&folder, "rows/file").text));
	sp_ssd_folder_close(&folder);
	assert_true(exists("a-1", "words"));
	assert_int_equal(count_folders(), 1);
}

static void a_folder_of_other_words_is_not_the_one(void **state)
{
	(void)state;
	publish_and_close("a-1", "words");
	assert_false(exists("a-1", "wordz"));
	assert_false(exists("a-1", "word"));
	assert_false(exists("a-1", "words and more"));
	assert_false(exists("a-2", "words"));
}

static void publishing_again_replaces(void **state)
{
	sp_ssd_folder first = publish("a-1", "old"), second = publish("a-1", "new");

	(void)state;
	assert_true(exists("a-1", "new"));
	assert_int_equal(count_folders(), 1);
	sp_ssd_folder_close(&first);
	sp_ssd_folder_close(&second);
}

static void what_is_not_trusted_is_not_found(void **state)
{
	sp_ssd_folder folder = publish("a-1", "words");

	(void)state;
	sp_ssd_folder_distrust(&folder);
	assert_false(exists("a-1", "words"));
	sp_ssd_folder_close(&folder);
	publish_and_close("a-1", "words");
	assert_true(exists("a-1", "words"));
	assert_int_equal(count_folders(), 1);
}

static void discarding_deletes(void **state)
{
	sp_ssd_folder building = begin("a-1"), complete = publish("a-2", "words");

	(void)state;
	sp_ssd_folder_discard(&building, root);
	sp_ssd_folder_discard(&complete, root);
	assert_true(complete.path.text[0] == '\0');
	sp_ssd_folder_discard(&complete, root);
	assert_int_equal(count_folders(), 0);
}

static void what_a_living_process_builds_or_uses_stays(void **state)
{
	sp_ssd_folder building = begin("a-1"), used = publish("a-2", "words");

	(void)state;
	publish_and_close("a-3", "words");
	publish_and_close("a-4", "words");
	publish_and_close("b-1", "words");
	clean("a-", "a-4");
	assert_true(sp_file_is_directory(building.path.text));
	assert_true(exists("a-2", "words"));
	assert_false(exists("a-3", "words"));
	assert_true(exists("a-4", "words"));
	assert_true(exists("b-1", "words"));
	sp_ssd_folder_close(&used);
	clean("a-", "a-4");
	assert_false(exists("a-2", "words"));
	sp_ssd_folder_discard(&building, root);
}

static void without_a_family_complete_folders_stay(void **state)
{
	(void)state;
	publish_and_close("a-1", "words");
	clean(NULL, NULL);
	assert_true(exists("a-1", "words"));
}

/* Runs in a child that is killed while it builds, at the `point`-th step. */
static void build_and_die(int point)
{
	char path[SP_PATH_SIZE + 64];
	sp_ssd_folder folder;

	if (point == 0) {
		/* Between making the folder and its lock. */
		snprintf(path, sizeof(path), "%s/sp-ssd-a-1.building-000000", root);
		mkdir(path, 0755);
		abort();
	}
	if (sp_ssd_folder_begin(&folder, root, "a-1", NULL) != SP_OK)
		_exit(1);
	if (point == 1)
		kill(getpid(), SIGKILL);
	snprintf(path, sizeof(path), "%s/label", folder.path.text);
	close(open(path, O_CREAT | O_WRONLY, 0644));
	if (point == 2)
		kill(getpid(), SIGKILL);
	/* In the middle of deleting. */
	snprintf(path, sizeof(path), "%s/sp-ssd-a-1.removed-000000", root);
	rename(folder.path.text, path);
	kill(getpid(), SIGKILL);
}

static void what_a_killed_process_has_left_goes(void **state)
{
	(void)state;
	for (int point = 0; point < 4; point++) {
		pid_t pid = fork();
		int status;

		if (pid == 0) {
			build_and_die(point);
			_exit(1);
		}
		assert_int_equal(waitpid(pid, &status, 0), pid);
		assert_true(WIFSIGNALED(status));
		assert_false(exists("a-1", ""));
		clean(NULL, NULL);
		assert_int_equal(count_folders(), 0);
	}
}

static void what_others_have_in_the_root_stays(void **state)
{
	char path[SP_PATH_SIZE + 64];

	(void)state;
	snprintf(path, sizeof(path), "%s/other.building-1", root);
	assert_int_equal(mkdir(path, 0755), 0);
	clean("", "x");
	assert_true(sp_file_is_directory(path));
}

static void a_link_is_not_followed(void **state)
{
	char path[2 * SP_PATH_SIZE], outside[SP_PATH_SIZE + 64];
	sp_ssd_folder folder = begin("a-1");

	(void)state;
	snprintf(outside, sizeof(outside), "%s/outside", temp);
	assert_int_equal(mkdir(outside, 0755), 0);
	snprintf(path, sizeof(path), "%s/rows/link", folder.path.text);
	assert_int_equal(symlink(outside, path), 0);
	snprintf(path, sizeof(path), "%s/file", outside);
	close(open(path, O_CREAT | O_WRONLY, 0644));
	sp_ssd_folder_discard(&folder, root);
	assert_true(sp_file_exists(path));
	assert_int_equal(count_folders(), 0);
}

static void a_root_that_cannot_be_is_refused(void **state)
{
	char path[SP_PATH_SIZE + 64];
	sp_error error;

	(void)state;
	snprintf(path, sizeof(path), "%s/no/such/root", temp);
	assert_int_equal(sp_ssd_root_prepare(path, &error), SP_IO);
	assert_non_null(strstr(error.text, path));
	assert_int_equal(sp_ssd_root_prepare("/dev/null", &error), SP_INVALID);
	assert_int_equal(sp_ssd_root_clean(path, NULL, NULL, &error), SP_IO);
}

static void memory_that_is_out_is_an_error(void **state)
{
	sp_status status = SP_NO_MEMORY;

	(void)state;
	for (int64_t n = 0; status != SP_OK; n++) {
		sp_ssd_folder folder = {.lock = -1};

		sp_alloc_fail_after(n);
		status = sp_ssd_folder_begin(&folder, root, "a-1", NULL);
		if (status == SP_OK)
			status = sp_ssd_folder_publish(&folder, root, "a-1", "words", NULL);
		sp_alloc_fail_after(-1);
		assert_true(status == SP_OK || status == SP_NO_MEMORY);
		if (status == SP_OK)
			sp_ssd_folder_close(&folder);
		else
			sp_ssd_folder_discard(&folder, root);
		assert_true(n < 50);
	}
	assert_true(exists("a-1", "words"));
	assert_int_equal(count_folders(), 1);
}

#define ON_DISK(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		ON_DISK(a_folder_is_there_once_it_is_published),
		ON_DISK(a_folder_of_other_words_is_not_the_one),
		ON_DISK(publishing_again_replaces),
		ON_DISK(what_is_not_trusted_is_not_found),
		ON_DISK(discarding_deletes),
		ON_DISK(what_a_living_process_builds_or_uses_stays),
		ON_DISK(without_a_family_complete_folders_stay),
		ON_DISK(what_a_killed_process_has_left_goes),
		ON_DISK(what_others_have_in_the_root_stays),
		ON_DISK(a_link_is_not_followed),
		ON_DISK(a_root_that_cannot_be_is_refused),
		ON_DISK(memory_that_is_out_is_an_error),
	};
	return cmocka_run_group_tests_name("ssd_folder", tests, NULL, NULL);
}
