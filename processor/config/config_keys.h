#ifndef SP_PROCESSOR_CONFIG_CONFIG_KEYS_H
#define SP_PROCESSOR_CONFIG_CONFIG_KEYS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * The table of configuration keys: parsing follows it, and a test holds
 * docs/configuration.md against it.
 */
typedef enum sp_config_type {
	SP_CONFIG_INTEGER = 1,     /* to an int64_t */
	SP_CONFIG_TEXT,            /* to a const char *; with `allowed` words, their number */
	SP_CONFIG_BOOLEAN,         /* to a bool */
	SP_CONFIG_NUMBER,          /* to a double */
	SP_CONFIG_INTEGER_OR_TEXT, /* for keys without effect only */
	SP_CONFIG_INTEGERS,        /* an array, to an sp_config_integers */
	/* To sp_name_rules: a value for all names, or an object of patterns and values. */
	SP_CONFIG_INTEGER_RULES,
	SP_CONFIG_TEXT_RULES, /* with `allowed` words; the values are their numbers */
} sp_config_type;

typedef struct sp_config_key {
	const char *name;
	sp_config_type type;
	bool required;
	const char *fallback;    /* the default, as JSON; NULL: none */
	int64_t min, max;        /* of an integer, or of each element; max 0: no bounds */
	bool not_empty;          /* a text must not be empty */
	const char *allowed;     /* allowed words or numbers, separated by spaces; NULL: any */
	const char *unsupported; /* words that only DeepRec supports */
	bool has_effect;         /* false: accepted and ignored, with a remark */
	bool was_removed;        /* a key of an earlier release, without effect now */
	bool has_field;
	size_t field; /* its offset in sp_config */
} sp_config_key;

/* Ends with a NULL name. */
extern const sp_config_key sp_config__keys[];

#endif
