#include "tests/support/seen.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "tests/support/cmocka.h"

enum { MAX_TENSORS = sizeof(((sp_seen *)0)->tensors) / sizeof(sp_checkpoint_tensor) };

const int64_t sp_seen_keys[] = {7, 1001, 0, 12};
const int64_t sp_seen_freqs[] = {1, 50, 6, 5000000000};
const int64_t sp_seen_versions[] = {10, 0, -1, 6000000000};
const int64_t sp_seen_refused[] = {8, 2007};
const int64_t sp_seen_refused_freqs[] = {2, 1};
const int64_t sp_seen_refused_versions[] = {11, 12};
const int64_t sp_seen_delta_keys[] = {7, 8, 100};
const float sp_seen_rows[64 * SP_SEEN_DIM];

void sp_seen_init(sp_seen *seen)
{
	sp_log_set_level(SP_LOG_ERROR);
	*seen = (sp_seen){
		.policy = {.threads = 2},
		.settings = {.default_value_dim = 1, .false_positive_probability = -1.0f}};
	sp_temp_make(seen->folder);
	snprintf(seen->full_prefix, sizeof(seen->full_prefix), "%s/model.ckpt-1", seen->folder);
	snprintf(seen->delta_prefix, sizeof(seen->delta_prefix), "%s/delta.ckpt-2", seen->folder);
	seen->arena = sp_arena_create(64 << 10);
}

void sp_seen_fini(sp_seen *seen)
{
	sp_load_environment_destroy(seen->delta.environment);
	sp_load_environment_destroy(seen->full.environment);
	sp_ssd_store_release(seen->store);
	sp_arena_destroy(seen->arena);
	sp_temp_remove(seen->folder);
}

/* -------------------------------------------------------------- checkpoints */

static void add(sp_seen *seen, sp_checkpoint_tensor tensor)
{
	assert_true(seen->tensor_count < MAX_TENSORS);
	seen->tensors[seen->tensor_count++] = tensor;
}

void sp_seen_add(sp_seen *seen, const char *name, sp_dtype dtype, const void *data, int64_t count)
{
	add(seen,
	    (sp_checkpoint_tensor){
		    .name = name, .dtype = dtype, .rank = 1, .dims = {count, 0}, .data = data});
}

void sp_seen_add_rows(sp_seen *seen, const char *name, int64_t count)
{
	add(seen, (sp_checkpoint_tensor){.name = name,
					 .dtype = SP_FLOAT,
					 .rank = 2,
					 .dims = {count, SP_SEEN_DIM},
					 .data = sp_seen_rows});
}

static int by_name(const void *a, const void *b)
{
	return strcmp(((const sp_checkpoint_tensor *)a)->name,
		      ((const sp_checkpoint_tensor *)b)->name);
}

void sp_seen_write(sp_seen *seen, const char *prefix)
{
	qsort(seen->tensors, seen->tensor_count, sizeof(seen->tensors[0]), by_name);
	sp_checkpoint_write(prefix, seen->tensors, seen->tensor_count, 1);
	seen->tensor_count = 0;
}

void sp_seen_write_all(sp_seen *seen)
{
	sp_seen_add(seen, "t-keys", SP_INT64, sp_seen_keys, 4);
	sp_seen_add_rows(seen, "t-values", 4);
	sp_seen_add(seen, "t-freqs", SP_INT64, sp_seen_freqs, 4);
	sp_seen_add(seen, "t-versions", SP_INT64, sp_seen_versions, 4);
	sp_seen_add(seen, "t-keys_filtered", SP_INT64, sp_seen_refused, 2);
	sp_seen_add(seen, "t-freqs_filtered", SP_INT64, sp_seen_refused_freqs, 2);
	sp_seen_add(seen, "t-versions_filtered", SP_INT64, sp_seen_refused_versions, 2);
	sp_seen_write(seen, seen->full_prefix);
}

void sp_seen_write_delta(sp_seen *seen, const int64_t *freqs, const int64_t *versions)
{
	sp_seen_add(seen, "t-sparse_incr_keys", SP_INT64, sp_seen_delta_keys, 3);
	sp_seen_add_rows(seen, "t-sparse_incr_values", 3);
	if (freqs != NULL)
		sp_seen_add(seen, "t-sparse_incr_freqs", SP_INT64, freqs, 3);
	if (versions != NULL)
		sp_seen_add(seen, "t-sparse_incr_versions", SP_INT64, versions, 3);
	sp_seen_write(seen, seen->delta_prefix);
}

/* -------------------------------------------------------------------- loading */

sp_resource sp_seen_resource(const char *name, unsigned columns)
{
	return (sp_resource){.kind = SP_RESOURCE_EMBEDDING,
			     .name = name,
			     .dtype = SP_FLOAT,
			     .key_dtype = SP_INT64,
			     .shape = {.rank = 1, .dims = {SP_SEEN_DIM}},
			     .columns = columns};
}

sp_status sp_seen_load_tables(sp_seen *seen, sp_seen_load *load,
			      const sp_load_environment_options *options, size_t handles,
			      bool resets)
{
	const sp_tensor defaults = {
		.dtype = SP_FLOAT, .count = SP_SEEN_DIM, .data = (void *)sp_seen_rows};
	const uint32_t indices[] = {0, 1};
	sp_error *err = &seen->err;
	const sp_environment *e;

	load->list = (sp_resources){.items = load->items, .count = handles};
	seen->settings.default_rows = &defaults;
	SP_TRY(sp_load_environment_create(&load->environment, options, seen->arena, err));
	e = &load->environment->calls;
	for (size_t i = 0; i < handles; i++) {
		sp_embedding_import from = {sp_bytes_of(seen->full_prefix),
					    sp_bytes_of(load->items[i].name), (int64_t)i,
					    (int64_t)handles, resets};

		SP_TRY(e->create_embedding(e->context, &load->items[i], &seen->settings, err));
		SP_TRY(e->import_embedding(e->context, &load->items[i], &from, err));
	}
	return sp_load_environment_load_tables(load->environment, &load->list, indices, handles,
					       err);
}

sp_status sp_seen_load_full(sp_seen *seen, unsigned columns)
{
	sp_load_environment_options options = {.checkpoint_prefix = seen->full_prefix,
					       .policy = &seen->policy,
					       .ssd = seen->store};

	sp_load_environment_destroy(seen->full.environment);
	seen->full = (sp_seen_load){.environment = NULL};
	seen->full.items[0] = sp_seen_resource("t", columns);
	return sp_seen_load_tables(seen, &seen->full, &options, 1, false);
}

sp_status sp_seen_load_delta(sp_seen *seen)
{
	sp_load_environment_options options = {.delta_prefix = seen->delta_prefix,
					       .base = seen->full.environment,
					       .base_resources = &seen->full.list,
					       .policy = &seen->policy,
					       .ssd = seen->store};

	sp_load_environment_destroy(seen->delta.environment);
	seen->delta = (sp_seen_load){.environment = NULL};
	seen->delta.items[0] = sp_seen_resource("t", seen->full.items[0].columns);
	return sp_seen_load_tables(seen, &seen->delta, &options, 1, false);
}

/* -------------------------------------------------------------------- answers */

void sp_seen_check(const sp_table *table, sp_table_column column, const int64_t *keys,
		   const int64_t *want, size_t count)
{
	int64_t have[16];

	assert_true(sp_table_has_column(table, column));
	sp_table_read_column(table, column, keys, count, have);
	for (size_t i = 0; i < count; i++)
		assert_int_equal(have[i], want[i]);
}

void sp_seen_check_one(const sp_table *table, sp_table_column column, int64_t key, int64_t want)
{
	sp_seen_check(table, column, &key, &want, 1);
}

void sp_seen_check_absent(const sp_table *table)
{
	static const int64_t nobody[] = {9, -5, -1, -2, INT64_MAX};

	for (size_t i = 0; i < sizeof(nobody) / sizeof(nobody[0]); i++) {
		sp_seen_check_one(table, SP_TABLE_FREQUENCIES, nobody[i], 0);
		sp_seen_check_one(table, SP_TABLE_VERSIONS, nobody[i], -1);
	}
}
