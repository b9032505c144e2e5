#include "api/host/http/http_chunks.h"

#include <stdbool.h>

#include "base/hex.h"

/*
 * A chunk is its size in hexadecimal, an optional extension, CR LF, that many bytes,
 * CR LF.  A chunk of size zero ends the body; trailer lines up to an empty line follow.
 * The state says what the next byte belongs to.
 */
enum state {
	SIZE_FIRST, /* the first digit of a size */
	SIZE,
	EXTENSION,
	SIZE_LF,
	DATA,
	DATA_CR,
	DATA_LF,
	TRAILER_FIRST, /* first byte of a line; CR: the line is empty */
	TRAILER,
	TRAILER_LF,
	END_LF,
	END,
	BAD,
};

enum { MAX_LINE = 256, MAX_TRAILERS = 8192 };

static enum state after_size(sp_http_chunks *chunks, char c)
{
	int digit = sp_hex_value(c);

	if (digit >= 0) {
		if (chunks->left > UINT64_MAX >> 4)
			return BAD;
		chunks->left = (chunks->left << 4) | (uint64_t)digit;
		return SIZE;
	}
	if (chunks->state == SIZE_FIRST)
		return BAD;
	if (c == '\r')
		return SIZE_LF;
	return c == ';' ? EXTENSION : BAD;
}

static bool is_text(char c)
{
	return (unsigned char)c >= 0x20 || c == '\t';
}

static enum state after_size_lf(sp_http_chunks *chunks, char c)
{
	chunks->line_bytes = 0;
	if (c != '\n')
		return BAD;
	return chunks->left == 0 ? TRAILER_FIRST : DATA;
}

static enum state next_state(sp_http_chunks *chunks, char c)
{
	switch ((enum state)chunks->state) {
	case SIZE_FIRST:
	case SIZE:
		return after_size(chunks, c);
	case EXTENSION:
		return c == '\r' ? SIZE_LF : is_text(c) ? EXTENSION : BAD;
	case SIZE_LF:
		return after_size_lf(chunks, c);
	case DATA_CR:
		return c == '\r' ? DATA_LF : BAD;
	case DATA_LF:
		return c == '\n' ? SIZE_FIRST : BAD;
	case TRAILER_FIRST:
		return c == '\r' ? END_LF : is_text(c) ? TRAILER : BAD;
	case TRAILER:
		return c == '\r' ? TRAILER_LF : is_text(c) ? TRAILER : BAD;
	case TRAILER_LF:
		return c == '\n' ? TRAILER_FIRST : BAD;
	case END_LF:
		return c == '\n' ? END : BAD;
	case DATA:
	case END:
	case BAD:
		break;
	}
	return BAD;
}

/* One byte of the framing; false when it is malformed or a line is too long. */
static bool step(sp_http_chunks *chunks, char c)
{
	enum state next = next_state(chunks, c);

	if (next == SIZE || next == EXTENSION)
		chunks->line_bytes++;
	if (next == TRAILER)
		chunks->trailer_bytes++;
	chunks->state = next;
	return next != BAD && chunks->line_bytes <= MAX_LINE &&
	       chunks->trailer_bytes <= MAX_TRAILERS;
}

/* Appends the available data bytes of the current chunk. */
static sp_http_chunks_result copy(sp_http_chunks *chunks, sp_bytes data, size_t *used,
				  sp_buffer *body)
{
	size_t n = data.size - *used;

	if (chunks->left > body->max_size - body->size)
		return SP_HTTP_CHUNKS_TOO_LARGE;
	if (n > chunks->left)
		n = (size_t)chunks->left;
	sp_buffer_append(body, data.data + *used, n);
	if (body->failed)
		return SP_HTTP_CHUNKS_NO_MEMORY;
	*used += n;
	chunks->left -= n;
	if (chunks->left == 0)
		chunks->state = DATA_CR;
	return SP_HTTP_CHUNKS_MORE;
}

sp_http_chunks_result sp_http_chunks_feed(sp_http_chunks *chunks, sp_bytes data, size_t *used,
					  sp_buffer *body)
{
	sp_http_chunks_result result;

	*used = 0;
	while (*used < data.size && chunks->state != END) {
		if (chunks->state == DATA) {
			result = copy(chunks, data, used, body);
			if (result != SP_HTTP_CHUNKS_MORE)
				return result;
		} else if (!step(chunks, data.data[(*used)++])) {
			return SP_HTTP_CHUNKS_BAD;
		}
	}
	return chunks->state == END ? SP_HTTP_CHUNKS_DONE : SP_HTTP_CHUNKS_MORE;
}
