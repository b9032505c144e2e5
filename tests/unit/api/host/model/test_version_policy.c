#include "tests/support/cmocka.h"

#include <string.h>

#include "api/host/model/version_policy.h"

static void what_is_wanted(void **state)
{
	static const int64_t found[] = {9, 5, 3, 1};
	static const int64_t some[] = {1, 5, 7};
	static const sp_ordered_version ordered[] = {{9, false}, {3, true}, {7, true}};
	static const struct {
		sp_version_policy policy;
		const char *want; /* of each of `found`: y or n */
	} cases[] = {
		{{.kind = SP_POLICY_LATEST, .latest = 1}, "ynnn"},
		{{.kind = SP_POLICY_LATEST, .latest = 3}, "yyyn"},
		{{.kind = SP_POLICY_LATEST, .latest = 100}, "yyyy"},
		{{.kind = SP_POLICY_ALL}, "yyyy"},
		{{.kind = SP_POLICY_SPECIFIC, .specific = some, .specific_count = 3}, "nyny"},
		{{.kind = SP_POLICY_ALL, .ordered = ordered, .ordered_count = 3}, "nyyy"},
		{{.kind = SP_POLICY_LATEST, .latest = 2, .ordered = ordered, .ordered_count = 3},
		 "nyyn"},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		for (size_t k = 0; k < 4; k++)
			assert_int_equal(sp_version_policy_wants(&cases[i].policy, found[k], k),
					 cases[i].want[k] == 'y');
}

/*
 * A version is a letter and its number: wanted in upper case.  S start, due; T start, not due; L
 * loading; A available; U unloading; E end.
 */
static sp_unit *read_units(sp_unit units[8], const char *text)
{
	static const struct {
		char letter;
		sp_version_state state;
	} states[] = {{'s', SP_VERSION_START},     {'t', SP_VERSION_START},
		      {'l', SP_VERSION_LOADING},   {'a', SP_VERSION_AVAILABLE},
		      {'u', SP_VERSION_UNLOADING}, {'e', SP_VERSION_END}};
	size_t count = 0;

	for (; *text != '\0'; text += 2 + (text[2] == ' ')) {
		char lower = (char)(*text | 0x20);
		sp_unit *unit = &units[count++];

		*unit = (sp_unit){.version = text[1] - '0', .wanted = *text != lower};
		for (size_t i = 0; i < 6; i++)
			if (states[i].letter == lower)
				unit->state = states[i].state;
		unit->due_ns = lower == 's' ? 100 : 101;
		if (count > 1)
			unit[-1].next = unit;
	}
	return count != 0 ? units : NULL;
}

static void what_is_next(void **state)
{
	enum { WAIT = 0, LOAD = SP_VERSION_START, UNLOAD = SP_VERSION_AVAILABLE };
	static const struct {
		const char *units;
		int step; /* the state of the unit that comes next, which says what is done */
		int64_t version;
	} cases[] = {
		{"", WAIT, 0},
		{"S1", LOAD, 1},
		{"T1", WAIT, 0},
		{"s1", WAIT, 0},
		{"S1 S3 S2", LOAD, 3},
		{"S1 T3 S2", LOAD, 2},
		{"L3 S2", LOAD, 2},
		{"A1", WAIT, 0},
		/* The new one is loaded before the old one goes. */
		{"a1 S2", LOAD, 2},
		{"a1 L2", WAIT, 0},
		{"a1 A2", UNLOAD, 1},
		{"a1 E2", WAIT, 0},
		{"a1 T2", WAIT, 0},
		/* Oldest first, and before further ones are loaded. */
		{"a2 a1 A3 S4", UNLOAD, 1},
		/* None is wanted any more. */
		{"a1 a2", UNLOAD, 1},
		{"a1", UNLOAD, 1},
		{"l1", WAIT, 0},
		{"u1 e2", WAIT, 0},
		/* Back to an older version. */
		{"a3 S1", LOAD, 1},
		{"a3 A1", UNLOAD, 3},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		sp_unit units[8];
		sp_unit *next = sp_version_policy_next(read_units(units, cases[i].units), 100);

		if ((next != NULL ? (int)next->state : WAIT) != cases[i].step ||
		    (next != NULL && next->version != cases[i].version))
			fail_msg("%s: %lld", cases[i].units,
				 next != NULL ? (long long)next->version : -1LL);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_is_wanted),
		cmocka_unit_test(what_is_next),
	};

	return cmocka_run_group_tests_name("version_policy", tests, NULL, NULL);
}
