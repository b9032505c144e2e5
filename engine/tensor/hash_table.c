#include "engine/tensor/hash_table.h"

#include <string.h>

#include "base/hash.h"
#include "base/size.h"

/*
 * Open addressing with linear probing.  Keys and values are arrays in the order of insertion.  A
 * slot holds the number of an entry and the upper 32 bits of its hash, so that keys are compared
 * almost only when they are equal.  At least half of the slots are free.
 *
 * int32 keys are stored as int64.
 */
typedef struct slot {
	uint32_t entry; /* index of the entry + 1; 0: a free slot */
	uint32_t tag;
} slot;

struct sp_hash_table {
	sp_arena *arena;
	sp_hash_table_options options;
	size_t width;      /* elements of one value */
	size_t value_size; /* bytes of one value */
	const uint64_t *key;
	size_t count, capacity;
	int64_t *numbers; /* keys, for integers */
	sp_bytes *texts;  /* keys, for strings */
	char *values;
	slot *slots; /* slot_count, a power of two, >= 2 * capacity */
	size_t slot_count;
	char *room; /* strings of the current insertion are copied here; NULL: not copied */
};

enum { MIN_CAPACITY = 8 };

static bool is_value_dtype(sp_dtype dtype)
{
	return dtype != SP_RESOURCE && sp_dtype_size(dtype) != 0;
}

sp_status sp_hash_table_create(sp_hash_table **out, sp_arena *arena,
			       const sp_hash_table_options *options, sp_error *err)
{
	sp_hash_table *table = sp_arena_zeros(arena, 1, sizeof(*table));

	SP_NEED_MEMORY(table, err, "a hash table");
	if ((options->key_dtype != SP_INT32 && options->key_dtype != SP_INT64 &&
	     options->key_dtype != SP_STRING) ||
	    !is_value_dtype(options->value_dtype))
		return sp_error_set(
			err, SP_UNSUPPORTED, "a hash table from %s to %s is not supported",
			sp_dtype_name(options->key_dtype), sp_dtype_name(options->value_dtype));
	table->arena = arena;
	table->options = *options;
	table->key = sp_hash_process_key();
	if (!sp_shape_count(&options->value_shape, &table->width) ||
	    !sp_size_mul(&table->value_size, table->width, sp_dtype_size(options->value_dtype)))
		return sp_error_set(err, SP_INVALID, "the values of a hash table are too large");
	SP_TRY(sp_hash_table_reserve(table, MIN_CAPACITY, err));
	*out = table;
	return SP_OK;
}

size_t sp_hash_table_size(const sp_hash_table *table)
{
	return table->count;
}

const sp_hash_table_options *sp_hash_table_options_of(const sp_hash_table *table)
{
	return &table->options;
}

static inline uint64_t hash_number(const sp_hash_table *table, int64_t number)
{
	unsigned __int128 product = (unsigned __int128)((uint64_t)number ^ table->key[0]) *
				    (table->key[1] | 1);

	return (uint64_t)(product >> 64) ^ (uint64_t)product;
}

static inline uint64_t hash_text(const sp_hash_table *table, sp_bytes text)
{
	return sp_siphash13(table->key, text.data, text.size);
}

/*
 * The slot of a key, or the free slot where it would be inserted.  One function per kind of key, so
 * that lookups do not branch on the kind.
 */
static inline slot *slot_of_number(const sp_hash_table *table, int64_t number, uint64_t hash)
{
	size_t mask = table->slot_count - 1;

	for (size_t i = hash & mask;; i = (i + 1) & mask) {
		slot *s = &table->slots[i];

		if (s->entry == 0 ||
		    (s->tag == (uint32_t)(hash >> 32) && table->numbers[s->entry - 1] == number))
			return s;
	}
}

static inline slot *slot_of_text(const sp_hash_table *table, sp_bytes text, uint64_t hash)
{
	size_t mask = table->slot_count - 1;

	for (size_t i = hash & mask;; i = (i + 1) & mask) {
		slot *s = &table->slots[i];

		if (s->entry == 0 || (s->tag == (uint32_t)(hash >> 32) &&
				      sp_bytes_equal(table->texts[s->entry - 1], text)))
			return s;
	}
}

/* Puts every entry into new slots. */
static void fill_slots(sp_hash_table *table)
{
	for (size_t i = 0; i < table->count; i++) {
		uint64_t hash;
		slot *s;

		if (table->texts != NULL) {
			hash = hash_text(table, table->texts[i]);
			s = slot_of_text(table, table->texts[i], hash);
		} else {
			hash = hash_number(table, table->numbers[i]);
			s = slot_of_number(table, table->numbers[i], hash);
		}
		*s = (slot){(uint32_t)i + 1, (uint32_t)(hash >> 32)};
	}
}

sp_status sp_hash_table_reserve(sp_hash_table *table, size_t count, sp_error *err)
{
	size_t slot_count = 2 * MIN_CAPACITY;
	slot *slots;
	void *keys, *values;

	if (count <= table->capacity)
		return SP_OK;
	if (count >= UINT32_MAX)
		return sp_error_set(err, SP_UNSUPPORTED, "a hash table of %zu keys is too large",
				    count);
	while (slot_count < 2 * count)
		slot_count *= 2;
	if (table->options.key_dtype == SP_STRING)
		keys = sp_arena_copy(table->arena, table->texts, table->count, count,
				     sizeof(sp_bytes));
	else
		keys = sp_arena_copy(table->arena, table->numbers, table->count, count,
				     sizeof(int64_t));
	values = sp_arena_copy(table->arena, table->values, table->count, count, table->value_size);
	slots = sp_arena_zeros(table->arena, slot_count, sizeof(*slots));
	SP_NEED_MEMORY(keys != NULL && values != NULL && slots != NULL, err,
		       "a hash table of %zu keys", count);
	if (table->options.key_dtype == SP_STRING)
		table->texts = keys;
	else
		table->numbers = keys;
	table->values = values;
	table->slots = slots;
	table->slot_count = slot_count;
	table->capacity = count;
	fill_slots(table);
	return SP_OK;
}

/* Adds the bytes of all strings to *total; false when that overflows. */
static bool add_text_sizes(size_t *total, const sp_tensor *texts)
{
	if (texts->dtype != SP_STRING)
		return true;
	for (size_t i = 0; i < texts->count; i++)
		if (!sp_size_add(total, *total, sp_tensor_strings(texts)[i].size))
			return false;
	return true;
}

/* Allocates one block for all strings that an insertion may copy. */
static sp_status make_room(sp_hash_table *table, const sp_tensor *keys, const sp_tensor *values,
			   unsigned flags, sp_error *err)
{
	size_t total = 0;

	table->room = NULL;
	if ((flags & SP_HASH_TABLE_TEXTS_STAY) != 0)
		return SP_OK;
	if (add_text_sizes(&total, keys) && add_text_sizes(&total, values))
		table->room = sp_arena_alloc(table->arena, total);
	SP_NEED_MEMORY(table->room, err, "the texts of a hash table");
	return SP_OK;
}

static sp_bytes keep_text(sp_hash_table *table, sp_bytes text)
{
	char *copy = table->room;

	if (copy == NULL)
		return text;
	if (text.size != 0)
		memcpy(copy, text.data, text.size);
	table->room += text.size;
	return (sp_bytes){copy, text.size};
}

static void write_value(sp_hash_table *table, char *to, const char *from)
{
	if (table->options.value_dtype == SP_STRING)
		for (size_t i = 0; i < table->width; i++)
			((sp_bytes *)to)[i] = keep_text(table, ((const sp_bytes *)from)[i]);
	else if (table->value_size != 0)
		memcpy(to, from, table->value_size);
}

/* A NaN differs from itself, as in C and TensorFlow. */
static bool equal_values(const sp_hash_table *table, const void *a, const void *b)
{
	bool equal = true;

	switch (table->options.value_dtype) {
	case SP_FLOAT:
		for (size_t i = 0; i < table->width; i++)
			equal = equal && ((const float *)a)[i] == ((const float *)b)[i];
		return equal;
	case SP_DOUBLE:
		for (size_t i = 0; i < table->width; i++)
			equal = equal && ((const double *)a)[i] == ((const double *)b)[i];
		return equal;
	case SP_STRING:
		for (size_t i = 0; i < table->width; i++)
			equal = equal &&
				sp_bytes_equal(((const sp_bytes *)a)[i], ((const sp_bytes *)b)[i]);
		return equal;
	default:
		return table->value_size == 0 || memcmp(a, b, table->value_size) == 0;
	}
}

static sp_status refuse_second_value(const sp_hash_table *table, size_t entry, sp_error *err)
{
	if (table->texts != NULL)
		return sp_error_set(
			err, SP_INVALID, "key '%.*s' is given two different values",
			(int)(table->texts[entry].size > 64 ? 64 : table->texts[entry].size),
			table->texts[entry].data);
	return sp_error_set(err, SP_INVALID, "key %lld is given two different values",
			    (long long)table->numbers[entry]);
}

/* Finds the slot of key i; a new key is stored for entry table->count, which the caller adds. */
static slot *place_key(sp_hash_table *table, const sp_tensor *keys, size_t i, uint32_t *tag)
{
	uint64_t hash;
	slot *s;

	if (keys->dtype == SP_STRING) {
		sp_bytes text = sp_tensor_strings(keys)[i];

		hash = hash_text(table, text);
		s = slot_of_text(table, text, hash);
		if (s->entry == 0)
			table->texts[table->count] = keep_text(table, text);
	} else {
		int64_t number = sp_tensor_index(keys, i);

		hash = hash_number(table, number);
		s = slot_of_number(table, number, hash);
		if (s->entry == 0)
			table->numbers[table->count] = number;
	}
	*tag = (uint32_t)(hash >> 32);
	return s;
}

static sp_status insert_one(sp_hash_table *table, const sp_tensor *keys, size_t i,
			    const char *value, unsigned flags, sp_error *err)
{
	uint32_t tag;
	slot *s = place_key(table, keys, i, &tag);
	size_t entry = s->entry != 0 ? s->entry - 1 : table->count;
	char *to = table->values + entry * table->value_size;

	if (s->entry != 0 && (flags & SP_HASH_TABLE_REPLACE) == 0)
		return equal_values(table, to, value) ? SP_OK
						      : refuse_second_value(table, entry, err);
	write_value(table, to, value);
	if (s->entry == 0)
		*s = (slot){(uint32_t)++table->count, tag};
	return SP_OK;
}

sp_status sp_hash_table_insert(sp_hash_table *table, const sp_tensor *keys, const sp_tensor *values,
			       unsigned flags, sp_error *err)
{
	size_t wanted;

	if (keys->dtype != table->options.key_dtype || values->dtype != table->options.value_dtype)
		return sp_error_set(err, SP_INVALID,
				    "a hash table from %s to %s cannot hold %s to %s",
				    sp_dtype_name(table->options.key_dtype),
				    sp_dtype_name(table->options.value_dtype),
				    sp_dtype_name(keys->dtype), sp_dtype_name(values->dtype));
	if (!sp_size_mul(&wanted, keys->count, table->width) || wanted != values->count)
		return sp_error_set(err, SP_INVALID,
				    "%zu keys need %zu values each, but %zu came in all",
				    keys->count, table->width, values->count);
	SP_TRY(make_room(table, keys, values, flags, err));
	for (size_t i = 0; i < keys->count; i++) {
		if (table->count == table->capacity)
			SP_TRY(sp_hash_table_reserve(table, 2 * table->capacity, err));
		SP_TRY(insert_one(table, keys, i,
				  (const char *)values->data + i * table->value_size, flags, err));
	}
	return SP_OK;
}

/* The value of a key, or `fallback`. */
static inline const char *find_number(const sp_hash_table *table, int64_t number,
				      const char *fallback)
{
	uint32_t entry = slot_of_number(table, number, hash_number(table, number))->entry;

	return entry == 0 ? fallback : table->values + (entry - 1) * table->value_size;
}

static inline const char *find_text(const sp_hash_table *table, sp_bytes text, const char *fallback)
{
	uint32_t entry = slot_of_text(table, text, hash_text(table, text))->entry;

	return entry == 0 ? fallback : table->values + (entry - 1) * table->value_size;
}

/* Constant sizes let the compiler copy by one move. */
static inline char *copy_value(char *to, const char *from, size_t size)
{
	switch (size) {
	case 0:
		break;
	case 4:
		memcpy(to, from, 4);
		break;
	case 8:
		memcpy(to, from, 8);
		break;
	case 16:
		memcpy(to, from, 16);
		break;
	default:
		memcpy(to, from, size);
	}
	return to + size;
}

void sp_hash_table_find(const sp_hash_table *table, const sp_tensor *keys,
			const sp_tensor *fallback, sp_tensor *values)
{
	size_t size = table->value_size;
	size_t step = fallback->count == table->width ? 0 : size;
	const char *other = fallback->data;
	char *to = values->data;

	if (keys->dtype == SP_STRING)
		for (size_t i = 0; i < keys->count; i++, other += step)
			to = copy_value(to, find_text(table, sp_tensor_strings(keys)[i], other),
					size);
	else if (keys->dtype == SP_INT64)
		for (size_t i = 0; i < keys->count; i++, other += step)
			to = copy_value(to, find_number(table, sp_tensor_i64(keys)[i], other),
					size);
	else
		for (size_t i = 0; i < keys->count; i++, other += step)
			to = copy_value(to, find_number(table, sp_tensor_i32(keys)[i], other),
					size);
}

void sp_hash_table_export(const sp_hash_table *table, sp_tensor *keys, sp_tensor *values)
{
	for (size_t i = 0; i < table->count; i++)
		if (keys->dtype == SP_STRING)
			sp_tensor_strings(keys)[i] = table->texts[i];
		else if (keys->dtype == SP_INT64)
			sp_tensor_i64(keys)[i] = table->numbers[i];
		else
			sp_tensor_i32(keys)[i] = (int32_t)table->numbers[i];
	if (table->count * table->value_size != 0)
		memcpy(values->data, table->values, table->count * table->value_size);
}
