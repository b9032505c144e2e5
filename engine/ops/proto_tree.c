#include "engine/ops/proto_tree.h"

#include <string.h>

#include "engine/kernels/protobuf_reader.h"
#include "engine/kernels/protobuf_writer.h"

/*
 * A value is a message, or bytes as they will be written: of a packed field numbers one behind the
 * other, of any other each with its tag.  Values of a repeated field that come at once share one.
 *
 * A message's size is known when it is closed, so lengths are written before what they count.
 */
struct sp_proto_value {
	const sp_proto_part *part;
	sp_proto_value *next;
	sp_proto_tree_message *message; /* NULL: bytes */
	char *data;
	size_t size;  /* of the bytes */
	size_t block; /* of a packed field's first value: bytes of all of them */
	bool is_zero;
};

enum { FIRST_CHUNK = 240, TAG_ROOM = 5, LENGTH_ROOM = 5 };

void sp_proto_tree_open(sp_proto_tree *tree, const sp_call *call)
{
	*tree = (sp_proto_tree){.call = call, .status = SP_OK};
}

static bool no_memory(sp_proto_tree *tree)
{
	tree->status = sp_call_no_memory(tree->call);
	return false;
}

/* --------------------------------------------------------------------- values */

static sp_proto_value *new_value(sp_proto_tree *tree, const sp_proto_part *part)
{
	sp_proto_value *value = sp_call_bytes(tree->call, 1, sizeof(*value));

	if (value == NULL)
		no_memory(tree);
	else
		*value = (sp_proto_value){.part = part};
	return value;
}

static sp_proto_value *add_value(sp_proto_tree *tree, sp_proto_tree_message *to,
				 const sp_proto_part *part)
{
	sp_proto_value *value = new_value(tree, part);

	if (value == NULL)
		return NULL;
	if (to->last != NULL)
		to->last->next = value;
	else
		to->first = value;
	to->last = value;
	return value;
}

sp_proto_tree_message *sp_proto_tree_add_message(sp_proto_tree *tree, sp_proto_tree_message *parent,
						 const sp_proto_part *part,
						 const sp_proto_layout *layout)
{
	sp_proto_tree_message *made = sp_call_bytes(tree->call, 1, sizeof(*made));
	sp_proto_value *place = NULL;

	if (made == NULL) {
		no_memory(tree);
		return NULL;
	}
	if (parent != NULL) {
		place = add_value(tree, parent, part);
		if (place == NULL)
			return NULL;
		place->message = made;
	}
	*made = (sp_proto_tree_message){
		.layout = layout, .parent = parent, .part = part, .place = place};
	return made;
}

/*
 * Room for `size` bytes behind the `kept` that have been written there and nobody owns
 * yet: chunks grow, so that those are moved seldom.
 */
static bool reserve(sp_proto_tree *tree, size_t kept, size_t size)
{
	size_t held = (size_t)(tree->limit - tree->next), room;
	char *chunk;

	if (tree->next != NULL && held - kept >= size)
		return true;
	if (__builtin_add_overflow(kept, size, &room) ||
	    __builtin_mul_overflow(room < FIRST_CHUNK / 2 ? FIRST_CHUNK / 2 : room, (size_t)2,
				   &room))
		return no_memory(tree);
	chunk = sp_call_bytes(tree->call, room, 1);
	if (chunk == NULL)
		return no_memory(tree);
	if (kept != 0)
		memcpy(chunk, tree->next, kept);
	tree->next = chunk;
	tree->limit = chunk + room;
	return true;
}

/* The bytes from next to `end` are a value of `part`. */
static bool own(sp_proto_tree *tree, sp_proto_tree_message *to, const sp_proto_part *part,
		char *end, bool is_zero)
{
	sp_proto_value *last = to->last;
	size_t size = (size_t)(end - tree->next);

	if (last == NULL || last->part != part || !part->is_repeated || last->message != NULL ||
	    last->data + last->size != tree->next) {
		last = add_value(tree, to, part);
		if (last == NULL)
			return false;
		last->data = tree->next;
		last->is_zero = is_zero;
	}
	last->size += size;
	tree->next = end;
	return true;
}

static uint64_t zigzag(int64_t value)
{
	return (uint64_t)value << 1 ^ (uint64_t)(value >> 63);
}

static char *put_tag(char *to, const sp_proto_part *part, uint32_t wire)
{
	return sp_protobuf_put_varint(to, part->number << 3 | wire);
}

/* As it stands behind its tag. */
static char *put_number(char *to, const sp_proto_part *part, uint64_t number)
{
	size_t size = 8;

	switch (sp_proto_message__wire(part->type)) {
	case SP_PROTOBUF_FIXED32:
		size = 4;
		/* fall through */
	case SP_PROTOBUF_FIXED64:
		memcpy(to, &number, size);
		return to + size;
	default:
		if (part->type == SP_PROTO_SINT32)
			number = (uint32_t)zigzag((int64_t)number);
		else if (part->type == SP_PROTO_SINT64)
			number = zigzag((int64_t)number);
		return sp_protobuf_put_varint(to, number);
	}
}

bool sp_proto_tree_add_number(sp_proto_tree *tree, sp_proto_tree_message *to,
			      const sp_proto_part *part, uint64_t number)
{
	char *end;

	if (!reserve(tree, 0, TAG_ROOM + SP_PROTOBUF_MAX_VARINT))
		return false;
	end = tree->next;
	if (!part->is_packed)
		end = put_tag(end, part, sp_proto_message__wire(part->type));
	return own(tree, to, part, put_number(end, part, number), number == 0);
}

/* Its tag and length get room in front, and are written once the length is known. */
char *sp_proto_tree_text_room(sp_proto_tree *tree, size_t size, size_t more)
{
	size_t front = TAG_ROOM + LENGTH_ROOM;

	if (!(size == 0 ? reserve(tree, 0, front + more) : reserve(tree, front + size, more)))
		return NULL;
	return tree->next + front + size;
}

bool sp_proto_tree_add_text(sp_proto_tree *tree, sp_proto_tree_message *to,
			    const sp_proto_part *part, size_t size)
{
	char *text = tree->next + TAG_ROOM + LENGTH_ROOM, *end;

	if (size > INT32_MAX)
		return false;
	end = sp_protobuf_put_varint(put_tag(tree->next, part, SP_PROTOBUF_DELIMITED), size);
	memmove(end, text, size);
	return own(tree, to, part, end + size, size == 0);
}

/* -------------------------------------------------------------------- closing */

/* Merges two lists in order; of equal numbers those of `a` come first. */
static sp_proto_value *merge(sp_proto_value *a, sp_proto_value *b)
{
	sp_proto_value *first = NULL, **to = &first;

	while (a != NULL && b != NULL) {
		sp_proto_value **from = b->part->number < a->part->number ? &b : &a;

		*to = *from;
		to = &(*from)->next;
		*from = (*from)->next;
	}
	*to = a != NULL ? a : b;
	return first;
}

static bool is_in_order(const sp_proto_value *v)
{
	for (; v != NULL && v->next != NULL; v = v->next)
		if (v->part->number > v->next->part->number)
			return false;
	return true;
}

/* runs[i] is empty or has 2^i values, all of which came before those of runs[i - 1]. */
static void sort(sp_proto_tree_message *message)
{
	sp_proto_value *runs[64] = {NULL}, *rest = message->first, *all = NULL;

	if (is_in_order(rest))
		return;
	while (rest != NULL) {
		sp_proto_value *one = rest;
		size_t i = 0;

		rest = rest->next;
		one->next = NULL;
		for (; runs[i] != NULL; i++) {
			one = merge(runs[i], one);
			runs[i] = NULL;
		}
		runs[i] = one;
	}
	for (size_t i = 0; i < 64; i++)
		if (runs[i] != NULL)
			all = all == NULL ? runs[i] : merge(runs[i], all);
	message->first = all;
}

/* Which of a message's oneofs have been seen; what other messages left there does not matter. */
static bool make_choices(sp_proto_tree *tree, size_t count)
{
	if (count <= tree->chosen_count)
		return true;
	tree->chosen = sp_call_bytes(tree->call, count, sizeof(*tree->chosen));
	if (tree->chosen == NULL)
		return no_memory(tree);
	memset(tree->chosen, 0, count * sizeof(*tree->chosen));
	tree->chosen_count = count;
	return true;
}

static bool choose(sp_proto_tree *tree, const sp_proto_part *part)
{
	if (tree->chosen[part->oneof] == tree->closed)
		return false;
	tree->chosen[part->oneof] = tree->closed;
	return true;
}

static bool is_absent(const sp_proto_value *v)
{
	if (!v->part->is_implicit)
		return false;
	return v->message != NULL ? v->message->size == 0 : v->is_zero;
}

static size_t message_size(const sp_proto_value *v)
{
	size_t tag = sp_protobuf_varint_size(v->part->number << 3);

	if (v->part->type == SP_PROTO_GROUP)
		return 2 * tag + v->message->size;
	if (v->part->is_item)
		return 4 + sp_protobuf_varint_size(v->part->number) +
		       sp_protobuf_varint_size(v->message->size) + v->message->size;
	return tag + sp_protobuf_varint_size(v->message->size) + v->message->size;
}

/* All values of a repeated field, from `v` on; returns the last of them. */
static sp_proto_value *close_repeated(sp_proto_tree_message *message, sp_proto_value *v)
{
	sp_proto_value *first = v, *last = v;
	size_t size = 0;

	for (; v != NULL && v->part == first->part; v = v->next) {
		size += v->message != NULL ? message_size(v) : v->size;
		last = v;
	}
	if (first->part->is_packed) {
		first->block = size;
		size += sp_protobuf_varint_size(first->part->number << 3) +
			sp_protobuf_varint_size(size);
	}
	message->size += size;
	return last;
}

/* Of a field that is not repeated one value stays, or none; *link becomes what is behind it. */
static bool close_singular(sp_proto_tree *tree, sp_proto_tree_message *message,
			   sp_proto_value ***link)
{
	sp_proto_value *v = **link;

	for (; v->next != NULL && v->next->part == v->part; v = v->next)
		if (!is_absent(v))
			return false;
	if (v->part->oneof != 0 && !choose(tree, v->part))
		return false;
	if (is_absent(v) && !message->layout->is_map_entry) {
		**link = v->next;
		return true;
	}
	**link = v;
	*link = &v->next;
	message->size += v->message != NULL ? message_size(v) : v->size;
	return true;
}

/* What the entry of a map lacks is zero, an enum's first value, or an empty message. */
static bool put_absent(sp_proto_tree *tree, const sp_proto_part *part, sp_proto_value **at)
{
	uint32_t wire = sp_proto_message__wire(part->type);
	sp_proto_value *made = new_value(tree, part);
	uint64_t number = 0;
	char *end;

	if (made == NULL || !reserve(tree, 0, 2 * TAG_ROOM + SP_PROTOBUF_MAX_VARINT))
		return false;
	if (part->enumeration != NULL)
		number = (uint64_t)part->enumeration->first_value;
	end = put_tag(tree->next, part, wire);
	if (wire == SP_PROTO_WIRE_GROUP)
		end = put_tag(end, part, SP_PROTO_WIRE_GROUP_END);
	else if (wire == SP_PROTOBUF_DELIMITED)
		*end++ = 0;
	else
		end = put_number(end, part, number);
	made->is_zero = number == 0;
	made->data = tree->next;
	made->size = (size_t)(end - tree->next);
	tree->next = end;
	made->next = *at;
	*at = made;
	return true;
}

static bool add_absent(sp_proto_tree *tree, sp_proto_tree_message *message)
{
	const sp_proto_layout *layout = message->layout;
	sp_proto_value **at = &message->first;

	for (size_t i = 0; i < layout->count; i++) {
		const sp_proto_part *part = &layout->parts[i];

		while (*at != NULL && (*at)->part->number < part->number)
			at = &(*at)->next;
		if ((*at == NULL || (*at)->part != part) && !part->is_repeated &&
		    !put_absent(tree, part, at))
			return false;
	}
	return true;
}

bool sp_proto_tree_close(sp_proto_tree *tree, sp_proto_tree_message *message)
{
	const sp_proto_layout *layout = message->layout;
	sp_proto_value **link = &message->first;
	size_t required = 0;

	tree->closed++;
	if (layout->has_oneofs && !make_choices(tree, layout->count + 1))
		return false;
	sort(message);
	if (layout->is_map_entry && !add_absent(tree, message))
		return false;
	while (*link != NULL) {
		const sp_proto_part *part = (*link)->part;

		required += part->is_required;
		if (part->is_repeated)
			link = &close_repeated(message, *link)->next;
		else if (!close_singular(tree, message, &link))
			return false;
	}
	return required == layout->required;
}

/* -------------------------------------------------------------------- writing */

static char *put_bytes(char *to, const char *data, size_t size)
{
	memcpy(to, data, size);
	return to + size;
}

/* In front of an item's length. */
static char *put_item(char *to, uint32_t number)
{
	*to++ = SP_PROTO_ITEM_BEGIN;
	*to++ = SP_PROTO_ITEM_NUMBER;
	to = sp_protobuf_put_varint(to, number);
	*to++ = SP_PROTO_ITEM_MESSAGE;
	return to;
}

/* What stands in front of a value, and of bytes all of it. */
static char *put_value(char *to, const sp_proto_value *v)
{
	if (v->message == NULL) {
		if (v->block != 0)
			to = sp_protobuf_put_varint(put_tag(to, v->part, SP_PROTOBUF_DELIMITED),
						    v->block);
		return put_bytes(to, v->data, v->size);
	}
	if (v->part->type == SP_PROTO_GROUP)
		return put_tag(to, v->part, SP_PROTO_WIRE_GROUP);
	to = v->part->is_item ? put_item(to, v->part->number)
			      : put_tag(to, v->part, SP_PROTOBUF_DELIMITED);
	return sp_protobuf_put_varint(to, v->message->size);
}

bool sp_proto_tree_write(sp_proto_tree *tree, const sp_proto_tree_message *root, sp_bytes *out)
{
	const sp_proto_tree_message *message = root;
	const sp_proto_value *v = root->first;
	char *to;

	*out = (sp_bytes){"", 0};
	if (root->size > INT32_MAX)
		return false;
	to = sp_call_bytes(tree->call, root->size, 1);
	if (to == NULL)
		return no_memory(tree);
	*out = (sp_bytes){to, root->size};
	for (;;) {
		if (v != NULL) {
			to = put_value(to, v);
			message = v->message != NULL ? v->message : message;
			v = v->message != NULL ? v->message->first : v->next;
			continue;
		}
		if (message == root)
			return true;
		if (message->part->type == SP_PROTO_GROUP)
			to = put_tag(to, message->part, SP_PROTO_WIRE_GROUP_END);
		else if (message->part->is_item)
			*to++ = SP_PROTO_ITEM_END;
		v = message->place->next;
		message = message->parent;
	}
}
