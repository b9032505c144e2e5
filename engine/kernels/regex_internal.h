#ifndef SP_ENGINE_KERNELS_REGEX_INTERNAL_H
#define SP_ENGINE_KERNELS_REGEX_INTERNAL_H

#include "engine/kernels/regex.h"

/* What parser, compiler and matcher of regular expressions share. */

/* ------------------------------------------------------------------- trees */

typedef enum sp_regex_node_type {
	SP_REGEX_EMPTY,
	SP_REGEX_CLASS,  /* one character out of ranges */
	SP_REGEX_BYTE,   /* any byte */
	SP_REGEX_ASSERT, /* a condition on the place */
	SP_REGEX_GROUP,  /* a capture of its child */
	SP_REGEX_CAT,    /* its children one after the other */
	SP_REGEX_ALT,    /* one of its children, the first that leads to a match */
	SP_REGEX_REPEAT, /* its child min ... max times */
} sp_regex_node_type;

typedef enum sp_regex_place {
	SP_REGEX_BEGIN_TEXT,
	SP_REGEX_END_TEXT,
	SP_REGEX_BEGIN_LINE,
	SP_REGEX_END_LINE,
	SP_REGEX_WORD_EDGE,
	SP_REGEX_NO_WORD_EDGE,
} sp_regex_place;

typedef struct sp_regex_range {
	uint32_t low, high;
} sp_regex_range;

/* Children hang on `first` and are linked by `next`, so that only groups nest deep. */
typedef struct sp_regex_node {
	sp_regex_node_type type;
	struct sp_regex_node *first, *next;
	sp_regex_range *ranges; /* of a class: sorted, apart from each other */
	size_t range_count;
	sp_regex_place place;
	size_t group;
	int min, max; /* of a repeat; max -1 is without bound */
	bool is_lazy;
} sp_regex_node;

SP_MUST_CHECK sp_status sp_regex__parse(sp_regex_node **out, size_t *group_count,
					const sp_regex_memory *memory, sp_bytes pattern,
					sp_error *err);

/* --------------------------------------------------------- Unicode classes */

/* What \p{Lu}, \pL, \p{Greek} and \p{Any} match, range by range. */
typedef struct sp_regex_unicode_class {
	sp_bytes category; /* its first letters: "L" is all letters, "" is all characters */
	unsigned script;   /* 0: a class of categories */
	size_t run;        /* what has been looked at */
} sp_regex_unicode_class;

/* False when no class has this name. */
bool sp_regex__unicode_class(sp_regex_unicode_class *out, sp_bytes name);

/* The next range: they are sorted, apart from each other; false behind the last. */
bool sp_regex__unicode_next(sp_regex_unicode_class *c, sp_regex_range *out);

/* ---------------------------------------------------------------- programs */

typedef enum sp_regex_code {
	SP_REGEX_OP_BYTE,   /* a byte in [low, high], then the next instruction */
	SP_REGEX_OP_RUNE,   /* the first byte of a character of class x: see sp_regex_class */
	SP_REGEX_OP_SPLIT,  /* x, or else y */
	SP_REGEX_OP_JUMP,   /* x */
	SP_REGEX_OP_SAVE,   /* notes the place in slot x */
	SP_REGEX_OP_ASSERT, /* goes on if the place x is as it says */
	SP_REGEX_OP_MATCH,
} sp_regex_code;

typedef struct sp_regex_instruction {
	uint8_t code, low, high;
	uint32_t x, y;
} sp_regex_instruction;

/*
 * A class of many ranges, sorted and apart from each other, is matched by the
 * character instead of by its bytes: SP_REGEX_OP_RUNE looks all of it up at its
 * first byte, and three instructions behind it take any byte each, of which the
 * last ones are gone through for the bytes that follow.
 */
typedef struct sp_regex_class {
	const sp_regex_range *ranges;
	size_t count;
} sp_regex_class;

struct sp_regex {
	sp_regex_instruction *program;
	size_t size;
	sp_regex_class *classes;
	size_t class_count;
	size_t group_count;
};

#endif
