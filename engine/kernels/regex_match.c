#include "engine/kernels/regex_internal.h"

#include <string.h>

/*
 * All ways through the program at once, in step with the text: a list of
 * threads in the order of preference, each with its own noted places.  No
 * instruction is twice in a list, so a byte of text costs at most one look at
 * every instruction.
 */
typedef struct threads {
	uint32_t *order; /* [program size] instructions, the preferred first */
	uint32_t *where; /* [program size] their places in `order`, if those agree */
	size_t *places;  /* [program size, slot_count], by place in `order` */
	size_t count;
} threads;

/* What is yet to be added, and what is to be put back on the way. */
typedef struct pending {
	uint32_t instruction;
	uint32_t slot; /* UINT32_MAX: an instruction to add; else a slot to set back */
	size_t place;
} pending;

typedef struct matcher {
	const sp_regex *regex;
	const char *text;
	size_t size;
	sp_regex_manner manner;
	size_t slot_count;
	threads now, next;
	pending *stack;
	size_t *places; /* of the thread that is being added */
	size_t *best;   /* of the match so far */
} matcher;

enum { NOWHERE = -1 };

static size_t slots_for(size_t group_count)
{
	return 2 * group_count;
}

/* Every instruction is pushed at most once by each of its at most two callers. */
static size_t stack_size(const sp_regex *regex)
{
	return 3 * regex->size + 2;
}

size_t sp_regex_group_count(const sp_regex *regex)
{
	return regex->group_count;
}

size_t sp_regex_scratch_size(const sp_regex *regex, size_t group_count)
{
	size_t slots = slots_for(group_count);

	return stack_size(regex) * sizeof(pending) +
	       2 * regex->size * (slots * sizeof(size_t) + 2 * sizeof(uint32_t)) +
	       2 * slots * sizeof(size_t);
}

size_t sp_regex_character(sp_bytes text, size_t at, uint32_t *out)
{
	static const uint32_t lowest[] = {0, 0, 0x80, 0x800, 0x10000};
	const unsigned char *bytes = (const unsigned char *)text.data + at;
	size_t n = *bytes < 0x80   ? 1
		   : *bytes < 0xc0 ? 0
		   : *bytes < 0xe0 ? 2
		   : *bytes < 0xf0 ? 3
				   : 4;

	if (n == 0 || n > text.size - at || *bytes > 0xf4)
		return 0;
	*out = n == 1 ? *bytes : *bytes & (0x7fu >> n);
	for (size_t i = 1; i < n; i++) {
		if ((bytes[i] & 0xc0) != 0x80)
			return 0;
		*out = *out << 6 | (bytes[i] & 0x3f);
	}
	return lowest[n] <= *out && *out <= 0x10ffff ? n : 0;
}

static void *cut(char **scratch, size_t size)
{
	void *piece = *scratch;

	*scratch += size;
	return piece;
}

/* The widest elements first, so that all are aligned. */
static void lay_out(matcher *m, char *scratch)
{
	size_t n = m->regex->size, list = n * m->slot_count * sizeof(size_t);

	m->stack = cut(&scratch, stack_size(m->regex) * sizeof(*m->stack));
	m->now.places = cut(&scratch, list);
	m->next.places = cut(&scratch, list);
	m->places = cut(&scratch, m->slot_count * sizeof(size_t));
	m->best = cut(&scratch, m->slot_count * sizeof(size_t));
	m->now.order = cut(&scratch, n * sizeof(uint32_t));
	m->now.where = cut(&scratch, n * sizeof(uint32_t));
	m->next.order = cut(&scratch, n * sizeof(uint32_t));
	m->next.where = cut(&scratch, n * sizeof(uint32_t));
	/* What is in them does not matter, but a memory checker would ask. */
	memset(m->now.where, 0, n * sizeof(uint32_t));
	memset(m->next.where, 0, n * sizeof(uint32_t));
}

static bool is_word(const matcher *m, size_t at)
{
	unsigned char c;

	if (at >= m->size)
		return false;
	c = (unsigned char)m->text[at];
	return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
	       c == '_';
}

static bool holds(const matcher *m, sp_regex_place place, size_t at)
{
	bool edge;

	switch (place) {
	case SP_REGEX_BEGIN_TEXT:
		return at == 0;
	case SP_REGEX_END_TEXT:
		return at == m->size;
	case SP_REGEX_BEGIN_LINE:
		return at == 0 || m->text[at - 1] == '\n';
	case SP_REGEX_END_LINE:
		return at == m->size || m->text[at] == '\n';
	default:
		edge = (at > 0 && is_word(m, at - 1)) != is_word(m, at);
		return edge == (place == SP_REGEX_WORD_EDGE);
	}
}

static bool has_thread(const threads *list, uint32_t instruction)
{
	uint32_t where = list->where[instruction];

	return where < list->count && list->order[where] == instruction;
}

/* Adds the instruction and all that it leads to without a byte of text; m->places is kept. */
static void add(matcher *m, threads *list, uint32_t first, size_t at)
{
	size_t depth = 0;

	m->stack[depth++] = (pending){.instruction = first, .slot = UINT32_MAX};
	while (depth > 0) {
		pending top = m->stack[--depth];
		const sp_regex_instruction *i = &m->regex->program[top.instruction];

		if (top.slot != UINT32_MAX) {
			m->places[top.slot] = top.place;
			continue;
		}
		if (has_thread(list, top.instruction))
			continue;
		list->where[top.instruction] = (uint32_t)list->count;
		list->order[list->count] = top.instruction;
		switch (i->code) {
		case SP_REGEX_OP_SPLIT:
			m->stack[depth++] = (pending){.instruction = i->y, .slot = UINT32_MAX};
			m->stack[depth++] = (pending){.instruction = i->x, .slot = UINT32_MAX};
			break;
		case SP_REGEX_OP_JUMP:
			m->stack[depth++] = (pending){.instruction = i->x, .slot = UINT32_MAX};
			break;
		case SP_REGEX_OP_SAVE:
			if (i->x < m->slot_count) {
				m->stack[depth++] = (pending){.slot = i->x,
							      .place = m->places[i->x]};
				m->places[i->x] = at;
			}
			m->stack[depth++] = (pending){.instruction = top.instruction + 1,
						      .slot = UINT32_MAX};
			break;
		case SP_REGEX_OP_ASSERT:
			if (holds(m, (sp_regex_place)i->x, at))
				m->stack[depth++] = (pending){.instruction = top.instruction + 1,
							      .slot = UINT32_MAX};
			break;
		default:
			memcpy(&list->places[list->count * m->slot_count], m->places,
			       m->slot_count * sizeof(size_t));
		}
		list->count++;
	}
}

/* The bytes of the character at `at` if the class has it, else 0. */
static size_t take_member(const matcher *m, const sp_regex_class *class, size_t at)
{
	size_t low = 0, high = class->count;
	uint32_t character;
	size_t n = sp_regex_character((sp_bytes){m->text, m->size}, at, &character);

	if (n == 0)
		return 0;
	/* The ranges before `low` end before the character, the one at `high` does not. */
	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (class->ranges[middle].high < character)
			low = middle + 1;
		else
			high = middle;
	}
	return low < class->count && class->ranges[low].low <= character ? n : 0;
}

/* How many instructions further the byte at `at` leads; 0 when it does not match. */
static uint32_t advance(const matcher *m, const sp_regex_instruction *i, size_t at)
{
	unsigned char byte;

	if (at >= m->size)
		return 0;
	if (i->code == SP_REGEX_OP_RUNE) {
		size_t n = take_member(m, &m->regex->classes[i->x], at);

		return n == 0 ? 0 : 5 - (uint32_t)n;
	}
	byte = (unsigned char)m->text[at];
	return i->code == SP_REGEX_OP_BYTE && i->low <= byte && byte <= i->high;
}

/*
 * One byte (or the end) of the text for every thread; true when one of them
 * matched, and then those that are less preferred are gone.
 */
static bool step(matcher *m, size_t at)
{
	m->next.count = 0;
	for (size_t t = 0; t < m->now.count; t++) {
		uint32_t number = m->now.order[t];
		const sp_regex_instruction *i = &m->regex->program[number];
		const size_t *places = &m->now.places[t * m->slot_count];
		uint32_t by;

		if (i->code == SP_REGEX_OP_MATCH &&
		    (m->manner == SP_REGEX_SEARCH || at == m->size)) {
			memcpy(m->best, places, m->slot_count * sizeof(size_t));
			return true;
		}
		by = advance(m, i, at);
		if (by == 0)
			continue;
		memcpy(m->places, places, m->slot_count * sizeof(size_t));
		add(m, &m->next, number + by, at + 1);
	}
	return false;
}

static bool run(matcher *m, size_t start)
{
	bool matched = false;

	m->now.count = 0;
	for (size_t at = start; at <= m->size; at++) {
		threads swap;

		if (!matched && (m->manner == SP_REGEX_SEARCH || at == start)) {
			for (size_t i = 0; i < m->slot_count; i++)
				m->places[i] = (size_t)NOWHERE;
			add(m, &m->now, 0, at);
		}
		if (m->now.count == 0)
			break;
		matched |= step(m, at);
		swap = m->now;
		m->now = m->next;
		m->next = swap;
	}
	return matched;
}

bool sp_regex_match(const sp_regex *regex, sp_bytes text, size_t start, sp_regex_manner manner,
		    sp_bytes *groups, size_t group_count, void *scratch)
{
	matcher m = {.regex = regex,
		     .text = text.size != 0 ? text.data : "",
		     .size = text.size,
		     .manner = manner,
		     .slot_count = slots_for(group_count)};

	lay_out(&m, scratch);
	if (!run(&m, start))
		return false;
	for (size_t g = 0; g < group_count; g++) {
		size_t begin = m.best[2 * g], end = m.best[2 * g + 1];

		groups[g] = (sp_bytes){NULL, 0};
		if (begin != (size_t)NOWHERE && end != (size_t)NOWHERE)
			groups[g] = (sp_bytes){m.text + begin, end - begin};
	}
	return true;
}
