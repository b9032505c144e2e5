#include "engine/kernels/regex_internal.h"

#include <string.h>

/*
 * The tree into a program over bytes.  It is walked twice, once to count the
 * instructions and once to write them; both stop at SP_REGEX_MAX_PROGRAM.
 */
typedef struct compiler {
	sp_regex_instruction *program; /* NULL while counting */
	size_t size;
	sp_regex_class *classes; /* as many as were counted */
	size_t class_count;
} compiler;

static bool is_full(const compiler *c)
{
	return c->size > SP_REGEX_MAX_PROGRAM;
}

static size_t emit(compiler *c, sp_regex_code code, size_t x, size_t y)
{
	if (c->program != NULL)
		c->program[c->size] = (sp_regex_instruction){
			.code = (uint8_t)code, .x = (uint32_t)x, .y = (uint32_t)y};
	return c->size++;
}

/* Where instruction `at` goes: its first choice, or its second. */
static void set_target(compiler *c, size_t at, bool second, size_t target)
{
	if (c->program == NULL)
		return;
	if (second)
		c->program[at].y = (uint32_t)target;
	else
		c->program[at].x = (uint32_t)target;
}

/* A split whose two ways are `inside`, which follows it, and one that is set later. */
static size_t emit_fork(compiler *c, bool lazy)
{
	size_t at = emit(c, SP_REGEX_OP_SPLIT, 0, 0);

	set_target(c, at, lazy, at + 1);
	return at;
}

static void emit_byte(compiler *c, unsigned low, unsigned high)
{
	size_t at = emit(c, SP_REGEX_OP_BYTE, 0, 0);

	if (c->program != NULL) {
		c->program[at].low = (uint8_t)low;
		c->program[at].high = (uint8_t)high;
	}
}

/* ------------------------------------------------------------------- UTF-8 */

/* A range for each byte of a character: one alternative of a class. */
typedef struct byte_ranges {
	unsigned low[4], high[4];
	int count;
} byte_ranges;

enum { MANY_ALTERNATIVES = 8 };

/* What is left of a class. */
typedef struct class_walk {
	const sp_regex_node *node;
	size_t range;
	uint32_t low;
	int wide; /* 1 ... 3 while the characters beyond ASCII are taken all at once */
} class_walk;

static int utf8_length(uint32_t rune)
{
	return rune < 0x80 ? 1 : rune < 0x800 ? 2 : rune < 0x10000 ? 3 : 4;
}

static void encode(uint32_t rune, int n, unsigned out[4])
{
	static const unsigned leads[] = {0, 0, 0xc0, 0xe0, 0xf0};

	for (int i = n - 1; i > 0; i--, rune >>= 6)
		out[i] = 0x80 | (rune & 0x3f);
	out[0] = leads[n] | rune;
}

/*
 * The last character up to `high` so that [low, it] is one range per byte: as
 * long as the other, where a byte varies all bytes behind it take every value.
 */
static uint32_t block_end(uint32_t low, uint32_t high)
{
	static const uint32_t last_of_length[] = {0, 0x7f, 0x7ff, 0xffff, 0x10ffff};
	int n = utf8_length(low);

	if (high > last_of_length[n])
		high = last_of_length[n];
	for (int i = 1; i < n; i++) {
		uint32_t rest = ((uint32_t)1 << (6 * i)) - 1;

		if ((low & ~rest) == (high & ~rest))
			continue;
		if ((low & rest) != 0)
			high = low | rest;
		else if ((high & rest) != rest)
			high = (high & ~rest) - 1;
	}
	return high;
}

/* RE2 takes overlong forms and surrogates where all of 80 ... 10FFFF is meant, and so do we. */
static void next_wide(class_walk *w, byte_ranges *out)
{
	static const unsigned lows[] = {0, 0xc2, 0xe0, 0xf0}, highs[] = {0, 0xdf, 0xef, 0xf4};

	*out = (byte_ranges){.low = {lows[w->wide], 0x80, 0x80, 0x80},
			     .high = {highs[w->wide], 0xbf, 0xbf, 0xbf},
			     .count = w->wide + 1};
	w->wide = w->wide < 3 ? w->wide + 1 : 0;
	if (w->wide == 0)
		w->range++;
}

static bool next_alternative(class_walk *w, byte_ranges *out)
{
	const sp_regex_range *range;
	uint32_t low, end;

	if (w->range == w->node->range_count)
		return false;
	range = &w->node->ranges[w->range];
	low = w->low > range->low ? w->low : range->low;
	if (low == 0x80 && range->high == 0x10ffff && w->wide == 0)
		w->wide = 1;
	if (w->wide != 0) {
		next_wide(w, out);
		return true;
	}
	end = block_end(low, range->high);
	out->count = utf8_length(low);
	encode(low, out->count, out->low);
	encode(end, out->count, out->high);
	w->low = end + 1;
	w->range += end == range->high;
	return true;
}

static void emit_bytes(compiler *c, const byte_ranges *r)
{
	for (int i = 0; i < r->count; i++)
		emit_byte(c, r->low[i], r->high[i]);
}

/* Sends a chain of jumps, linked by their targets, to the next instruction. */
static void close_jumps(compiler *c, size_t jump)
{
	while (c->program != NULL && jump != UINT32_MAX) {
		size_t next = c->program[jump].x;

		c->program[jump].x = (uint32_t)c->size;
		jump = next;
	}
}

/* Whether the class is better looked up; what next_wide takes is no character. */
static bool has_many_alternatives(const sp_regex_node *node)
{
	class_walk w = {.node = node};
	byte_ranges one;

	for (int i = 0; next_alternative(&w, &one); i++)
		if (i == MANY_ALTERNATIVES)
			return node->ranges[node->range_count - 1].low != 0x80;
	return false;
}

static void emit_rune(compiler *c, const sp_regex_node *node)
{
	if (c->program != NULL)
		c->classes[c->class_count] = (sp_regex_class){node->ranges, node->range_count};
	emit(c, SP_REGEX_OP_RUNE, c->class_count++, 0);
	for (int i = 0; i < 3; i++)
		emit_byte(c, 0, 0xff);
}

static void emit_class(compiler *c, const sp_regex_node *node)
{
	class_walk w = {.node = node};
	byte_ranges one, next;
	size_t jump = UINT32_MAX;

	if (has_many_alternatives(node)) {
		emit_rune(c, node);
		return;
	}
	if (!next_alternative(&w, &one)) {
		emit_byte(c, 0xff, 0); /* no byte at all */
		return;
	}
	while (!is_full(c) && next_alternative(&w, &next)) {
		size_t fork = emit_fork(c, false);

		emit_bytes(c, &one);
		jump = emit(c, SP_REGEX_OP_JUMP, jump, 0);
		set_target(c, fork, true, c->size);
		one = next;
	}
	emit_bytes(c, &one);
	close_jumps(c, jump);
}

/* -------------------------------------------------------------------- trees */

static void emit_node(compiler *c, const sp_regex_node *node);

static bool may_be_empty(const sp_regex_node *node)
{
	switch (node->type) {
	case SP_REGEX_CLASS:
	case SP_REGEX_BYTE:
		return false;
	case SP_REGEX_GROUP:
		return may_be_empty(node->first);
	case SP_REGEX_CAT:
		for (const sp_regex_node *child = node->first; child != NULL; child = child->next)
			if (!may_be_empty(child))
				return false;
		return true;
	case SP_REGEX_ALT:
		for (const sp_regex_node *child = node->first; child != NULL; child = child->next)
			if (may_be_empty(child))
				return true;
		return false;
	case SP_REGEX_REPEAT:
		return node->min == 0 || may_be_empty(node->first);
	default:
		return true;
	}
}

static void emit_alternatives(compiler *c, const sp_regex_node *node)
{
	size_t jump = UINT32_MAX;

	for (const sp_regex_node *child = node->first; child != NULL && !is_full(c);
	     child = child->next) {
		size_t fork = 0;

		if (child->next != NULL)
			fork = emit_fork(c, false);
		emit_node(c, child);
		if (child->next != NULL) {
			jump = emit(c, SP_REGEX_OP_JUMP, jump, 0);
			set_target(c, fork, true, c->size);
		}
	}
	close_jumps(c, jump);
}

/* x+ : L: x, split(L, on) */
static void emit_plus(compiler *c, const sp_regex_node *child, bool lazy)
{
	size_t begin = c->size, fork;

	emit_node(c, child);
	fork = emit(c, SP_REGEX_OP_SPLIT, 0, 0);
	set_target(c, fork, lazy, begin);
	set_target(c, fork, !lazy, c->size);
}

/*
 * x* : L: split(x, on), jump L.  Where x may be empty that would let a longer
 * match win over an empty one that comes first; (x+)? keeps the order.
 */
static void emit_star(compiler *c, const sp_regex_node *child, bool lazy)
{
	size_t fork = emit_fork(c, lazy);

	if (may_be_empty(child)) {
		emit_plus(c, child, lazy);
	} else {
		emit_node(c, child);
		emit(c, SP_REGEX_OP_JUMP, fork, 0);
	}
	set_target(c, fork, !lazy, c->size);
}

/* x{2,4} : x x (x (x)?)?, whose forks all lead behind the last one. */
static void emit_optional(compiler *c, const sp_regex_node *child, int count, bool lazy)
{
	size_t open = UINT32_MAX;

	for (int i = 0; i < count && !is_full(c); i++) {
		size_t fork = emit_fork(c, lazy);

		set_target(c, fork, !lazy, open); /* chained until the end is known */
		open = fork;
		emit_node(c, child);
	}
	while (c->program != NULL && open != UINT32_MAX) {
		sp_regex_instruction *fork = &c->program[open];

		open = lazy ? fork->x : fork->y;
		*(lazy ? &fork->x : &fork->y) = (uint32_t)c->size;
	}
}

static void emit_repeat(compiler *c, const sp_regex_node *node)
{
	int copies = node->max < 0 && node->min > 0 ? node->min - 1 : node->min;
	size_t begin = c->size;

	for (int i = 0; i < copies && !is_full(c); i++) {
		emit_node(c, node->first);
		if (c->size == begin) /* nothing any number of times is nothing */
			break;
	}
	if (node->max >= 0)
		emit_optional(c, node->first, node->max - node->min, node->is_lazy);
	else if (node->min > 0)
		emit_plus(c, node->first, node->is_lazy);
	else
		emit_star(c, node->first, node->is_lazy);
}

static void emit_node(compiler *c, const sp_regex_node *node)
{
	if (is_full(c))
		return;
	switch (node->type) {
	case SP_REGEX_EMPTY:
		break;
	case SP_REGEX_CLASS:
		emit_class(c, node);
		break;
	case SP_REGEX_BYTE:
		emit_byte(c, 0, 0xff);
		break;
	case SP_REGEX_ASSERT:
		emit(c, SP_REGEX_OP_ASSERT, node->place, 0);
		break;
	case SP_REGEX_GROUP:
		emit(c, SP_REGEX_OP_SAVE, 2 * node->group, 0);
		emit_node(c, node->first);
		emit(c, SP_REGEX_OP_SAVE, 2 * node->group + 1, 0);
		break;
	case SP_REGEX_CAT:
		for (const sp_regex_node *child = node->first; child != NULL; child = child->next)
			emit_node(c, child);
		break;
	case SP_REGEX_ALT:
		emit_alternatives(c, node);
		break;
	case SP_REGEX_REPEAT:
		emit_repeat(c, node);
		break;
	}
}

static void emit_all(compiler *c, const sp_regex_node *tree)
{
	emit(c, SP_REGEX_OP_SAVE, 0, 0);
	emit_node(c, tree);
	emit(c, SP_REGEX_OP_SAVE, 1, 0);
	emit(c, SP_REGEX_OP_MATCH, 0, 0);
}

sp_status sp_regex_compile(sp_regex **out, const sp_regex_memory *memory, sp_bytes pattern,
			   sp_error *err)
{
	sp_regex *regex = memory->take(memory->context, 1, sizeof(*regex));
	compiler c = {0};
	sp_regex_node *tree;

	if (regex == NULL)
		return sp_error_set(err, SP_NO_MEMORY, "no memory for a regular expression");
	SP_TRY(sp_regex__parse(&tree, &regex->group_count, memory, pattern, err));
	emit_all(&c, tree);
	if (is_full(&c))
		return sp_error_set(err, SP_UNSUPPORTED,
				    "regular expression '%.*s' needs more than %d steps",
				    (int)(pattern.size > 200 ? 200 : pattern.size), pattern.data,
				    SP_REGEX_MAX_PROGRAM);
	regex->size = c.size;
	regex->class_count = c.class_count;
	regex->program = memory->take(memory->context, c.size, sizeof(*regex->program));
	regex->classes = memory->take(memory->context, c.class_count, sizeof(*regex->classes));
	if (regex->program == NULL || regex->classes == NULL)
		return sp_error_set(err, SP_NO_MEMORY, "no memory for a regular expression");
	c = (compiler){.program = regex->program, .classes = regex->classes};
	emit_all(&c, tree);
	*out = regex;
	return SP_OK;
}
