#include "tests/support/cmocka.h"

#include <string.h>

#include "model_loader/embedding/load_policy.h"

static void patterns_match_whole_names(void **state)
{
	const struct {
		const char *pattern, *name;
		bool matches;
	} cases[] = {
		{"", "", true},
		{"", "a", false},
		{"a", "", false},
		{"a", "a", true},
		{"a", "ab", false},
		{"*", "", true},
		{"*", "a/b", true},
		{"**", "a", true},
		{"?", "", false},
		{"?", "a", true},
		{"?", "ab", false},
		{"a*", "a", true},
		{"a*", "ba", false},
		{"*a", "bab", false},
		{"*a", "baba", true},
		{"*ab*ab", "ab", false},
		{"*ab*ab", "abab", true},
		{"*ab*ab", "xabxxabyab", true},
		{"a?c*", "abc/weights", true},
		{"*/user_*", "input/user_id/weights", true},
		{"*/user_*", "user_id/weights", false},
		{"[a]", "a", false},
		{"[a]", "[a]", true},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		if (sp_name_matches(cases[i].pattern, cases[i].name) != cases[i].matches)
			fail_msg("'%s' and '%s'", cases[i].pattern, cases[i].name);
}

/* Naive backtracking takes longer than the universe has been there. */
static void hostile_patterns_end(void **state)
{
	char pattern[201], name[5001];

	(void)state;
	for (size_t i = 0; i < 200; i += 2)
		memcpy(pattern + i, "*a", 2);
	pattern[199] = 'b';
	pattern[200] = '\0';
	memset(name, 'a', 5000);
	name[5000] = '\0';
	assert_false(sp_name_matches(pattern, name));
}

static void the_first_rule_that_matches_counts(void **state)
{
	const sp_name_rule items[] = {{"a*", 1}, {"*b", 2}, {"ab", 3}};
	sp_name_rules rules = {items, 3}, none = {NULL, 0};

	(void)state;
	assert_int_equal(sp_name_rules_find(&rules, "ab", 7), 1);
	assert_int_equal(sp_name_rules_find(&rules, "bb", 7), 2);
	assert_int_equal(sp_name_rules_find(&rules, "c", 7), 7);
	assert_int_equal(sp_name_rules_find(&none, "a", 7), 7);
}

static void names_are_between_semicolons(void **state)
{
	sp_load_policy policy = {.sharded_names = "a/b;c;;d"}, none = {.sharded_names = NULL};

	(void)state;
	assert_true(sp_load_policy_shards(&policy, "a/b"));
	assert_true(sp_load_policy_shards(&policy, "c"));
	assert_true(sp_load_policy_shards(&policy, "d"));
	assert_false(sp_load_policy_shards(&policy, "a"));
	assert_false(sp_load_policy_shards(&policy, "b"));
	assert_false(sp_load_policy_shards(&policy, "a/b;c"));
	assert_false(sp_load_policy_shards(&none, "a"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(patterns_match_whole_names),
		cmocka_unit_test(hostile_patterns_end),
		cmocka_unit_test(the_first_rule_that_matches_counts),
		cmocka_unit_test(names_are_between_semicolons),
	};

	return cmocka_run_group_tests_name("load_policy", tests, NULL, NULL);
}
