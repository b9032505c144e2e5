#include "api/host/http/content_coding.h"

#include <limits.h>
#include <string.h>
#include <strings.h>

#include <zlib.h>

#include "base/alloc.h"
#include "base/words.h"

enum { CHUNK = 64 << 10, FREE_RATIO = 1 << 20 };

/* zlib's windowBits: 16 more selects gzip's header and trailer. */
enum { ZLIB_WINDOW = 15, GZIP_WINDOW = 15 + 16 };

static int window_of(sp_content_coding coding)
{
	return coding == SP_CODING_GZIP ? GZIP_WINDOW : ZLIB_WINDOW;
}

static void *allocate(void *context, unsigned count, unsigned size)
{
	(void)context;
	return sp_alloc_resize(NULL, count, size);
}

static void release(void *context, void *block)
{
	(void)context;
	sp_free(block);
}

/* ------------------------------------------------------------------- names */

sp_content_coding sp_content_coding_of(sp_bytes name)
{
	name = sp_words_trim(name);
	if (name.size == 0 || sp_words_equal(name, "identity"))
		return SP_CODING_IDENTITY;
	if (sp_words_equal(name, "gzip") || sp_words_equal(name, "x-gzip"))
		return SP_CODING_GZIP;
	return sp_words_equal(name, "deflate") ? SP_CODING_DEFLATE : SP_CODING_UNKNOWN;
}

/* Whether the parameter "q=0", "q=0.0", ... refuses a coding. */
static bool is_refused(sp_bytes parameters)
{
	parameters = sp_words_trim(parameters);
	if (parameters.size < 3 || strncasecmp(parameters.data, "q=0", 3) != 0)
		return false;
	for (size_t i = 3; i < parameters.size; i++)
		if (parameters.data[i] != '.' && parameters.data[i] != '0')
			return false;
	return true;
}

sp_content_coding sp_content_coding_accepted(sp_bytes accept_encoding)
{
	while (accept_encoding.size != 0) {
		const char *comma = memchr(accept_encoding.data, ',', accept_encoding.size);
		size_t size = comma != NULL ? (size_t)(comma - accept_encoding.data)
					    : accept_encoding.size;
		const char *semicolon = memchr(accept_encoding.data, ';', size);
		size_t name = semicolon != NULL ? (size_t)(semicolon - accept_encoding.data) : size;
		size_t skip = name < size ? name + 1 : size;
		sp_bytes parameters = {accept_encoding.data + skip, size - skip};
		sp_content_coding coding = sp_content_coding_of(
			(sp_bytes){accept_encoding.data, name});

		if ((coding == SP_CODING_GZIP || coding == SP_CODING_DEFLATE) &&
		    !is_refused(parameters))
			return coding;
		size += comma != NULL;
		accept_encoding = (sp_bytes){accept_encoding.data + size,
					     accept_encoding.size - size};
	}
	return SP_CODING_IDENTITY;
}

const char *sp_content_coding_name(sp_content_coding coding)
{
	return coding == SP_CODING_GZIP ? "gzip" : coding == SP_CODING_DEFLATE ? "deflate" : NULL;
}

/* ---------------------------------------------------------------- decoding */

static sp_status too_large(sp_error *err)
{
	return sp_error_set(err, SP_BUSY, "the uncompressed body is too large");
}

/* The room for decoded bytes that the next step may use: at most a chunk, never over the limits. */
static size_t room_for(const sp_buffer *out, size_t begin, size_t sent)
{
	size_t most = out->max_size - out->size, decoded = out->size - begin;
	size_t limit = FREE_RATIO + SP_CODING_MAX_RATIO * (sent < SIZE_MAX / 1024 ? sent : 0);

	if (limit > SP_CODING_MAX_BYTES)
		limit = SP_CODING_MAX_BYTES;
	if (decoded >= limit)
		return 0;
	if (most > limit - decoded)
		most = limit - decoded;
	return most < CHUNK ? most : CHUNK;
}

/* One step: decodes into the end of `out`.  Returns zlib's result. */
static int step(z_stream *stream, sp_buffer *out, size_t room)
{
	char *at = sp_buffer_reserve(out, room);
	int result;

	if (at == NULL)
		return Z_MEM_ERROR;
	stream->next_out = (Bytef *)at;
	stream->avail_out = (uInt)room;
	result = inflate(stream, Z_NO_FLUSH);
	out->size -= stream->avail_out;
	return result;
}

static sp_status decode(z_stream *stream, sp_buffer *out, size_t sent, sp_error *err)
{
	size_t begin = out->size;

	for (;;) {
		size_t room = room_for(out, begin, sent);
		int result;

		if (room == 0)
			return too_large(err);
		result = step(stream, out, room);
		if (result == Z_STREAM_END)
			break;
		if (result == Z_MEM_ERROR)
			return sp_no_memory(err, "the body");
		/* Z_BUF_ERROR or a chunk that is not full: the input has ended. */
		if (result != Z_OK || stream->avail_out != 0)
			return sp_error_set(err, SP_INVALID, "the compressed body is malformed");
	}
	if (stream->avail_in != 0)
		return sp_error_set(err, SP_INVALID, "data follow the compressed body");
	return SP_OK;
}

sp_status sp_content_decode(sp_buffer *out, sp_content_coding coding, sp_bytes data, sp_error *err)
{
	z_stream stream = {.zalloc = allocate, .zfree = release};
	sp_status status;

	if (coding == SP_CODING_UNKNOWN)
		return sp_error_set(err, SP_UNSUPPORTED, "the content encoding is not supported");
	if (data.size > UINT_MAX)
		return too_large(err);
	if (coding == SP_CODING_IDENTITY) {
		sp_buffer_append(out, data.data, data.size);
		return out->failed ? too_large(err) : SP_OK;
	}
	if (inflateInit2(&stream, window_of(coding)) != Z_OK)
		return sp_no_memory(err, "the body");
	stream.next_in = (z_const Bytef *)data.data;
	stream.avail_in = (uInt)data.size;
	status = decode(&stream, out, data.size, err);
	inflateEnd(&stream);
	return status;
}

/* ---------------------------------------------------------------- encoding */

void sp_content_encode(sp_buffer *out, sp_content_coding coding, sp_bytes data)
{
	z_stream stream = {.zalloc = allocate, .zfree = release};
	size_t bound;
	char *at;

	if (coding != SP_CODING_GZIP && coding != SP_CODING_DEFLATE) {
		sp_buffer_append(out, data.data, data.size);
		return;
	}
	if (data.size > INT_MAX || deflateInit2(&stream, Z_BEST_SPEED, Z_DEFLATED,
						window_of(coding), 8, Z_DEFAULT_STRATEGY) != Z_OK) {
		out->failed = true;
		return;
	}
	bound = deflateBound(&stream, data.size);
	at = sp_buffer_reserve(out, bound);
	if (at != NULL) {
		stream.next_in = (z_const Bytef *)data.data;
		stream.avail_in = (uInt)data.size;
		stream.next_out = (Bytef *)at;
		stream.avail_out = (uInt)bound;
		out->failed |= deflate(&stream, Z_FINISH) != Z_STREAM_END;
		out->size -= stream.avail_out;
	}
	deflateEnd(&stream);
}
