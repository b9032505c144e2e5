#include "tests/support/cmocka.h"

#include <string.h>

#include "base/status.h"

static void every_status_has_a_name_of_its_own(void **state)
{
	static const char *const names[] = {"ok",       "not_found", "invalid",   "unsupported",
					    "corrupt",  "io",        "no_memory", "busy",
					    "deadline", "internal"};

	(void)state;
	for (sp_status status = SP_OK; status <= SP_INTERNAL; status++)
		assert_string_equal(sp_status_name(status), names[status]);
	assert_string_equal(sp_status_name((sp_status)77), "unknown");
}

static void an_error_keeps_status_and_words(void **state)
{
	sp_error err;

	(void)state;
	assert_int_equal(sp_error_set(&err, SP_CORRUPT, "byte %d of %s", 7, "x"), SP_CORRUPT);
	assert_int_equal(err.status, SP_CORRUPT);
	assert_string_equal(err.text, "byte 7 of x");
	assert_int_equal(sp_error_set(NULL, SP_BUSY, "nobody listens"), SP_BUSY);
}

static void hostile_bytes_become_question_marks(void **state)
{
	sp_error err;

	(void)state;
	sp_error_set(&err, SP_INVALID, "%s", "a\nb\x1b[2J\x7f|\xff\xc3|\xc2\x85|\xe4\xb8\xad");
	assert_string_equal(err.text, "a?b?[2J?|??|??|\xe4\xb8\xad");
}

static void long_words_are_cut_between_characters(void **state)
{
	char words[2 * SP_ERROR_TEXT_SIZE];
	sp_error err;

	(void)state;
	memset(words, 'x', sizeof(words));
	words[sizeof(words) - 1] = '\0';
	/* Two of these three bytes fit. */
	memcpy(words + SP_ERROR_TEXT_SIZE - 3, "\xe4\xb8\xad", 3);
	sp_error_set(&err, SP_INVALID, "%s", words);
	assert_int_equal(strlen(err.text), SP_ERROR_TEXT_SIZE - 1);
	assert_string_equal(err.text + SP_ERROR_TEXT_SIZE - 4, "x??");
}

static void a_prefix_says_where(void **state)
{
	sp_error err;

	(void)state;
	sp_error_set(&err, SP_CORRUPT, "bad length");
	assert_int_equal(sp_error_prefix(&err, SP_IO, "node %s\n", "x"), SP_CORRUPT);
	assert_string_equal(err.text, "node x?: bad length");
	assert_int_equal(err.status, SP_CORRUPT);
	assert_int_equal(sp_error_prefix(NULL, SP_IO, "node"), SP_IO);
}

static void a_long_prefix_gives_way_to_the_words(void **state)
{
	char where[2 * SP_ERROR_TEXT_SIZE];
	sp_error err;

	(void)state;
	memset(where, 'w', sizeof(where));
	where[sizeof(where) - 1] = '\0';
	sp_error_set(&err, SP_CORRUPT, "bad length");
	sp_error_prefix(&err, SP_CORRUPT, "%s", where);
	assert_int_equal(strlen(err.text), SP_ERROR_TEXT_SIZE / 2 + strlen(": bad length"));
	assert_string_equal(err.text + SP_ERROR_TEXT_SIZE / 2, ": bad length");
}

static void both_parts_too_long_still_end_in_time(void **state)
{
	char text[2 * SP_ERROR_TEXT_SIZE];
	sp_error err;

	(void)state;
	/* Characters of two bytes: both cuts fall into one. */
	for (size_t i = 0; i < sizeof(text); i += 2)
		memcpy(text + i, "\xc3\xa9", 2);
	text[sizeof(text) - 1] = '\0';
	sp_error_set(&err, SP_CORRUPT, "%s", text);
	sp_error_prefix(&err, SP_CORRUPT, "w%s", text);
	assert_int_equal(strlen(err.text), SP_ERROR_TEXT_SIZE - 1);
	assert_memory_equal(err.text + SP_ERROR_TEXT_SIZE / 2 - 1, "?: \xc3\xa9", 5);
	assert_string_equal(err.text + SP_ERROR_TEXT_SIZE - 4, "\xc3\xa9?");
}

static sp_status pass_up(sp_status status, int *reached)
{
	SP_TRY(status);
	*reached = 1;
	return SP_OK;
}

static void try_passes_a_failure_up(void **state)
{
	int reached = 0;

	(void)state;
	assert_int_equal(pass_up(SP_IO, &reached), SP_IO);
	assert_int_equal(reached, 0);
	assert_int_equal(pass_up(SP_OK, &reached), SP_OK);
	assert_int_equal(reached, 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_status_has_a_name_of_its_own),
		cmocka_unit_test(an_error_keeps_status_and_words),
		cmocka_unit_test(hostile_bytes_become_question_marks),
		cmocka_unit_test(long_words_are_cut_between_characters),
		cmocka_unit_test(a_prefix_says_where),
		cmocka_unit_test(a_long_prefix_gives_way_to_the_words),
		cmocka_unit_test(both_parts_too_long_still_end_in_time),
		cmocka_unit_test(try_passes_a_failure_up),
	};

	return cmocka_run_group_tests_name("status", tests, NULL, NULL);
}
