#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/statvfs.h>
#include <time.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/size.h"
#include "storage/ssd/rocks.h"
#include "storage/ssd/ssd_internal.h"

/*
 * The rows of the layer are written to a sorted file in a temporary folder, which is deleted as
 * soon as the file is open.  The table's own folder does not change: the next start reads it as it
 * was built.
 */

enum {
	PIECE = 4096, /* rows between two pauses */
	NAP_MS = 5,
	NS_PER_MS = 1000000,

	ROW_OVERHEAD = 32,    /* upper bound of the disk bytes per row besides its own */
	SPARE_DISK = 16 << 20 /* bytes of the disk that must stay free */
};

/* The keys of the layer. */
typedef struct key_list {
	uint64_t *keys;
	size_t count;
} key_list;

static sp_status check_stop(const sp_tier_fold *how, sp_error *err)
{
	if (how->stop != NULL && atomic_load(how->stop))
		return sp_error_set(err, SP_BUSY, "folding is given up");
	return SP_OK;
}

/* Sleeps as long as the last piece took, or longer if the rate is limited. */
static sp_status pause_between_pieces(const sp_tier_fold *how, int64_t start_ns, size_t rows,
				      sp_error *err)
{
	int64_t left = sp_clock_now_ns() - start_ns;

	if (how->rows_per_second != 0) {
		int64_t least = (int64_t)rows * 1000 * NS_PER_MS / how->rows_per_second;

		left = left > least ? left : least;
	}
	for (; left > 0; left -= NAP_MS * NS_PER_MS) {
		const struct timespec nap = {
			.tv_nsec = left < NAP_MS * NS_PER_MS ? left : NAP_MS * NS_PER_MS};

		SP_TRY(check_stop(how, err));
		nanosleep(&nap, NULL);
	}
	return check_stop(how, err);
}

/* ---- keys ---- */

static int compare_keys(const void *left, const void *right)
{
	uint64_t a = *(const uint64_t *)left, b = *(const uint64_t *)right;

	return (a > b) - (a < b);
}

/* Lists the keys in RocksDB's order. */
static sp_status list_keys(key_list *list, const sp_tier_fold *how, sp_error *err)
{
	size_t slots = sp_rows_get_shape(how->over)->placement.slot_count;
	sp_stored_row row;
	int64_t key, start;

	for (size_t s = 0; s < slots; s++) {
		if (s % PIECE == 0)
			SP_TRY(check_stop(how, err));
		if (sp_rows_at(how->over, s, &key, &row))
			list->keys[list->count++] = (uint64_t)key;
	}
	start = sp_clock_now_ns();
	qsort(list->keys, list->count, sizeof(*list->keys), compare_keys);
	return pause_between_pieces(how, start, 0, err);
}

/* ---- the run ---- */

const void *sp_ssd__as_stored(const sp_ssd_table *table, const sp_stored_row *row, float *elements)
{
	if (table->format != SP_ROW_FP32)
		return row->data;
	row->codec->decode(table->dim, row->data, elements);
	return elements;
}

/* Writes the rows of the keys [first, end). */
static sp_status put_rows(sp_rocks_run *run, const sp_ssd_table *table, const sp_tier_fold *how,
			  const key_list *list, size_t first, size_t end, float *elements,
			  sp_error *err)
{
	for (size_t i = first; i < end; i++) {
		int64_t key = (int64_t)list->keys[i];
		sp_stored_row row;

		if (!sp_rows_find(how->over, key, &row))
			return sp_error_set(err, SP_INTERNAL, "key %" PRId64 " has no row", key);
		SP_TRY(sp_rocks_run_put(run, key, sp_ssd__as_stored(table, &row, elements), err));
	}
	return SP_OK;
}

static sp_status put_all(sp_rocks_run *run, const sp_ssd_table *table, const sp_tier_fold *how,
			 const key_list *list, float *elements, sp_error *err)
{
	for (size_t first = 0, end; first < list->count; first = end) {
		int64_t start = sp_clock_now_ns();

		end = list->count - first < PIECE ? list->count : first + PIECE;
		SP_TRY(put_rows(run, table, how, list, first, end, elements, err));
		SP_TRY(pause_between_pieces(how, start, end - first, err));
	}
	return sp_rocks_run_end(run, err);
}

static sp_status write_run(const char *path, const sp_ssd_table *table, const sp_tier_fold *how,
			   const key_list *list, sp_error *err)
{
	float *elements = sp_alloc(table->dim * sizeof(*elements));
	sp_rocks_run *run = NULL;
	sp_status status;

	SP_NEED_MEMORY(elements, err, "folding rows");
	status = sp_rocks_run_begin(&run, path, sp_row_format_size(table->format, table->dim), err);
	if (status == SP_OK)
		status = put_all(run, table, how, list, elements, err);
	sp_rocks_run_destroy(run);
	sp_free(elements);
	return status;
}

/* ---- the folder ---- */

static sp_status check_disk(const sp_ssd_store *store, const sp_ssd_table *table,
			    const sp_rows *over, sp_error *err)
{
	size_t row = sp_row_format_size(table->format, table->dim) + ROW_OVERHEAD, needed, left;
	struct statvfs disk;

	/* If the file system does not tell its free space, writing may fail later. */
	if (statvfs(store->path, &disk) != 0 ||
	    !sp_size_mul(&left, (size_t)disk.f_bavail, (size_t)disk.f_frsize))
		return SP_OK;
	if (!sp_size_mul(&needed, sp_rows_get_shape(over)->row_count, row) ||
	    !sp_size_add(&needed, needed, SPARE_DISK) || needed > left)
		return sp_error_set(err, SP_IO,
				    "folding takes %zu MB of disk in %s, and %zu MB are left",
				    (needed >> 20) + 1, store->path, left >> 20);
	return SP_OK;
}

/* Writes the run to a file in the folder, and opens it. */
static sp_status write_over(sp_sst_run **over, const sp_ssd_folder *folder,
			    const sp_ssd_table *table, const sp_tier_fold *how,
			    const key_list *list, sp_error *err)
{
	const sp_ssd_path file = sp_ssd_folder_file(folder, "over.sst");
	const char *path = file.text;

	SP_TRY(write_run(path, table, how, list, err));
	return sp_sst_run_scan(over, &path, 1, sp_row_format_size(table->format, table->dim),
			       list->count, err);
}

static sp_status make_over(sp_sst_run **over, const sp_ssd_store *store, const sp_ssd_place *place,
			   const sp_ssd_table *table, const sp_tier_fold *how, const key_list *list,
			   sp_error *err)
{
	sp_ssd_folder folder;
	sp_status status;

	SP_TRY(sp_ssd_folder_begin(&folder, store->path, place->name, err));
	status = write_over(over, &folder, table, how, list, err);
	sp_ssd_folder_discard(&folder, store->path);
	return status;
}

static sp_status fold(sp_sst_run **over, const sp_ssd_store *store, const sp_ssd_place *place,
		      const sp_ssd_table *table, const sp_tier_fold *how, sp_error *err)
{
	size_t count = sp_rows_get_shape(how->over)->row_count;
	key_list list = {.keys = sp_alloc_zero(count + 1, sizeof(*list.keys))};
	sp_status status;

	SP_NEED_MEMORY(list.keys, err, "sorting %zu keys", count);
	status = list_keys(&list, how, err);
	if (status == SP_OK && list.count != 0)
		status = make_over(over, store, place, table, how, &list, err);
	sp_free(list.keys);
	return status;
}

size_t sp_ssd__fold_cost(const sp_ssd_table *table, const sp_rows *over)
{
	enum {
		KEY = 2 * sizeof(uint64_t), /* qsort() copies them */
		FILTER = 16,
		WRITING = 8 << 20
	};
	size_t rows = sp_rows_get_shape(over)->row_count, bytes;

	if (!sp_size_mul(&bytes, rows, KEY + FILTER) ||
	    !sp_size_add(&bytes, bytes, WRITING + table->dim * sizeof(float)))
		return SIZE_MAX;
	return bytes;
}

sp_status sp_ssd__fold(sp_sst_run **over, sp_ssd_folder *base, const sp_ssd_store *store,
		       const sp_ssd_table *table, const sp_tier_fold *how, sp_error *err)
{
	const sp_rows_shape *layer = sp_rows_get_shape(how->over);
	sp_ssd_place place;
	sp_status status;

	*over = NULL;
	if (layer->dim != table->dim || layer->format != table->format)
		return sp_error_set(err, SP_INVALID, "rows of %zu %s cannot be folded into %zu %s",
				    layer->dim, sp_row_format_name(layer->format), table->dim,
				    sp_row_format_name(table->format));
	SP_TRY(check_disk(store, table, how->over, err));
	SP_TRY(sp_ssd__place_find(&place, store, table, err));
	status = sp_ssd_folder_open(base, store->path, place.name, place.label, err);
	if (status == SP_OK)
		status = fold(over, store, &place, table, how, err);
	sp_ssd__place_fini(&place);
	return status;
}
