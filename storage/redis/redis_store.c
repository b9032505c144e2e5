#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "storage/redis/redis_tier_internal.h"

enum {
	MS = 1000000,
	OPEN_TIMEOUT_MS = 5000,
	GRACE_MS = 200,
	HPS_PARTITIONS = 16,
	DATABASES = 2, /* of DeepRec: 0 and 1 */
};

/* ---- commands while a version is opened ---- */

/*
 * Submits, and waits a little longer than the deadline, so that the client can say why there is no
 * reply.
 */
static sp_status run_batch(const sp_redis_store *store, sp_redis_batch *batch, sp_error *err)
{
	const sp_redis_submit_options how = {.deadline_ns = sp_clock_now_ns() +
							    store->open_timeout_ms * MS};

	SP_TRY(sp_redis_batch_submit(batch, &how, err));
	return sp_redis_batch_wait(batch, how.deadline_ns + (int64_t)GRACE_MS * MS, err);
}

/* Reads the strings at `keys`.  *out must be released, also after a failure. */
static sp_status get(sp_redis_batch **out, const sp_redis_store *store, sp_redis_client *client,
		     const char *const *keys, size_t count, sp_error *err)
{
	*out = sp_redis_batch_create(client);
	SP_NEED_MEMORY(*out, err, "commands for Redis");
	for (size_t i = 0; i < count; i++) {
		sp_redis_batch_begin(*out, keys[i], strlen(keys[i]), 2);
		sp_redis_batch_add_text(*out, "GET");
		sp_redis_batch_add_text(*out, keys[i]);
	}
	return run_batch(store, *out, err);
}

/* ---- the version, in our layout ---- */

static sp_status check_record(const sp_redis_store *store, const sp_redis_store_options *options,
			      sp_error *err)
{
	const sp_redis_version *version = &store->version;

	if (version->full != options->full)
		return sp_error_set(err, SP_CORRUPT,
				    "Redis: the record of version %" PRId64
				    " of model '%s' says %" PRId64,
				    options->full, options->model, version->full);
	if (options->content != 0 &&
	    version->checksum !=
		    sp_redis_checksum(options->content, version->partitions, version->format))
		return sp_error_set(err, SP_NOT_FOUND,
				    "Redis has rows of another checkpoint as version %" PRId64
				    " of model '%s'",
				    options->full, options->model);
	return SP_OK;
}

static sp_status read_record(sp_redis_store *store, const sp_redis_store_options *options,
			     const char *key, sp_error *err)
{
	sp_redis_batch *batch;
	const sp_redis_value *reply;
	sp_status status = get(&batch, store, store->client, &key, 1, err);

	if (status == SP_OK) {
		reply = sp_redis_batch_reply(batch, 0);
		if (reply->kind != SP_REDIS_STRING)
			status = sp_error_set(err, SP_NOT_FOUND,
					      "Redis does not have version %" PRId64
					      " of model '%s' yet: there is no key '%s'",
					      options->full, options->model, key);
		else
			status = sp_redis_record_read(&store->version,
						      (sp_bytes){reply->text, reply->size}, err);
	}
	sp_redis_batch_release(batch);
	return status;
}

static sp_status find_versioned(sp_redis_store *store, const sp_redis_store_options *options,
				sp_error *err)
{
	const char *key = sp_redis_version_name(store->remote.arena, store->model, options->full);

	SP_NEED_MEMORY(key, err, "the name of a version");
	SP_TRY(read_record(store, options, key, err));
	SP_TRY(check_record(store, options, err));
	sp_redis_mark(store->mark, &store->version);
	return SP_OK;
}

/* ---- the version, in DeepRec's layout ---- */

static bool is_text(const sp_redis_value *value, const char *text)
{
	return value->kind == SP_REDIS_STRING && value->size == strlen(text) &&
	       memcmp(value->text, text, value->size) == 0;
}

/* Fails if the database does not serve the version; *active: whether it serves any. */
static sp_status check_database(const sp_redis_store *store, const sp_redis_batch *batch,
				bool *active, sp_error *err)
{
	const sp_redis_value *version = sp_redis_batch_reply(batch, 1);
	int64_t full, latest;

	*active = is_text(sp_redis_batch_reply(batch, 0), "1") && version->kind == SP_REDIS_STRING;
	if (!*active)
		return sp_error_set(err, SP_NOT_FOUND, "no database of Redis is active");
	SP_TRY(sp_redis_deeprec_version_read(&full, &latest,
					     (sp_bytes){version->text, version->size}, err));
	if (full != store->version.full)
		return sp_error_set(err, SP_NOT_FOUND,
				    "Redis has version %" PRId64 " and not %" PRId64
				    " of model '%s'",
				    full, store->version.full, store->model);
	return SP_OK;
}

/* Leaves store->client connected to the active database. */
static sp_status find_deeprec(sp_redis_store *store, const sp_redis_store_options *options,
			      sp_redis_client_options *how, sp_error *err)
{
	static const char *const keys[] = {SP_REDIS_DEEPREC_ACTIVE, SP_REDIS_DEEPREC_VERSION};
	sp_redis_address address = *options->address;
	sp_status status = SP_NOT_FOUND;
	bool active = false;

	how->address = &address;
	store->version = (sp_redis_version){.full = options->full, .format = SP_ROW_FP32};
	for (address.db = 0; address.db < DATABASES && status == SP_NOT_FOUND && !active;
	     address.db++) {
		sp_redis_batch *batch = NULL;

		sp_redis_client_destroy(store->client);
		store->client = NULL;
		status = sp_redis_client_create(&store->client, how, err);
		if (status == SP_OK)
			status = get(&batch, store, store->client, keys, 2, err);
		if (status == SP_OK)
			status = check_database(store, batch, &active, err);
		sp_redis_batch_release(batch);
	}
	sp_redis_address_fini(&address);
	return status;
}

/* ---- opening ---- */

static sp_status check_options(const sp_redis_store_options *options, sp_error *err)
{
	if (options->layout == SP_REDIS_DEEPREC && options->is_cluster)
		return sp_error_set(
			err, SP_UNSUPPORTED,
			"DeepRec's layout in Redis has databases, which a cluster has not");
	if (options->partitions > SP_REDIS_MAX_PARTITIONS)
		return sp_error_set(err, SP_INVALID,
				    "%zu partitions of a table in Redis; at most %d",
				    options->partitions, SP_REDIS_MAX_PARTITIONS);
	return SP_OK;
}

static sp_status find_version(sp_redis_store *store, const sp_redis_store_options *options,
			      sp_error *err)
{
	sp_redis_client_options how = {.address = options->address,
				       .is_cluster = options->is_cluster,
				       .read_replicas = options->read_replicas};
	size_t default_partitions = options->layout == SP_REDIS_HPS ? HPS_PARTITIONS : 1;

	if (options->layout == SP_REDIS_DEEPREC)
		return find_deeprec(store, options, &how, err);
	SP_TRY(sp_redis_client_create(&store->client, &how, err));
	if (options->layout == SP_REDIS_VERSIONED)
		return find_versioned(store, options, err);
	store->version = (sp_redis_version){
		.full = options->full,
		.format = SP_ROW_FP32,
		.partitions = options->partitions != 0 ? options->partitions : default_partitions};
	return SP_OK;
}

static sp_status create(sp_redis_store **out, const sp_redis_store_options *options, sp_error *err)
{
	const sp_remote_options how = {.timeout_ms = options->timeout_ms,
				       .fail_on_timeout = options->fail_on_timeout,
				       .cache_bytes = options->cache_bytes,
				       .policy = options->policy,
				       .file = options->file};
	sp_redis_store *store = sp_alloc_zero(1, sizeof(*store));
	sp_status status;

	SP_NEED_MEMORY(store, err, "tables in Redis");
	status = sp_remote_store_init(&store->remote, &sp_redis__source, &how, err);
	store->layout = options->layout;
	store->is_cluster = options->is_cluster;
	store->max_age_s = options->max_age_s;
	store->open_timeout_ms = options->open_timeout_ms != 0 ? options->open_timeout_ms
							       : OPEN_TIMEOUT_MS;
	store->model = sp_alloc_text(options->model);
	if (status == SP_OK && store->model == NULL)
		status = sp_no_memory(err, "tables in Redis");
	if (status != SP_OK) {
		sp_redis__store_close(&store->remote);
		return status;
	}
	*out = store;
	return SP_OK;
}

sp_status sp_redis_store_open(sp_redis_store **out, const sp_redis_store_options *options,
			      sp_error *err)
{
	sp_redis_store *store = NULL;
	sp_status status;

	SP_TRY(check_options(options, err));
	SP_TRY(create(&store, options, err));
	status = find_version(store, options, err);
	if (status != SP_OK) {
		sp_redis_store_release(store);
		return status;
	}
	*out = store;
	return SP_OK;
}

sp_redis_store *sp_redis_store_retain(sp_redis_store *store)
{
	return (sp_redis_store *)sp_remote_store_retain((sp_remote_store *)store);
}

void sp_redis_store_release(sp_redis_store *store)
{
	sp_remote_store_release((sp_remote_store *)store);
}

void sp_redis__store_close(sp_remote_store *base)
{
	sp_redis_store *store = (sp_redis_store *)base;

	/* Ends the commands in flight, which refer to the store. */
	sp_redis_client_destroy(store->client);
	for (int fault = 0; fault < SP_REDIS_FAULTS; fault++)
		sp_log_limit_end(&store->log_limits[fault], SP_LOG_WARNING);
	sp_remote_store_fini(base);
	sp_free(store->model);
	sp_free(store);
}

size_t sp_redis_store_cache_bytes(const sp_redis_store *store)
{
	return store->remote.options.cache_bytes;
}

bool sp_redis_store_shares_cache(const sp_redis_store *store)
{
	return store->layout != SP_REDIS_VERSIONED;
}

sp_status sp_redis_store_divide_cache(sp_redis_store *store, sp_error *err)
{
	return sp_remote_store_divide_cache(&store->remote, err);
}

bool sp_redis_store_had_loss(sp_redis_store *store)
{
	return atomic_exchange(&store->has_loss, false);
}

/* ---- tables ---- */

static sp_redis_store *store_of(const sp_redis_table *table)
{
	return (sp_redis_store *)table->base.store;
}

static sp_status name_hashes(sp_redis_table *table, sp_error *err)
{
	const sp_redis_store *store = store_of(table);

	table->hashes = sp_arena_array(store->remote.arena, table->partitions,
				       sizeof(*table->hashes));
	SP_NEED_MEMORY(table->hashes, err, "table '%s' in Redis", table->base.name);
	for (size_t p = 0; p < table->partitions; p++) {
		if (store->layout == SP_REDIS_VERSIONED)
			table->hashes[p] = sp_redis_hash_name(store->remote.arena, store->model,
							      table->base.name, &store->version, p);
		else if (store->layout == SP_REDIS_HPS)
			table->hashes[p] = sp_redis_hps_name(store->remote.arena, store->model,
							     table->base.name, p);
		else
			table->hashes[p] = sp_redis_tfra_name(store->remote.arena, store->model,
							      table->base.name, p,
							      table->partitions);
		SP_NEED_MEMORY(table->hashes[p], err, "table '%s' in Redis", table->base.name);
	}
	return SP_OK;
}

static sp_status read_row_count(sp_redis_table *table, const sp_redis_batch *batch, sp_error *err)
{
	sp_redis_store *store = store_of(table);
	size_t total = 0;

	for (size_t p = 0; p < table->partitions; p++) {
		const sp_redis_value *reply = sp_redis_batch_reply(batch, p);
		char number[24] = "";

		if (reply->kind != SP_REDIS_ARRAY || reply->integer != 2 ||
		    !is_text(&reply[1], store->mark)) {
			atomic_store(&store->has_loss, true);
			return sp_error_set(
				err, SP_IO,
				"Redis does not have all of table '%s': hash '%s' has no "
				"mark of this version",
				table->base.name, table->hashes[p]);
		}
		if (reply[2].kind == SP_REDIS_STRING && reply[2].size < sizeof(number))
			memcpy(number, reply[2].text, reply[2].size);
		total += strtoull(number, NULL, 10);
	}
	table->base.row_count = total;
	return SP_OK;
}

/* Each hash must have its mark. */
static sp_status count_rows(sp_redis_table *table, sp_error *err)
{
	sp_redis_batch *batch = sp_redis_batch_create(store_of(table)->client);
	sp_status status;

	SP_NEED_MEMORY(batch, err, "commands for Redis");
	for (size_t p = 0; p < table->partitions; p++) {
		const char *hash = table->hashes[p];

		sp_redis_batch_begin(batch, hash, strlen(hash), 4);
		sp_redis_batch_add_text(batch, "HMGET");
		sp_redis_batch_add_text(batch, hash);
		sp_redis_batch_add_text(batch, SP_REDIS_MARK_FIELD);
		sp_redis_batch_add_text(batch, SP_REDIS_ROWS_FIELD);
	}
	status = run_batch(store_of(table), batch, err);
	if (status == SP_OK)
		status = read_row_count(table, batch, err);
	sp_redis_batch_release(batch);
	return status;
}

static sp_status copy_features(sp_redis_table *table, const sp_redis_table_options *options,
			       sp_error *err)
{
	if (options->feature_count == 0)
		return sp_error_set(err, SP_INVALID,
				    "table '%s' has no number in DeepRec's layout in Redis",
				    options->name);
	table->features = sp_arena_copy(store_of(table)->remote.arena, options->features,
					options->feature_count, options->feature_count,
					sizeof(*table->features));
	SP_NEED_MEMORY(table->features, err, "table '%s' in Redis", options->name);
	table->feature_count = table->partitions = options->feature_count;
	return SP_OK;
}

/* The store's lock is held: tables of a version may be opened by several threads. */
static sp_status create_table(sp_redis_table **out, sp_redis_store *store,
			      const sp_redis_table_options *options, sp_error *err)
{
	sp_redis_table *table = sp_arena_zeros(store->remote.arena, 1, sizeof(*table));

	SP_NEED_MEMORY(table, err, "table '%s' in Redis", options->name);
	table->base.store = &store->remote;
	table->base.dim = options->dim;
	table->key_size = options->key_size;
	table->base.row_size = sp_row_format_size(store->version.format, options->dim);
	if (store->layout == SP_REDIS_HPS || store->layout == SP_REDIS_TFRA)
		table->base.max_age_s = store->max_age_s;
	table->base.codec = sp_row_codec_find(store->version.format);
	table->partitions = store->version.partitions;
	table->base.row_count = SIZE_MAX;
	table->base.name = sp_arena_text(store->remote.arena, sp_bytes_of(options->name));
	SP_NEED_MEMORY(table->base.name, err, "table '%s' in Redis", options->name);
	if (store->layout == SP_REDIS_DEEPREC)
		SP_TRY(copy_features(table, options, err));
	else
		SP_TRY(name_hashes(table, err));
	*out = table;
	return SP_OK;
}

sp_status sp_redis__table_create(sp_redis_table **out, sp_redis_store *store,
				 const sp_redis_table_options *options, sp_error *err)
{
	sp_status status;

	pthread_mutex_lock(&store->remote.lock);
	status = create_table(out, store, options, err);
	pthread_mutex_unlock(&store->remote.lock);
	if (status == SP_OK && store->layout == SP_REDIS_VERSIONED)
		status = count_rows(*out, err);
	return status;
}
