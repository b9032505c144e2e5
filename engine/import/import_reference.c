#include <stdlib.h>
#include <string.h>

#include "engine/import/import_internal.h"

/* Names, references and regions, for all files of the import. */

enum { MAX_REGION_DEPTH = 64 };

sp_status sp_import__no_memory(sp_importer *im)
{
	return sp_error_set(im->err, SP_NO_MEMORY, "no memory for the graph");
}

sp_status sp_import__add_name(sp_importer *im, sp_map *names, const char *name, uint64_t value)
{
	switch (sp_map_add(names, sp_bytes_of(name), value)) {
	case SP_MAP_ADDED:
		return SP_OK;
	case SP_MAP_PRESENT:
		return sp_error_set(im->err, SP_CORRUPT, "two nodes are named '%s'", name);
	default:
		return sp_import__no_memory(im);
	}
}

sp_status sp_import__add_regions(sp_importer *im, uint32_t around, uint32_t count, uint32_t *first)
{
	sp_graph *graph = im->graph;
	int depth = 1;

	for (uint32_t r = around; r != 0; r = graph->around[r])
		if (++depth > MAX_REGION_DEPTH)
			return sp_error_set(im->err, SP_INVALID,
					    "conditions and loops are nested more than %d deep",
					    MAX_REGION_DEPTH);
	if (!SP_ARENA_GROW(im->arena, graph->around, im->region_capacity, graph->region_count,
			   count))
		return sp_import__no_memory(im);
	*first = (uint32_t)graph->region_count;
	for (uint32_t i = 0; i < count; i++)
		graph->around[graph->region_count++] = around;
	return SP_OK;
}

bool sp_import__split_reference(const char *ref, bool in_body, sp_bytes *name, sp_bytes *argument,
				uint32_t *number)
{
	const char *colon, *digits;

	if (ref[0] == '^')
		ref++;
	colon = strchr(ref, ':');
	digits = colon != NULL ? colon + 1 : NULL;
	*name = (sp_bytes){ref, colon != NULL ? (size_t)(colon - ref) : strlen(ref)};
	*argument = (sp_bytes){"", 0};
	*number = 0;
	if (colon == NULL)
		return name->size != 0;
	if (in_body) {
		const char *second = strchr(colon + 1, ':');

		if (second != NULL) {
			*argument = (sp_bytes){colon + 1, (size_t)(second - colon - 1)};
			digits = second + 1;
		}
	}
	if (*digits < '0' || *digits > '9' || strlen(digits) > 5 ||
	    strspn(digits, "0123456789") != strlen(digits))
		return false;
	*number = (uint32_t)strtoul(digits, NULL, 10);
	return name->size != 0 && *number <= UINT16_MAX;
}

const char *sp_import__data_input(const sp_node_def *node, uint64_t i)
{
	return i < node->input_count && node->inputs[i][0] != '^' ? node->inputs[i] : NULL;
}

void sp_import__number_variables(sp_owner *owner)
{
	uint32_t n = 0;

	for (size_t i = 0; i < owner->variable_count; i++)
		if (!owner->variables[i].is_constant)
			owner->variables[i].number = n++;
}
