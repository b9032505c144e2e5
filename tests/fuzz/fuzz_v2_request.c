#include <stdlib.h>
#include <string.h>

#include "api/host/http/content_coding.h"
#include "api/host/predict/json_examples.h"
#include "api/host/sticky/sticky.h"
#include "api/host/v2/v2_request.h"
#include "tests/support/fuzz.h"

/*
 * Any bytes as the body of "infer": the first byte says how it is taken, the next two how long its
 * JSON is.  The same bytes as examples to classify, and as a compressed body.
 */
static const int64_t any[] = {-1, 2};
static const serving_processor_tensor_info infos[] = {
	{"a", "a:0", SERVING_PROCESSOR_FLOAT, 2, any},
	{"b", "b:0", SERVING_PROCESSOR_STRING, 1, any},
	{"c", "c:0", SERVING_PROCESSOR_BOOL, 1, any},
	{"d", "d:0", SERVING_PROCESSOR_HALF, 1, any},
	{"i", "i:0", SERVING_PROCESSOR_INT64, 1, any},
};
static const serving_processor_tensor_info *const inputs[] = {&infos[0], &infos[1], &infos[2],
							      &infos[3], &infos[4]};
static const sp_host_signature signatures[] = {
	{"all", "", inputs, 5, inputs, 2},
	{"one", "", inputs, 1, inputs, 2},
	{"text", "", inputs + 1, 1, inputs, 2},
};

/* Reads every byte of the tensors. */
static void look_at(const sp_message_inputs *read)
{
	static volatile char sum;

	for (size_t i = 0; i < read->signature->input_count; i++) {
		const serving_processor_tensor *t = &read->tensors[i];
		const serving_processor_bytes *texts = t->data;
		const char *bytes = t->data;
		size_t size = 0;

		for (size_t k = 0; t->dtype == SERVING_PROCESSOR_STRING && k < t->count; k++)
			for (size_t n = 0; n < texts[k].size; n++)
				sum += texts[k].data[n];
		if (t->dtype == SERVING_PROCESSOR_FLOAT)
			size = t->count * 4;
		else if (t->dtype == SERVING_PROCESSOR_INT64)
			size = t->count * 8;
		for (size_t n = 0; n < size; n++)
			sum += bytes[n];
	}
}

/* Reads every byte of the key. */
static void find_key(sp_sticky_body *body)
{
	static volatile char sum;
	sp_bytes key = sp_sticky_find(body, "a");

	for (size_t i = 0; i < key.size; i++)
		sum += key.data[i];
}

static void infer(sp_bytes body, unsigned way, int64_t json_size)
{
	static uint16_t order[SP_MESSAGE_ORDER];
	sp_message_memory memory = {sp_arena_create(4096), order};
	sp_v2_request *request = sp_v2_request_create(NULL);
	sp_host_signatures set = {signatures, 3, &signatures[way % 3]};
	sp_v2_parsed parsed;
	sp_error err;

	if (memory.arena == NULL || request == NULL)
		abort();
	if (sp_v2_request_parse(&parsed, request, &set, body, json_size, &memory, &err) == SP_OK)
		look_at(&parsed.inputs);
	find_key(&(sp_sticky_body){.form = SP_STICKY_V2_JSON,
				   .bytes = body,
				   .json_size = json_size,
				   .arena = memory.arena});
	sp_v2_request_destroy(request);
	sp_arena_destroy(memory.arena);
}

static void classify(sp_bytes body)
{
	sp_json_examples *examples = sp_json_examples_create(NULL);
	sp_arena *arena = sp_arena_create(4096);
	static const serving_processor_example_feature features[] = {
		{{"a", 1}, SERVING_PROCESSOR_FLOAT, SERVING_PROCESSOR_DENSE},
		{{"b", 1}, SERVING_PROCESSOR_INT64, SERVING_PROCESSOR_SPARSE},
		{{"c", 1}, SERVING_PROCESSOR_STRING, SERVING_PROCESSOR_RAGGED}};
	static const sp_known_features known = {features, 3};
	sp_examples out;
	sp_bytes name;
	sp_error err;

	if (examples == NULL || arena == NULL)
		abort();
	if (sp_json_examples_begin(&name, examples, body, &err) == SP_OK &&
	    sp_json_examples_read(&out, examples, &known, &err) == SP_OK && out.count == 0)
		abort();
	find_key(&(sp_sticky_body){.form = SP_STICKY_EXAMPLES_JSON, .bytes = body, .arena = arena});
	find_key(&(sp_sticky_body){.form = SP_STICKY_PREDICT_JSON, .bytes = body, .arena = arena});
	sp_json_examples_destroy(examples);
	sp_arena_destroy(arena);
}

/* What is decoded must be the same after encoding and decoding. */
static void decode(sp_bytes body, sp_content_coding coding)
{
	sp_buffer out, packed, again;
	sp_error err;

	sp_buffer_init(&out, 1 << 20);
	sp_buffer_init(&packed, 2 << 20);
	sp_buffer_init(&again, 2 << 20);
	if (sp_content_decode(&out, coding, body, &err) == SP_OK) {
		sp_content_encode(&packed, coding, (sp_bytes){out.data, out.size});
		if (packed.failed || out.size >= 1 << 20)
			goto end;
		if (sp_content_decode(&again, coding, (sp_bytes){packed.data, packed.size}, &err) !=
			    SP_OK ||
		    again.size != out.size ||
		    (out.size != 0 && memcmp(again.data, out.data, out.size) != 0))
			abort();
	}
end:
	sp_buffer_fini(&out);
	sp_buffer_fini(&packed);
	sp_buffer_fini(&again);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	unsigned way;
	sp_bytes body;
	char *text;

	if (size < 3)
		return 0;
	way = data[0];
	text = malloc(size - 2);
	if (text == NULL)
		abort();
	memcpy(text, data + 3, size - 3);
	text[size - 3] = '\0';
	body = (sp_bytes){text, size - 3};
	switch (way & 3) {
	case 0:
		infer(body, way >> 2, SP_V2_ALL_JSON);
		break;
	case 1:
		infer(body, way >> 2, data[1] * 256 + data[2]);
		break;
	case 2:
		classify(body);
		break;
	default:
		decode(body, way >> 2 & 1 ? SP_CODING_GZIP : SP_CODING_DEFLATE);
		break;
	}
	free(text);
	return 0;
}
