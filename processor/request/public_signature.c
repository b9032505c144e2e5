#include "processor/request/public_signature.h"

#include <string.h>

typedef const sp_public_tensor *const *tensor_list;

/* A list of pointers to `count` tensors of its own, which are *items. */
static const sp_public_tensor **make_list(sp_public_tensor **items, size_t count, sp_arena *arena)
{
	const sp_public_tensor **list = sp_arena_array(arena, count, sizeof(*list));

	*items = sp_arena_array(arena, count, sizeof(**items));
	if (list == NULL || *items == NULL)
		return NULL;
	for (size_t i = 0; i < count; i++)
		list[i] = &(*items)[i];
	return list;
}

/* -------------------------------------------------------------- of endpoints */

static tensor_list list_infos(const sp_tensor_info *infos, size_t count, sp_arena *arena)
{
	sp_public_tensor *items;
	tensor_list list = make_list(&items, count, arena);

	for (size_t i = 0; list != NULL && i < count; i++)
		items[i] = (sp_public_tensor){.alias = infos[i].alias,
					      .tensor_name = infos[i].tensor_name,
					      .dtype = (int)infos[i].dtype,
					      .rank = infos[i].shape.rank,
					      .dims = infos[i].shape.dims};
	return list;
}

const sp_public_signature *sp_public_signatures_of(const sp_endpoint *endpoints, size_t count,
						   sp_arena *arena)
{
	sp_public_signature *out = sp_arena_array(arena, count, sizeof(*out));

	for (size_t i = 0; out != NULL && i < count; i++) {
		const sp_signature *from = &endpoints[i].signature;

		out[i] = (sp_public_signature){
			.name = from->name,
			.method = from->method,
			.inputs = list_infos(from->inputs, from->input_count, arena),
			.input_count = from->input_count,
			.outputs = list_infos(from->outputs, from->output_count, arena),
			.output_count = from->output_count};
		if (out[i].inputs == NULL || out[i].outputs == NULL)
			return NULL;
	}
	return out;
}

/* -------------------------------------------------------------------- copies */

static bool copy_tensor(sp_public_tensor *out, const sp_public_tensor *from, sp_arena *arena)
{
	size_t rank = from->rank > 0 ? (size_t)from->rank : 0;
	int64_t *dims = sp_arena_array(arena, rank, sizeof(*dims));

	*out = *from;
	out->alias = sp_arena_text(arena, sp_bytes_of(from->alias));
	out->tensor_name = sp_arena_text(arena, sp_bytes_of(from->tensor_name));
	out->dims = dims;
	if (dims != NULL && rank != 0)
		memcpy(dims, from->dims, rank * sizeof(*dims));
	return out->alias != NULL && out->tensor_name != NULL && dims != NULL;
}

static tensor_list copy_list(tensor_list from, size_t count, sp_arena *arena)
{
	sp_public_tensor *items;
	tensor_list list = make_list(&items, count, arena);

	for (size_t i = 0; list != NULL && i < count; i++)
		if (!copy_tensor(&items[i], from[i], arena))
			return NULL;
	return list;
}

const sp_public_signature *sp_public_signatures_copy(const sp_public_signature *from, size_t count,
						     sp_arena *arena)
{
	sp_public_signature *out = sp_arena_array(arena, count, sizeof(*out));

	for (size_t i = 0; out != NULL && i < count; i++) {
		out[i] = from[i];
		out[i].name = sp_arena_text(arena, sp_bytes_of(from[i].name));
		out[i].method = sp_arena_text(arena, sp_bytes_of(from[i].method));
		out[i].inputs = copy_list(from[i].inputs, from[i].input_count, arena);
		out[i].outputs = copy_list(from[i].outputs, from[i].output_count, arena);
		if (out[i].name == NULL || out[i].method == NULL || out[i].inputs == NULL ||
		    out[i].outputs == NULL)
			return NULL;
	}
	return out;
}

/* ---------------------------------------------------------------- comparison */

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
