#include "engine/kernels/regex_internal.h"

#include <string.h>

/*
 * The Unicode classes of regular expressions.
 *
 * Source: general categories and scripts of the Unicode Character Database, as
 * TensorFlow 2.15 answers them (scripts/make_regex_classes.py).
 */

/* Up to the next run's first character. */
typedef struct category_run {
	uint32_t first;
	char category[3]; /* "" where no character is assigned */
} category_run;

typedef struct script_run {
	uint32_t first;
	uint8_t script; /* its place among the names plus one, or 0 */
} script_run;

/* clang-format off */
static const category_run category_runs[] = {
#include "engine/kernels/regex_categories.inc"
};

static const script_run script_runs[] = {
#include "engine/kernels/regex_scripts.inc"
};

static const char *const script_names[] = {
#include "engine/kernels/regex_script_names.inc"
};
/* clang-format on */

enum {
	CATEGORY_RUNS = sizeof(category_runs) / sizeof(category_runs[0]),
	SCRIPT_RUNS = sizeof(script_runs) / sizeof(script_runs[0]),
	SCRIPTS = sizeof(script_names) / sizeof(script_names[0]),
	LAST_CHARACTER = 0x10ffff,
};

static bool is_of_category(const category_run *run, sp_bytes category)
{
	return category.size < sizeof(run->category) &&
	       memcmp(run->category, category.data, category.size) == 0;
}

static bool is_category(sp_bytes name)
{
	for (size_t i = 0; name.size > 0 && i < CATEGORY_RUNS; i++)
		if (is_of_category(&category_runs[i], name))
			return true;
	return false;
}

bool sp_regex__unicode_class(sp_regex_unicode_class *out, sp_bytes name)
{
	*out = (sp_regex_unicode_class){.category = name};
	if (sp_bytes_equal_text(name, "Any")) {
		out->category = (sp_bytes){"", 0};
		return true;
	}
	for (unsigned i = 0; i < SCRIPTS; i++)
		if (sp_bytes_equal_text(name, script_names[i])) {
			out->script = i + 1;
			return true;
		}
	return is_category(name);
}

static size_t run_count(const sp_regex_unicode_class *c)
{
	return c->script != 0 ? SCRIPT_RUNS : CATEGORY_RUNS;
}

/* Whether run `i` is one and is of the class. */
static bool has_run(const sp_regex_unicode_class *c, size_t i)
{
	if (i >= run_count(c))
		return false;
	return c->script != 0 ? script_runs[i].script == c->script
			      : is_of_category(&category_runs[i], c->category);
}

/* The first character of run `i`, or what lies behind the last one. */
static uint32_t run_first(const sp_regex_unicode_class *c, size_t i)
{
	if (i >= run_count(c))
		return LAST_CHARACTER + 1;
	return c->script != 0 ? script_runs[i].first : category_runs[i].first;
}

bool sp_regex__unicode_next(sp_regex_unicode_class *c, sp_regex_range *out)
{
	while (c->run < run_count(c) && !has_run(c, c->run))
		c->run++;
	if (c->run == run_count(c))
		return false;
	out->low = run_first(c, c->run);
	while (has_run(c, c->run))
		c->run++;
	out->high = run_first(c, c->run) - 1;
	return true;
}
