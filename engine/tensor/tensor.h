#ifndef SP_ENGINE_TENSOR_H
#define SP_ENGINE_TENSOR_H

#include <assert.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/bytes.h"
#include "base/status.h"
#include "engine/tensor/dtype.h"

/*
 * A dense, row-major tensor, and who owns its bytes.
 *
 * Rank 0 is a scalar of one element.  Any dimension may be 0.  Ranks above SP_MAX_RANK are refused
 * wherever tensors enter the engine.
 *
 * Buffers that the engine makes are 64-byte aligned, and SP_TENSOR_TAIL bytes after their last
 * element may be read (their values are undefined, and they must not be written).
 */
#define SP_MAX_RANK    8
#define SP_TENSOR_TAIL 64

typedef struct sp_shape {
	int32_t rank;              /* 0 ... SP_MAX_RANK */
	int64_t dims[SP_MAX_RANK]; /* >= 0; those past rank are unspecified */
} sp_shape;

/* The element count, or false when it or count * 16 bytes does not fit. */
bool sp_shape_count(const sp_shape *shape, size_t *count);

bool sp_shape_equal(const sp_shape *a, const sp_shape *b);

/* "[2,3]" into `text`, always terminated; returns text. */
#define SP_SHAPE_TEXT_SIZE 192
const char *sp_shape_text(const sp_shape *shape, char text[SP_SHAPE_TEXT_SIZE]);

static inline sp_shape sp_shape_scalar(void)
{
	return (sp_shape){.rank = 0};
}

static inline sp_shape sp_shape_vector(int64_t n)
{
	return (sp_shape){.rank = 1, .dims = {n}};
}

static inline sp_shape sp_shape_matrix(int64_t rows, int64_t columns)
{
	return (sp_shape){.rank = 2, .dims = {rows, columns}};
}

/*
 * The product of dims[first] ... dims[last - 1] of a shape that is known to be
 * countable (sp_shape_count was true): it cannot overflow, unless a 0 among the
 * other dims hid it.  1 when first >= last.
 */
int64_t sp_shape_product(const sp_shape *shape, int first, int last);

typedef struct sp_block sp_block; /* a counted buffer of a workspace, engine/tensor/workspace.h */

typedef struct sp_tensor {
	sp_dtype dtype; /* SP_INVALID_DTYPE: no value (a dead branch, an unset variable) */
	sp_shape shape;
	size_t count;    /* the elements; the product of the dims */
	void *data;      /* may be NULL when count is 0 */
	sp_block *block; /* NULL: the bytes belong to someone who outlives this tensor */
} sp_tensor;

static inline bool sp_tensor_is_set(const sp_tensor *tensor)
{
	return tensor->dtype != SP_INVALID_DTYPE;
}

static inline bool sp_tensor_is_scalar(const sp_tensor *tensor)
{
	return tensor->shape.rank == 0;
}

/* The elements as a C array; the dtype was checked before. */
static inline float *sp_tensor_f32(const sp_tensor *t)
{
	assert(t->dtype == SP_FLOAT);
	return t->data;
}

static inline double *sp_tensor_f64(const sp_tensor *t)
{
	assert(t->dtype == SP_DOUBLE);
	return t->data;
}

static inline int32_t *sp_tensor_i32(const sp_tensor *t)
{
	assert(t->dtype == SP_INT32);
	return t->data;
}

static inline int64_t *sp_tensor_i64(const sp_tensor *t)
{
	assert(t->dtype == SP_INT64);
	return t->data;
}

static inline bool *sp_tensor_bool(const sp_tensor *t)
{
	assert(t->dtype == SP_BOOL);
	return t->data;
}

static inline sp_bytes *sp_tensor_strings(const sp_tensor *t)
{
	assert(t->dtype == SP_STRING);
	return t->data;
}

/* Element i of an int32 or int64 tensor, the two types of shapes, axes and sizes. */
static inline int64_t sp_tensor_index(const sp_tensor *t, size_t i)
{
	assert(t->dtype == SP_INT32 || t->dtype == SP_INT64);
	return t->dtype == SP_INT32 ? ((const int32_t *)t->data)[i] : ((const int64_t *)t->data)[i];
}

/* Elements from `have` on become copies of the one before them, or zero when there is none. */
void sp_tensor_repeat_last(sp_tensor *t, size_t have);

/*
 * A tensor of that shape with uninitialised elements in the arena.
 * SP_INVALID when the shape is too large to count, SP_NO_MEMORY.
 */
SP_MUST_CHECK sp_status sp_tensor_create(sp_tensor *out, sp_arena *arena, sp_dtype dtype,
					 const sp_shape *shape, sp_error *err);

/* A deep copy in the arena: string bytes are copied, too. */
SP_MUST_CHECK sp_status sp_tensor_copy(sp_tensor *out, sp_arena *arena, const sp_tensor *tensor,
				       sp_error *err);

#endif
