#include <stdlib.h>
#include <string.h>

#include "api/host/http/http_chunks.h"
#include "api/host/http/http_head.h"
#include "api/host/observe/trace_context.h"
#include "api/host/routes/route_path.h"
#include "base/hex.h"
#include "tests/support/fuzz.h"

/*
 * Any bytes as a request: its head, the path in it, and a chunked body, which
 * must decode to the same however it is cut into pieces.
 */

static sp_http_chunks_result decode(sp_bytes data, size_t step, sp_buffer *body, size_t *total)
{
	sp_http_chunks chunks = {0};
	sp_http_chunks_result result = SP_HTTP_CHUNKS_MORE;
	size_t used;

	*total = 0;
	while (*total < data.size && result == SP_HTTP_CHUNKS_MORE) {
		size_t n = data.size - *total < step ? data.size - *total : step;

		result = sp_http_chunks_feed(&chunks, (sp_bytes){data.data + *total, n}, &used,
					     body);
		if (used > n || (result == SP_HTTP_CHUNKS_MORE && used != n))
			abort();
		*total += used;
	}
	return result;
}

static void check_chunks(sp_bytes data)
{
	sp_buffer whole, bits;
	size_t whole_used, bits_used;
	sp_http_chunks_result result;

	sp_buffer_init(&whole, 10000);
	sp_buffer_init(&bits, 10000);
	result = decode(data, data.size + 1, &whole, &whole_used);
	if (decode(data, 1, &bits, &bits_used) != result)
		abort();
	if (result == SP_HTTP_CHUNKS_DONE &&
	    (whole_used != bits_used ||
	     !sp_bytes_equal((sp_bytes){whole.data, whole.size}, (sp_bytes){bits.data, bits.size})))
		abort();
	sp_buffer_fini(&whole);
	sp_buffer_fini(&bits);
}

/* A trace that is read is the header's own digits. */
static void check_trace(const sp_http_head *head)
{
	sp_bytes header = sp_http_head_get(head, "traceparent");
	char text[SP_TRACE_ID_TEXT];
	sp_trace_context trace;

	if (!sp_trace_context_parse(&trace, header)) {
		if (trace.known || trace.sampled)
			abort();
		return;
	}
	sp_hex_print(text, trace.trace_id, SP_TRACE_ID);
	if (memcmp(header.data + 3, text, strlen(text)) != 0)
		abort();
	sp_hex_print(text, trace.parent_id, SP_SPAN_ID);
	if (memcmp(header.data + 36, text, strlen(text)) != 0)
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	sp_bytes bytes = {size != 0 ? (const char *)data : "", size};
	size_t head_size = 0, scanned = 0;
	sp_route_path path;
	sp_http_head head;
	sp_error err;

	if (sp_http_head_find(bytes, &head_size, &scanned) == SP_HTTP_SCAN_DONE) {
		if (head_size > size)
			abort();
		if (sp_http_head_parse(&head, (sp_bytes){bytes.data, head_size}, &err) == 0 &&
		    sp_route_path_parse(&path, &head, &err) == SP_OK && path.name[0] == '\0' &&
		    path.verb < SP_V2_SERVER)
			abort();
		check_trace(&head);
		bytes = (sp_bytes){bytes.data + head_size, size - head_size};
	}
	check_chunks(bytes);
	return 0;
}
