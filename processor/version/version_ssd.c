#include <inttypes.h>

#include "base/buffer.h"
#include "incremental/identity.h"
#include "processor/version/version_internal.h"

/*
 * A folder of rows on an SSD is used again if it was made from the same checkpoint content, under
 * the same rules about which rows are held, and how.
 */

enum { MAX_TEXT = 1 << 16 };

static void append_rules(sp_buffer *text, const char *what, const sp_name_rules *rules)
{
	for (size_t i = 0; i < rules->count; i++)
		sp_buffer_printf(text, " %s %s=%" PRId64, what, rules->items[i].pattern,
				 rules->items[i].value);
}

static void append_slice(sp_buffer *text, const sp_load_policy *policy)
{
	if (policy->sharded_names != NULL)
		sp_buffer_printf(text, " slice %" PRId64 " of %" PRId64 " of %s", policy->slice,
				 policy->slice_count, policy->sharded_names);
}

/* Names the model and the slice, so that instances with other slices keep their folders. */
static void describe_model(sp_buffer *text, const sp_config *config)
{
	sp_buffer_append_text(text, config->savedmodel_dir);
	append_slice(text, &config->embeddings);
}

static void describe_version(sp_buffer *text, const sp_config *config, uint64_t content)
{
	const sp_load_policy *policy = &config->embeddings;

	sp_buffer_printf(text, "%016" PRIx64, content);
	append_rules(text, "format", &policy->row_formats);
	append_rules(text, "threshold", &policy->frequency_thresholds);
	append_slice(text, policy);
	if (policy->only_finite)
		sp_buffer_append_text(text, " finite");
}

static sp_status open_store(sp_ssd_store **out, const sp_config *config, uint64_t content,
			    sp_error *err)
{
	sp_ssd_store_options options = {
		.path = config->ev_storage_path,
		.cache_bytes = (size_t)config->ev_storage_size.items[0],
		.policy = (sp_row_cache_policy)config->ev_cache_policy,
		.readers = (size_t)config->ev_storage_read_threads,
	};
	sp_buffer model, version;
	sp_status status = SP_NO_MEMORY;

	sp_buffer_init(&model, MAX_TEXT);
	sp_buffer_init(&version, MAX_TEXT);
	describe_model(&model, config);
	describe_version(&version, config, content);
	options.model = model.data;
	options.version = version.data;
	if (model.failed || version.failed)
		sp_error_set(err, status, "no memory to name a version");
	else
		status = sp_ssd_store_open(out, &options, err);
	sp_buffer_fini(&model);
	sp_buffer_fini(&version);
	return status;
}

sp_status sp_version__open_ssd(sp_ssd_store **out, const sp_config *config,
			       const char *checkpoint_prefix, sp_error *err)
{
	sp_arena *arena;
	uint64_t content;

	*out = NULL;
	if (config->ev_storage_type != SP_STORAGE_DRAM_SSDHASH)
		return SP_OK;
	arena = sp_arena_create(4096);
	if (arena == NULL)
		return sp_error_set(err, SP_NO_MEMORY, "no memory to name a version");
	if (checkpoint_prefix == NULL)
		checkpoint_prefix = sp_arena_printf(arena, "%s/variables/variables",
						    config->savedmodel_dir);
	content = checkpoint_prefix != NULL ? sp_identity_of_content(checkpoint_prefix, arena) : 0;
	sp_arena_destroy(arena);
	/* Without a checkpoint there are no rows.  An unreadable one fails when it is loaded. */
	return content != 0 ? open_store(out, config, content, err) : SP_OK;
}
