#include "tests/support/cmocka.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "processor/updater/decide.h"

/*
 * What comes next, as a table: a line is a situation and what is decided in it.  Versions are
 * written "100" for a full checkpoint and "100+110" for one with a delta.
 */

/* What is known of a candidate; it is complete and was never tried unless that is said. */
typedef enum fact {
	READY,
	ABSENT,     /* there is no such version */
	NO_MEMORY,  /* to look at it */
	MISSING,    /* some of its files */
	SETTLING,   /* a file of its SavedModel has just changed */
	UNKNOWN,    /* its files are of a kind that only loading can judge */
	REFUSED,    /* as it is; an hour ago */
	CHANGED,    /* refused, and its files are others now */
	TRIED,      /* failed with SP_IO a moment ago */
	TRIED_LONG, /* failed with SP_IO an hour ago */
	TOO_LARGE,  /* failed with SP_NO_MEMORY a moment ago */
	TOO_LARGE_LONG,
	ROLLED_BACK, /* a rollback has left it */
	GONE,        /* its files were deleted */
	IN_MEMORY,   /* it was live before, and its files are gone */
} fact;

typedef struct row {
	const char *what;
	const char *live; /* NULL: none yet; a '!' in front: it has to be read anew */
	sp_order_kind order;
	const char *pinned; /* NULL: none */
	const char *newest;
	fact fact;           /* of the newest, or of the pinned or ordered one */
	fact alone;          /* of the newest without its delta, once the newest is done */
	const char *wanted;  /* of an order */
	sp_action_kind want; /* and of what: */
	const char *target;
	bool exact;
	sp_action_kind want_then; /* after that has failed, or was to be waited for */
} row;

static const row rows[] = {
	/* A first version. */
	{"base", NULL, .newest = "100", .want = SP_ACTION_LOAD_FULL, .target = "100"},
	{"base and delta", NULL, .newest = "100+110", .want = SP_ACTION_LOAD_BOTH,
	 .target = "100+110", .want_then = SP_ACTION_LOAD_FULL},
	{"an empty folder", NULL, .newest = "0", .fact = ABSENT, .want = SP_ACTION_FAIL,
	 .target = "0"},
	{"no memory to look", NULL, .newest = "0", .fact = NO_MEMORY, .want = SP_ACTION_FAIL,
	 .target = "0"},
	{"base without a shard", NULL, .newest = "100", .fact = MISSING, .want = SP_ACTION_WAIT,
	 .target = "100"},
	{"delta without a shard", NULL, .newest = "100+110", .fact = MISSING,
	 .want = SP_ACTION_WAIT, .target = "100+110", .want_then = SP_ACTION_LOAD_FULL},
	{"delta without a shard, base without one", NULL, .newest = "100+110", .fact = MISSING,
	 .alone = MISSING, .want = SP_ACTION_WAIT, .target = "100+110",
	 .want_then = SP_ACTION_WAIT},
	{"a SavedModel that settles", NULL, .newest = "100+110", .fact = SETTLING,
	 .want = SP_ACTION_WAIT, .target = "100+110"},
	{"files that only loading can judge", NULL, .newest = "100", .fact = UNKNOWN,
	 .want = SP_ACTION_LOAD_FULL, .target = "100"},

	/* A later version. */
	{"nothing new", "100", .newest = "100", .want = SP_ACTION_NONE},
	{"nothing new, with a delta", "100+110", .newest = "100+110", .want = SP_ACTION_NONE},
	{"a delta", "100", .newest = "100+110", .want = SP_ACTION_LOAD_DELTA, .target = "100+110"},
	{"a greater delta", "100+110", .newest = "100+120", .want = SP_ACTION_LOAD_DELTA,
	 .target = "100+120"},
	{"a smaller delta: the greater was deleted", "100+120", .newest = "100+110",
	 .want = SP_ACTION_NONE},
	{"all deltas were deleted", "100+120", .newest = "100", .want = SP_ACTION_NONE},
	{"another base", "100+110", .newest = "200", .want = SP_ACTION_LOAD_FULL, .target = "200"},
	{"an older base, touched last", "200", .newest = "100", .want = SP_ACTION_LOAD_FULL,
	 .target = "100"},
	{"another base with a delta", "100", .newest = "200+210", .want = SP_ACTION_LOAD_BOTH,
	 .target = "200+210", .want_then = SP_ACTION_LOAD_FULL},
	{"another base with a delta without a shard", "100", .newest = "200+210", .fact = MISSING,
	 .want = SP_ACTION_WAIT, .target = "200+210", .want_then = SP_ACTION_LOAD_FULL},
	{"a delta without a shard leaves the live base", "100", .newest = "100+110",
	 .fact = MISSING, .want = SP_ACTION_WAIT, .target = "100+110"},
	{"a delta that settles holds its base up", "100", .newest = "200+210", .fact = SETTLING,
	 .want = SP_ACTION_WAIT, .target = "200+210"},
	{"the folder is away", "100", .newest = "0", .fact = ABSENT, .want = SP_ACTION_FAIL,
	 .target = "0"},

	{"a delta that is held back for its base's data is not found", "100", .newest = "100",
	 .want = SP_ACTION_NONE},
	{"the same step under another path", "100", .newest = "0100", .want = SP_ACTION_LOAD_FULL,
	 .target = "0100"},
	{"a greater number of a SavedModel", "9", .newest = "10", .want = SP_ACTION_LOAD_FULL,
	 .target = "10"},
	{"the greatest number was deleted", "10", .newest = "9", .want = SP_ACTION_LOAD_FULL,
	 .target = "9"},

	/* The same version with other content. */
	{"a base that is written anew", "!100", .newest = "100", .want = SP_ACTION_LOAD_FULL,
	 .target = "100"},
	{"a base that is written anew under its delta", "!100+110", .newest = "100+110",
	 .want = SP_ACTION_LOAD_BOTH, .target = "100+110", .want_then = SP_ACTION_LOAD_FULL},
	{"a SavedModel that is written anew, and settles", "!100+110", .newest = "100+110",
	 .fact = SETTLING, .want = SP_ACTION_WAIT, .target = "100+110"},

	/* What was tried before. */
	{"a refused delta", "100", .newest = "100+110", .fact = REFUSED, .want = SP_ACTION_BACK_OFF,
	 .target = "100+110"},
	{"a refused delta with other files", "100", .newest = "100+110", .fact = CHANGED,
	 .want = SP_ACTION_LOAD_DELTA, .target = "100+110"},
	{"a refused base", "100", .newest = "200", .fact = REFUSED, .want = SP_ACTION_BACK_OFF,
	 .target = "200"},
	{"a refused delta on a new base", "100", .newest = "200+210", .fact = REFUSED,
	 .want = SP_ACTION_BACK_OFF, .target = "200+210", .want_then = SP_ACTION_LOAD_FULL},
	{"a refused delta on a refused base", "100", .newest = "200+210", .fact = REFUSED,
	 .alone = REFUSED, .want = SP_ACTION_BACK_OFF, .target = "200+210",
	 .want_then = SP_ACTION_BACK_OFF},
	{"an error of the disk, backed off", "100", .newest = "100+110", .fact = TRIED,
	 .want = SP_ACTION_BACK_OFF, .target = "100+110"},
	{"an error of the disk, later", "100", .newest = "100+110", .fact = TRIED_LONG,
	 .want = SP_ACTION_LOAD_DELTA, .target = "100+110"},
	{"memory is short", "100", .newest = "200", .fact = TOO_LARGE, .want = SP_ACTION_BACK_OFF,
	 .target = "200"},
	{"memory was short", "100", .newest = "200", .fact = TOO_LARGE_LONG,
	 .want = SP_ACTION_LOAD_FULL, .target = "200"},
	{"memory is short for base and delta", "100", .newest = "200+210", .fact = TOO_LARGE,
	 .alone = TOO_LARGE, .want = SP_ACTION_BACK_OFF, .target = "200+210",
	 .want_then = SP_ACTION_BACK_OFF},
	{"what a rollback has left", "100", .newest = "100+110", .fact = ROLLED_BACK,
	 .want = SP_ACTION_BACK_OFF, .target = "100+110"},

	/* A pin. */
	{"a pin, and something newer", "100", .pinned = "100", .newest = "200+210",
	 .want = SP_ACTION_NONE},
	{"a pin at the start", NULL, .pinned = "100+110", .newest = "200",
	 .want = SP_ACTION_LOAD_BOTH, .target = "100+110", .exact = true},
	{"a pin at the start that is not there", NULL, .pinned = "100", .newest = "200",
	 .fact = ABSENT, .want = SP_ACTION_FAIL, .target = "100"},
	{"a pin whose files change", "!100+110", .pinned = "100+110", .newest = "200",
	 .want = SP_ACTION_LOAD_BOTH, .target = "100+110", .exact = true},
	{"a pin whose files settle", "!100", .pinned = "100", .newest = "100", .fact = SETTLING,
	 .want = SP_ACTION_WAIT, .target = "100"},

	/* Orders. */
	{"reload", "100", SP_ORDER_RELOAD, .newest = "100", .want = SP_ACTION_LOAD_FULL,
	 .target = "100"},
	{"reload with a delta", "100+110", SP_ORDER_RELOAD, .newest = "100+110",
	 .want = SP_ACTION_LOAD_BOTH, .target = "100+110"},
	{"reload of what was refused", "100", SP_ORDER_RELOAD, .newest = "200", .fact = REFUSED,
	 .want = SP_ACTION_LOAD_FULL, .target = "200"},
	{"reload while another one is pinned", "100", SP_ORDER_RELOAD, .pinned = "100",
	 .newest = "200+210", .want = SP_ACTION_LOAD_BOTH, .target = "200+210"},
	{"reload without a folder", "100", SP_ORDER_RELOAD, .newest = "0", .fact = ABSENT,
	 .want = SP_ACTION_FAIL, .target = "0"},
	{"pin what is live", "100+110", SP_ORDER_PIN, .wanted = "100+110", .want = SP_ACTION_NONE},
	{"pin another delta", "100+110", SP_ORDER_PIN, .wanted = "100+120",
	 .want = SP_ACTION_LOAD_DELTA, .target = "100+120", .exact = true},
	{"pin the base of what is live", "100+110", SP_ORDER_PIN, .wanted = "100",
	 .want = SP_ACTION_LOAD_DELTA, .target = "100", .exact = true},
	{"pin another base", "100+110", SP_ORDER_PIN, .wanted = "90+95",
	 .want = SP_ACTION_LOAD_BOTH, .target = "90+95", .exact = true},
	{"pin what a rollback has left", "100", SP_ORDER_PIN, .wanted = "100+110",
	 .fact = ROLLED_BACK, .want = SP_ACTION_LOAD_DELTA, .target = "100+110", .exact = true},
	{"pin what is not there", "100", SP_ORDER_PIN, .wanted = "90", .fact = ABSENT,
	 .want = SP_ACTION_FAIL, .target = "90"},
	{"unpin", "100", SP_ORDER_UNPIN, .pinned = "100", .newest = "200", .want = SP_ACTION_NONE},

	/* A rollback: what could be the next one back. */
	{"back to what is in memory", "100+110", SP_ORDER_ROLLBACK, .wanted = "100",
	 .fact = IN_MEMORY, .want = SP_ACTION_REPUBLISH, .target = "100"},
	{"back to a delta on the disk", "100+120", SP_ORDER_ROLLBACK, .wanted = "100+110",
	 .want = SP_ACTION_LOAD_DELTA, .target = "100+110", .exact = true},
	{"back to another base", "200", SP_ORDER_ROLLBACK, .wanted = "100+110",
	 .want = SP_ACTION_LOAD_BOTH, .target = "100+110", .exact = true},
	{"back, and its files are gone", "200", SP_ORDER_ROLLBACK, .wanted = "100", .fact = GONE,
	 .want = SP_ACTION_SKIP, .target = "100"},
	{"back, and a shard is missing", "200", SP_ORDER_ROLLBACK, .wanted = "100", .fact = MISSING,
	 .want = SP_ACTION_SKIP, .target = "100"},
	{"back, and it is refused", "200", SP_ORDER_ROLLBACK, .wanted = "100", .fact = REFUSED,
	 .want = SP_ACTION_SKIP, .target = "100"},
	{"back, and there is nothing", "100", SP_ORDER_ROLLBACK, .wanted = "0", .fact = ABSENT,
	 .want = SP_ACTION_FAIL, .target = "0"},
	{"back with a pin", "100+120", SP_ORDER_ROLLBACK, .pinned = "100+120", .wanted = "100+110",
	 .want = SP_ACTION_LOAD_DELTA, .target = "100+110", .exact = true},
};

#define SECOND INT64_C(1000000000)
static const int64_t now = 100000 * SECOND, an_hour = 3600 * SECOND;

static sp_found_version version(const char *name)
{
	static char texts[8][32];
	static size_t used;
	const char *plus = name != NULL ? strchr(name, '+') : NULL;
	sp_found_version v = {.full_prefix = "", .full_step = -1, .delta_step = -1};
	char *full = texts[used++ % 8];

	if (name == NULL)
		return v;
	snprintf(full, sizeof(texts[0]), "%.*s", (int)strcspn(name, "+"), name);
	v.full_prefix = full;
	v.full_step = atoi(full);
	v.delta_prefix = plus;
	v.delta_step = plus != NULL ? atoi(plus + 1) : -1;
	return v;
}

static void note(sp_attempts *attempts, const sp_candidate *c, uint64_t files, sp_status status,
		 int64_t when)
{
	sp_attempts_note(attempts, c->name, files, status, when);
	if (status == SP_CORRUPT) /* it was tried once more, too */
		sp_attempts_note(attempts, c->name, files, status, when);
}

static sp_candidate candidate(const char *name, uint64_t number, fact known, sp_attempts *attempts)
{
	sp_candidate c = {.version = version(name), .name = number, .files = 7};

	c.found = known == ABSENT ? SP_NOT_FOUND : known == NO_MEMORY ? SP_NO_MEMORY : SP_OK;
	c.complete = known == MISSING || known == IN_MEMORY ? SP_NOT_FOUND
		     : known == UNKNOWN                     ? SP_UNSUPPORTED
							    : SP_OK;
	c.settle_ms = known == SETTLING ? 400 : 0;
	c.is_gone = known == GONE || known == IN_MEMORY;
	c.in_memory = known == IN_MEMORY;
	switch (known) {
	case REFUSED:
		note(attempts, &c, 7, SP_CORRUPT, now - an_hour);
		break;
	case CHANGED:
		note(attempts, &c, 6, SP_CORRUPT, now - an_hour);
		break;
	case TRIED:
		note(attempts, &c, 7, SP_IO, now - SECOND / 2);
		break;
	case TRIED_LONG:
		note(attempts, &c, 7, SP_IO, now - an_hour);
		break;
	case TOO_LARGE:
		note(attempts, &c, 7, SP_NO_MEMORY, now - SECOND / 2);
		break;
	case TOO_LARGE_LONG:
		note(attempts, &c, 7, SP_NO_MEMORY, now - an_hour);
		break;
	case ROLLED_BACK:
		note(attempts, &c, 7, SP_BUSY, now - an_hour);
		break;
	default:
		break;
	}
	return c;
}

static void set_the_scene(sp_situation *s, sp_attempts *attempts, const row *r)
{
	const char *live = r->live;
	bool wants = r->order != SP_ORDER_NONE ? r->wanted != NULL : r->pinned != NULL;

	sp_attempts_forget(attempts);
	*s = (sp_situation){
		.now_ns = now, .attempts = attempts, .order = r->order, .is_pinned = r->pinned};
	s->live.is_there = live != NULL;
	s->live.is_rewritten = live != NULL && live[0] == '!';
	s->live.version = version(s->live.is_rewritten ? live + 1 : live);
	s->newest = candidate(r->newest, 1, wants ? READY : r->fact, attempts);
	s->without_delta = candidate(r->newest, 2, r->alone, attempts);
	s->without_delta.version.delta_prefix = NULL;
	s->without_delta.version.delta_step = -1;
	s->wanted = candidate(r->order != SP_ORDER_NONE ? r->wanted : r->pinned, 3,
			      wants ? r->fact : READY, attempts);
}

static void the_next_action(void **state)
{
	static sp_attempts attempts;

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		const row *r = &rows[i];
		sp_found_version target = version(r->target);
		sp_situation s;
		sp_action action;

		set_the_scene(&s, &attempts, r);
		action = sp_decide(&s);
		if (action.kind != r->want || action.exact != r->exact ||
		    (action.target != NULL) != (r->target != NULL))
			fail_msg("%s: action %d, wanted %d", r->what, (int)action.kind,
				 (int)r->want);
		if (action.target == NULL)
			continue;
		if (action.target->version.full_step != target.full_step ||
		    action.target->version.delta_step != target.delta_step)
			fail_msg("%s: the target is another one", r->what);
		if (r->order != SP_ORDER_NONE)
			continue;
		/* The same look goes on: that could not be had. */
		action.target->is_done = true;
		action = sp_decide(&s);
		if (action.kind != r->want_then ||
		    (action.target != NULL && action.target != &s.without_delta))
			fail_msg("%s: then action %d, wanted %d", r->what, (int)action.kind,
				 (int)r->want_then);
		if (action.target == NULL)
			continue;
		action.target->is_done = true;
		assert_int_equal(sp_decide(&s).kind, SP_ACTION_NONE);
	}
}

/* ---------------------------------------------------------------- the clock */

static void when_to_look(void **state)
{
	sp_schedule s = {.looked_ms = 1000, .interval_ms = 500, .settled_ms = INT64_MAX};

	(void)state;
	assert_false(sp_decide_look_is_due(&s, 1000, false));
	assert_false(sp_decide_look_is_due(&s, 1499, false));
	assert_true(sp_decide_look_is_due(&s, 1500, false));
	assert_true(sp_decide_look_is_due(&s, 1000, true));
	assert_true(sp_decide_look_is_due(&s, 999, false)); /* the clock has gone back */
	s.settled_ms = 1200;
	assert_false(sp_decide_look_is_due(&s, 1199, false));
	assert_true(sp_decide_look_is_due(&s, 1200, false));
}

static void how_long_to_sleep(void **state)
{
	static const struct {
		int64_t settled, drain, fold, want;
	} pauses[] = {{INT64_MAX, INT64_MAX, INT64_MAX, 500},
		      {1200, INT64_MAX, INT64_MAX, 200},
		      {900, INT64_MAX, INT64_MAX, 0},
		      {9000, INT64_MAX, INT64_MAX, 500},
		      {INT64_MAX, 5, INT64_MAX, 5},
		      {INT64_MAX, 640, INT64_MAX, 500},
		      {1200, 5, 3, 3},
		      {INT64_MAX, INT64_MAX, 0, 0}};

	(void)state;
	for (size_t i = 0; i < sizeof(pauses) / sizeof(pauses[0]); i++) {
		sp_schedule s = {.looked_ms = 1000,
				 .interval_ms = 500,
				 .settled_ms = pauses[i].settled,
				 .drain_ms = pauses[i].drain,
				 .fold_ms = pauses[i].fold};

		assert_int_equal(sp_decide_pause(&s, 1000), pauses[i].want);
	}
	assert_int_equal(sp_decide_interval(1000, false, 0), 1000);
	assert_int_equal(sp_decide_interval(1000, true, 0), 1000);
	assert_int_equal(sp_decide_interval(3600000, false, 0), 3600000);
	assert_int_equal(sp_decide_interval(3600000, true, 0), 60000);
	assert_int_equal(sp_decide_interval(3600000, true, 500), 500);
	assert_int_equal(sp_decide_interval(1000, true, 5000), 1000);
	assert_int_equal(sp_decide_interval(INT64_MAX, false, 0), INT64_MAX);
}

static void what_may_pass_ends_a_rollback(void **state)
{
	(void)state;
	assert_true(sp_decide_may_pass(SP_IO));
	assert_true(sp_decide_may_pass(SP_NO_MEMORY));
	assert_true(sp_decide_may_pass(SP_BUSY));
	assert_false(sp_decide_may_pass(SP_CORRUPT));
	assert_false(sp_decide_may_pass(SP_NOT_FOUND));
	assert_false(sp_decide_may_pass(SP_UNSUPPORTED));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_next_action),
		cmocka_unit_test(when_to_look),
		cmocka_unit_test(how_long_to_sleep),
		cmocka_unit_test(what_may_pass_ends_a_rollback),
	};

	return cmocka_run_group_tests_name("decide", tests, NULL, NULL);
}
