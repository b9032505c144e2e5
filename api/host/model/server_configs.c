#include "api/host/model/server_configs.h"

#include <string.h>

#include "api/host/model/config_text.h"
#include "base/alloc.h"
#include "base/file.h"

enum { MAX_FILE_BYTES = 1 << 20, MAX_THREADS = 1024, MAX_TIMEOUT_US = 1000000000 };

/* Reads a file of that type; the name of the type is without its package. */
static sp_status read_file(void *out, const char *path, const char *type,
			   const sp_config_member *members, sp_arena *arena, sp_error *err)
{
	const sp_config_field *first;
	sp_status status;
	char *text;
	size_t size;

	SP_TRY(sp_file_read(&text, &size, path, MAX_FILE_BYTES, err));
	status = sp_config_text_parse(&first, (sp_bytes){text, size}, arena, err);
	if (status == SP_OK)
		status = sp_config_read_members(out, first, type, members, arena, err);
	sp_free(text);
	if (status == SP_OK)
		return SP_OK;
	return sp_error_prefix(err, status, "%s: Error parsing text-format tensorflow.serving.%s",
			       path, type);
}

/* ------------------------------------------------------------------- batching */

static sp_status add_size(void *out, const sp_config_field *field, sp_arena *arena, sp_error *err)
{
	sp_batching_config *config = out;
	int64_t *sizes = config->allowed_batch_sizes;
	int64_t size;

	SP_TRY(sp_config_read_i64(&size, field, arena, err));
	if (config->allowed_count == SP_MAX_BATCH_SIZES)
		return sp_config_fail(field, "there are too many of them", err);
	if (size <= 0 || (config->allowed_count != 0 && size <= sizes[config->allowed_count - 1]))
		return sp_config_fail(field, "the sizes are not ascending", err);
	sizes[config->allowed_count++] = size;
	return SP_OK;
}

static sp_status check_batching(const sp_batching_config *config, const char *where, sp_error *err)
{
	int64_t largest = config->enable_large_batch_splitting &&
					  config->max_execution_batch_size != 0
				  ? config->max_execution_batch_size
				  : config->max_batch_size;

	if (config->max_batch_size <= 0 || config->batch_timeout_micros < 0 ||
	    config->batch_timeout_micros > MAX_TIMEOUT_US || config->max_enqueued_batches <= 0 ||
	    config->num_batch_threads < 0 || config->num_batch_threads > MAX_THREADS ||
	    config->max_execution_batch_size < 0 ||
	    config->max_execution_batch_size > config->max_batch_size)
		return sp_error_set(err, SP_INVALID,
				    "%s: a number of the batching parameters is out of range",
				    where);
	if (config->allowed_count != 0 &&
	    config->allowed_batch_sizes[config->allowed_count - 1] != largest)
		return sp_error_set(err, SP_INVALID,
				    "%s: the last of allowed_batch_sizes must be the largest "
				    "batch, %lld",
				    where, (long long)largest);
	return SP_OK;
}

void sp_batching_config_init(sp_batching_config *out)
{
	*out = (sp_batching_config){.enabled = true,
				    .max_batch_size = 1000,
				    .max_enqueued_batches = 10,
				    .thread_pool_name = "batch_threads"};
}

bool sp_batching_configs_are_same(const sp_batching_config *a, const sp_batching_config *b)
{
	return a->enabled == b->enabled && a->max_batch_size == b->max_batch_size &&
	       a->batch_timeout_micros == b->batch_timeout_micros &&
	       a->max_enqueued_batches == b->max_enqueued_batches &&
	       a->enable_large_batch_splitting == b->enable_large_batch_splitting &&
	       a->max_execution_batch_size == b->max_execution_batch_size &&
	       a->allowed_count == b->allowed_count &&
	       memcmp(a->allowed_batch_sizes, b->allowed_batch_sizes,
		      a->allowed_count * sizeof(a->allowed_batch_sizes[0])) == 0;
}

#define AT(member) offsetof(sp_batching_config, member)

sp_status sp_batching_config_read(sp_batching_config *out, const char *path, sp_arena *arena,
				  sp_error *err)
{
	static const sp_config_member members[] = {
		{"max_batch_size", AT(max_batch_size), sp_config_read_wrapped_i64, false},
		{"batch_timeout_micros", AT(batch_timeout_micros), sp_config_read_wrapped_i64,
		 false},
		{"max_enqueued_batches", AT(max_enqueued_batches), sp_config_read_wrapped_i64,
		 false},
		{"num_batch_threads", AT(num_batch_threads), sp_config_read_wrapped_i64, false},
		{"thread_pool_name", AT(thread_pool_name), sp_config_read_wrapped_text, false},
		{"enable_large_batch_splitting", AT(enable_large_batch_splitting),
		 sp_config_read_wrapped_bool, false},
		{"max_execution_batch_size", AT(max_execution_batch_size),
		 sp_config_read_wrapped_i64, false},
		{"allowed_batch_sizes", 0, add_size, true},
		{"pad_variable_length_inputs", AT(pad_variable_length_inputs), sp_config_read_bool,
		 false},
		{0}};

	sp_batching_config_init(out);
	SP_TRY(read_file(out, path, "BatchingParameters", members, arena, err));
	return check_batching(out, path, err);
}

sp_status sp_batching_config_read_json(void *out, const sp_config_field *field, sp_arena *arena,
				       sp_error *err)
{
	static const sp_config_member members[] = {
		{"enabled", AT(enabled), sp_config_read_bool, false},
		{"max_batch_size", AT(max_batch_size), sp_config_read_i64, false},
		{"batch_timeout_micros", AT(batch_timeout_micros), sp_config_read_i64, false},
		{"max_enqueued_batches", AT(max_enqueued_batches), sp_config_read_i64, false},
		{"enable_large_batch_splitting", AT(enable_large_batch_splitting),
		 sp_config_read_bool, false},
		{"max_execution_batch_size", AT(max_execution_batch_size), sp_config_read_i64,
		 false},
		{"allowed_batch_sizes", 0, add_size, true},
		{0}};

	sp_batching_config_init(out);
	SP_TRY(sp_config_read_message(out, field, "batching", members, arena, err));
	return check_batching(out, "batching", err);
}

#undef AT

/* ------------------------------------------------------------------------ TLS */

#define AT(member) offsetof(sp_ssl_config, member)

sp_status sp_ssl_config_read(sp_ssl_config *out, const char *path, sp_arena *arena, sp_error *err)
{
	static const sp_config_member members[] = {
		{"server_key", AT(server_key), sp_config_read_text, false},
		{"server_cert", AT(server_cert), sp_config_read_text, false},
		{"custom_ca", AT(custom_ca), sp_config_read_text, false},
		{"client_verify", AT(client_verify), sp_config_read_bool, false},
		{0}};

	*out = (sp_ssl_config){"", "", "", false};
	SP_TRY(read_file(out, path, "SSLConfig", members, arena, err));
	if (*out->server_key == '\0' || *out->server_cert == '\0')
		return sp_error_set(err, SP_INVALID, "%s: server_key and server_cert are needed",
				    path);
	return SP_OK;
}

#undef AT

/* ----------------------------------------------------------------- monitoring */

#define AT(member) offsetof(sp_monitoring_config, member)

static sp_status read_prometheus(void *out, const sp_config_field *field, sp_arena *arena,
				 sp_error *err)
{
	static const sp_config_member members[] = {
		{"enable", AT(enable), sp_config_read_bool, false},
		{"path", AT(path), sp_config_read_text, false},
		{0}};

	return sp_config_read_message(out, field, "PrometheusConfig", members, arena, err);
}

sp_status sp_monitoring_config_read(sp_monitoring_config *out, const char *path, sp_arena *arena,
				    sp_error *err)
{
	static const sp_config_member members[] = {{"prometheus_config", 0, read_prometheus, false},
						   {0}};

	*out = (sp_monitoring_config){.path = ""};
	SP_TRY(read_file(out, path, "MonitoringConfig", members, arena, err));
	if (*out->path == '\0')
		out->path = "/monitoring/prometheus/metrics";
	return *out->path == '/' ? SP_OK
				 : sp_error_set(err, SP_INVALID,
						"%s: the path must begin with a slash", path);
}
