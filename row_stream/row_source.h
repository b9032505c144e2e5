#ifndef SP_ROW_STREAM_ROW_SOURCE_H
#define SP_ROW_STREAM_ROW_SOURCE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/bytes.h"
#include "base/status.h"
#include "row_stream/stream_mark.h"

/*
 * A Kafka consumer of all partitions of some topics, without a consumer group and without stored
 * offsets.  It uses librdkafka, which reconnects by itself after failures; they are counted.
 *
 * Threads: one thread at a time, but wake(), is_connected() and lag() from any.
 */
typedef struct sp_row_source sp_row_source;

typedef struct sp_row_source_options {
	const char *brokers;       /* "HOST:PORT,HOST:PORT" */
	const char *properties;    /* librdkafka's, "NAME=VALUE;NAME=VALUE"; NULL: none */
	const char *const *topics; /* [topic_count], copied */
	size_t topic_count;
	const sp_stream_mark *mark; /* where to begin; copied */
	/* Without an offset or time in the mark, begin at the end; but what is found later begins
	 * at its oldest message. */
	bool from_end;
} sp_row_source_options;

/* Whether the build has librdkafka; if not, open() and check() fail with SP_UNSUPPORTED. */
bool sp_row_source_is_built(void);

/* Whether librdkafka accepts the properties.  The error names the property, not its value. */
SP_MUST_CHECK sp_status sp_row_source_check(const char *brokers, const char *properties,
					    sp_error *err);

/* Does not wait for a broker. */
SP_MUST_CHECK sp_status sp_row_source_open(sp_row_source **out,
					   const sp_row_source_options *options, sp_error *err);
void sp_row_source_close(sp_row_source *source); /* NULL is fine */

/*
 * Finds and starts partitions that are not read yet.  SP_NOT_FOUND if a topic does not exist yet,
 * SP_IO if no broker answers within a second: to be called again later.
 */
SP_MUST_CHECK sp_status sp_row_source_find_partitions(sp_row_source *source, sp_error *err);

size_t sp_row_source_partitions(const sp_row_source *source);

/* Valid until the partition's next message is taken. */
typedef struct sp_received_message {
	sp_bytes bytes;
	size_t partition; /* of the source */
	size_t topic;     /* index in the options; "hps": the table */
	const char *topic_name;
	int32_t number; /* of the partition in the topic */
	int64_t offset;
} sp_received_message;

/* The next message of a partition; false: none has arrived.  Does not wait. */
bool sp_row_source_next(sp_row_source *source, size_t partition, sp_received_message *out);

/* Waits for a message, sp_row_source_wake() or the timeout, and handles failures. */
void sp_row_source_wait(sp_row_source *source, int64_t ms);
void sp_row_source_wake(sp_row_source *source);

/* Whether every partition was read up to the end that it had when it was found. */
bool sp_row_source_has_caught_up(const sp_row_source *source);

typedef struct sp_source_lag {
	bool connected;
	uint64_t errors;   /* of brokers and partitions */
	uint64_t messages; /* known and not read yet */
	int64_t behind_ms; /* if there are such: age of the last message read; else 0 */
} sp_source_lag;

void sp_row_source_lag(const sp_row_source *source, sp_source_lag *out);

#endif
