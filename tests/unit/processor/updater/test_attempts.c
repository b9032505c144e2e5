#include "tests/support/cmocka.h"

#include "processor/updater/attempts.h"

static const int64_t SECOND = 1000000000;
static sp_attempts attempts;

static int set_up(void **state)
{
	(void)state;
	sp_attempts_forget(&attempts);
	return 0;
}

static void what_was_never_tried_is_due(void **state)
{
	(void)state;
	assert_true(sp_attempts_is_due(&attempts, 1, 10, 0));
}

/* Once more after some seconds, and then only when its files change. */
static void what_is_broken_is_tried_when_it_changes(void **state)
{
	(void)state;
	sp_attempts_note(&attempts, 1, 10, SP_CORRUPT, 0);
	assert_false(sp_attempts_is_due(&attempts, 1, 10, 2 * SECOND));
	assert_true(sp_attempts_is_due(&attempts, 1, 11, 0));
	assert_true(sp_attempts_is_due(&attempts, 2, 10, 0));
	assert_true(sp_attempts_is_due(&attempts, 1, 10, 3 * SECOND));
	sp_attempts_note(&attempts, 1, 10, SP_CORRUPT, 3 * SECOND);
	assert_false(sp_attempts_is_due(&attempts, 1, 10, INT64_MAX - 1));
	sp_attempts_note(&attempts, 1, 11, SP_CORRUPT, 4 * SECOND);
	assert_true(sp_attempts_is_due(&attempts, 1, 11, 7 * SECOND));
	sp_attempts_forget(&attempts);
	assert_true(sp_attempts_is_due(&attempts, 1, 10, 0));
}

/* 1, 2, 4 ... 60, 60 seconds. */
static void what_may_pass_is_tried_ever_more_seldom(void **state)
{
	static const sp_status statuses[] = {SP_IO, SP_NO_MEMORY, SP_DEADLINE};
	int64_t now = 0, pause = 0;

	(void)state;
	for (size_t i = 0; i < 12; i++) {
		int64_t next = now;

		sp_attempts_note(&attempts, 1, 10, statuses[i % 3], now);
		while (!sp_attempts_is_due(&attempts, 1, 10, next))
			next += SECOND / 10;
		assert_true(next - now >= pause);
		pause = next - now;
		now = next;
	}
	assert_int_equal(pause, 60 * SECOND);
}

static void an_order_holds_until_the_files_change(void **state)
{
	(void)state;
	sp_attempts_note(&attempts, 1, 10, SP_BUSY, 0);
	assert_false(sp_attempts_is_due(&attempts, 1, 10, INT64_MAX - 1));
	assert_true(sp_attempts_is_due(&attempts, 1, 12, 0));
}

static void a_word_allows_one(void **state)
{
	(void)state;
	sp_attempts_note(&attempts, 1, 10, SP_BUSY, 0);
	sp_attempts_note(&attempts, 2, 10, SP_BUSY, 0);
	sp_attempts_allow(&attempts, 1);
	sp_attempts_allow(&attempts, 3);
	assert_true(sp_attempts_is_due(&attempts, 1, 10, 0));
	assert_false(sp_attempts_is_due(&attempts, 2, 10, 0));
}

static void the_oldest_are_forgotten(void **state)
{
	(void)state;
	for (uint64_t name = 1; name <= SP_ATTEMPTS_KEPT + 1; name++)
		sp_attempts_note(&attempts, name, 10, SP_CORRUPT, 0);
	assert_true(sp_attempts_is_due(&attempts, 1, 10, 0));
	for (uint64_t name = 2; name <= SP_ATTEMPTS_KEPT + 1; name++)
		assert_false(sp_attempts_is_due(&attempts, name, 10, 0));
}

int main(void)
{
#define CASE(test) cmocka_unit_test_setup(test, set_up)
	const struct CMUnitTest tests[] = {
		CASE(what_was_never_tried_is_due),
		CASE(what_is_broken_is_tried_when_it_changes),
		CASE(what_may_pass_is_tried_ever_more_seldom),
		CASE(an_order_holds_until_the_files_change),
		CASE(the_oldest_are_forgotten),
		CASE(a_word_allows_one),
	};

	return cmocka_run_group_tests_name("attempts", tests, NULL, NULL);
}
