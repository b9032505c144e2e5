#include "storage/redis/layout.h"

#include <endian.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buffer.h"
#include "base/hash.h"
#include "storage/redis/redis_slots.h"

static const char *const names[SP_REDIS_LAYOUTS] = {
	[SP_REDIS_VERSIONED] = "versioned",
	[SP_REDIS_DEEPREC] = "deeprec",
	[SP_REDIS_HPS] = "hps",
	[SP_REDIS_TFRA] = "tfra",
};

const char *sp_redis_layout_name(sp_redis_layout layout)
{
	return names[layout];
}

bool sp_redis_layout_find(sp_redis_layout *out, const char *name)
{
	for (int i = 0; i < SP_REDIS_LAYOUTS; i++)
		if (strcmp(name, names[i]) == 0) {
			*out = (sp_redis_layout)i;
			return true;
		}
	return false;
}

/* ------------------------------------------------------------ numbers */

static void put_little_endian(char *out, uint64_t value, size_t size)
{
	value = htole64(value);
	memcpy(out, &value, size);
}

/* All of `text` is a number in `base`, at least 0, without a sign or blanks. */
static bool read_number(uint64_t *out, sp_bytes text, int base)
{
	char copy[24];
	char *end;

	if (text.size == 0 || text.size >= sizeof(copy))
		return false;
	memcpy(copy, text.data, text.size);
	copy[text.size] = '\0';
	if (strspn(copy, "0123456789abcdef") < text.size)
		return false;
	errno = 0;
	*out = strtoull(copy, &end, base);
	return errno == 0 && *end == '\0';
}

static bool read_step(int64_t *out, sp_bytes text)
{
	uint64_t value;

	if (!read_number(&value, text, 10) || value > INT64_MAX)
		return false;
	*out = (int64_t)value;
	return true;
}

static uint64_t rotate_right(uint64_t value, unsigned by)
{
	return value >> by | value << (64 - by);
}

size_t sp_redis_partition(uint64_t key, size_t partitions)
{
	key ^= rotate_right(key, 25) ^ rotate_right(key, 50);
	key *= UINT64_C(0xA24BAED4963EE407);
	key ^= rotate_right(key, 24) ^ rotate_right(key, 49);
	key *= UINT64_C(0x9FB21C651E98DF25);
	key ^= key >> 28;
	return key % partitions;
}

/* ------------------------------------------------------------ records */

uint64_t sp_redis_checksum(uint64_t content, size_t partitions, sp_row_format format)
{
	uint64_t how = (uint64_t)partitions << 8 | (uint64_t)format;

	return sp_fingerprint64_join(content, how);
}

void sp_redis_mark(char out[SP_REDIS_MARK_SIZE + 1], const sp_redis_version *version)
{
	snprintf(out, SP_REDIS_MARK_SIZE + 1, "%016" PRIx64, version->checksum);
}

void sp_redis_record_write(char out[SP_REDIS_MAX_RECORD], const sp_redis_version *version)
{
	int size = snprintf(out, SP_REDIS_MAX_RECORD,
			    "full=%" PRId64 " delta=%" PRId64 " checksum=%016" PRIx64
			    " partitions=%zu format=%s",
			    version->full, version->delta, version->checksum, version->partitions,
			    sp_row_format_name(version->format));

	if (version->former >= 0)
		size += snprintf(out + size, SP_REDIS_MAX_RECORD - (size_t)size, " former=%" PRId64,
				 version->former);
	if (version->left > 0)
		snprintf(out + size, SP_REDIS_MAX_RECORD - (size_t)size, " left=%" PRId64,
			 version->left);
}

static bool read_format(sp_row_format *out, sp_bytes text)
{
	for (int i = 0; i < SP_ROW_FORMATS; i++)
		if (sp_bytes_equal_text(text, sp_row_format_name((sp_row_format)i))) {
			*out = (sp_row_format)i;
			return true;
		}
	return false;
}

enum {
	HAS_FULL = 1,
	HAS_DELTA = 2,
	HAS_CHECKSUM = 4,
	HAS_PARTITIONS = 8,
	HAS_FORMAT = 16,
	HAS_ALL = 31,
};

/* Removes `name` from the front of a word; false: the word does not begin with it. */
static bool skip_name(sp_bytes *word, const char *name)
{
	if (!sp_bytes_starts_with(*word, name))
		return false;
	*word = (sp_bytes){word->data + strlen(name), word->size - strlen(name)};
	return true;
}

/* Parses a word of a record and adds its bit to *has; false: its value is wrong. */
static bool read_word(sp_redis_version *out, unsigned *has, sp_bytes word)
{
	uint64_t count;

	if (skip_name(&word, "full=")) {
		*has |= HAS_FULL;
		return read_step(&out->full, word);
	}
	if (skip_name(&word, "delta=")) {
		*has |= HAS_DELTA;
		return read_step(&out->delta, word);
	}
	if (skip_name(&word, "checksum=")) {
		*has |= HAS_CHECKSUM;
		return read_number(&out->checksum, word, 16);
	}
	if (skip_name(&word, "former="))
		return read_step(&out->former, word);
	if (skip_name(&word, "left="))
		return read_step(&out->left, word);
	if (skip_name(&word, "format=")) {
		*has |= HAS_FORMAT;
		return read_format(&out->format, word);
	}
	if (skip_name(&word, "partitions=")) {
		*has |= HAS_PARTITIONS;
		if (!read_number(&count, word, 10) || count == 0 || count > SP_REDIS_MAX_PARTITIONS)
			return false;
		out->partitions = (size_t)count;
	}
	return true;
}

sp_status sp_redis_record_read(sp_redis_version *out, sp_bytes record, sp_error *err)
{
	char text[SP_REDIS_MAX_RECORD];
	unsigned has = 0;

	*out = (sp_redis_version){.former = -1};
	if (record.size == 0 || record.size >= sizeof(text) ||
	    memchr(record.data, '\0', record.size) != NULL)
		return sp_error_set(err, SP_CORRUPT,
				    "a record of %zu bytes is not one of a version of embeddings",
				    record.size);
	memcpy(text, record.data, record.size);
	text[record.size] = '\0';
	for (const char *at = text; *at != '\0';) {
		size_t size = strcspn(at, " ");

		if (!read_word(out, &has, (sp_bytes){at, size}))
			return sp_error_set(err, SP_CORRUPT,
					    "'%s' is not a record of a version of embeddings: "
					    "'%.*s' is wrong",
					    text, (int)size, at);
		at += size + strspn(at + size, " ");
	}
	if (has != HAS_ALL)
		return sp_error_set(err, SP_CORRUPT,
				    "'%s' is not a record of a version of embeddings", text);
	return SP_OK;
}

/* ------------------------------------------------------------ names */

/* Appends `name` with escapes; in a model's name '.' is escaped, too. */
static void append_escaped(sp_buffer *out, const char *name, bool is_model)
{
	static const char plain[] = "abcdefghijklmnopqrstuvwxyz"
				    "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-/";

	for (; *name != '\0'; name++)
		if (strchr(plain, *name) != NULL || (*name == '.' && !is_model))
			sp_buffer_append_char(out, *name);
		else
			sp_buffer_printf(out, "%%%02X", (unsigned char)*name);
}

/* The escaped name of a model, with text after it. */
static const char *name_with(sp_arena *arena, const char *model, const char *text)
{
	sp_buffer name;
	const char *out = NULL;

	sp_buffer_init(&name, SIZE_MAX);
	append_escaped(&name, model, true);
	sp_buffer_append_text(&name, text);
	if (!name.failed)
		out = sp_arena_text(arena, (sp_bytes){name.data, name.size});
	sp_buffer_fini(&name);
	return out;
}

const char *sp_redis_hash_name(sp_arena *arena, const char *model, const char *table,
			       const sp_redis_version *version, size_t partition)
{
	sp_buffer rest;
	const char *name = NULL;

	sp_buffer_init(&rest, SIZE_MAX);
	sp_buffer_append_char(&rest, '.');
	append_escaped(&rest, table, false);
	sp_buffer_printf(&rest, "@%" PRId64 "-%016" PRIx64 "{p%zu}", version->full,
			 version->checksum, partition);
	if (!rest.failed)
		name = name_with(arena, model, rest.data);
	sp_buffer_fini(&rest);
	return name;
}

const char *sp_redis_version_name(sp_arena *arena, const char *model, int64_t full)
{
	char rest[32];

	snprintf(rest, sizeof(rest), "@%" PRId64, full);
	return name_with(arena, model, rest);
}

const char *sp_redis_current_name(sp_arena *arena, const char *model)
{
	return name_with(arena, model, ".current");
}

const char *sp_redis_lock_name(sp_arena *arena, const char *model)
{
	return name_with(arena, model, ".lock");
}

const char *sp_redis_versions_name(sp_arena *arena, const char *model)
{
	return name_with(arena, model, ".versions");
}

const char *sp_redis_tables_name(sp_arena *arena, const char *model,
				 const sp_redis_version *version)
{
	char rest[64];

	snprintf(rest, sizeof(rest), "@%" PRId64 "-%016" PRIx64 ".tables", version->full,
		 version->checksum);
	return name_with(arena, model, rest);
}

const char *sp_redis_hps_name(sp_arena *arena, const char *model, const char *table,
			      size_t partition)
{
	return sp_arena_printf(arena, "hps_et{hps_et.%s.%s/p%zu}v", model, table, partition);
}

/* ------------------------------------------------------------ keys and rows */

size_t sp_redis_field(char out[8], int64_t key, size_t key_size)
{
	put_little_endian(out, (uint64_t)key, key_size);
	return key_size;
}

/* ------------------------------------------------------------ DeepRec's */

size_t sp_redis_deeprec_key(char out[SP_REDIS_DEEPREC_KEY_MAX], uint64_t full, uint64_t feature,
			    int64_t key, size_t key_size)
{
	put_little_endian(out, full, 8);
	put_little_endian(out + 8, feature, 8);
	put_little_endian(out + 16, (uint64_t)key, key_size);
	return 16 + key_size;
}

sp_status sp_redis_deeprec_version_read(int64_t *full, int64_t *latest, sp_bytes text,
					sp_error *err)
{
	const char *comma = text.size != 0 ? memchr(text.data, ',', text.size) : NULL;
	size_t first = comma != NULL ? (size_t)(comma - text.data) : 0;

	if (comma == NULL || !read_step(full, (sp_bytes){text.data, first}) ||
	    !read_step(latest, (sp_bytes){comma + 1, text.size - first - 1}))
		return sp_error_set(err, SP_CORRUPT,
				    "model_version in Redis is '%.*s', not two numbers",
				    (int)(text.size < 64 ? text.size : 64), text.data);
	return SP_OK;
}

/* ------------------------------------------------------------ tfra */

const char *sp_redis_tfra_name(sp_arena *arena, const char *tag, const char *table, size_t slice,
			       size_t slices)
{
	size_t slot = SP_REDIS_SLOTS / slices * slice + SP_REDIS_SLOTS % slices;
	char number[16];

	/* Every slot has such a number below 110,000. */
	for (unsigned n = 0;; n++) {
		snprintf(number, sizeof(number), "%u", n);
		if (sp_redis_slot(number, strlen(number)) == slot)
			break;
	}
	return sp_arena_printf(arena, "%s:%s{%s}", tag, table, number);
}

size_t sp_redis_tfra_slice(int64_t key, size_t slices)
{
	return (uint32_t)key % slices;
}
