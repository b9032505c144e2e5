#include "engine/tensor/workspace.h"

#include <stdatomic.h>
#include <string.h>

#include "base/alloc.h"
#include "base/arena.h"
#include "base/size.h"
#include "engine/tensor/tensor_list.h"

/*
 * Blocks come in size classes, four per power of two, so that at most a quarter of a block is
 * unused. A released block goes to the free list of its class; an allocation takes a block from
 * there, or a new one from the arena.  A reset empties the lists and resets the arena without
 * visiting blocks.
 */
struct sp_block {
	sp_block *next; /* in a free list */
	uint32_t references;
	uint32_t size_class;
	char pad[64 - sizeof(sp_block *) - 2 * sizeof(uint32_t)];
};

enum { CLASS_COUNT = 4 * 60, CHUNK = 256 << 10 };

/* Kept across resets: KEEP_BYTES, or KEEP_TIMES the moving average over REMEMBERED requests. */
enum { KEEP_BYTES = 16 << 20, KEEP_TIMES = 4, REMEMBERED = 16 };

struct sp_workspace {
	sp_arena *arena; /* of the blocks */
	sp_arena *bytes; /* for sp_workspace_bytes(); sp_workspace_rewind() resets it alone */
	size_t limit;
	size_t usual;      /* bytes per request, a moving average */
	size_t used;       /* bytes taken from both arenas since the reset */
	size_t used_bytes; /* those from `bytes` */
	sp_block *free_lists[CLASS_COUNT];
	uint32_t used_classes; /* the highest class in use, plus one */
	size_t peak;           /* the most that was used of the memory that is held */
	atomic_size_t touched; /* sp_workspace_touched() */
};

sp_workspace *sp_workspace_create(size_t limit)
{
	sp_workspace *workspace = sp_alloc_apart(sizeof(*workspace));

	if (workspace == NULL)
		return NULL;
	workspace->limit = limit;
	workspace->arena = sp_arena_create(CHUNK);
	workspace->bytes = sp_arena_create(CHUNK);
	if (workspace->arena == NULL || workspace->bytes == NULL) {
		sp_workspace_destroy(workspace);
		return NULL;
	}
	return workspace;
}

void sp_workspace_destroy(sp_workspace *workspace)
{
	if (workspace == NULL)
		return;
	sp_arena_destroy(workspace->bytes);
	sp_arena_destroy(workspace->arena);
	sp_free(workspace);
}

/* Returns memory to the system after a request that needed far more than is usual. */
static void trim(sp_workspace *workspace)
{
	size_t footprint = sp_workspace_footprint(workspace);

	workspace->usual += workspace->used / REMEMBERED - workspace->usual / REMEMBERED;
	if (footprint <= KEEP_BYTES || footprint / KEEP_TIMES <= workspace->usual)
		return;
	sp_arena_trim(workspace->bytes);
	sp_arena_trim(workspace->arena);
}

void sp_workspace_reset(sp_workspace *workspace)
{
	size_t footprint;

	if (workspace->peak < workspace->used)
		workspace->peak = workspace->used;
	trim(workspace);
	memset(workspace->free_lists, 0,
	       workspace->used_classes * sizeof(workspace->free_lists[0]));
	workspace->used_classes = 0;
	workspace->used = 0;
	workspace->used_bytes = 0;
	sp_arena_reset(workspace->bytes);
	sp_arena_reset(workspace->arena);
	footprint = sp_workspace_footprint(workspace);
	if (workspace->peak > footprint)
		workspace->peak = footprint;
	atomic_store_explicit(&workspace->touched, workspace->peak, memory_order_relaxed);
}

size_t sp_workspace_touched(const sp_workspace *workspace)
{
	return atomic_load_explicit(&workspace->touched, memory_order_relaxed);
}

/*
 * The class of `size` bytes and the size of its blocks: 64, 80, 96, 112, 128,
 * 160, ...  False when there is none that large.
 */
static bool class_of(size_t size, uint32_t *size_class, size_t *block_size)
{
	unsigned shift;
	size_t quarter, steps;

	if (size <= 64) {
		*size_class = 0;
		*block_size = 64;
		return true;
	}
	if (size > (SIZE_MAX >> 3))
		return false;
	/* size is in (2^shift, 2^(shift + 1)], which is divided into four classes. */
	shift = 63 - (unsigned)__builtin_clzll((unsigned long long)(size - 1));
	quarter = (size_t)1 << (shift - 2);
	steps = (size - ((size_t)1 << shift) + quarter - 1) / quarter;
	*size_class = 4 * (shift - 6) + (uint32_t)steps;
	*block_size = ((size_t)1 << shift) + steps * quarter;
	return *size_class < CLASS_COUNT;
}

/* Takes `size` bytes that live until the reset, and counts them. */
static void *take(sp_workspace *workspace, sp_arena *arena, size_t size)
{
	void *block;

	if (size > workspace->limit || workspace->used > workspace->limit - size)
		return NULL;
	block = sp_arena_alloc(arena, size);
	if (block != NULL)
		workspace->used += size;
	return block;
}

static sp_block *take_block(sp_workspace *workspace, size_t size)
{
	uint32_t size_class;
	size_t block_size, total;
	sp_block *block;

	if (!class_of(size, &size_class, &block_size))
		return NULL;
#ifdef SP_ARENA_DEBUG
	block_size = size; /* so that the sanitizer sees reads past the end */
#endif
	block = workspace->free_lists[size_class];
	if (block != NULL) {
		workspace->free_lists[size_class] = block->next;
	} else {
		if (!sp_size_add(&total, block_size, sizeof(*block)))
			return NULL;
		block = take(workspace, workspace->arena, total);
		if (block == NULL)
			return NULL;
		block->size_class = size_class;
		if (size_class >= workspace->used_classes)
			workspace->used_classes = size_class + 1;
	}
	block->references = 1;
	return block;
}

/* Called when the last reference is gone. */
static void give_back(sp_workspace *workspace, sp_block *block)
{
#ifdef SP_ARENA_DEBUG
	/* Not reused, and overwritten to expose reads after release. */
	(void)workspace;
	memset(block + 1, 0xdd, 64);
#else
	block->next = workspace->free_lists[block->size_class];
	workspace->free_lists[block->size_class] = block;
#endif
}

sp_status sp_workspace_tensor(sp_workspace *workspace, sp_tensor *out, sp_dtype dtype,
			      const sp_shape *shape, sp_error *err)
{
	size_t count, size;
	sp_block *block = NULL;
	char text[SP_SHAPE_TEXT_SIZE];

	if (sp_dtype_size(dtype) == 0) /* a VARIANT is a list: engine/tensor/tensor_list.h */
		return sp_error_set(err, SP_UNSUPPORTED, "a tensor of %s is not supported",
				    sp_dtype_name(dtype));
	for (int i = 0; i < shape->rank; i++)
		if (shape->dims[i] < 0)
			return sp_error_set(err, SP_INVALID, "shape %s has a negative dimension",
					    sp_shape_text(shape, text));
	if (!sp_shape_count(shape, &count) || !sp_size_mul(&size, count, sp_dtype_size(dtype)) ||
	    !sp_size_add(&size, size, SP_TENSOR_TAIL))
		return sp_error_set(err, SP_INVALID, "a tensor of shape %s is too large",
				    sp_shape_text(shape, text));
	block = take_block(workspace, size);
	if (block == NULL)
		return sp_error_set(err, SP_NO_MEMORY,
				    "the request needs more memory than the %zu bytes it may use "
				    "(a tensor of shape %s)",
				    workspace->limit, sp_shape_text(shape, text));
	*out = (sp_tensor){
		.dtype = dtype, .shape = *shape, .count = count, .data = block + 1, .block = block};
	return SP_OK;
}

void sp_tensor_retain(const sp_tensor *tensor)
{
	if (tensor->block != NULL)
		tensor->block->references++;
}

/*
 * Releases all elements, for an array also those outside the tensor's view.  Recursion is at most
 * SP_LIST_MAX_DEPTH deep.
 */
static void release_elements(sp_workspace *workspace, const sp_tensor *tensor)
{
	bool is_list = tensor->shape.rank == 0;
	sp_variants *all = (sp_variants *)(tensor->block + 1);
	sp_tensor *items = is_list ? sp_tensor_list(tensor)->items : all->items;
	size_t count = is_list ? sp_tensor_list(tensor)->count : all->count;

	for (size_t i = 0; i < count; i++)
		sp_workspace_release(workspace, &items[i]);
}

void sp_workspace_release(sp_workspace *workspace, sp_tensor *tensor)
{
	sp_block *block = tensor->block;

	if (block != NULL && --block->references == 0) {
		if (tensor->dtype == SP_VARIANT)
			release_elements(workspace, tensor);
		give_back(workspace, block);
	}
	tensor->dtype = SP_INVALID_DTYPE;
	tensor->block = NULL;
}

bool sp_tensor_is_sole(const sp_tensor *tensor)
{
	return tensor->block != NULL && tensor->block->references == 1;
}

void *sp_workspace_bytes(sp_workspace *workspace, size_t count, size_t size)
{
	size_t total;
	void *bytes;

	if (!sp_size_mul(&total, count, size))
		return NULL;
	bytes = take(workspace, workspace->bytes, total);
	if (bytes != NULL)
		workspace->used_bytes += total;
	return bytes;
}

sp_workspace_mark sp_workspace_here(const sp_workspace *workspace)
{
	return (sp_workspace_mark){sp_arena_here(workspace->bytes), workspace->used_bytes};
}

void sp_workspace_rewind(sp_workspace *workspace, const sp_workspace_mark *mark)
{
	workspace->used -= workspace->used_bytes - mark->used;
	workspace->used_bytes = mark->used;
	sp_arena_rewind(workspace->bytes, mark->bytes);
}

size_t sp_workspace_footprint(const sp_workspace *workspace)
{
	return sp_arena_footprint(workspace->arena) + sp_arena_footprint(workspace->bytes) +
	       sizeof(*workspace);
}
