#include "model_loader/saved_model/descriptor_files.h"

#include <string.h>

#include "base/alloc.h"
#include "base/file.h"
#include "base/log.h"

#define INLINE "bytes://"

enum { MAX_SIZE = 64 << 20 };

typedef struct reader {
	const char *directory;
	sp_arena *arena;
	sp_error *err;
} reader;

/* The attribute that names a file; NULL: none. */
static const sp_attr *find_name(const sp_node_def *node)
{
	const sp_attr *attr;

	if (strcmp(node->op, "DecodeProtoV2") != 0)
		return NULL;
	attr = sp_attr_find(node->attrs, node->attr_count, "descriptor_source");
	if (attr == NULL || attr->kind != SP_ATTR_BYTES || attr->bytes.size == 0 ||
	    memchr(attr->bytes.data, '\0', attr->bytes.size) != NULL ||
	    sp_bytes_equal_text(attr->bytes, "local://") ||
	    sp_bytes_starts_with(attr->bytes, INLINE))
		return NULL;
	return attr;
}

/* *out stays NULL if there is no such file; *why is then the failure of the first path. */
static sp_status read_anywhere(const reader *r, const char *name, char **out, size_t *size,
			       sp_error *why)
{
	const char *base = strrchr(name, '/') != NULL ? strrchr(name, '/') + 1 : name;
	const char *paths[] = {name, sp_arena_printf(r->arena, "%s/assets/%s", r->directory, base),
			       sp_arena_printf(r->arena, "%s/assets.extra/%s", r->directory, base)};

	*out = NULL;
	for (size_t i = 0; i < 3; i++) {
		sp_status status;

		SP_NEED_MEMORY(paths[i], r->err, "files that nodes name");
		status = sp_file_read(out, size, paths[i], MAX_SIZE, i == 0 ? why : NULL);
		if (status == SP_NO_MEMORY)
			return sp_no_memory(r->err, "files that nodes name");
		if (status == SP_OK)
			return SP_OK;
		*out = NULL;
	}
	return SP_OK;
}

static sp_status put_bytes(const reader *r, sp_attr *attr, const char *bytes, size_t size)
{
	size_t prefix = strlen(INLINE);
	char *text = sp_arena_alloc(r->arena, prefix + size);

	SP_NEED_MEMORY(text, r->err, "files that nodes name");
	memcpy(text, INLINE, prefix);
	if (size != 0)
		memcpy(text + prefix, bytes, size);
	attr->bytes = (sp_bytes){text, prefix + size};
	return SP_OK;
}

static sp_status read_of_node(const reader *r, sp_node_def *node, const sp_attr *named)
{
	const char *name = sp_arena_text(r->arena, named->bytes);
	sp_attr *attrs = sp_arena_array(r->arena, node->attr_count, sizeof(*attrs));
	sp_error why;
	sp_status status;
	char *bytes;
	size_t size;

	SP_NEED_MEMORY(name != NULL && attrs != NULL, r->err, "files that nodes name");
	SP_TRY(read_anywhere(r, name, &bytes, &size, &why));
	if (bytes == NULL) {
		sp_log(SP_LOG_WARNING, "node '%s': the file that it names is not there: %s",
		       node->name, why.text);
		return SP_OK;
	}
	memcpy(attrs, node->attrs, node->attr_count * sizeof(*attrs));
	status = put_bytes(r, &attrs[named - node->attrs], bytes, size);
	sp_free(bytes);
	node->attrs = attrs;
	return status;
}

static sp_status read_of_nodes(const reader *r, const sp_node_def **nodes, size_t count)
{
	sp_node_def *own = NULL;

	for (size_t i = 0; i < count; i++) {
		const sp_attr *named = find_name(&(*nodes)[i]);

		if (named == NULL)
			continue;
		if (own == NULL) {
			own = sp_arena_copy(r->arena, *nodes, count, count, sizeof(*own));
			SP_NEED_MEMORY(own, r->err, "files that nodes name");
			*nodes = own;
		}
		SP_TRY(read_of_node(r, &own[i], named));
	}
	return SP_OK;
}

sp_status sp_descriptor_files_read(sp_graph_def *graph, const char *directory, sp_arena *arena,
				   sp_error *err)
{
	reader r = {directory, arena, err};
	sp_function_def *functions;

	SP_TRY(read_of_nodes(&r, &graph->nodes, graph->node_count));
	if (graph->function_count == 0)
		return SP_OK;
	functions = sp_arena_copy(arena, graph->functions, graph->function_count,
				  graph->function_count, sizeof(*functions));
	SP_NEED_MEMORY(functions, err, "files that nodes name");
	for (size_t i = 0; i < graph->function_count; i++)
		SP_TRY(read_of_nodes(&r, &functions[i].nodes, functions[i].node_count));
	graph->functions = functions;
	return SP_OK;
}
