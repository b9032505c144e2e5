#include <stdio.h>

#include "api/host/predict/json_response.h"
#include "api/host/routes/route_errors.h"
#include "api/host/routes/routes.h"
#include "base/alloc.h"
#include "base/clock.h"

enum { MAX_ANSWER_BYTES = 1 << 30 };

/* ---------------------------------------------------------- on a worker */

static sp_status write_result(sp_buffer *out, const serving_processor_result *result, bool row,
			      sp_error *err)
{
	size_t count = serving_processor_result_count(result);
	const serving_processor_tensor **tensors = sp_alloc_zero(count, sizeof(*tensors));
	sp_status status;

	if (tensors == NULL && count != 0)
		return sp_error_set(err, SP_NO_MEMORY, "no memory for %zu outputs", count);
	for (size_t i = 0; i < count; i++)
		tensors[i] = serving_processor_result_tensor(result, i);
	status = sp_json_response_write(out, tensors, count, row, err);
	sp_free(tensors);
	return status;
}

static sp_status run(const sp_servable *servable, const sp_json_parsed *parsed,
		     serving_processor_result **result, sp_error *err)
{
	serving_processor_error *error = NULL;
	int64_t began = sp_clock_now_ns();
	serving_processor_code code = serving_processor_handle_run(
		servable->handle, parsed->signature->name, parsed->tensors, parsed->count, NULL, 0,
		result, &error);

	if (code == SERVING_PROCESSOR_OK) {
		sp_histogram_add(&servable->model->counters.runtime, sp_clock_now_ns() - began);
		return SP_OK;
	}
	sp_error_set(err, (sp_status)code, "%s", serving_processor_error_text(error));
	serving_processor_error_free(error);
	return (sp_status)code;
}

/* Parses the request, runs it on the version, and writes the answer. */
static int answer(const sp_servable *servable, sp_json_request *json, sp_http_request *request,
		  sp_buffer *out, sp_error *err)
{
	sp_host_signatures set = {.fallback = serving_processor_handle_signature(
					  servable->handle, servable->served->signature_name)};
	serving_processor_result *result;
	const sp_json_parsed *parsed;
	sp_status status;

	set.signatures = serving_processor_handle_signatures(servable->handle, &set.count);
	status = sp_json_request_parse(json, &set, sp_http_request_body(request), err);
	if (status != SP_OK) /* SP_CORRUPT: the body is not JSON, which is the client's fault */
		return status == SP_CORRUPT ? 400 : sp_route__http_status(status);
	parsed = sp_json_request_parsed(json);
	status = run(servable, parsed, &result, err);
	if (status != SP_OK)
		return sp_route__http_status(status);
	if (sp_http_request_expired(request)) {
		sp_error_set(err, SP_DEADLINE, "the deadline of the request has passed");
		status = SP_DEADLINE;
	} else {
		status = write_result(out, result, parsed->row, err);
	}
	serving_processor_result_free(result);
	return sp_route__http_status(status);
}

/*
 * Holds the version that the path selects, or returns the HTTP status of the failure.  Parsed and
 * selected again, so that the queue holds no version: another one may be live meanwhile.
 */
static int hold(const sp_serving *serving, const sp_http_request *request, sp_servable *out,
		sp_error *err)
{
	sp_model_selector selector;
	sp_model_path path;
	sp_status status = sp_model_path_parse(&path, sp_http_request_head(request), err);

	if (status != SP_OK)
		return 400;
	selector = sp_route__selector(&path);
	return sp_route__selection_status(sp_models_acquire(serving->models, &selector, out, err));
}

static void compute(sp_serving *serving, sp_worker *worker, sp_http_request *request)
{
	sp_servable servable = {0};
	sp_buffer body;
	sp_error err;
	int status;

	sp_buffer_init(&body, MAX_ANSWER_BYTES);
	sp_buffer_set_budget(&body, &serving->memory);
	status = hold(serving, request, &servable, &err);
	if (status == 200)
		status = answer(&servable, worker->json, request, &body, &err);
	sp_servable_release(&servable);
	sp_json_request_trim(worker->json); /* before sending the answer, which may take long */
	if (status == 200)
		sp_http_request_answer(request, &(sp_http_answer){.status = 200, .body = &body});
	else
		sp_route__fail(request, status, &err);
	sp_buffer_fini(&body);
}

/* ------------------------------------------------------- on the I/O thread */

static bool is_plain(const sp_http_head *head)
{
	sp_bytes encoding = sp_http_head_get(head, "content-encoding");

	return encoding.data == NULL || encoding.size == 0 ||
	       sp_bytes_equal_text(encoding, "identity");
}

void sp_route_predict(sp_serving *serving, sp_http_request *request, const sp_model_path *path)
{
	if (!sp_route__find_model(serving, request, path))
		return;
	if (!is_plain(sp_http_request_head(request))) {
		sp_http_request_fail(request, 415, "Content-Encoding is not supported");
		return;
	}
	sp_route__enqueue(serving, request, compute);
}

void sp_route_examples(sp_serving *serving, sp_http_request *request, const sp_model_path *path)
{
	char text[128];

	if (!sp_route__find_model(serving, request, path))
		return;
	snprintf(text, sizeof(text),
		 "%s is not supported; :predict takes serialized tf.Example records for the same "
		 "signature",
		 path->verb == SP_MODEL_CLASSIFY ? ":classify" : ":regress");
	sp_http_request_fail(request, 501, text);
}
