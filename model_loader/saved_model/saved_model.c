#include "model_loader/saved_model/saved_model.h"

#include <string.h>

#include "base/alloc.h"
#include "base/buffer.h"
#include "base/file.h"
#include "model_loader/proto/unpack.h"
#include "model_loader/proto/proto_internal.h"
#include "model_loader/proto/saved_model.pb-c.h"
#include "model_loader/proto/tensor_proto.h"
#include "model_loader/proto/text_format.h"
#include "model_loader/saved_model/model_folder.h"
#include "model_loader/saved_model/signature_def.h"

#define SERVE_TAG            "serve"
#define MAX_TAGS_TOLD        8
#define MAIN_OP_COLLECTION   "saved_model_main_op"
#define LEGACY_OP_COLLECTION "legacy_init_op"
#define TABLES_COLLECTION    "table_initializer"
#define TABLES_INIT_OP       "_init_all_tables"
#define ASSETS_COLLECTION    "saved_model_assets"
#define ASSET_TYPE           "/tensorflow.AssetFileDef"

static bool is_text(const ProtobufCBinaryData *field, const char *text)
{
	return sp_bytes_equal_text(sp_message_bytes(field), text);
}

/* --------------------------------------------------------- savers and init op */

static sp_status read_saver(sp_saver *out, const SpPb__SaverDef *saver, sp_arena *arena,
			    sp_error *err)
{
	if (saver == NULL || saver->filename_tensor_name.len == 0 ||
	    saver->restore_op_name.len == 0)
		return SP_OK;
	SP_TRY(sp_message_text(&out->filename_tensor, &saver->filename_tensor_name,
			       "the saver's file name tensor", arena, err));
	return sp_message_text(&out->restore_op, &saver->restore_op_name,
			       "the saver's restore operation", arena, err);
}

/* NULL: none; of equal keys the last one counts, as in any protobuf map. */
static const SpPb__CollectionDef *find_collection(const SpPb__MetaGraphDef *meta, const char *key)
{
	const SpPb__CollectionDef *found = NULL;

	for (size_t i = 0; i < meta->n_collection_def; i++)
		if (is_text(&meta->collection_def[i]->key, key))
			found = meta->collection_def[i]->value;
	return found;
}

static sp_status init_op_of_signature(const char **out, const SpPb__SignatureDef *signature,
				      sp_arena *arena, sp_error *err)
{
	for (size_t i = 0; signature != NULL && i < signature->n_outputs; i++) {
		const SpPb__TensorInfo *info = signature->outputs[i]->value;

		if (is_text(&signature->outputs[i]->key, SP_INIT_OP_SIGNATURE) && info != NULL &&
		    info->encoding_case == SP_PB__TENSOR_INFO__ENCODING_NAME)
			return sp_message_text(out, &info->name, "the init operation", arena, err);
	}
	return sp_error_set(err, SP_CORRUPT,
			    "signature " SP_INIT_OP_SIGNATURE " names no operation");
}

static sp_status init_op_of_collection(const char **out, const SpPb__CollectionDef *collection,
				       const char *key, sp_arena *arena, sp_error *err)
{
	size_t count = collection->kind_case == SP_PB__COLLECTION_DEF__KIND_NODE_LIST
			       ? collection->node_list->n_value
			       : 0;

	if (count != 1)
		return sp_error_set(err, SP_CORRUPT,
				    "collection %s holds %zu nodes, it must hold one", key, count);
	return sp_message_text(out, &collection->node_list->value[0], "the init operation", arena,
			       err);
}

/*
 * TensorFlow writes the same operation in several places, of which one must be run: the signature,
 * else the main op, else the legacy init op.
 */
static sp_status read_init_op(sp_saved_model *out, const SpPb__MetaGraphDef *meta, sp_error *err)
{
	static const char *const keys[] = {MAIN_OP_COLLECTION, LEGACY_OP_COLLECTION};

	for (size_t i = 0; i < meta->n_signature_def; i++)
		if (is_text(&meta->signature_def[i]->key, SP_INIT_OP_SIGNATURE))
			return init_op_of_signature(&out->init_op, meta->signature_def[i]->value,
						    out->arena, err);
	for (size_t i = 0; i < sizeof(keys) / sizeof(*keys); i++) {
		const SpPb__CollectionDef *collection = find_collection(meta, keys[i]);

		if (collection != NULL)
			return init_op_of_collection(&out->init_op, collection, keys[i], out->arena,
						     err);
	}
	return SP_OK;
}

/* --------------------------------------------------------------------- assets */

/* Whether a relative path stays below its start. */
static bool is_below(const char *path)
{
	do {
		size_t n = strcspn(path, "/");

		if (n == 0 || (n == 1 && path[0] == '.') || (n == 2 && memcmp(path, "..", 2) == 0))
			return false;
		path += n;
	} while (*path++ == '/');
	return true;
}

static sp_status read_asset(sp_asset *out, const SpPb__AssetFileDef *asset, sp_arena *arena,
			    sp_error *err)
{
	const SpPb__TensorInfo *info = asset->tensor_info;

	SP_TRY(sp_message_text(&out->filename, &asset->filename, "an asset's name", arena, err));
	if (!is_below(out->filename))
		return sp_error_set(err, SP_CORRUPT, "asset \"%s\" is no path below assets/",
				    out->filename);
	if (info == NULL || info->encoding_case != SP_PB__TENSOR_INFO__ENCODING_NAME)
		return sp_error_set(err, SP_CORRUPT, "asset %s names no tensor", out->filename);
	return sp_message_text(&out->tensor_name, &info->name, "an asset's tensor", arena, err);
}

static sp_status read_packed_asset(sp_asset *out, const SpPb__Any *any, sp_arena *arena,
				   sp_arena *scratch, sp_error *err)
{
	ProtobufCMessage *message;

	if (!sp_bytes_ends_with(sp_message_bytes(&any->type_url), ASSET_TYPE))
		return sp_error_set(err, SP_CORRUPT,
				    "collection " ASSETS_COLLECTION " holds something else");
	SP_TRY(sp_message_unpack(&message, &sp_pb__asset_file_def__descriptor,
				 sp_message_bytes(&any->value), scratch, err));
	return read_asset(out, (const SpPb__AssetFileDef *)message, arena, err);
}

static sp_status read_assets(sp_saved_model *out, const SpPb__MetaGraphDef *meta, sp_arena *scratch,
			     sp_error *err)
{
	const SpPb__CollectionDef *collection = find_collection(meta, ASSETS_COLLECTION);
	bool packed = meta->n_asset_file_def == 0 && collection != NULL &&
		      collection->kind_case == SP_PB__COLLECTION_DEF__KIND_ANY_LIST;
	size_t count = packed ? collection->any_list->n_value : meta->n_asset_file_def;
	sp_asset *items = sp_arena_array(out->arena, count, sizeof(*items));

	SP_NEED_MEMORY(items, err, "the SavedModel");
	for (size_t i = 0; i < count; i++) {
		if (packed)
			SP_TRY(read_packed_asset(&items[i], collection->any_list->value[i],
						 out->arena, scratch, err));
		else
			SP_TRY(read_asset(&items[i], meta->asset_file_def[i], out->arena, err));
	}
	out->assets = items;
	out->asset_count = count;
	return SP_OK;
}

/* ----------------------------------------------------------------- the message */

static bool is_listed(sp_bytes tag, const char *tags)
{
	for (;; tags++) {
		size_t n = strcspn(tags, ",");

		if (sp_bytes_equal(tag, (sp_bytes){tags, n}))
			return true;
		tags += n;
		if (*tags == '\0')
			return false;
	}
}

static bool is_among(sp_bytes tag, const SpPb__MetaGraphDef__MetaInfoDef *info)
{
	for (size_t i = 0; i < info->n_tags; i++)
		if (sp_bytes_equal(tag, sp_message_bytes(&info->tags[i])))
			return true;
	return false;
}

/* Whether both are the same set, in any order. */
static bool has_tags(const SpPb__MetaGraphDef *meta, const char *tags)
{
	const SpPb__MetaGraphDef__MetaInfoDef *info = meta->meta_info_def;

	if (info == NULL)
		return false;
	for (size_t i = 0; i < info->n_tags; i++)
		if (!is_listed(sp_message_bytes(&info->tags[i]), tags))
			return false;
	for (;; tags++) {
		size_t n = strcspn(tags, ",");

		if (!is_among((sp_bytes){tags, n}, info))
			return false;
		tags += n;
		if (*tags == '\0')
			return true;
	}
}

static sp_status no_such_tags(const SpPb__SavedModel *model, const char *tags, sp_error *err)
{
	sp_buffer text;

	sp_buffer_init(&text, 64 << 10);
	for (size_t i = 0; i < model->n_meta_graphs && i < MAX_TAGS_TOLD; i++) {
		const SpPb__MetaGraphDef__MetaInfoDef *info = model->meta_graphs[i]->meta_info_def;

		sp_buffer_append_text(&text, i != 0 ? ", \"" : "\"");
		for (size_t t = 0; info != NULL && t < info->n_tags && t < MAX_TAGS_TOLD; t++) {
			sp_bytes tag = sp_message_bytes(&info->tags[t]);

			sp_buffer_printf(&text, "%s%.*s", t != 0 ? "," : "",
					 (int)(tag.size < 32 ? tag.size : 32), tag.data);
		}
		sp_buffer_append_char(&text, '"');
	}
	sp_error_set(err, SP_NOT_FOUND,
		     "none of %zu metagraphs has exactly the tags \"%s\", they have %s",
		     model->n_meta_graphs, tags, text.size != 0 && !text.failed ? text.data : "");
	sp_buffer_fini(&text);
	return SP_NOT_FOUND;
}

static sp_status choose(const SpPb__MetaGraphDef **out, const SpPb__SavedModel *model,
			const char *tags, sp_error *err)
{
	const char *wanted = tags != NULL ? tags : SERVE_TAG;

	if (model->saved_model_schema_version < 0 || model->saved_model_schema_version > 1)
		return sp_error_set(err, SP_UNSUPPORTED, "SavedModel schema version %lld",
				    (long long)model->saved_model_schema_version);
	for (size_t i = 0; i < model->n_meta_graphs; i++) {
		if (has_tags(model->meta_graphs[i], wanted) ||
		    (tags == NULL && model->n_meta_graphs == 1)) {
			*out = model->meta_graphs[i];
			return SP_OK;
		}
	}
	return no_such_tags(model, wanted, err);
}

/*
 * A model without an init operation may list table initialisers: a node that depends on all of them
 * becomes the init operation, as in tf.saved_model.load().
 */
static sp_status join_table_initializers(sp_saved_model *out, const SpPb__MetaGraphDef *meta,
					 sp_error *err)
{
	const SpPb__CollectionDef *tables = find_collection(meta, TABLES_COLLECTION);
	sp_node_def *nodes, *all;
	const char **inputs;
	size_t count;

	if (out->init_op != NULL || tables == NULL ||
	    tables->kind_case != SP_PB__COLLECTION_DEF__KIND_NODE_LIST)
		return SP_OK;
	count = tables->node_list->n_value;
	nodes = sp_arena_array(out->arena, out->graph.node_count + 1, sizeof(*nodes));
	inputs = sp_arena_array(out->arena, count, sizeof(*inputs));
	SP_NEED_MEMORY(nodes != NULL && inputs != NULL, err, "the SavedModel");
	for (size_t i = 0; i < count; i++) {
		const char *name;

		SP_TRY(sp_message_text(&name, &tables->node_list->value[i], "a table initialiser",
				       out->arena, err));
		inputs[i] = sp_arena_printf(out->arena, "^%s", name);
		SP_NEED_MEMORY(inputs[i], err, "the SavedModel");
	}
	if (out->graph.node_count != 0)
		memcpy(nodes, out->graph.nodes, out->graph.node_count * sizeof(*nodes));
	all = &nodes[out->graph.node_count++];
	*all = (sp_node_def){
		.name = TABLES_INIT_OP, .op = "NoOp", .inputs = inputs, .input_count = count};
	out->graph.nodes = nodes;
	out->init_op = TABLES_INIT_OP;
	return SP_OK;
}

static sp_status read_object_graph(sp_saved_model *out, const SpPb__MetaGraphDef *meta,
				   sp_error *err)
{
	sp_bytes bytes = sp_message_bytes(&meta->object_graph_def);
	char *copy = sp_arena_alloc(out->arena, bytes.size);

	SP_NEED_MEMORY(copy, err, "the SavedModel");
	if (bytes.size != 0)
		memcpy(copy, bytes.data, bytes.size);
	out->object_graph = (sp_bytes){copy, bytes.size};
	return SP_OK;
}

static sp_status read_meta_graph(sp_saved_model *out, const SpPb__MetaGraphDef *meta,
				 sp_arena *scratch, sp_error *err)
{
	sp_proto_target target = {out->arena, SP_TENSOR_PROTO_MAX_REPEATED};

	if (meta->graph_def == NULL)
		return sp_error_set(err, SP_CORRUPT, "the metagraph has no graph");
	SP_TRY(sp_proto__graph(&out->graph, meta->graph_def, &target, err));
	SP_TRY(sp_saved_model__read_signatures(out, meta, &target, err));
	SP_TRY(read_saver(&out->saver, meta->saver_def, out->arena, err));
	SP_TRY(read_saver(&out->incremental_saver, meta->incr_saver_def, out->arena, err));
	SP_TRY(read_init_op(out, meta, err));
	SP_TRY(join_table_initializers(out, meta, err));
	SP_TRY(read_object_graph(out, meta, err));
	return read_assets(out, meta, scratch, err);
}

/* ------------------------------------------------- a graph that is no SavedModel */

/*
 * Whether all names and operators are printable, unlike those of a MetaGraphDef parsed as a
 * GraphDef.
 */
static bool is_graph(const SpPb__GraphDef *graph)
{
	for (size_t i = 0; i < graph->n_node; i++) {
		const ProtobufCBinaryData *fields[] = {&graph->node[i]->name, &graph->node[i]->op};

		for (size_t k = 0; k < 2; k++) {
			if (fields[k]->len == 0)
				return false;
			for (size_t j = 0; j < fields[k]->len; j++)
				if (fields[k]->data[j] <= ' ' || fields[k]->data[j] > '~')
					return false;
		}
	}
	return graph->n_node != 0;
}

/* Sets the one that the bytes are; the other is NULL. */
static sp_status unpack_graph(const SpPb__GraphDef **graph, const SpPb__MetaGraphDef **meta,
			      sp_bytes bytes, sp_arena *scratch, sp_error *err)
{
	ProtobufCMessage *message;

	*graph = NULL;
	*meta = NULL;
	if (sp_message_unpack(&message, &sp_pb__graph_def__descriptor, bytes, scratch, err) ==
		    SP_OK &&
	    is_graph((const SpPb__GraphDef *)message)) {
		*graph = (const SpPb__GraphDef *)message;
		return SP_OK;
	}
	sp_arena_reset(scratch);
	SP_TRY(sp_message_unpack(&message, &sp_pb__meta_graph_def__descriptor, bytes, scratch,
				 err));
	*meta = (const SpPb__MetaGraphDef *)message;
	return SP_OK;
}

static sp_status parse_graph(sp_saved_model *out, sp_bytes bytes, sp_arena *scratch, sp_error *err)
{
	sp_proto_target target = {out->arena, SP_TENSOR_PROTO_MAX_REPEATED};
	const SpPb__GraphDef *graph;
	const SpPb__MetaGraphDef *meta;

	SP_TRY(unpack_graph(&graph, &meta, bytes, scratch, err));
	if (graph != NULL)
		return sp_proto__graph(&out->graph, graph, &target, err);
	return read_meta_graph(out, meta, scratch, err);
}

sp_status sp_saved_model_parse_graph(sp_saved_model *out, const void *bytes, size_t size,
				     sp_arena *arena, sp_error *err)
{
	sp_arena *scratch = sp_arena_create((size_t)1 << 20);
	sp_error local;
	sp_status status;

	SP_NEED_MEMORY(scratch, err, "the SavedModel");
	*out = (sp_saved_model){.arena = arena};
	status = parse_graph(out, (sp_bytes){bytes, size}, scratch, err != NULL ? err : &local);
	sp_arena_destroy(scratch);
	return status;
}

/* No top-level field of a MetaGraphDef is one of a GraphDef, so parsed as GraphDef it is empty. */
static sp_status parse_graph_text(sp_saved_model *out, sp_bytes text, sp_arena *arena,
				  sp_error *err)
{
	sp_buffer bytes;
	sp_status status = sp_text_format_encode(&bytes, &sp_pb__graph_def__descriptor, text, err);

	if (status == SP_OK && bytes.size == 0) {
		sp_buffer_fini(&bytes);
		status = sp_text_format_encode(&bytes, &sp_pb__meta_graph_def__descriptor, text,
					       err);
	}
	if (status == SP_OK)
		status = sp_saved_model_parse_graph(out, bytes.data, bytes.size, arena, err);
	sp_buffer_fini(&bytes);
	return status;
}

sp_status sp_saved_model_read_graph(sp_saved_model *out, const char *path, sp_arena *arena,
				    sp_error *err)
{
	sp_status status;
	char *bytes;
	size_t size;

	SP_TRY(sp_file_read(&bytes, &size, path, SP_MESSAGE_MAX_SIZE, err));
	if (sp_bytes_ends_with(sp_bytes_of(path), ".pbtxt"))
		status = parse_graph_text(out, (sp_bytes){bytes, size}, arena, err);
	else
		status = sp_saved_model_parse_graph(out, bytes, size, arena, err);
	sp_free(bytes);
	return sp_error_prefix(err, status, "%s", path);
}

/* ---------------------------------------------------------------- a SavedModel */

/*
 * The bytes are no SavedModel, as *err says.  Adds an explanation if they are a graph named
 * saved_model.pb, or a Git LFS pointer to a large file.
 */
static sp_status explain_bytes(sp_bytes bytes, sp_arena *scratch, sp_error *err)
{
	const SpPb__GraphDef *graph;
	const SpPb__MetaGraphDef *meta;

	if (sp_bytes_starts_with(bytes, "version https://git-lfs"))
		return sp_error_set(err, SP_CORRUPT,
				    "this is a pointer of Git LFS, fetch the file it stands for");
	sp_arena_reset(scratch);
	if (unpack_graph(&graph, &meta, bytes, scratch, NULL) != SP_OK ||
	    (graph == NULL && (meta->graph_def == NULL || !is_graph(meta->graph_def))))
		return SP_CORRUPT;
	return sp_error_set(err, SP_UNSUPPORTED,
			    "this is a %s and no SavedModel, configuration key 'graph_file' serves "
			    "it",
			    graph != NULL ? "GraphDef" : "MetaGraphDef");
}

static sp_status parse(sp_saved_model *out, sp_bytes bytes, const char *tags, sp_arena *scratch,
		       sp_error *err)
{
	const SpPb__MetaGraphDef *meta = NULL;
	ProtobufCMessage *message;
	sp_status status = sp_message_unpack(&message, &sp_pb__saved_model__descriptor, bytes,
					     scratch, err);

	if (status == SP_CORRUPT)
		return explain_bytes(bytes, scratch, err);
	SP_TRY(status);
	SP_TRY(choose(&meta, (const SpPb__SavedModel *)message, tags, err));
	return read_meta_graph(out, meta, scratch, err);
}

sp_status sp_saved_model_parse(sp_saved_model *out, const void *bytes, size_t size,
			       const char *tags, sp_arena *arena, sp_error *err)
{
	sp_arena *scratch = sp_arena_create((size_t)1 << 20);
	sp_status status;

	SP_NEED_MEMORY(scratch, err, "the SavedModel");
	*out = (sp_saved_model){.arena = arena};
	status = parse(out, (sp_bytes){bytes, size}, tags, scratch, err);
	sp_arena_destroy(scratch);
	return status;
}

/* ------------------------------------------------------------------- the files */

static sp_status parse_text(sp_saved_model *out, sp_bytes text, const char *tags, sp_arena *arena,
			    sp_error *err)
{
	sp_buffer bytes;
	sp_status status = sp_text_format_encode(&bytes, &sp_pb__saved_model__descriptor, text,
						 err);

	if (status == SP_OK)
		status = sp_saved_model_parse(out, bytes.data, bytes.size, tags, arena, err);
	sp_buffer_fini(&bytes);
	return status;
}

sp_status sp_saved_model_read(sp_saved_model *out, const char *directory, const char *tags,
			      sp_arena *arena, sp_error *err)
{
	static const char *const names[] = {"saved_model.pb", "saved_model.pbtxt"};
	sp_status status = SP_NOT_FOUND;
	const char *path = NULL;
	bool text = false;
	char *bytes;
	size_t size;

	for (size_t i = 0; i < 2 && status == SP_NOT_FOUND; i++) {
		text = i == 1;
		path = sp_arena_printf(arena, "%s/%s", directory, names[i]);
		SP_NEED_MEMORY(path, err, "the SavedModel");
		status = sp_file_read(&bytes, &size, path, SP_MESSAGE_MAX_SIZE, err);
	}
	if (status == SP_NOT_FOUND)
		SP_TRY(sp_model_folder_check(directory, err));
	SP_TRY(status);
	if (text)
		status = parse_text(out, (sp_bytes){bytes, size}, tags, arena, err);
	else
		status = sp_saved_model_parse(out, bytes, size, tags, arena, err);
	sp_free(bytes);
	return sp_error_prefix(err, status, "%s", path);
}
