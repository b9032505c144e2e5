#include "model_loader/checkpoint/snappy.h"

#include <snappy-c.h>

/* The densest element is a copy: three bytes for 64. */
enum { MAX_EXPANSION = 22 };

sp_status sp_snappy_uncompress(sp_bytes *out, sp_bytes block, sp_arena *arena, sp_error *err)
{
	size_t size;
	char *data;

	if (snappy_uncompressed_length(block.data, block.size, &size) != SNAPPY_OK ||
	    size / MAX_EXPANSION > block.size)
		return sp_error_set(err, SP_CORRUPT, "a compressed block states no true length");
	data = sp_arena_alloc(arena, size);
	SP_NEED_MEMORY(data, err, "a block of %zu bytes", size);
	if (snappy_uncompress(block.data, block.size, data, &size) != SNAPPY_OK)
		return sp_error_set(err, SP_CORRUPT, "a compressed block cannot be uncompressed");
	*out = (sp_bytes){data, size};
	return SP_OK;
}
