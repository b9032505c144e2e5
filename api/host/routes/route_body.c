#include "api/host/routes/route_body.h"

#include <string.h>
#include <strings.h>

#include "api/host/http/content_coding.h"
#include "api/host/routes/route_errors.h"

enum { MAX_ANSWER_BYTES = 1 << 30 };

/* Compressing less costs more time than sending it. */
enum { LEAST_COMPRESSED = 4 << 10 };

int sp_route__read_body(sp_route_body *out, sp_serving *serving, const sp_http_request *request,
			sp_error *err)
{
	const sp_http_head *head = sp_http_request_head(request);
	sp_content_coding coding = sp_content_coding_of(sp_http_head_get(head, "content-encoding"));
	sp_status status;

	sp_buffer_init(&out->unpacked, (size_t)serving->flags->max_body_bytes);
	out->bytes = sp_http_request_body(request);
	if (coding == SP_CODING_IDENTITY)
		return 200;
	sp_buffer_set_budget(&out->unpacked, &serving->memory);
	status = sp_content_decode(&out->unpacked, coding, out->bytes, err);
	switch (status) {
	case SP_OK:
		break;
	case SP_UNSUPPORTED:
		return 415;
	case SP_BUSY:
		return 413;
	default:
		return sp_route__http_status(status);
	}
	out->bytes = (sp_bytes){out->unpacked.data != NULL ? out->unpacked.data : "",
				out->unpacked.size};
	return 200;
}

void sp_route__body_fini(sp_route_body *body)
{
	sp_buffer_fini(&body->unpacked);
}

bool sp_route__is_protobuf(const sp_http_request *request)
{
	static const char *const types[] = {"application/x-protobuf", "application/protobuf",
					    "application/vnd.google.protobuf",
					    "application/x-google-protobuf"};
	sp_bytes type = sp_http_head_get(sp_http_request_head(request), "content-type");

	for (size_t i = 0; i < sizeof(types) / sizeof(types[0]); i++) {
		size_t size = strlen(types[i]);

		if (type.size >= size && strncasecmp(type.data, types[i], size) == 0 &&
		    (type.size == size || type.data[size] == ';' || type.data[size] == ' '))
			return true;
	}
	return false;
}

sp_infer_limits sp_route__limits(sp_http_request *request)
{
	return (sp_infer_limits){sp_http_request_deadline_ns(request),
				 sp_http_request_cancel_flag(request),
				 sp_http_request_record(request)};
}

void sp_route__init_answer(sp_buffer *body, sp_serving *serving)
{
	sp_buffer_init(body, MAX_ANSWER_BYTES);
	sp_buffer_set_budget(body, &serving->memory);
}

/* Replaces the body by its compressed form; false if it stays as it is. */
static bool compress(sp_serving *serving, sp_buffer *body, sp_content_coding coding)
{
	sp_buffer packed;

	if (coding == SP_CODING_IDENTITY || body->size < LEAST_COMPRESSED || body->failed)
		return false;
	sp_route__init_answer(&packed, serving);
	sp_content_encode(&packed, coding, (sp_bytes){body->data, body->size});
	if (packed.failed || packed.size >= body->size) {
		sp_buffer_fini(&packed);
		return false;
	}
	sp_buffer_fini(body);
	*body = packed;
	return true;
}

void sp_route__answer(sp_serving *serving, sp_http_request *request, int status, const char *type,
		      sp_buffer *body, const sp_http_header *headers, size_t count,
		      const sp_error *err)
{
	sp_bytes accepted = sp_http_head_get(sp_http_request_head(request), "accept-encoding");
	sp_content_coding coding = sp_content_coding_accepted(accepted);
	sp_http_header all[3];

	if (status != 200) {
		sp_route__fail(request, status, err);
		sp_buffer_fini(body);
		return;
	}
	for (size_t i = 0; i < count; i++)
		all[i] = headers[i];
	if (compress(serving, body, coding))
		all[count++] = (sp_http_header){sp_bytes_of("content-encoding"),
						sp_bytes_of(sp_content_coding_name(coding))};
	sp_http_request_answer(request, &(sp_http_answer){.status = 200,
							  .content_type = type,
							  .body = body,
							  .headers = all,
							  .header_count = count});
	sp_buffer_fini(body);
}
