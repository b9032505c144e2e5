#include <string.h>

#include "base/size.h"
#include "engine/import/import_internal.h"

/*
 * Constants that repeat values (graph_def.h) are written out when the first node that has one is
 * written.  All calls of a function share its constants.
 */

static sp_status write_tensor(sp_importer *im, const sp_repeated_values *from,
			      const char *node_name, sp_tensor **out)
{
	sp_dtype dtype = from->values.dtype;
	sp_tensor *tensor = sp_arena_alloc(im->arena, sizeof(*tensor));
	size_t count, bytes;

	if (tensor == NULL)
		return sp_import__no_memory(im);
	if (!sp_shape_count(&from->shape, &count) ||
	    !sp_size_mul(&bytes, count, sp_dtype_size(dtype)) || bytes > im->repeated_left)
		return sp_error_set(im->err, SP_INVALID,
				    "node '%s': constants repeat values into more than %zu bytes",
				    node_name, SP_IMPORT_MAX_REPEATED);
	im->repeated_left -= bytes;
	SP_TRY(sp_tensor_create(tensor, im->arena, dtype, &from->shape, im->err));
	if (from->values.count != 0)
		memcpy(tensor->data, from->values.data, from->values.count * sp_dtype_size(dtype));
	sp_tensor_repeat_last(tensor, from->values.count);
	*out = tensor;
	return SP_OK;
}

static sp_status find_or_write(sp_importer *im, const sp_repeated_values *from,
			       const char *node_name, const sp_tensor **out)
{
	const sp_repeated_values **key;
	sp_tensor *tensor = NULL;
	uint64_t address;

	if (sp_map_get(&im->repeated, (sp_bytes){(const char *)&from, sizeof(from)}, &address)) {
		*out = (const sp_tensor *)(uintptr_t)address;
		return SP_OK;
	}
	key = sp_arena_array(im->scratch, 1, sizeof(*key));
	if (key == NULL)
		return sp_import__no_memory(im);
	*key = from;
	SP_TRY(write_tensor(im, from, node_name, &tensor));
	*out = tensor;
	return sp_map_put(&im->repeated, (sp_bytes){(const char *)key, sizeof(*key)},
			  (uint64_t)(uintptr_t)tensor) == SP_MAP_NO_MEMORY
		       ? sp_import__no_memory(im)
		       : SP_OK;
}

sp_status sp_import__write_constants(sp_importer *im, sp_node *flat)
{
	sp_attr *attrs = NULL;

	for (size_t i = 0; i < flat->attr_count; i++) {
		if (flat->attrs[i].kind != SP_ATTR_REPEATED)
			continue;
		if (attrs == NULL) {
			attrs = sp_arena_copy(im->arena, flat->attrs, flat->attr_count,
					      flat->attr_count, sizeof(*attrs));
			if (attrs == NULL)
				return sp_import__no_memory(im);
			flat->attrs = attrs;
		}
		attrs[i].kind = SP_ATTR_TENSOR;
		SP_TRY(find_or_write(im, flat->attrs[i].repeated, flat->name, &attrs[i].tensor));
	}
	return SP_OK;
}
