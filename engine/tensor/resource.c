#include "engine/tensor/resource.h"

#include <string.h>

#include "base/size.h"

static const char *kind_name(sp_resource_kind kind)
{
	switch (kind) {
	case SP_RESOURCE_VARIABLE:
		return "variable";
	case SP_RESOURCE_HASH_TABLE:
		return "hash table";
	case SP_RESOURCE_EMBEDDING:
		return "embedding";
	case SP_RESOURCE_TREES:
		return "ensemble of trees";
	case SP_RESOURCE_QUANTILES:
		return "list of quantiles";
	}
	return "resource";
}

static const char *article(sp_resource_kind kind)
{
	return strchr("aeiou", kind_name(kind)[0]) != NULL ? "an" : "a";
}

void sp_resources_init(sp_resources *resources, sp_arena *arena)
{
	*resources = (sp_resources){.arena = arena};
	sp_map_init(&resources->names, arena);
}

sp_status sp_resources_init_as(sp_resources *resources, const sp_resources *declared,
			       sp_arena *arena, sp_error *err)
{
	sp_resources_init(resources, arena);
	resources->columns = declared->columns;
	resources->items = sp_arena_array(arena, declared->count, sizeof(*resources->items));
	SP_NEED_MEMORY(resources->items, err, "%zu resources", declared->count);
	resources->count = resources->capacity = declared->count;
	for (size_t i = 0; i < declared->count; i++) {
		sp_resource *item = &resources->items[i];

		*item = declared->items[i];
		item->variable = (sp_tensor){0};
		item->hash_table = NULL;
		item->table = NULL;
		item->trees = NULL;
		item->boundaries = NULL;
		item->boundary_count = 0;
		if (item->kind == SP_RESOURCE_EMBEDDING)
			item->columns |= declared->columns;
	}
	return SP_OK;
}

/* "<kind><container>\0<name>"; the name's terminator is not part of the key. */
static bool make_key(sp_arena *arena, sp_resource_kind kind, sp_bytes container, const char *name,
		     sp_bytes *key)
{
	size_t name_size = strlen(name), size;
	char *text;

	if (!sp_size_add(&size, container.size, name_size) || !sp_size_add(&size, size, 3) ||
	    (text = sp_arena_alloc(arena, size)) == NULL)
		return false;
	text[0] = (char)('0' + kind);
	if (container.size != 0)
		memcpy(text + 1, container.data, container.size);
	text[1 + container.size] = '\0';
	memcpy(text + 2 + container.size, name, name_size + 1);
	*key = (sp_bytes){text, size - 1};
	return true;
}

/* The name in a key: what follows the container, up to a NUL. */
static const char *key_name(sp_bytes key, sp_bytes container)
{
	return key.data + 2 + container.size;
}

/* Adds `resource` under `key`, whose bytes live in the arena. */
static bool append(sp_resources *resources, sp_bytes key, const sp_resource *resource)
{
	if (!SP_ARENA_GROW(resources->arena, resources->items, resources->capacity,
			   resources->count, 1) ||
	    sp_map_add(&resources->names, key, resources->count) != SP_MAP_ADDED)
		return false;
	resources->items[resources->count++] = *resource;
	return true;
}

/*
 * Whether an embedding was declared with another row width.  Variables never contradict: their
 * shapes may be partial.
 */
static bool contradicts(const sp_resource *resource, const sp_partial_shape *shape)
{
	return resource->kind == SP_RESOURCE_EMBEDDING && shape != NULL && shape->rank >= 0 &&
	       resource->shape.rank >= 0 &&
	       (shape->rank != resource->shape.rank ||
		memcmp(shape->dims, resource->shape.dims,
		       (size_t)shape->rank * sizeof(*shape->dims)) != 0);
}

/* A second declaration must agree with the first, and may add its shape. */
static sp_status redeclare(sp_resource *resource, sp_dtype dtype, sp_dtype key_dtype,
			   const sp_partial_shape *shape, sp_error *err)
{
	char first[SP_SHAPE_TEXT_SIZE], second[SP_SHAPE_TEXT_SIZE];

	if (resource->dtype != dtype || resource->key_dtype != key_dtype)
		return sp_error_set(err, SP_INVALID,
				    "%s '%s' is declared both as %s (keys %s) and %s (keys %s)",
				    kind_name(resource->kind), resource->name,
				    sp_dtype_name(resource->dtype),
				    sp_dtype_name(resource->key_dtype), sp_dtype_name(dtype),
				    sp_dtype_name(key_dtype));
	if (contradicts(resource, shape))
		return sp_error_set(err, SP_INVALID,
				    "%s '%s' is declared both with rows of shape %s and %s",
				    kind_name(resource->kind), resource->name,
				    sp_partial_shape_text(&resource->shape, first),
				    sp_partial_shape_text(shape, second));
	if (resource->shape.rank < 0 && shape != NULL)
		resource->shape = *shape;
	return SP_OK;
}

sp_status sp_resources_declare(sp_resources *resources, sp_resource_kind kind, sp_bytes container,
			       const char *name, sp_dtype dtype, sp_dtype key_dtype,
			       const sp_partial_shape *shape, uint64_t *index, sp_error *err)
{
	sp_resource resource = {.kind = kind,
				.dtype = dtype,
				.key_dtype = key_dtype,
				.shape = shape != NULL ? *shape : (sp_partial_shape){.rank = -1}};
	sp_bytes key;

	if (!make_key(resources->arena, kind, container, name, &key))
		return sp_error_set(err, SP_NO_MEMORY, "no memory for %s '%s'", kind_name(kind),
				    name);
	if (sp_map_get(&resources->names, key, index))
		return redeclare(&resources->items[*index], dtype, key_dtype, shape, err);
	resource.name = key_name(key, container);
	*index = resources->count;
	if (!append(resources, key, &resource))
		return sp_error_set(err, SP_NO_MEMORY, "no memory for %s '%s'", kind_name(kind),
				    name);
	return SP_OK;
}

sp_status sp_resources_get(const sp_resources *resources, const sp_tensor *handle,
			   sp_resource_kind kind, sp_resource **out, sp_error *err)
{
	sp_resource *resource;
	uint64_t index;

	if (handle->dtype != SP_RESOURCE || handle->count != 1)
		return sp_error_set(err, SP_INVALID, "a handle of %s %s is needed, not %zu of %s",
				    article(kind), kind_name(kind), handle->count,
				    sp_dtype_name(handle->dtype));
	index = *(const uint64_t *)handle->data;
	if (index >= resources->count)
		return sp_error_set(err, SP_INVALID, "handle %llu leads to none of %zu resources",
				    (unsigned long long)index, resources->count);
	resource = &resources->items[index];
	if (resource->kind != kind)
		return sp_error_set(err, SP_INVALID, "'%s' is %s %s, not %s %s", resource->name,
				    article(resource->kind), kind_name(resource->kind),
				    article(kind), kind_name(kind));
	*out = resource;
	return SP_OK;
}

size_t sp_resource_row_width(const sp_resource *resource)
{
	const sp_partial_shape *shape = &resource->shape;

	return shape->rank == 1 && shape->dims[0] > 0 ? (size_t)shape->dims[0] : 0;
}

sp_status sp_resources_ask_column(sp_resources *resources, const sp_tensor *handle, unsigned column,
				  sp_error *err)
{
	unsigned *columns = &resources->columns;
	sp_resource *resource;

	if (handle != NULL) {
		SP_TRY(sp_resources_get(resources, handle, SP_RESOURCE_EMBEDDING, &resource, err));
		columns = &resource->columns;
	}
	*columns |= 1u << column;
	return SP_OK;
}

sp_status sp_resource_assign(sp_resources *resources, sp_resource *resource, const sp_tensor *value,
			     sp_error *err)
{
	char want[SP_SHAPE_TEXT_SIZE], have[SP_SHAPE_TEXT_SIZE];
	sp_tensor copy;

	if (value->dtype != resource->dtype)
		return sp_error_set(err, SP_INVALID, "variable '%s' of %s cannot hold %s",
				    resource->name, sp_dtype_name(resource->dtype),
				    sp_dtype_name(value->dtype));
	if (!sp_partial_shape_matches(&resource->shape, &value->shape))
		return sp_error_set(err, SP_INVALID, "variable '%s' of shape %s cannot hold %s",
				    resource->name, sp_partial_shape_text(&resource->shape, want),
				    sp_shape_text(&value->shape, have));
	if (value->block == NULL && value->dtype != SP_STRING &&
	    (sp_arena_holds(resources->arena, value->data) ||
	     (resources->base_arena != NULL &&
	      sp_arena_holds(resources->base_arena, value->data)))) {
		resource->variable = *value;
		return SP_OK;
	}
	SP_TRY(sp_tensor_copy(&copy, resources->arena, value, err));
	resource->variable = copy;
	return SP_OK;
}
