#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "api/host/grpc/grpc_handlers.h"
#include "api/host/messages/config_message.h"
#include "api/host/messages/message_writer.h"
#include "base/wire.h"

/* Which models and versions there are and how they are: ModelService, and the V2 protocol's calls.
 */

/* ------------------------------------------------------------ ModelService */

static void put_status(sp_buffer *out, const sp_version_status *status)
{
	enum { STATUSES = 1, VERSION = 1, STATE, STATUS, CODE = 1, MESSAGE };
	size_t entry = sp_message_open(out, STATUSES), inner;

	sp_message_put_number(out, VERSION, (uint64_t)status->version);
	sp_message_put_number(out, STATE, (uint64_t)status->state);
	inner = sp_message_open(out, STATUS);
	sp_message_put_number(out, CODE, (uint64_t)status->code);
	sp_message_put_text(out, MESSAGE, status->message);
	sp_message_close(out, inner);
	sp_message_close(out, entry);
}

sp_status sp_grpc__get_model_status(sp_grpc_call *call, sp_error *err)
{
	sp_model_selector selector = {0};
	sp_version_statuses list;
	sp_model_spec spec;

	SP_TRY(sp_model_spec_find(&spec, call->message, err));
	if (spec.name.size == 0)
		return sp_error_set(err, SP_INVALID, "Missing ModelSpec");
	selector = (sp_model_selector){.name = spec.name,
				       .has_version = spec.has_version,
				       .version = spec.version,
				       .label = spec.label};
	SP_TRY(sp_models_statuses(call->serving->models, &selector, &list, call->memory.arena,
				  err));
	for (size_t i = 0; i < list.count; i++)
		put_status(&call->out, &list.items[i]);
	return SP_OK;
}

/* The response tells the status, too, which is OK where there is a response. */
sp_status sp_grpc__reload_config(sp_grpc_call *call, sp_error *err)
{
	enum { STATUS = 1 };
	sp_model_configs *configs;
	sp_status status;

	SP_TRY(sp_config_message_decode(&configs, call->message, err));
	status = sp_models_apply(call->serving->models, configs, err);
	if (status == SP_NOT_FOUND) /* a label of a version that is not available */
		call->code = SP_GRPC_FAILED_PRECONDITION;
	if (status == SP_OK)
		sp_message_close(&call->out, sp_message_open(&call->out, STATUS));
	return status;
}

/* ------------------------------------------------------------ V2: readiness */

sp_status sp_grpc__server_live(sp_grpc_call *call, sp_error *err)
{
	(void)err;
	sp_message_put_number(&call->out, 1, true);
	return SP_OK;
}

sp_status sp_grpc__server_ready(sp_grpc_call *call, sp_error *err)
{
	(void)err;
	sp_message_put_number(&call->out, 1,
			      !atomic_load(&call->serving->draining) &&
				      sp_models_are_ready(call->serving->models));
	return SP_OK;
}

sp_status sp_grpc__model_ready(sp_grpc_call *call, sp_error *err)
{
	sp_servable servable = {0};
	sp_bytes name, version;
	sp_status status;

	SP_TRY(sp_grpc__name_and_version(call, &name, &version, err));
	status = sp_grpc__acquire_named(call, &servable, name, version, err);
	if (status == SP_INVALID) /* a version that is not a number */
		return status;
	call->code = SP_GRPC_OK;
	sp_message_put_number(&call->out, 1, status == SP_OK);
	sp_servable_release(&servable);
	return SP_OK;
}

/* ---------------------------------------------------------- V2: repository */

typedef struct index_request {
	sp_bytes model;
	bool ready; /* only those that are */
} index_request;

static sp_status read_request(index_request *out, sp_bytes message, sp_error *err)
{
	enum { READY = 2, MODEL_NAME = 2 };
	sp_wire wire = sp_wire_of(message);
	sp_wire_result result;
	sp_wire_field field;

	*out = (index_request){.model = {"", 0}};
	while ((result = sp_wire_next(&wire, &field)) == SP_WIRE_FIELD) {
		if (field.number == READY && field.type == SP_WIRE_VARINT)
			out->ready = field.value != 0;
		else if (field.number == MODEL_NAME && field.type == SP_WIRE_BYTES)
			out->model = field.bytes;
	}
	return result == SP_WIRE_END
		       ? SP_OK
		       : sp_error_set(err, SP_INVALID, "the message cannot be parsed");
}

static void put_index(sp_buffer *out, const char *name, const sp_version_status *status)
{
	enum { MODELS = 1, NAME = 1, VERSION, STATE, REASON };
	size_t entry = sp_message_open(out, MODELS);
	char version[24] = "";

	if (status != NULL)
		snprintf(version, sizeof(version), "%" PRId64, status->version);
	sp_message_put_text(out, NAME, sp_bytes_of(name));
	sp_message_put_text(out, VERSION, sp_bytes_of(version));
	sp_message_put_text(out, STATE,
			    sp_bytes_of(status != NULL ? sp_version_state_in_index(status->state)
						       : "UNAVAILABLE"));
	if (status != NULL)
		sp_message_put_text(out, REASON, status->message);
	sp_message_close(out, entry);
}

static void put_model(sp_grpc_call *call, const char *name, bool only_ready)
{
	const sp_model_selector selector = {.name = sp_bytes_of(name)};
	sp_version_statuses list;

	if (sp_models_statuses(call->serving->models, &selector, &list, call->memory.arena, NULL) !=
	    SP_OK)
		list.count = 0;
	for (size_t i = 0; i < list.count; i++)
		if (!only_ready || list.items[i].state == SP_VERSION_AVAILABLE)
			put_index(&call->out, name, &list.items[i]);
	if (list.count == 0 && !only_ready)
		put_index(&call->out, name, NULL);
}

sp_status sp_grpc__repository_index(sp_grpc_call *call, sp_error *err)
{
	const sp_model_summary *models;
	index_request request;
	size_t count;

	SP_TRY(read_request(&request, call->message, err));
	SP_TRY(sp_models_list(call->serving->models, &models, &count, call->memory.arena, err));
	for (size_t i = 0; i < count; i++)
		put_model(call, models[i].model->name, request.ready);
	return SP_OK;
}

/* Loads the newest version again, or a model that is not served for the moment. */
sp_status sp_grpc__repository_load(sp_grpc_call *call, sp_error *err)
{
	serving_processor_error *error = NULL;
	serving_processor_code code;
	sp_servable servable;
	index_request request;

	SP_TRY(read_request(&request, call->message, err));
	SP_TRY(sp_models_acquire_processor(call->serving->models, request.model, &servable, err));
	code = serving_processor_give_order(servable.served->processor, SERVING_PROCESSOR_RELOAD,
					    -1, -1, sp_http_request_peer(call->request), &error);
	sp_servable_release(&servable);
	if (code != SERVING_PROCESSOR_OK)
		sp_error_set(err, (sp_status)code, "%s", serving_processor_error_text(error));
	serving_processor_error_free(error);
	return (sp_status)code;
}

sp_status sp_grpc__repository_unload(sp_grpc_call *call, sp_error *err)
{
	(void)call;
	return sp_error_set(err, SP_UNSUPPORTED,
			    "a model is unloaded by a configuration without it: "
			    "HandleReloadConfigRequest");
}

/* ---------------------------------------------------------- V2: statistics */

static void put_duration(sp_buffer *out, uint32_t number, uint64_t count, uint64_t ns)
{
	enum { COUNT = 1, NS };
	size_t duration = sp_message_open(out, number);

	sp_message_put_number(out, COUNT, count);
	sp_message_put_number(out, NS, ns);
	sp_message_close(out, duration);
}

/* Counts are of all versions of the model together. */
static void put_statistics(sp_buffer *out, sp_model *model)
{
	enum { STATS = 1, NAME = 1, COUNT = 4, EXECUTIONS, INFER };
	enum { SUCCESS = 1, FAIL, COMPUTE_INFER = 5 };
	const sp_model_totals totals = sp_model_counters_sum(&model->counters);
	size_t stats = sp_message_open(out, STATS), infer;

	sp_message_put_text(out, NAME, sp_bytes_of(model->name));
	sp_message_put_number(out, COUNT, totals.good);
	sp_message_put_number(out, EXECUTIONS, totals.runs);
	infer = sp_message_open(out, INFER);
	put_duration(out, SUCCESS, totals.good, totals.good_ns);
	put_duration(out, FAIL, totals.failed, 0);
	put_duration(out, COMPUTE_INFER, totals.runs, totals.runs_ns);
	sp_message_close(out, infer);
	sp_message_close(out, stats);
}

sp_status sp_grpc__model_statistics(sp_grpc_call *call, sp_error *err)
{
	const sp_model_summary *models;
	sp_bytes name, version;
	sp_model *model;
	size_t count;

	SP_TRY(sp_grpc__name_and_version(call, &name, &version, err));
	if (name.size != 0) {
		model = sp_models_find(call->serving->models, name);
		if (model == NULL)
			return sp_error_set(err, SP_NOT_FOUND,
					    "Servable not found for request: Latest(%.*s)",
					    (int)(name.size < 256 ? name.size : 256), name.data);
		put_statistics(&call->out, model);
		return SP_OK;
	}
	SP_TRY(sp_models_list(call->serving->models, &models, &count, call->memory.arena, err));
	for (size_t i = 0; i < count; i++)
		put_statistics(&call->out, models[i].model);
	return SP_OK;
}
