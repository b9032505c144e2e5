#include "model_loader/embedding/ssd_record.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/file.h"
#include "base/mapping.h"

enum {
	HEADER = 16,
	ALIGNMENT = 16, /* of rows in a record */
	STEP_BITS = 48,
	STEP_AND_FLAGS_BITS = 56, /* with flags for 8 slots */
	PLACES = 512,             /* records located together */
};

/* Larger than any real frequency, smaller than float bits read as an integer. */
#define MOST_FREQUENT ((int64_t)1 << 40)

typedef struct emb_file {
	int64_t number;
	int64_t records;
	sp_mapping mapping;
} emb_file;

struct sp_ssd_record {
	sp_bundle *bundle;
	sp_bundle_span keys, file_numbers, offsets;
	emb_file *files; /* in order of their numbers */
	size_t file_count;
	size_t record_size; /* 0: there are no records */
	bool counted;       /* offsets count records, not bytes */
	bool has_header;
	bool has_freqs;
	bool has_versions;
	size_t freq_at; /* byte offset in a record */
	size_t row_at;
	size_t row_size;
	atomic_bool changed; /* a key had no record, so a file has changed since it was opened */
};

const char *sp_ssd_record_prefix(const char *checkpoint, const char *name, sp_arena *arena)
{
	char *prefix = sp_arena_printf(arena, "%s-%s-ssd_record", checkpoint, name);

	for (char *c = prefix != NULL ? prefix + strlen(checkpoint) : NULL; c != NULL && *c != '\0';
	     c++)
		if (*c == '/')
			*c = '_';
	return prefix;
}

size_t sp_ssd_record_expected_count(const char *prefix)
{
	const sp_bundle_entry *keys;
	sp_bundle *bundle;
	size_t count = 0;

	if (sp_bundle_open(&bundle, prefix, NULL) != SP_OK)
		return 0;
	keys = sp_bundle_find(bundle, sp_bytes_of("keys"));
	if (keys != NULL && keys->shape.rank == 1)
		count = (size_t)keys->shape.dims[0];
	sp_bundle_close(bundle);
	return count;
}

/* ------------------------------------------------------------------ the bundle */

static sp_status open_span(sp_bundle_span *out, const sp_ssd_record *r, const char *name,
			   sp_dtype dtype, sp_error *err)
{
	SP_TRY(sp_bundle_span_open(out, r->bundle, sp_bytes_of(name), err));
	if (out->entry->dtype != dtype || out->entry->shape.rank != 1)
		return sp_error_set(err, SP_CORRUPT, "'%s' is no vector of %s", name,
				    sp_dtype_name(dtype));
	return SP_OK;
}

static int64_t number_at(const void *numbers, size_t i)
{
	int64_t number;

	memcpy(&number, (const char *)numbers + i * sizeof(number), sizeof(number));
	return number;
}

/* Reads all of a small tensor and checks it. */
static sp_status read_numbers(const sp_ssd_record *r, const char *name, size_t count, int64_t *out,
			      sp_error *err)
{
	sp_bundle_span span;
	uint32_t crc = 0;

	SP_TRY(open_span(&span, r, name, SP_INT64, err));
	if (span.count != count)
		return sp_error_set(err, SP_CORRUPT, "'%s' has %zu numbers for %zu files", name,
				    span.count, count);
	SP_TRY(sp_bundle_span_read(&span, 0, count, out, &crc, err));
	return sp_bundle_span_check(&span, crc, err);
}

static sp_status open_bundle(sp_ssd_record *r, const sp_ssd_record_options *options, sp_error *err)
{
	SP_TRY(sp_bundle_open(&r->bundle, options->prefix, err));
	SP_TRY(open_span(&r->keys, r, "keys", options->key_dtype, err));
	SP_TRY(open_span(&r->file_numbers, r, "keys_file_id", SP_INT64, err));
	SP_TRY(open_span(&r->offsets, r, "keys_offset", SP_INT64, err));
	if (r->file_numbers.count != r->keys.count || r->offsets.count != r->keys.count)
		return sp_error_set(err, SP_CORRUPT, "it has %zu keys, %zu files and %zu offsets",
				    r->keys.count, r->file_numbers.count, r->offsets.count);
	return SP_OK;
}

/* ------------------------------------------------------------------- the files */

static sp_status open_file(emb_file *file, const char *prefix, sp_error *err)
{
	size_t stem = strlen(prefix) - strlen("ssd_record");
	sp_arena *arena = sp_arena_create(1024);
	const char *path = NULL;
	sp_file opened = {.fd = -1};
	sp_status status;

	if (arena != NULL)
		path = sp_arena_printf(arena, "%.*semb_files/%lld.emb", (int)stem, prefix,
				       (long long)file->number);
	if (path == NULL)
		status = sp_no_memory(err, "a path");
	else
		status = sp_file_open(&opened, path, err);
	if (status == SP_OK)
		status = sp_mapping_open(&file->mapping, &opened, err);
	if (status == SP_NOT_FOUND)
		status = sp_error_set(err, SP_CORRUPT, "its file %s is missing", path);
	sp_file_close(&opened);
	sp_arena_destroy(arena);
	return status;
}

static int by_number(const void *a, const void *b)
{
	int64_t x = ((const emb_file *)a)->number, y = ((const emb_file *)b)->number;

	return (x > y) - (x < y);
}

/* SP_CORRUPT unless all files have the same record size. */
static sp_status measure(sp_ssd_record *r, const emb_file *file, sp_error *err)
{
	size_t size = file->mapping.size, records = (size_t)file->records;

	if (file->records < 0 || (records == 0) != (size == 0) ||
	    (records != 0 &&
	     (size % records != 0 || (r->record_size != 0 && size / records != r->record_size))))
		return sp_error_set(err, SP_CORRUPT,
				    "its file %lld of %zu bytes does not hold %lld records%s",
				    (long long)file->number, size, (long long)file->records,
				    r->record_size != 0 ? " of the others' size" : "");
	if (records != 0)
		r->record_size = size / records;
	return SP_OK;
}

/*
 * Opens the files [count] that the bundle lists; `numbers` has room for their numbers and record
 * counts.
 */
static sp_status open_listed(sp_ssd_record *r, const char *prefix, int64_t *numbers, size_t count,
			     sp_error *err)
{
	int64_t *records = numbers + count;

	SP_TRY(read_numbers(r, "files", count, numbers, err));
	SP_TRY(read_numbers(r, "record_count", count, records, err));
	for (size_t i = 0; i < count; i++) {
		emb_file *file = &r->files[r->file_count++];

		*file = (emb_file){.number = numbers[i], .records = records[i]};
		SP_TRY(open_file(file, prefix, err));
		SP_TRY(measure(r, file, err));
	}
	return SP_OK;
}

static sp_status open_files(sp_ssd_record *r, const char *prefix, sp_error *err)
{
	const sp_bundle_entry *entry = sp_bundle_find(r->bundle, sp_bytes_of("files"));
	size_t count = entry != NULL && entry->shape.rank == 1 ? (size_t)entry->shape.dims[0] : 0;
	int64_t *numbers = sp_alloc_zero(count, 2 * sizeof(*numbers));
	sp_status status;

	r->files = sp_alloc_zero(count, sizeof(*r->files));
	if (numbers == NULL || r->files == NULL)
		status = sp_no_memory(err, "%zu files", count);
	else
		status = open_listed(r, prefix, numbers, count, err);
	sp_free(numbers);
	SP_TRY(status);
	qsort(r->files, count, sizeof(*r->files), by_number);
	for (size_t i = 1; i < count; i++)
		if (r->files[i].number == r->files[i - 1].number)
			return sp_error_set(err, SP_CORRUPT, "its file %lld is there twice",
					    (long long)r->files[i].number);
	return SP_OK;
}

static const emb_file *find_file(const sp_ssd_record *r, int64_t number)
{
	const emb_file key = {.number = number};

	return r->file_count == 0 ? NULL
				  : bsearch(&key, r->files, r->file_count, sizeof(key), by_number);
}

/* ----------------------------------------------------------------- the offsets */

/* Whether offsets can be bytes, or records. */
typedef struct offset_units {
	bool bytes;
	bool records;
	bool all_zero;
} offset_units;

static bool is_byte_offset(const sp_ssd_record *r, const emb_file *file, int64_t offset)
{
	return offset >= 0 && (size_t)offset % r->record_size == 0 &&
	       (size_t)offset <= file->mapping.size - r->record_size;
}

static bool is_record_offset(const emb_file *file, int64_t offset)
{
	return offset >= 0 && offset < file->records;
}

static sp_status check_offset(const sp_ssd_record *r, int64_t number, int64_t offset,
			      offset_units *fits, sp_error *err)
{
	const emb_file *file = find_file(r, number);

	if (file == NULL || file->records == 0)
		return sp_error_set(err, SP_CORRUPT, "a key is in file %lld, which has no records",
				    (long long)number);
	fits->bytes = fits->bytes && is_byte_offset(r, file, offset);
	fits->records = fits->records && is_record_offset(file, offset);
	fits->all_zero = fits->all_zero && offset == 0;
	return SP_OK;
}

static sp_status check_span(const sp_bundle_span *span, sp_error *err)
{
	int64_t piece[8 * PLACES];
	uint32_t crc = 0;

	for (size_t first = 0, count; first < span->count; first += count) {
		count = span->count - first < 8 * PLACES ? span->count - first : 8 * PLACES;
		SP_TRY(sp_bundle_span_read(span, first, count, piece, &crc, err));
	}
	return sp_bundle_span_check(span, crc, err);
}

/* Checks the checksums of the tensors that locate the records. */
static sp_status check_places(const sp_ssd_record *r, sp_error *err)
{
	SP_TRY(check_span(&r->keys, err));
	SP_TRY(check_span(&r->file_numbers, err));
	return check_span(&r->offsets, err);
}

/* Some keys and the places of their records. */
typedef struct places {
	size_t count;
	int64_t keys[PLACES], files[PLACES], offsets[PLACES];
} places;

static sp_status read_places(places *p, const sp_ssd_record *r, size_t first, size_t end,
			     sp_error *err)
{
	size_t count = end - first < PLACES ? end - first : PLACES;

	p->count = count;
	SP_TRY(sp_bundle_span_read_keys(&r->keys, first, count, p->keys, NULL, err));
	SP_TRY(sp_bundle_span_read(&r->file_numbers, first, count, p->files, NULL, err));
	return sp_bundle_span_read(&r->offsets, first, count, p->offsets, NULL, err);
}

static sp_status check_offsets(sp_ssd_record *r, sp_error *err)
{
	offset_units fits = {true, true, true};
	places p;

	SP_TRY(check_places(r, err));
	for (size_t first = 0; first < r->keys.count; first += p.count) {
		SP_TRY(read_places(&p, r, first, r->keys.count, err));
		for (size_t i = 0; i < p.count; i++)
			SP_TRY(check_offset(r, p.files[i], p.offsets[i], &fits, err));
	}
	if (!fits.bytes && !fits.records)
		return sp_error_set(err, SP_CORRUPT, "some of its keys are at no record");
	if (fits.bytes && fits.records && !fits.all_zero)
		return sp_error_set(err, SP_UNSUPPORTED,
				    "nothing tells whether its offsets are in bytes or in records");
	r->counted = !fits.bytes;
	return SP_OK;
}

/* ------------------------------------------------------------------ the layout */

static size_t aligned(size_t size)
{
	return (size + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
}

/* Whether `name` is <variable>/<slot>-values; sets the slot's width. */
static bool is_slot(const sp_bundle_entry *entry, const char *variable, size_t *width)
{
	size_t stem = strlen(variable), suffix = strlen("-values");
	sp_bytes name = entry->name;

	if (name.size <= stem + 1 + suffix || memcmp(name.data, variable, stem) != 0 ||
	    name.data[stem] != '/' ||
	    memcmp(name.data + name.size - suffix, "-values", suffix) != 0 ||
	    memchr(name.data + stem + 1, '/', name.size - stem - 1) != NULL ||
	    entry->shape.rank != 2 || entry->dtype != SP_FLOAT)
		return false;
	*width = (size_t)entry->shape.dims[1] * sizeof(float);
	return true;
}

/* Bytes of the rows of a record: aligned, and not. */
static void measure_rows(const sp_ssd_record_options *options, size_t sizes[2])
{
	size_t width = options->dim * sizeof(float);

	sizes[0] = aligned(width);
	sizes[1] = width;
	for (size_t i = 0; i < sp_bundle_count(options->checkpoint); i++)
		if (is_slot(sp_bundle_entry_at(options->checkpoint, i), options->name, &width)) {
			sizes[0] += aligned(width);
			sizes[1] += width;
		}
}

/*
 * NULL when there is no such record: places have been checked, but the file may have changed since.
 */
static const char *record_of(sp_ssd_record *r, const places *p, size_t i)
{
	const emb_file *file = find_file(r, p->files[i]);
	int64_t offset = p->offsets[i];

	if (file != NULL && file->records != 0) {
		if (r->counted && is_record_offset(file, offset))
			return file->mapping.data + (size_t)offset * r->record_size;
		if (!r->counted && is_byte_offset(r, file, offset))
			return file->mapping.data + offset;
	}
	atomic_store_explicit(&r->changed, true, memory_order_relaxed);
	return NULL;
}

static bool is_frequency(int64_t number)
{
	return number >= 0 && number < MOST_FREQUENT;
}

static bool looks_like_header(const char *record)
{
	int64_t step = number_at(record, 0);

	return step >= 0 && step < (int64_t)1 << STEP_AND_FLAGS_BITS &&
	       is_frequency(number_at(record, 1));
}

/*
 * A header has flags; a row seems to have one only if its second element is below 1e-38, which does
 * not happen by chance while all records look like headers.
 */
static bool has_flag(const char *record)
{
	return number_at(record, 0) >> STEP_BITS != 0;
}

static bool looks_like_tail(const char *record, size_t size)
{
	int64_t version = number_at(record + size - sizeof(version), 0);

	return is_frequency(number_at(record + size - 2 * sizeof(version), 0)) && version >= -1 &&
	       version < (int64_t)1 << STEP_BITS;
}

/* What all records look like, or any of them. */
typedef struct looks {
	bool headers, tails; /* all */
	bool flags;          /* any */
} looks;

static void inspect_records(sp_ssd_record *r, const places *p, looks *all)
{
	for (size_t i = 0; i < p->count && all->headers; i++) {
		const char *record = record_of(r, p, i);

		if (record == NULL)
			return; /* sp_ssd_record_check() will fail */
		all->headers = looks_like_header(record);
		all->flags = all->flags || has_flag(record);
		all->tails = all->tails && looks_like_tail(record, r->record_size);
	}
}

/* Header and tail both fit the size: decides by the contents of the records. */
static sp_status check_records(sp_ssd_record *r, bool shorter_tail, sp_error *err)
{
	looks all = {true, true, false};
	places p;

	for (size_t first = 0; first < r->keys.count && all.headers; first += p.count) {
		SP_TRY(read_places(&p, r, first, r->keys.count, err));
		inspect_records(r, &p, &all);
	}
	if (all.headers && !all.flags && (all.tails || shorter_tail))
		return sp_error_set(err, SP_UNSUPPORTED,
				    "nothing tells whether its records of %zu bytes start with a "
				    "header",
				    r->record_size);
	r->has_header = all.headers;
	return SP_OK;
}

static sp_status choose_layout(sp_ssd_record *r, const sp_ssd_record_options *options,
			       sp_error *err)
{
	bool fits = false, header_fits = false, shorter_tail = false, two_tails = false;
	size_t sizes[2], tail = 0;

	r->row_size = options->dim * sizeof(float);
	if (r->keys.count == 0)
		return SP_OK;
	measure_rows(options, sizes);
	for (int i = 1; i >= 0; i--) {
		size_t more = r->record_size - sizes[i];

		if (r->record_size < sizes[i] || more > HEADER || more % sizeof(int64_t) != 0)
			continue;
		two_tails = fits && tail != more;
		fits = true;
		tail = more;
		header_fits = header_fits || more == HEADER;
		shorter_tail = shorter_tail || more < HEADER;
	}
	if (!fits)
		return sp_error_set(
			err, SP_UNSUPPORTED,
			"its records of %zu bytes do not fit rows of %zu, with slots %zu",
			r->record_size, r->row_size, sizes[0]);
	/* Files with offsets in records never have a header. */
	if (header_fits && !r->counted)
		SP_TRY(check_records(r, shorter_tail, err));
	r->row_at = r->has_header ? HEADER : 0;
	r->freq_at = r->has_header ? sizeof(int64_t) : r->record_size - tail;
	r->has_freqs = r->has_header ||
		       (!two_tails && (tail == 2 * sizeof(int64_t) ||
				       (tail == sizeof(int64_t) && options->filtered)));
	r->has_versions = r->has_header || (!two_tails && tail == 2 * sizeof(int64_t));
	return SP_OK;
}

/* ----------------------------------------------------------------- everything */

static sp_status open_all(sp_ssd_record *r, const sp_ssd_record_options *options, sp_error *err)
{
	SP_TRY(open_bundle(r, options, err));
	SP_TRY(open_files(r, options->prefix, err));
	SP_TRY(check_offsets(r, err));
	return choose_layout(r, options, err);
}

sp_status sp_ssd_record_open(sp_ssd_record **out, const sp_ssd_record_options *options,
			     sp_error *err)
{
	sp_ssd_record *r = sp_alloc_zero(1, sizeof(*r));
	sp_status status;

	SP_NEED_MEMORY(r, err, "%s", options->prefix);
	status = open_all(r, options, err);
	if (status != SP_OK) {
		sp_ssd_record_close(r);
		return sp_error_prefix(err, status, "%s", options->prefix);
	}
	*out = r;
	return SP_OK;
}

void sp_ssd_record_close(sp_ssd_record *record)
{
	if (record == NULL)
		return;
	for (size_t i = 0; i < record->file_count; i++)
		sp_mapping_close(&record->files[i].mapping);
	sp_bundle_close(record->bundle);
	sp_free(record->files);
	sp_free(record);
}

size_t sp_ssd_record_count(const sp_ssd_record *record)
{
	return record->keys.count;
}

bool sp_ssd_record_has_freqs(const sp_ssd_record *record)
{
	return record->has_freqs;
}

/* The key of the record at place `i`; -1 when it has no row of the variable. */
static int64_t key_at(const sp_ssd_record *r, const places *p, size_t i, const char *stored)
{
	if (stored == NULL || (r->has_header && (number_at(stored, 0) >> STEP_BITS & 1) == 0))
		return -1;
	return p->keys[i];
}

sp_status sp_ssd_record_keys(sp_ssd_record *record, size_t first, size_t count, int64_t *keys,
			     int64_t *freqs, sp_error *err)
{
	places p;

	for (size_t at = 0; at < count; at += p.count) {
		SP_TRY(read_places(&p, record, first + at, first + count, err));
		for (size_t i = 0; i < p.count; i++) {
			const char *stored = record_of(record, &p, i);

			keys[at + i] = key_at(record, &p, i, stored);
			if (record->has_freqs)
				freqs[at + i] = stored != NULL
							? number_at(stored + record->freq_at, 0)
							: 0;
		}
	}
	return SP_OK;
}

bool sp_ssd_record_has_versions(const sp_ssd_record *record)
{
	return record->has_versions;
}

/* The upper bits of a step in a header are flags: -1 has lost them. */
static int64_t version_at(const sp_ssd_record *r, const char *stored)
{
	if (r->has_header)
		return (int64_t)((uint64_t)number_at(stored, 0) << (64 - STEP_BITS)) >>
		       (64 - STEP_BITS);
	return number_at(stored + r->record_size - sizeof(int64_t), 0);
}

sp_status sp_ssd_record_versions(sp_ssd_record *record, size_t first, size_t count,
				 int64_t *versions, sp_error *err)
{
	places p;

	for (size_t at = 0; record->has_versions && at < count; at += p.count) {
		SP_TRY(read_places(&p, record, first + at, first + count, err));
		for (size_t i = 0; i < p.count; i++) {
			const char *stored = record_of(record, &p, i);

			versions[at + i] = stored != NULL ? version_at(record, stored) : -1;
		}
	}
	return SP_OK;
}

sp_status sp_ssd_record_rows(sp_ssd_record *record, size_t first, size_t count, void *rows,
			     sp_error *err)
{
	size_t size = record->row_size;
	char *to = rows;
	places p;

	for (size_t at = 0; at < count; at += p.count) {
		SP_TRY(read_places(&p, record, first + at, first + count, err));
		for (size_t i = 0; i < p.count; i++, to += size) {
			const char *stored = record_of(record, &p, i);

			if (stored != NULL)
				memcpy(to, stored + record->row_at, size);
			else
				memset(to, 0, size);
		}
	}
	return SP_OK;
}

sp_status sp_ssd_record_check(const sp_ssd_record *record, sp_error *err)
{
	for (size_t i = 0; i < record->file_count; i++)
		if (sp_mapping_is_broken(&record->files[i].mapping))
			return sp_error_set(err, SP_IO,
					    "file %lld of %s has become shorter, or its disk fails "
					    "to read it",
					    (long long)record->files[i].number,
					    sp_bundle_prefix(record->bundle));
	SP_TRY(check_places(record, err));
	if (atomic_load_explicit(&record->changed, memory_order_relaxed))
		return sp_error_set(err, SP_CORRUPT, "%s has changed while it was read",
				    sp_bundle_prefix(record->bundle));
	return SP_OK;
}
