#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "api/host/grpc/grpc_handlers.h"
#include "api/host/messages/infer_message.h"
#include "api/host/messages/message_writer.h"
#include "base/wire.h"

/* What a model's inputs and outputs are: in TensorFlow Serving's terms, and in the V2 protocol's.
 */

/* -------------------------------------------------------- GetModelMetadata */

/* A TensorInfo in a map's entry. */
static void put_info(sp_buffer *out, uint32_t map, const serving_processor_tensor_info *info)
{
	enum { KEY = 1, VALUE, NAME = 1, DTYPE, SHAPE, DIM = 2, UNKNOWN_RANK, SIZE = 1 };
	size_t entry = sp_message_open(out, map), value, shape, dim;

	sp_message_put_text(out, KEY, sp_bytes_of(info->alias));
	value = sp_message_open(out, VALUE);
	sp_message_put_text(out, NAME, sp_bytes_of(info->tensor_name));
	sp_message_put_number(out, DTYPE, (uint64_t)info->dtype);
	shape = sp_message_open(out, SHAPE);
	for (int i = 0; i < info->rank; i++) {
		dim = sp_message_open(out, DIM);
		sp_message_put_number(out, SIZE, (uint64_t)info->dims[i]);
		sp_message_close(out, dim);
	}
	sp_message_put_number(out, UNKNOWN_RANK, info->rank < 0);
	sp_message_close(out, shape);
	sp_message_close(out, value);
	sp_message_close(out, entry);
}

/* A SignatureDef in an entry of SignatureDefMap. */
static void put_signature(sp_buffer *out, const serving_processor_signature *signature)
{
	enum { MAP = 1, KEY = 1, VALUE, INPUTS = 1, OUTPUTS, METHOD };
	size_t entry = sp_message_open(out, MAP), value;

	sp_message_put_text(out, KEY, sp_bytes_of(signature->name));
	value = sp_message_open(out, VALUE);
	for (size_t i = 0; i < signature->input_count; i++)
		put_info(out, INPUTS, signature->inputs[i]);
	for (size_t i = 0; i < signature->output_count; i++)
		put_info(out, OUTPUTS, signature->outputs[i]);
	sp_message_put_text(out, METHOD, sp_bytes_of(signature->method));
	sp_message_close(out, value);
	sp_message_close(out, entry);
}

/* Whether the fields asked for are "signature_def" and nothing else. */
static sp_status check_fields(sp_bytes message, sp_error *err)
{
	enum { METADATA_FIELD = 2 };
	sp_wire wire = sp_wire_of(message);
	sp_wire_field field;
	size_t count = 0;

	while (sp_wire_next(&wire, &field) == SP_WIRE_FIELD) {
		if (field.number != METADATA_FIELD || field.type != SP_WIRE_BYTES)
			continue;
		count++;
		if (!sp_bytes_equal_text(field.bytes, "signature_def"))
			return sp_error_set(err, SP_INVALID, "Metadata field %.*s is not supported",
					    (int)(field.bytes.size < 256 ? field.bytes.size : 256),
					    field.bytes.data);
	}
	return count != 0 ? SP_OK
			  : sp_error_set(err, SP_INVALID,
					 "GetModelMetadataRequest must specify at least one "
					 "metadata_field");
}

static void put_metadata(sp_buffer *out, const sp_servable *servable, sp_bytes name)
{
	static const char type[] = "type.googleapis.com/tensorflow.serving.SignatureDefMap";
	enum { SPEC = 1, METADATA, KEY = 1, VALUE, TYPE_URL = 1, CONTENT };
	enum { NAME = 1, VERSION, NUMBER = 1 };
	size_t count, spec = sp_message_open(out, SPEC), entry, any, content, version;
	const serving_processor_signature *signatures = serving_processor_handle_signatures(
		servable->handle, &count);

	sp_message_put_text(out, NAME, name);
	version = sp_message_open(out, VERSION);
	sp_message_put_number(out, NUMBER, (uint64_t)servable->version);
	sp_message_close(out, version);
	sp_message_close(out, spec);
	entry = sp_message_open(out, METADATA);
	sp_message_put_text(out, KEY, sp_bytes_of("signature_def"));
	any = sp_message_open(out, VALUE);
	sp_message_put_text(out, TYPE_URL, sp_bytes_of(type));
	content = sp_message_open(out, CONTENT);
	for (size_t i = 0; i < count; i++)
		put_signature(out, &signatures[i]);
	sp_message_close(out, content);
	sp_message_close(out, any);
	sp_message_close(out, entry);
}

sp_status sp_grpc__get_model_metadata(sp_grpc_call *call, sp_error *err)
{
	sp_servable servable;
	sp_model_spec spec;

	SP_TRY(sp_model_spec_find(&spec, call->message, err));
	SP_TRY(check_fields(call->message, err));
	SP_TRY(sp_grpc__acquire(call, &servable, &spec, err));
	put_metadata(&call->out, &servable, spec.name);
	sp_servable_release(&servable);
	return SP_OK;
}

/* ----------------------------------------------------------- V2: the server */

sp_status sp_grpc__server_metadata(sp_grpc_call *call, sp_error *err)
{
	enum { NAME = 1, VERSION, EXTENSIONS };
	static const char *const extensions[] = {"model_repository", "model_configuration",
						 "statistics"};

	(void)err;
	sp_message_put_text(&call->out, NAME, sp_bytes_of("serving_host"));
	sp_message_put_text(&call->out, VERSION, sp_bytes_of(serving_processor_version()));
	for (size_t i = 0; i < sizeof(extensions) / sizeof(extensions[0]); i++)
		sp_message_put_text(&call->out, EXTENSIONS, sp_bytes_of(extensions[i]));
	return SP_OK;
}

/* ------------------------------------------------------------ V2: the models */

sp_status sp_grpc__name_and_version(sp_grpc_call *call, sp_bytes *name, sp_bytes *version,
				    sp_error *err)
{
	enum { NAME = 1, VERSION };
	sp_wire wire = sp_wire_of(call->message);
	sp_wire_result result;
	sp_wire_field field;

	*name = *version = (sp_bytes){"", 0};
	while ((result = sp_wire_next(&wire, &field)) == SP_WIRE_FIELD) {
		if (field.type != SP_WIRE_BYTES)
			continue;
		if (field.number == NAME)
			*name = field.bytes;
		else if (field.number == VERSION)
			*version = field.bytes;
	}
	return result == SP_WIRE_END
		       ? SP_OK
		       : sp_error_set(err, SP_INVALID, "the message cannot be parsed");
}

/* Holds the version that a request with name and version asks for. */
static sp_status find(sp_grpc_call *call, sp_servable *servable,
		      const serving_processor_signature **signature, sp_error *err)
{
	sp_bytes name, version;

	SP_TRY(sp_grpc__name_and_version(call, &name, &version, err));
	SP_TRY(sp_grpc__acquire_named(call, servable, name, version, err));
	*signature = sp_grpc__signature(servable, (sp_bytes){NULL, 0}, call->memory.arena);
	if (*signature != NULL)
		return SP_OK;
	sp_servable_release(servable);
	return sp_error_set(err, SP_NOT_FOUND, "the model has no default signature");
}

/* A tensor of unknown rank has one length, which is unknown. */
static void put_dims(sp_buffer *out, uint32_t number, const serving_processor_tensor_info *info)
{
	const int64_t unknown = -1;

	sp_message_put_numbers(out, number, info->rank < 0 ? &unknown : info->dims,
			       info->rank < 0 ? 1 : (size_t)info->rank);
}

static void put_tensor(sp_buffer *out, uint32_t number, const serving_processor_tensor_info *info)
{
	enum { NAME = 1, DATATYPE, SHAPE };
	const char *datatype = sp_infer_datatype(info->dtype);
	size_t tensor = sp_message_open(out, number);

	sp_message_put_text(out, NAME, sp_bytes_of(info->alias));
	sp_message_put_text(out, DATATYPE, sp_bytes_of(datatype != NULL ? datatype : ""));
	put_dims(out, SHAPE, info);
	sp_message_close(out, tensor);
}

static sp_status put_versions(sp_grpc_call *call, const sp_servable *servable, uint32_t number,
			      sp_error *err)
{
	const sp_model_selector selector = {.name = sp_bytes_of(servable->model->name)};
	sp_version_statuses list;
	char version[24];

	SP_TRY(sp_models_statuses(call->serving->models, &selector, &list, call->memory.arena,
				  err));
	for (size_t i = 0; i < list.count; i++) {
		if (list.items[i].state != SP_VERSION_AVAILABLE)
			continue;
		snprintf(version, sizeof(version), "%" PRId64, list.items[i].version);
		sp_message_put_text(&call->out, number, sp_bytes_of(version));
	}
	return SP_OK;
}

sp_status sp_grpc__model_metadata(sp_grpc_call *call, sp_error *err)
{
	enum { NAME = 1, VERSIONS, PLATFORM, INPUTS, OUTPUTS };
	const serving_processor_signature *signature;
	sp_buffer *out = &call->out;
	sp_servable servable;
	sp_status status;

	SP_TRY(find(call, &servable, &signature, err));
	sp_message_put_text(out, NAME, sp_bytes_of(servable.model->name));
	status = put_versions(call, &servable, VERSIONS, err);
	sp_message_put_text(out, PLATFORM, sp_bytes_of("tensorflow_savedmodel"));
	for (size_t i = 0; i < signature->input_count; i++)
		put_tensor(out, INPUTS, signature->inputs[i]);
	for (size_t i = 0; i < signature->output_count; i++)
		put_tensor(out, OUTPUTS, signature->outputs[i]);
	sp_servable_release(&servable);
	return status;
}

/* The number of ModelConfig's DataType. */
static uint64_t config_type(int dtype)
{
	static const unsigned char types[] = {
		[SERVING_PROCESSOR_BOOL] = 1,    [SERVING_PROCESSOR_UINT8] = 2,
		[SERVING_PROCESSOR_UINT16] = 3,  [SERVING_PROCESSOR_UINT32] = 4,
		[SERVING_PROCESSOR_UINT64] = 5,  [SERVING_PROCESSOR_INT8] = 6,
		[SERVING_PROCESSOR_INT16] = 7,   [SERVING_PROCESSOR_INT32] = 8,
		[SERVING_PROCESSOR_INT64] = 9,   [SERVING_PROCESSOR_HALF] = 10,
		[SERVING_PROCESSOR_FLOAT] = 11,  [SERVING_PROCESSOR_DOUBLE] = 12,
		[SERVING_PROCESSOR_STRING] = 13, [SERVING_PROCESSOR_BFLOAT16] = 14,
	};

	return dtype >= 0 && (size_t)dtype < sizeof(types) ? types[dtype] : 0;
}

static void put_config_tensor(sp_buffer *out, uint32_t number, uint32_t dims,
			      const serving_processor_tensor_info *info)
{
	enum { NAME = 1, DATA_TYPE };
	size_t tensor = sp_message_open(out, number);

	sp_message_put_text(out, NAME, sp_bytes_of(info->alias));
	sp_message_put_number(out, DATA_TYPE, config_type(info->dtype));
	put_dims(out, dims, info);
	sp_message_close(out, tensor);
}

/* Shapes have the batch as their first dimension: max_batch_size is 0. */
sp_status sp_grpc__model_config(sp_grpc_call *call, sp_error *err)
{
	enum { CONFIG = 1, NAME = 1, PLATFORM, INPUT = 5, OUTPUT };
	enum { INPUT_DIMS = 4, OUTPUT_DIMS = 3 };
	const serving_processor_signature *signature;
	sp_buffer *out = &call->out;
	sp_servable servable;
	size_t config;

	SP_TRY(find(call, &servable, &signature, err));
	config = sp_message_open(out, CONFIG);
	sp_message_put_text(out, NAME, sp_bytes_of(servable.model->name));
	sp_message_put_text(out, PLATFORM, sp_bytes_of("tensorflow_savedmodel"));
	for (size_t i = 0; i < signature->input_count; i++)
		put_config_tensor(out, INPUT, INPUT_DIMS, signature->inputs[i]);
	for (size_t i = 0; i < signature->output_count; i++)
		put_config_tensor(out, OUTPUT, OUTPUT_DIMS, signature->outputs[i]);
	sp_message_close(out, config);
	sp_servable_release(&servable);
	return SP_OK;
}
