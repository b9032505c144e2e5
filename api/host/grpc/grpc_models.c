#include "api/host/describe/describe.h"
#include "api/host/grpc/grpc_handlers.h"
#include "api/host/messages/message_writer.h"
#include "api/host/model/model_config.h"

/*
 * Calls that tell which models and versions there are and describe them, and orders about them:
 * GetModelMetadata, ModelService, and those of the V2 protocol.
 */

static sp_document document(sp_grpc_call *call)
{
	return sp_document_of(&call->out, false);
}

/* -------------------------------------------------------- GetModelMetadata */

/* Whether the fields asked for are "signature_def" and nothing else. */
static sp_status check_fields(sp_bytes message, sp_error *err)
{
	enum { METADATA_FIELD = 2 };
	sp_wire wire = sp_wire_of(message);
	sp_wire_field field;
	size_t count = 0;

	while (sp_wire_next(&wire, &field)) {
		if (field.number != METADATA_FIELD || field.type != SP_WIRE_BYTES)
			continue;
		count++;
		if (!sp_bytes_equal_text(field.bytes, "signature_def"))
			return sp_error_set(err, SP_INVALID, "Metadata field %.*s is not supported",
					    sp_message_shown(field.bytes), field.bytes.data);
	}
	return count != 0 ? SP_OK
			  : sp_error_set(err, SP_INVALID,
					 "GetModelMetadataRequest must specify at least one "
					 "metadata_field");
}

static void put_metadata(sp_grpc_call *call, const sp_servable *servable)
{
	static const char type[] = "type.googleapis.com/tensorflow.serving.SignatureDefMap";
	enum { SPEC = 1, METADATA, KEY = 1, VALUE, TYPE_URL = 1, CONTENT };
	const sp_model_spec spec = {.name = sp_bytes_of(servable->model->name),
				    .has_version = true,
				    .version = servable->version};
	sp_document d = document(call);
	sp_document_mark entry;
	sp_buffer *out = &call->out;
	size_t content;

	sp_model_spec_append(out, SPEC, &spec);
	entry = sp_document_open_entry(&d, "signature_def", METADATA);
	sp_message_put_text(out, TYPE_URL, sp_bytes_of(type));
	content = sp_message_open(out, CONTENT);
	sp_describe_signatures(&d, servable->handle);
	sp_message_close(out, content);
	sp_document_close(&d, entry);
}

sp_status sp_grpc__get_model_metadata(sp_grpc_call *call, sp_error *err)
{
	sp_servable servable;
	sp_model_spec spec;

	SP_TRY(sp_model_spec_find(&spec, call->message, err));
	SP_TRY(check_fields(call->message, err));
	SP_TRY(sp_grpc__acquire(call, &servable, &spec, err));
	put_metadata(call, &servable);
	sp_servable_release(&servable);
	return SP_OK;
}

/* ------------------------------------------------------------ ModelService */

sp_status sp_grpc__get_model_status(sp_grpc_call *call, sp_error *err)
{
	sp_model_selector selector;
	sp_document d = document(call);
	sp_version_statuses list;
	sp_model_spec spec;

	SP_TRY(sp_model_spec_find(&spec, call->message, err));
	SP_TRY(sp_grpc__select(&selector, &spec, err));
	SP_TRY(sp_models_statuses(call->serving->models, &selector, &list, call->memory.arena,
				  err));
	sp_describe_statuses(&d, &list);
	return SP_OK;
}

/* The response has a status of its own; it is always OK, because a failure has no response. */
sp_status sp_grpc__reload_config(sp_grpc_call *call, sp_error *err)
{
	enum { STATUS = 1 };
	sp_model_configs *configs;
	sp_status status;

	SP_TRY(sp_model_configs_decode(&configs, call->message, err));
	status = sp_models_apply(call->serving->models, configs, err);
	if (status == SP_NOT_FOUND) /* the label is of a version that is not available */
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
	sp_message_put_number(&call->out, 1, sp_serving_is_ready(call->serving, NULL));
	return SP_OK;
}

/* Holds the version that a request with a name and a version asks for. */
static sp_status hold(sp_grpc_call *call, sp_servable *out, sp_error *err)
{
	enum { NAME = 1, VERSION };
	sp_bytes name = {"", 0}, version = {"", 0};
	const sp_wire_place places[] = {{NAME, SP_WIRE_BYTES, &name},
					{VERSION, SP_WIRE_BYTES, &version}};

	SP_TRY(sp_message_read(call->message, places, 2, err));
	return sp_grpc__acquire_named(call, out, name, version, err);
}

sp_status sp_grpc__model_ready(sp_grpc_call *call, sp_error *err)
{
	sp_servable servable = {0};
	sp_status status = hold(call, &servable, err);

	if (status == SP_INVALID) /* the version is not a number */
		return status;
	call->code = SP_GRPC_OK;
	sp_message_put_number(&call->out, 1, status == SP_OK);
	sp_servable_release(&servable);
	return SP_OK;
}

/* --------------------------------------------------------- V2: descriptions */

sp_status sp_grpc__server_metadata(sp_grpc_call *call, sp_error *err)
{
	sp_document d = document(call);

	(void)err;
	sp_describe_server(&d);
	return SP_OK;
}

/* Describes the version that a request asks for: its configuration, or its inputs and outputs. */
static sp_status describe(sp_grpc_call *call, bool config, sp_error *err)
{
	sp_document d = document(call);
	sp_servable servable;
	sp_status status;

	SP_TRY(hold(call, &servable, err));
	status = config ? sp_describe_config(&d, &servable, err)
			: sp_describe_metadata(&d, call->serving->models, &servable,
					       call->memory.arena, err);
	sp_servable_release(&servable);
	return status;
}

sp_status sp_grpc__model_metadata(sp_grpc_call *call, sp_error *err)
{
	return describe(call, false, err);
}

sp_status sp_grpc__model_config(sp_grpc_call *call, sp_error *err)
{
	return describe(call, true, err);
}

sp_status sp_grpc__model_statistics(sp_grpc_call *call, sp_error *err)
{
	enum { NAME = 1 };
	sp_document d = document(call);
	sp_bytes name = {"", 0};

	SP_TRY(sp_message_read(call->message, &(sp_wire_place){NAME, SP_WIRE_BYTES, &name}, 1,
			       err));
	return sp_describe_statistics(&d, call->serving->models, name, call->memory.arena, err);
}

/* ---------------------------------------------------------- V2: repository */

sp_status sp_grpc__repository_index(sp_grpc_call *call, sp_error *err)
{
	enum { READY = 2 };
	sp_document d = document(call);
	uint64_t ready = 0;

	SP_TRY(sp_message_read(call->message, &(sp_wire_place){READY, SP_WIRE_VARINT, &ready}, 1,
			       err));
	return sp_describe_index(&d, call->serving->models, ready != 0, call->memory.arena, err);
}

/* Loads the newest version again, or a model that is not served for the moment. */
sp_status sp_grpc__repository_load(sp_grpc_call *call, sp_error *err)
{
	enum { MODEL_NAME = 2 };
	sp_bytes name = {"", 0};

	SP_TRY(sp_message_read(call->message, &(sp_wire_place){MODEL_NAME, SP_WIRE_BYTES, &name}, 1,
			       err));
	return sp_serving_order(call->serving, call->request, name, SERVING_PROCESSOR_RELOAD, -1,
				-1, err);
}

sp_status sp_grpc__repository_unload(sp_grpc_call *call, sp_error *err)
{
	(void)call;
	return sp_error_set(err, SP_UNSUPPORTED, SP_SERVING_NO_UNLOAD);
}
