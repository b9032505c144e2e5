#include "engine/kernels/regex_internal.h"

#include <string.h>

#include "base/hex.h"

/*
 * RE2's syntax into a tree.  Recursion follows the nesting of groups and is
 * bounded by SP_REGEX_MAX_DEPTH.
 */

enum { MAX_RUNE = 0x10ffff, MAX_REPEAT = 1000 };

typedef struct parser {
	const sp_regex_memory *memory;
	sp_bytes pattern; /* all of it, for the words of a refusal */
	const char *at, *end;
	size_t group_count;
	size_t unicode_ranges; /* of all classes so far */
	int depth;
	bool fold_case, dot_newline, multi_line, swap_greed; /* (?i) (?s) (?m) (?U) */
	sp_error *err;
} parser;

static sp_status refuse(const parser *p, sp_status status, const char *what)
{
	return sp_error_set(p->err, status, "regular expression '%.*s': %s",
			    (int)(p->pattern.size > 200 ? 200 : p->pattern.size), p->pattern.data,
			    what);
}

static sp_status no_memory(const parser *p)
{
	return refuse(p, SP_NO_MEMORY, "no memory");
}

static bool see(const parser *p, const char *text)
{
	size_t n = strlen(text);

	return (size_t)(p->end - p->at) >= n && memcmp(p->at, text, n) == 0;
}

static bool take(parser *p, const char *text)
{
	if (!see(p, text))
		return false;
	p->at += strlen(text);
	return true;
}

static sp_status new_node(const parser *p, sp_regex_node_type type, sp_regex_node **out)
{
	*out = p->memory->take(p->memory->context, 1, sizeof(**out));
	if (*out == NULL)
		return no_memory(p);
	**out = (sp_regex_node){.type = type};
	return SP_OK;
}

/* ------------------------------------------------------------- characters */

/* One character of the pattern, which must be UTF-8. */
static sp_status take_rune(parser *p, uint32_t *out)
{
	unsigned char lead = (unsigned char)*p->at;
	int more = lead < 0x80   ? 0
		   : lead < 0xc2 ? -1
		   : lead < 0xe0 ? 1
		   : lead < 0xf0 ? 2
		   : lead < 0xf5 ? 3
				 : -1;
	uint32_t rune = more <= 0 ? lead : lead & (0x3f >> more);

	if (more < 0 || p->end - p->at <= more)
		return refuse(p, SP_INVALID, "it is not UTF-8");
	for (int i = 1; i <= more; i++) {
		if (((unsigned char)p->at[i] & 0xc0) != 0x80)
			return refuse(p, SP_INVALID, "it is not UTF-8");
		rune = rune << 6 | ((unsigned char)p->at[i] & 0x3f);
	}
	if ((more == 2 && (rune < 0x800 || (rune >= 0xd800 && rune < 0xe000))) ||
	    (more == 3 && (rune < 0x10000 || rune > MAX_RUNE)))
		return refuse(p, SP_INVALID, "it is not UTF-8");
	p->at += more + 1;
	*out = rune;
	return SP_OK;
}

/* Behind "\x": two digits, or any number of them in braces. */
static sp_status take_hex(parser *p, uint32_t *out)
{
	bool braces = take(p, "{");
	int digits = 0;

	*out = 0;
	while (p->at < p->end && sp_hex_value(*p->at) >= 0 && (braces || digits < 2)) {
		*out = *out * 16 + (uint32_t)sp_hex_value(*p->at++);
		digits++;
		if (*out > MAX_RUNE)
			return refuse(p, SP_INVALID, "an escaped character is beyond 10FFFF");
	}
	if (digits == 0 || (braces ? !take(p, "}") : digits != 2))
		return refuse(p, SP_INVALID, "\\x without its digits");
	return SP_OK;
}

/* Behind the backslash: an escape that stands for one character, inside a class and out of it. */
static sp_status take_escape(parser *p, uint32_t *out)
{
	static const char letters[] = "afnrtv", meanings[] = "\a\f\n\r\t\v";
	const char *letter;
	char c;

	if (p->at == p->end)
		return refuse(p, SP_INVALID, "it ends in a backslash");
	c = *p->at;
	/* A single digit would be a reference to a group, which RE2 does not have. */
	if (c == '0' ||
	    (c >= '1' && c <= '7' && p->end - p->at > 1 && p->at[1] >= '0' && p->at[1] <= '7')) {
		*out = 0;
		for (int i = 0; i < 3 && p->at < p->end && *p->at >= '0' && *p->at <= '7'; i++)
			*out = *out * 8 + (uint32_t)(*p->at++ - '0');
		return SP_OK;
	}
	if (take(p, "x"))
		return take_hex(p, out);
	letter = c != '\0' ? strchr(letters, c) : NULL;
	if (letter != NULL) {
		*out = (unsigned char)meanings[letter - letters];
		p->at++;
		return SP_OK;
	}
	if (c == '\0' || (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') ||
	    (c >= 'A' && c <= 'Z') || (c & 0x80) != 0)
		return refuse(p, SP_INVALID, "an unknown escape");
	*out = (unsigned char)c;
	p->at++;
	return SP_OK;
}

/* ------------------------------------------------------------------ classes */

/* Ranges as they come, in an array that doubles. */
typedef struct ranges {
	sp_regex_range *items;
	size_t count, capacity;
} ranges;

static sp_status add_plain(parser *p, ranges *r, uint32_t low, uint32_t high)
{
	if (r->count == r->capacity) {
		size_t capacity = r->capacity != 0 ? 2 * r->capacity : 8;
		sp_regex_range *items = p->memory->take(p->memory->context, capacity,
							sizeof(*items));

		if (items == NULL)
			return no_memory(p);
		if (r->count != 0)
			memcpy(items, r->items, r->count * sizeof(*items));
		r->items = items;
		r->capacity = capacity;
	}
	r->items[r->count++] = (sp_regex_range){low, high};
	return SP_OK;
}

/* The part of [low, high] that lies in [first, last], moved by `by`. */
static sp_status add_moved(parser *p, ranges *r, uint32_t low, uint32_t high, uint32_t first,
			   uint32_t last, int by)
{
	if (low < first)
		low = first;
	if (high > last)
		high = last;
	if (low > high)
		return SP_OK;
	return add_plain(p, r, low + (uint32_t)by, high + (uint32_t)by);
}

static bool holds_letter(uint32_t low, uint32_t high, char lower)
{
	uint32_t l = (unsigned char)lower, u = l - 0x20;

	return (low <= l && l <= high) || (low <= u && u <= high);
}

/* Adds the range, and under (?i) what it folds to: two letters fold out of ASCII. */
static sp_status add_range(parser *p, ranges *r, uint32_t low, uint32_t high)
{
	SP_TRY(add_plain(p, r, low, high));
	if (!p->fold_case)
		return SP_OK;
	if (high >= 0x80)
		return refuse(p, SP_UNSUPPORTED, "characters outside ASCII under (?i)");
	SP_TRY(add_moved(p, r, low, high, 'a', 'z', -0x20));
	SP_TRY(add_moved(p, r, low, high, 'A', 'Z', 0x20));
	if (holds_letter(low, high, 'k'))
		SP_TRY(add_plain(p, r, 0x212a, 0x212a));
	if (holds_letter(low, high, 's'))
		SP_TRY(add_plain(p, r, 0x17f, 0x17f));
	return SP_OK;
}

/* Moves the item at `top` down to where both of its children in the heap lie below it. */
static void sift_down(sp_regex_range *items, size_t top, size_t count)
{
	sp_regex_range item = items[top];

	for (size_t child; (child = 2 * top + 1) < count; top = child) {
		if (child + 1 < count && items[child].low < items[child + 1].low)
			child++;
		if (items[child].low <= item.low)
			break;
		items[top] = items[child];
	}
	items[top] = item;
}

/* By a heap: a class of a foreign pattern may have very many ranges in any order. */
static void sort(ranges *r)
{
	for (size_t i = r->count / 2; i > 0; i--)
		sift_down(r->items, i - 1, r->count);
	for (size_t last = r->count; last > 1; last--) {
		sp_regex_range largest = r->items[0];

		r->items[0] = r->items[last - 1];
		r->items[last - 1] = largest;
		sift_down(r->items, 0, last - 1);
	}
}

static void sort_and_merge(ranges *r)
{
	size_t kept = 0;

	sort(r);
	for (size_t i = 0; i < r->count; i++) {
		sp_regex_range *last = &r->items[kept > 0 ? kept - 1 : 0];

		if (kept > 0 && r->items[i].low <= last->high + 1) {
			if (r->items[i].high > last->high)
				last->high = r->items[i].high;
		} else {
			r->items[kept++] = r->items[i];
		}
	}
	r->count = kept;
}

/* Adds all characters that are not in `of`. */
static sp_status add_others(parser *p, ranges *r, ranges *of)
{
	uint32_t next = 0;

	sort_and_merge(of);
	for (size_t i = 0; i < of->count; i++) {
		if (of->items[i].low > next)
			SP_TRY(add_plain(p, r, next, of->items[i].low - 1));
		next = of->items[i].high + 1;
	}
	return next <= MAX_RUNE ? add_plain(p, r, next, MAX_RUNE) : SP_OK;
}

/* A named set: pairs of first and last characters. */
typedef struct named_set {
	const char *name;
	const char *pairs;
} named_set;

static const named_set perl_sets[] = {
	{"d", "09"},
	{"s", "\t\n\f\r  "},
	{"w", "09AZ__az"},
};

static const named_set posix_sets[] = {
	{"alnum", "09AZaz"}, {"alpha", "AZaz"}, {"blank", "\t\t  "},  {"digit", "09"},
	{"graph", "!~"},     {"lower", "az"},   {"print", " ~"},      {"punct", "!/:@[`{~"},
	{"space", "\t\r  "}, {"upper", "AZ"},   {"word", "09AZ__az"}, {"xdigit", "09AFaf"},
};

static sp_status add_set(parser *p, ranges *r, const char *pairs, bool negated)
{
	ranges set = {0};

	for (; pairs[0] != '\0'; pairs += 2)
		SP_TRY(add_range(p, negated ? &set : r, (unsigned char)pairs[0],
				 (unsigned char)pairs[1]));
	return negated ? add_others(p, r, &set) : SP_OK;
}

/* Behind "\p" or "\P": a letter, or a name in braces that a "^" negates once more. */
static sp_status take_unicode_name(parser *p, sp_bytes *name, bool *negated)
{
	const char *begin = p->at, *close;

	if (!take(p, "{")) {
		*name = (sp_bytes){begin, p->at < p->end};
		p->at += name->size;
		return SP_OK;
	}
	close = memchr(p->at, '}', (size_t)(p->end - p->at));
	if (close == NULL)
		return refuse(p, SP_INVALID, "a class name is not closed");
	if (take(p, "^"))
		*negated = !*negated;
	*name = (sp_bytes){p->at, (size_t)(close - p->at)};
	p->at = close + 1;
	return SP_OK;
}

static sp_status take_unicode_set(parser *p, ranges *r)
{
	bool negated = p->at[1] == 'P';
	sp_regex_unicode_class class;
	sp_regex_range range;
	ranges set = {0};
	sp_bytes name;

	p->at += 2;
	SP_TRY(take_unicode_name(p, &name, &negated));
	if (!sp_regex__unicode_class(&class, name))
		return refuse(p, SP_INVALID, "an unknown class name");
	if (p->fold_case)
		return refuse(p, SP_UNSUPPORTED, "Unicode classes under (?i)");
	while (sp_regex__unicode_next(&class, &range)) {
		if (p->unicode_ranges++ == SP_REGEX_MAX_RANGES)
			return refuse(p, SP_UNSUPPORTED, "too many Unicode classes");
		SP_TRY(add_plain(p, negated ? &set : r, range.low, range.high));
	}
	return negated ? add_others(p, r, &set) : SP_OK;
}

/* "\d" and its kin, also negated by a capital; *found says whether there was one. */
static sp_status take_perl_set(parser *p, ranges *r, bool *found)
{
	*found = false;
	if (p->end - p->at < 2 || p->at[0] != '\\')
		return SP_OK;
	if (p->at[1] == 'p' || p->at[1] == 'P') {
		*found = true;
		return take_unicode_set(p, r);
	}
	for (size_t i = 0; i < sizeof(perl_sets) / sizeof(perl_sets[0]); i++)
		if ((p->at[1] | 0x20) == perl_sets[i].name[0]) {
			bool negated = p->at[1] < 'a';

			*found = true;
			p->at += 2;
			return add_set(p, r, perl_sets[i].pairs, negated);
		}
	return SP_OK;
}

static sp_status take_posix_set(parser *p, ranges *r, bool *found)
{
	const char *close = see(p, "[:") ? memmem(p->at + 2, (size_t)(p->end - p->at - 2), ":]", 2)
					 : NULL;
	sp_bytes name;
	bool negated;

	*found = close != NULL;
	if (close == NULL)
		return SP_OK;
	name = (sp_bytes){p->at + 2, (size_t)(close - p->at - 2)};
	negated = name.size > 0 && name.data[0] == '^';
	if (negated)
		name = (sp_bytes){name.data + 1, name.size - 1};
	p->at = close + 2;
	if (sp_bytes_equal_text(name, "ascii"))
		return negated ? add_range(p, r, 0x80, MAX_RUNE) : add_range(p, r, 0, 0x7f);
	if (sp_bytes_equal_text(name, "cntrl")) {
		ranges set = {0};

		SP_TRY(add_range(p, negated ? &set : r, 0, 0x1f));
		SP_TRY(add_range(p, negated ? &set : r, 0x7f, 0x7f));
		return negated ? add_others(p, r, &set) : SP_OK;
	}
	for (size_t i = 0; i < sizeof(posix_sets) / sizeof(posix_sets[0]); i++)
		if (sp_bytes_equal_text(name, posix_sets[i].name))
			return add_set(p, r, posix_sets[i].pairs, negated);
	return refuse(p, SP_INVALID, "an unknown class name");
}

static sp_status take_class_character(parser *p, uint32_t *out)
{
	if (p->at == p->end)
		return refuse(p, SP_INVALID, "a class is not closed");
	if (take(p, "\\"))
		return take_escape(p, out);
	return take_rune(p, out);
}

static sp_status take_class_range(parser *p, ranges *r)
{
	uint32_t low, high;

	SP_TRY(take_class_character(p, &low));
	high = low;
	if (p->end - p->at >= 2 && p->at[0] == '-' && p->at[1] != ']') {
		p->at++;
		SP_TRY(take_class_character(p, &high));
		if (high < low)
			return refuse(p, SP_INVALID, "a range of a class is backwards");
	}
	return add_range(p, r, low, high);
}

/* Makes a class of the ranges; one without any character is a class that nothing matches. */
static sp_status class_node(parser *p, ranges *r, sp_regex_node **out)
{
	SP_TRY(new_node(p, SP_REGEX_CLASS, out));
	sort_and_merge(r);
	(*out)->ranges = r->items;
	(*out)->range_count = r->count;
	return SP_OK;
}

/* Behind "[". */
static sp_status take_class(parser *p, sp_regex_node **out)
{
	bool negated = take(p, "^"), first = true, found;
	ranges set = {0}, others = {0};

	for (; p->at < p->end && (*p->at != ']' || first); first = false) {
		SP_TRY(take_posix_set(p, &set, &found));
		if (!found)
			SP_TRY(take_perl_set(p, &set, &found));
		if (!found)
			SP_TRY(take_class_range(p, &set));
	}
	if (!take(p, "]"))
		return refuse(p, SP_INVALID, "a class is not closed");
	if (negated)
		SP_TRY(add_others(p, &others, &set));
	return class_node(p, negated ? &others : &set, out);
}

/* -------------------------------------------------------------------- atoms */

static sp_status rune_node(parser *p, uint32_t rune, sp_regex_node **out)
{
	ranges set = {0};

	SP_TRY(add_range(p, &set, rune, rune));
	return class_node(p, &set, out);
}

static sp_status place_node(parser *p, sp_regex_place place, sp_regex_node **out)
{
	SP_TRY(new_node(p, SP_REGEX_ASSERT, out));
	(*out)->place = place;
	return SP_OK;
}

static sp_status dot_node(parser *p, sp_regex_node **out)
{
	ranges set = {0};

	if (p->dot_newline) {
		SP_TRY(add_plain(p, &set, 0, MAX_RUNE));
	} else {
		SP_TRY(add_plain(p, &set, 0, '\n' - 1));
		SP_TRY(add_plain(p, &set, '\n' + 1, MAX_RUNE));
	}
	return class_node(p, &set, out);
}

static sp_status take_alternation(parser *p, sp_regex_node **out);

/* Up to the ")" that closes the group; flags set inside end with it. */
static sp_status take_group(parser *p, bool captures, sp_regex_node **out)
{
	parser outer = *p;
	size_t group = 0;

	if (captures)
		group = ++p->group_count;
	if (++p->depth > SP_REGEX_MAX_DEPTH)
		return refuse(p, SP_UNSUPPORTED, "groups are nested too deep");
	SP_TRY(take_alternation(p, out));
	if (!take(p, ")"))
		return refuse(p, SP_INVALID, "missing )");
	p->depth--;
	p->fold_case = outer.fold_case;
	p->dot_newline = outer.dot_newline;
	p->multi_line = outer.multi_line;
	p->swap_greed = outer.swap_greed;
	if (captures) {
		sp_regex_node *child = *out;

		SP_TRY(new_node(p, SP_REGEX_GROUP, out));
		(*out)->first = child;
		(*out)->group = group;
	}
	return SP_OK;
}

/* Behind "(?P<". */
static sp_status take_group_name(parser *p)
{
	const char *begin = p->at;

	while (p->at < p->end && (sp_hex_value(*p->at) >= 0 || *p->at == '_' ||
				  ((*p->at | 0x20) >= 'a' && (*p->at | 0x20) <= 'z')))
		p->at++;
	if (p->at == begin || !take(p, ">"))
		return refuse(p, SP_INVALID, "a bad group name");
	return SP_OK;
}

/* Behind "(?": flags for the rest of the group, or for a group of their own. */
static sp_status take_flags(parser *p, sp_regex_node **out)
{
	parser changed = *p;
	bool value = true, any = false;

	for (;;) {
		char c = p->at < p->end ? *p->at++ : '\0';

		if (c == 'i')
			changed.fold_case = value;
		else if (c == 'm')
			changed.multi_line = value;
		else if (c == 's')
			changed.dot_newline = value;
		else if (c == 'U')
			changed.swap_greed = value;
		else if (c == '-' && value)
			value = false;
		else if ((c == ')' || c == ':') && (value || any))
			break;
		else
			return refuse(p, SP_INVALID, "an unknown operator behind (?");
		any = c != '-';
	}
	if (p->at[-1] == ':') {
		parser inside = changed;

		inside.at = p->at;
		SP_TRY(take_group(&inside, false, out));
		p->at = inside.at;
		p->group_count = inside.group_count;
		p->unicode_ranges = inside.unicode_ranges;
		return SP_OK;
	}
	changed.at = p->at;
	*p = changed;
	return new_node(p, SP_REGEX_EMPTY, out);
}

/* Behind "\Q": text up to "\E" or the end. */
static sp_status take_quoted(parser *p, sp_regex_node **out)
{
	sp_regex_node **link;
	uint32_t rune;

	SP_TRY(new_node(p, SP_REGEX_CAT, out));
	for (link = &(*out)->first; p->at < p->end && !take(p, "\\E"); link = &(*link)->next) {
		SP_TRY(take_rune(p, &rune));
		SP_TRY(rune_node(p, rune, link));
	}
	return SP_OK;
}

static sp_status take_backslash(parser *p, sp_regex_node **out)
{
	ranges set = {0};
	uint32_t rune;
	bool found;

	SP_TRY(take_perl_set(p, &set, &found));
	if (found)
		return class_node(p, &set, out);
	p->at++;
	if (take(p, "A"))
		return place_node(p, SP_REGEX_BEGIN_TEXT, out);
	if (take(p, "z"))
		return place_node(p, SP_REGEX_END_TEXT, out);
	if (take(p, "b"))
		return place_node(p, SP_REGEX_WORD_EDGE, out);
	if (take(p, "B"))
		return place_node(p, SP_REGEX_NO_WORD_EDGE, out);
	if (take(p, "C"))
		return new_node(p, SP_REGEX_BYTE, out);
	SP_TRY(take_escape(p, &rune));
	return rune_node(p, rune, out);
}

static sp_status take_atom(parser *p, sp_regex_node **out)
{
	uint32_t rune;

	if (take(p, "(?P<")) {
		SP_TRY(take_group_name(p));
		return take_group(p, true, out);
	}
	if (take(p, "(?"))
		return take_flags(p, out);
	if (take(p, "("))
		return take_group(p, true, out);
	if (take(p, "["))
		return take_class(p, out);
	if (take(p, "."))
		return dot_node(p, out);
	if (take(p, "^"))
		return place_node(p, p->multi_line ? SP_REGEX_BEGIN_LINE : SP_REGEX_BEGIN_TEXT,
				  out);
	if (take(p, "$"))
		return place_node(p, p->multi_line ? SP_REGEX_END_LINE : SP_REGEX_END_TEXT, out);
	if (see(p, "\\"))
		return take_backslash(p, out);
	SP_TRY(take_rune(p, &rune));
	return rune_node(p, rune, out);
}

/* ------------------------------------------------------------------ repeats */

/* A number of at most four digits; false when there is none. */
static bool take_number(parser *p, int *out)
{
	const char *begin = p->at;

	for (*out = 0; p->at < p->end && *p->at >= '0' && *p->at <= '9'; p->at++)
		if (*out <= MAX_REPEAT)
			*out = *out * 10 + (*p->at - '0');
	return p->at > begin;
}

/* "{2}", "{2,}" or "{2,5}"; any other "{" is a character like others. */
static bool take_braces(parser *p, int *min, int *max)
{
	const char *begin = p->at;

	if (!take(p, "{") || !take_number(p, min))
		goto literal;
	*max = *min;
	if (take(p, ",") && !take_number(p, max))
		*max = -1;
	if (take(p, "}"))
		return true;
literal:
	p->at = begin;
	return false;
}

static bool take_repeat(parser *p, int *min, int *max)
{
	*min = 0;
	*max = -1;
	if (take(p, "*"))
		return true;
	if (take(p, "+")) {
		*min = 1;
		return true;
	}
	if (take(p, "?")) {
		*max = 1;
		return true;
	}
	return take_braces(p, min, max);
}

/* An atom and the repetition behind it, of which there may be one only. */
static sp_status take_repeated(parser *p, sp_regex_node **out)
{
	sp_regex_node *atom;
	int min, max;
	bool lazy;

	SP_TRY(take_atom(p, out));
	if (!take_repeat(p, &min, &max))
		return SP_OK;
	if (min > MAX_REPEAT || max > MAX_REPEAT || (max >= 0 && max < min))
		return refuse(p, SP_INVALID, "a bad number of repetitions");
	if ((*out)->type == SP_REGEX_EMPTY)
		return refuse(p, SP_UNSUPPORTED, "a repetition behind flags");
	lazy = take(p, "?") != p->swap_greed;
	atom = *out;
	SP_TRY(new_node(p, SP_REGEX_REPEAT, out));
	(*out)->first = atom;
	(*out)->min = min;
	(*out)->max = max;
	(*out)->is_lazy = lazy;
	if (take_repeat(p, &min, &max))
		return refuse(p, SP_INVALID, "repetitions are stacked");
	return SP_OK;
}

static sp_status take_sequence(parser *p, sp_regex_node **out)
{
	sp_regex_node **link;
	int min, max;

	SP_TRY(new_node(p, SP_REGEX_CAT, out));
	link = &(*out)->first;
	while (p->at < p->end && *p->at != '|' && *p->at != ')') {
		if (take_repeat(p, &min, &max))
			return refuse(p, SP_INVALID, "there is nothing to repeat");
		if (take(p, "\\Q"))
			SP_TRY(take_quoted(p, link));
		else
			SP_TRY(take_repeated(p, link));
		link = &(*link)->next;
	}
	return SP_OK;
}

static sp_status take_alternation(parser *p, sp_regex_node **out)
{
	sp_regex_node **link;

	SP_TRY(new_node(p, SP_REGEX_ALT, out));
	link = &(*out)->first;
	do {
		SP_TRY(take_sequence(p, link));
		link = &(*link)->next;
	} while (take(p, "|"));
	return SP_OK;
}

sp_status sp_regex__parse(sp_regex_node **out, size_t *group_count, const sp_regex_memory *memory,
			  sp_bytes pattern, sp_error *err)
{
	parser p = {.memory = memory,
		    .pattern = pattern,
		    .at = pattern.size != 0 ? pattern.data : "",
		    .err = err};

	p.end = p.at + pattern.size;
	SP_TRY(take_alternation(&p, out));
	if (p.at < p.end)
		return refuse(&p, SP_INVALID, "unexpected )");
	*group_count = p.group_count;
	return SP_OK;
}
