#ifndef SP_API_HOST_DESCRIBE_DOCUMENT_H
#define SP_API_HOST_DESCRIBE_DOCUMENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buffer.h"
#include "base/bytes.h"

/*
 * An answer that goes out as JSON over HTTP and as a message of protocol buffers over gRPC, written
 * once.  Each member has a name, for JSON, and a number, for the message.
 *
 * In JSON all members are written; in a message those that are not zero or empty, as proto3 has it.
 * A name of NULL is an element of a list.  A member with the number 0 is in JSON only; an object
 * with the number 0 is one in JSON only: in a message its members are those of the object around
 * it.
 *
 * Threads: one thread at a time per buffer, which remembers a failure.
 */
typedef struct sp_document {
	sp_buffer *out;
	bool is_json;
	bool has_members; /* the innermost object or list */
} sp_document;

static inline sp_document sp_document_of(sp_buffer *out, bool is_json)
{
	return (sp_document){out, is_json, false};
}

/* What is open, for closing it. */
typedef struct sp_document_mark {
	size_t value, entry; /* of the message; 0: none */
} sp_document_mark;

/* An object: the outermost one, a member, or an element of a list or of a map by its key. */
sp_document_mark sp_document_open(sp_document *d, const char *name, uint32_t number);
sp_document_mark sp_document_open_entry(sp_document *d, const char *key, uint32_t number);
void sp_document_close(sp_document *d, sp_document_mark mark);

/* Their elements have the number. */
void sp_document_open_list(sp_document *d, const char *name);
void sp_document_close_list(sp_document *d);
void sp_document_open_map(sp_document *d, const char *name);
void sp_document_close_map(sp_document *d);

void sp_document_text(sp_document *d, const char *name, uint32_t number, sp_bytes value);
void sp_document_flag(sp_document *d, const char *name, uint32_t number, bool value);
void sp_document_number(sp_document *d, const char *name, uint32_t number, uint64_t value);

/* In JSON a text of digits, as protobuf's mapping has an int64. */
void sp_document_int64(sp_document *d, const char *name, uint32_t number, int64_t value);

/* A text of digits in both. */
void sp_document_digits(sp_document *d, const char *name, uint32_t number, int64_t value);

/* An enumerator: its name in JSON. */
void sp_document_word(sp_document *d, const char *name, uint32_t number, const char *word,
		      int value);

/* A list of numbers, packed in a message. */
void sp_document_numbers(sp_document *d, const char *name, uint32_t number, const int64_t *values,
			 size_t count);

#endif
