#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/hash.h"
#include "base/log.h"
#include "storage/ssd/ssd_internal.h"

/* A folder's name has three hashes of sixteen digits: model, version, table. */
enum { DEFAULT_READERS = 16, MAX_READERS = 256, DIGITS = 16 };

static uint64_t fingerprint(const char *text)
{
	return sp_fingerprint64(text, strlen(text));
}

static sp_status fill(sp_ssd_store *store, const sp_ssd_store_options *options, sp_error *err)
{
	size_t readers = options->readers != 0 ? options->readers : DEFAULT_READERS;

	if (readers > MAX_READERS)
		return sp_error_set(err, SP_INVALID, "%zu readers are more than %d", readers,
				    MAX_READERS);
	store->readers = readers;
	store->no_rings = options->no_rings;
	store->cache_bytes = options->cache_bytes;
	store->policy = options->policy;
	store->path = sp_alloc_text(options->path);
	store->model = sp_alloc_text(options->model);
	store->version = sp_alloc_text(options->version);
	SP_NEED_MEMORY(store->path != NULL && store->model != NULL && store->version != NULL, err,
		       "the SSD tier");
	return sp_ssd_root_prepare(store->path, err);
}

sp_status sp_ssd_store_open(sp_ssd_store **out, const sp_ssd_store_options *options, sp_error *err)
{
	sp_ssd_store *store = sp_alloc_zero(1, sizeof(*store));
	sp_status status;

	SP_NEED_MEMORY(store, err, "the SSD tier");
	atomic_init(&store->references, 1);
	pthread_mutex_init(&store->lock, NULL);
	status = fill(store, options, err);
	/* First, because folders of killed processes may fill the disk. */
	if (status == SP_OK)
		status = sp_ssd_root_clean(store->path, NULL, NULL, err);
	if (status != SP_OK) {
		sp_ssd_store_release(store);
		return sp_error_prefix(err, status, "the SSD tier in %s", options->path);
	}
	*out = store;
	return SP_OK;
}

sp_ssd_store *sp_ssd_store_retain(sp_ssd_store *store)
{
	if (store != NULL)
		atomic_fetch_add_explicit(&store->references, 1, memory_order_relaxed);
	return store;
}

void sp_ssd_store_release(sp_ssd_store *store)
{
	if (store == NULL ||
	    atomic_fetch_sub_explicit(&store->references, 1, memory_order_acq_rel) != 1)
		return;
	sp_read_rings_destroy(store->rings);
	pthread_mutex_destroy(&store->lock);
	sp_free(store->path);
	sp_free(store->model);
	sp_free(store->version);
	sp_free(store);
}

sp_status sp_ssd__readers_start(sp_ssd_store *store, sp_error *err)
{
	sp_status status = SP_OK;

	pthread_mutex_lock(&store->lock);
	if (store->rings == NULL)
		status = sp_read_rings_open(&store->rings, store->readers, store->no_rings, err);
	pthread_mutex_unlock(&store->lock);
	return status;
}

size_t sp_ssd_store_cache_bytes(const sp_ssd_store *store)
{
	return store->cache_bytes;
}

void sp_ssd_store_delete_others(const sp_ssd_store *store)
{
	char family[DIGITS + 2], current[2 * DIGITS + 3];
	sp_error error;

	snprintf(family, sizeof(family), "%016" PRIx64 "-", fingerprint(store->model));
	snprintf(current, sizeof(current), "%s%016" PRIx64 "-", family,
		 fingerprint(store->version));
	if (sp_ssd_root_clean(store->path, family, current, &error) != SP_OK)
		sp_log(SP_LOG_WARNING, "old versions in the SSD tier stay: %s", error.text);
}

sp_status sp_ssd__table_copy(sp_ssd_table *out, const sp_ssd_table *from, sp_error *err)
{
	*out = *from;
	out->name = sp_alloc_text(from->name);
	out->which = sp_alloc_text(from->which != NULL ? from->which : "all");
	SP_NEED_MEMORY(out->name != NULL && out->which != NULL, err, "table '%s'", from->name);
	return SP_OK;
}

void sp_ssd__table_fini(sp_ssd_table *table)
{
	sp_free((void *)table->name);
	sp_free((void *)table->which);
}

sp_status sp_ssd__place_find(sp_ssd_place *out, const sp_ssd_store *store,
			     const sp_ssd_table *table, sp_error *err)
{
	static const char form[] = "rows of an EmbeddingVariable, layout 2\n"
				   "model %s\nversion %s\ntable %s\nrows %s\n"
				   "dim %zu\nformat %s\n";
	const char *which = table->which != NULL ? table->which : "all";
	size_t size = sizeof(form) + strlen(store->model) + strlen(store->version) +
		      strlen(table->name) + strlen(which) + 64;

	out->label = sp_alloc(size);
	SP_NEED_MEMORY(out->label, err, "table '%s'", table->name);
	snprintf(out->label, size, form, store->model, store->version, table->name, which,
		 table->dim, sp_row_format_name(table->format));
	snprintf(out->name, sizeof(out->name), "%016" PRIx64 "-%016" PRIx64 "-%016" PRIx64,
		 fingerprint(store->model), fingerprint(store->version), fingerprint(out->label));
	return SP_OK;
}

void sp_ssd__place_fini(sp_ssd_place *place)
{
	sp_free(place->label);
}

sp_status sp_ssd__cache_create(sp_row_cache **out, const sp_ssd_store *store,
			       const sp_ssd_table *table, size_t rows, size_t index_bytes,
			       sp_error *err)
{
	sp_row_cache_options options = {
		.row_size = sp_row_format_size(table->format, table->dim),
		.cap_bytes = store->cache_bytes > index_bytes ? store->cache_bytes - index_bytes
							      : 0,
		.max_rows = rows != 0 ? rows : 1,
		.policy = store->policy,
	};

	return sp_row_cache_create(out, &options, err);
}
