#include <malloc.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "api/host/routes/model_states.h"
#include "api/host/routes/route_errors.h"
#include "api/host/routes/routes.h"
#include "api/host/routes/status_document.h"
#include "api/host/routes/status_page.h"
#include "base/hex.h"

/* The status page, the document that it shows, and the heap. */

enum { MAX_BYTES = 64 << 20, NONCE = 16 };

/* Stands in the page for the nonce of a script or a style. */
static const char nonce_mark[] = "@NONCE@";

/* Each answer has its own, which a script smuggled in by a model's name cannot know. */
static bool make_nonce(char out[2 * NONCE + 1])
{
	unsigned char bytes[NONCE];

	if (getrandom(bytes, sizeof(bytes), 0) != sizeof(bytes))
		return false;
	sp_hex_print(out, bytes, sizeof(bytes));
	return true;
}

static void write_page(sp_buffer *out, const char *nonce)
{
	const char *rest = sp_status_page, *mark;

	while ((mark = strstr(rest, nonce_mark)) != NULL) {
		sp_buffer_append(out, rest, (size_t)(mark - rest));
		sp_buffer_append_text(out, nonce);
		rest = mark + sizeof(nonce_mark) - 1;
	}
	sp_buffer_append_text(out, rest);
}

static void answer_page(sp_http_request *request, const char *nonce)
{
	sp_buffer body, policy;

	sp_buffer_init(&body, MAX_BYTES);
	sp_buffer_init(&policy, 1 << 10);
	write_page(&body, nonce);
	sp_buffer_printf(&policy,
			 "default-src 'none'; script-src 'nonce-%s'; style-src 'nonce-%s'; "
			 "connect-src 'self'; img-src data:; base-uri 'none'; form-action 'none'; "
			 "frame-ancestors 'none'",
			 nonce, nonce);
	if (body.failed || policy.failed) {
		sp_http_request_fail(request, 503, "no memory for the page");
	} else {
		const sp_http_header fields[] = {
			{sp_bytes_of("content-security-policy"), {policy.data, policy.size}},
			{sp_bytes_of("x-content-type-options"), sp_bytes_of("nosniff")},
			{sp_bytes_of("referrer-policy"), sp_bytes_of("no-referrer")},
			{sp_bytes_of("cache-control"), sp_bytes_of("no-store")}};

		sp_http_request_answer(
			request,
			&(sp_http_answer){.status = 200,
					  .content_type = "text/html; charset=utf-8",
					  .body = &body,
					  .headers = fields,
					  .header_count = sizeof(fields) / sizeof(fields[0])});
	}
	sp_buffer_fini(&body);
	sp_buffer_fini(&policy);
}

void sp_route_page(sp_http_request *request)
{
	char nonce[2 * NONCE + 1];

	sp_serving_tag(request, SP_REQUEST_ADMIN, NULL);
	if (!sp_route__is_get(request))
		sp_route__refuse_method(request, "GET, HEAD");
	else if (!make_nonce(nonce))
		sp_http_request_fail(request, 503, "no random numbers for the page");
	else
		answer_page(request, nonce);
}

/* ------------------------------------------------------------------- document */

static void write_document(sp_serving *serving, sp_worker *worker, sp_http_request *request)
{
	sp_status_models models;
	sp_buffer body;
	sp_error err;
	sp_status status = sp_route__model_states(serving, &models.items, &models.count,
						  worker->arena, &err);

	if (status == SP_OK)
		status = sp_models_list_unloaded(serving->models, &models.unloaded,
						 &models.unloaded_count, worker->arena, &err);
	sp_buffer_init(&body, MAX_BYTES);
	if (status == SP_OK)
		sp_status_document_write(&body, serving, &models);
	sp_route__finish(request, sp_route__http_status(status), &body, &err);
}

void sp_route_status_document(sp_serving *serving, sp_http_request *request)
{
	sp_serving_tag(request, SP_REQUEST_ADMIN, NULL);
	sp_route__enqueue_scrape(serving, request, write_document);
}

/* ----------------------------------------------------------------------- heap */

/* False if there is no memory for it. */
static bool read_heap(sp_buffer *out)
{
	char *text = NULL;
	size_t size = 0;
	FILE *file = open_memstream(&text, &size);
	bool done;

	if (file == NULL)
		return false;
	done = malloc_info(0, file) == 0;
	done &= fclose(file) == 0;
	if (done)
		sp_buffer_append(out, text, size);
	free(text);
	return done && !out->failed;
}

static void write_heap(sp_serving *serving, sp_worker *worker, sp_http_request *request)
{
	sp_buffer body;

	(void)serving;
	(void)worker;
	sp_buffer_init(&body, MAX_BYTES);
	if (read_heap(&body))
		sp_http_request_answer(request, &(sp_http_answer){.status = 200,
								  .content_type = "application/xml",
								  .body = &body});
	else
		sp_http_request_fail(request, 503, "no memory for the account of the heap");
	sp_buffer_fini(&body);
}

void sp_route_heap(sp_serving *serving, sp_http_request *request)
{
	sp_serving_tag(request, SP_REQUEST_ADMIN, NULL);
	sp_route__enqueue_scrape(serving, request, write_heap);
}
