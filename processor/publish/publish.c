#include "processor/publish/publish.h"

#include "model_loader/checkpoint/part_name.h"
#include "model_loader/embedding/row_export.h"
#include "model_loader/version/weights.h"

enum { PARTITIONS = 16, CLUSTER_PARTITIONS = 64 };

static sp_status choose_version(sp_redis_version *out, const sp_publish_source *source,
				const sp_publish_options *options, sp_error *err)
{
	size_t otherwise = options->is_cluster ? CLUSTER_PARTITIONS : PARTITIONS;

	if (source->content == 0)
		return sp_error_set(err, SP_IO, "%s.index cannot be read", source->prefix);
	*out = (sp_redis_version){.full = source->full_step > 0 ? source->full_step : 0,
				  .delta = source->delta_step > 0 ? source->delta_step : 0,
				  .partitions = options->partitions != 0 ? options->partitions
									 : otherwise,
				  .format = options->format,
				  .former = -1};
	out->checksum = sp_redis_checksum(source->content, out->partitions, out->format);
	return SP_OK;
}

/* ------------------------------------------------------------------- the rows */

typedef struct publishing {
	sp_redis_publication *publication;
	const sp_publish_options *options;
	const sp_map *features; /* NULL: the layout has none */
	size_t row_bytes;       /* of the table that is written */
	sp_arena *arena;
	sp_error why; /* the first failure: the loader forgives one to a signature that may fail */
} publishing;

static sp_status note(publishing *p, sp_status status, const sp_error *err)
{
	if (status != SP_OK && p->why.status == SP_OK && err != NULL)
		p->why = *err;
	return status;
}

/* The numbers of the handles that share the table, by their part. */
static sp_status find_features(const uint64_t **out, const publishing *p,
			       const sp_exported_table *table, sp_error *err)
{
	sp_part_name name = sp_part_name_split(table->handle);
	uint64_t *numbers = sp_arena_array(p->arena, table->handles, sizeof(*numbers));

	SP_NEED_MEMORY(numbers, err, "the embeddings of a graph");
	for (size_t i = 0; i < table->handles; i++) {
		const char *handle = table->handles == 1 ? table->handle
							 : sp_part_name_join(&name, i, p->arena);

		SP_NEED_MEMORY(handle, err, "the embeddings of a graph");
		if (!sp_map_get(p->features, sp_bytes_of(handle), &numbers[i]))
			return sp_error_set(err, SP_UNSUPPORTED,
					    "the graph has no KvVarHandleOp '%s', whose number "
					    "DeepRec's layout needs",
					    handle);
	}
	*out = numbers;
	return SP_OK;
}

static sp_status put_rows(void *context, const sp_row_piece *piece, sp_error *err)
{
	publishing *p = context;
	sp_status status;

	if (p->options->on_bytes != NULL && piece->count != 0)
		p->options->on_bytes(p->options->context, NULL, piece->count * p->row_bytes, 0);
	status = sp_redis_publication_put(p->publication, piece->keys, piece->rows, piece->count,
					  err);
	return note(p, status, err);
}

static sp_status begin_table(void *context, const sp_exported_table *table, sp_row_sink *sink,
			     sp_error *err)
{
	publishing *p = context;
	sp_redis_publication_table to = {.name = table->name,
					 .dim = table->dim,
					 .key_size = table->key_dtype == SP_INT32 ? 4 : 8,
					 .feature_count = table->handles};
	bool is_there;

	if (p->features != NULL)
		SP_TRY(find_features(&to.features, p, table, err));
	SP_TRY(note(p, sp_redis_publication_begin(p->publication, &to, &is_there, err), err));
	if (is_there)
		return SP_OK;
	p->row_bytes = sizeof(int64_t) + table->dim * sizeof(float);
	if (p->options->on_bytes != NULL)
		p->options->on_bytes(p->options->context, table->name, 0,
				     (uint64_t)table->row_count * p->row_bytes);
	*sink = (sp_row_sink){.context = p, .put_rows = put_rows};
	return SP_OK;
}

static sp_status end_table(void *context, sp_error *err)
{
	publishing *p = context;

	return note(p, sp_redis_publication_end(p->publication, err), err);
}

static sp_status copy_rows(publishing *p, sp_model *model, const sp_publish_source *source,
			   const sp_publish_options *options, sp_error *err)
{
	sp_row_export exports = {.context = p, .begin = begin_table, .end = end_table};
	sp_load_policy policy = {.only_finite = source->only_finite,
				 .threads = 1,
				 .closing = options->stop,
				 .exports = &exports};
	sp_weights_options weights = {.checkpoint_prefix = source->is_own ? NULL : source->prefix,
				      .policy = &policy};
	sp_weights *loaded = NULL;

	SP_TRY(sp_weights_load(&loaded, model, &weights, err));
	sp_weights_destroy(loaded);
	return p->why.status == SP_OK ? SP_OK : sp_error_set(err, p->why.status, "%s", p->why.text);
}

sp_status sp_publish(sp_publish_result *out, sp_model *model, const sp_publish_source *source,
		     const sp_publish_options *options, sp_error *err)
{
	sp_error local;
	publishing p = {.options = options, .arena = sp_arena_create(4096)};
	sp_redis_publication_options to = {.address = options->address,
					   .is_cluster = options->is_cluster,
					   .layout = options->layout,
					   .model = options->model,
					   .rows_per_second = options->rows_per_second,
					   .keep_seconds = options->keep_seconds,
					   .lock_seconds = options->lock_seconds,
					   .patience_seconds = options->patience_seconds,
					   .never_older = options->never_older,
					   .waits = options->waits,
					   .stop = options->stop};
	sp_status status;

	if (err == NULL)
		err = &local;
	SP_NEED_MEMORY(p.arena, err, "a publication");
	if (options->layout == SP_REDIS_DEEPREC)
		p.features = sp_model_features(model);
	status = choose_version(&to.version, source, options, err);
	if (status == SP_OK)
		status = sp_redis_publication_open(&p.publication, &to, err);
	if (status == SP_OK)
		status = copy_rows(&p, model, source, options, err);
	if (status == SP_OK)
		status = sp_redis_publication_finish(p.publication, err);
	if (p.publication != NULL)
		*out = (sp_publish_result){to.version,
					   sp_redis_publication_counts_of(p.publication)};
	sp_redis_publication_close(p.publication);
	sp_arena_destroy(p.arena);
	return status;
}
