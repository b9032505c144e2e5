#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/buffer.h"
#include "base/file.h"
#include "base/hash.h"
#include "base/size.h"
#include "storage/image/image.h"

/*
 * All sizes are known before the first byte is written.  The data is written first, then the
 * directory with the data's checksums, and the header last, so that a file with a valid header is
 * complete.
 */
enum { SMALL_ALIGN = 64 };

#define LARGE_ALIGN ((size_t)2 << 20)
#define PIECE       ((size_t)8 << 20)

/* One array of a table, and its position in the file. */
typedef struct array {
	const char *data;
	size_t size;
	size_t start;
} array;

typedef struct writer {
	const char *path; /* of the temporary file */
	int fd;
	sp_error *err;

	sp_image_record *records; /* [table_count] */
	array *arrays;            /* [2 * table_count]: pilots, slots */
	uint32_t *table_of;       /* [name_count] */
	sp_image_header header;

	size_t position; /* in the file */
	uint32_t *crcs;  /* [chunk_count] of the data before `position` */
} writer;

static sp_status system_error(const writer *w, const char *what)
{
	return sp_file_failed(w->err, SP_IO, what, w->path);
}

static sp_status too_large(const writer *w)
{
	return sp_error_set(w->err, SP_INVALID, "%s would have too many bytes", w->path);
}

/* ------------------------------------------------------------------- layout */

static sp_image_record record_of(const sp_rows_shape *shape)
{
	return (sp_image_record){.format = (uint64_t)shape->format,
				 .layout = (uint64_t)shape->layout,
				 .dim = shape->dim,
				 .row_count = shape->row_count,
				 .outlier_count = shape->outlier_count,
				 .slot_size = shape->slot_size,
				 .slot_count = shape->placement.slot_count,
				 .part_count = shape->placement.part_count,
				 .part_slots = shape->placement.part_slots,
				 .part_buckets = shape->placement.part_buckets,
				 .seed = {shape->placement.seed[0], shape->placement.seed[1]}};
}

/* Gives rows under several names one record. */
static void number_tables(writer *w, const sp_image_table *tables, size_t count)
{
	size_t used = 0;

	for (size_t i = 0; i < count; i++) {
		const sp_rows *rows = tables[i].rows;
		const sp_rows_shape *shape = sp_rows_get_shape(rows);
		const char *slots = sp_rows_slots(rows);
		size_t t = 0;

		while (t < used && w->arrays[2 * t + 1].data != slots)
			t++;
		/* Arrays of different empty tables may all be NULL. */
		if (t == used || slots == NULL) {
			t = used++;
			w->records[t] = record_of(shape);
			w->arrays[2 * t] = (array){
				(const char *)sp_rows_pilots(rows),
				shape->placement.part_count * shape->placement.part_buckets, 0};
			w->arrays[2 * t + 1] = (array){slots, sp_rows_slots_size(shape), 0};
		}
		w->table_of[i] = (uint32_t)t;
	}
	w->header.table_count = used;
}

static sp_status place_arrays(writer *w)
{
	size_t end = w->header.data_start;

	for (size_t i = 0; i < 2 * w->header.table_count; i++) {
		array *a = &w->arrays[i];
		size_t align = a->size >= LARGE_ALIGN ? LARGE_ALIGN : SMALL_ALIGN;

		if (!sp_size_round_up(&a->start, end, align) ||
		    !sp_size_add(&end, a->start, a->size))
			return too_large(w);
		*(i % 2 == 0 ? &w->records[i / 2].pilots_start
			     : &w->records[i / 2].slots_start) = a->start;
	}
	w->header.file_size = end;
	return SP_OK;
}

/* Makes the directory up to the checksums, which are written separately. */
static void make_directory(const writer *w, sp_bytes identity, const sp_image_table *tables,
			   size_t count, sp_buffer *out)
{
	static const char zeros[8];

	sp_buffer_append(out, identity.data, identity.size);
	sp_buffer_append(out, zeros, -identity.size % 8);
	sp_buffer_append(out, w->records, w->header.table_count * sizeof(*w->records));
	for (size_t i = 0; i < count; i++) {
		sp_image_name name = {w->table_of[i], (uint32_t)strlen(tables[i].name),
				      tables[i].note};

		sp_buffer_append(out, &name, sizeof(name));
	}
	for (size_t i = 0; i < count; i++)
		sp_buffer_append_text(out, tables[i].name);
	sp_buffer_append(out, zeros, -out->size % 8);
}

/*
 * The start of the data depends on the size of the directory, which depends on the number of data
 * chunks: so the data is laid out from 0 first, then moved.
 */
static sp_status lay_out(writer *w, sp_bytes identity, const sp_image_table *tables, size_t count,
			 sp_buffer *directory)
{
	sp_image_header *h = &w->header;
	size_t start;

	number_tables(w, tables, count);
	SP_TRY(place_arrays(w));
	memcpy(h->magic, SP_IMAGE_MAGIC, sizeof(h->magic));
	h->version = SP_IMAGE_VERSION;
	h->byte_order = SP_IMAGE_BYTE_ORDER;
	h->name_count = count;
	h->identity_size = identity.size;
	h->chunk_count = (h->file_size + SP_IMAGE_CHUNK - 1) / SP_IMAGE_CHUNK;
	make_directory(w, identity, tables, count, directory);
	h->directory_size = directory->size + h->chunk_count * sizeof(uint32_t);
	if (!sp_size_round_up(&start, SP_IMAGE_HEADER_SIZE + h->directory_size, LARGE_ALIGN))
		return too_large(w);
	h->data_start = start;
	SP_TRY(place_arrays(w));
	sp_buffer_clear(directory);
	make_directory(w, identity, tables, count, directory);
	w->crcs = sp_alloc_zero(h->chunk_count + 1, sizeof(*w->crcs));
	if (directory->failed || w->crcs == NULL)
		return sp_no_memory(w->err, "the directory of %s", w->path);
	return SP_OK;
}

/* ------------------------------------------------------------------ writing */

static sp_status write_at(writer *w, size_t offset, const void *data, size_t size)
{
	const char *from = data;

	while (size != 0) {
		ssize_t n = pwrite(w->fd, from, size, (off_t)offset);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return system_error(w, "write");
		from += n;
		offset += (size_t)n;
		size -= (size_t)n;
	}
	return SP_OK;
}

static void add_to_checksums(writer *w, const char *data, size_t size)
{
	size_t at = w->position - w->header.data_start;

	for (size_t n; size != 0; at += n, data += n, size -= n) {
		size_t room = SP_IMAGE_CHUNK - at % SP_IMAGE_CHUNK;
		uint32_t *crc = &w->crcs[at / SP_IMAGE_CHUNK];

		n = size < room ? size : room;
		*crc = sp_crc32c(*crc, data, n);
	}
}

/* Writes large pieces, so that the page cache uses large pages. */
static sp_status append(writer *w, const char *data, size_t size)
{
	for (size_t n; size != 0; data += n, size -= n) {
		n = size < PIECE ? size : PIECE;
		add_to_checksums(w, data, n);
		SP_TRY(write_at(w, w->position, data, n));
		w->position += n;
	}
	return SP_OK;
}

static sp_status append_zeros(writer *w, size_t end)
{
	static const char zeros[4096];

	while (w->position < end) {
		size_t left = end - w->position;

		SP_TRY(append(w, zeros, left < sizeof(zeros) ? left : sizeof(zeros)));
	}
	return SP_OK;
}

static sp_status write_data(writer *w)
{
	w->position = w->header.data_start;
	for (size_t i = 0; i < 2 * w->header.table_count; i++) {
		SP_TRY(append_zeros(w, w->arrays[i].start));
		SP_TRY(append(w, w->arrays[i].data, w->arrays[i].size));
	}
	return SP_OK;
}

static sp_status write_head(writer *w, const sp_buffer *directory)
{
	sp_image_header *h = &w->header;
	size_t crcs_size = h->chunk_count * sizeof(*w->crcs);

	h->directory_crc = sp_crc32c(0, directory->data, directory->size);
	h->directory_crc = sp_crc32c(h->directory_crc, w->crcs, crcs_size);
	h->header_crc = sp_crc32c(0, h, offsetof(sp_image_header, header_crc));
	SP_TRY(write_at(w, SP_IMAGE_HEADER_SIZE, directory->data, directory->size));
	SP_TRY(write_at(w, SP_IMAGE_HEADER_SIZE + directory->size, w->crcs, crcs_size));
	return write_at(w, 0, h, sizeof(*h));
}

/* Reserves the space now, so that a full disk or a file size limit fails early. */
static sp_status reserve_space(writer *w)
{
	struct rlimit limit;

	if (getrlimit(RLIMIT_FSIZE, &limit) == 0 && w->header.file_size > limit.rlim_cur)
		return sp_error_set(
			w->err, SP_IO,
			"cannot write %s: %llu bytes are above the limit of this process", w->path,
			(unsigned long long)w->header.file_size);
	if (fallocate(w->fd, 0, 0, (off_t)w->header.file_size) != 0 && errno != EOPNOTSUPP)
		return system_error(w, "write");
	return SP_OK;
}

static sp_status sync_folder(const writer *w, const char *path)
{
	const char *slash = strrchr(path, '/');
	char folder[4096] = ".";
	int fd;

	if (slash != NULL)
		snprintf(folder, sizeof(folder), "%.*s", (int)(slash - path + 1), path);
	fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0 || fsync(fd) != 0) {
		sp_status status = system_error(w, "make durable the folder of");

		if (fd >= 0)
			close(fd);
		return status;
	}
	close(fd);
	return SP_OK;
}

static sp_status write_file(writer *w, const sp_buffer *directory, const char *path)
{
	SP_TRY(reserve_space(w));
	SP_TRY(write_data(w));
	SP_TRY(write_head(w, directory));
	if (fsync(w->fd) != 0)
		return system_error(w, "make durable");
	if (rename(w->path, path) != 0)
		return system_error(w, "rename");
	return sync_folder(w, path);
}

static sp_status write_image(writer *w, const char *path, sp_bytes identity,
			     const sp_image_table *tables, size_t count, sp_buffer *directory)
{
	sp_status status;

	w->records = sp_alloc_zero(count + 1, sizeof(*w->records));
	w->arrays = sp_alloc_zero(2 * count + 1, sizeof(*w->arrays));
	w->table_of = sp_alloc_zero(count + 1, sizeof(*w->table_of));
	SP_NEED_MEMORY(w->records != NULL && w->arrays != NULL && w->table_of != NULL, w->err,
		       "an image of %zu tables", count);
	SP_TRY(lay_out(w, identity, tables, count, directory));
	w->fd = open(w->path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
	if (w->fd < 0)
		return system_error(w, "create");
	status = write_file(w, directory, path);
	close(w->fd);
	if (status != SP_OK)
		unlink(w->path);
	return status;
}

sp_status sp_image_write(const char *path, sp_bytes identity, const sp_image_table *tables,
			 size_t count, sp_error *err)
{
	char temporary[4096];
	writer w = {.path = temporary, .err = err};
	sp_buffer directory;
	sp_status status;

	if (snprintf(temporary, sizeof(temporary), "%s.tmp", path) >= (int)sizeof(temporary))
		return sp_error_set(err, SP_INVALID, "the path of an image is too long: %.100s...",
				    path);
	sp_buffer_init(&directory, (size_t)1 << 30);
	status = write_image(&w, path, identity, tables, count, &directory);
	sp_buffer_fini(&directory);
	sp_free(w.records);
	sp_free(w.arrays);
	sp_free(w.table_of);
	sp_free(w.crcs);
	return status;
}
