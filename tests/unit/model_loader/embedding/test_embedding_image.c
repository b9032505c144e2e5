#include "tests/support/cmocka.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "model_loader/embedding/embedding_image.h"
#include "tests/support/paths.h"

/*
 * What an image is of, over a copy of tests/golden/embeddings/
 * (scripts/make_embedding_fixtures.py).
 */

static char folder[SP_PATH_SIZE];
static sp_bundle *full;

static int set_up(void **state)
{
	char from[SP_PATH_SIZE], prefix[SP_PATH_SIZE + 16], command[3 * SP_PATH_SIZE];
	sp_error err;

	(void)state;
	snprintf(command, sizeof(command), "cp -r %s/* %s && chmod -R u+w %s",
		 sp_source_path(from, "tests/golden/embeddings/ssd"), sp_temp_make(folder), folder);
	assert_int_equal(system(command), 0);
	snprintf(prefix, sizeof(prefix), "%s/full", folder);
	assert_ok(sp_bundle_open(&full, prefix, &err), &err);
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	sp_bundle_close(full);
	sp_temp_remove(folder);
	return 0;
}

/* Whether it is still as *before says, which becomes what it is now: for free(). */
static bool stays(char **before)
{
	sp_load_policy policy = {.image_folder = folder};
	sp_embedding_image image;
	char *now;
	bool same;

	sp_embedding_image_open(&image, &policy, folder, full, (sp_bytes){"settings", 8});
	now = strndup(image.identity.data, image.identity.size);
	sp_embedding_image_close(&image);
	assert_non_null(now);
	same = *before != NULL && strcmp(*before, now) == 0;
	free(*before);
	*before = now;
	return same;
}

/* Records of an SSD tier have no checksum: that one was written over shows in its file's time. */
static void files_of_an_ssd_tier_count_with_it(void **state)
{
	const char *const changes[] = {"printf x | dd conv=notrunc status=none of=", "rm ",
				       "touch "};
	char *identity = NULL;

	(void)state;
	assert_false(stays(&identity));
	assert_true(stays(&identity));
	for (size_t i = 0; i < sizeof(changes) / sizeof(changes[0]); i++) {
		char line[2 * SP_PATH_SIZE];

		snprintf(line, sizeof(line), "%s%s/full-header-emb_files/0.emb", changes[i],
			 folder);
		assert_int_equal(system(line), 0);
		assert_false(stays(&identity));
		assert_true(stays(&identity));
	}
	free(identity);
}

/* What appears beside a checkpoint and is not of it leaves its image as it is. */
static void leftovers_count_for_nothing(void **state)
{
	static const char *const others[] = {
		"full.index.crc", "full.data-00000-of-00001.tempstate17", "full.index~",
		"full.meta",      "full-header-emb_files/1.emb.tmp",      "full-notes"};
	char *identity = NULL;

	(void)state;
	assert_false(stays(&identity));
	for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++) {
		char line[2 * SP_PATH_SIZE];

		snprintf(line, sizeof(line), "touch %s/%s", folder, others[i]);
		assert_int_equal(system(line), 0);
		assert_true(stays(&identity));
	}
	free(identity);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(files_of_an_ssd_tier_count_with_it, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(leftovers_count_for_nothing, set_up, tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
