#ifndef SP_PROCESSOR_WARMUP_RECORDED_REQUEST_H
#define SP_PROCESSOR_WARMUP_RECORDED_REQUEST_H

#include <stdbool.h>

#include "base/arena.h"
#include "base/bytes.h"
#include "base/status.h"
#include "processor/request/request.h"

/*
 * The requests in a TFRecord file of tensorflow.serving.PredictionLog messages.
 *
 * Source: prediction_log.proto of TensorFlow Serving; the file format: record_writer.h of
 * TensorFlow.
 *
 * Threads: pure but for the arena.
 */
typedef struct sp_recorded_request {
	bool is_predict; /* else the log is of another request, and nothing below is set */
	sp_typed_request request;
	const char *signature; /* NULL: the configured one */
} sp_recorded_request;

/* Whether a file begins as such a file does: with a length and its checksum. */
bool sp_recorded_is_file(sp_bytes file);

/* Takes the next record from the rest of a file, which is not empty.  SP_INVALID if damaged. */
SP_MUST_CHECK sp_status sp_recorded_take(sp_bytes *out, sp_bytes *file, sp_error *err);

/* Reads a record; what it refers to is in the arena or in the record.  SP_INVALID, SP_NO_MEMORY. */
SP_MUST_CHECK sp_status sp_recorded_read(sp_recorded_request *out, sp_bytes record, sp_arena *arena,
					 sp_error *err);

#endif
