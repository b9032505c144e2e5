#include "storage/image/image.h"

#include <pthread.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/file.h"
#include "base/hash.h"
#include "base/log.h"
#include "base/mapping.h"
#include "base/size.h"
#include "base/store.h"
#include "base/thread.h"
#include "storage/placement/placement.h"

enum {
	HUGE_PAGE = 2 << 20,
	CHECK_BLOCK = 256, /* keys whose memory is asked for at once */
	HELPERS = 4,
	NS_PER_S = 1000000000,
};

/*
 * Chunks that a request waits for.  A page fault blocks the thread until the disk answers, so
 * requests with a deadline have chunks checked by helper threads.
 */
typedef enum job_state { JOB_FREE, JOB_ASKED, JOB_TAKEN, JOB_DONE } job_state;

typedef struct check_job {
	job_state state;
	bool is_abandoned; /* the request has left; the helper frees the job */
	size_t count;
	size_t chunks[CHECK_BLOCK];
} check_job;

struct sp_image {
	atomic_size_t references;
	char *path;
	sp_mapping mapping;
	dev_t device; /* of the mapped file; another file may have its path by now */
	ino_t inode;

	sp_image_header header;
	char *directory; /* a copy of all but the checksums */
	const sp_image_record *records;
	const sp_image_name *names;
	const char **name_texts; /* [name_count], not terminated */
	const uint32_t *crcs;    /* [chunk_count], in the mapping */

	_Atomic uint64_t *checked; /* a bit per chunk: checked and found right */
	atomic_bool all_checked;
	atomic_bool broken;
	atomic_bool stop;
	bool served; /* false: opened for inspection, and a broken file is kept */
	sp_thread_group *checker;

	pthread_mutex_t lock; /* protects the jobs */
	pthread_cond_t asked; /* for helpers: a job, or the end */
	pthread_cond_t done;  /* for requests: a job is done or free */
	check_job jobs[HELPERS];
	sp_thread_group *helpers; /* NULL: requests check chunks themselves */
};

/* ------------------------------------------------------------------- opening */

static sp_status corrupt(const sp_image *image, const char *what, sp_error *err)
{
	return sp_error_set(err, SP_CORRUPT, "image %s: %s", image->path, what);
}

static sp_status check_header(const sp_image *image, const sp_file *file, sp_error *err)
{
	const sp_image_header *h = &image->header;
	size_t directory_end;

	if (memcmp(h->magic, SP_IMAGE_MAGIC, sizeof(h->magic)) != 0)
		return corrupt(image, "it is no image", err);
	if (h->version != SP_IMAGE_VERSION || h->byte_order != SP_IMAGE_BYTE_ORDER)
		return sp_error_set(err, SP_INVALID,
				    "image %s: version %u, byte order %08x: not made for this "
				    "program",
				    image->path, h->version, h->byte_order);
	if (sp_crc32c(0, h, offsetof(sp_image_header, header_crc)) != h->header_crc)
		return corrupt(image, "its header fails its checksum", err);
	if (h->file_size != file->size)
		return sp_error_set(err, SP_CORRUPT, "image %s: it has %llu bytes, not %llu",
				    image->path, (unsigned long long)file->size,
				    (unsigned long long)h->file_size);
	if (!sp_size_add(&directory_end, SP_IMAGE_HEADER_SIZE, h->directory_size) ||
	    directory_end > h->data_start || h->data_start % SP_IMAGE_CHUNK != 0 ||
	    h->data_start > h->file_size ||
	    h->chunk_count != (h->file_size - h->data_start + SP_IMAGE_CHUNK - 1) / SP_IMAGE_CHUNK)
		return corrupt(image, "its header contradicts itself", err);
	return SP_OK;
}

/* Finds the parts of the directory; false when they do not fit into it. */
static bool find_parts(sp_image *image, size_t *names_start)
{
	const sp_image_header *h = &image->header;
	size_t end, size;

	if (!sp_size_round_up(&end, h->identity_size, 8) || end > h->directory_size)
		return false;
	image->records = (const void *)(image->directory + end);
	if (!sp_size_mul(&size, h->table_count, sizeof(sp_image_record)) ||
	    !sp_size_add(&end, end, size) || end > h->directory_size)
		return false;
	image->names = (const void *)(image->directory + end);
	if (!sp_size_mul(&size, h->name_count, sizeof(sp_image_name)) ||
	    !sp_size_add(&end, end, size) || end > h->directory_size)
		return false;
	*names_start = end;
	return true;
}

static sp_status find_names(sp_image *image, size_t at, size_t size, sp_error *err)
{
	const sp_image_header *h = &image->header;

	image->name_texts = sp_alloc_zero(h->name_count + 1, sizeof(*image->name_texts));
	SP_NEED_MEMORY(image->name_texts, err, "the names of image %s", image->path);
	for (size_t i = 0; i < h->name_count; i++) {
		const sp_image_name *name = &image->names[i];

		if (name->table >= h->table_count || name->size > size - at)
			return corrupt(image, "its directory contradicts itself", err);
		image->name_texts[i] = image->directory + at;
		at += name->size;
	}
	return SP_OK;
}

static bool lies_inside(const sp_image *image, uint64_t start, uint64_t size)
{
	size_t end;

	return start >= image->header.data_start && start % 8 == 0 &&
	       sp_size_add(&end, start, size) && end <= image->header.file_size;
}

/* Sizes of a table's slots, outliers included, and of its pilots; false on overflow. */
static bool sizes_of(const sp_image_record *r, size_t *slots, size_t *pilots)
{
	size_t row, outliers;

	return sp_size_mul(slots, r->slot_count, r->slot_size) &&
	       sp_size_mul(&row, r->dim, sizeof(float)) &&
	       sp_size_mul(&outliers, r->outlier_count, row) &&
	       sp_size_add(slots, *slots, outliers) &&
	       sp_size_mul(pilots, r->part_count, r->part_buckets);
}

static bool records_fit(const sp_image *image)
{
	for (size_t i = 0; i < image->header.table_count; i++) {
		const sp_image_record *r = &image->records[i];
		size_t slots, pilots;

		if (!sizes_of(r, &slots, &pilots) || !lies_inside(image, r->pilots_start, pilots) ||
		    !lies_inside(image, r->slots_start, slots))
			return false;
	}
	return true;
}

static sp_status read_directory(sp_image *image, sp_error *err)
{
	const sp_image_header *h = &image->header;
	const char *mapped = image->mapping.data + SP_IMAGE_HEADER_SIZE;
	size_t crcs_size, size, names;

	if (!sp_size_mul(&crcs_size, h->chunk_count, sizeof(uint32_t)) ||
	    crcs_size > h->directory_size)
		return corrupt(image, "its header contradicts itself", err);
	size = h->directory_size - crcs_size;
	image->directory = sp_alloc(size + 1);
	SP_NEED_MEMORY(image->directory, err, "%zu bytes of image %s", size, image->path);
	memcpy(image->directory, mapped, size);
	if (sp_crc32c(sp_crc32c(0, image->directory, size), mapped + size, crcs_size) !=
		    h->directory_crc ||
	    sp_mapping_is_broken(&image->mapping))
		return corrupt(image, "its directory fails its checksum", err);
	image->crcs = (const void *)(mapped + size);
	if (size % 8 != 0 || !find_parts(image, &names))
		return corrupt(image, "its directory contradicts itself", err);
	SP_TRY(find_names(image, names, size, err));
	return records_fit(image) ? SP_OK : corrupt(image, "its directory contradicts itself", err);
}

static sp_status check_identity(const sp_image *image, sp_bytes identity, sp_error *err)
{
	if (identity.data != NULL && !sp_bytes_equal(identity, sp_image_identity(image)))
		return sp_error_set(err, SP_INVALID, "image %s is of another version or setting",
				    image->path);
	return SP_OK;
}

static sp_status map_file(sp_image *image, sp_error *err)
{
	struct stat info;
	sp_file file;
	sp_status status;

	if (sp_store_is_remote(image->path))
		return sp_error_set(
			err, SP_UNSUPPORTED,
			"image %s is in an object store, and an image is mapped: copy it "
			"to a disk",
			image->path);
	SP_TRY(sp_file_open(&file, image->path, err));
	if (file.size < SP_IMAGE_HEADER_SIZE)
		status = corrupt(image, "it is too short", err);
	else
		status = sp_file_read_at(&file, 0, &image->header, SP_IMAGE_HEADER_SIZE, err);
	if (status == SP_OK)
		status = check_header(image, &file, err);
	if (status == SP_OK && fstat(file.fd, &info) == 0) {
		image->device = info.st_dev;
		image->inode = info.st_ino;
	}
	if (status == SP_OK)
		status = sp_mapping_open(&image->mapping, &file, err);
	sp_file_close(&file);
	return status;
}

/* ------------------------------------------------------------------ checking */

/* Marks the image as broken and, the first time, logs it and removes the file. */
static void break_image(sp_image *image, const char *why)
{
	struct stat info;

	if (atomic_exchange(&image->broken, true) || !image->served)
		return;
	sp_log(SP_LOG_ERROR, "image %s is broken and will be made again: %s", image->path, why);
	if (stat(image->path, &info) == 0 && info.st_dev == image->device &&
	    info.st_ino == image->inode)
		unlink(image->path);
}

static sp_status say_broken(const sp_image *image, sp_error *err)
{
	return sp_error_set(err, SP_CORRUPT, "image %s is broken", image->path);
}

static bool is_checked(const sp_image *image, size_t chunk)
{
	return atomic_load_explicit(&image->checked[chunk / 64], memory_order_acquire) >>
		       chunk % 64 &
	       1;
}

static bool check_chunk(sp_image *image, size_t chunk)
{
	size_t start = image->header.data_start + chunk * SP_IMAGE_CHUNK;
	size_t left = image->header.file_size - start;
	size_t size = left < SP_IMAGE_CHUNK ? left : SP_IMAGE_CHUNK;
	bool right;

	if (is_checked(image, chunk))
		return true;
	right = sp_crc32c(0, image->mapping.data + start, size) == image->crcs[chunk] &&
		!sp_mapping_is_broken(&image->mapping);
	if (right)
		atomic_fetch_or_explicit(&image->checked[chunk / 64], UINT64_C(1) << chunk % 64,
					 memory_order_release);
	else
		break_image(image, sp_mapping_is_broken(&image->mapping)
					   ? "the file has been cut short, or cannot be read"
					   : "a checksum is wrong");
	return right;
}

/* Prefetches all chunks, then checks one after the other. */
static bool check_chunks(sp_image *image, size_t from, size_t to)
{
	size_t start = image->header.data_start + from * SP_IMAGE_CHUNK;

	sp_mapping_advise(&image->mapping, start, (to - from) * SP_IMAGE_CHUNK,
			  SP_MAPPING_WILL_NEED);
	/* If this fails, as for a truncated file, the checksum will be wrong. */
	(void)!sp_mapping_populate(&image->mapping, start, (to - from) * SP_IMAGE_CHUNK);
	for (size_t i = from; i < to; i++)
		if (!check_chunk(image, i))
			return false;
	return true;
}

sp_status sp_image_check(sp_image *image, size_t from, size_t to, sp_error *err)
{
	return check_chunks(image, from, to) ? SP_OK : say_broken(image, err);
}

/*
 * Checks all chunks in order, through huge pages where the file system has them.  Elsewhere the
 * advice stays RANDOM: otherwise each lookup would make the kernel read megabytes around its page.
 */
static void check_all(void *context)
{
	enum { STEP = HUGE_PAGE / SP_IMAGE_CHUNK };
	sp_image *image = context;
	size_t count = image->header.chunk_count;

	for (size_t i = 0; i < count; i += STEP) {
		size_t start = image->header.data_start + i * SP_IMAGE_CHUNK;

		sp_mapping_advise(&image->mapping, start, HUGE_PAGE, SP_MAPPING_HUGE);
		if (atomic_load(&image->stop) ||
		    !check_chunks(image, i, i + STEP < count ? i + STEP : count))
			return;
	}
	pthread_mutex_lock(&image->lock);
	atomic_store(&image->all_checked, true);
	pthread_cond_broadcast(&image->asked);
	pthread_mutex_unlock(&image->lock);
	sp_log(SP_LOG_INFO, "image %s is in memory and checked", image->path);
}

/* ------------------------------------------------------------------- helpers */

/* A job in this state, or NULL; under the lock. */
static check_job *find_job(sp_image *image, job_state state)
{
	for (size_t i = 0; i < HELPERS; i++)
		if (image->jobs[i].state == state)
			return &image->jobs[i];
	return NULL;
}

/* Prefetches a chunk that is not checked yet. */
static void prefetch_chunk(const sp_image *image, size_t chunk)
{
	if (!is_checked(image, chunk))
		sp_mapping_advise(&image->mapping,
				  image->header.data_start + chunk * SP_IMAGE_CHUNK, SP_IMAGE_CHUNK,
				  SP_MAPPING_WILL_NEED);
}

/* Prefetches all chunks before it checks the first. */
static void do_job(sp_image *image, const check_job *job)
{
	for (size_t i = 0; i < job->count; i++)
		prefetch_chunk(image, job->chunks[i]);
	for (size_t i = 0; i < job->count; i++)
		if (!is_checked(image, job->chunks[i]) &&
		    !check_chunks(image, job->chunks[i], job->chunks[i] + 1))
			return;
}

/*
 * Main function of a helper: ends when the image is closed, or when all chunks are checked and no
 * job waits.
 */
static void helper_main(void *context)
{
	sp_image *image = context;

	pthread_mutex_lock(&image->lock);
	while (!atomic_load(&image->stop)) {
		check_job *job = find_job(image, JOB_ASKED);

		if (job == NULL) {
			if (atomic_load(&image->all_checked))
				break;
			pthread_cond_wait(&image->asked, &image->lock);
			continue;
		}
		job->state = JOB_TAKEN;
		pthread_mutex_unlock(&image->lock);
		do_job(image, job);
		pthread_mutex_lock(&image->lock);
		job->state = job->is_abandoned ? JOB_FREE : JOB_DONE;
		pthread_cond_broadcast(&image->done);
	}
	pthread_mutex_unlock(&image->lock);
}

/* Under the lock: waits until a helper signals; false after the deadline. */
static bool wait_for_helpers(sp_image *image, int64_t deadline_ns)
{
	const struct timespec until = {deadline_ns / NS_PER_S, deadline_ns % NS_PER_S};

	if (sp_clock_now_ns() >= deadline_ns)
		return false;
	pthread_cond_timedwait(&image->done, &image->lock, &until);
	return true;
}

/* Under the lock: lets a helper do the job; false after the deadline. */
static bool run_job(sp_image *image, const check_job *wanted, int64_t deadline_ns)
{
	check_job *job;

	while ((job = find_job(image, JOB_FREE)) == NULL)
		if (!wait_for_helpers(image, deadline_ns))
			return false;
	if (atomic_load(&image->all_checked)) /* helpers may have ended */
		return true;
	*job = *wanted;
	job->state = JOB_ASKED;
	pthread_cond_signal(&image->asked);
	while (job->state != JOB_DONE) {
		if (wait_for_helpers(image, deadline_ns))
			continue;
		if (job->state == JOB_TAKEN)
			job->is_abandoned = true;
		else
			job->state = JOB_FREE;
		return false;
	}
	job->state = JOB_FREE;
	pthread_cond_broadcast(&image->done);
	return true;
}

static sp_status await_job(sp_image *image, const check_job *job, int64_t deadline_ns,
			   sp_error *err)
{
	bool in_time;

	if (job->count == 0)
		return SP_OK;
	pthread_mutex_lock(&image->lock);
	in_time = run_job(image, job, deadline_ns);
	pthread_mutex_unlock(&image->lock);
	if (atomic_load(&image->broken))
		return say_broken(image, err);
	return in_time ? SP_OK
		       : sp_error_set(
				 err, SP_DEADLINE,
				 "image %s: the deadline has passed before the disk has answered",
				 image->path);
}

/* --------------------------------------------------------------- life, facts */

static sp_status load(sp_image *image, const char *path, sp_bytes identity, sp_error *err)
{
	atomic_init(&image->references, 1);
	pthread_mutex_init(&image->lock, NULL);
	sp_condition_init(&image->asked);
	sp_condition_init(&image->done);
	image->path = sp_alloc_text(path);
	SP_NEED_MEMORY(image->path, err, "the path of an image");
	SP_TRY(map_file(image, err));
	SP_TRY(read_directory(image, err));
	SP_TRY(check_identity(image, identity, err));
	image->checked = sp_alloc_zero(image->header.chunk_count / 64 + 1, sizeof(uint64_t));
	SP_NEED_MEMORY(image->checked, err, "checking image %s", path);
	sp_mapping_advise(&image->mapping, 0, image->mapping.size, SP_MAPPING_RANDOM);
	return SP_OK;
}

static void destroy(sp_image *image)
{
	pthread_mutex_lock(&image->lock);
	atomic_store(&image->stop, true);
	pthread_cond_broadcast(&image->asked);
	pthread_mutex_unlock(&image->lock);
	sp_thread_group_destroy(image->helpers);
	sp_thread_group_destroy(image->checker);
	pthread_cond_destroy(&image->asked);
	pthread_cond_destroy(&image->done);
	pthread_mutex_destroy(&image->lock);
	sp_mapping_close(&image->mapping);
	sp_free((void *)image->checked);
	sp_free(image->name_texts);
	sp_free(image->directory);
	sp_free(image->path);
	sp_free(image);
}

static sp_status create(sp_image **out, const char *path, sp_bytes identity, sp_error *err)
{
	sp_image *image = *out = sp_alloc_zero(1, sizeof(*image));
	sp_status status;

	SP_NEED_MEMORY(image, err, "image %s", path);
	status = load(image, path, identity, err);
	if (status != SP_OK) {
		destroy(image);
		*out = NULL;
	}
	return status;
}

sp_status sp_image_open(sp_image **out, const char *path, sp_bytes identity, sp_error *err)
{
	sp_status status;

	SP_TRY(create(out, path, identity, err));
	(*out)->served = true;
	status = sp_thread_group_create(&(*out)->helpers, HELPERS, "sp-image-help", helper_main,
					*out, err);
	if (status == SP_OK)
		status = sp_thread_group_create(&(*out)->checker, 1, "sp-image", check_all, *out,
						err);
	if (status != SP_OK) {
		sp_image_release(*out);
		*out = NULL;
	}
	return status;
}

sp_status sp_image_examine(sp_image **out, const char *path, sp_error *err)
{
	return create(out, path, (sp_bytes){0}, err);
}

void sp_image_release(sp_image *image)
{
	if (image != NULL && atomic_fetch_sub(&image->references, 1) == 1)
		destroy(image);
}

const char *sp_image_path(const sp_image *image)
{
	return image->path;
}

sp_bytes sp_image_identity(const sp_image *image)
{
	return (sp_bytes){image->directory, image->header.identity_size};
}

size_t sp_image_table_count(const sp_image *image)
{
	return image->header.table_count;
}

size_t sp_image_name_count(const sp_image *image)
{
	return image->header.name_count;
}

sp_bytes sp_image_name_at(const sp_image *image, size_t i, size_t *table)
{
	*table = image->names[i].table;
	return (sp_bytes){image->name_texts[i], image->names[i].size};
}

bool sp_image_find(const sp_image *image, const char *name, size_t *table, uint64_t *note)
{
	for (size_t i = 0; i < image->header.name_count; i++) {
		if (!sp_bytes_equal_text(sp_image_name_at(image, i, table), name))
			continue;
		if (note != NULL)
			*note = image->names[i].note;
		return true;
	}
	return false;
}

uint64_t sp_image_size(const sp_image *image)
{
	return image->header.file_size;
}

bool sp_image_is_broken(const sp_image *image)
{
	return atomic_load(&image->broken) || sp_mapping_is_broken(&image->mapping);
}

bool sp_image_is_checked(const sp_image *image)
{
	return atomic_load(&image->all_checked);
}

size_t sp_image_chunk_count(const sp_image *image)
{
	return image->header.chunk_count;
}

/* ---------------------------------------------------------------------- rows */

/* The data chunks [first, last] that contain `size` bytes. */
typedef struct chunk_range {
	size_t first;
	size_t last;
} chunk_range;

static chunk_range chunks_of(const sp_image *image, const void *bytes, size_t size)
{
	size_t at = (size_t)((const char *)bytes - image->mapping.data) - image->header.data_start;

	return (chunk_range){at / SP_IMAGE_CHUNK, (at + size - 1) / SP_IMAGE_CHUNK};
}

/* For requests without a deadline: checks the chunks in this thread. */
static sp_status check_ranges_here(sp_image *image, const chunk_range *ranges, size_t count,
				   sp_error *err)
{
	for (size_t r = 0; r < count; r++)
		for (size_t i = ranges[r].first; i <= ranges[r].last; i++)
			prefetch_chunk(image, i);
	for (size_t r = 0; r < count; r++)
		for (size_t i = ranges[r].first; i <= ranges[r].last; i++)
			if (!is_checked(image, i) && !check_chunks(image, i, i + 1))
				return say_broken(image, err);
	return SP_OK;
}

static sp_status check_ranges(sp_image *image, const chunk_range *ranges, size_t count,
			      int64_t deadline_ns, sp_error *err)
{
	check_job job = {.count = 0};

	if (deadline_ns == 0 || image->helpers == NULL)
		return check_ranges_here(image, ranges, count, err);
	for (size_t r = 0; r < count; r++)
		for (size_t i = ranges[r].first; i <= ranges[r].last; i++) {
			if (is_checked(image, i) ||
			    (job.count != 0 && job.chunks[job.count - 1] == i))
				continue;
			if (job.count == CHECK_BLOCK) {
				SP_TRY(await_job(image, &job, deadline_ns, err));
				job.count = 0;
			}
			job.chunks[job.count++] = i;
		}
	return await_job(image, &job, deadline_ns, err);
}

/*
 * Checks in three rounds, each of which reads what the previous one has checked: pilots, slots, and
 * the outliers that slots refer to.
 */
static sp_status check_keys(sp_image *image, const sp_rows *rows, const int64_t *keys, size_t count,
			    int64_t deadline_ns, sp_error *err)
{
	const sp_rows_shape *shape = sp_rows_get_shape(rows);
	chunk_range ranges[CHECK_BLOCK];
	const char *at[CHECK_BLOCK]; /* each key's pilot, then its slot */
	size_t outliers = 0;

	for (size_t i = 0; i < count; i++) {
		uint64_t hash = sp_placement_hash(&shape->placement, keys[i]);

		at[i] = (const char *)sp_rows_pilots(rows) +
			sp_placement_bucket(&shape->placement, hash);
		ranges[i] = chunks_of(image, at[i], 1);
	}
	SP_TRY(check_ranges(image, ranges, count, deadline_ns, err));
	for (size_t i = 0; i < count; i++) {
		uint64_t hash = sp_placement_hash(&shape->placement, keys[i]);

		at[i] = (const char *)sp_rows_slots(rows) +
			sp_placement_slot(&shape->placement, hash, (uint8_t)*at[i]) *
				shape->slot_size;
		ranges[i] = chunks_of(image, at[i], shape->slot_size);
	}
	SP_TRY(check_ranges(image, ranges, count, deadline_ns, err));
	for (size_t i = 0; i < count; i++) {
		size_t size;
		const void *row = sp_rows_outlier_of(rows, at[i], &size);

		if (row != NULL)
			ranges[outliers++] = chunks_of(image, row, size);
	}
	return check_ranges(image, ranges, outliers, deadline_ns, err);
}

static sp_status prepare(void *owner, const sp_rows *rows, const int64_t *keys, size_t count,
			 int64_t deadline_ns, sp_error *err)
{
	sp_image *image = owner;

	if (atomic_load_explicit(&image->broken, memory_order_relaxed))
		return say_broken(image, err);
	if (atomic_load_explicit(&image->all_checked, memory_order_acquire))
		return SP_OK;
	for (size_t i = 0, n; i < count; i += n) {
		n = count - i < CHECK_BLOCK ? count - i : CHECK_BLOCK;
		SP_TRY(check_keys(image, rows, keys + i, n, deadline_ns, err));
	}
	return SP_OK;
}

static sp_status confirm(void *owner, sp_error *err)
{
	sp_image *image = owner;

	if (sp_mapping_is_broken(&image->mapping))
		break_image(image, "the file has been cut short, or cannot be read");
	return atomic_load(&image->broken) ? say_broken(image, err) : SP_OK;
}

static bool is_whole(void *owner)
{
	return sp_image_is_checked(owner);
}

static const sp_rows_guard guard = {prepare, confirm, is_whole};

sp_status sp_image_find_row(sp_stored_row *out, bool *found, sp_image *image, const sp_rows *rows,
			    int64_t key, sp_error *err)
{
	SP_TRY(prepare(image, rows, &key, 1, 0, err));
	*found = sp_rows_find(rows, key, out);
	return confirm(image, err);
}

static void release_image(void *image)
{
	sp_image_release(image);
}

sp_status sp_image_take_rows(sp_rows **out, sp_image *image, size_t table, sp_error *err)
{
	const sp_image_record *r = &image->records[table];
	sp_rows_shape shape = {.format = (sp_row_format)r->format,
			       .layout = (sp_rows_layout)r->layout,
			       .dim = r->dim,
			       .row_count = r->row_count,
			       .outlier_count = r->outlier_count,
			       .slot_size = r->slot_size,
			       .placement = {.key_count = r->row_count,
					     .slot_count = r->slot_count,
					     .part_count = r->part_count,
					     .part_slots = r->part_slots,
					     .part_buckets = r->part_buckets,
					     .seed = {r->seed[0], r->seed[1]}}};
	sp_rows_memory memory = {.slots = image->mapping.data + r->slots_start,
				 .pilots = image->mapping.data + r->pilots_start,
				 .guard = &guard,
				 .release = release_image,
				 .owner = image};
	sp_status status;

	if (r->format >= SP_ROW_FORMATS || r->layout >= SP_ROWS_LAYOUTS ||
	    !sizes_of(r, &memory.slots_size, &memory.pilots_size))
		return corrupt(image, "a table has rows of an unknown format", err);
	atomic_fetch_add(&image->references, 1);
	status = sp_rows_over(out, &shape, &memory, err);
	if (status != SP_OK) {
		sp_image_release(image);
		return sp_error_prefix(err, status, "image %s", image->path);
	}
	return SP_OK;
}
