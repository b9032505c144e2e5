#include "storage/rocks.h"

#include <assert.h>
#include <endian.h>
#include <rocksdb/c.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "base/alloc.h"
#include "base/thread.h"
#include "storage/rocks_link.h"

/*
 * A run is written as a file of its own by RocksDB's writer of sorted files,
 * past log and memtable, and taken into the upper of two levels.  Finishing
 * compacts the runs into the lower one: each row is written twice, and nothing
 * is left to compact while serving.
 *
 * Settings go in as text, because RocksDB's C functions lack some of them.
 */

#define COMMON_OPTIONS                                                                            \
	"num_levels=2;compression=kNoCompression;bottommost_compression="                         \
	"kDisableCompressionOption;"                                                              \
	"disable_auto_compactions=true;max_open_files=-1;max_file_opening_threads=1;target_file_" \
	"size_base=268435456;"                                                                    \
	"level0_file_num_compaction_trigger=1000000;level0_slowdown_writes_trigger=1000000;"      \
	"level0_stop_writes_trigger=1000000;max_compaction_bytes=4611686018427387904;"            \
	"soft_pending_compaction_bytes_limit=0;hard_pending_compaction_bytes_limit=0;"            \
	"write_buffer_size=65536;arena_block_size=4096;stats_dump_period_sec=0;"                  \
	"stats_persist_period_sec=0;info_log_level=FATAL_LEVEL;keep_log_file_num=1;"              \
	"paranoid_checks=true;max_subcompactions=2;compaction_readahead_size=262144;"

#define BLOCK_OPTIONS                                       \
	"block_size=4096;block_align=true;checksum=kXXH3;"  \
	"format_version=5;index_block_restart_interval=16;" \
	"cache_index_and_filter_blocks=false;"

/* A run is read once and never searched for absent keys. */
#define RUN_OPTIONS COMMON_OPTIONS "block_based_table_factory={" BLOCK_OPTIONS "};"

#define TABLE_OPTIONS  \
	COMMON_OPTIONS \
	"block_based_table_factory={" BLOCK_OPTIONS "filter_policy=ribbonfilter:8.0;};"

enum {
	BLOCK_SIZE = 4096,
	FORCE_BOTTOMMOST_ONCE = 3,
	FEW_FILES = 16,
	ROOM = 64 << 20, /* bytes of address space that RocksDB finds when it is called */
	THREADS = 4,     /* and threads that it may start: it needs fewer */
};

struct sp_rocks_writer {
	rocksdb_t *db;
	rocksdb_options_t *options, *run_options;
	rocksdb_envoptions_t *env;
	char *folder, *run_path;
	size_t row_size;
	rocksdb_sstfilewriter_t *run; /* begun and not ended; NULL: none */
};

struct sp_rocks {
	rocksdb_t *db;
	rocksdb_options_t *options;
	rocksdb_readoptions_t *read_options;
	rocksdb_column_family_handle_t *family;
	size_t row_size, row_count, disk_size;
	uint64_t block_span; /* by how much the keys of one block differ, about */
};

/* Takes RocksDB's text, which says at its start what kind of failure it is. */
static sp_status take_error(char *text, const char *what, sp_error *err)
{
	sp_status status = SP_IO;

	if (strncmp(text, "Corruption", strlen("Corruption")) == 0)
		status = SP_CORRUPT;
	sp_error_set(err, status, "%s: RocksDB says: %s", what, text);
	rocksdb_free(text);
	return status;
}

static void return_at_once(void *context)
{
	(void)context;
}

/* RocksDB ends the process when it gets no thread or no memory: that is tried before. */
static sp_status check_room(sp_error *err)
{
	void *room = mmap(NULL, ROOM, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	sp_thread_group *threads;

	if (room == MAP_FAILED)
		return sp_error_set(err, SP_NO_MEMORY, "RocksDB needs %d MiB of memory to start",
				    ROOM >> 20);
	munmap(room, ROOM);
	SP_TRY(sp_thread_group_create(&threads, THREADS, "sp-ssd-check", return_at_once, NULL,
				      err));
	sp_thread_group_destroy(threads);
	return SP_OK;
}

static sp_status parse_options(rocksdb_options_t **out, const char *text, sp_error *err)
{
	rocksdb_block_based_table_options_t *blocks = rocksdb_block_based_options_create();
	rocksdb_options_t *base = rocksdb_options_create(), *made = rocksdb_options_create();
	char *fault = NULL;

	/* Said in the text, it leaves the default cache in place. */
	rocksdb_block_based_options_set_no_block_cache(blocks, 1);
	rocksdb_options_set_block_based_table_factory(base, blocks);
	rocksdb_block_based_options_destroy(blocks);
	rocksdb_get_options_from_string(base, text, made, &fault);
	rocksdb_options_destroy(base);
	if (fault != NULL) {
		rocksdb_options_destroy(made);
		return take_error(fault, "settings", err);
	}
	*out = made;
	return SP_OK;
}

/* ---- writing ---- */

static sp_status set_paths(sp_rocks_writer *writer, const char *folder, sp_error *err)
{
	size_t size = strlen(folder) + sizeof("/run");

	writer->folder = sp_alloc_text(folder);
	writer->run_path = sp_alloc(size);
	if (writer->folder == NULL || writer->run_path == NULL)
		return sp_error_set(err, SP_NO_MEMORY, "no memory for a path");
	snprintf(writer->run_path, size, "%s/run", folder);
	return SP_OK;
}

static sp_status open_for_writing(sp_rocks_writer *writer, sp_error *err)
{
	char *fault = NULL;

	writer->env = rocksdb_envoptions_create();
	writer->db = rocksdb_open(writer->options, writer->folder, &fault);
	return fault != NULL ? take_error(fault, "making the folder", err) : SP_OK;
}

static sp_status open_new(sp_rocks_writer *writer, sp_error *err)
{
	SP_TRY(check_room(err));
	SP_TRY(parse_options(&writer->options, TABLE_OPTIONS, err));
	SP_TRY(parse_options(&writer->run_options, RUN_OPTIONS, err));
	rocksdb_options_set_create_if_missing(writer->options, 1);
	rocksdb_options_set_error_if_exists(writer->options, 1);
	return open_for_writing(writer, err);
}

/* It reads nothing of what is there: indices and filters stay on the disk. */
static sp_status open_over(sp_rocks_writer *writer, const char *base, sp_error *err)
{
	SP_TRY(check_room(err));
	SP_TRY(sp_rocks_link(base, writer->folder, err));
	SP_TRY(parse_options(&writer->options, TABLE_OPTIONS, err));
	SP_TRY(parse_options(&writer->run_options, TABLE_OPTIONS, err));
	rocksdb_options_set_max_open_files(writer->options, FEW_FILES);
	rocksdb_options_set_skip_stats_update_on_db_open(writer->options, 1);
	return open_for_writing(writer, err);
}

/* Over `base`; NULL: over nothing. */
static sp_status create_writer(sp_rocks_writer **out, const char *folder, const char *base,
			       size_t row_size, sp_error *err)
{
	sp_rocks_writer *writer = sp_alloc_zero(1, sizeof(*writer));
	sp_status status;

	if (writer == NULL)
		return sp_error_set(err, SP_NO_MEMORY, "no memory to write %s", folder);
	writer->row_size = row_size;
	status = set_paths(writer, folder, err);
	if (status == SP_OK)
		status = base != NULL ? open_over(writer, base, err) : open_new(writer, err);
	if (status != SP_OK) {
		sp_rocks_writer_destroy(writer);
		return sp_error_prefix(err, status, "%s", folder);
	}
	*out = writer;
	return SP_OK;
}

sp_status sp_rocks_writer_create(sp_rocks_writer **out, const char *folder, size_t row_size,
				 sp_error *err)
{
	return create_writer(out, folder, NULL, row_size, err);
}

sp_status sp_rocks_writer_create_over(sp_rocks_writer **out, const char *folder, const char *base,
				      size_t row_size, sp_error *err)
{
	return create_writer(out, folder, base, row_size, err);
}

static void end_file(sp_rocks_writer *writer)
{
	if (writer->run != NULL)
		rocksdb_sstfilewriter_destroy(writer->run);
	writer->run = NULL;
}

void sp_rocks_writer_destroy(sp_rocks_writer *writer)
{
	if (writer == NULL)
		return;
	end_file(writer);
	if (writer->db != NULL)
		rocksdb_close(writer->db);
	if (writer->env != NULL)
		rocksdb_envoptions_destroy(writer->env);
	if (writer->run_options != NULL)
		rocksdb_options_destroy(writer->run_options);
	if (writer->options != NULL)
		rocksdb_options_destroy(writer->options);
	sp_free(writer->folder);
	sp_free(writer->run_path);
	sp_free(writer);
}

static sp_status ingest_run(const sp_rocks_writer *writer, sp_error *err)
{
	rocksdb_ingestexternalfileoptions_t *options = rocksdb_ingestexternalfileoptions_create();
	char *fault = NULL;

	rocksdb_ingestexternalfileoptions_set_move_files(options, 1);
	rocksdb_ingest_external_file(writer->db, (const char *const *)&writer->run_path, 1, options,
				     &fault);
	rocksdb_ingestexternalfileoptions_destroy(options);
	return fault != NULL ? take_error(fault, "taking in a run", err) : SP_OK;
}

static sp_status with_folder(const sp_rocks_writer *writer, sp_status status, sp_error *err)
{
	return status == SP_OK ? SP_OK : sp_error_prefix(err, status, "%s", writer->folder);
}

sp_status sp_rocks_writer_begin_run(sp_rocks_writer *writer, sp_error *err)
{
	char *fault = NULL;

	end_file(writer);
	writer->run = rocksdb_sstfilewriter_create(writer->env, writer->run_options);
	rocksdb_sstfilewriter_open(writer->run, writer->run_path, &fault);
	return fault != NULL ? with_folder(writer, take_error(fault, "writing a run", err), err)
			     : SP_OK;
}

sp_status sp_rocks_writer_put(sp_rocks_writer *writer, int64_t key, const void *row, sp_error *err)
{
	uint64_t stored = htobe64((uint64_t)key);
	char *fault = NULL;

	rocksdb_sstfilewriter_put(writer->run, (const char *)&stored, sizeof(stored), row,
				  writer->row_size, &fault);
	return fault != NULL ? with_folder(writer, take_error(fault, "writing a run", err), err)
			     : SP_OK;
}

sp_status sp_rocks_writer_end_run(sp_rocks_writer *writer, sp_error *err)
{
	char *fault = NULL;
	sp_status status = SP_OK;

	rocksdb_sstfilewriter_finish(writer->run, &fault);
	end_file(writer);
	if (fault != NULL)
		status = take_error(fault, "writing a run", err);
	if (status == SP_OK)
		status = ingest_run(writer, err);
	return with_folder(writer, status, err);
}

sp_status sp_rocks_writer_add_run(sp_rocks_writer *writer, const char *const *rows, size_t count,
				  sp_error *err)
{
	if (count == 0)
		return SP_OK;
	SP_TRY(sp_rocks_writer_begin_run(writer, err));
	for (size_t i = 0; i < count; i++) {
		int64_t key;

		memcpy(&key, rows[i], sizeof(key));
		SP_TRY(sp_rocks_writer_put(writer, key, rows[i] + sizeof(key), err));
	}
	return sp_rocks_writer_end_run(writer, err);
}

/* The number behind `name` in the text of a property; false when it is not there. */
static bool number_in_property(rocksdb_t *db, const char *property, const char *name, uint64_t *out)
{
	char *text = rocksdb_property_value(db, property);
	const char *at = text != NULL ? strstr(text, name) : NULL;

	if (at != NULL)
		*out = strtoull(at + strlen(name), NULL, 10);
	rocksdb_free(text);
	return at != NULL;
}

/*
 * Compaction has no way to say that it failed: it is seen by what it leaves.
 * `over`: how many runs may lie over the merged one.
 */
static bool is_one_run(rocksdb_t *db, uint64_t over)
{
	uint64_t upper = UINT64_MAX, errors = 1;

	return number_in_property(db, "rocksdb.num-files-at-level0", "", &upper) && upper <= over &&
	       rocksdb_property_int(db, "rocksdb.background-errors", &errors) == 0 && errors == 0;
}

static bool count_rows(rocksdb_t *db, size_t *out)
{
	uint64_t count = 0;

	if (!number_in_property(db, "rocksdb.aggregated-table-properties", "# entries=", &count))
		return false;
	*out = (size_t)count;
	return true;
}

sp_status sp_rocks_writer_finish(sp_rocks_writer *writer, size_t *rows, sp_error *err)
{
	rocksdb_compactoptions_t *options;

	SP_TRY(check_room(err));
	options = rocksdb_compactoptions_create();
	rocksdb_compactoptions_set_bottommost_level_compaction(options, FORCE_BOTTOMMOST_ONCE);
	rocksdb_compact_range_opt(writer->db, options, NULL, 0, NULL, 0);
	rocksdb_compactoptions_destroy(options);
	if (!is_one_run(writer->db, 0) || !count_rows(writer->db, rows))
		return sp_error_set(err, SP_IO, "%s: RocksDB cannot merge the runs (disk full?)",
				    writer->folder);
	rocksdb_close(writer->db);
	writer->db = NULL;
	return SP_OK;
}

sp_status sp_rocks_writer_leave(sp_rocks_writer *writer, sp_error *err)
{
	bool left = is_one_run(writer->db, 1);

	rocksdb_close(writer->db);
	writer->db = NULL;
	return left ? SP_OK
		    : sp_error_set(err, SP_IO, "%s: RocksDB has not taken the run", writer->folder);
}

/* ---- reading ---- */

static uint64_t key_number(const char *stored, size_t size)
{
	uint64_t number = 0;

	memcpy(&number, stored, size < sizeof(number) ? size : sizeof(number));
	return be64toh(number);
}

static uint64_t find_block_span(const sp_rocks *rocks)
{
	const rocksdb_livefiles_t *files = rocksdb_livefiles(rocks->db);
	uint64_t blocks = rocks->disk_size / BLOCK_SIZE + 1, span = 0;

	for (int i = 0; i < rocksdb_livefiles_count(files); i++) {
		size_t first_size, last_size;
		const char *first = rocksdb_livefiles_smallestkey(files, i, &first_size);
		const char *last = rocksdb_livefiles_largestkey(files, i, &last_size);

		span += (key_number(last, last_size) - key_number(first, first_size)) / blocks;
	}
	rocksdb_livefiles_destroy(files);
	return span + 1;
}

static sp_status open_for_reading(sp_rocks *rocks, const char *folder, bool direct, sp_error *err)
{
	const char *name = "default";
	char *fault = NULL;
	uint64_t size = 0;

	SP_TRY(check_room(err));
	SP_TRY(parse_options(&rocks->options, TABLE_OPTIONS, err));
	rocksdb_options_set_use_direct_reads(rocks->options, direct);
	rocks->read_options = rocksdb_readoptions_create();
	rocksdb_readoptions_set_verify_checksums(rocks->read_options, 1);
	rocks->db = rocksdb_open_for_read_only_column_families(
		rocks->options, folder, 1, &name, (const rocksdb_options_t *const *)&rocks->options,
		&rocks->family, 0, &fault);
	if (fault != NULL)
		return take_error(fault, "opening", err);
	if (!is_one_run(rocks->db, 1) || !count_rows(rocks->db, &rocks->row_count) ||
	    rocksdb_property_int(rocks->db, "rocksdb.total-sst-files-size", &size) != 0)
		return sp_error_set(err, SP_CORRUPT, "the rows are in more runs than two");
	rocks->disk_size = (size_t)size;
	rocks->block_span = find_block_span(rocks);
	return SP_OK;
}

sp_status sp_rocks_open(sp_rocks **out, const char *folder, size_t row_size, bool direct,
			sp_error *err)
{
	sp_rocks *rocks = sp_alloc_zero(1, sizeof(*rocks));
	sp_status status;

	if (rocks == NULL)
		return sp_error_set(err, SP_NO_MEMORY, "no memory to open %s", folder);
	rocks->row_size = row_size;
	status = open_for_reading(rocks, folder, direct, err);
	if (status != SP_OK) {
		sp_rocks_close(rocks);
		return sp_error_prefix(err, status, "%s", folder);
	}
	*out = rocks;
	return SP_OK;
}

void sp_rocks_close(sp_rocks *rocks)
{
	if (rocks == NULL)
		return;
	if (rocks->family != NULL)
		rocksdb_column_family_handle_destroy(rocks->family);
	if (rocks->db != NULL)
		rocksdb_close(rocks->db);
	if (rocks->read_options != NULL)
		rocksdb_readoptions_destroy(rocks->read_options);
	if (rocks->options != NULL)
		rocksdb_options_destroy(rocks->options);
	sp_free(rocks);
}

void sp_rocks_batch_release(sp_rocks_batch *batch)
{
	for (size_t i = 0; i < batch->count; i++)
		if (batch->handles[i] != NULL)
			rocksdb_pinnableslice_destroy(batch->handles[i]);
	batch->count = 0;
}

/* The row of key i, once its size is right; takes its fault. */
static sp_status take_row(const sp_rocks *rocks, sp_rocks_batch *batch, size_t i, char *fault,
			  sp_error *err)
{
	size_t size;

	batch->rows[i] = NULL;
	if (fault != NULL)
		return take_error(fault, "reading", err);
	if (batch->handles[i] == NULL)
		return SP_OK;
	batch->rows[i] = rocksdb_pinnableslice_value(batch->handles[i], &size);
	return size == rocks->row_size
		       ? SP_OK
		       : sp_error_set(err, SP_CORRUPT, "a row of %zu bytes where all have %zu",
				      size, rocks->row_size);
}

/* How many of the keys follow each other so closely that they may share blocks. */
static size_t count_close(const sp_rocks *rocks, const int64_t *keys, size_t count)
{
	size_t close = 1;

	while (close < count &&
	       (uint64_t)keys[close] - (uint64_t)keys[close - 1] <= rocks->block_span)
		close++;
	return close;
}

/* Reads keys that share blocks together, each block once; one alone takes a shorter way. */
static void read_close(const sp_rocks *rocks, const int64_t *keys, size_t count,
		       rocksdb_pinnableslice_t **rows, char **faults)
{
	uint64_t stored[SP_ROCKS_BATCH];
	const char *names[SP_ROCKS_BATCH];
	size_t sizes[SP_ROCKS_BATCH];

	for (size_t i = 0; i < count; i++) {
		stored[i] = htobe64((uint64_t)keys[i]);
		names[i] = (const char *)&stored[i];
		sizes[i] = sizeof(stored[i]);
	}
	if (count == 1)
		rows[0] = rocksdb_get_pinned_cf(rocks->db, rocks->read_options, rocks->family,
						names[0], sizes[0], &faults[0]);
	else
		rocksdb_batched_multi_get_cf(rocks->db, rocks->read_options, rocks->family, count,
					     names, sizes, rows, faults, true);
}

sp_status sp_rocks_read(const sp_rocks *rocks, const int64_t *keys, size_t count,
			sp_rocks_batch *out, sp_error *err)
{
	char *faults[SP_ROCKS_BATCH] = {NULL};
	sp_status status = SP_OK;

	assert(count <= SP_ROCKS_BATCH);
	for (size_t i = 0, close; i < count; i += close) {
		close = count_close(rocks, keys + i, count - i);
		read_close(rocks, keys + i, close, (rocksdb_pinnableslice_t **)out->handles + i,
			   faults + i);
	}
	out->count = count;
	for (size_t i = 0; i < count; i++) {
		sp_status one = take_row(rocks, out, i, faults[i], status == SP_OK ? err : NULL);

		if (status == SP_OK)
			status = one;
	}
	if (status != SP_OK)
		sp_rocks_batch_release(out);
	return status;
}

size_t sp_rocks_row_count(const sp_rocks *rocks)
{
	return rocks->row_count;
}

size_t sp_rocks_footprint(const sp_rocks *rocks)
{
	uint64_t size = 0;

	if (rocksdb_property_int(rocks->db, "rocksdb.estimate-table-readers-mem", &size) != 0)
		return 0;
	return sizeof(*rocks) + (size_t)size;
}

size_t sp_rocks_disk_footprint(const sp_rocks *rocks)
{
	return rocks->disk_size;
}

size_t sp_rocks_expected_footprint(size_t row_count, size_t row_size)
{
	/* Measured: 19 bytes of overhead per row, 5.9 bits of filter, 12 bytes per block. */
	size_t rows_per_block = BLOCK_SIZE / (row_size + 19);

	if (rows_per_block == 0)
		rows_per_block = 1;
	return 16384 + row_count * 3 / 4 + row_count / rows_per_block * 14;
}
