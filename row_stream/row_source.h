#ifndef SP_ROW_STREAM_ROW_SOURCE_H
#define SP_ROW_STREAM_ROW_SOURCE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/bytes.h"
#include "base/status.h"
#include "row_stream/stream_mark.h"

/*
 * Reads the partitions of topics in Kafka, each from a place of its own, without a group and
 * without storing offsets.  librdkafka does it, if the build has it; it connects again by itself
 * after failures, which are counted.
 *
 * Threads: one thread at a time, but wake(), is_connected() and lag() from any.
 */
typedef struct sp_row_source sp_row_source;

typedef struct sp_row_source_options {
	const char *brokers;       /* "HOST:PORT,HOST:PORT" */
	const char *properties;    /* librdkafka's, "NAME=VALUE;NAME=VALUE"; NULL: none */
	const char *const *topics; /* [topic_count], copied; so the mark */
	size_t topic_count;
	const sp_stream_mark *mark; /* where to begin */
	bool from_end; /* where the mark says nothing: at the end; else at the oldest message */
} sp_row_source_options;

/* Whether the build has librdkafka; without it open() and check() are SP_UNSUPPORTED. */
bool sp_row_source_is_built(void);

/* Whether librdkafka takes the properties; the text names only the property. */
SP_MUST_CHECK sp_status sp_row_source_check(const char *brokers, const char *properties,
					    sp_error *err);

/* Waits for no broker. */
SP_MUST_CHECK sp_status sp_row_source_open(sp_row_source **out,
					   const sp_row_source_options *options, sp_error *err);
void sp_row_source_close(sp_row_source *source); /* NULL is fine */

/*
 * Finds the partitions of topics that have none yet, and begins to read them.  SP_NOT_FOUND when a
 * topic does not exist yet, SP_IO when no broker answers within a second: to be called again later.
 */
SP_MUST_CHECK sp_status sp_row_source_find(sp_row_source *source, sp_error *err);

size_t sp_row_source_partitions(const sp_row_source *source);

/* A message, valid until the partition's next. */
typedef struct sp_source_message {
	sp_bytes bytes;
	size_t topic;
	const char *topic_name;
	int32_t number; /* of the partition in the topic */
	int64_t offset;
} sp_source_message;

/* The next message of a partition that has arrived; false: none has. */
bool sp_row_source_next(sp_row_source *source, size_t partition, sp_source_message *out);

/* Returns when a message has arrived, when woken, or after the time; handles failures. */
void sp_row_source_wait(sp_row_source *source, int64_t ms);
void sp_row_source_wake(sp_row_source *source);

/* Whether all messages were read that there were when find() found their partitions. */
bool sp_row_source_has_caught_up(const sp_row_source *source);

typedef struct sp_source_lag {
	bool connected;
	uint64_t errors;   /* of brokers and partitions */
	uint64_t messages; /* that were not read yet, as far as is known */
	int64_t behind_ms; /* age of the last message read, if there are such; else 0 */
} sp_source_lag;

void sp_row_source_lag(const sp_row_source *source, sp_source_lag *out);

#endif
