#include "storage/rows/rows.h"

#include "base/alloc.h"
#include "base/size.h"
#include "storage/rows/rows_internal.h"

const sp_rows_shape *sp_rows_get_shape(const sp_rows *rows)
{
	return &rows->shape;
}

const void *sp_rows_slots(const sp_rows *rows)
{
	return rows->slots;
}

const uint8_t *sp_rows_pilots(const sp_rows *rows)
{
	return rows->pilots;
}

sp_rows *sp_rows__create(const sp_rows_shape *shape)
{
	sp_rows *rows = sp_alloc_zero(1, sizeof(*rows));

	if (rows == NULL)
		return NULL;
	rows->shape = *shape;
	rows->codec = sp_row_codec_find(shape->format);
	if (shape->layout == SP_ROWS_KEY_PACKED)
		rows->packed = sp_packed_codec_find();
	atomic_init(&rows->references, 1);
	return rows;
}

void sp_rows__set_slots(sp_rows *rows, const char *slots)
{
	rows->slots = slots;
	rows->outliers = slots + rows->shape.placement.slot_count * rows->shape.slot_size;
}

/* Whether rows can be laid out like this. */
static bool is_possible(const sp_rows_shape *shape)
{
	if ((unsigned)shape->format >= SP_ROW_FORMATS ||
	    (unsigned)shape->layout >= SP_ROWS_LAYOUTS || shape->dim == 0 ||
	    shape->dim > SP_ROWS_MAX_DIM)
		return false;
	if (shape->layout == SP_ROWS_KEY_PACKED)
		return shape->format == SP_ROW_FP32 && shape->dim >= SP_PACKED_ELEMENTS &&
		       shape->outlier_count <= SP_PACKED_MAX_NUMBER;
	return shape->outlier_count == 0;
}

/* Whether the memory is as large as the shape requires. */
static bool fits(const sp_rows_shape *shape, const sp_rows_memory *memory)
{
	size_t slots, slots_size, outliers_size, pilots_size;

	return is_possible(shape) && shape->placement.part_count - 1 < SP_PLACEMENT_MOST &&
	       shape->placement.part_slots - 1 < SP_PLACEMENT_MOST &&
	       shape->placement.part_buckets - 1 < SP_PLACEMENT_MOST &&
	       shape->placement.seed[1] % 2 == 1 &&
	       shape->slot_size == sp_rows_slot_size(shape->layout, shape->format, shape->dim) &&
	       sp_size_mul(&slots, shape->placement.part_count, shape->placement.part_slots) &&
	       slots == shape->placement.slot_count && shape->row_count <= slots &&
	       sp_size_mul(&slots_size, slots, shape->slot_size) &&
	       sp_size_mul(&outliers_size, shape->outlier_count, shape->dim * sizeof(float)) &&
	       sp_size_add(&slots_size, slots_size, outliers_size) &&
	       slots_size == memory->slots_size &&
	       sp_size_mul(&pilots_size, shape->placement.part_count,
			   shape->placement.part_buckets) &&
	       pilots_size == memory->pilots_size && (uintptr_t)memory->slots % 8 == 0;
}

sp_status sp_rows_over(sp_rows **out, const sp_rows_shape *shape, const sp_rows_memory *memory,
		       sp_error *err)
{
	sp_rows *rows;

	if (!fits(shape, memory))
		return sp_error_set(err, SP_CORRUPT,
				    "%zu rows of %zu elements do not fit into the memory they are "
				    "said to be in",
				    shape->row_count, shape->dim);
	rows = sp_rows__create(shape);
	SP_NEED_MEMORY(rows, err, "rows");
	sp_rows__set_slots(rows, memory->slots);
	rows->pilots = memory->pilots;
	rows->guard = memory->guard;
	rows->release = memory->release;
	rows->owner = memory->owner;
	*out = rows;
	return SP_OK;
}

bool sp_rows_find(const sp_rows *rows, int64_t key, sp_stored_row *out)
{
	sp_rows_probe probe;

	sp_rows__start(rows, key, &probe);
	sp_rows__fetch_slot(rows, &probe);
	return sp_rows__row(rows, &probe, key, out);
}

void sp_rows__hold(const sp_rows *rows, const int64_t *keys, size_t count, bool *held)
{
	sp_rows_probe probes[SP_ROWS_BLOCK];
	sp_stored_row row;

	for (size_t i = 0; i < count; i++)
		sp_rows__start(rows, keys[i], &probes[i]);
	for (size_t i = 0; i < count; i++)
		sp_rows__fetch_slot(rows, &probes[i]);
	for (size_t i = 0; i < count; i++)
		held[i] = sp_rows__row(rows, &probes[i], keys[i], &row);
}

bool sp_rows_at(const sp_rows *rows, size_t slot, int64_t *key, sp_stored_row *out)
{
	const char *at = rows->slots + slot * rows->shape.slot_size;

	*key = sp_rows__key(rows, at);
	if (*key == SP_KEY_EMPTY)
		return false;
	*out = sp_rows__stored(rows, at);
	return true;
}

const void *sp_rows_outlier_of(const sp_rows *rows, const void *slot, size_t *size)
{
	const void *row = rows->packed != NULL ? sp_rows__stored(rows, slot).data : slot;

	*size = rows->shape.dim * sizeof(float);
	return row != slot ? row : NULL;
}

sp_rows_memory_use sp_rows_memory_of(const sp_rows *rows)
{
	if (rows->slot_memory.data == NULL)
		return (sp_rows_memory_use){.mapped = sp_rows_slots_size(&rows->shape) +
						      sp_rows_pilots_size(&rows->shape)};
	return (sp_rows_memory_use){.slots = sp_region_footprint(&rows->slot_memory),
				    .index = sp_region_footprint(&rows->pilot_memory)};
}

size_t sp_rows_footprint(const sp_rows *rows)
{
	sp_rows_memory_use use = sp_rows_memory_of(rows);

	return use.slots + use.index + use.mapped;
}

sp_rows_shape sp_rows_expected_shape(sp_rows_layout layout, sp_row_format format, size_t dim,
				     size_t row_count)
{
	sp_rows_shape shape = {.format = format,
			       .layout = layout,
			       .dim = dim,
			       .row_count = row_count,
			       .slot_size = sp_rows_slot_size(layout, format, dim)};

	sp_placement_expect(&shape.placement, row_count);
	return shape;
}

sp_rows_memory_use sp_rows_expected_memory(const sp_rows_shape *shape)
{
	size_t slots;

	if (!sp_size_mul(&slots, shape->placement.slot_count, shape->slot_size))
		return (sp_rows_memory_use){.slots = SIZE_MAX, .index = SIZE_MAX};
	return (sp_rows_memory_use){
		.slots = sp_region_expected_footprint(slots),
		.index = sp_region_expected_footprint(sp_rows_pilots_size(shape))};
}

sp_rows *sp_rows_retain(sp_rows *rows)
{
	if (rows != NULL)
		atomic_fetch_add_explicit(&rows->references, 1, memory_order_relaxed);
	return rows;
}

void sp_rows_release(sp_rows *rows)
{
	if (rows == NULL ||
	    atomic_fetch_sub_explicit(&rows->references, 1, memory_order_acq_rel) != 1)
		return;
	if (rows->release != NULL)
		rows->release(rows->owner);
	sp_region_fini(&rows->slot_memory);
	sp_region_fini(&rows->pilot_memory);
	sp_free(rows);
}
