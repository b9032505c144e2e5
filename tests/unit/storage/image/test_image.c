#include "tests/unit/storage/image/image_scene.h"

#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>

#include "base/clock.h"
#include "base/hash.h"

static void rows_of_an_image_answer_as_those_it_was_made_of(void **state)
{
	sp_rows *rows[] = {make_rows(LARGE, 16, SP_ROW_FP32), make_rows(SMALL, DIM, SP_ROW_FP16),
			   make_rows(0, DIM, SP_ROW_INT8), make_rows(1, 1, SP_ROW_FP32)};
	sp_image_table tables[] = {{"large", rows[0], 7},
				   {"small/part_0", rows[1], 0},
				   {"small/part_1", rows[1], 1},
				   {"empty", rows[2], 0},
				   {"one", rows[3], UINT64_MAX}};
	size_t at[5], counts[] = {LARGE, SMALL, SMALL, 0, 1};
	sp_image *image;
	uint64_t note;
	sp_error err;

	(void)state;
	assert_ok(sp_image_write(path, identity, tables, 5, &err), &err);
	for (size_t i = 0; i < 4; i++)
		sp_rows_release(rows[i]);
	assert_ok(sp_image_open(&image, path, identity, &err), &err);
	assert_int_equal(sp_image_table_count(image), 4);
	assert_int_equal(sp_image_name_count(image), 5);
	for (size_t i = 0; i < 5; i++) {
		sp_table *table = table_over(take(image, tables[i].name));

		assert_true(sp_image_find(image, tables[i].name, &at[i], &note));
		assert_true(note == tables[i].note);
		assert_int_equal(sp_table_row_count(table), counts[i]);
		expect_all(table, counts[i]);
		sp_table_destroy(table);
	}
	assert_int_equal(at[1], at[2]);
	assert_int_not_equal(at[0], at[1]);
	assert_false(sp_image_find(image, "larg", &at[0], NULL));
	wait_until_checked(image);
	assert_true(sp_image_is_checked(image));
	assert_false(sp_image_is_broken(image));
	sp_image_release(image);
}

static void the_arrays_are_bit_for_bit_those_in_memory(void **state)
{
	sp_rows *rows = make_rows(LARGE, 16, SP_ROW_FP32), *mapped;
	sp_image_table table = {.name = "t", .rows = rows};
	const sp_rows_shape *a = sp_rows_get_shape(rows), *b;
	sp_image *image;
	sp_error err;

	(void)state;
	assert_ok(sp_image_write(path, identity, &table, 1, &err), &err);
	assert_ok(sp_image_open(&image, path, identity, &err), &err);
	mapped = take(image, "t");
	sp_image_release(image); /* the rows keep it */
	b = sp_rows_get_shape(mapped);
	assert_int_equal(a->placement.slot_count, b->placement.slot_count);
	assert_true(((uintptr_t)sp_rows_slots(mapped) & ((2 << 20) - 1)) % 4096 == 0);
	assert_memory_equal(sp_rows_slots(rows), sp_rows_slots(mapped), sp_rows_slots_size(a));
	assert_memory_equal(sp_rows_pilots(rows), sp_rows_pilots(mapped),
			    a->placement.part_count * a->placement.part_buckets);
	sp_rows_release(mapped);
	sp_rows_release(rows);
}

/* ------------------------------------------------------------------ damage */

static void write_good(size_t count)
{
	struct stat info;
	FILE *f;

	write_one(count);
	f = fopen(path, "rb");
	fstat(fileno(f), &info);
	saved.size = (size_t)info.st_size;
	saved.bytes = malloc(saved.size);
	assert_int_equal(fread(saved.bytes, 1, saved.size, f), saved.size);
	fclose(f);
}

static void write_good_again(void)
{
	FILE *f = fopen(path, "wb");

	assert_int_equal(fwrite(saved.bytes, 1, saved.size, f), saved.size);
	fclose(f);
}

static sp_image_header read_header(void)
{
	FILE *f = fopen(path, "rb");
	sp_image_header header;

	assert_int_equal(fread(&header, sizeof(header), 1, f), 1);
	fclose(f);
	return header;
}

static void every_byte_of_header_and_directory_counts(void **state)
{
	sp_image_header header;
	sp_image *image;
	sp_error err;

	(void)state;
	write_one(SMALL);
	header = read_header();
	for (size_t at = 0; at < SP_IMAGE_HEADER_SIZE + header.directory_size; at++) {
		sp_status status;

		xor_byte(at, 1 << at % 8);
		status = sp_image_open(&image, path, identity, &err);
		if (status != SP_CORRUPT && status != SP_INVALID)
			fail_msg("byte %zu: %s", at, sp_status_name(status));
		assert_null(image);
		assert_non_null(strstr(err.text, path));
		xor_byte(at, 1 << at % 8);
	}
	assert_ok(sp_image_open(&image, path, identity, &err), &err);
	sp_image_release(image);
}

/* Wrong at any place of the data: right rows or an error, and in the end the file is gone. */
static void a_wrong_byte_of_data_is_never_a_wrong_row(void **state)
{
	sp_image_header header;

	(void)state;
	write_good(LARGE);
	header = read_header();
	for (size_t round = 0; round < 24; round++) {
		size_t size = header.file_size - header.data_start, wrong = 0;
		size_t at = header.data_start + (round * 2654435761u + 17) % size;
		sp_image *image;
		sp_table *table;
		sp_error err;

		write_good_again();
		xor_byte(at, 0x40);
		assert_ok(sp_image_open(&image, path, identity, &err), &err);
		table = table_over(take(image, "t"));
		if (look_all_up(table, LARGE, &wrong, &err) != SP_OK) {
			assert_int_equal(err.status, SP_CORRUPT);
			assert_non_null(strstr(err.text, "is broken"));
		}
		assert_int_equal(wrong, 0);
		wait_until_checked(image);
		assert_true(sp_image_is_broken(image));
		assert_int_equal(look_all_up(table, 1, &wrong, &err), SP_CORRUPT);
		while (access(path, F_OK) == 0) /* whoever finds it broken takes it away next */
			usleep(1000);
		sp_table_destroy(table);
		sp_image_release(image);
	}
}

static void a_lookup_checks_what_it_reads_before_the_thread_has_come_there(void **state)
{
	sp_image_header header;
	sp_image *image;
	sp_rows *rows;
	sp_stored_row row;
	size_t failed = 0;
	bool found;
	sp_error err;

	(void)state;
	write_one(LARGE);
	header = read_header();
	xor_byte(header.file_size - 1 - SP_IMAGE_CHUNK, 1);
	assert_ok(sp_image_examine(&image, path, &err), &err); /* no thread at all */
	rows = take(image, "t");
	for (int64_t i = 0; i < LARGE && failed == 0; i++) {
		if (sp_image_find_row(&row, &found, image, rows, i * 7 + 3, &err) != SP_OK)
			failed++;
		else
			assert_true(found);
	}
	assert_int_equal(failed, 1);
	assert_int_equal(access(path, F_OK), 0); /* a look at it takes nothing away */
	sp_rows_release(rows);
	sp_image_release(image);
}

static void a_file_of_another_length_is_refused(void **state)
{
	sp_image_header header;
	sp_image *image;
	sp_error err;

	(void)state;
	write_good(SMALL);
	header = read_header();
	for (size_t i = 0; i < 40; i++) {
		size_t length = i < 39 ? header.file_size * i / 39 : header.file_size + 1;

		write_good_again();
		assert_int_equal(truncate(path, (off_t)length), 0);
		assert_int_equal(sp_image_open(&image, path, identity, &err), SP_CORRUPT);
		assert_null(image);
	}
}

static void a_file_cut_while_it_is_mapped_is_an_error_and_no_crash(void **state)
{
	(void)state;
	write_good(LARGE);
	for (size_t i = 0; i < 8; i++) {
		sp_image_header header;
		size_t wrong = 0;
		sp_image *image;
		sp_table *table;
		sp_error err;

		write_good_again();
		header = read_header();
		assert_ok(sp_image_open(&image, path, identity, &err), &err);
		table = table_over(take(image, "t"));
		if (i % 2 == 0)
			wait_until_checked(image);
		assert_int_equal(truncate(path, (off_t)(header.file_size * i / 8)), 0);
		assert_int_not_equal(look_all_up(table, LARGE, &wrong, &err), SP_OK);
		assert_true(sp_image_is_broken(image));
		assert_int_equal(wrong, 0);
		sp_table_destroy(table);
		sp_image_release(image);
	}
}

static void what_is_no_image_of_ours_is_told_apart(void **state)
{
	sp_image *image;
	sp_error err;
	FILE *f;

	(void)state;
	assert_int_equal(sp_image_open(&image, path, identity, &err), SP_NOT_FOUND);
	f = fopen(path, "w");
	fputs("not an image", f);
	fclose(f);
	assert_int_equal(sp_image_open(&image, path, identity, &err), SP_CORRUPT);
	assert_int_equal(truncate(path, 1 << 20), 0);
	assert_int_equal(sp_image_open(&image, path, identity, &err), SP_CORRUPT);
	write_one(SMALL);
	assert_int_equal(sp_image_open(&image, path, (sp_bytes){"of another", 10}, &err),
			 SP_INVALID);
	assert_non_null(strstr(err.text, "another version"));
}

/* A header and directory that are consistent with themselves, but lie. */
static void rewrite_record(const sp_image_record *record)
{
	sp_image_header h = read_header();
	int fd = open(path, O_RDWR);
	char *directory = malloc(h.directory_size);
	size_t at = (h.identity_size + 7) & ~(size_t)7;

	assert_int_equal(pread(fd, directory, h.directory_size, SP_IMAGE_HEADER_SIZE),
			 h.directory_size);
	memcpy(directory + at, record, sizeof(*record));
	h.directory_crc = sp_crc32c(0, directory, h.directory_size);
	h.header_crc = sp_crc32c(0, &h, offsetof(sp_image_header, header_crc));
	assert_int_equal(pwrite(fd, directory, h.directory_size, SP_IMAGE_HEADER_SIZE),
			 h.directory_size);
	assert_int_equal(pwrite(fd, &h, sizeof(h), 0), sizeof(h));
	free(directory);
	close(fd);
}

static sp_image_record read_record(void)
{
	sp_image_header h = read_header();
	int fd = open(path, O_RDONLY);
	sp_image_record record;
	off_t at = (off_t)(SP_IMAGE_HEADER_SIZE + ((h.identity_size + 7) & ~(size_t)7));

	assert_int_equal(pread(fd, &record, sizeof(record), at), sizeof(record));
	close(fd);
	return record;
}

static void a_directory_that_lies_is_refused(void **state)
{
	sp_image_record good;
	const uint64_t lies[] = {0, 1, 3, 1u << 20, UINT64_C(1) << 33, UINT64_MAX / 8, UINT64_MAX};

	(void)state;
	write_one(SMALL);
	good = read_record();
	/* Each field, but for seeds and smaller counts, which only mislead lookups. */
	for (size_t field = 0; field < sizeof(good) / 8; field++)
		for (size_t k = 0; k < sizeof(lies) / sizeof(lies[0]); k++) {
			sp_image_record record = good;
			sp_image *image;
			sp_rows *rows;
			sp_status status;
			sp_error err;

			if (((uint64_t *)&record)[field] == lies[k] || field == 10 || field == 11)
				continue;
			if ((field == 3 && lies[k] <= good.slot_count) ||
			    (field == 9 && lies[k] != 0 && lies[k] < good.part_buckets))
				continue;
			((uint64_t *)&record)[field] = lies[k];
			rewrite_record(&record);
			status = sp_image_open(&image, path, identity, &err);
			if (status == SP_OK) {
				status = sp_image_take_rows(&rows, image, 0, &err);
				sp_image_release(image);
			}
			if (status != SP_CORRUPT)
				fail_msg("field %zu = %llu: %s", field, (unsigned long long)lies[k],
					 sp_status_name(status));
		}
}

/* ------------------------------------------------------------------ size */

/* An image of 4 GiB that takes no room: all its chunks are zeros. */
static void write_sparse(void)
{
	enum { SLOT = 8 + 64 * 4 };
	const size_t slots = ((size_t)4 << 30) / SLOT, buckets = slots / 3;
	static char zeros[SP_IMAGE_CHUNK];
	sp_image_record record = {.format = SP_ROW_FP32,
				  .dim = 64,
				  .row_count = slots,
				  .slot_size = SLOT,
				  .slot_count = slots,
				  .part_count = 1,
				  .part_slots = slots,
				  .part_buckets = buckets,
				  .seed = {1, 1}};
	sp_image_name name = {.table = 0, .size = 1};
	sp_image_header h = {.magic = SP_IMAGE_MAGIC,
			     .version = SP_IMAGE_VERSION,
			     .byte_order = SP_IMAGE_BYTE_ORDER,
			     .data_start = 2 << 20,
			     .table_count = 1,
			     .name_count = 1};
	size_t crcs_at = sizeof(record) + sizeof(name) + 8;
	uint32_t full = sp_crc32c(0, zeros, SP_IMAGE_CHUNK);
	char *directory;
	uint32_t *crcs;
	FILE *f = fopen(path, "wb");

	record.slots_start = h.data_start;
	record.pilots_start = (h.data_start + slots * SLOT + 7) & ~UINT64_C(7);
	h.file_size = record.pilots_start + buckets;
	h.chunk_count = (h.file_size - h.data_start + SP_IMAGE_CHUNK - 1) / SP_IMAGE_CHUNK;
	h.directory_size = crcs_at + 4 * h.chunk_count;
	directory = calloc(1, h.directory_size);
	memcpy(directory, &record, sizeof(record));
	memcpy(directory + sizeof(record), &name, sizeof(name));
	directory[sizeof(record) + sizeof(name)] = 't';
	crcs = (uint32_t *)(void *)(directory + crcs_at);
	for (size_t i = 0; i + 1 < h.chunk_count; i++)
		crcs[i] = full;
	crcs[h.chunk_count - 1] = sp_crc32c(0, zeros,
					    (h.file_size - h.data_start - 1) % SP_IMAGE_CHUNK + 1);
	h.directory_crc = sp_crc32c(0, directory, h.directory_size);
	h.header_crc = sp_crc32c(0, &h, offsetof(sp_image_header, header_crc));
	assert_int_equal(fwrite(&h, sizeof(h), 1, f), 1);
	assert_int_equal(fwrite(directory, h.directory_size, 1, f), 1);
	assert_int_equal(ftruncate(fileno(f), (off_t)h.file_size), 0);
	fclose(f);
	free(directory);
}

/* Of this thread: what others take of the processor, the one that checks included, is not in it. */
static double processor_seconds(void)
{
	struct timespec now;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
	return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

static void the_first_answer_does_not_wait_for_the_whole_file(void **state)
{
	double start, elapsed;
	sp_image *image;
	sp_rows *rows;
	sp_stored_row row;
	bool found;
	sp_error err;

	(void)state;
	write_sparse();
	start = processor_seconds();
	assert_ok(sp_image_open(&image, path, (sp_bytes){0}, &err), &err);
	rows = take(image, "t");
	for (int64_t key = 0; key < 100; key++)
		assert_ok(sp_image_find_row(&row, &found, image, rows, key, &err), &err);
	elapsed = processor_seconds() - start;
	sp_rows_release(rows);
	sp_image_release(image);
	if (elapsed >
	    0.1 * (getenv("SANITIZED") != NULL && strcmp(getenv("SANITIZED"), "yes") == 0 ? 10 : 1))
		fail_msg("it took %.0f ms", elapsed * 1e3);
}

/* What the disk has still to give, and what was checked before. */
static void a_lookup_waits_for_a_chunk_as_long_as_it_has_time(void **state)
{
	const int64_t second = 1000000000, keys[] = {1, 2, 3};
	float answer[3 * 64];
	sp_image *image;
	sp_table *table;
	sp_error err;
	sp_lookup lookup = {.keys = keys, .count = 3, .rows = answer, .stride = 64};

	(void)state;
	write_sparse();
	assert_ok(sp_image_open(&image, path, (sp_bytes){0}, &err), &err);
	table = table_over(take(image, "t"));
	lookup.table = table;
	assert_int_equal(sp_lookup_run(&lookup, 1, NULL, 1, &err), SP_DEADLINE);
	assert_non_null(strstr(err.text, "table 't': image "));
	assert_non_null(strstr(err.text, "the deadline has passed"));
	assert_ok(sp_lookup_run(&lookup, 1, NULL, sp_clock_now_ns() + 60 * second, &err), &err);
	assert_ok(sp_lookup_run(&lookup, 1, NULL, 1, &err), &err); /* nothing to wait for */
	assert_ok(sp_lookup_run(&lookup, 1, NULL, 0, &err), &err);
	sp_table_destroy(table);
	sp_image_release(image);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		CASE(rows_of_an_image_answer_as_those_it_was_made_of),
		CASE(the_arrays_are_bit_for_bit_those_in_memory),
		CASE(every_byte_of_header_and_directory_counts),
		CASE(a_wrong_byte_of_data_is_never_a_wrong_row),
		CASE(a_lookup_checks_what_it_reads_before_the_thread_has_come_there),
		CASE(a_file_of_another_length_is_refused),
		CASE(a_file_cut_while_it_is_mapped_is_an_error_and_no_crash),
		CASE(what_is_no_image_of_ours_is_told_apart),
		CASE(a_directory_that_lies_is_refused),
		CASE(the_first_answer_does_not_wait_for_the_whole_file),
		CASE(a_lookup_waits_for_a_chunk_as_long_as_it_has_time),
	};

	return cmocka_run_group_tests_name("image", tests, NULL, NULL);
}
