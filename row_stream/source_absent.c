/* A build without librdkafka. */
#include "row_stream/row_source.h"

bool sp_row_source_is_built(void)
{
	return false;
}

sp_status sp_row_source_check(const char *brokers, const char *properties, sp_error *err)
{
	(void)brokers;
	(void)properties;
	return sp_error_set(err, SP_UNSUPPORTED, "this build has no librdkafka");
}

sp_status sp_row_source_open(sp_row_source **out, const sp_row_source_options *options,
			     sp_error *err)
{
	*out = NULL;
	return sp_row_source_check(options->brokers, options->properties, err);
}

void sp_row_source_close(sp_row_source *source)
{
	(void)source;
}

sp_status sp_row_source_find_partitions(sp_row_source *source, sp_error *err)
{
	(void)source;
	return sp_row_source_check(NULL, NULL, err);
}

size_t sp_row_source_partitions(const sp_row_source *source)
{
	(void)source;
	return 0;
}

bool sp_row_source_next(sp_row_source *source, size_t partition, sp_received_message *out)
{
	(void)source;
	(void)partition;
	(void)out;
	return false;
}

void sp_row_source_wait(sp_row_source *source, int64_t ms)
{
	(void)source;
	(void)ms;
}

void sp_row_source_wake(sp_row_source *source)
{
	(void)source;
}

bool sp_row_source_has_caught_up(const sp_row_source *source)
{
	(void)source;
	return true;
}

void sp_row_source_lag(const sp_row_source *source, sp_source_lag *out)
{
	(void)source;
	*out = (sp_source_lag){.connected = false};
}
