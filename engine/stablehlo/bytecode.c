#include "engine/stablehlo/bytecode.h"

#include <string.h>

/*
 * The file is a sequence of sections: strings, names of dialects and operations, offsets of
 * attributes and types, operations. Locations, use-list orders and resources are skipped.
 */

static const uint32_t NONE = UINT32_MAX;

enum { NEWEST_VERSION = 6 };

/* Versions that changed the encoding. */
enum {
	WITH_DIALECT_VERSIONS = 1,
	WITH_REGION_SECTIONS = 2,
	WITH_USE_ORDERS = 3,
	WITH_OPTIONAL_LOCATIONS = 4,
	WITH_REGISTERED_FLAG = 5,
};

typedef enum section_id {
	STRINGS,
	DIALECTS,
	ENTRIES,
	ENTRY_OFFSETS,
	OPERATIONS,
	RESOURCES,
	RESOURCE_OFFSETS,
	DIALECT_VERSIONS,
	PROPERTIES,
	SECTION_COUNT,
} section_id;

enum { HAS_ATTRIBUTES = 1, HAS_RESULTS = 2, HAS_OPERANDS = 4, HAS_SUCCESSORS = 8 };
enum { HAS_REGIONS = 16, HAS_USE_ORDERS = 32, HAS_PROPERTIES = 64 };

typedef struct reader {
	sp_mlir_module *module;
	sp_arena *arena;
	uint64_t version;
	size_t file_size;
	const char **dialects;
	size_t dialect_count;
	const char **op_names;
	size_t op_name_count;
	size_t op_name_capacity;
	sp_mlir_cursor *properties;
	size_t property_count;
	uint32_t *value_types;
	size_t value_capacity;
	sp_error *err;
} reader;

/* A region that is being read; it defines the values numbered `first` and up. */
typedef struct place {
	const struct place *around; /* the enclosing region whose values are visible; NULL for an
				       isolated region */
	size_t first;
	size_t limit;     /* at most this many values: the region declares their number */
	uint32_t *values; /* value number -> index in the module */
	size_t count;
	size_t capacity;
	int depth;
} place;

static sp_status corrupt(reader *re, const char *what)
{
	return sp_error_set(re->err, SP_CORRUPT, "the module's bytecode is broken: %s", what);
}

static sp_status no_memory(reader *re)
{
	return sp_error_set(re->err, SP_NO_MEMORY, "no memory for the module");
}

/* ---------------------------------------------------------------- numbers */

static size_t left(const sp_mlir_cursor *cursor)
{
	return (size_t)(cursor->end - cursor->at);
}

/* The trailing zeros of the first byte are the number of bytes that follow. */
bool sp_mlir_read_number(sp_mlir_cursor *cursor, uint64_t *out)
{
	uint64_t value = 0;
	size_t size = 1;
	uint8_t first;

	if (left(cursor) == 0)
		return false;
	first = *cursor->at;
	while (size < 9 && (first >> (size - 1) & 1) == 0)
		size++;
	if (left(cursor) < size)
		return false;
	for (size_t i = size == 9; i < size; i++)
		value |= (uint64_t)cursor->at[i] << (8 * (i - (size == 9)));
	cursor->at += size;
	*out = size == 9 ? value : value >> size;
	return true;
}

bool sp_mlir_read_signed(sp_mlir_cursor *cursor, int64_t *out)
{
	uint64_t value;

	if (!sp_mlir_read_number(cursor, &value))
		return false;
	*out = (int64_t)(value >> 1 ^ (0 - (value & 1)));
	return true;
}

bool sp_mlir_read_count(sp_mlir_cursor *cursor, size_t *out)
{
	uint64_t value;

	if (!sp_mlir_read_number(cursor, &value) || value > left(cursor))
		return false;
	*out = (size_t)value;
	return true;
}

bool sp_mlir_read_index(sp_mlir_cursor *cursor, size_t limit, uint32_t *out)
{
	uint64_t value;

	if (!sp_mlir_read_number(cursor, &value) || value >= limit || value >= NONE)
		return false;
	*out = (uint32_t)value;
	return true;
}

/* An index with a flag in its lowest bit. */
static bool read_flagged(sp_mlir_cursor *cursor, size_t limit, uint32_t *out, bool *flag)
{
	uint64_t value;

	if (!sp_mlir_read_number(cursor, &value) || value >> 1 >= limit || value >> 1 >= NONE)
		return false;
	*flag = (value & 1) != 0;
	*out = (uint32_t)(value >> 1);
	return true;
}

static bool read_byte(sp_mlir_cursor *cursor, uint8_t *out)
{
	if (left(cursor) == 0)
		return false;
	*out = *cursor->at++;
	return true;
}

/* --------------------------------------------------------------- sections */

static bool read_section(sp_mlir_cursor *cursor, uint8_t *id, sp_mlir_cursor *out)
{
	enum { ALIGNED = 0x80, PADDING = 0xcb };
	uint64_t size, alignment;

	if (!read_byte(cursor, id) || !sp_mlir_read_number(cursor, &size))
		return false;
	if ((*id & ALIGNED) != 0) {
		if (!sp_mlir_read_number(cursor, &alignment))
			return false;
		while (left(cursor) != 0 && *cursor->at == PADDING)
			cursor->at++;
	}
	*id &= ALIGNED - 1;
	if (size > left(cursor))
		return false;
	*out = (sp_mlir_cursor){cursor->at, cursor->at + size};
	cursor->at += size;
	return true;
}

/* A string is followed by a NUL, which its size includes. */
static sp_status read_strings(reader *re, sp_mlir_cursor cursor)
{
	sp_bytes *strings;
	size_t count, total = 0;

	if (!sp_mlir_read_count(&cursor, &count))
		return corrupt(re, "strings");
	strings = sp_arena_array(re->arena, count, sizeof(*strings));
	if (strings == NULL)
		return no_memory(re);
	for (size_t i = count; i-- > 0;) {
		uint64_t size;

		if (!sp_mlir_read_number(&cursor, &size) || size == 0 || size > re->file_size)
			return corrupt(re, "the size of a string");
		strings[i].size = (size_t)size - 1;
		total += (size_t)size;
		if (total > re->file_size)
			return corrupt(re, "the size of strings");
	}
	if (total > left(&cursor))
		return corrupt(re, "strings");
	for (size_t i = 0; i < count; i++) {
		strings[i].data = (const char *)cursor.at;
		cursor.at += strings[i].size + 1;
	}
	re->module->strings = strings;
	re->module->string_count = count;
	return SP_OK;
}

/* A NUL-terminated name that is safe to log. */
static sp_status make_name(reader *re, const char *prefix, uint32_t string, const char **out)
{
	sp_bytes bytes = re->module->strings[string];

	for (size_t i = 0; i < bytes.size; i++)
		if (bytes.data[i] <= ' ' || bytes.data[i] > '~')
			return corrupt(re, "a name");
	*out = sp_arena_printf(re->arena, "%s%.*s", prefix, (int)bytes.size, bytes.data);
	return *out != NULL ? SP_OK : no_memory(re);
}

static sp_status add_op_name(reader *re, const char *name)
{
	if (!SP_ARENA_GROW(re->arena, re->op_names, re->op_name_capacity, re->op_name_count, 1))
		return no_memory(re);
	re->op_names[re->op_name_count++] = name;
	return SP_OK;
}

static sp_status read_op_names(reader *re, sp_mlir_cursor *cursor)
{
	size_t strings = re->module->string_count, count;
	const char *prefix, *name;
	bool is_registered;
	uint32_t index;

	if (!sp_mlir_read_index(cursor, re->dialect_count, &index) ||
	    !sp_mlir_read_count(cursor, &count))
		return corrupt(re, "the names of operations");
	prefix = sp_arena_printf(re->arena, "%s.", re->dialects[index]);
	if (prefix == NULL)
		return no_memory(re);
	for (size_t i = 0; i < count; i++) {
		if (re->version < WITH_REGISTERED_FLAG
			    ? !sp_mlir_read_index(cursor, strings, &index)
			    : !read_flagged(cursor, strings, &index, &is_registered))
			return corrupt(re, "the name of an operation");
		SP_TRY(make_name(re, prefix, index, &name));
		SP_TRY(add_op_name(re, name));
	}
	return SP_OK;
}

static sp_status read_dialects(reader *re, sp_mlir_cursor cursor)
{
	size_t strings = re->module->string_count;
	sp_mlir_cursor ignored;
	uint64_t ops;
	uint8_t id;

	if (!sp_mlir_read_count(&cursor, &re->dialect_count))
		return corrupt(re, "dialects");
	re->dialects = sp_arena_array(re->arena, re->dialect_count, sizeof(*re->dialects));
	if (re->dialects == NULL)
		return no_memory(re);
	for (size_t i = 0; i < re->dialect_count; i++) {
		bool is_versioned = false;
		uint32_t index;

		if (re->version < WITH_DIALECT_VERSIONS
			    ? !sp_mlir_read_index(&cursor, strings, &index)
			    : !read_flagged(&cursor, strings, &index, &is_versioned))
			return corrupt(re, "the name of a dialect");
		if (is_versioned && !read_section(&cursor, &id, &ignored))
			return corrupt(re, "the version of a dialect");
		SP_TRY(make_name(re, "", index, &re->dialects[i]));
	}
	if (re->version >= WITH_OPTIONAL_LOCATIONS && !sp_mlir_read_number(&cursor, &ops))
		return corrupt(re, "the number of operations");
	while (left(&cursor) != 0)
		SP_TRY(read_op_names(re, &cursor));
	return SP_OK;
}

/* One section has the sizes, grouped by dialect; the other has the bytes in the same order. */
static sp_status read_entries(reader *re, sp_mlir_cursor offsets, sp_mlir_cursor data)
{
	size_t attributes, types, done = 0;
	sp_mlir_entry *entries;

	if (!sp_mlir_read_count(&offsets, &attributes) || !sp_mlir_read_count(&offsets, &types) ||
	    attributes + types > left(&offsets))
		return corrupt(re, "the number of attributes and types");
	entries = sp_arena_array(re->arena, attributes + types, sizeof(*entries));
	if (entries == NULL)
		return no_memory(re);
	while (done < attributes + types) {
		uint32_t dialect, size;
		size_t count;
		bool is_custom;

		if (!sp_mlir_read_index(&offsets, re->dialect_count, &dialect) ||
		    !sp_mlir_read_count(&offsets, &count) || count > attributes + types - done)
			return corrupt(re, "attributes and types");
		for (size_t i = 0; i < count; i++) {
			if (!read_flagged(&offsets, left(&data) + 1, &size, &is_custom))
				return corrupt(re, "the size of an attribute or type");
			entries[done++] = (sp_mlir_entry){.dialect = re->dialects[dialect],
							  .bytes = {data.at, data.at + size},
							  .is_text = !is_custom};
			data.at += size;
		}
	}
	re->module->attributes = entries;
	re->module->attribute_count = attributes;
	re->module->types = entries + attributes;
	re->module->type_count = types;
	return SP_OK;
}

/* The section is a sequence of property sets, each preceded by its size. */
static sp_status read_properties(reader *re, sp_mlir_cursor cursor)
{
	if (left(&cursor) == 0)
		return SP_OK;
	if (!sp_mlir_read_count(&cursor, &re->property_count))
		return corrupt(re, "properties");
	re->properties = sp_arena_array(re->arena, re->property_count, sizeof(*re->properties));
	if (re->properties == NULL)
		return no_memory(re);
	for (size_t i = 0; i < re->property_count; i++) {
		size_t size;

		if (!sp_mlir_read_count(&cursor, &size))
			return corrupt(re, "the size of properties");
		re->properties[i] = (sp_mlir_cursor){cursor.at, cursor.at + size};
		cursor.at += size;
	}
	return SP_OK;
}

/* ----------------------------------------------------------------- values */

static sp_status define_value(reader *re, place *at, uint32_t type)
{
	sp_mlir_module *module = re->module;

	if (at->count >= at->limit - at->first)
		return corrupt(re, "more values than a region says");
	if (!SP_ARENA_GROW(re->arena, re->value_types, re->value_capacity, module->value_count,
			   1) ||
	    !SP_ARENA_GROW(re->arena, at->values, at->capacity, at->count, 1))
		return no_memory(re);
	module->value_types = re->value_types;
	at->values[at->count++] = (uint32_t)module->value_count;
	re->value_types[module->value_count++] = type;
	return SP_OK;
}

static bool find_value(const place *at, uint32_t number, uint32_t *out)
{
	while (at != NULL && number < at->first)
		at = at->around;
	if (at == NULL || number - at->first >= at->count)
		return false;
	*out = at->values[number - at->first];
	return true;
}

static sp_status read_operands(reader *re, sp_mlir_cursor *cursor, const place *at, sp_mlir_op *op)
{
	uint32_t *operands;

	if (!sp_mlir_read_count(cursor, &op->operand_count))
		return corrupt(re, "operands");
	operands = sp_arena_array(re->arena, op->operand_count, sizeof(*operands));
	if (operands == NULL)
		return no_memory(re);
	for (size_t i = 0; i < op->operand_count; i++) {
		uint32_t number;

		if (!sp_mlir_read_index(cursor, NONE, &number) ||
		    !find_value(at, number, &operands[i]))
			return corrupt(re, "an operand that is not defined before it is read");
	}
	op->operands = operands;
	return SP_OK;
}

/* Skips the use-list order of a value, which is not needed. */
static sp_status skip_use_orders(reader *re, sp_mlir_cursor *cursor, size_t values)
{
	uint64_t count = 1, number;
	uint32_t indices;
	bool pairs;

	if (values > 1 && !sp_mlir_read_number(cursor, &count))
		return corrupt(re, "the order of uses");
	for (uint64_t i = 0; i < count; i++) {
		if ((values > 1 && !sp_mlir_read_number(cursor, &number)) ||
		    !read_flagged(cursor, left(cursor) + 1, &indices, &pairs))
			return corrupt(re, "the order of uses");
		for (uint32_t k = 0; k < indices; k++)
			if (!sp_mlir_read_number(cursor, &number))
				return corrupt(re, "the order of uses");
	}
	return SP_OK;
}

/* ------------------------------------------------------------- operations */

static sp_status read_region(reader *re, sp_mlir_cursor *cursor, place at, sp_mlir_region *out);

static sp_status read_regions(reader *re, sp_mlir_cursor *cursor, const place *at, sp_mlir_op *op)
{
	uint32_t count;
	bool is_isolated;
	sp_mlir_region *regions;
	place inner = {.around = at, .first = at->limit, .depth = at->depth + 1};
	sp_mlir_cursor section;
	uint8_t id;

	if (!read_flagged(cursor, left(cursor) + 1, &count, &is_isolated))
		return corrupt(re, "regions");
	if (count > SP_MLIR_MAX_REGIONS)
		return sp_error_set(re->err, SP_UNSUPPORTED,
				    "the module has an operation of %u regions; the most are %d",
				    count, SP_MLIR_MAX_REGIONS);
	regions = sp_arena_zeros(re->arena, count, sizeof(*regions));
	if (regions == NULL)
		return no_memory(re);
	if (inner.depth > SP_MLIR_MAX_DEPTH)
		return sp_error_set(re->err, SP_UNSUPPORTED,
				    "the module's regions are nested more than %d deep",
				    SP_MLIR_MAX_DEPTH);
	if (is_isolated)
		inner = (place){.depth = inner.depth};
	if (is_isolated && count != 0 && re->version >= WITH_REGION_SECTIONS) {
		if (!read_section(cursor, &id, &section) || id != OPERATIONS)
			return corrupt(re, "the section of a region");
		cursor = &section;
	}
	op->regions = regions;
	op->region_count = count;
	for (uint32_t i = 0; i < count; i++)
		SP_TRY(read_region(re, cursor, inner, &regions[i]));
	return SP_OK;
}

static sp_status read_results(reader *re, sp_mlir_cursor *cursor, uint32_t **types, size_t *count)
{
	*types = NULL;
	*count = 0;
	if (!sp_mlir_read_count(cursor, count))
		return corrupt(re, "results");
	*types = sp_arena_array(re->arena, *count, sizeof(**types));
	if (*types == NULL)
		return no_memory(re);
	for (size_t i = 0; i < *count; i++)
		if (!sp_mlir_read_index(cursor, re->module->type_count, &(*types)[i]))
			return corrupt(re, "the type of a result");
	return SP_OK;
}

static sp_status read_op(reader *re, sp_mlir_cursor *cursor, place *at, sp_mlir_op *op)
{
	size_t attributes = re->module->attribute_count, results = 0;
	uint32_t name, location, properties, *types = NULL;
	uint8_t mask;

	*op = (sp_mlir_op){.attributes = NONE};
	if (!sp_mlir_read_index(cursor, re->op_name_count, &name) || !read_byte(cursor, &mask) ||
	    !sp_mlir_read_index(cursor, attributes, &location))
		return corrupt(re, "an operation");
	op->name = re->op_names[name];
	if ((mask & HAS_ATTRIBUTES) != 0 &&
	    !sp_mlir_read_index(cursor, attributes, &op->attributes))
		return corrupt(re, "the attributes of an operation");
	if ((mask & HAS_PROPERTIES) != 0) {
		if (!sp_mlir_read_index(cursor, re->property_count, &properties))
			return corrupt(re, "the properties of an operation");
		op->properties = re->properties[properties];
	}
	if ((mask & HAS_RESULTS) != 0)
		SP_TRY(read_results(re, cursor, &types, &results));
	if ((mask & HAS_OPERANDS) != 0)
		SP_TRY(read_operands(re, cursor, at, op));
	if ((mask & HAS_SUCCESSORS) != 0)
		return sp_error_set(re->err, SP_UNSUPPORTED,
				    "the module's operation %s jumps between blocks", op->name);
	if ((mask & HAS_USE_ORDERS) != 0)
		SP_TRY(skip_use_orders(re, cursor, results));
	op->first_inner = (uint32_t)re->module->value_count + (uint32_t)results;
	op->first_result = (uint32_t)re->module->value_count;
	op->result_count = (uint32_t)results;
	for (size_t i = 0; i < results; i++)
		SP_TRY(define_value(re, at, types[i]));
	return (mask & HAS_REGIONS) != 0 ? read_regions(re, cursor, at, op) : SP_OK;
}

static sp_status read_arguments(reader *re, sp_mlir_cursor *cursor, place *at, sp_mlir_region *out)
{
	size_t attributes = re->module->attribute_count, types = re->module->type_count, count;
	uint8_t has_orders = 0;

	if (!sp_mlir_read_count(cursor, &count))
		return corrupt(re, "the arguments of a block");
	out->argument_count = (uint32_t)count;
	for (size_t i = 0; i < count; i++) {
		bool has_location = true;
		uint32_t type, location;

		if (re->version >= WITH_OPTIONAL_LOCATIONS
			    ? !read_flagged(cursor, types, &type, &has_location)
			    : !sp_mlir_read_index(cursor, types, &type))
			return corrupt(re, "the type of an argument");
		if (has_location && !sp_mlir_read_index(cursor, attributes, &location))
			return corrupt(re, "the location of an argument");
		SP_TRY(define_value(re, at, type));
	}
	if (re->version >= WITH_USE_ORDERS && !read_byte(cursor, &has_orders))
		return corrupt(re, "a block");
	return has_orders != 0 ? skip_use_orders(re, cursor, count) : SP_OK;
}

static sp_status read_block(reader *re, sp_mlir_cursor *cursor, place *at, sp_mlir_region *out)
{
	size_t capacity = 0;
	sp_mlir_op *ops = NULL;
	bool has_arguments;
	uint32_t count;

	if (!read_flagged(cursor, left(cursor) + 1, &count, &has_arguments))
		return corrupt(re, "a block");
	out->first_argument = (uint32_t)re->module->value_count;
	if (has_arguments)
		SP_TRY(read_arguments(re, cursor, at, out));
	for (; out->op_count < count; out->op_count++) {
		if (!SP_ARENA_GROW(re->arena, ops, capacity, out->op_count, 1))
			return no_memory(re);
		SP_TRY(read_op(re, cursor, at, &ops[out->op_count]));
	}
	out->ops = ops;
	return SP_OK;
}

/* `at` describes a new region, which has no values yet. */
static sp_status read_region(reader *re, sp_mlir_cursor *cursor, place at, sp_mlir_region *out)
{
	uint64_t blocks, values;

	*out = (sp_mlir_region){.first_argument = (uint32_t)re->module->value_count};
	if (!sp_mlir_read_number(cursor, &blocks))
		return corrupt(re, "a region");
	if (blocks == 0)
		return SP_OK;
	if (blocks != 1)
		return sp_error_set(re->err, SP_UNSUPPORTED,
				    "the module has a region of several blocks");
	/* A value takes a byte at least. */
	if (!sp_mlir_read_number(cursor, &values) || values > re->file_size - at.first)
		return corrupt(re, "the values of a region");
	at.limit = at.first + (size_t)values;
	return read_block(re, cursor, &at, out);
}

/* ------------------------------------------------------------------- file */

static sp_status read_header(reader *re, sp_mlir_cursor *cursor)
{
	static const uint8_t magic[] = {'M', 'L', 0xef, 'R'};
	const uint8_t *end;

	if (left(cursor) < sizeof(magic) || memcmp(cursor->at, magic, sizeof(magic)) != 0)
		return sp_error_set(re->err, SP_UNSUPPORTED, "the module is not MLIR bytecode");
	cursor->at += sizeof(magic);
	if (!sp_mlir_read_number(cursor, &re->version))
		return corrupt(re, "the version");
	if (re->version > NEWEST_VERSION)
		return sp_error_set(re->err, SP_UNSUPPORTED,
				    "the module is MLIR bytecode of version %llu; the newest known "
				    "is %d",
				    (unsigned long long)re->version, NEWEST_VERSION);
	end = memchr(cursor->at, 0, left(cursor));
	if (end == NULL)
		return corrupt(re, "the producer");
	re->module->producer = (sp_bytes){(const char *)cursor->at, (size_t)(end - cursor->at)};
	cursor->at = end + 1;
	return SP_OK;
}

/* A missing section is left empty. */
static sp_status read_sections(reader *re, sp_mlir_cursor *cursor, sp_mlir_cursor *sections)
{
	bool found[SECTION_COUNT] = {false};

	while (left(cursor) != 0) {
		sp_mlir_cursor section;
		uint8_t id;

		if (!read_section(cursor, &id, &section) || id >= SECTION_COUNT || found[id])
			return corrupt(re, "a section");
		found[id] = true;
		sections[id] = section;
	}
	for (int id = STRINGS; id <= OPERATIONS; id++)
		if (!found[id])
			return corrupt(re, "a section is missing");
	return SP_OK;
}

sp_status sp_mlir_read(sp_mlir_module *out, sp_bytes bytes, sp_arena *arena, sp_error *err)
{
	const uint8_t *data = (const uint8_t *)bytes.data;
	reader re = {.module = out, .arena = arena, .file_size = bytes.size, .err = err};
	sp_mlir_cursor cursor = {data, data + bytes.size};
	sp_mlir_cursor sections[SECTION_COUNT] = {{NULL, NULL}};
	place at = {.depth = 0};

	*out = (sp_mlir_module){.producer = {"", 0}};
	if (bytes.size >= UINT32_MAX / 2)
		return sp_error_set(err, SP_UNSUPPORTED, "the module is too large");
	SP_TRY(read_header(&re, &cursor));
	SP_TRY(read_sections(&re, &cursor, sections));
	SP_TRY(read_strings(&re, sections[STRINGS]));
	SP_TRY(read_dialects(&re, sections[DIALECTS]));
	SP_TRY(read_entries(&re, sections[ENTRY_OFFSETS], sections[ENTRIES]));
	SP_TRY(read_properties(&re, sections[PROPERTIES]));
	return read_block(&re, &sections[OPERATIONS], &at, &out->body);
}
