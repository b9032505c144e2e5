#include "engine/ops/proto_rewrite.h"

#include <string.h>

#include "engine/kernels/protobuf_reader.h"
#include "engine/ops/unicode.h"

/*
 * A message is read into a list of its fields, the list is sorted by number, and what
 * stays is written at the end of one buffer: a message in it by the same way, its
 * length in front of it afterwards.  Occurrences of one message that are to be merged
 * are read one behind the other, which is what merging means.
 */
enum { MAX_DEPTH = 100 };

/* A field as it came. */
typedef struct entry {
	const sp_proto_part *part; /* NULL: unknown */
	uint64_t tag;              /* with an item's number in front, which may have 32 bits */
	int deeper;    /* of an item's message: the group that it is in, if that counts */
	uint32_t turn; /* of its oneof: how often another member had been set before */
	uint64_t number;
	sp_bytes bytes; /* of a message, a group, a text, a packed block, a fixed number */
	bool is_absent; /* it did not come, and is written all the same */
} entry;

typedef struct rewriter {
	const sp_call *call;
	char *data;
	size_t size, room;
	sp_status status; /* once memory is short */
	bool is_lenient;  /* the message at hand did not come or goes: it may lack what is required
			   */
} rewriter;

/* A message, or several that are one. */
typedef struct source {
	const sp_proto_layout *layout; /* NULL: nothing is known in it */
	const sp_bytes *pieces;
	size_t piece_count;
	int depth;
} source;

static bool rewrite(rewriter *r, const source *from);

/* -------------------------------------------------------------------- writing */

static bool no_memory(rewriter *r)
{
	r->status = sp_call_no_memory(r->call);
	return false;
}

static bool reserve(rewriter *r, size_t more)
{
	size_t room = r->room < 64 ? 64 : r->room;
	char *wider;

	if (more <= r->room - r->size)
		return true;
	while (room - r->size < more)
		if (__builtin_mul_overflow(room, (size_t)2, &room))
			return no_memory(r);
	wider = sp_call_bytes(r->call, room, 1);
	if (wider == NULL)
		return no_memory(r);
	if (r->size != 0)
		memcpy(wider, r->data, r->size);
	r->data = wider;
	r->room = room;
	return true;
}

static size_t varint_bytes(uint64_t value, char *out)
{
	size_t n = 0;

	for (; value >= 0x80; value >>= 7)
		out[n++] = (char)(value | 0x80);
	out[n++] = (char)value;
	return n;
}

static bool put_bytes(rewriter *r, const char *data, size_t size)
{
	if (!reserve(r, size))
		return false;
	if (size != 0)
		memcpy(r->data + r->size, data, size);
	r->size += size;
	return true;
}

static bool put_varint(rewriter *r, uint64_t value)
{
	char bytes[10];

	return put_bytes(r, bytes, varint_bytes(value, bytes));
}

static bool put_tag(rewriter *r, uint32_t number, uint32_t wire)
{
	return put_varint(r, number << 3 | wire);
}

/* What stands behind `start` gets its length in front. */
static bool close_length(rewriter *r, size_t start)
{
	char bytes[10];
	size_t size = r->size - start, n = varint_bytes(size, bytes);

	if (!reserve(r, n))
		return false;
	if (size != 0)
		memmove(r->data + start + n, r->data + start, size);
	memcpy(r->data + start, bytes, n);
	r->size += n;
	return true;
}

/* -------------------------------------------------------------------- reading */

/* At most five bytes; what is beyond 32 bits falls off, as in protobuf's own reader. */
static bool take_tag(sp_bytes *from, uint32_t *tag)
{
	size_t size = from->size;
	uint64_t value;

	if (!sp_protobuf_varint(from, &value) || size - from->size > 5)
		return false;
	*tag = (uint32_t)value;
	return *tag >= 8;
}

/* Behind the tag that begins group `number`: its content, up to the tag that ends it. */
static bool take_group(sp_bytes *from, uint32_t number, int depth, sp_bytes *out)
{
	uint32_t open[MAX_DEPTH + 1] = {number}, tag;
	sp_bytes start = *from, bytes;
	size_t level = 1, limit = (size_t)(MAX_DEPTH - depth);
	uint64_t value;

	if (level > limit)
		return false;
	for (;;) {
		const char *end = from->data;

		if (!take_tag(from, &tag))
			return false;
		if ((tag & 7) == SP_PROTO_WIRE_GROUP_END) {
			if (open[--level] != tag >> 3)
				return false;
			if (level == 0) {
				*out = (sp_bytes){start.data, (size_t)(end - start.data)};
				return true;
			}
		} else if ((tag & 7) == SP_PROTO_WIRE_GROUP) {
			if (level == limit)
				return false;
			open[level++] = tag >> 3;
		} else if (!sp_protobuf_value(from, tag, &value, &bytes)) {
			return false;
		}
	}
}

static bool take_entry(sp_bytes *from, int depth, entry *out)
{
	uint32_t tag;

	*out = (entry){.bytes = {"", 0}};
	if (!take_tag(from, &tag))
		return false;
	out->tag = tag;
	if ((tag & 7) == SP_PROTO_WIRE_GROUP)
		return take_group(from, tag >> 3, depth, &out->bytes);
	return sp_protobuf_value(from, tag, &out->number, &out->bytes);
}

static bool is_packable(const sp_proto_part *part)
{
	return part->is_repeated && part->type != SP_PROTO_STRING && part->type != SP_PROTO_BYTES &&
	       part->type != SP_PROTO_MESSAGE && part->type != SP_PROTO_GROUP;
}

static bool has_value(const sp_proto_part *part, uint64_t number)
{
	return !part->is_closed || sp_proto_enum_has(part->enumeration, (int32_t)number);
}

/* The number as a field of that type keeps it. */
static uint64_t kept(sp_proto_type type, uint64_t number)
{
	switch (type) {
	case SP_PROTO_INT32:
	case SP_PROTO_ENUM:
		return (uint64_t)(int64_t)(int32_t)number;
	case SP_PROTO_UINT32:
	case SP_PROTO_SINT32:
		return (uint32_t)number;
	case SP_PROTO_BOOL:
		return number != 0;
	default:
		return number;
	}
}

static bool is_utf8(sp_bytes text)
{
	sp_unicode_reader reader;
	int32_t character;
	bool is_error = false;

	sp_unicode__open(&reader, SP_ENCODING_UTF8, text);
	while (!is_error && sp_unicode__next(&reader, &character, &is_error))
		continue;
	return !is_error;
}

/* Which member of a oneof is set. */
typedef struct choice {
	const sp_proto_part *part;
	uint32_t turn;
} choice;

typedef struct entries {
	choice *choices; /* by oneof */
	entry *items;
	size_t count;
	entry *unknown; /* in the order they came */
	size_t unknown_count;
} entries;

static const sp_proto_part *part_of(const source *from, const entry *e)
{
	return from->layout == NULL ? NULL
				    : sp_proto_layout_find(from->layout, (uint32_t)(e->tag >> 3));
}

/*
 * An item, whose group's content is `bytes`, becomes a message of its number; *is_none: it lacks
 * the one or the other.  What comes twice does not count again.  protobuf takes a number of 0
 * only behind the message, and a group's depth only in front.
 */
static bool open_item(entry *e, int depth, bool *is_none)
{
	sp_bytes rest = e->bytes, skipped;
	bool has_number = false, has_message = false;
	uint32_t number = 0;
	uint64_t value;
	entry other;

	while (rest.size != 0) {
		const char first = rest.data[0];

		if (first == SP_PROTO_ITEM_NUMBER) {
			rest = sp_protobuf_skip(rest, 1);
			if (!sp_protobuf_varint(&rest, &value))
				return false;
			number = has_number ? number : (uint32_t)value;
			has_number = true;
		} else if (first == SP_PROTO_ITEM_MESSAGE) {
			rest = sp_protobuf_skip(rest, 1);
			if (!sp_protobuf_delimited(&rest, has_message ? &skipped : &e->bytes))
				return false;
			if (!has_message && has_number && number == 0)
				return false;
			e->deeper = has_message ? e->deeper : has_number;
			has_message = true;
		} else if (!take_entry(&rest, depth + 1, &other)) {
			return false;
		}
	}
	e->tag = (uint64_t)number << 3 | SP_PROTOBUF_DELIMITED;
	*is_none = !has_number || !has_message;
	return true;
}

/* Entries there may be: a packed block of a closed enum is one for each value. */
static bool count_entries(const source *from, size_t *count)
{
	const sp_proto_part *part;

	*count = 0;
	for (size_t i = 0; i < from->piece_count; i++) {
		sp_bytes rest = from->pieces[i];
		entry e;

		while (rest.size != 0) {
			if (!take_entry(&rest, from->depth, &e))
				return false;
			part = part_of(from, &e);
			*count += part != NULL && part->is_closed ? 1 + e.bytes.size : 1;
		}
	}
	return true;
}

static void add_enumerator(entries *all, const sp_proto_part *part, uint64_t number, bool is_packed)
{
	entry e = {.part = part,
		   .tag = part->number << 3 | SP_PROTOBUF_VARINT,
		   .number = kept(SP_PROTO_ENUM, number),
		   .bytes = {"", 0}};

	if (has_value(part, number)) {
		all->items[all->count++] = e;
		return;
	}
	/* protobuf keeps all bits of one that was in a packed block. */
	e.part = NULL;
	if (is_packed)
		e.number = number;
	all->unknown[all->unknown_count++] = e;
}

/* Setting a member of a oneof clears the others. */
static void choose(entries *all, entry *e)
{
	choice *c = &all->choices[e->part->oneof];

	if (c->part != NULL && c->part != e->part)
		c->turn++;
	c->part = e->part;
	e->turn = c->turn;
}

/* One field that was read goes where it belongs. */
static bool sort_in(const source *from, entries *all, entry *e)
{
	bool is_set = from->layout != NULL && from->layout->is_set, is_none = false;
	const sp_proto_part *part;
	uint32_t wire;
	uint64_t number;

	if (is_set && e->tag == SP_PROTO_ITEM_BEGIN && !open_item(e, from->depth, &is_none))
		return false;
	part = part_of(from, e);
	wire = e->tag & 7;

	if (part != NULL && wire != sp_proto_message__wire(part->type) &&
	    !(is_packable(part) && wire == SP_PROTOBUF_DELIMITED))
		part = NULL;
	if (is_none || (part == NULL && is_set && wire != SP_PROTOBUF_DELIMITED))
		return true; /* a set has no place for it */
	if (part == NULL) {
		all->unknown[all->unknown_count++] = *e;
		return true;
	}
	if (part->is_closed && wire == SP_PROTOBUF_DELIMITED) {
		while (e->bytes.size != 0) {
			if (!sp_protobuf_varint(&e->bytes, &number))
				return false;
			add_enumerator(all, part, number, true);
		}
		return true;
	}
	if (part->is_utf8 && !is_utf8(e->bytes))
		return false;
	if (!has_value(part, e->number)) {
		add_enumerator(all, part, e->number, false);
		return true;
	}
	e->part = part;
	if (part->oneof != 0)
		choose(all, e);
	all->items[all->count++] = *e;
	return true;
}

/* Merges runs of twice the length each time; equal numbers stay in order. */
static bool sort_entries(rewriter *r, entries *all)
{
	entry *from = all->items, *to = NULL, *swap;
	bool in_order = true;

	for (size_t i = 1; i < all->count && in_order; i++)
		in_order = from[i - 1].part->number <= from[i].part->number;
	if (in_order)
		return true;
	to = sp_call_bytes(r->call, all->count, sizeof(*to));
	if (to == NULL)
		return no_memory(r);
	for (size_t run = 1; run < all->count; run *= 2) {
		for (size_t start = 0; start < all->count; start += 2 * run) {
			size_t a = start, middle = start + run, n = start;
			size_t end = all->count - start < 2 * run ? all->count : start + 2 * run;
			size_t b;

			if (middle > end)
				middle = end;
			for (b = middle; n < end; n++)
				to[n] = b == end || (a < middle &&
						     from[a].part->number <= from[b].part->number)
						? from[a++]
						: from[b++];
		}
		swap = from;
		from = to;
		to = swap;
	}
	all->items = from;
	return true;
}

/* -------------------------------------------------------------- what stays of it */

/* In front of an item's length. */
static bool put_item(rewriter *r, uint32_t number)
{
	return put_varint(r, SP_PROTO_ITEM_BEGIN) && put_varint(r, SP_PROTO_ITEM_NUMBER) &&
	       put_varint(r, number) && put_varint(r, SP_PROTO_ITEM_MESSAGE);
}

static bool put_message(rewriter *r, const sp_proto_part *part, const sp_bytes *pieces,
			size_t count, int depth)
{
	source inner = {part->message, pieces, count, depth + 1};
	bool is_group = part->type == SP_PROTO_GROUP;
	size_t start;

	if (part->is_item ? !put_item(r, part->number)
			  : !put_tag(r, part->number,
				     is_group ? SP_PROTO_WIRE_GROUP : SP_PROTOBUF_DELIMITED))
		return false;
	start = r->size;
	if (!rewrite(r, &inner))
		return false;
	if (part->is_item)
		return close_length(r, start) && put_varint(r, SP_PROTO_ITEM_END);
	return is_group ? put_tag(r, part->number, SP_PROTO_WIRE_GROUP_END)
			: close_length(r, start);
}

static bool put_number(rewriter *r, const sp_proto_part *part, uint64_t number, sp_bytes bytes)
{
	if (sp_proto_message__wire(part->type) == SP_PROTOBUF_VARINT)
		return put_varint(r, kept(part->type, number));
	return put_bytes(r, bytes.data, bytes.size);
}

/* The numbers of an entry, which may be a packed block, with a tag each unless they are packed. */
static bool put_numbers(rewriter *r, const entry *e, bool with_tags)
{
	const sp_proto_part *part = e->part;
	uint32_t wire = sp_proto_message__wire(part->type);
	sp_bytes rest = e->bytes, bytes;
	uint64_t number;

	if ((e->tag & 7) == wire)
		return (!with_tags || put_tag(r, part->number, wire)) &&
		       put_number(r, part, e->number, e->bytes);
	while (rest.size != 0)
		if (!sp_protobuf_value(&rest, wire, &number, &bytes) ||
		    (with_tags && !put_tag(r, part->number, wire)) ||
		    !put_number(r, part, number, bytes))
			return false;
	return true;
}

static bool put_packed(rewriter *r, const entry *items, size_t count)
{
	size_t begin = r->size, start;

	if (!put_tag(r, items->part->number, SP_PROTOBUF_DELIMITED))
		return false;
	start = r->size;
	for (size_t i = 0; i < count; i++)
		if (!put_numbers(r, &items[i], false))
			return false;
	if (r->size == start) {
		r->size = begin;
		return true;
	}
	return close_length(r, start);
}

static bool put_text(rewriter *r, const entry *e)
{
	return put_tag(r, e->part->number, SP_PROTOBUF_DELIMITED) && put_varint(r, e->bytes.size) &&
	       put_bytes(r, e->bytes.data, e->bytes.size);
}

static bool put_repeated(rewriter *r, const source *from, const entry *items, size_t count)
{
	const sp_proto_part *part = items->part;

	if (part->is_packed)
		return put_packed(r, items, count);
	for (size_t i = 0; i < count; i++) {
		bool good = is_packable(part) ? put_numbers(r, &items[i], true)
			    : part->message != NULL
				    ? put_message(r, part, &items[i].bytes, 1, from->depth)
				    : put_text(r, &items[i]);

		if (!good)
			return false;
	}
	return true;
}

static bool is_zero(const entry *e)
{
	if (e->part->type == SP_PROTO_STRING || e->part->type == SP_PROTO_BYTES)
		return e->bytes.size == 0;
	for (size_t i = 0; i < e->bytes.size; i++)
		if (e->bytes.data[i] != 0)
			return false;
	return kept(e->part->type, e->number) == 0;
}

static bool put_merged(rewriter *r, const source *from, const entry *items, size_t count)
{
	sp_bytes *pieces = sp_call_bytes(r->call, count, sizeof(*pieces));
	bool was_lenient = r->is_lenient, good;
	int deeper = 0;

	if (pieces == NULL)
		return no_memory(r);
	for (size_t i = 0; i < count; i++) {
		pieces[i] = items[i].bytes;
		deeper = items[i].deeper > deeper ? items[i].deeper : deeper;
	}
	r->is_lenient |= items->is_absent;
	good = put_message(r, items->part, pieces, count, from->depth + deeper);
	r->is_lenient = was_lenient;
	return good;
}

/* All of one field. */
static bool put_field(rewriter *r, const source *from, const entry *items, size_t count)
{
	const entry *last = &items[count - 1];

	if (last->part->is_repeated)
		return put_repeated(r, from, items, count);
	if (last->part->message != NULL)
		return put_merged(r, from, items, count);
	if (last->part->is_implicit && !from->layout->is_map_entry && is_zero(last))
		return true;
	if (last->part->type == SP_PROTO_STRING || last->part->type == SP_PROTO_BYTES)
		return put_text(r, last);
	return put_numbers(r, last, true);
}

static bool put_unknown(rewriter *r, const source *from, const entry *e)
{
	source inner = {NULL, &e->bytes, 1, from->depth + 1};

	if (from->layout != NULL && from->layout->is_set)
		return put_item(r, (uint32_t)(e->tag >> 3)) && put_varint(r, e->bytes.size) &&
		       put_bytes(r, e->bytes.data, e->bytes.size) &&
		       put_varint(r, SP_PROTO_ITEM_END);
	if (!put_varint(r, e->tag))
		return false;
	switch (e->tag & 7) {
	case SP_PROTOBUF_VARINT:
		return put_varint(r, e->number);
	case SP_PROTOBUF_DELIMITED:
		return put_varint(r, e->bytes.size) && put_bytes(r, e->bytes.data, e->bytes.size);
	case SP_PROTO_WIRE_GROUP:
		return rewrite(r, &inner) &&
		       put_tag(r, (uint32_t)(e->tag >> 3), SP_PROTO_WIRE_GROUP_END);
	default:
		return put_bytes(r, e->bytes.data, e->bytes.size);
	}
}

/* What an entry of a map lacks is as if it had come. */
static void add_absent(const sp_proto_layout *layout, entries *all)
{
	static const char zeros[8] = {0};

	for (size_t i = 0; i < layout->count; i++) {
		const sp_proto_part *part = &layout->parts[i];
		uint32_t wire = sp_proto_message__wire(part->type);
		size_t n = all->count, k = 0;

		while (k < n && all->items[k].part != part)
			k++;
		if (k == n && !part->is_repeated)
			all->items[all->count++] = (entry){
				.part = part,
				.is_absent = true,
				.tag = part->number << 3 | wire,
				.number = part->enumeration != NULL
						  ? (uint64_t)part->enumeration->first_value
						  : 0,
				.bytes = {zeros, wire == SP_PROTOBUF_FIXED64   ? 8
						 : wire == SP_PROTOBUF_FIXED32 ? 4
									       : 0}};
	}
}

/* What a oneof has cleared goes; a message among it must be well formed all the same. */
static bool drop_cleared(rewriter *r, const source *from, entries *all)
{
	bool was_lenient = r->is_lenient;
	size_t n = 0, size = r->size;

	r->is_lenient = true;
	for (size_t i = 0; i < all->count; i++) {
		const entry *e = &all->items[i];

		if (e->part->oneof == 0 || e->turn == all->choices[e->part->oneof].turn) {
			all->items[n++] = *e;
			continue;
		}
		if (e->part->message != NULL && !put_message(r, e->part, &e->bytes, 1, from->depth))
			return false;
	}
	r->is_lenient = was_lenient;
	r->size = size;
	all->count = n;
	return true;
}

static bool read_entries(rewriter *r, const source *from, entries *all)
{
	size_t choices = from->layout == NULL || !from->layout->has_oneofs
				 ? 0
				 : from->layout->count + 1;
	bool is_map_entry = from->layout != NULL && from->layout->is_map_entry;
	size_t count;

	if (from->depth > MAX_DEPTH || !count_entries(from, &count))
		return false;
	if (is_map_entry)
		count += from->layout->count;
	all->items = sp_call_bytes(r->call, count, sizeof(*all->items));
	all->unknown = sp_call_bytes(r->call, count, sizeof(*all->unknown));
	all->choices = sp_call_bytes(r->call, choices, sizeof(*all->choices));
	if (all->items == NULL || all->unknown == NULL || all->choices == NULL)
		return no_memory(r);
	if (from->layout != NULL && from->layout->has_oneofs)
		memset(all->choices, 0, choices * sizeof(*all->choices));
	for (size_t i = 0; i < from->piece_count; i++) {
		sp_bytes rest = from->pieces[i];
		entry e;

		while (rest.size != 0)
			if (!take_entry(&rest, from->depth, &e) || !sort_in(from, all, &e))
				return false;
	}
	if (is_map_entry)
		add_absent(from->layout, all);
	return from->layout == NULL || !from->layout->has_oneofs || drop_cleared(r, from, all);
}

static bool rewrite(rewriter *r, const source *from)
{
	entries all = {0};
	size_t required = 0, end;

	if (!read_entries(r, from, &all) || !sort_entries(r, &all))
		return false;
	for (size_t i = 0; i < all.count; i = end) {
		for (end = i + 1; end < all.count && all.items[end].part == all.items[i].part;)
			end++;
		required += all.items[i].part->is_required;
		if (!put_field(r, from, &all.items[i], end - i))
			return false;
	}
	if (from->layout != NULL && required != from->layout->required && !r->is_lenient)
		return false;
	for (size_t i = 0; i < all.unknown_count; i++)
		if (!put_unknown(r, from, &all.unknown[i]))
			return false;
	return true;
}

sp_status sp_proto_rewrite(const sp_call *call, const sp_proto_layout *layout, sp_bytes message,
			   sp_bytes *out, bool *good)
{
	rewriter r = {.call = call, .status = SP_OK};
	source from = {layout, &message, 1, 0};

	*good = rewrite(&r, &from);
	*out = (sp_bytes){r.data != NULL ? r.data : "", r.size};
	return r.status;
}
