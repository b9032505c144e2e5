#include "processor/request/public_signature.h"

static const sp_public_tensor *const *list_tensors(const sp_tensor_info *infos, size_t count,
						   sp_arena *arena)
{
	const sp_public_tensor **list = sp_arena_array(arena, count, sizeof(*list));
	sp_public_tensor *items = sp_arena_array(arena, count, sizeof(*items));

	if (list == NULL || items == NULL)
		return NULL;
	for (size_t i = 0; i < count; i++) {
		items[i] = (sp_public_tensor){.alias = infos[i].alias,
					      .tensor_name = infos[i].tensor_name,
					      .dtype = (int)infos[i].dtype,
					      .rank = infos[i].shape.rank,
					      .dims = infos[i].shape.dims};
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
			.name = from->name,
			.method = from->method,
			.inputs = list_tensors(from->inputs, from->input_count, arena),
			.input_count = from->input_count,
			.outputs = list_tensors(from->outputs, from->output_count, arena),
			.output_count = from->output_count};
		if (out[i].inputs == NULL || out[i].outputs == NULL)
			return NULL;
	}
	return out;
}
