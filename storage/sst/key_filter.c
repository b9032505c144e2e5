#include "storage/sst/key_filter.h"

#include <endian.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/file.h"
#include "base/hash.h"

enum {
	BITS_PER_KEY = 8,
	LINE_WORDS = 8,
	LINE_BYTES = LINE_WORDS * sizeof(uint64_t),
	PROBES = 6,
	PLACE_BITS = 9, /* of the position of a bit in its line */
	KEYS_PER_LINE = LINE_BYTES * 8 / BITS_PER_KEY,
};

static const char magic[8] = "SPFILTR1";

typedef struct filter_head {
	char magic[8];
	uint64_t keys, lines;
} filter_head;

struct sp_key_filter {
	size_t keys, lines;
	uint64_t *words; /* [lines, LINE_WORDS], little endian */
};

static size_t count_lines(size_t keys)
{
	return keys / KEYS_PER_LINE + 1;
}

static sp_status create(sp_key_filter **out, size_t lines, sp_error *err)
{
	sp_key_filter *filter = sp_alloc_zero(1, sizeof(*filter));

	if (filter != NULL) {
		filter->lines = lines;
		filter->words = sp_alloc_aligned(LINE_BYTES, lines * LINE_BYTES);
	}
	if (filter == NULL || filter->words == NULL) {
		sp_free(filter);
		return sp_no_memory(err, "a filter of keys");
	}
	*out = filter;
	return SP_OK;
}

sp_status sp_key_filter_create(sp_key_filter **out, size_t keys, sp_error *err)
{
	SP_TRY(create(out, count_lines(keys), err));
	memset((*out)->words, 0, (*out)->lines * LINE_BYTES);
	return SP_OK;
}

void sp_key_filter_destroy(sp_key_filter *filter)
{
	if (filter == NULL)
		return;
	sp_free(filter->words);
	sp_free(filter);
}

/* A hash of the key.  Source: the finalizer of SplitMix64. */
static uint64_t mix(uint64_t x)
{
	x = (x ^ (x >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
	x = (x ^ (x >> 27)) * UINT64_C(0x94d049bb133111eb);
	return x ^ (x >> 31);
}

/* The key's line; *places: the positions of its bits in the line, PLACE_BITS each. */
static uint64_t *line_of(const sp_key_filter *filter, int64_t key, uint64_t *places)
{
	uint64_t hash = mix((uint64_t)key);
	size_t line = (size_t)(((unsigned __int128)hash * filter->lines) >> 64);

	*places = mix(hash);
	return filter->words + line * LINE_WORDS;
}

static uint64_t bit_of(uint64_t places, size_t *word)
{
	*word = places / 64 % LINE_WORDS;
	return htole64(UINT64_C(1) << (places % 64));
}

void sp_key_filter_add(sp_key_filter *filter, int64_t key)
{
	uint64_t places, *line = line_of(filter, key, &places);

	filter->keys++;
	for (unsigned p = 0; p < PROBES; p++, places >>= PLACE_BITS) {
		size_t word;
		uint64_t bit = bit_of(places, &word);

		line[word] |= bit;
	}
}

bool sp_key_filter_may_have(const sp_key_filter *filter, int64_t key)
{
	uint64_t places, missing = 0;
	const uint64_t *line = line_of(filter, key, &places);

	for (unsigned p = 0; p < PROBES; p++, places >>= PLACE_BITS) {
		size_t word;
		uint64_t bit = bit_of(places, &word);

		missing |= bit & ~line[word];
	}
	return missing == 0;
}

/* ---- the file ---- */

static bool write_all(const sp_key_filter *filter, FILE *file)
{
	filter_head head = {.keys = htole64(filter->keys), .lines = htole64(filter->lines)};
	uint32_t sum;

	memcpy(head.magic, magic, sizeof(magic));
	sum = sp_crc32c(0, &head, sizeof(head));
	sum = htole32(sp_crc32c(sum, filter->words, filter->lines * LINE_BYTES));
	return fwrite(&head, sizeof(head), 1, file) == 1 &&
	       fwrite(filter->words, LINE_BYTES, filter->lines, file) == filter->lines &&
	       fwrite(&sum, sizeof(sum), 1, file) == 1 && fflush(file) == 0 &&
	       fsync(fileno(file)) == 0;
}

sp_status sp_key_filter_save(const sp_key_filter *filter, const char *path, sp_error *err)
{
	FILE *file = fopen(path, "we");
	sp_status status = SP_OK;

	if (file == NULL || !write_all(filter, file))
		status = sp_file_failed(err, SP_IO, "write", path);
	if (file != NULL)
		fclose(file);
	return status;
}

static sp_status not_whole(sp_error *err)
{
	return sp_error_set(err, SP_CORRUPT, "this is not a filter of keys, or it is incomplete");
}

static sp_status read_all(sp_key_filter **out, const sp_file *file, sp_error *err)
{
	const uint64_t around = sizeof(filter_head) + sizeof(uint32_t);
	filter_head head;
	uint32_t sum, stored;
	size_t bytes;

	if (file->size < around + LINE_BYTES || (file->size - around) % LINE_BYTES != 0)
		return not_whole(err);
	bytes = (size_t)(file->size - around);
	SP_TRY(sp_file_read_at(file, 0, &head, sizeof(head), err));
	if (memcmp(head.magic, magic, sizeof(magic)) != 0 ||
	    le64toh(head.lines) != bytes / LINE_BYTES)
		return not_whole(err);
	SP_TRY(create(out, bytes / LINE_BYTES, err));
	(*out)->keys = (size_t)le64toh(head.keys);
	SP_TRY(sp_file_read_at(file, sizeof(head), (*out)->words, bytes, err));
	SP_TRY(sp_file_read_at(file, sizeof(head) + bytes, &stored, sizeof(stored), err));
	sum = sp_crc32c(sp_crc32c(0, &head, sizeof(head)), (*out)->words, bytes);
	return le32toh(stored) == sum ? SP_OK : not_whole(err);
}

sp_status sp_key_filter_load(sp_key_filter **out, const char *path, sp_error *err)
{
	sp_key_filter *filter = NULL;
	sp_file file;
	sp_status status;

	SP_TRY(sp_file_open(&file, path, err));
	status = read_all(&filter, &file, err);
	sp_file_close(&file);
	if (status != SP_OK) {
		sp_key_filter_destroy(filter);
		return sp_error_prefix(err, status, "%s", path);
	}
	*out = filter;
	return SP_OK;
}

size_t sp_key_filter_key_count(const sp_key_filter *filter)
{
	return filter->keys;
}

size_t sp_key_filter_footprint(const sp_key_filter *filter)
{
	return sizeof(*filter) + filter->lines * LINE_BYTES;
}

size_t sp_key_filter_expected_footprint(size_t keys)
{
	return sizeof(sp_key_filter) + count_lines(keys) * LINE_BYTES;
}
