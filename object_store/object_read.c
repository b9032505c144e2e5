#include "object_store/object_read.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/file.h"
#include "object_store/protocol.h"
#include "object_store/transfer.h"

enum {
	MAX_QUEUED = 4096,      /* blocks that wait to be read ahead */
	WINDOW = 6,             /* blocks that are read ahead of a sequential reader, at first */
	MAX_WINDOW = 24,        /* and later, if there are no hints */
	MIN_BYTES_PER_MS = 512, /* assumed for the timeout of a whole object */
};

/* How long a block that was fetched but not read is kept. */
#define UNREAD_NS (INT64_C(60) * 1000000000)

typedef enum block_state { QUEUED, RUNNING, READY, FAILED } block_state;

typedef struct block {
	sp_transfer transfer; /* the first member */
	sp_store_object *object;
	uint64_t start;
	size_t size;
	char *data;        /* NULL while it is queued */
	size_t filled;     /* bytes received */
	size_t awaited;    /* the smallest `filled` that a reader waits for; SIZE_MAX: none */
	size_t bytes_read; /* by all readers together */
	unsigned pins;     /* readers that use it */
	bool is_once;      /* will be read once */
	bool is_checked;   /* the headers of the current response are */
	block_state state;
	int64_t used_ns;
	struct block *before, *after; /* in `queue` or `ready` */
} block;

/* A list with the oldest first. */
typedef struct block_list {
	block *first, *last;
} block_list;

/* The download of a whole object to a temporary file, from a server that ignores ranges. */
typedef struct spool {
	sp_transfer transfer; /* the first member */
	sp_store_object *object;
	int fd;
	uint64_t at, filled; /* bytes written by this attempt, and by any */
	bool is_running, is_checked;
	sp_error why;
} spool;

/* The position of one of several sequential readers. */
typedef struct read_cursor {
	size_t last;   /* the block that was read last; SIZE_MAX: none */
	size_t window; /* blocks to read ahead */
	int64_t used_ns;
} read_cursor;

enum { CURSORS = 4 };

struct sp_store_object {
	sp_object_url url;
	sp_account *account;
	uint64_t size;
	int64_t modified_s;
	char etag[128];
	int64_t timeout_ms;
	size_t users; /* the opener, each block, and a running spool */
	bool is_closed;
	bool has_no_ranges;
	spool spool;
	read_cursor cursors[CURSORS];
	bool has_hints;
	size_t block_count;
	bool *is_done; /* [block_count] all of the block was read before */
	block *blocks[];
};

/* Protects everything here; a block's data is written by the transfers' thread without it. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static block_list queue, ready;
static size_t queued, bytes_used;
static char *spare[SP_OBJECT_MEMORY / SP_OBJECT_BLOCK]; /* buffers of whole blocks */
static size_t spare_count, open_count;

/* ---------------------------------------------------------------------- lists */

static void list_append(block_list *list, block *b)
{
	b->before = list->last;
	b->after = NULL;
	*(list->last != NULL ? &list->last->after : &list->first) = b;
	list->last = b;
}

static void list_remove(block_list *list, block *b)
{
	*(b->before != NULL ? &b->before->after : &list->first) = b->after;
	*(b->after != NULL ? &b->after->before : &list->last) = b->before;
	b->before = b->after = NULL;
}

/* --------------------------------------------------------------------- memory */

/* Whole blocks are mapped, so that freeing them returns their memory to the system. */
static char *map_whole(void)
{
	char *data = mmap(NULL, SP_OBJECT_BLOCK, PROT_READ | PROT_WRITE,
			  MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (data == MAP_FAILED)
		return NULL;
	(void)madvise(data, SP_OBJECT_BLOCK, MADV_HUGEPAGE);
	return data;
}

static void free_data(block *b)
{
	if (b->data == NULL)
		return;
	bytes_used -= b->size;
	if (b->size == SP_OBJECT_BLOCK && spare_count < sizeof(spare) / sizeof(spare[0]))
		spare[spare_count++] = b->data;
	else if (b->size == SP_OBJECT_BLOCK)
		munmap(b->data, SP_OBJECT_BLOCK);
	else
		sp_free(b->data);
	b->data = NULL;
}

static void drop_spare(void)
{
	while (spare_count != 0)
		munmap(spare[--spare_count], SP_OBJECT_BLOCK);
}

/* Frees the object after its last user. */
static void release(sp_store_object *object)
{
	if (--object->users != 0)
		return;
	if (object->spool.fd >= 0)
		close(object->spool.fd);
	sp_free(object);
	if (open_count == 0)
		drop_spare();
}

static bool is_fully_read(const block *b)
{
	return b->bytes_read >= b->size;
}

/* Frees a block that no transfer and no reader uses. */
static void drop_block(block *b)
{
	sp_store_object *object = b->object;

	if (b->state == READY)
		list_remove(&ready, b);
	if (b->state == QUEUED) {
		list_remove(&queue, b);
		queued--;
	}
	object->blocks[b->start / SP_OBJECT_BLOCK] = NULL;
	object->is_done[b->start / SP_OBJECT_BLOCK] |= is_fully_read(b);
	free_data(b);
	sp_free(b);
	release(object);
	if (queued != 0)
		sp_transfers_wake();
}

/* Bytes of ready blocks that were fully read and may be read again. */
static size_t cached_bytes(void)
{
	size_t bytes = 0;

	for (const block *b = ready.first; b != NULL; b = b->after)
		if (is_fully_read(b))
			bytes += b->size;
	return bytes;
}

/*
 * The block to evict: if the fully read ones exceed SP_OBJECT_CACHE, the newest of them, because a
 * second pass begins with the oldest; else one that has not been used for UNREAD_NS.  NULL: none.
 * With `force` also a cached one, then the newest of those not read yet, then any without a pin.
 */
static block *find_victim(bool force)
{
	bool is_full = force || cached_bytes() > SP_OBJECT_CACHE;
	int64_t now = sp_clock_now_ns();

	for (block *b = ready.last; b != NULL && is_full; b = b->before)
		if (b->pins == 0 && is_fully_read(b))
			return b;
	for (block *b = ready.first; b != NULL; b = b->after)
		if (b->pins == 0 && now - b->used_ns > UNREAD_NS)
			return b;
	for (block *b = ready.last; b != NULL && force; b = b->before)
		if (b->pins == 0 && b->bytes_read == 0)
			return b;
	for (block *b = ready.first; b != NULL && force; b = b->after)
		if (b->pins == 0)
			return b;
	return NULL;
}

/* Evicts blocks until one of that size fits; false: it does not fit. */
static bool make_room(size_t size, bool force)
{
	block *victim;

	while (bytes_used + size > SP_OBJECT_MEMORY && (victim = find_victim(force)) != NULL)
		drop_block(victim);
	return bytes_used + size <= SP_OBJECT_MEMORY;
}

static bool alloc_data(block *b)
{
	if (b->size == SP_OBJECT_BLOCK && spare_count != 0)
		b->data = spare[--spare_count];
	else
		b->data = b->size == SP_OBJECT_BLOCK ? map_whole() : sp_alloc(b->size);
	if (b->data != NULL)
		bytes_used += b->size;
	return b->data != NULL;
}

/* ------------------------------------------------------------------ transfers */

static sp_status make_request(sp_http_request *out, const sp_store_object *object, sp_object_op *op,
			      sp_error *err)
{
	op->etag = object->etag;
	return sp_protocol_make_request(out, &object->url, object->account, op, err);
}

static sp_status prepare_block(sp_transfer *t, sp_http_request *out, sp_error *err)
{
	block *b = (block *)t;
	sp_object_op op = {.kind = SP_OBJECT_OP_RANGE,
			   .first = b->start + b->filled,
			   .size = b->size - b->filled};

	b->is_checked = false;
	return make_request(out, b->object, &op, err);
}

/* Fails if the response is of a newer version of the object than was opened. */
static sp_status check_same(const sp_store_object *object, const sp_http_response *response,
			    sp_error *err)
{
	bool is_tag_known = object->etag[0] != '\0' && response->etag[0] != '\0';

	if ((is_tag_known && strcmp(object->etag, response->etag) != 0) ||
	    (!is_tag_known && object->modified_s != 0 && response->modified_s != 0 &&
	     object->modified_s != response->modified_s))
		return sp_error_set(err, SP_IO, "the object was changed while it was read");
	return SP_OK;
}

/* Checks the headers of the response to a range request; SP_BUSY: it may be retried. */
static sp_status check_range(sp_store_object *object, const block *b,
			     const sp_http_response *response, sp_error *err)
{
	uint64_t first = b->start + b->filled, left = b->size - b->filled;

	SP_TRY(check_same(object, response, err));
	if (response->status == 206) {
		if (response->has_range && response->total != object->size)
			return sp_error_set(err, SP_IO,
					    "the object was changed while it was read: it has "
					    "%" PRIu64 " bytes, no longer %" PRIu64,
					    response->total, object->size);
		if (response->has_range && response->first == first &&
		    response->last == first + left - 1)
			return SP_OK;
		return sp_error_set(err, SP_BUSY,
				    "the server sends another range than was asked "
				    "for");
	}
	/* WebHDFS has no ranges of HTTP. */
	if (object->url.kind == SP_OBJECT_HDFS &&
	    (response->length == left || response->length == UINT64_MAX))
		return SP_OK;
	if (response->length == object->size && first == 0 && left == object->size)
		return SP_OK;
	if (object->url.kind == SP_OBJECT_HTTP && response->length == object->size) {
		object->has_no_ranges = true;
		return sp_error_set(err, SP_UNSUPPORTED, "the server sends no ranges");
	}
	return sp_error_set(err, SP_BUSY, "the server sends %" PRId64 " bytes, not %" PRIu64,
			    (int64_t)response->length, left);
}

static sp_status receive_block(sp_transfer *t, const char *data, size_t size, sp_error *err)
{
	block *b = (block *)t;
	sp_status status = SP_OK;

	if (b->filled < b->size && size <= b->size - b->filled && b->is_checked) {
		memcpy(b->data + b->filled, data, size);
	}
	pthread_mutex_lock(&lock);
	if (b->object->is_closed)
		status = sp_error_set(err, SP_CANCELLED, "the object is closed");
	if (status == SP_OK && !b->is_checked) {
		status = check_range(b->object, b, &t->response, err);
		b->is_checked = status == SP_OK;
		if (status == SP_OK && size <= b->size - b->filled)
			memcpy(b->data + b->filled, data, size);
	}
	if (status == SP_OK && size > b->size - b->filled)
		status = sp_error_set(err, SP_BUSY, "the server sends more than was asked for");
	if (status == SP_OK)
		b->filled += size;
	if (b->filled >= b->awaited)
		pthread_cond_broadcast(&changed);
	pthread_mutex_unlock(&lock);
	return status;
}

static sp_status verify_block(sp_transfer *t, sp_error *err)
{
	block *b = (block *)t;

	if (b->filled == b->size)
		return SP_OK;
	return sp_error_set(err, SP_BUSY, "the server's answer ends %zu bytes too early",
			    b->size - b->filled);
}

static void end_block(sp_transfer *t)
{
	block *b = (block *)t;

	if (t->is_denied)
		sp_account_report_denied(b->object->account);
	pthread_mutex_lock(&lock);
	sp_protocol_prefix(&t->error, t->status, &b->object->url);
	b->state = t->status == SP_OK ? READY : FAILED;
	b->used_ns = sp_clock_now_ns();
	if (b->state == READY)
		list_append(&ready, b);
	if (b->pins == 0 && (b->state == FAILED || b->object->is_closed))
		drop_block(b);
	pthread_cond_broadcast(&changed);
	pthread_mutex_unlock(&lock);
}

sp_transfer *sp_object_next_block(void)
{
	block *b;

	pthread_mutex_lock(&lock);
	b = queue.first;
	if (b != NULL && (!make_room(b->size, false) || !alloc_data(b)))
		b = NULL;
	if (b != NULL) {
		list_remove(&queue, b);
		queued--;
		b->state = RUNNING;
	}
	pthread_mutex_unlock(&lock);
	return b != NULL ? &b->transfer : NULL;
}

/* ---------------------------------------------------------------------- blocks */

/* NULL when out of memory. */
static block *add_block(sp_store_object *object, size_t number)
{
	block *b = sp_alloc_zero(1, sizeof(*b));
	uint64_t start = (uint64_t)number * SP_OBJECT_BLOCK, left = object->size - start;

	if (b == NULL)
		return NULL;
	b->transfer = (sp_transfer){.prepare = prepare_block,
				    .receive = receive_block,
				    .verify = verify_block,
				    .end = end_block,
				    .timeout_ms = object->timeout_ms};
	b->object = object;
	b->start = start;
	b->size = left < SP_OBJECT_BLOCK ? (size_t)left : SP_OBJECT_BLOCK;
	b->awaited = SIZE_MAX;
	b->state = QUEUED;
	list_append(&queue, b);
	queued++;
	object->users++;
	object->blocks[number] = b;
	return b;
}

/* Queues the blocks that do not exist yet; true if there are any. */
static bool queue_blocks(sp_store_object *object, size_t first, size_t end, bool is_once)
{
	bool any = false;

	for (size_t i = first; i < end && i < object->block_count && queued < MAX_QUEUED; i++) {
		block *b = object->blocks[i];

		if (b != NULL || (b = add_block(object, i)) == NULL)
			continue;
		b->is_once = is_once;
		any = true;
	}
	return any;
}

/* Starts the block that a reader waits for. */
static sp_status start_block(block *b, sp_error *err)
{
	(void)(make_room(b->size, false) || make_room(b->size, true));
	SP_NEED_MEMORY(alloc_data(b), err, "%zu bytes of an object", b->size);
	SP_TRY(sp_transfer_start(&b->transfer, err));
	list_remove(&queue, b);
	queued--;
	b->state = RUNNING;
	return SP_OK;
}

/* The cursor that is at this block or the one before it; else the oldest one, reset. */
static read_cursor *find_cursor(sp_store_object *object, size_t number)
{
	read_cursor *oldest = object->cursors;

	for (size_t i = 0; i < CURSORS; i++) {
		read_cursor *cursor = &object->cursors[i];

		if (cursor->last == number ||
		    (cursor->last != SIZE_MAX && cursor->last + 1 == number))
			return cursor;
		if (cursor->used_ns < oldest->used_ns)
			oldest = cursor;
	}
	*oldest = (read_cursor){.last = number == 0 ? SIZE_MAX : number};
	return oldest;
}

/* Queues the blocks that a sequential reader will read next. */
static void read_ahead(sp_store_object *object, size_t number)
{
	read_cursor *cursor = find_cursor(object, number);
	size_t end = number + 1;

	cursor->used_ns = sp_clock_now_ns();
	if (number == cursor->last)
		return;
	cursor->last = number;
	cursor->window = cursor->window == 0 || object->has_hints ? WINDOW
			 : cursor->window < MAX_WINDOW / 2        ? 2 * cursor->window
								  : MAX_WINDOW;
	while (end <= number + cursor->window && end < object->block_count && !object->is_done[end])
		end++;
	if (queue_blocks(object, number + 1, end, false))
		sp_transfers_wake();
}

/* Waits until `end` bytes of the block have been received. */
static sp_status wait_for_bytes(block *b, size_t end, sp_error *err)
{
	while (b->filled < end && b->state != FAILED && b->state != READY) {
		if (end < b->awaited)
			b->awaited = end;
		pthread_cond_wait(&changed, &lock);
	}
	b->awaited = SIZE_MAX; /* readers that still wait set it again */
	pthread_cond_broadcast(&changed);
	if (b->filled >= end)
		return SP_OK;
	if (err != NULL)
		*err = b->transfer.error;
	return b->transfer.error.status;
}

/* Reads within one block. */
static sp_status read_block(sp_store_object *object, uint64_t offset, void *buffer, size_t size,
			    sp_error *err)
{
	size_t number = (size_t)(offset / SP_OBJECT_BLOCK), at = (size_t)(offset % SP_OBJECT_BLOCK);
	block *b = object->blocks[number];
	sp_status status = SP_OK;

	read_ahead(object, number);
	if (b == NULL && (b = add_block(object, number)) == NULL)
		return sp_no_memory(err, "a block of an object");
	b->pins++;
	if (b->state == QUEUED)
		status = start_block(b, err);
	if (status == SP_OK)
		status = wait_for_bytes(b, at + size, err);
	if (status == SP_OK) {
		pthread_mutex_unlock(&lock);
		memcpy(buffer, b->data + at, size);
		pthread_mutex_lock(&lock);
		b->bytes_read += size;
	}
	b->pins--;
	if (b->state == READY) {
		b->used_ns = sp_clock_now_ns();
		list_remove(&ready, b);
		list_append(&ready, b);
	}
	if (b->pins == 0 && (b->state == FAILED || b->state == QUEUED ||
			     (b->state == READY && b->is_once && is_fully_read(b))))
		drop_block(b);
	return status;
}

/* ----------------------------------------------------------- without any ranges */

static sp_status prepare_spool(sp_transfer *t, sp_http_request *out, sp_error *err)
{
	spool *s = (spool *)t;
	sp_object_op op = {.kind = SP_OBJECT_OP_WHOLE};

	s->at = 0;
	s->is_checked = false;
	return make_request(out, s->object, &op, err);
}

static sp_status check_whole(spool *s, const sp_http_response *response, sp_error *err)
{
	SP_TRY(check_same(s->object, response, err));
	if (response->status == 200 && response->length == s->object->size)
		return SP_OK;
	return sp_error_set(err, SP_BUSY, "the server sends %" PRId64 " bytes, not %" PRIu64,
			    (int64_t)response->length, s->object->size);
}

static sp_status receive_spool(sp_transfer *t, const char *data, size_t size, sp_error *err)
{
	spool *s = (spool *)t;
	sp_status status = s->is_checked ? SP_OK : check_whole(s, &t->response, err);

	s->is_checked = true;
	if (status == SP_OK && size > s->object->size - s->at)
		status = sp_error_set(err, SP_BUSY, "the server sends more than was asked for");
	for (size_t done = 0; status == SP_OK && done < size;) {
		ssize_t n = pwrite(s->fd, data + done, size - done, (off_t)(s->at + done));

		if (n < 0 && errno != EINTR)
			status = sp_file_failed(err, SP_IO, "write", "a temporary file");
		done += n > 0 ? (size_t)n : 0;
	}
	pthread_mutex_lock(&lock);
	if (s->object->is_closed)
		status = sp_error_set(err, SP_CANCELLED, "the object is closed");
	if (status == SP_OK)
		s->at += size;
	if (s->at > s->filled)
		s->filled = s->at;
	pthread_cond_broadcast(&changed);
	pthread_mutex_unlock(&lock);
	return status;
}

static sp_status verify_spool(sp_transfer *t, sp_error *err)
{
	const spool *s = (spool *)t;

	return s->at == s->object->size
		       ? SP_OK
		       : sp_error_set(err, SP_BUSY, "the server's answer ends too early");
}

static void end_spool(sp_transfer *t)
{
	spool *s = (spool *)t;

	pthread_mutex_lock(&lock);
	sp_protocol_prefix(&t->error, t->status, &s->object->url);
	s->is_running = false;
	s->why = t->error;
	pthread_cond_broadcast(&changed);
	release(s->object);
	pthread_mutex_unlock(&lock);
}

static sp_status start_spool(sp_store_object *object, sp_error *err)
{
	spool *s = &object->spool;
	const char *folder = getenv("TMPDIR");

	if (folder == NULL || *folder == '\0')
		folder = "/tmp";
	if (s->fd < 0)
		s->fd = open(folder, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
	if (s->fd < 0)
		return sp_file_failed(err, SP_IO, "make a temporary file in", folder);
	s->transfer = (sp_transfer){.prepare = prepare_spool,
				    .receive = receive_spool,
				    .verify = verify_spool,
				    .end = end_spool,
				    .timeout_ms = object->timeout_ms +
						  (int64_t)(object->size / MIN_BYTES_PER_MS)};
	s->object = object;
	SP_TRY(sp_transfer_start(&s->transfer, err));
	s->is_running = true;
	object->users++;
	return SP_OK;
}

static sp_status read_spool(sp_store_object *object, uint64_t offset, void *buffer, size_t size,
			    sp_error *err)
{
	spool *s = &object->spool;
	sp_status status;
	sp_file file;

	if (!s->is_running && s->filled < object->size)
		SP_TRY(start_spool(object, err));
	while (s->is_running && s->filled < offset + size)
		pthread_cond_wait(&changed, &lock);
	if (s->filled < offset + size) {
		if (err != NULL)
			*err = s->why;
		return s->why.status;
	}
	file = (sp_file){.fd = s->fd, .size = object->size};
	pthread_mutex_unlock(&lock);
	status = sp_file_read_at(&file, offset, buffer, size, err);
	pthread_mutex_lock(&lock);
	return status;
}

/* --------------------------------------------------------------------- objects */

sp_status sp_object_open(sp_store_object **out, const sp_object_url *url, sp_account *account,
			 const sp_object_attributes *attributes, sp_error *err)
{
	size_t count = (size_t)(attributes->size / SP_OBJECT_BLOCK +
				(attributes->size % SP_OBJECT_BLOCK != 0));
	sp_store_object *object;
	sp_account_view view;

	if (attributes->size > (uint64_t)1 << 50)
		return sp_error_set(err, SP_INVALID, "an object of %" PRIu64 " bytes",
				    attributes->size);
	SP_TRY(sp_account_prepare(account, err));
	SP_TRY(sp_account_get_view(account, &view, err));
	object = sp_alloc_zero(1, sizeof(*object) + count * (sizeof(object->blocks[0]) + 1));
	if (object != NULL) {
		object->url = *url;
		object->account = account;
		object->size = attributes->size;
		object->modified_s = attributes->modified_s;
		memcpy(object->etag, attributes->etag, sizeof(object->etag));
		object->timeout_ms = view.timeout_ms;
		object->users = 1;
		object->spool.fd = -1;
		for (size_t i = 0; i < CURSORS; i++)
			object->cursors[i].last = SIZE_MAX;
		object->block_count = count;
		object->is_done = (bool *)&object->blocks[count];
		pthread_mutex_lock(&lock);
		open_count++;
		pthread_mutex_unlock(&lock);
	}
	sp_account_view_drop(&view);
	*out = object;
	return object != NULL ? SP_OK : sp_no_memory(err, "an object");
}

void sp_object_close(sp_store_object *object)
{
	pthread_mutex_lock(&lock);
	object->is_closed = true;
	open_count--;
	for (size_t i = 0; i < object->block_count; i++) {
		block *b = object->blocks[i];

		if (b != NULL && b->state != RUNNING)
			drop_block(b);
	}
	release(object);
	pthread_mutex_unlock(&lock);
}

sp_status sp_object_read(sp_store_object *object, uint64_t offset, void *buffer, size_t size,
			 sp_error *err)
{
	sp_status status = SP_OK;
	char *to = buffer;

	if (size == 0)
		return SP_OK;
	SP_TRY(sp_account_prepare(object->account, err));
	pthread_mutex_lock(&lock);
	if (size > SP_OBJECT_BLOCK && !object->has_no_ranges &&
	    queue_blocks(object, (size_t)(offset / SP_OBJECT_BLOCK),
			 (size_t)((offset + size - 1) / SP_OBJECT_BLOCK) + 1, true))
		sp_transfers_wake();
	while (status == SP_OK && size != 0) {
		size_t left = SP_OBJECT_BLOCK - (size_t)(offset % SP_OBJECT_BLOCK);
		size_t piece = size < left ? size : left;

		if (!object->has_no_ranges)
			status = read_block(object, offset, to, piece, err);
		if (object->has_no_ranges)
			status = read_spool(object, offset, to, piece, err);
		to += piece;
		offset += piece;
		size -= piece;
	}
	pthread_mutex_unlock(&lock);
	return status;
}

void sp_object_fetch(sp_store_object *object, uint64_t offset, uint64_t size, bool once)
{
	uint64_t left = offset < object->size ? object->size - offset : 0;

	if (size > left)
		size = left;
	if (size == 0 || sp_account_prepare(object->account, NULL) != SP_OK)
		return;
	pthread_mutex_lock(&lock);
	object->has_hints = true;
	if (!object->has_no_ranges &&
	    queue_blocks(object, (size_t)(offset / SP_OBJECT_BLOCK),
			 (size_t)((offset + size - 1) / SP_OBJECT_BLOCK) + 1, once))
		sp_transfers_wake();
	pthread_mutex_unlock(&lock);
}
