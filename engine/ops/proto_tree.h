#ifndef SP_ENGINE_OPS_PROTO_TREE_H
#define SP_ENGINE_OPS_PROTO_TREE_H

#include "engine/op.h"
#include "engine/ops/proto_layout.h"

/*
 * A message that is put together field by field, in any order, and then written as protobuf
 * does it: by number, packed or not as the type says, with what a map's entry lacks, and
 * without proto3's zeros.
 *
 * Memory is the request's; time and memory are linear in what is added, but for sorting, and
 * do not depend on how deep messages lie in each other.  Functions that return false have no
 * memory, or find what their comment says; sp_proto_tree.status tells them apart.
 *
 * Threads: one thread at a time.
 */
typedef struct sp_proto_value sp_proto_value;

typedef struct sp_proto_tree_message {
	const sp_proto_layout *layout;
	struct sp_proto_tree_message *parent; /* NULL: the whole */
	const sp_proto_part *part;            /* of the parent, */
	sp_proto_value *place;                /* where it is this value */
	sp_proto_value *first, *last;         /* as they came; by number once it is closed */
	size_t size;                          /* on the wire, once it is closed */

	/* For who reads the message: what ends it. */
	char end;
	bool is_listed;
} sp_proto_tree_message;

typedef struct sp_proto_tree {
	const sp_call *call;
	sp_status status;
	char *next, *limit; /* where the next bytes go */
	uint64_t *chosen;   /* by oneof: the message that had one of its members last */
	size_t chosen_count;
	uint64_t closed; /* messages so far */
} sp_proto_tree;

void sp_proto_tree_open(sp_proto_tree *tree, const sp_call *call);

/* An empty message, of a field of `parent`'s unless that is NULL.  NULL: no memory. */
sp_proto_tree_message *sp_proto_tree_add_message(sp_proto_tree *tree, sp_proto_tree_message *parent,
						 const sp_proto_part *part,
						 const sp_proto_layout *layout);

/* A number: the bits of a real, an integer sign-extended to 64 bits. */
bool sp_proto_tree_add_number(sp_proto_tree *tree, sp_proto_tree_message *to,
			      const sp_proto_part *part, uint64_t number);

/*
 * A text in steps: room for `more` bytes behind the `*size` that are there already, NULL without
 * memory; then all of them are the value.
 */
char *sp_proto_tree_text_room(sp_proto_tree *tree, size_t size, size_t more);
bool sp_proto_tree_add_text(sp_proto_tree *tree, sp_proto_tree_message *to,
			    const sp_proto_part *part, size_t size);

/*
 * No more will be added.  False also where a field that is not repeated, or a oneof, has been set
 * more than once (what is absent by value does not count), or what is required is missing.
 */
bool sp_proto_tree_close(sp_proto_tree *tree, sp_proto_tree_message *message);

/* Writes the whole, closed; false also where it has more than INT32_MAX bytes. */
bool sp_proto_tree_write(sp_proto_tree *tree, const sp_proto_tree_message *root, sp_bytes *out);

#endif
