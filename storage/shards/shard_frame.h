#ifndef SP_STORAGE_SHARDS_SHARD_FRAME_H
#define SP_STORAGE_SHARDS_SHARD_FRAME_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buffer.h"
#include "base/bytes.h"
#include "base/status.h"

/*
 * The protocol between a front and the holders of slices: frames over a stream of bytes.  Numbers
 * are little-endian, and the size of every frame is a multiple of 8 bytes.
 *
 *   header   u16 mark 0x4853, u8 version 1, u8 kind, u32 bytes after the header, u64 id
 *
 * VERSION and LOOKUP are requests.  The response to a request has the request's id.  Many requests
 * of a connection may be in flight; their responses come in the same order.
 *
 *   VERSION  i64 full, u64 content: does the peer have the rows of that full checkpoint?  The
 * response is TABLES or ERROR.  A connection begins with a handshake, a VERSION for the step
 *            SP_SHARD_HANDSHAKE_STEP; the response is an ERROR with SP_SHARD_NO_VERSION.
 *   TABLES   u64 token, u32 slice, u32 slices, u32 tables, u32 0; of each table u32 dim, u32 bytes
 *            of its name, u64 rows, the name padded with zeros.  The token identifies the version
 *            with this list of tables.
 *   LOOKUP   u64 token, u32 parts, u32 0; of each part u32 index of the table, u32 count,
 *            i64 keys [count].  The response is ROWS or ERROR.
 *   ROWS     of each part u64 bits [(count + 63) / 64], bit i: key i is held; then the rows of
 *            the keys that are held, [dim] float32 each, padded with zeros
 *   ERROR    u32 sp_shard_error_code, u32 bytes of the text, the text padded with zeros
 *
 * All that is read is checked: a length, count or index that does not fit, a bit or byte that must
 * be zero and is not, and bytes left over make a frame malformed, which ends the connection.
 *
 * Threads: pure.
 */
enum {
	SP_SHARD_HEADER = 16,
	SP_SHARD_MAX_REQUEST = 4 << 20, /* bytes after the header */
	SP_SHARD_MAX_RESPONSE = 64 << 20,
	SP_SHARD_MAX_TABLES = 1 << 16,
};

typedef enum sp_shard_kind {
	SP_SHARD_VERSION = 1,
	SP_SHARD_TABLES,
	SP_SHARD_LOOKUP,
	SP_SHARD_ROWS,
	SP_SHARD_ERROR,
} sp_shard_kind;

typedef enum sp_shard_error_code {
	SP_SHARD_NO_VERSION = 1, /* the peer does not have the version (any more, or yet) */
	SP_SHARD_REFUSED,        /* the request is well-formed but invalid */
	SP_SHARD_FAILED,         /* the lookup has failed */
} sp_shard_error_code;

typedef struct sp_shard_header {
	uint8_t kind;
	uint32_t size; /* bytes after the header */
	uint64_t id;
} sp_shard_header;

/*
 * Reads the SP_SHARD_HEADER bytes of a header of a request (`requests`) or a response.  False: it
 * is malformed or of the other direction, or the frame is too long.
 */
bool sp_shard_header_read(sp_shard_header *out, const char *bytes, bool requests);

/* Begins a frame; returns its start, for sp_shard_frame_end(). */
size_t sp_shard_frame_begin(sp_buffer *out, sp_shard_kind kind, uint64_t id);

/* Pads the frame and writes its size.  False: out of memory. */
bool sp_shard_frame_end(sp_buffer *out, size_t start);

void sp_shard_put_u32(sp_buffer *out, uint32_t value);
void sp_shard_put_u64(sp_buffer *out, uint64_t value);

/* ---- VERSION ---- */

#define SP_SHARD_HANDSHAKE_STEP INT64_MIN /* no peer has a checkpoint of that step */

void sp_shard_version_write(sp_buffer *out, uint64_t id, int64_t full, uint64_t content);
bool sp_shard_version_read(int64_t *full, uint64_t *content, sp_bytes body);

/* ---- TABLES ---- */

typedef struct sp_shard_tables {
	uint64_t token;
	uint32_t slice, slices, count;
	sp_bytes rest; /* tables that sp_shard_tables_next() has not read yet */
} sp_shard_tables;

typedef struct sp_shard_table {
	uint32_t dim;
	uint64_t row_count;
	sp_bytes name;
} sp_shard_table;

bool sp_shard_tables_read(sp_shard_tables *out, sp_bytes body);

/* False after the last. */
bool sp_shard_tables_next(sp_shard_tables *tables, sp_shard_table *out);

/* ---- LOOKUP ---- */

typedef struct sp_shard_lookup {
	uint64_t token;
	uint32_t parts;
	sp_bytes rest; /* parts that sp_shard_lookup_next() has not read yet */
} sp_shard_lookup;

typedef struct sp_shard_part {
	uint32_t table, count;
	const int64_t *keys;
} sp_shard_part;

/* The body is 8-byte aligned. */
bool sp_shard_lookup_read(sp_shard_lookup *out, sp_bytes body);
bool sp_shard_lookup_next(sp_shard_lookup *lookup, sp_shard_part *out);

/* ---- ROWS ---- */

typedef struct sp_shard_rows {
	const uint64_t *bits; /* [(count + 63) / 64] */
	const char *rows;     /* of the keys that are held */
} sp_shard_rows;

/* Reads a part of `count` keys and removes it from the front of `rest`, which is 8-byte aligned. */
bool sp_shard_rows_next(sp_shard_rows *out, sp_bytes *rest, uint32_t count, size_t dim);

/* The size of a part of ROWS if all keys are held. */
static inline uint64_t sp_shard_rows_size(uint32_t count, size_t dim)
{
	return ((uint64_t)count + 63) / 64 * 8 +
	       ((uint64_t)count * dim * sizeof(float) + 7) / 8 * 8;
}

/* ---- ERROR ---- */

void sp_shard_error_write(sp_buffer *out, uint64_t id, sp_shard_error_code fault, const char *text);
bool sp_shard_error_read(sp_shard_error_code *fault, sp_bytes *text, sp_bytes body);

#endif
