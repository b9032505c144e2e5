#include "model_loader/version/load_environment.h"

#include <string.h>

#include "base/alloc.h"
#include "base/file.h"
#include "base/size.h"
#include "model_loader/checkpoint/delta.h"

/* Vocabulary files are a few megabytes; no recommender needs more than this. */
#define MAX_FILE_SIZE ((size_t)1 << 30)

/* A graph may read only the checkpoint that is being loaded. */
static sp_status check_prefix(const sp_load_environment *environment, sp_bytes prefix,
			      sp_error *err)
{
	if (environment->full == NULL)
		return sp_error_set(err, SP_NOT_FOUND, "there is no checkpoint '%.*s'",
				    (int)prefix.size, prefix.data);
	if (sp_bytes_equal_text(prefix, sp_bundle_prefix(environment->full)) ||
	    (environment->delta != NULL &&
	     sp_bytes_equal_text(prefix, sp_bundle_prefix(environment->delta))))
		return SP_OK;
	return sp_error_set(err, SP_INVALID, "'%.*s' is not the checkpoint that is loaded, %s",
			    (int)prefix.size, prefix.data, sp_bundle_prefix(environment->full));
}

/* "<name>\0<slice>" in `arena`; false when out of memory. */
static bool make_key(sp_bytes *key, sp_bytes name, sp_bytes slice, sp_arena *arena)
{
	size_t size;
	char *text;

	if (!sp_size_add(&size, name.size, slice.size) || !sp_size_add(&size, size, 1) ||
	    (text = sp_arena_alloc(arena, size)) == NULL)
		return false;
	if (name.size != 0)
		memcpy(text, name.data, name.size);
	text[name.size] = '\0';
	if (slice.size != 0)
		memcpy(text + name.size + 1, slice.data, slice.size);
	*key = (sp_bytes){text, size};
	return true;
}

/* The value that the base has restored under that key; NULL: none. */
static const sp_tensor *known_of(const sp_load_environment *environment, sp_bytes key)
{
	uint64_t at;

	if (environment->base == NULL || !sp_map_get(&environment->base->restored, key, &at))
		return NULL;
	return (const sp_tensor *)(uintptr_t)at;
}

/* Keeps the value for deltas on this checkpoint. */
static sp_status keep(sp_load_environment *environment, sp_bytes key, const sp_tensor *value,
		      sp_error *err)
{
	sp_tensor *copy = sp_arena_alloc(environment->calls.arena, sizeof(*copy));

	if (copy != NULL) {
		*copy = *value;
		if (sp_map_add(&environment->restored, key, (uintptr_t)copy) != SP_MAP_NO_MEMORY)
			return SP_OK;
	}
	return sp_no_memory(err, "what was restored");
}

/* Records whether a value restored under a delta comes from the delta or the full checkpoint. */
static sp_status note_origin(sp_load_environment *environment, const sp_tensor *value,
			     const sp_tensor *known, sp_error *err)
{
	bool lent = known != NULL && known->data == value->data;
	const void **at = sp_arena_alloc(environment->calls.arena, sizeof(*at));
	sp_map_result result = SP_MAP_NO_MEMORY;

	if (value->count == 0)
		return SP_OK;
	if (at != NULL) {
		*at = value->data;
		result = sp_map_add(&environment->origins,
				    (sp_bytes){(const char *)at, sizeof(*at)},
				    lent ? SP_VALUE_OF_FULL : SP_VALUE_OF_DELTA);
	}
	SP_NEED_MEMORY(result != SP_MAP_NO_MEMORY, err, "what was restored");
	return SP_OK;
}

/* Values that share the bytes of the base take no memory. */
static sp_status count_bytes(sp_load_environment *environment, const sp_tensor *value,
			     const sp_tensor *known, sp_error *err)
{
	size_t bytes = value->count * sp_dtype_size(value->dtype);

	if (known != NULL && known->data == value->data)
		return SP_OK;
	environment->restored_bytes += bytes;
	if (environment->memory_limit == 0 ||
	    environment->restored_bytes <= environment->memory_limit)
		return SP_OK;
	return sp_error_set(err, SP_NO_MEMORY,
			    "%s: its variables alone take more than the %zu MB that are left of "
			    "model_update_memory_mb",
			    sp_bundle_prefix(environment->full), environment->memory_limit >> 20);
}

static sp_status restore(void *context, sp_bytes prefix, sp_bytes name, sp_bytes slice,
			 sp_dtype dtype, sp_arena *arena, sp_tensor *out, sp_error *err)
{
	sp_load_environment *environment = context;
	const sp_tensor *known;
	sp_status status;
	sp_error why;
	sp_bytes key;

	SP_TRY(sp_load_policy_go_on(&environment->policy, err));
	SP_TRY(check_prefix(environment, prefix, err));
	SP_NEED_MEMORY(make_key(&key, name, slice, environment->calls.arena), err,
		       "the name of a variable");
	known = known_of(environment, key);
	status = sp_delta_read_slice(environment->full, environment->delta, name, slice, known,
				     arena, out, &why);
	/*
	 * Not SP_NOT_FOUND, which means missing files: all files are there, and waiting does not
	 * help.
	 */
	if (status != SP_OK)
		return sp_error_set(err, status == SP_NOT_FOUND ? SP_INVALID : status, "%s",
				    why.text);
	SP_TRY(count_bytes(environment, out, known, err));
	if (environment->delta == NULL)
		SP_TRY(keep(environment, key, out, err));
	else
		SP_TRY(note_origin(environment, out, known, err));
	if (out->dtype != dtype)
		return sp_error_set(err, SP_INVALID, "%s: '%.*s' is %s, and %s is wanted",
				    sp_bundle_prefix(environment->full), (int)name.size, name.data,
				    sp_dtype_name(out->dtype), sp_dtype_name(dtype));
	return SP_OK;
}

/* Whether `path` is below `root` and has no component "..". */
static bool is_below(const char *root, sp_bytes path)
{
	size_t size = strlen(root);

	while (size > 1 && root[size - 1] == '/')
		size--;
	if (path.size <= size + 1 || memcmp(path.data, root, size) != 0 || path.data[size] != '/' ||
	    memchr(path.data, '\0', path.size) != NULL)
		return false;
	for (size_t at = size; at < path.size;) {
		const char *start = path.data + at + 1;
		const char *end = memchr(start, '/', path.size - at - 1);
		size_t length = (end != NULL ? end : path.data + path.size) - start;

		if (length == 2 && start[0] == '.' && start[1] == '.')
			return false;
		at += 1 + length;
	}
	return true;
}

static sp_status read_file(void *context, sp_bytes path, sp_arena *arena, sp_bytes *out,
			   sp_error *err)
{
	const sp_load_environment *environment = context;
	const char *text;
	char *bytes, *copy;
	size_t size;

	if (environment->file_root == NULL || !is_below(environment->file_root, path))
		return sp_error_set(err, SP_INVALID,
				    "the graph reads '%.*s', which is no file of the model",
				    (int)path.size, path.data);
	text = sp_arena_text(arena, path);
	SP_NEED_MEMORY(text, err, "the name of a file");
	SP_TRY(sp_file_read(&bytes, &size, text, MAX_FILE_SIZE, err));
	copy = sp_arena_text(arena, (sp_bytes){bytes, size});
	sp_free(bytes);
	SP_NEED_MEMORY(copy, err, "%zu bytes of %s", size, text);
	*out = (sp_bytes){copy, size};
	return SP_OK;
}

static sp_status create_embedding(void *context, sp_resource *resource,
				  const sp_embedding_options *options, sp_error *err)
{
	sp_load_environment *environment = context;

	return sp_embedding_set_declare(&environment->embeddings, resource, options, err);
}

static sp_status import_embedding(void *context, sp_resource *resource,
				  const sp_embedding_import *import, sp_error *err)
{
	sp_load_environment *environment = context;

	SP_TRY(check_prefix(environment, import->prefix, err));
	return sp_embedding_set_import(&environment->embeddings, resource, import, err);
}

static sp_status import_embedding_rows(void *context, sp_resource *resource, const sp_tensor *keys,
				       const sp_tensor *values, const sp_tensor *versions,
				       sp_error *err)
{
	sp_load_environment *environment = context;

	return sp_embedding_set_import_rows(&environment->embeddings, resource, keys, values,
					    versions, err);
}

static sp_status open_all(sp_load_environment *environment,
			  const sp_load_environment_options *options, sp_arena *arena,
			  sp_error *err)
{
	environment->base = options->base;
	environment->memory_limit = options->memory_limit;
	if (options->base != NULL) {
		environment->full = options->base->full;
		environment->embeddings.base = &options->base->embeddings;
		environment->embeddings.base_resources = options->base_resources;
	} else if (options->checkpoint_prefix != NULL) {
		SP_TRY(sp_bundle_open(&environment->full, options->checkpoint_prefix, err));
	}
	if (options->delta_prefix != NULL)
		SP_TRY(sp_bundle_open(&environment->delta, options->delta_prefix, err));
	if (options->file_root != NULL) {
		environment->file_root = sp_arena_text(arena, sp_bytes_of(options->file_root));
		SP_NEED_MEMORY(environment->file_root, err, "the name of a folder");
	}
	environment->embeddings.model_dir = environment->file_root;
	environment->embeddings.full = environment->full;
	environment->embeddings.delta = environment->delta;
	environment->embeddings.by_key = options->by_key;
	environment->embeddings.arena = arena;
	environment->policy = options->policy != NULL ? *options->policy
						      : (sp_load_policy){.threads = 1};
	environment->policy.ssd = sp_ssd_store_retain(options->ssd);
	environment->policy.redis = sp_redis_store_retain(options->redis);
	environment->policy.shards = sp_shard_store_retain(options->shards);
	environment->policy.features = options->features;
	environment->embeddings.policy = &environment->policy;
	return SP_OK;
}

sp_status sp_load_environment_create(sp_load_environment **out,
				     const sp_load_environment_options *options, sp_arena *arena,
				     sp_error *err)
{
	sp_load_environment *environment = sp_alloc_zero(1, sizeof(*environment));
	sp_status status;

	SP_NEED_MEMORY(environment, err, "loading a model");
	environment->calls = (sp_environment){.context = environment,
					      .restore = restore,
					      .read_file = read_file,
					      .create_embedding = create_embedding,
					      .import_embedding = import_embedding,
					      .import_embedding_rows = import_embedding_rows,
					      .arena = arena};
	sp_map_init(&environment->restored, arena);
	sp_map_init(&environment->origins, arena);
	status = open_all(environment, options, arena, err);
	if (status != SP_OK) {
		sp_load_environment_destroy(environment);
		return status;
	}
	*out = environment;
	return SP_OK;
}

void sp_load_environment_destroy(sp_load_environment *environment)
{
	if (environment == NULL)
		return;
	sp_embedding_set_fini(&environment->embeddings);
	if (environment->base == NULL)
		sp_bundle_close(environment->full);
	sp_bundle_close(environment->delta);
	sp_ssd_store_release(environment->policy.ssd);
	sp_redis_store_release(environment->policy.redis);
	sp_shard_store_release(environment->policy.shards);
	sp_free(environment);
}

const char *sp_load_environment_prefix(const sp_load_environment *environment)
{
	return environment->full != NULL ? sp_bundle_prefix(environment->full) : NULL;
}

bool sp_load_environment_has(const sp_load_environment *environment, sp_bytes name)
{
	return (environment->full != NULL && sp_bundle_find(environment->full, name) != NULL) ||
	       (environment->delta != NULL && sp_bundle_find(environment->delta, name) != NULL);
}

sp_value_origin sp_load_environment_origin(const sp_load_environment *environment,
					   const sp_tensor *value)
{
	const void *at = value->data;
	uint64_t origin;

	return value->count != 0 && sp_map_get(&environment->origins,
					       (sp_bytes){(const char *)&at, sizeof(at)}, &origin)
		       ? (sp_value_origin)origin
		       : SP_VALUE_ELSEWHERE;
}

sp_status sp_load_environment_load_tables(sp_load_environment *environment, sp_resources *resources,
					  const uint32_t *indices, size_t count, sp_error *err)
{
	environment->embeddings.resources = resources;
	SP_TRY(sp_embedding_set_check_policy(&environment->embeddings, err));
	return sp_embedding_set_load(&environment->embeddings, indices, count, err);
}
