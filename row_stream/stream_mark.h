#ifndef SP_ROW_STREAM_STREAM_MARK_H
#define SP_ROW_STREAM_STREAM_MARK_H

#include <stddef.h>
#include <stdint.h>

#include "base/bytes.h"
#include "base/status.h"

/*
 * The offsets in the stream at which the rows after a checkpoint begin.  The trainer writes them
 * beside the checkpoint, as PREFIX.row_stream: lines of words, comments after '#'.
 *
 *   timestamp_ms MS              the first message of that time or later, in every partition
 *   offset TOPIC PARTITION N     message N of one partition, which goes before the time
 *
 * Threads: immutable once read.
 */
typedef struct sp_stream_offset {
	char topic[250];
	int32_t partition;
	int64_t offset;
} sp_stream_offset;

typedef struct sp_stream_mark {
	int64_t timestamp_ms; /* -1: none */
	sp_stream_offset *offsets;
	size_t count;
} sp_stream_mark;

/* SP_INVALID names the line that is wrong; then there is nothing to free. */
SP_MUST_CHECK sp_status sp_stream_mark_parse(sp_stream_mark *out, sp_bytes text, sp_error *err);

/* Reads the checkpoint's mark; it is empty if there is no file. */
SP_MUST_CHECK sp_status sp_stream_mark_read(sp_stream_mark *out, const char *prefix, sp_error *err);

/* The offset for a partition; -1: none. */
int64_t sp_stream_mark_offset(const sp_stream_mark *mark, const char *topic, int32_t partition);

void sp_stream_mark_fini(sp_stream_mark *mark);

#endif
