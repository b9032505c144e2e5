#include "storage/remote/row_file.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/file.h"
#include "base/hash.h"
#include "base/log.h"
#include "base/size.h"
#include "base/thread.h"
#include "storage/region.h"
#include "storage/ssd/read_rings.h"

/*
 * A position counts all bytes ever written, padding included; position p is at offset p modulo the
 * ring's size.  The thread writes to [head, head + PIECE) at most.  So a row is valid if it is
 * before head, and at most a ring less a piece behind it.  head moves on before a later piece is
 * written; so a row that is still valid after it was read was not overwritten meanwhile.
 *
 * The index has sets of ten entries.  A key has two sets, so that both are rarely full of valid
 * rows.  An entry is a tag of the key's hash and the position in units, modulo 2^32, which is at
 * least two rings.  Two keys with the same tag in a set, about one in some thousands, share an
 * entry: the later one replaces the earlier.  Only the thread changes the index; a reader that sees
 * half of a change finds another key's row.
 */

enum {
	PAGE = SP_SST_PAGE,
	PIECE = 256 << 10, /* bytes that are written at once, and that may wait */
	WAYS = 10,
	USED_WAYS = 8, /* of a set, on average, if the index is full */
	BLOCK = 16,    /* keys whose sets are prefetched together */
	MIN_UNIT_BITS = 3,
	READERS = 16,
	WAIT_NS = 20000000, /* a piece that is not half full is written after this */
	/*
	 * After MAX_LATE reads in a row that took too long, though they had MIN_TIME_NS, a pause.
	 */
	MAX_LATE = 8,
	MIN_TIME_NS = 250000,
	PAUSE_NS = 1000000000,
};

typedef struct row_head {
	uint32_t crc; /* CRC; the table's number until the row is written */
	uint32_t size;
	int64_t key;
} row_head;

typedef struct bucket_set {
	_Atomic uint32_t at[WAYS];
	_Atomic uint16_t tags[WAYS]; /* 0: empty */
	uint32_t unused;
} bucket_set;

_Static_assert(sizeof(bucket_set) == 64, "a cache line");

typedef struct piece {
	char *bytes; /* [PIECE] */
	size_t size;
} piece;

struct sp_row_file {
	char *folder;
	int fd;
	uint64_t ring; /* bytes, whole pieces */
	unsigned unit_bits;
	sp_read_rings *rings;
	sp_thread_group *writer;
	atomic_bool is_off;
	atomic_uint late; /* reads in a row */
	_Atomic int64_t paused_until_ns;
	_Atomic uint64_t head;

	bucket_set *_Atomic sets; /* NULL: not created yet */
	size_t set_count;
	sp_region region;

	pthread_mutex_t lock; /* guards the rest */
	pthread_cond_t filled;
	piece pending;
	int64_t pending_since_ns;
	bool ends;
	uint32_t table_count;
	double row_count, row_bytes; /* of all tables; a table whose rows are not counted has 1 */
	bool is_counted;

	piece writing; /* used by the thread only */
};

/* ---- positions ---- */

static uint64_t padded(const sp_row_file *file, size_t row_size)
{
	uint64_t unit = (uint64_t)1 << file->unit_bits;

	return (sizeof(row_head) + row_size + unit - 1) & ~(unit - 1);
}

static bool is_valid(const sp_row_file *file, uint64_t at, uint64_t head)
{
	return at < head && head - at <= file->ring - PIECE;
}

/* The position of an index entry. */
static uint64_t position_of(const sp_row_file *file, uint32_t units, uint64_t head)
{
	uint64_t behind = (uint32_t)((head >> file->unit_bits) - units);

	return head - (behind << file->unit_bits);
}

static uint64_t hash_of(uint32_t table, int64_t key)
{
	const uint64_t words[2] = {(uint64_t)key, table};

	return sp_siphash13(sp_hash_process_key(), words, sizeof(words));
}

/* Either of a key's two sets. */
static bucket_set *set_of(const sp_row_file *file, bucket_set *sets, uint64_t hash, unsigned choice)
{
	uint64_t h = choice == 0 ? hash : hash * 0x9e3779b97f4a7c15u;

	return &sets[(size_t)(((__uint128_t)h * file->set_count) >> 64)];
}

static uint16_t tag_of(uint64_t hash)
{
	return (uint16_t)(1 + ((hash & 0xffff) * 0xffff >> 16));
}

static uint32_t crc_of(uint32_t table, const void *record, uint32_t size)
{
	const char *from = (const char *)record + sizeof(uint32_t);

	return sp_crc32c(sp_crc32c(0, &table, sizeof(table)), from,
			 sizeof(row_head) - sizeof(uint32_t) + size);
}

/* ---- the thread: the index ---- */

/* Sizes the index for the rows that the file holds or, if that is less, the tables have. */
static bool create_index(sp_row_file *file)
{
	double rows;
	size_t size;

	pthread_mutex_lock(&file->lock);
	rows = (double)file->ring / (file->row_bytes / file->row_count);
	if (file->is_counted && file->row_count < rows)
		rows = file->row_count;
	pthread_mutex_unlock(&file->lock);
	file->set_count = (size_t)(rows / USED_WAYS) + 1;
	if (!sp_size_mul(&size, file->set_count, sizeof(bucket_set)) ||
	    !sp_region_resize(&file->region, size))
		return false;
	if (file->region.mapped == 0) /* a mapping is zeros */
		memset(file->region.data, 0, size);
	atomic_store_explicit(&file->sets, file->region.data, memory_order_release);
	return true;
}

/* Replaces the entry of the key; else an empty one; else that of the oldest row. */
static void index_row(sp_row_file *file, uint64_t hash, uint64_t at)
{
	uint32_t units = (uint32_t)(at >> file->unit_bits);
	uint16_t tag = tag_of(hash);
	bucket_set *best = NULL;
	unsigned best_way = 0;
	uint64_t most = 0;

	for (unsigned way_index = 0; way_index < 2 * WAYS; way_index++) {
		bucket_set *set = set_of(file, file->region.data, hash, way_index / WAYS);
		unsigned way = way_index % WAYS;
		uint16_t other = atomic_load_explicit(&set->tags[way], memory_order_relaxed);
		uint32_t then = atomic_load_explicit(&set->at[way], memory_order_relaxed);
		uint64_t age = other == tag ? UINT64_MAX
					    : (other == 0 ? (uint64_t)1 << 32 : units - then);

		if (best == NULL || age > most) {
			most = age;
			best = set;
			best_way = way;
		}
	}
	atomic_store_explicit(&best->at[best_way], units, memory_order_relaxed);
	atomic_store_explicit(&best->tags[best_way], tag, memory_order_release);
}

/* ---- the thread: the file ---- */

static void disable(sp_row_file *file, const char *why, int number)
{
	char reason[128];

	atomic_store(&file->is_off, true);
	/* If this fails, the space is freed when the version ends. */
	(void)!ftruncate(file->fd, 0);
	sp_log(SP_LOG_WARNING,
	       "the file of rows in %s is given up until the next full checkpoint: %s%s%s",
	       file->folder, why, number != 0 ? ": " : "",
	       number != 0 ? strerror_r(number, reason, sizeof(reason)) : "");
}

static bool write_all(sp_row_file *file, const char *bytes, size_t size, uint64_t offset)
{
	while (size != 0) {
		ssize_t wrote = pwrite(file->fd, bytes, size, (off_t)offset);

		if (wrote < 0 && errno == EINTR)
			continue;
		if (wrote <= 0) {
			disable(file, "cannot write", wrote < 0 ? errno : EIO);
			return false;
		}
		bytes += wrote;
		size -= (size_t)wrote;
		offset += (uint64_t)wrote;
	}
	return true;
}

/* The position to write the piece at: it must not cross the end of the ring. */
static uint64_t choose_start(sp_row_file *file, size_t size)
{
	uint64_t head = atomic_load_explicit(&file->head, memory_order_relaxed);
	uint64_t left = file->ring - head % file->ring;

	if (size <= left)
		return head;
	atomic_store(&file->head, head + left);
	return head + left;
}

/*
 * Adds the rows of the piece, which will be written at `start`, to the index; they are not valid
 * yet.  Replaces the table's number in each row by the checksum.
 */
static void index_rows(sp_row_file *file, uint64_t start)
{
	const piece *p = &file->writing;
	size_t step;

	for (size_t at = 0; at < p->size; at += step) {
		row_head *head = (row_head *)(void *)(p->bytes + at);

		step = padded(file, head->size);
		index_row(file, hash_of(head->crc, head->key), start + at);
		head->crc = crc_of(head->crc, head, head->size);
	}
}

static void write_piece(sp_row_file *file)
{
	size_t size = (file->writing.size + PAGE - 1) / PAGE * PAGE;
	uint64_t start;

	if (atomic_load(&file->is_off))
		return;
	if (atomic_load(&file->sets) == NULL && !create_index(file)) {
		disable(file, "no memory for its index", 0);
		return;
	}
	start = choose_start(file, size);
	index_rows(file, start);
	if (write_all(file, file->writing.bytes, size, start % file->ring))
		atomic_store(&file->head, start + size);
}

/* Waits for rows and makes them the piece to be written; false: the file is being closed. */
static bool wait_for_piece(sp_row_file *file)
{
	bool is_open;
	piece full;

	pthread_mutex_lock(&file->lock);
	while (!file->ends && file->pending.size < PIECE / 2) {
		int64_t due = file->pending_since_ns + WAIT_NS;
		const struct timespec until = {due / 1000000000, due % 1000000000};

		if (file->pending.size == 0)
			pthread_cond_wait(&file->filled, &file->lock);
		else if (pthread_cond_timedwait(&file->filled, &file->lock, &until) == ETIMEDOUT)
			break;
	}
	is_open = !file->ends;
	full = file->pending;
	file->pending = (piece){.bytes = file->writing.bytes};
	file->writing = full;
	pthread_mutex_unlock(&file->lock);
	return is_open;
}

static void writer_main(void *context)
{
	sp_row_file *file = context;

	while (wait_for_piece(file))
		write_piece(file);
}

/* ---- life ---- */

static int open_unnamed(const char *folder)
{
	char path[4096];
	int fd = open(folder, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);

	if (fd >= 0 || (errno != EOPNOTSUPP && errno != EISDIR))
		return fd;
	if (snprintf(path, sizeof(path), "%s/sp-rows-XXXXXX", folder) >= (int)sizeof(path)) {
		errno = ENAMETOOLONG;
		return -1;
	}
	fd = mkostemp(path, O_CLOEXEC);
	if (fd >= 0)
		(void)unlink(path);
	return fd;
}

/* Reads and writes bypass the page cache, if the file system supports it. */
static sp_status open_file(sp_row_file *file, sp_error *err)
{
	if (mkdir(file->folder, 0755) != 0 && errno != EEXIST)
		return sp_file_failed(err, SP_IO, "make", file->folder);
	file->fd = open_unnamed(file->folder);
	if (file->fd < 0)
		return sp_file_failed(err, SP_IO, "make a file in", file->folder);
	(void)fcntl(file->fd, F_SETFL, O_DIRECT);
	return SP_OK;
}

static sp_status open_all(sp_row_file *file, const sp_row_file_options *options, sp_error *err)
{
	uint64_t bytes = options->cap_bytes;

	bytes = bytes > SP_ROW_FILE_MIN ? bytes : SP_ROW_FILE_MIN;
	bytes = bytes < SP_ROW_FILE_MAX ? bytes : SP_ROW_FILE_MAX;
	file->ring = bytes / PIECE * PIECE;
	file->unit_bits = MIN_UNIT_BITS;
	while (file->ring >> file->unit_bits > (uint64_t)1 << 31)
		file->unit_bits++;
	file->folder = sp_alloc_text(options->folder);
	file->pending.bytes = sp_alloc_aligned(PAGE, PIECE);
	file->writing.bytes = sp_alloc_aligned(PAGE, PIECE);
	SP_NEED_MEMORY(file->folder != NULL && file->pending.bytes != NULL &&
			       file->writing.bytes != NULL,
		       err, "a file of rows");
	memset(file->pending.bytes, 0, PIECE);
	memset(file->writing.bytes, 0, PIECE);
	SP_TRY(open_file(file, err));
	SP_TRY(sp_read_rings_open(&file->rings, options->readers != 0 ? options->readers : READERS,
				  options->no_rings, err));
	return sp_thread_group_create(&file->writer, 1, "sp-row-file", writer_main, file, err);
}

sp_status sp_row_file_open(sp_row_file **out, const sp_row_file_options *options, sp_error *err)
{
	sp_row_file *file = sp_alloc_zero(1, sizeof(*file));
	sp_status status;

	SP_NEED_MEMORY(file, err, "a file of rows");
	file->fd = -1;
	pthread_mutex_init(&file->lock, NULL);
	sp_condition_init(&file->filled);
	status = open_all(file, options, err);
	if (status != SP_OK) {
		sp_row_file_close(file);
		return status;
	}
	*out = file;
	return SP_OK;
}

void sp_row_file_close(sp_row_file *file)
{
	if (file == NULL)
		return;
	pthread_mutex_lock(&file->lock);
	file->ends = true;
	pthread_cond_signal(&file->filled);
	pthread_mutex_unlock(&file->lock);
	sp_thread_group_destroy(file->writer);
	sp_read_rings_destroy(file->rings);
	if (file->fd >= 0)
		close(file->fd);
	sp_region_fini(&file->region);
	pthread_cond_destroy(&file->filled);
	pthread_mutex_destroy(&file->lock);
	sp_free(file->pending.bytes);
	sp_free(file->writing.bytes);
	sp_free(file->folder);
	sp_free(file);
}

uint32_t sp_row_file_add_table(sp_row_file *file, size_t row_size, size_t row_count)
{
	double rows = row_count != SIZE_MAX ? (double)row_count : 1;
	uint32_t number;

	pthread_mutex_lock(&file->lock);
	number = file->table_count++;
	file->is_counted = row_count != SIZE_MAX && (number == 0 || file->is_counted);
	file->row_count += rows;
	file->row_bytes += rows * (double)padded(file, row_size);
	pthread_mutex_unlock(&file->lock);
	return number;
}

/* ---- writing ---- */

bool sp_row_file_put(sp_row_file *file, uint32_t table, int64_t key, const void *row, size_t size)
{
	const row_head head = {.crc = table, .size = (uint32_t)size, .key = key};
	size_t before, after;

	if (atomic_load_explicit(&file->is_off, memory_order_relaxed))
		return true;
	if (size > PIECE - PAGE)
		return false;
	pthread_mutex_lock(&file->lock);
	before = file->pending.size;
	after = before + padded(file, size);
	if (after <= PIECE) {
		memcpy(file->pending.bytes + before, &head, sizeof(head));
		memcpy(file->pending.bytes + before + sizeof(head), row, size);
		file->pending.size = after;
		if (before == 0)
			file->pending_since_ns = sp_clock_now_ns();
		if (before == 0 || (before < PIECE / 2 && after >= PIECE / 2))
			pthread_cond_signal(&file->filled);
	}
	pthread_mutex_unlock(&file->lock);
	return after <= PIECE;
}

/* ---- reading ---- */

bool sp_row_file_is_ready(const sp_row_file *file)
{
	int64_t until = atomic_load_explicit(&file->paused_until_ns, memory_order_relaxed);

	return sp_row_file_is_on(file) && (until == 0 || sp_clock_now_ns() >= until);
}

/* Whether the file may have the row.  *at: in, its hash; out, its position. */
static bool find(const sp_row_file *file, bucket_set *sets, uint64_t *at)
{
	uint64_t hash = *at, head;
	uint16_t tag = tag_of(hash);

	for (unsigned way_index = 0; way_index < 2 * WAYS; way_index++) {
		const bucket_set *set = set_of(file, sets, hash, way_index / WAYS);
		unsigned way = way_index % WAYS;

		if (atomic_load_explicit(&set->tags[way], memory_order_acquire) != tag)
			continue;
		head = atomic_load_explicit(&file->head, memory_order_acquire);
		*at = position_of(file, atomic_load_explicit(&set->at[way], memory_order_acquire),
				  head);
		if (is_valid(file, *at, head))
			return true;
	}
	return false;
}

size_t sp_row_file_find(const sp_row_file *file, sp_row_file_row *rows, size_t count)
{
	bucket_set *sets = atomic_load_explicit(&file->sets, memory_order_acquire);
	size_t found = 0;

	if (sets == NULL)
		return 0;
	for (size_t done = 0, end; done < count; done = end) {
		end = count - done < BLOCK ? count : done + BLOCK;
		for (size_t i = done; i < end; i++) {
			rows[i].at = hash_of(rows[i].table, rows[i].key);
			__builtin_prefetch(set_of(file, sets, rows[i].at, 0));
			__builtin_prefetch(set_of(file, sets, rows[i].at, 1));
		}
		for (size_t i = done; i < end; i++)
			if (find(file, sets, &rows[i].at))
				rows[found++] = rows[i];
	}
	return found;
}

typedef struct read_call {
	sp_row_file *file;
	const sp_row_file_row *rows;
	sp_row_file_callback *on_row;
	void *context;
} read_call;

static sp_sst_place place_of(const sp_read_request *request, size_t i)
{
	const read_call *call = request->owner;
	const sp_row_file_row *row = &call->rows[i];
	size_t before = row->at % PAGE;

	return (sp_sst_place){
		.fd = call->file->fd,
		.offset = row->at % call->file->ring - before,
		.span = (uint32_t)((before + sizeof(row_head) + row->size + PAGE - 1) / PAGE *
				   PAGE),
	};
}

/* The bytes at the position may be another key's row, or have been overwritten meanwhile. */
static void on_read(const sp_read_request *request, size_t i, const void *bytes)
{
	const read_call *call = request->owner;
	const sp_row_file_row *row = &call->rows[i];
	sp_row_file *file = call->file;
	uint64_t head = atomic_load(&file->head);
	const char *record;
	row_head stored;

	if (!is_valid(file, row->at, head) || atomic_load(&file->is_off))
		return;
	if (bytes == NULL) {
		call->on_row(call->context, row, NULL);
		return;
	}
	record = (const char *)bytes + row->at % PAGE;
	memcpy(&stored, record, sizeof(stored));
	if (stored.key != row->key || stored.size != row->size)
		return;
	if (stored.crc != crc_of(row->table, record, row->size)) {
		call->on_row(call->context, row, NULL);
		return;
	}
	record += sizeof(row_head);
	call->on_row(call->context, row, record);
	if (head - row->at > file->ring - PIECE - file->ring / 8)
		(void)sp_row_file_put(file, row->table, row->key, record, row->size);
}

void sp_row_file_read(sp_row_file *file, const sp_row_file_row *rows, size_t count,
		      sp_row_file_callback *on_row, void *context, int64_t deadline_ns)
{
	read_call call = {.file = file, .rows = rows, .on_row = on_row, .context = context};
	const sp_read_request request = {.count = count, .owner = &call, .place = place_of};
	int64_t start_ns = sp_clock_now_ns();
	size_t failed;
	sp_status status;

	if (count == 0)
		return;
	status = sp_read_rings_run(file->rings, &request, 1, on_read, deadline_ns, &failed, NULL);
	if (status == SP_OK)
		atomic_store_explicit(&file->late, 0, memory_order_relaxed);
	else if (status == SP_DEADLINE && deadline_ns - start_ns >= MIN_TIME_NS &&
		 atomic_fetch_add_explicit(&file->late, 1, memory_order_relaxed) + 1 >= MAX_LATE)
		atomic_store_explicit(&file->paused_until_ns, sp_clock_now_ns() + PAUSE_NS,
				      memory_order_relaxed);
}

/* ---- state ---- */

bool sp_row_file_is_on(const sp_row_file *file)
{
	return !atomic_load_explicit(&file->is_off, memory_order_relaxed);
}

size_t sp_row_file_footprint(const sp_row_file *file)
{
	bool has_index = atomic_load_explicit(&file->sets, memory_order_acquire) != NULL;

	return sizeof(*file) + 2 * PIECE + (has_index ? sp_region_footprint(&file->region) : 0);
}
