#include "tests/support/cmocka.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/log.h"
#include "processor/updater/catalog.h"

static const sp_error torn = {SP_CORRUPT, "it is torn"};
static const sp_error missing = {SP_IO, "a shard is missing"};

static sp_catalog *catalog;
static int lines;
static char last[600];

static void note(void *context, int level, const char *line)
{
	(void)context;
	(void)level;
	lines++;
	snprintf(last, sizeof(last), "%s", line);
}

static int set_up(void **state)
{
	(void)state;
	lines = 0;
	sp_log_set_sink(note, NULL);
	sp_log_set_level(SP_LOG_DEBUG);
	catalog = sp_catalog_create();
	assert_non_null(catalog);
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	sp_catalog_destroy(catalog);
	sp_log_set_level(SP_LOG_INFO);
	sp_log_set_sink(NULL, NULL);
	return 0;
}

static sp_found_version version(int64_t full, int64_t delta)
{
	return (sp_found_version){.full_prefix = "/c/v1/m-100",
				  .delta_prefix = delta >= 0 ? "/c/v1/d-110" : NULL,
				  .full_step = full,
				  .delta_step = delta};
}

static uint64_t publish(const sp_found_version *found)
{
	uint64_t number = sp_catalog_number(catalog, found);

	sp_catalog_move(catalog, number, SP_VERSION_LOADING, NULL);
	sp_catalog_move(catalog, number, SP_VERSION_WARMING, NULL);
	sp_catalog_move(catalog, number, SP_VERSION_LIVE, NULL);
	return number;
}

static void a_version_lives_and_dies(void **state)
{
	sp_found_version full = version(100, -1), delta = version(100, 110);
	uint64_t a, b;
	char *text;

	(void)state;
	a = publish(&full);
	assert_int_equal(sp_catalog_state(catalog, a), SP_VERSION_LIVE);
	b = publish(&delta);
	assert_true(a != b);
	sp_catalog_move(catalog, a, SP_VERSION_DRAINING, NULL);
	sp_catalog_move(catalog, a, SP_VERSION_RETIRED, NULL);
	text = sp_catalog_json(catalog);
	assert_non_null(strstr(text, "\"live\":{\"full_step\":100,\"delta_step\":110"));
	assert_non_null(strstr(text, "\"full\":\"/c/v1/m-100\",\"delta\":\"/c/v1/d-110\""));
	sp_free(text);
	assert_int_equal(lines, 10); /* a line for each move */
	/* A second life of the same name is another version. */
	assert_true(sp_catalog_number(catalog, &full) != a);
}

static void a_refusal_says_why_once(void **state)
{
	sp_found_version found = version(100, 110);
	uint64_t number = sp_catalog_number(catalog, &found);
	int before;

	(void)state;
	sp_catalog_move(catalog, number, SP_VERSION_LOADING, NULL);
	sp_catalog_move(catalog, number, SP_VERSION_REFUSED, &torn);
	assert_non_null(strstr(last, "100+110 is refused"));
	assert_non_null(strstr(last, "it is torn"));
	before = lines;
	sp_catalog_move(catalog, number, SP_VERSION_REFUSED, &torn);
	assert_int_equal(lines, before);
	assert_int_equal(sp_catalog_number(catalog, &found), number);
	sp_catalog_move(catalog, number, SP_VERSION_DISCOVERED, &missing);
	assert_int_equal(sp_catalog_state(catalog, number), SP_VERSION_DISCOVERED);
	sp_catalog_move(catalog, 12345, SP_VERSION_LIVE, NULL); /* nobody */
	assert_int_equal(sp_catalog_state(catalog, 12345), SP_VERSION_RETIRED);
}

/* Once a minute is for the tests of the updater, which have a clock of their own. */
static void what_waits_is_listed_as_long_as_it_does(void **state)
{
	sp_found_version found = version(100, 110), other = version(100, -1);
	uint64_t number;
	char *text;
	int before;

	(void)state;
	assert_int_equal(sp_catalog_remind(catalog, &found), 0);
	number = sp_catalog_number(catalog, &found);
	sp_catalog_move(catalog, number, SP_VERSION_DISCOVERED, &missing);
	assert_non_null(strstr(last, "a shard is missing"));
	before = lines;
	assert_int_equal(sp_catalog_remind(catalog, &found), number);
	assert_int_equal(sp_catalog_remind(catalog, &other), 0);
	assert_int_equal(lines, before);
	sp_catalog_forget(catalog, number);
	sp_catalog_forget(catalog, 12345); /* nobody */
	assert_int_equal(sp_catalog_remind(catalog, &found), 0);
	number = publish(&found);
	sp_catalog_forget(catalog, number); /* it is more than discovered */
	assert_int_equal(sp_catalog_state(catalog, number), SP_VERSION_LIVE);
	text = sp_catalog_json(catalog);
	assert_null(strstr(text, "a shard is missing"));
	sp_free(text);
}

static void json(void **state)
{
	sp_found_version full = {.full_prefix = "/c/\"odd\"\\\n", .full_step = 7, .delta_step = -1};
	sp_found_version delta = version(100, 110);
	const char *first, *second;
	char *text;

	(void)state;
	publish(&full);
	sp_catalog_number(catalog, &delta);
	text = sp_catalog_json(catalog);
	first = strstr(text,
		       "{\"full\":\"/c/v1/m-100\",\"delta\":\"/c/v1/d-110\",\"full_step\":100,"
		       "\"delta_step\":110,\"state\":\"discovered\",\"for_ms\":");
	second = strstr(text, "{\"full\":\"/c/\\\"odd\\\"\\\\\\n\",\"full_step\":7,"
			      "\"delta_step\":-1,\"state\":\"live\",\"for_ms\":");
	assert_non_null(first);
	assert_non_null(second);
	assert_true(first < second); /* newest first */
	sp_free(text);
}

static void assert_told(const char *text)
{
	char *told = sp_catalog_json(catalog);

	if (strstr(told, text) == NULL)
		fail_msg("no %s in %s", text, told);
	sp_free(told);
}

/* The number behind `text`. */
static long number_behind(const char *text)
{
	char *told = sp_catalog_json(catalog);
	const char *at = strstr(told, text);
	long number;

	assert_non_null(at);
	number = strtol(at + strlen(text), NULL, 10);
	sp_free(told);
	return number;
}

/* What a dashboard draws. */
static void moves_are_counted(void **state)
{
	static const sp_error full_memory = {SP_NO_MEMORY, "it takes up to 8 MB"};
	sp_found_version found = version(100, 110);
	uint64_t number;

	(void)state;
	assert_told("{\"versions\":[],\"counts\":{\"loads\":0,\"published\":0,"
		    "\"last_load_ms\":0,\"refusals\":{},\"moves\":{\"discovered\":0,"
		    "\"loading\":0,\"warming\":0,\"live\":0,\"draining\":0,\"retired\":0,"
		    "\"refused\":0},\"folds\":0,\"last_fold_ms\":0,\"reloads\":0,"
		    "\"rollbacks\":0,\"pins\":0}}");
	number = sp_catalog_number(catalog, &found);
	sp_catalog_move(catalog, number, SP_VERSION_LOADING, NULL);
	usleep(30000);
	sp_catalog_move(catalog, number, SP_VERSION_REFUSED, &torn);
	sp_catalog_move(catalog, number, SP_VERSION_REFUSED, &torn); /* no move */
	sp_catalog_move(catalog, number, SP_VERSION_LOADING, NULL);
	sp_catalog_move(catalog, number, SP_VERSION_REFUSED, &full_memory);
	sp_catalog_move(catalog, number, SP_VERSION_DISCOVERED, &missing);
	sp_catalog_move(catalog, number, SP_VERSION_REFUSED, &torn);
	assert_told("\"counts\":{\"loads\":2,\"published\":0,\"last_load_ms\":0,"
		    "\"refusals\":{\"corrupt\":2,\"no_memory\":1},\"moves\":{\"discovered\":2,"
		    "\"loading\":2,\"warming\":0,\"live\":0,\"draining\":0,\"retired\":0,"
		    "\"refused\":3}");
	number = sp_catalog_number(catalog, &found);
	sp_catalog_move(catalog, number, SP_VERSION_LOADING, NULL);
	usleep(30000);
	sp_catalog_move(catalog, number, SP_VERSION_WARMING, NULL);
	sp_catalog_move(catalog, number, SP_VERSION_LIVE, NULL);
	usleep(20000);
	assert_told("\"counts\":{\"loads\":3,\"published\":1,\"last_load_ms\":");
	assert_true(number_behind("\"last_load_ms\":") >= 30);
	assert_true(number_behind("\"live\":{\"full_step\":100,\"delta_step\":110,\"for_ms\":") >=
		    20);
	assert_told("\"moves\":{\"discovered\":2,\"loading\":3,\"warming\":1,\"live\":1,");
	assert_true(number_behind("\"known_ms\":") >= 80);
}

static void events_are_counted(void **state)
{
	(void)state;
	sp_catalog_count(catalog, SP_EVENT_FOLD, 8000000);
	sp_catalog_count(catalog, SP_EVENT_FOLD, 12900000);
	sp_catalog_count(catalog, SP_EVENT_ROLLBACK, 0);
	sp_catalog_count(catalog, SP_EVENT_PIN, 0);
	assert_told("\"folds\":2,\"last_fold_ms\":12,\"reloads\":0,\"rollbacks\":1,\"pins\":1}}");
	sp_catalog_count(catalog, SP_EVENT_RELOAD, 0);
	assert_told("\"last_fold_ms\":12,\"reloads\":1,");
}

/* Once more for the same reason is no news; other files or another reason are. */
static void a_refusal_is_counted_once(void **state)
{
	static const sp_error no_memory = {SP_NO_MEMORY, "it takes up to 9 MB, there are 3"};
	static const sp_error less_memory = {SP_NO_MEMORY, "it takes up to 9 MB, there are 2"};
	sp_found_version found = version(100, 110);
	uint64_t number = sp_catalog_number(catalog, &found);
	int told;

	(void)state;
	sp_catalog_note_files(catalog, number, 1);
	sp_catalog_move(catalog, number, SP_VERSION_LOADING, NULL);
	sp_catalog_move(catalog, number, SP_VERSION_REFUSED, &no_memory);
	usleep(30000);
	sp_log_set_level(SP_LOG_INFO);
	told = lines;
	for (int i = 0; i < 3; i++) {
		sp_catalog_note_files(catalog, number, 1);
		sp_catalog_move(catalog, number, SP_VERSION_LOADING, NULL);
		sp_catalog_move(catalog, number, SP_VERSION_REFUSED, &less_memory);
	}
	assert_int_equal(lines, told);
	assert_told("\"refusals\":{\"no_memory\":1}");
	assert_told("\"refused\":1}");
	assert_told("\"why\":\"it takes up to 9 MB, there are 2\"");
	assert_true(number_behind("\"state\":\"refused\",\"for_ms\":") >= 30);
	sp_catalog_move(catalog, number, SP_VERSION_LOADING, NULL);
	sp_catalog_move(catalog, number, SP_VERSION_REFUSED, &torn);
	assert_told("\"refusals\":{\"corrupt\":1,\"no_memory\":1}");
	sp_catalog_note_files(catalog, number, 2);
	assert_int_equal(sp_catalog_state(catalog, number), SP_VERSION_DISCOVERED);
	sp_catalog_move(catalog, number, SP_VERSION_LOADING, NULL);
	sp_catalog_move(catalog, number, SP_VERSION_REFUSED, &torn);
	assert_told("\"refusals\":{\"corrupt\":2,\"no_memory\":1}");
	assert_told("\"reason\":\"corrupt\"");
}

/* However often it is served, loaded anew, and left. */
static void a_version_is_listed_once(void **state)
{
	sp_found_version full = version(100, -1), delta = version(100, 110);
	uint64_t first = publish(&full), second, again;
	const char *at;
	char *text;

	(void)state;
	for (int i = 0; i < 3; i++) {
		second = publish(&delta);
		sp_catalog_move(catalog, first, SP_VERSION_DRAINING, NULL);
		sp_catalog_move(catalog, first, SP_VERSION_RETIRED, NULL);
		first = publish(&full);
		sp_catalog_move(catalog, second, SP_VERSION_DRAINING, NULL);
		sp_catalog_mark_rolled_back(catalog, second, "somebody wants it so");
		assert_int_equal(sp_catalog_state(catalog, second), SP_VERSION_DRAINING);
		sp_catalog_move(catalog, second, SP_VERSION_RETIRED, NULL);
		assert_int_equal(sp_catalog_state(catalog, second), SP_VERSION_REFUSED);
	}
	assert_told("\"why\":\"somebody wants it so\",\"newer\":true,"
		    "\"reason\":\"rolled_back\"}");
	assert_told("\"refusals\":{}");
	/* The same name while the old one is used: two, and then one. */
	again = publish(&full);
	assert_true(again != first);
	sp_catalog_move(catalog, first, SP_VERSION_DRAINING, NULL);
	assert_told("\"state\":\"draining\"");
	sp_catalog_move(catalog, first, SP_VERSION_RETIRED, NULL);
	text = sp_catalog_json(catalog);
	at = strstr(text, "{\"full\":");
	assert_non_null(at);
	at = strstr(at + 1, "{\"full\":");
	assert_non_null(at);
	assert_null(strstr(at + 1, "{\"full\":"));
	sp_free(text);
}

/* No longer than that. */
static void assert_lag_since(int64_t begin_ns)
{
	long lag_ms = number_behind("\"lag_ms\":");

	assert_true(lag_ms <= (sp_clock_now_ns() - begin_ns) / 1000000);
}

/* Newer than what is live, by what the looks have found. */
static void what_is_newest_is_told(void **state)
{
	sp_found_version full = version(100, -1), delta = version(100, 110);
	sp_found_version next = {.full_prefix = "/c/v2/m-50", .full_step = 50, .delta_step = -1};
	uint64_t number, waiting;
	int64_t begin;

	(void)state;
	sp_catalog_set_newest(catalog, &full, NULL);
	number = publish(&full);
	assert_told("\"newest\":{\"full_step\":100,\"delta_step\":-1,\"lag_ms\":0},");
	usleep(30000);
	begin = sp_clock_now_ns();
	sp_catalog_set_newest(catalog, &delta, "100 is pinned");
	assert_told("\"newest\":{\"full_step\":100,\"delta_step\":110,\"lag_ms\":");
	assert_lag_since(begin); /* since it is known */
	assert_told("\"why\":\"100 is pinned\",\"newer\":true}");
	usleep(30000);
	sp_catalog_set_newest(catalog, &next, "100 is pinned");
	assert_told("\"newest\":{\"full_step\":50,\"delta_step\":-1,\"lag_ms\":");
	assert_true(number_behind("\"lag_ms\":") >= 30); /* of the older of both */
	/* Both are deleted, and the live one is the newest again. */
	waiting = sp_catalog_number(catalog, &delta);
	sp_catalog_set_newest(catalog, NULL, NULL);
	sp_catalog_forget(catalog, waiting);
	sp_catalog_forget(catalog, waiting + 1);
	assert_told("\"newest\":{\"full_step\":100,\"delta_step\":-1,\"lag_ms\":0},");
	/* Back to the one before, from what was live long: it is behind since now. */
	publish(&next);
	sp_catalog_move(catalog, number, SP_VERSION_DRAINING, NULL);
	sp_catalog_set_newest(catalog, &next, NULL);
	assert_told("\"newest\":{\"full_step\":50,\"delta_step\":-1,\"lag_ms\":0},");
	usleep(30000);
	begin = sp_clock_now_ns();
	publish(&delta);
	assert_told("\"newest\":{\"full_step\":50,\"delta_step\":-1,\"lag_ms\":");
	assert_lag_since(begin);
}

static void pins_are_told(void **state)
{
	sp_found_version full = version(100, -1), delta = version(100, 110);

	(void)state;
	publish(&full);
	sp_catalog_pin(catalog, &full, "\"ann\"");
	sp_catalog_set_newest(catalog, &delta, "wait");
	assert_told("\"pinned\":{\"full_step\":100,\"delta_step\":-1,\"for_ms\":");
	assert_told(",\"by\":\"\\\"ann\\\"\"},");
	sp_catalog_pin(catalog, NULL, NULL);
	assert_told("\"delta_step\":110,\"state\":\"discovered\"");
	assert_told("\"why\":\"\",\"newer\":true}");
}

static void a_source_that_is_away_is_told(void **state)
{
	sp_error why;

	(void)state;
	sp_error_set(&why, SP_IO, "cannot read '/c'");
	sp_catalog_set_unreadable(catalog, &why);
	usleep(20000);
	sp_error_set(&why, SP_IO, "cannot read \"/c\"");
	sp_catalog_set_unreadable(catalog, &why);
	assert_told(",\"unreadable\":{\"for_ms\":");
	assert_true(number_behind("\"for_ms\":") >= 20); /* since the first time */
	assert_told(",\"why\":\"cannot read \\\"/c\\\"\"},");
	sp_catalog_set_unreadable(catalog, NULL);
	assert_told("{\"versions\":[],\"counts\":");
}

/* Of what waits or is refused, that nobody has asked for since the last look. */
static void what_is_deleted_is_forgotten(void **state)
{
	sp_found_version full = version(100, -1), delta = version(100, 110), found;
	sp_arena *arena = sp_arena_create(4096);
	uint64_t number;

	(void)state;
	publish(&full);
	number = sp_catalog_number(catalog, &delta);
	sp_catalog_set_newest(catalog, &delta, NULL);
	assert_int_equal(sp_catalog_next_waiting(catalog, 0, &found, arena), 0);
	sp_catalog_end_look(catalog);
	assert_int_equal(sp_catalog_next_waiting(catalog, 0, &found, arena), number);
	assert_string_equal(found.delta_prefix, "/c/v1/d-110");
	assert_int_equal(sp_catalog_next_waiting(catalog, number, &found, arena), 0);
	sp_catalog_forget(catalog, number);
	assert_told("\"newest\":{\"full_step\":100,\"delta_step\":-1,\"lag_ms\":0},");
	sp_arena_destroy(arena);
}

/* Words about a version do not make it younger. */
static void words_are_no_move(void **state)
{
	sp_found_version found = version(100, -1);
	uint64_t number = publish(&found);

	(void)state;
	usleep(30000);
	sp_catalog_move(catalog, number, SP_VERSION_LIVE, &missing);
	assert_true(number_behind("\"delta_step\":-1,\"state\":\"live\",\"for_ms\":") >= 30);
	assert_told("\"why\":\"a shard is missing\"");
	assert_told("\"counts\":{\"loads\":1,\"published\":1,");
}

/* The live one stays, however many come and go. */
static void what_is_over_is_forgotten(void **state)
{
	sp_found_version found = version(100, -1);
	char *text;

	(void)state;
	publish(&found);
	for (int i = 0; i < 500; i++) {
		char name[32];
		uint64_t number;

		snprintf(name, sizeof(name), "/c/m-%d", i);
		found.full_prefix = name;
		number = sp_catalog_number(catalog, &found);
		assert_true(number != 0);
		sp_catalog_move(catalog, number, SP_VERSION_REFUSED, &torn);
	}
	text = sp_catalog_json(catalog);
	assert_non_null(strstr(text, "\"full\":\"/c/v1/m-100\""));
	assert_true(strlen(text) < 20000);
	sp_free(text);
}

static void without_memory(void **state)
{
	sp_found_version found = version(100, 110);

	(void)state;
	sp_alloc_fail_after(0);
	assert_int_equal(sp_catalog_number(catalog, &found), 0);
	assert_null(sp_catalog_json(catalog));
	assert_null(sp_catalog_create());
	sp_alloc_fail_after(1);
	assert_int_equal(sp_catalog_number(catalog, &found), 0);
	sp_alloc_fail_after(-1);
	assert_true(sp_catalog_number(catalog, &found) != 0);
}

int main(void)
{
#define CASE(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)
	const struct CMUnitTest tests[] = {
		CASE(a_version_lives_and_dies),
		CASE(a_refusal_says_why_once),
		CASE(what_waits_is_listed_as_long_as_it_does),
		CASE(json),
		CASE(moves_are_counted),
		CASE(events_are_counted),
		CASE(a_refusal_is_counted_once),
		CASE(a_version_is_listed_once),
		CASE(what_is_newest_is_told),
		CASE(pins_are_told),
		CASE(a_source_that_is_away_is_told),
		CASE(what_is_deleted_is_forgotten),
		CASE(words_are_no_move),
		CASE(what_is_over_is_forgotten),
		CASE(without_memory),
	};

	return cmocka_run_group_tests_name("catalog", tests, NULL, NULL);
}
