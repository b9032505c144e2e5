#ifndef SP_PROCESSOR_CONFIG_CONFIG_KEYS_H
#define SP_PROCESSOR_CONFIG_CONFIG_KEYS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * The table of configuration keys, used for parsing; a test compares docs/configuration.md with it.
 */
typedef enum sp_config_type {
	SP_CONFIG_INTEGER = 1, /* to an int64_t */
	SP_CONFIG_TEXT,        /* to a const char *; with `allowed` words, to the word's index */
	SP_CONFIG_BOOLEAN,     /* to a bool */
	SP_CONFIG_NUMBER,      /* to a double */
	SP_CONFIG_INTEGER_OR_TEXT, /* only for keys without effect */
	SP_CONFIG_INTEGERS,        /* an array, the first to int64_t[2]; empty: the default */
	/* To sp_name_rules: a value for all names, or an object of patterns and values. */
	SP_CONFIG_INTEGER_RULES,
	SP_CONFIG_TEXT_RULES, /* with `allowed` words, values are the indices of words */
} sp_config_type;

typedef struct sp_config_key {
	const char *name;
	sp_config_type type;
	bool required;
	const char *fallback;    /* the default, as JSON; NULL: none */
	int64_t min, max;        /* of an integer, or of each element; max 0: unlimited */
	bool not_empty;          /* an empty text is refused */
	const char *allowed;     /* allowed words or numbers, separated by spaces; NULL: any */
	const char *unsupported; /* words that only DeepRec supports */
	bool has_effect;         /* false: accepted and ignored, with a remark */
	bool was_removed;        /* a key of an earlier release, ignored now */
	bool has_field;
	size_t field; /* offset in sp_config */
} sp_config_key;

enum { SP_MAX_SESSIONS = 1024 };

/* Ends with a NULL name. */
extern const sp_config_key sp_config__keys[];

#endif
