#include "processor/request/public_signature.h"

#include <string.h>

typedef const sp_public_tensor *const *tensor_list;

static tensor_list copy_infos(const sp_tensor_info *infos, size_t count, sp_arena *arena)
{
	const sp_public_tensor **list = sp_arena_array(arena, count, sizeof(*list));
	sp_public_tensor *items = sp_arena_array(arena, count, sizeof(*items));

	if (list == NULL || items == NULL)
		return NULL;
	for (size_t i = 0; i < count; i++) {
		const sp_partial_shape *shape = &infos[i].shape;
		size_t rank = shape->rank > 0 ? (size_t)shape->rank : 0;
		int64_t *dims = sp_arena_array(arena, rank, sizeof(*dims));

		items[i] = (sp_public_tensor){
			.alias = sp_arena_text(arena, sp_bytes_of(infos[i].alias)),
			.tensor_name = sp_arena_text(arena, sp_bytes_of(infos[i].tensor_name)),
			.dtype = (int)infos[i].dtype,
			.rank = shape->rank,
			.dims = dims};
		if (items[i].alias == NULL || items[i].tensor_name == NULL || dims == NULL)
			return NULL;
		memcpy(dims, shape->dims, rank * sizeof(*dims));
		list[i] = &items[i];
	}
	return list;
}

const sp_public_signature *sp_public_signatures_of(const sp_endpoint *endpoints, size_t count,
						   sp_arena *arena)
{
	sp_public_signature *out = sp_arena_array(arena, count, sizeof(*out));

	for (size_t i = 0; out != NULL && i < count; i++) {
		const sp_signature *from = &endpoints[i].signature;

		out[i] = (sp_public_signature){
			.name = sp_arena_text(arena, sp_bytes_of(from->name)),
			.method = sp_arena_text(arena, sp_bytes_of(from->method)),
			.inputs = copy_infos(from->inputs, from->input_count, arena),
			.input_count = from->input_count,
			.outputs = copy_infos(from->outputs, from->output_count, arena),
			.output_count = from->output_count};
		if (out[i].name == NULL || out[i].method == NULL || out[i].inputs == NULL ||
		    out[i].outputs == NULL)
			return NULL;
	}
	return out;
}

static bool same_tensor(const sp_public_tensor *a, const sp_public_tensor *b)
{
	if (strcmp(a->alias, b->alias) != 0 || strcmp(a->tensor_name, b->tensor_name) != 0 ||
	    a->dtype != b->dtype || a->rank != b->rank)
		return false;
	for (int d = 0; d < a->rank; d++)
		if (a->dims[d] != b->dims[d])
			return false;
	return true;
}

static bool same_list(tensor_list a, size_t a_count, tensor_list b, size_t b_count)
{
	if (a_count != b_count)
		return false;
	for (size_t i = 0; i < a_count; i++)
		if (!same_tensor(a[i], b[i]))
			return false;
	return true;
}

bool sp_public_signatures_equal(const sp_public_signature *a, const sp_public_signature *b,
				size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (strcmp(a[i].name, b[i].name) != 0 || strcmp(a[i].method, b[i].method) != 0 ||
		    !same_list(a[i].inputs, a[i].input_count, b[i].inputs, b[i].input_count) ||
		    !same_list(a[i].outputs, a[i].output_count, b[i].outputs, b[i].output_count))
			return false;
	return true;
}

const sp_public_signature *sp_public_signatures_find(const sp_public_signature *signatures,
						     size_t count, const char *name)
{
	for (size_t i = 0; i < count; i++)
		if (strcmp(signatures[i].name, name) == 0)
			return &signatures[i];
	return NULL;
}
