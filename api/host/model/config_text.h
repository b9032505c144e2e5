#ifndef SP_API_HOST_MODEL_CONFIG_TEXT_H
#define SP_API_HOST_MODEL_CONFIG_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/bytes.h"
#include "base/status.h"

/*
 * Configuration files as a tree of fields, and a reader of it by the names of members.  They are
 * written in protobuf's text format, as TensorFlow Serving's are, or in JSON; one also comes as a
 * message.
 *
 * Every error about a text has the line and the column.
 *
 * Source: the text format's language specification (protobuf.dev).
 *
 * Threads: pure.
 */

typedef enum sp_config_kind {
	SP_CONFIG_MESSAGE, /* { ... } or < ... > */
	SP_CONFIG_STRING,
	SP_CONFIG_NUMBER,
	SP_CONFIG_WORD, /* true, inf, an enumerator */
} sp_config_kind;

/* An element of a list ("name: [a, b]") is a field like one that stands alone. */
typedef struct sp_config_field {
	const struct sp_config_field *next; /* of the same message; NULL: the last one */
	sp_bytes name;                      /* with the brackets of an extension or an Any */
	uint32_t line, column;              /* of the value, from 1 on; 0: of a message */
	sp_config_kind kind;
	/* A string without quotes and escapes; a number, a word or an object of JSON as written. */
	sp_bytes text;
	const struct sp_config_field *first; /* of a message; NULL: it is empty */
} sp_config_field;

/*
 * *out is the first field; NULL: there are none.  The tree is in the arena.
 *
 * Errors: SP_INVALID for malformed text, and for messages nested deeper than 64; SP_NO_MEMORY.
 */
SP_MUST_CHECK sp_status sp_config_text_parse(const sp_config_field **out, sp_bytes text,
					     sp_arena *arena, sp_error *err);

/*
 * The same for JSON (RFC 8259, UTF-8): the members of the outermost object.  A member that is an
 * array is one field per element; an array in an array is an error, and so is a null.
 *
 * A NUL follows `text`.
 */
SP_MUST_CHECK sp_status sp_config_json_parse(const sp_config_field **out, sp_bytes text,
					     sp_arena *arena, sp_error *err);

/* The same for a tensorflow.serving.ModelServerConfig (proto/serving.proto) in its wire format. */
SP_MUST_CHECK sp_status sp_config_wire_parse(const sp_config_field **out, sp_bytes message,
					     sp_arena *arena, sp_error *err);

/* ------------------------------------------------------------------- members */

/* Reads the value of a field to `out`. */
typedef sp_status sp_config_read(void *out, const sp_config_field *field, sp_arena *arena,
				 sp_error *err);

sp_config_read sp_config_read_i64;    /* int64_t */
sp_config_read sp_config_read_double; /* double */
sp_config_read sp_config_read_bool;   /* bool */
sp_config_read sp_config_read_text;   /* const char *; SP_INVALID if it contains a NUL */
sp_config_read sp_config_skip;        /* checks nothing; `out` is not used */

/* Wrappers: "{ value: 8 }". */
sp_config_read sp_config_read_wrapped_i64;
sp_config_read sp_config_read_wrapped_bool;
sp_config_read sp_config_read_wrapped_text;

/* A member of a message, and where its value goes. */
typedef struct sp_config_member {
	const char *name;
	size_t offset;
	sp_config_read *read;
	bool repeated; /* may be there several times: `read` is called for each */
} sp_config_member;

/*
 * Reads the fields of a message called `type`, from `first` on; `members` ends with one without a
 * name.  SP_INVALID for a field that is none of them, and for a second one that is not repeated.
 */
SP_MUST_CHECK sp_status sp_config_read_members(void *out, const sp_config_field *first,
					       const char *type, const sp_config_member *members,
					       sp_arena *arena, sp_error *err);

/* The same for a field, which must be a message. */
SP_MUST_CHECK sp_status sp_config_read_message(void *out, const sp_config_field *field,
					       const char *type, const sp_config_member *members,
					       sp_arena *arena, sp_error *err);

/* SP_INVALID with the field's place and the text. */
sp_status sp_config_fail(const sp_config_field *field, const char *text, sp_error *err);

#endif
