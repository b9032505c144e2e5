#ifndef SP_ROW_STREAM_ROW_MESSAGE_H
#define SP_ROW_STREAM_ROW_MESSAGE_H

#include <stddef.h>
#include <stdint.h>

#include "base/bytes.h"
#include "base/status.h"

/*
 * The messages of a row stream.  All numbers are little endian.  `rows` are repeated: a key, then
 * float32 [dim].
 *
 * Ours, "versioned" (docs/row-stream.md):
 *
 *    0  char[4]  "SPR1"
 *    4  uint8    1: rows; 2: commit
 *    5  uint8    bytes of a key, 4 or 8; commit: 0
 *    6  uint16   bytes of the table's name, at least 1; commit: 0
 *    8  int64    global step of the full checkpoint that the rows belong to
 *   16  int64    global step at which the rows were taken
 *   24  uint64   batch: 1 and up
 *   32  uint32   rows: bytes of a row; commit: messages of rows of the batch in this partition
 *   36  uint32   0
 *   40           the table's name; then the rows, at least one
 *
 * HugeCTR's parameter server, "hps":
 *
 *    0  char[4]  "HCTR"
 *    4  uint32   bytes of a row
 *    8           the rows, which may be none
 *
 * Threads: pure.
 */
enum { SP_ROW_MESSAGE_HEADER = 40, SP_ROW_MESSAGE_HPS_HEADER = 8 };

typedef enum sp_row_message_kind {
	SP_ROW_MESSAGE_ROWS = 1,
	SP_ROW_MESSAGE_COMMIT = 2,
} sp_row_message_kind;

typedef struct sp_row_message {
	sp_row_message_kind kind;
	sp_bytes table;    /* its name; "hps": empty, each table has its own topic */
	int64_t full_step; /* "hps": -1; so the next */
	int64_t step;
	uint64_t batch;    /* "hps": 0 */
	uint32_t messages; /* of a commit */
	size_t key_size;   /* 4 or 8 */
	size_t row_size;   /* bytes, a multiple of 4 */
	const char *rows;  /* [count] of key_size and row_size bytes */
	size_t count;
} sp_row_message;

/* *out refers to the bytes.  SP_CORRUPT: they are not such a message. */
SP_MUST_CHECK sp_status sp_row_message_parse(sp_row_message *out, sp_bytes message, sp_error *err);

/* key_size: 4 or 8; the message does not contain it. */
SP_MUST_CHECK sp_status sp_row_message_parse_hps(sp_row_message *out, sp_bytes message,
						 size_t key_size, sp_error *err);

#endif
