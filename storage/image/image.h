#ifndef SP_STORAGE_IMAGE_IMAGE_H
#define SP_STORAGE_IMAGE_IMAGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/bytes.h"
#include "base/status.h"
#include "storage/rows/rows.h"

/*
 * An image: the rows of all tables of one model version in one file, laid out as they lie in memory
 * (storage/rows/rows.h), so that a start maps it instead of reading a checkpoint, and processes on
 * one machine share its pages.
 *
 * It holds rows only.  Default rows come from the graph at each start.
 *
 * File format.  Numbers are in the byte order of the machine, which the header states.  An image of
 * another byte order or version is refused, and made anew.
 *
 *     0        header, SP_IMAGE_HEADER_SIZE bytes (struct sp_image_header)
 *     4096     directory, directory_size bytes:
 *                  identity     identity_size bytes: identifies the image's contents
 *                  zeros        to a multiple of 8
 *                  tables       struct sp_image_record [table_count]
 *                  names        struct sp_image_name [name_count]: many names may
 *                               stand for one table
 *                  name bytes   one name after the other, not terminated
 *                  zeros        to a multiple of 8
 *                  checksums    uint32 [chunk_count]: CRC-32C of each chunk of data
 *     data_start, a multiple of 2 MiB, to file_size:
 *              pilots and slots of the tables, zeros between them.  An array of
 *              2 MiB or more starts at a multiple of 2 MiB, others at one of 64.
 *
 * A chunk is SP_IMAGE_CHUNK bytes from data_start on; the last one may be shorter.  The header
 * holds the checksum of the directory and its own.
 *
 * Verification.  Opening checks header and directory, an 8,000th of the data's size, and reads no
 * chunk.  Each chunk is checked before the first lookup reads from it: by a helper thread when the
 * lookup has a deadline, because a thread that waits for a page cannot be interrupted.  Meanwhile a
 * thread checks all chunks in order, which also loads them into memory; after that lookups only
 * check that the file has not been truncated.  After a wrong checksum the lookup fails, the image
 * stays broken, its file is removed, and the next start makes another.
 * Threads: thread-safe.
 */
typedef struct sp_image sp_image;

#define SP_IMAGE_MAGIC       "SPIMAGE"
#define SP_IMAGE_VERSION     4
#define SP_IMAGE_BYTE_ORDER  UINT32_C(0x01020304)
#define SP_IMAGE_HEADER_SIZE 4096
#define SP_IMAGE_CHUNK       ((size_t)32 << 10)

typedef struct sp_image_header {
	char magic[8];       /* SP_IMAGE_MAGIC, with its NUL */
	uint32_t version;    /* SP_IMAGE_VERSION */
	uint32_t byte_order; /* SP_IMAGE_BYTE_ORDER */
	uint64_t file_size;
	uint64_t directory_size;
	uint64_t data_start;
	uint64_t chunk_count;
	uint64_t table_count;
	uint64_t name_count;
	uint64_t identity_size;
	uint8_t zeros[SP_IMAGE_HEADER_SIZE - 80];
	uint32_t directory_crc; /* CRC-32C */
	uint32_t header_crc;    /* CRC-32C of all fields before it */
} sp_image_header;

typedef struct sp_image_record {
	uint64_t format; /* sp_row_format */
	uint64_t layout; /* sp_rows_layout */
	uint64_t dim;
	uint64_t row_count;
	uint64_t outlier_count;
	uint64_t slot_size;
	uint64_t slot_count;
	uint64_t part_count;
	uint64_t part_slots;
	uint64_t part_buckets;
	uint64_t seed[2];
	uint64_t pilots_start; /* from the start of the file */
	uint64_t slots_start;  /* the outliers follow the slots */
} sp_image_record;

typedef struct sp_image_name {
	uint32_t table; /* index of its record */
	uint32_t size;  /* bytes of the name */
	uint64_t note;
} sp_image_name;

/* ------------------------------------------------------------------ writing */

typedef struct sp_image_table {
	const char *name;
	const sp_rows *rows; /* rows under several names are written once */
	uint64_t note;       /* a number stored for the caller */
} sp_image_table;

/*
 * Writes PATH.tmp, makes it durable, and renames it to `path`, so that `path` is never a partial
 * image.  On failure, such as a full disk (SP_IO), nothing is left.
 */
SP_MUST_CHECK sp_status sp_image_write(const char *path, sp_bytes identity,
				       const sp_image_table *tables, size_t count, sp_error *err);

/* ------------------------------------------------------------------ reading */

/*
 * Maps the image at `path` and starts the thread that checks it.
 *
 * identity  what the image must have; {NULL, 0}: anything
 *
 * SP_NOT_FOUND when there is no such file; SP_CORRUPT when header or directory are damaged;
 * SP_INVALID for another identity, version, or byte order.
 */
SP_MUST_CHECK sp_status sp_image_open(sp_image **out, const char *path, sp_bytes identity,
				      sp_error *err);

/* As sp_image_open(), for inspection: starts no threads, and does not remove a broken file. */
SP_MUST_CHECK sp_status sp_image_examine(sp_image **out, const char *path, sp_error *err);

/*
 * Drops a reference; the last one, those held by rows included, ends the thread and unmaps.  NULL
 * is fine.
 */
void sp_image_release(sp_image *image);

const char *sp_image_path(const sp_image *image);
sp_bytes sp_image_identity(const sp_image *image);

size_t sp_image_table_count(const sp_image *image);
size_t sp_image_name_count(const sp_image *image);

/* The i-th name; *table: the index of its table. */
sp_bytes sp_image_name_at(const sp_image *image, size_t i, size_t *table);

/* False when no table has that name.  `note` may be NULL. */
bool sp_image_find(const sp_image *image, const char *name, size_t *table, uint64_t *note);

/* Rows over the mapping, for sp_rows_release(); they hold a reference to the image. */
SP_MUST_CHECK sp_status sp_image_take_rows(sp_rows **out, sp_image *image, size_t table,
					   sp_error *err);

/* As sp_rows_find() in rows of the image, with the checks of a lookup. */
SP_MUST_CHECK sp_status sp_image_find_row(sp_stored_row *out, bool *found, sp_image *image,
					  const sp_rows *rows, int64_t key, sp_error *err);

uint64_t sp_image_size(const sp_image *image); /* bytes of the file */

/* A chunk had a wrong checksum: all lookups in the image fail. */
bool sp_image_is_broken(const sp_image *image);

/* All chunks have been checked and are right. */
bool sp_image_is_checked(const sp_image *image);

/*
 * For tools: checks the chunks [from, to) that are not checked yet; SP_CORRUPT or SP_IO for a wrong
 * one.
 */
size_t sp_image_chunk_count(const sp_image *image);
SP_MUST_CHECK sp_status sp_image_check(sp_image *image, size_t from, size_t to, sp_error *err);

#endif
