#include "engine/ops/string/unicode_case.h"

/* Every `step`-th character from `first` to `last` maps to the character `delta` further on. */
typedef struct case_run {
	int32_t first, last, step, delta;
} case_run;

/* A character that maps to several. */
typedef struct case_expansion {
	int32_t character;
	uint8_t count;
	int32_t to[SP_UNICODE_MOST_CASED];
} case_expansion;

typedef struct class_run {
	int32_t first; /* the run ends before `first` of the next one */
	uint8_t class;
} class_run;

/* clang-format off */
#include "engine/ops/string/unicode_case.inc"
/* clang-format on */

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

typedef struct case_mapping {
	const case_expansion *expansions;
	size_t expansion_count;
	const case_run *runs;
	size_t run_count;
} case_mapping;

static const case_mapping lower = {lower_expansions, COUNT(lower_expansions), lower_runs,
				   COUNT(lower_runs)};
static const case_mapping upper = {upper_expansions, COUNT(upper_expansions), upper_runs,
				   COUNT(upper_runs)};

/*
 * Finds the last entry of array [count], sorted by `field`, whose `field` is at most the character,
 * or the first entry if there is none.
 */
#define FIND(array, count, field, character, found)               \
	do {                                                      \
		size_t low = 0, high = (count);                   \
                                                                  \
		while (high - low > 1) {                          \
			size_t middle = low + (high - low) / 2;   \
                                                                  \
			if ((array)[middle].field <= (character)) \
				low = middle;                     \
			else                                      \
				high = middle;                    \
		}                                                 \
		(found) = &(array)[low];                          \
	} while (0)

static size_t map(const case_mapping *mapping, int32_t character, int32_t *out)
{
	const case_expansion *expansion;
	const case_run *run;
	bool moves;

	FIND(mapping->expansions, mapping->expansion_count, character, character, expansion);
	if (expansion->character == character) {
		for (size_t i = 0; i < expansion->count; i++)
			out[i] = expansion->to[i];
		return expansion->count;
	}
	FIND(mapping->runs, mapping->run_count, first, character, run);
	moves = character >= run->first && character <= run->last &&
		(character - run->first) % run->step == 0;
	out[0] = moves ? character + run->delta : character;
	return 1;
}

size_t sp_unicode__lower(int32_t character, int32_t out[SP_UNICODE_MOST_CASED])
{
	return map(&lower, character, out);
}

size_t sp_unicode__upper(int32_t character, int32_t out[SP_UNICODE_MOST_CASED])
{
	return map(&upper, character, out);
}

sp_unicode_case_class sp_unicode__case_class(int32_t character)
{
	const class_run *run;

	FIND(class_runs, COUNT(class_runs), first, character, run);
	return (sp_unicode_case_class)run->class;
}
