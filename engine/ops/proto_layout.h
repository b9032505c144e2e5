#ifndef SP_ENGINE_OPS_PROTO_LAYOUT_H
#define SP_ENGINE_OPS_PROTO_LAYOUT_H

#include "base/map.h"
#include "engine/ops/proto_message.h"

/*
 * A message type and all that it is made of, for what reads whole messages of it:
 * proto_rewrite.h and proto_text.h.  Extensions that the descriptors hold are among the
 * fields.
 *
 * Threads: immutable once read.
 */
typedef struct sp_proto_layout sp_proto_layout;

typedef struct sp_proto_enum {
	const int32_t *values; /* ascending */
	size_t value_count;
	int32_t first_value; /* as declared */
	sp_map by_name;      /* -> the number's 32 bits */
} sp_proto_enum;

typedef struct sp_proto_part {
	uint32_t number;
	sp_proto_type type;
	bool is_repeated, is_required, is_packed;
	bool is_implicit;               /* zero is absent, but in a map's entry */
	bool is_utf8;                   /* a text that on the wire must be UTF-8 */
	uint32_t oneof;                 /* from 1, at most as many as there are fields; 0: none */
	const sp_proto_layout *message; /* of a message or a group */
	const sp_proto_enum *enumeration;
	bool is_closed; /* of an enum: takes no number but those it names */
	bool is_item;   /* of a message set: a message that is written with its number in a group */
} sp_proto_part;

#define SP_PROTO_RESERVED UINT64_MAX

struct sp_proto_layout {
	sp_bytes name;
	const sp_proto_part *parts; /* by number */
	size_t count;
	size_t required;
	bool is_proto3, has_oneofs;
	bool is_map_entry; /* its fields are written even where they are absent */
	bool is_set;       /* a message set: its fields are items, and all of them extensions */

	/* As texts have it: a group goes by its type.  -> index into parts, or SP_PROTO_RESERVED */
	sp_map by_name;
	sp_map extensions;    /* by full name, or an item by its type's -> index into parts */
	const sp_map *in_any; /* of google.protobuf.Any: name -> a layout; else NULL */
};

/*
 * SP_INVALID where one is of an edition, which TensorFlow 2.15 does not know either, or a message
 * set in proto3 or with other fields than extensions that are single messages.
 */
SP_MUST_CHECK sp_status sp_proto_layout_read(const sp_proto_message *message, sp_arena *arena,
					     const sp_proto_layout **out, sp_error *err);

/* The tags of an item in a message set, a byte each: a group with a number and a message. */
enum {
	SP_PROTO_ITEM_BEGIN = 0x0b,
	SP_PROTO_ITEM_NUMBER = 0x10,
	SP_PROTO_ITEM_MESSAGE = 0x1a,
	SP_PROTO_ITEM_END = 0x0c,
};

/* NULL when there is none of that number. */
const sp_proto_part *sp_proto_layout_find(const sp_proto_layout *layout, uint32_t number);

/* Whether an enum names that number. */
bool sp_proto_enum_has(const sp_proto_enum *enumeration, int32_t number);

#endif
