#include <stdlib.h>
#include <string.h>

#include "api/host/grpc/grpc_protocol.h"
#include "api/host/grpc/grpc_reflection.h"
#include "api/host/http/content_coding.h"
#include "api/host/messages/eas_message.h"
#include "api/host/messages/examples_message.h"
#include "api/host/messages/infer_message.h"
#include "api/host/messages/predict_message.h"
#include "api/host/messages/tensor_message.h"
#include "api/host/model/model_config.h"
#include "api/host/infer/tensors.h"
#include "api/host/sticky/sticky.h"
#include "tests/support/fake_run.h"
#include "tests/support/fuzz.h"

/*
 * A body of gRPC: frames, each with a message that every decoder reads.  What a decoder makes of a
 * message is looked at and written back.
 */

static const int64_t any[] = {-1};
static const serving_processor_tensor_info infos[] = {
	{"a", "a:0", SERVING_PROCESSOR_FLOAT, 1, any},
	{"b", "b:0", SERVING_PROCESSOR_STRING, 1, any},
};
static const serving_processor_tensor_info *const all[] = {&infos[0], &infos[1]};
static const serving_processor_signature signatures[] = {
	{"s", "m", all, 1, all, 2},
	{"t", "m", all, 2, all, 2},
};

enum { MAX_BYTES = 4 << 20 };

/* Reads all values, so that a memory checker sees those that are not there. */
static unsigned sum(const serving_processor_tensor *tensor)
{
	size_t size = tensor->count * sp_tensor_element_size(tensor->dtype);
	const unsigned char *bytes = tensor->data;
	const serving_processor_bytes *texts = tensor->data;
	unsigned total = 0;

	for (size_t i = 0; i < size; i++)
		total += bytes[i];
	for (size_t i = 0; tensor->dtype == SERVING_PROCESSOR_STRING && i < tensor->count; i++)
		for (size_t k = 0; k < texts[i].size; k++)
			total += (unsigned char)texts[i].data[k];
	return total;
}

static void write_back(const sp_message_inputs *inputs)
{
	const sp_model_spec spec = {.name = {"m", 1}, .has_version = true};
	const sp_infer_head head = {.model_name = {"m", 1}, .model_version = {"1", 1}};
	size_t count = inputs->signature->input_count;
	unsigned total = 0;
	sp_buffer out;

	for (size_t i = 0; i < count; i++)
		total += sum(&inputs->tensors[i]);
	sp_buffer_init(&out, MAX_BYTES + total % 2);
	(void)!sp_predict_message_encode(&out, inputs->tensors, count, &spec, SP_TENSOR_IN_FIELDS,
					 NULL);
	(void)!sp_predict_message_encode(&out, inputs->tensors, count, &spec, SP_TENSOR_IN_CONTENT,
					 NULL);
	(void)!sp_predict_message_encode(&out, inputs->tensors, count, NULL, SP_TENSOR_AS_ARRAY,
					 NULL);
	(void)!sp_infer_message_encode(&out, inputs->tensors, count, &head, NULL);
	sp_buffer_fini(&out);
}

static void find_key(sp_sticky_form form, sp_bytes message, sp_arena *arena)
{
	sp_sticky_body body = {.form = form, .bytes = message, .arena = arena};
	sp_bytes key = sp_sticky_find(&body, "a");
	serving_processor_bytes text = {key.data, key.size};
	serving_processor_tensor tensor = {
		.dtype = SERVING_PROCESSOR_STRING, .count = 1, .data = &text};

	(void)sum(&tensor);
}

static void write_error(sp_bytes id, const char *text)
{
	sp_buffer out;

	sp_buffer_init(&out, MAX_BYTES);
	sp_infer_message_encode_error(&out, id, text);
	if (out.failed)
		abort();
	sp_buffer_fini(&out);
}

static void decode(sp_bytes message, sp_message_memory *memory)
{
	const sp_inference_task *tasks;
	const sp_bytes *examples;
	sp_model_configs *configs;
	sp_message_inputs inputs;
	sp_infer_head head;
	sp_model_spec spec;
	sp_error err = {.text = ""};
	sp_buffer out;
	size_t count;

	(void)!sp_model_spec_find(&spec, message, &err);
	(void)!sp_infer_message_head(&head, message, &err);
	write_error(sp_infer_message_id(message), err.text);
	for (size_t i = 0; i < 2; i++) {
		if (sp_predict_message_decode(&inputs, &signatures[i], message, memory, &err) ==
		    SP_OK)
			write_back(&inputs);
		if (sp_eas_message_decode(&inputs, &signatures[i], message, memory, &err) == SP_OK)
			write_back(&inputs);
		if (sp_infer_message_decode(&inputs, &signatures[i], message, memory, &err) ==
		    SP_OK)
			write_back(&inputs);
	}
	(void)!sp_examples_message_decode(&examples, &count, message, memory->arena, &err);
	(void)!sp_examples_message_tasks(&tasks, &count, message, memory->arena, &err);
	(void)sp_examples_message_model(message);
	find_key(SP_STICKY_PREDICT, message, memory->arena);
	find_key(SP_STICKY_EXAMPLES, message, memory->arena);
	find_key(SP_STICKY_V2, message, memory->arena);
	find_key(SP_STICKY_EAS, message, memory->arena);
	if (sp_model_configs_decode(&configs, message, &err) == SP_OK)
		sp_model_configs_destroy(configs);
	sp_buffer_init(&out, MAX_BYTES);
	(void)!sp_grpc_reflect(&out, message, &err);
	sp_buffer_fini(&out);
}

static void decode_compressed(sp_bytes message, sp_message_memory *memory)
{
	sp_buffer larger;

	sp_buffer_init(&larger, MAX_BYTES);
	if (sp_content_decode(&larger, SP_CODING_GZIP, message, NULL) == SP_OK)
		decode((sp_bytes){larger.data, larger.size}, memory);
	sp_buffer_fini(&larger);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static uint16_t order[SP_MESSAGE_ORDER];
	sp_message_memory memory = {sp_arena_create(4096), order};
	sp_bytes body = {(const char *)data, size};
	sp_budget budget;
	sp_grpc_frame frame;
	int64_t ns;

	if (memory.arena == NULL)
		abort();
	sp_budget_init(&budget, 16 << 20);
	sp_arena_set_budget(memory.arena, &budget);
	(void)!sp_grpc_timeout(body, &ns);
	(void)sp_grpc_is_content_type(body);
	while (sp_grpc_frame_read(&frame, body) == SP_GRPC_READ_DONE) {
		if (frame.compressed)
			decode_compressed(frame.message, &memory);
		else
			decode(frame.message, &memory);
		body = (sp_bytes){body.data + frame.size, body.size - frame.size};
	}
	sp_arena_destroy(memory.arena);
	return 0;
}
