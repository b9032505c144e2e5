#include "storage/ssd/rocks.h"

#include <endian.h>
#include <rocksdb/c.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "base/alloc.h"
#include "base/thread.h"

/*
 * RocksDB's SstFileWriter writes each run, without log and memtable, and the file is ingested into
 * the upper of two levels.  Finishing compacts all runs into the lower level, so that a row is
 * written twice, and nothing is left to compact while serving.  A compaction has all its files
 * open, with 256 KiB of memory each; so RocksDB merges runs whenever there are 64, and rows of very
 * large tables are written three or four times.
 *
 * A table of a terabyte has 500 files, which stay open while it is served.
 *
 * Options are passed as text, because RocksDB's C functions lack some of them.
 * storage/sst/sst_file.c relies on this layout of files.
 */

#define OPTIONS                                                                             \
	"num_levels=2;compression=kNoCompression;bottommost_compression="                   \
	"kDisableCompressionOption;"                                                        \
	"compaction_style=kCompactionStyleUniversal;level0_file_num_compaction_trigger=64;" \
	"compaction_options_universal={max_merge_width=64;"                                 \
	"max_size_amplification_percent=1000000000;};"                                      \
	"level0_slowdown_writes_trigger=1000000;level0_stop_writes_trigger=1000000;"        \
	"max_open_files=16;max_file_opening_threads=1;target_file_size_base=2147483648;"    \
	"skip_stats_update_on_db_open=true;max_compaction_bytes=4611686018427387904;"       \
	"soft_pending_compaction_bytes_limit=0;hard_pending_compaction_bytes_limit=0;"      \
	"write_buffer_size=65536;arena_block_size=4096;stats_dump_period_sec=0;"            \
	"stats_persist_period_sec=0;info_log_level=FATAL_LEVEL;keep_log_file_num=1;"        \
	"paranoid_checks=true;max_subcompactions=2;compaction_readahead_size=262144;"       \
	"block_based_table_factory={block_size=4096;block_align=true;checksum=kCRC32c;"     \
	"format_version=5;index_type=kBinarySearch;cache_index_and_filter_blocks=false;};"

enum {
	FORCE_BOTTOMMOST_ONCE = 3,
	ROOM = 64 << 20, /* bytes of address space that must be available */
	THREADS = 4,     /* threads that must be available; RocksDB starts fewer */
};

struct sp_rocks_run {
	rocksdb_options_t *options;
	rocksdb_envoptions_t *env;
	rocksdb_sstfilewriter_t *file;
	char *path;
	size_t row_size;
};

struct sp_rocks_writer {
	rocksdb_t *db;
	rocksdb_options_t *options;
	char *folder, *run_path;
	size_t row_size;
};

/* Frees RocksDB's error text; its first word is the kind of error. */
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

/* RocksDB ends the process if it gets no thread or memory: checks that they are available. */
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

static sp_status make_options(rocksdb_options_t **out, sp_error *err)
{
	rocksdb_block_based_table_options_t *blocks = rocksdb_block_based_options_create();
	rocksdb_options_t *base = rocksdb_options_create(), *made = rocksdb_options_create();
	char *fault = NULL;

	/* As a text option it would leave the default cache in place. */
	rocksdb_block_based_options_set_no_block_cache(blocks, 1);
	rocksdb_options_set_block_based_table_factory(base, blocks);
	rocksdb_block_based_options_destroy(blocks);
	rocksdb_get_options_from_string(base, OPTIONS, made, &fault);
	rocksdb_options_destroy(base);
	if (fault != NULL) {
		rocksdb_options_destroy(made);
		return take_error(fault, "settings", err);
	}
	*out = made;
	return SP_OK;
}

/* ---- one sorted file ---- */

static sp_status open_run(sp_rocks_run *run, const char *path, sp_error *err)
{
	char *fault = NULL;

	run->path = sp_alloc_text(path);
	SP_NEED_MEMORY(run->path, err, "a path");
	SP_TRY(make_options(&run->options, err));
	run->env = rocksdb_envoptions_create();
	run->file = rocksdb_sstfilewriter_create(run->env, run->options);
	rocksdb_sstfilewriter_open(run->file, path, &fault);
	return fault != NULL ? take_error(fault, path, err) : SP_OK;
}

sp_status sp_rocks_run_begin(sp_rocks_run **out, const char *path, size_t row_size, sp_error *err)
{
	sp_rocks_run *run;
	sp_status status;

	SP_TRY(check_room(err));
	run = sp_alloc_zero(1, sizeof(*run));
	SP_NEED_MEMORY(run, err, "writing %s", path);
	run->row_size = row_size;
	status = open_run(run, path, err);
	if (status != SP_OK) {
		sp_rocks_run_destroy(run);
		return status;
	}
	*out = run;
	return SP_OK;
}

void sp_rocks_run_destroy(sp_rocks_run *run)
{
	if (run == NULL)
		return;
	if (run->file != NULL)
		rocksdb_sstfilewriter_destroy(run->file);
	if (run->env != NULL)
		rocksdb_envoptions_destroy(run->env);
	if (run->options != NULL)
		rocksdb_options_destroy(run->options);
	sp_free(run->path);
	sp_free(run);
}

sp_status sp_rocks_run_put(sp_rocks_run *run, int64_t key, const void *row, sp_error *err)
{
	uint64_t stored = htobe64((uint64_t)key);
	char *fault = NULL;

	rocksdb_sstfilewriter_put(run->file, (const char *)&stored, sizeof(stored), row,
				  run->row_size, &fault);
	return fault != NULL ? take_error(fault, run->path, err) : SP_OK;
}

sp_status sp_rocks_run_end(sp_rocks_run *run, sp_error *err)
{
	char *fault = NULL;

	rocksdb_sstfilewriter_finish(run->file, &fault);
	return fault != NULL ? take_error(fault, run->path, err) : SP_OK;
}

/* ---- a folder ---- */

static sp_status open_new(sp_rocks_writer *writer, const char *folder, sp_error *err)
{
	size_t size = strlen(folder) + sizeof("/run");
	char *fault = NULL;

	writer->folder = sp_alloc_text(folder);
	writer->run_path = sp_alloc(size);
	SP_NEED_MEMORY(writer->folder != NULL && writer->run_path != NULL, err, "a path");
	snprintf(writer->run_path, size, "%s/run", folder);
	SP_TRY(check_room(err));
	SP_TRY(make_options(&writer->options, err));
	rocksdb_options_set_create_if_missing(writer->options, 1);
	rocksdb_options_set_error_if_exists(writer->options, 1);
	writer->db = rocksdb_open(writer->options, folder, &fault);
	return fault != NULL ? take_error(fault, "making the folder", err) : SP_OK;
}

sp_status sp_rocks_writer_create(sp_rocks_writer **out, const char *folder, size_t row_size,
				 sp_error *err)
{
	sp_rocks_writer *writer = sp_alloc_zero(1, sizeof(*writer));
	sp_status status;

	SP_NEED_MEMORY(writer, err, "writing %s", folder);
	writer->row_size = row_size;
	status = open_new(writer, folder, err);
	if (status != SP_OK) {
		sp_rocks_writer_destroy(writer);
		return sp_error_prefix(err, status, "%s", folder);
	}
	*out = writer;
	return SP_OK;
}

void sp_rocks_writer_destroy(sp_rocks_writer *writer)
{
	if (writer == NULL)
		return;
	if (writer->db != NULL)
		rocksdb_close(writer->db);
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
	return fault != NULL ? take_error(fault, writer->folder, err) : SP_OK;
}

static sp_status write_run(const sp_rocks_writer *writer, const char *const *rows, size_t count,
			   sp_error *err)
{
	sp_rocks_run *run;
	sp_status status = SP_OK;

	SP_TRY(sp_rocks_run_begin(&run, writer->run_path, writer->row_size, err));
	for (size_t i = 0; status == SP_OK && i < count; i++) {
		int64_t key;

		memcpy(&key, rows[i], sizeof(key));
		status = sp_rocks_run_put(run, key, rows[i] + sizeof(key), err);
	}
	if (status == SP_OK)
		status = sp_rocks_run_end(run, err);
	sp_rocks_run_destroy(run);
	return status;
}

sp_status sp_rocks_writer_add_run(sp_rocks_writer *writer, const char *const *rows, size_t count,
				  sp_error *err)
{
	if (count == 0)
		return SP_OK;
	SP_TRY(write_run(writer, rows, count, err));
	return ingest_run(writer, err);
}

/* The number after `name` in the text of a property; false if it is not there. */
static bool number_in_property(rocksdb_t *db, const char *property, const char *name, uint64_t *out)
{
	char *text = rocksdb_property_value(db, property);
	const char *at = text != NULL ? strstr(text, name) : NULL;

	if (at != NULL)
		*out = strtoull(at + strlen(name), NULL, 10);
	rocksdb_free(text);
	return at != NULL;
}

/* A compaction does not report errors: it has failed if more than one run is left. */
static bool is_one_run(rocksdb_t *db)
{
	uint64_t upper = 1, errors = 1;

	return number_in_property(db, "rocksdb.num-files-at-level0", "", &upper) && upper == 0 &&
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
	if (!is_one_run(writer->db) || !count_rows(writer->db, rows))
		return sp_error_set(err, SP_IO,
				    "%s: RocksDB cannot merge the runs (disk full, or too many "
				    "files open?)",
				    writer->folder);
	rocksdb_close(writer->db);
	writer->db = NULL;
	return SP_OK;
}

/* ---- its files ---- */

/* A file, and its smallest key. */
typedef struct sorted_file {
	uint64_t first;
	char *path;
} sorted_file;

static int compare_files(const void *left, const void *right)
{
	const sorted_file *a = left, *b = right;

	return (a->first > b->first) - (a->first < b->first);
}

static sp_status add_file(sorted_file *out, const rocksdb_livefiles_t *files, int i,
			  const char *folder, sp_error *err)
{
	const char *name = rocksdb_livefiles_name(files, i), *first;
	size_t length = strlen(folder) + strlen(name) + 1, size;

	first = rocksdb_livefiles_smallestkey(files, i, &size);
	out->first = 0;
	memcpy(&out->first, first, size < sizeof(out->first) ? size : sizeof(out->first));
	out->first = be64toh(out->first);
	out->path = sp_alloc(length); /* the name starts with a slash */
	SP_NEED_MEMORY(out->path, err, "a path");
	snprintf(out->path, length, "%s%s", folder, name);
	return SP_OK;
}

static sp_status sort_files(sp_rocks_files *out, const rocksdb_livefiles_t *files,
			    const char *folder, sp_error *err)
{
	size_t count = (size_t)rocksdb_livefiles_count(files);
	sorted_file *sorted = sp_alloc_zero(count + 1, sizeof(*sorted));
	sp_status status = SP_OK;

	out->paths = sp_alloc_zero(count + 1, sizeof(*out->paths));
	if (sorted == NULL || out->paths == NULL)
		status = sp_no_memory(err, "paths");
	for (size_t i = 0; status == SP_OK && i < count; i++)
		status = add_file(&sorted[i], files, (int)i, folder, err);
	if (status == SP_OK)
		qsort(sorted, count, sizeof(*sorted), compare_files);
	for (size_t i = 0; sorted != NULL && out->paths != NULL && i < count; i++)
		out->paths[out->count++] = sorted[i].path;
	sp_free(sorted);
	return status;
}

static sp_status list_files(sp_rocks_files *out, rocksdb_t *db, const char *folder, sp_error *err)
{
	const rocksdb_livefiles_t *files;
	sp_status status;

	if (!is_one_run(db))
		return sp_error_set(err, SP_CORRUPT, "the rows are in more runs than one");
	files = rocksdb_livefiles(db);
	status = sort_files(out, files, folder, err);
	rocksdb_livefiles_destroy(files);
	return status;
}

sp_status sp_rocks_files_find(sp_rocks_files *out, const char *folder, sp_error *err)
{
	rocksdb_options_t *options;
	rocksdb_t *db;
	char *fault = NULL;
	sp_status status;

	*out = (sp_rocks_files){0};
	SP_TRY(check_room(err));
	SP_TRY(make_options(&options, err));
	db = rocksdb_open_for_read_only(options, folder, 0, &fault);
	status = fault != NULL ? take_error(fault, "opening", err)
			       : list_files(out, db, folder, err);
	if (db != NULL)
		rocksdb_close(db);
	rocksdb_options_destroy(options);
	if (status != SP_OK)
		sp_rocks_files_fini(out);
	return sp_error_prefix(err, status, "%s", folder);
}

void sp_rocks_files_fini(sp_rocks_files *files)
{
	for (size_t i = 0; i < files->count; i++)
		sp_free(files->paths[i]);
	sp_free(files->paths);
	*files = (sp_rocks_files){0};
}
