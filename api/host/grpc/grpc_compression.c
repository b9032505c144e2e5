#include <limits.h>
#include <string.h>
#include <zlib.h>

#include "api/host/grpc/grpc_protocol.h"

/* Of zlib's functions: 16 more than the window is gzip's format. */
static int window_bits(sp_grpc_encoding encoding)
{
	return encoding == SP_GRPC_GZIP ? MAX_WBITS + 16 : MAX_WBITS;
}

enum { STEP = 64 << 10, FREE_OF_RATIO = 1 << 20 };

/* The largest size that so many compressed bytes may become. */
static size_t size_limit(size_t compressed, size_t max_bytes)
{
	size_t limit = compressed < SIZE_MAX / SP_GRPC_MAX_RATIO ? compressed * SP_GRPC_MAX_RATIO
								 : SIZE_MAX;

	if (limit < FREE_OF_RATIO)
		limit = FREE_OF_RATIO;
	return limit < max_bytes ? limit : max_bytes;
}

/* Inflates the next step; Z_STREAM_END when all is done. */
static int inflate_step(z_stream *stream, sp_buffer *out, size_t limit)
{
	size_t had = out->size, room = limit - had < STEP ? limit - had : STEP;
	char *at = sp_buffer_reserve(out, room + 1); /* one more byte tells what is too long */
	int result;

	if (at == NULL)
		return Z_MEM_ERROR;
	stream->next_out = (Bytef *)at;
	stream->avail_out = (uInt)(room + 1);
	result = inflate(stream, Z_NO_FLUSH);
	out->size = had + room + 1 - stream->avail_out;
	return result;
}

static sp_status inflate_all(z_stream *stream, sp_buffer *out, size_t limit, sp_error *err)
{
	int result;

	do {
		result = inflate_step(stream, out, limit);
		if (result == Z_MEM_ERROR)
			return sp_no_memory(err, "a compressed message");
		if (out->size > limit)
			return sp_error_set(
				err, SP_BUSY,
				"the message is larger than %zu bytes when decompressed", limit);
		/* No progress: the end of the input is missing. */
		if (result != Z_OK && result != Z_STREAM_END)
			return sp_error_set(err, SP_CORRUPT, "the message cannot be decompressed");
	} while (result != Z_STREAM_END);
	if (stream->avail_in != 0)
		return sp_error_set(err, SP_CORRUPT, "bytes follow the compressed message");
	return SP_OK;
}

sp_status sp_grpc_inflate(sp_buffer *out, sp_bytes data, sp_grpc_encoding encoding,
			  size_t max_bytes, sp_error *err)
{
	z_stream stream = {.next_in = (Bytef *)(uintptr_t)data.data, .avail_in = (uInt)data.size};
	sp_status status;

	if (data.size > UINT_MAX || inflateInit2(&stream, window_bits(encoding)) != Z_OK)
		return sp_no_memory(err, "a compressed message");
	status = inflate_all(&stream, out, size_limit(data.size, max_bytes), err);
	inflateEnd(&stream);
	return status;
}

sp_status sp_grpc_compress(sp_buffer *out, sp_bytes data, sp_grpc_encoding encoding, sp_error *err)
{
	enum { LEVEL = 1, MEMORY = 8 };
	z_stream stream = {.next_in = (Bytef *)(uintptr_t)data.data, .avail_in = (uInt)data.size};
	size_t bound;
	char *at;
	int result;

	if (data.size > UINT_MAX || deflateInit2(&stream, LEVEL, Z_DEFLATED, window_bits(encoding),
						 MEMORY, Z_DEFAULT_STRATEGY) != Z_OK)
		return sp_no_memory(err, "the compression of a message");
	bound = deflateBound(&stream, (uLong)data.size);
	at = bound <= UINT_MAX ? sp_buffer_reserve(out, bound) : NULL;
	if (at == NULL) {
		deflateEnd(&stream);
		return sp_no_memory(err, "the compression of a message");
	}
	stream.next_out = (Bytef *)at;
	stream.avail_out = (uInt)bound;
	result = deflate(&stream, Z_FINISH);
	out->size -= stream.avail_out;
	deflateEnd(&stream);
	return result == Z_STREAM_END ? SP_OK : sp_no_memory(err, "the compression of a message");
}
