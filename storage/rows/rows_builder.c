#include "storage/rows/rows_builder.h"

#include <pthread.h>
#include <string.h>

#include "base/alloc.h"
#include "base/hash.h"
#include "base/size.h"
#include "storage/rows/key_block.h"
#include "storage/placement/placement_keys.h"
#include "storage/format/packed_stream.h"

/*
 * A slot is written once, with key and row; by put_checked() with streaming stores, if it fills
 * whole cache lines, which neither read the lines first nor evict others.
 *
 * There is no flag per slot: two sums of hashes, over the keys added and over the keys put, must
 * agree to prove that every key has got its row.
 */
struct sp_rows_builder {
	char *name;
	size_t threads;
	const atomic_bool *stop;
	const sp_rows *like;
	sp_rows_shape shape;
	_Atomic uint64_t put;
	sp_placement_keys *keys; /* the keys added; NULL after index() */
	sp_region pilots;        /* after index() */

	pthread_mutex_t lock; /* for what follows */
	size_t key_count;
	uint64_t added;          /* sum of sum_of() of keys added; `put`: of keys put */
	_Atomic(sp_rows *) rows; /* NULL before the first row */
	sp_region outliers;
	size_t outlier_count;
};

static sp_status no_memory(const sp_rows_builder *builder, sp_error *err)
{
	return sp_no_memory(err, "%zu rows of table '%s'", builder->key_count, builder->name);
}

static sp_status fill(sp_rows_builder *builder, const sp_rows_options *options, sp_error *err)
{
	sp_status status;

	builder->name = sp_alloc_text(options->name);
	SP_NEED_MEMORY(builder->name, err, "table '%s'", options->name);
	if (options->dim == 0 || options->dim > SP_ROWS_MAX_DIM)
		return sp_error_set(err, SP_INVALID, "table '%s' has rows of %zu elements",
				    options->name, options->dim);
	builder->threads = options->threads != 0 ? options->threads : 1;
	builder->stop = options->stop;
	builder->like = options->like;
	builder->shape = (sp_rows_shape){.format = options->format, .dim = options->dim};
	status = sp_placement_keys_create(&builder->keys, options->expected_rows, err);
	return sp_error_prefix(err, status, "table '%s'", options->name);
}

sp_status sp_rows_builder_create(sp_rows_builder **out, const sp_rows_options *options,
				 sp_error *err)
{
	sp_rows_builder *builder = sp_alloc_zero(1, sizeof(*builder));
	sp_status status;

	SP_NEED_MEMORY(builder, err, "table '%s'", options->name);
	pthread_mutex_init(&builder->lock, NULL);
	status = fill(builder, options, err);
	if (status != SP_OK) {
		sp_rows_builder_destroy(builder);
		return status;
	}
	*out = builder;
	return SP_OK;
}

void sp_rows_builder_destroy(sp_rows_builder *builder)
{
	if (builder == NULL)
		return;
	sp_rows_release(builder->rows);
	sp_placement_keys_destroy(builder->keys);
	sp_region_fini(&builder->pilots);
	sp_region_fini(&builder->outliers);
	pthread_mutex_destroy(&builder->lock);
	sp_free(builder->name);
	sp_free(builder);
}

size_t sp_rows_builder_repeated(const sp_rows_builder *builder)
{
	return builder->key_count - builder->shape.row_count;
}

/* Different sets of keys have different sums, except with probability 2^-64. */
static const sp_placement sum_seed = {.seed = {0, SP_PLACEMENT_SPREAD}};

static uint64_t sum_of(int64_t key)
{
	return sp_placement_hash(&sum_seed, key);
}

static uint64_t sum_of_all(const int64_t *keys, size_t count)
{
	uint64_t hashes[SP_KEY_BLOCK], sum = 0;

	for (size_t size; count != 0; keys += size, count -= size) {
		size = count < SP_KEY_BLOCK ? count : SP_KEY_BLOCK;
		sp_placement_hash_all(&sum_seed, keys, size, hashes);
		for (size_t i = 0; i < size; i++)
			sum += sp_key_is_mark(keys[i]) ? 0 : hashes[i];
	}
	return sum;
}

sp_status sp_rows_builder_add_keys(sp_rows_builder *builder, const int64_t *keys, size_t count,
				   sp_error *err)
{
	sp_status status;
	uint64_t added;
	size_t held;

	status = sp_placement_keys_add(builder->keys, keys, count, &held, err);
	if (status != SP_OK)
		return sp_error_prefix(err, status, "table '%s'", builder->name);
	added = sum_of_all(keys, count);
	pthread_mutex_lock(&builder->lock);
	builder->key_count += held;
	builder->added += added;
	pthread_mutex_unlock(&builder->lock);
	return SP_OK;
}

sp_status sp_rows_builder_index(sp_rows_builder *builder, sp_error *err)
{
	sp_status status = sp_placement_keys_find(&builder->pilots, &builder->shape.placement,
						  builder->keys, builder->threads, builder->stop,
						  err);

	sp_placement_keys_destroy(builder->keys);
	builder->keys = NULL;
	builder->shape.row_count = builder->shape.placement.key_count;
	return sp_error_prefix(err, status, "table '%s'", builder->name);
}

/* ---------------------------------------------------------------- rows */

static sp_rows_layout choose_layout(const sp_rows_builder *builder, const void *rows, size_t count)
{
	const sp_rows_shape *shape = &builder->shape;

	if (builder->like != NULL)
		return builder->like->shape.layout;
	return shape->format == SP_ROW_FP32 && count != 0 &&
			       sp_packed_row_suits(shape->dim, rows, count)
		       ? SP_ROWS_KEY_PACKED
		       : SP_ROWS_KEY_IN_FRONT;
}

/* Under the lock: chooses a layout by these rows and allocates zeroed slots. */
static sp_status make_slots(sp_rows_builder *builder, const void *some_rows, size_t count,
			    sp_error *err)
{
	sp_rows_shape *shape = &builder->shape;
	sp_rows *rows;
	size_t size;

	shape->layout = choose_layout(builder, some_rows, count);
	shape->slot_size = sp_rows_slot_size(shape->layout, shape->format, shape->dim);
	rows = sp_rows__create(shape);
	if (rows == NULL || !sp_size_mul(&size, shape->placement.slot_count, shape->slot_size) ||
	    !sp_region_resize(&rows->slot_memory, size)) {
		sp_rows_release(rows);
		return no_memory(builder, err);
	}
	if (rows->slot_memory.mapped == 0) /* a mapping comes as zeros */
		memset(rows->slot_memory.data, 0, size);
	sp_rows__set_slots(rows, rows->slot_memory.data);
	rows->pilot_memory = builder->pilots;
	rows->pilots = rows->pilot_memory.data;
	builder->pilots = (sp_region){0};
	atomic_store_explicit(&builder->rows, rows, memory_order_release);
	return SP_OK;
}

static sp_status need_slots(sp_rows_builder *builder, const void *some_rows, size_t count,
			    sp_error *err)
{
	sp_status status = SP_OK;

	if (atomic_load_explicit(&builder->rows, memory_order_acquire) != NULL)
		return SP_OK;
	pthread_mutex_lock(&builder->lock);
	if (atomic_load_explicit(&builder->rows, memory_order_relaxed) == NULL)
		status = make_slots(builder, some_rows, count, err);
	pthread_mutex_unlock(&builder->lock);
	return status;
}

/* Stores the row among the outliers and writes a slot that refers to it. */
static sp_status put_outlier(sp_rows_builder *builder, int64_t key, const void *row, char *slot,
			     sp_error *err)
{
	size_t dim = builder->shape.dim, row_size = dim * sizeof(float), number, needed;
	sp_status status = SP_OK;

	pthread_mutex_lock(&builder->lock);
	number = builder->outlier_count;
	if (!sp_size_mul(&needed, number + 1, row_size) ||
	    (needed > builder->outliers.size &&
	     !sp_region_resize(&builder->outliers, needed + needed / 2))) {
		status = no_memory(builder, err);
	} else {
		memcpy((char *)builder->outliers.data + number * row_size, row, row_size);
		builder->outlier_count++;
		sp_packed_row_refer(dim, key, number, slot);
	}
	pthread_mutex_unlock(&builder->lock);
	return status;
}

/* Writes key and row into a slot. */
static sp_status encode(sp_rows_builder *builder, const sp_rows *to, int64_t key, const void *row,
			char *slot, sp_error *err)
{
	size_t dim = to->shape.dim;

	if (to->packed == NULL) {
		int64_t mark = ~key;

		memcpy(slot, &mark, sizeof(mark));
		to->codec->encode(dim, row, slot + sizeof(mark));
		return SP_OK;
	}
	if (to->packed->pack(dim, key, row, slot))
		return SP_OK;
	return put_outlier(builder, key, row, slot, err);
}

sp_status sp_rows_builder_put_rows(sp_rows_builder *builder, const int64_t *keys, const void *rows,
				   size_t count, sp_error *err)
{
	enum { AHEAD = 32, RING = 2 * AHEAD };
	size_t row_bytes = builder->shape.dim * sizeof(float);
	sp_rows_probe ring[RING];
	sp_status status = need_slots(builder, rows, count, err);
	const sp_rows *to = builder->rows;
	uint64_t put = 0;

	for (size_t i = 0; status == SP_OK && i < count + 2 * AHEAD; i++) {
		sp_rows_probe *probe = &ring[i % RING];
		size_t last = i - 2 * AHEAD;

		/* The oldest key is finished; the newest takes its entry of the ring. */
		if (i >= 2 * AHEAD && !sp_key_is_mark(keys[last])) {
			status = encode(builder, to, keys[last],
					(const char *)rows + last * row_bytes,
					(char *)probe->at.slot, err);
			put += sum_of(keys[last]);
		}
		if (i < count)
			sp_rows__start(to, keys[i], probe);
		if (i >= AHEAD && i - AHEAD < count)
			sp_rows__fetch_slot(to, &ring[(i - AHEAD) % RING]);
	}
	atomic_fetch_add_explicit(&builder->put, put, memory_order_relaxed);
	return status;
}

static sp_status put_block(sp_rows_builder *builder, sp_packed_stream *stream, const int64_t *keys,
			   const char *rows, size_t count, sp_error *err)
{
	size_t row_size = builder->shape.dim * sizeof(float), done = 0;
	char *slots[SP_KEY_BLOCK];

	sp_key_block_find(builder->rows, keys, count, slots);
	while (done < count) {
		bool met;

		done += sp_packed_stream_put(stream, keys + done, rows + done * row_size,
					     slots + done, count - done, &met);
		if (met)
			SP_TRY(put_outlier(builder, keys[done - 1], stream->outlier,
					   slots[done - 1], err));
	}
	return SP_OK;
}

static sp_status put_streamed(sp_rows_builder *builder, const int64_t *keys, const char *rows,
			      size_t count, uint32_t *crc, sp_error *err)
{
	size_t row_size = builder->shape.dim * sizeof(float);
	sp_packed_stream stream;

	sp_packed_stream_begin(&stream, builder->shape.dim, *crc);
	for (size_t first = 0; first < count; first += SP_KEY_BLOCK) {
		size_t left = count - first;

		SP_TRY(put_block(builder, &stream, keys + first, rows + first * row_size,
				 left < SP_KEY_BLOCK ? left : SP_KEY_BLOCK, err));
	}
	*crc = sp_packed_stream_end(&stream);
	atomic_fetch_add_explicit(&builder->put, sum_of_all(keys, count), memory_order_relaxed);
	return SP_OK;
}

sp_status sp_rows_builder_put_checked(sp_rows_builder *builder, const int64_t *keys,
				      const void *rows, size_t count, uint32_t *crc, sp_error *err)
{
	if (count == 0)
		return SP_OK;
	SP_TRY(need_slots(builder, rows, count, err));
	if (builder->rows->packed != NULL && sp_packed_stream_suits(builder->shape.dim))
		return put_streamed(builder, keys, rows, count, crc, err);
	*crc = sp_crc32c(*crc, rows, count * builder->shape.dim * sizeof(float));
	return sp_rows_builder_put_rows(builder, keys, rows, count, err);
}

/* Copies the outliers behind the slots. */
static bool join_outliers(sp_rows_builder *builder, sp_rows *rows)
{
	size_t size = builder->outlier_count * builder->shape.dim * sizeof(float);
	size_t slots = builder->shape.placement.slot_count * builder->shape.slot_size, all;

	if (size == 0)
		return true;
	if (!sp_size_add(&all, slots, size) || !sp_region_resize(&rows->slot_memory, all))
		return false;
	sp_rows__set_slots(rows, rows->slot_memory.data);
	memcpy((char *)rows->slot_memory.data + slots, builder->outliers.data, size);
	rows->shape.outlier_count = builder->outlier_count;
	return true;
}

sp_status sp_rows_builder_put_stored(sp_rows_builder *builder, const int64_t *keys,
				     const sp_stored_row *rows, size_t count, sp_error *err)
{
	size_t size = sp_row_format_size(builder->shape.format, builder->shape.dim);
	const sp_rows *to;
	uint64_t put = 0;

	SP_TRY(need_slots(builder, NULL, 0, err));
	to = builder->rows;
	for (size_t i = 0; i < count; i++) {
		int64_t mark = ~keys[i];
		sp_rows_probe probe;

		sp_rows__start(to, keys[i], &probe);
		sp_rows__find_slot(to, &probe);
		memcpy((char *)probe.at.slot, &mark, sizeof(mark));
		memcpy((char *)probe.at.slot + sizeof(mark), rows[i].data, size);
		put += sum_of(keys[i]);
	}
	atomic_fetch_add_explicit(&builder->put, put, memory_order_relaxed);
	return SP_OK;
}

sp_status sp_rows_builder_freeze(sp_rows_builder *builder, sp_rows **out, sp_error *err)
{
	if (builder->put != builder->added)
		return sp_error_set(err, SP_CORRUPT,
				    "the keys of table '%s' are not the ones that it has rows for",
				    builder->name);
	SP_TRY(need_slots(builder, NULL, 0, err));
	if (!join_outliers(builder, builder->rows))
		return no_memory(builder, err);
	*out = builder->rows;
	builder->rows = NULL;
	return SP_OK;
}

sp_status sp_rows_create(sp_rows **out, const sp_rows_options *options, const int64_t *keys,
			 const float *rows, size_t count, sp_error *err)
{
	sp_rows_builder *builder;
	sp_status status;

	SP_TRY(sp_rows_builder_create(&builder, options, err));
	status = sp_rows_builder_add_keys(builder, keys, count, err);
	if (status == SP_OK)
		status = sp_rows_builder_index(builder, err);
	if (status == SP_OK)
		status = sp_rows_builder_put_rows(builder, keys, rows, count, err);
	if (status == SP_OK)
		status = sp_rows_builder_freeze(builder, out, err);
	sp_rows_builder_destroy(builder);
	return status;
}
