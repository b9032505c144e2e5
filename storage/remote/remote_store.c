#include <string.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/hash.h"
#include "base/log.h"
#include "storage/remote/remote_tier.h"

enum { TIMEOUT_MS = 5 };

/* The only error is SP_NO_MEMORY.  `folder` belongs to the caller, so it is not kept. */
static sp_status open_file(sp_remote_store *store, sp_error *err)
{
	const sp_row_file_options *options = &store->options.file;
	sp_error why;
	sp_status status;

	if (options->folder == NULL)
		return SP_OK;
	status = sp_row_file_open(&store->file, options, &why);
	if (status == SP_NO_MEMORY)
		return sp_no_memory(err, "a file of rows");
	store->options.file.folder = NULL;
	store->lacks_file = status != SP_OK;
	if (store->lacks_file)
		sp_log(SP_LOG_WARNING, "no rows of %s are kept on the disk: %s",
		       store->source->title, why.text);
	return SP_OK;
}

sp_status sp_remote_store_init(sp_remote_store *store, const sp_remote_source *source,
			       const sp_remote_options *options, sp_error *err)
{
	memset(store, 0, sizeof(*store));
	store->source = source;
	store->options = *options;
	store->start_ns = sp_clock_now_ns();
	memcpy(store->key_of_hash, sp_hash_process_key(), sizeof(store->key_of_hash));
	if (store->options.timeout_ms == 0)
		store->options.timeout_ms = TIMEOUT_MS;
	atomic_init(&store->references, 1);
	pthread_mutex_init(&store->lock, NULL);
	store->arena = sp_arena_create(4096);
	SP_NEED_MEMORY(store->arena, err, "tables in %s", source->title);
	return open_file(store, err);
}

void sp_remote_store_fini(sp_remote_store *store)
{
	sp_row_file_close(store->file);
	for (sp_remote_table *table = store->tables; table != NULL; table = table->next)
		sp_row_cache_destroy(table->cache);
	while (store->free != NULL) {
		sp_remote_fetch *fetch = store->free;

		store->free = fetch->next;
		sp_remote__fetch_free(fetch);
	}
	pthread_mutex_destroy(&store->lock);
	sp_arena_destroy(store->arena);
}

sp_remote_store *sp_remote_store_retain(sp_remote_store *store)
{
	if (store != NULL)
		atomic_fetch_add_explicit(&store->references, 1, memory_order_relaxed);
	return store;
}

void sp_remote_store_release(sp_remote_store *store)
{
	if (store != NULL &&
	    atomic_fetch_sub_explicit(&store->references, 1, memory_order_acq_rel) == 1)
		store->source->close(store);
}
