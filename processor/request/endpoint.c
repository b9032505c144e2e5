#include "processor/request/endpoint.h"

#include <inttypes.h>
#include <stdint.h>
#include <string.h>

#include "base/buffer.h"
#include "base/name_list.h"
#include "base/json_text.h"

static sp_status no_memory(sp_error *err)
{
	return sp_no_memory(err, "the names of a signature");
}

static sp_bytes spell(const sp_tensor_info *info, sp_spelling spelling)
{
	sp_bytes name = sp_bytes_of(spelling == SP_SPELLING_ALIAS ? info->alias
								  : info->tensor_name);

	if (spelling == SP_SPELLING_NODE && sp_bytes_ends_with(name, ":0"))
		name.size -= 2;
	return name;
}

/* Aliases first: of equal names, the one added first is used. */
static sp_status add_names(sp_map *map, const sp_tensor_info *infos, size_t count, sp_error *err)
{
	for (int spelling = 0; spelling < SP_SPELLING_COUNT; spelling++)
		for (size_t i = 0; i < count; i++)
			if (sp_map_add(map, spell(&infos[i], (sp_spelling)spelling),
				       i * SP_SPELLING_COUNT + (unsigned)spelling) ==
			    SP_MAP_NO_MEMORY)
				return no_memory(err);
	return SP_OK;
}

static sp_status find_canonical_inputs(sp_endpoint *endpoint, sp_arena *arena, sp_error *err)
{
	const sp_signature *signature = &endpoint->signature;
	sp_map tensors;

	sp_map_init(&tensors, arena);
	endpoint->canonical_inputs = sp_arena_array(arena, signature->input_count,
						    sizeof(*endpoint->canonical_inputs));
	if (endpoint->canonical_inputs == NULL)
		return no_memory(err);
	for (size_t i = 0; i < signature->input_count; i++) {
		sp_bytes tensor = spell(&signature->inputs[i], SP_SPELLING_NODE);
		uint64_t canonical = i;

		if (sp_map_add(&tensors, tensor, i) == SP_MAP_NO_MEMORY)
			return no_memory(err);
		sp_map_get(&tensors, tensor, &canonical);
		endpoint->canonical_inputs[i] = (size_t)canonical;
	}
	return SP_OK;
}

/* --------------------------------------------------------------------- JSON */

/* DeepRec's processor names only these types; others are "". */
static const char *json_type(sp_dtype dtype)
{
	switch (dtype) {
	case SP_FLOAT:
	case SP_DOUBLE:
	case SP_INT32:
	case SP_UINT8:
	case SP_INT8:
	case SP_STRING:
	case SP_INT64:
	case SP_BOOL:
		return sp_dtype_name(dtype);
	default:
		return "";
	}
}

static void put_json_infos(sp_buffer *json, const sp_tensor_info *infos, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		const sp_partial_shape *shape = &infos[i].shape;

		sp_buffer_append_text(json, i == 0 ? "{\"name\": " : ",{\"name\": ");
		sp_json_text_append(json, sp_bytes_of(infos[i].alias));
		sp_buffer_append_text(json, ",\"shape\": [");
		for (int d = 0; d < shape->rank; d++)
			sp_buffer_printf(json, "%s%" PRId64, d == 0 ? "" : ", ", shape->dims[d]);
		sp_buffer_printf(json, "],\"type\": \"%s\"}", json_type(infos[i].dtype));
	}
}

static const char *make_json(const sp_signature *signature, sp_arena *arena)
{
	const char *text = NULL;
	sp_buffer json;

	if (strcmp(signature->method, "tensorflow/serving/predict") != 0)
		return "";
	sp_buffer_init(&json, SIZE_MAX / 2);
	sp_buffer_append_text(&json, "{\"signature_name\": ");
	sp_json_text_append(&json, sp_bytes_of(signature->name));
	sp_buffer_append_text(&json, ",\"inputs\": [");
	put_json_infos(&json, signature->inputs, signature->input_count);
	sp_buffer_append_text(&json, "],\"outputs\": [");
	put_json_infos(&json, signature->outputs, signature->output_count);
	sp_buffer_append_text(&json, "]}");
	if (!json.failed)
		text = sp_arena_text(arena, (sp_bytes){json.data, json.size});
	sp_buffer_fini(&json);
	return text;
}

/* -------------------------------------------------------------------- names */

sp_status sp_endpoint_init(sp_endpoint *out, const sp_signature *signature, size_t entry,
			   sp_arena *arena, sp_error *err)
{
	out->signature = *signature;
	out->entry = entry;
	out->refused = NULL;
	out->splits = false;
	sp_map_init(&out->inputs, arena);
	sp_map_init(&out->outputs, arena);
	out->json = make_json(signature, arena);
	if (out->json == NULL)
		return no_memory(err);
	SP_TRY(find_canonical_inputs(out, arena, err));
	SP_TRY(add_names(&out->inputs, signature->inputs, signature->input_count, err));
	return add_names(&out->outputs, signature->outputs, signature->output_count, err);
}

/* Returns SP_INVALID: "signature 's' has no input 'z'; it has 'x', 'y'". */
static sp_status unknown_name(const sp_endpoint *endpoint, const char *what, sp_bytes name,
			      const sp_tensor_info *infos, size_t count, sp_error *err)
{
	sp_name_list list = {0};

	for (size_t i = 0; i < count; i++)
		sp_name_list_add(&list, infos[i].alias);
	return sp_error_set(err, SP_INVALID, "signature '%s' has no %s '%.*s'; it has %s",
			    endpoint->signature.name, what, (int)(name.size < 80 ? name.size : 80),
			    name.size != 0 ? name.data : "", sp_name_list_text(&list));
}

sp_status sp_endpoint_find_input(const sp_endpoint *endpoint, sp_bytes name, size_t *index,
				 sp_error *err)
{
	const sp_signature *signature = &endpoint->signature;
	uint64_t value;

	if (!sp_map_get(&endpoint->inputs, name, &value))
		return unknown_name(endpoint, "input", name, signature->inputs,
				    signature->input_count, err);
	*index = endpoint->canonical_inputs[value / SP_SPELLING_COUNT];
	return SP_OK;
}

sp_status sp_endpoint_find_output(const sp_endpoint *endpoint, sp_bytes name, size_t *index,
				  sp_spelling *spelling, sp_error *err)
{
	const sp_signature *signature = &endpoint->signature;
	uint64_t value;

	if (!sp_map_get(&endpoint->outputs, name, &value))
		return unknown_name(endpoint, "output", name, signature->outputs,
				    signature->output_count, err);
	*index = (size_t)(value / SP_SPELLING_COUNT);
	*spelling = (sp_spelling)(value % SP_SPELLING_COUNT);
	return SP_OK;
}
