#include "engine/ops/state/table_keys.h"

#include <string.h>

#include "base/size.h"

sp_dtype sp_table_keys_dtype(const sp_resource *resource)
{
	return resource->key_width != 0 ? SP_STRING : resource->key_dtype;
}

/* Packs elements first ... first + width into one string; NULL for `out` only computes its size. */
static bool pack_texts(const sp_tensor *keys, size_t first, size_t width, char *out, size_t *size)
{
	*size = 0;
	for (size_t i = first; i < first + width; i++) {
		sp_bytes text = sp_tensor_strings(keys)[i];
		uint64_t length = text.size;

		if (out != NULL) {
			memcpy(out + *size, &length, sizeof(length));
			if (text.size != 0)
				memcpy(out + *size + sizeof(length), text.data, text.size);
		}
		if (!sp_size_add(size, *size, sizeof(length)) ||
		    !sp_size_add(size, *size, text.size))
			return false;
	}
	return true;
}

/* Keys of numbers are not copied: the result is a view. */
static sp_status pack_one(const sp_call *call, const sp_tensor *keys, size_t i, size_t width,
			  sp_bytes *out)
{
	size_t bytes = width * sp_dtype_size(keys->dtype), size;
	char *text;

	if (keys->dtype != SP_STRING) {
		*out = (sp_bytes){(const char *)keys->data + i * bytes, bytes};
		return SP_OK;
	}
	if (!pack_texts(keys, i * width, width, NULL, &size))
		return sp_call_no_memory(call);
	SP_CALL_BYTES(text, call, size, 1);
	(void)pack_texts(keys, i * width, width, text, &size);
	*out = (sp_bytes){text, size};
	return SP_OK;
}

sp_status sp_table_keys_pack(const sp_call *call, const sp_resource *resource,
			     const sp_tensor *keys, sp_tensor *out)
{
	size_t width = resource->key_width, count;
	char text[SP_SHAPE_TEXT_SIZE];
	sp_bytes *held;

	*out = *keys;
	if (width == 0)
		return SP_OK;
	if (keys->shape.rank == 0 || keys->shape.dims[keys->shape.rank - 1] != (int64_t)width)
		return sp_call_invalid(call, "keys of shape %s do not have %zu elements each",
				       sp_shape_text(&keys->shape, text), width);
	count = keys->count / width;
	SP_CALL_ARRAY(held, call, count);
	for (size_t i = 0; i < count; i++)
		SP_TRY(pack_one(call, keys, i, width, &held[i]));
	*out = (sp_tensor){.dtype = SP_STRING,
			   .shape = sp_shape_vector((int64_t)count),
			   .count = count,
			   .data = held};
	return SP_OK;
}

void sp_table_keys_unpack(const sp_tensor *held, size_t width, sp_tensor *to)
{
	size_t bytes = width * sp_dtype_size(to->dtype);

	for (size_t i = 0; i < held->count; i++) {
		const char *at = sp_tensor_strings(held)[i].data;
		uint64_t length;

		if (to->dtype != SP_STRING) {
			memcpy((char *)to->data + i * bytes, at, bytes);
			continue;
		}
		for (size_t k = 0; k < width; k++) {
			memcpy(&length, at, sizeof(length));
			at += sizeof(length);
			sp_tensor_strings(to)[i * width + k] = (sp_bytes){at, (size_t)length};
			at += length;
		}
	}
}

sp_status sp_table_keys_copy(const sp_tensor *key, sp_arena *arena, const sp_tensor **out,
			     sp_error *err)
{
	sp_tensor *copy = sp_arena_alloc(arena, sizeof(*copy));
	sp_bytes *held = sp_arena_alloc(arena, sizeof(*held));
	char *text;

	SP_NEED_MEMORY(copy != NULL && held != NULL, err, "a key");
	*out = copy;
	SP_TRY(sp_tensor_copy(copy, arena, key, err));
	if (key->shape.rank == 0)
		return SP_OK;
	*held = (sp_bytes){copy->data, copy->count * sp_dtype_size(copy->dtype)};
	if (key->dtype == SP_STRING) {
		if (!pack_texts(key, 0, key->count, NULL, &held->size) ||
		    (text = sp_arena_alloc(arena, held->size)) == NULL)
			return sp_error_set(err, SP_NO_MEMORY, "no memory for a key");
		(void)pack_texts(key, 0, key->count, text, &held->size);
		held->data = text;
	}
	*copy = (sp_tensor){
		.dtype = SP_STRING, .shape = sp_shape_scalar(), .count = 1, .data = held};
	return SP_OK;
}

bool sp_table_keys_equal(const sp_tensor *a, size_t i, const sp_tensor *b, size_t k)
{
	if (a->dtype == SP_STRING)
		return sp_bytes_equal(sp_tensor_strings(a)[i], sp_tensor_strings(b)[k]);
	return sp_tensor_index(a, i) == sp_tensor_index(b, k);
}

bool sp_table_keys_is_reserved(const sp_resource *resource, const sp_tensor *held, size_t i)
{
	return resource->empty_key != NULL &&
	       (sp_table_keys_equal(held, i, resource->empty_key, 0) ||
		sp_table_keys_equal(held, i, resource->deleted_key, 0));
}
