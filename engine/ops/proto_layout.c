#include "engine/ops/proto_layout.h"

#include <stdlib.h>
#include <string.h>

#include "engine/kernels/protobuf_reader.h"

/*
 * Types are read one after the other; what they are made of is appended.  An Any may
 * hold any type there is, so where there is one all are read.
 */
typedef struct reader {
	sp_bytes set;
	sp_arena *arena;
	sp_map by_name; /* -> index into layouts */
	sp_proto_layout **layouts;
	size_t count, room;
	sp_map enums; /* by full name -> address */
	sp_proto_declarations messages, extensions;
	bool has_declarations; /* those two are read */
	sp_map *in_any;        /* once there is an Any */
	sp_error *err;
} reader;

/* A field on its way into a layout. */
typedef struct member {
	sp_proto_part part;
	sp_bytes name;       /* as a text has it; of an extension the full one */
	sp_bytes field_name; /* what its descriptor says */
	sp_bytes alias;      /* of an item that its own type declares: the type; else empty */
	bool is_extension;
} member;

static sp_status no_memory(const reader *r)
{
	return sp_error_set(r->err, SP_NO_MEMORY, "no memory for message types");
}

static sp_bytes without_dot(sp_bytes name)
{
	return name.size != 0 && name.data[0] == '.' ? sp_protobuf_skip(name, 1) : name;
}

static sp_status make_room(reader *r)
{
	size_t room = r->room == 0 ? 16 : 2 * r->room;
	sp_proto_layout **wider;

	if (r->count < r->room)
		return SP_OK;
	wider = sp_arena_array(r->arena, room, sizeof(sp_proto_layout *));
	if (wider == NULL)
		return no_memory(r);
	if (r->count != 0)
		memcpy(wider, r->layouts, r->count * sizeof(sp_proto_layout *));
	r->layouts = wider;
	r->room = room;
	return SP_OK;
}

/* The type of that name, which may be read later. */
static sp_status refer(reader *r, sp_bytes name, const sp_proto_layout **out)
{
	uint64_t index;

	name = without_dot(name);
	if (sp_map_get(&r->by_name, name, &index)) {
		*out = r->layouts[index];
		return SP_OK;
	}
	SP_TRY(make_room(r));
	r->layouts[r->count] = sp_arena_zeros(r->arena, 1, sizeof(sp_proto_layout));
	if (r->layouts[r->count] == NULL)
		return no_memory(r);
	r->layouts[r->count]->name = name;
	if (sp_map_add(&r->by_name, name, r->count) == SP_MAP_NO_MEMORY)
		return no_memory(r);
	*out = r->layouts[r->count++];
	return SP_OK;
}

static sp_status read_declarations(reader *r)
{
	if (r->has_declarations)
		return SP_OK;
	r->has_declarations = true;
	return sp_descriptor_all(r->set, r->arena, &r->messages, &r->extensions, r->err);
}

/* ---------------------------------------------------------------------- enums */

static int by_value(const void *a, const void *b)
{
	int32_t x = *(const int32_t *)a, y = *(const int32_t *)b;

	return (x > y) - (x < y);
}

static sp_status read_enum(reader *r, sp_bytes name, sp_proto_enum *out)
{
	sp_proto_enumerator *items;
	int32_t *values;

	sp_map_init(&out->by_name, r->arena);
	SP_TRY(sp_descriptor_enum_values(r->set, name, r->arena, &items, &out->value_count,
					 r->err));
	values = sp_arena_array(r->arena, out->value_count, sizeof(*values));
	if (values == NULL)
		return no_memory(r);
	for (size_t i = 0; i < out->value_count; i++) {
		values[i] = items[i].number;
		if (sp_map_add(&out->by_name, items[i].name, (uint32_t)items[i].number) ==
		    SP_MAP_NO_MEMORY)
			return no_memory(r);
	}
	if (out->value_count != 0) {
		out->first_value = values[0];
		qsort(values, out->value_count, sizeof(*values), by_value);
	}
	out->values = values;
	return SP_OK;
}

static sp_status refer_enum(reader *r, sp_bytes name, const sp_proto_enum **out)
{
	sp_proto_enum *made;
	uint64_t known;

	name = without_dot(name);
	if (sp_map_get(&r->enums, name, &known)) {
		*out = (const sp_proto_enum *)(uintptr_t)known;
		return SP_OK;
	}
	made = sp_arena_zeros(r->arena, 1, sizeof(*made));
	if (made == NULL || sp_map_add(&r->enums, name, (uintptr_t)made) == SP_MAP_NO_MEMORY)
		return no_memory(r);
	*out = made;
	return read_enum(r, name, made);
}

/* --------------------------------------------------------------------- fields */

/* Behind the last dot. */
static sp_bytes simple_name(sp_bytes name)
{
	size_t n = name.size;

	while (n != 0 && name.data[n - 1] != '.')
		n--;
	return sp_protobuf_skip(name, n);
}

static sp_status read_part(reader *r, const sp_proto_field *field, bool is_proto3,
			   sp_proto_part *part)
{
	bool is_message = field->type == SP_PROTO_MESSAGE || field->type == SP_PROTO_GROUP;
	bool is_text = field->type == SP_PROTO_STRING || field->type == SP_PROTO_BYTES;

	*part = (sp_proto_part){.number = field->number,
				.type = field->type,
				.is_repeated = field->is_repeated,
				.is_required = field->is_required,
				.oneof = field->oneof};
	part->is_packed = field->is_repeated && !is_message && !is_text &&
			  (field->says_packed ? field->is_packed : is_proto3);
	part->is_implicit = is_proto3 && !field->is_repeated && !is_message && field->oneof == 0;
	part->is_utf8 = is_proto3 && field->type == SP_PROTO_STRING;
	if (is_message)
		return refer(r, field->type_name, &part->message);
	if (field->type == SP_PROTO_ENUM)
		return refer_enum(r, field->type_name, &part->enumeration);
	return SP_OK;
}

static sp_status read_member(reader *r, const sp_proto_field *field, bool is_proto3, member *out)
{
	out->is_extension = false;
	out->alias = (sp_bytes){"", 0};
	out->field_name = field->name;
	out->name = field->type == SP_PROTO_GROUP ? simple_name(field->type_name) : field->name;
	return read_part(r, field, is_proto3, &out->part);
}

/* An extension is present or not, and its file says how it is written. */
static sp_status read_extension(reader *r, const sp_proto_declaration *from, member *out)
{
	sp_proto_field field;

	SP_TRY(sp_descriptor_field(from->bytes, &field, r->err));
	out->is_extension = true;
	out->name = out->field_name = from->name;
	out->alias = (sp_bytes){"", 0};
	SP_TRY(read_part(r, &field, from->is_proto3, &out->part));
	out->part.is_implicit = out->part.is_required = false;
	out->part.oneof = 0;
	return SP_OK;
}

/* The first item that a type declares of itself is known by the type's name, too. */
static sp_status read_item(reader *r, const sp_proto_declaration *from, sp_map *aliases,
			   member *out)
{
	size_t scope = from->name.size - simple_name(from->name).size;
	const sp_proto_layout *type;

	SP_TRY(read_extension(r, from, out));
	type = out->part.message;
	if (out->part.type != SP_PROTO_MESSAGE || out->part.is_repeated)
		return sp_error_set(r->err, SP_INVALID,
				    "%.*s extends a message set, and is not a single message",
				    (int)(from->name.size < 100 ? from->name.size : 100),
				    from->name.data);
	out->part.is_item = true;
	if (scope != type->name.size + 1 ||
	    memcmp(from->name.data, type->name.data, type->name.size) != 0)
		return SP_OK;
	switch (sp_map_add(aliases, type->name, 0)) {
	case SP_MAP_NO_MEMORY:
		return no_memory(r);
	case SP_MAP_ADDED:
		out->alias = type->name;
		return SP_OK;
	default:
		return SP_OK;
	}
}

static bool extends(const sp_proto_declaration *extension, const sp_proto_layout *layout)
{
	sp_proto_field field;
	sp_error ignored;

	return sp_descriptor_field(extension->bytes, &field, &ignored) == SP_OK &&
	       sp_bytes_equal(without_dot(field.extendee), layout->name);
}

static int by_number(const void *a, const void *b)
{
	const member *x = a, *y = b;

	return (x->part.number > y->part.number) - (x->part.number < y->part.number);
}

/* Whether a text may call the member so; `plain` knows the fields by their own names. */
static bool is_called(const sp_map *plain, const member *m)
{
	if (m->part.type != SP_PROTO_GROUP || sp_bytes_equal(m->name, m->field_name))
		return true;
	if (m->name.size != m->field_name.size || sp_map_get(plain, m->name, NULL))
		return false;
	for (size_t i = 0; i < m->name.size; i++) {
		char c = m->name.data[i];

		if ((c >= 'A' && c <= 'Z' ? c + 'a' - 'A' : c) != m->field_name.data[i])
			return false;
	}
	return true;
}

static sp_status name_members(reader *r, sp_proto_layout *layout, sp_bytes descriptor,
			      const member *members)
{
	sp_bytes *reserved;
	sp_map plain;
	size_t n;

	sp_map_init(&plain, r->arena);
	for (size_t i = 0; i < layout->count; i++)
		if (!members[i].is_extension &&
		    sp_map_add(&plain, members[i].field_name, i) == SP_MAP_NO_MEMORY)
			return no_memory(r);
	for (size_t i = 0; i < layout->count; i++) {
		sp_map *map = members[i].is_extension ? &layout->extensions : &layout->by_name;

		if ((members[i].is_extension || is_called(&plain, &members[i])) &&
		    sp_map_add(map, members[i].name, i) == SP_MAP_NO_MEMORY)
			return no_memory(r);
	}
	for (size_t i = 0; i < layout->count; i++)
		if (members[i].alias.size != 0 &&
		    sp_map_add(&layout->extensions, members[i].alias, i) == SP_MAP_NO_MEMORY)
			return no_memory(r);
	SP_TRY(sp_descriptor_reserved(descriptor, r->arena, &reserved, &n, r->err));
	for (size_t i = 0; i < n; i++)
		if (sp_map_add(&layout->by_name, reserved[i], SP_PROTO_RESERVED) ==
		    SP_MAP_NO_MEMORY)
			return no_memory(r);
	return SP_OK;
}

/* ---------------------------------------------------------------------- types */

static sp_status read_members(reader *r, const sp_proto_layout *layout, sp_bytes descriptor,
			      bool is_extensible, member **out, size_t *count)
{
	sp_proto_field *fields;
	size_t n, extensions = 0;
	sp_map aliases;

	sp_map_init(&aliases, r->arena);
	SP_TRY(sp_descriptor_fields(descriptor, r->arena, &fields, &n, r->err));
	if (layout->is_set && n != 0)
		return sp_error_set(r->err, SP_INVALID, "a message set has %zu fields of its own",
				    n);
	if (is_extensible)
		SP_TRY(read_declarations(r));
	for (size_t i = 0; is_extensible && i < r->extensions.count; i++)
		extensions += extends(&r->extensions.items[i], layout);
	*count = n + extensions;
	*out = sp_arena_zeros(r->arena, *count, sizeof(**out));
	if (*out == NULL)
		return no_memory(r);
	for (size_t i = 0; i < n; i++)
		SP_TRY(read_member(r, &fields[i], layout->is_proto3, &(*out)[i]));
	for (size_t i = 0; is_extensible && i < r->extensions.count; i++)
		if (extends(&r->extensions.items[i], layout)) {
			const sp_proto_declaration *from = &r->extensions.items[i];

			SP_TRY(layout->is_set ? read_item(r, from, &aliases, &(*out)[n++])
					      : read_extension(r, from, &(*out)[n++]));
		}
	if (*count != 0)
		qsort(*out, *count, sizeof(**out), by_number);
	return SP_OK;
}

static sp_status take_members(reader *r, sp_proto_layout *layout, const member *members)
{
	sp_proto_part *parts = sp_arena_array(r->arena, layout->count, sizeof(*parts));

	if (parts == NULL)
		return no_memory(r);
	for (size_t i = 0; i < layout->count; i++) {
		parts[i] = members[i].part;
		if (parts[i].oneof > layout->count)
			return sp_error_set(r->err, SP_INVALID, "a field is of oneof %u of %zu",
					    (unsigned)parts[i].oneof, layout->count);
		if (i > 0 && parts[i - 1].number == parts[i].number)
			return sp_error_set(r->err, SP_INVALID,
					    "two fields of a message have the number %u",
					    (unsigned)parts[i].number);
		if (parts[i].number > SP_PROTO_MAX_NUMBER && !layout->is_set)
			return sp_error_set(r->err, SP_INVALID, "a field has the number %u",
					    (unsigned)parts[i].number);
		parts[i].is_closed = parts[i].type == SP_PROTO_ENUM && !layout->is_proto3;
		layout->has_oneofs |= parts[i].oneof != 0;
		layout->required += parts[i].is_required;
	}
	layout->parts = parts;
	return SP_OK;
}

/* Whether it is as google/protobuf/any.proto has it. */
static bool is_any(const sp_proto_layout *layout)
{
	const sp_proto_part *url = sp_proto_layout_find(layout, 1);
	const sp_proto_part *value = sp_proto_layout_find(layout, 2);

	return sp_bytes_equal_text(layout->name, "google.protobuf.Any") && url != NULL &&
	       value != NULL && url->type == SP_PROTO_STRING && value->type == SP_PROTO_BYTES &&
	       !url->is_repeated && !value->is_repeated && url->oneof == 0 && value->oneof == 0;
}

static sp_status open_any(reader *r, sp_proto_layout *layout)
{
	const sp_proto_layout *ignored;

	if (r->in_any == NULL) {
		r->in_any = sp_arena_zeros(r->arena, 1, sizeof(*r->in_any));
		if (r->in_any == NULL)
			return no_memory(r);
		sp_map_init(r->in_any, r->arena);
		SP_TRY(read_declarations(r));
		for (size_t i = 0; i < r->messages.count; i++)
			SP_TRY(refer(r, r->messages.items[i].name, &ignored));
	}
	layout->in_any = r->in_any;
	return SP_OK;
}

static sp_status read_layout(reader *r, sp_proto_layout *layout)
{
	sp_descriptor_traits traits;
	sp_bytes descriptor;
	member *members;

	SP_TRY(sp_descriptor_message_traits(r->set, layout->name, &descriptor, &traits, r->err));
	if (traits.is_edition)
		return sp_error_set(r->err, SP_INVALID,
				    "message type %.*s is neither of proto2 nor of proto3",
				    (int)(layout->name.size < 100 ? layout->name.size : 100),
				    layout->name.data);
	if (traits.is_message_set && traits.is_proto3)
		return sp_error_set(r->err, SP_INVALID,
				    "message type %.*s is a message set, and of proto3",
				    (int)(layout->name.size < 100 ? layout->name.size : 100),
				    layout->name.data);
	layout->is_set = traits.is_message_set;
	layout->is_proto3 = traits.is_proto3;
	layout->is_map_entry = traits.is_map_entry;
	sp_map_init(&layout->by_name, r->arena);
	sp_map_init(&layout->extensions, r->arena);
	SP_TRY(read_members(r, layout, descriptor, traits.is_extensible, &members, &layout->count));
	SP_TRY(take_members(r, layout, members));
	SP_TRY(name_members(r, layout, descriptor, members));
	return is_any(layout) ? open_any(r, layout) : SP_OK;
}

sp_status sp_proto_layout_read(const sp_proto_message *message, sp_arena *arena,
			       const sp_proto_layout **out, sp_error *err)
{
	reader r = {.set = message->set, .arena = arena, .err = err};

	sp_map_init(&r.by_name, arena);
	sp_map_init(&r.enums, arena);
	SP_TRY(refer(&r, message->name, out));
	for (size_t i = 0; i < r.count; i++)
		SP_TRY(read_layout(&r, r.layouts[i]));
	for (size_t i = 0; r.in_any != NULL && i < r.count; i++)
		if (sp_map_add(r.in_any, r.layouts[i]->name, (uintptr_t)r.layouts[i]) ==
		    SP_MAP_NO_MEMORY)
			return no_memory(&r);
	return SP_OK;
}

const sp_proto_part *sp_proto_layout_find(const sp_proto_layout *layout, uint32_t number)
{
	size_t low = 0, high = layout->count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (layout->parts[middle].number < number)
			low = middle + 1;
		else
			high = middle;
	}
	return low < layout->count && layout->parts[low].number == number ? &layout->parts[low]
									  : NULL;
}

bool sp_proto_enum_has(const sp_proto_enum *enumeration, int32_t number)
{
	return enumeration->value_count != 0 &&
	       bsearch(&number, enumeration->values, enumeration->value_count, sizeof(number),
		       by_value) != NULL;
}
