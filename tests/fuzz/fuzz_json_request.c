#include <stdlib.h>
#include <string.h>

#include "api/host/json/json_reader.h"
#include "api/host/predict/json_request.h"
#include "api/host/predict/json_response.h"
#include "tests/support/fuzz.h"

/*
 * Any text as the body of ":predict", for signatures with every type.  What is
 * read is written again, and must then be JSON.
 */

static const serving_processor_tensor_info infos[] = {
	{.alias = "a", .dtype = SERVING_PROCESSOR_FLOAT},
	{.alias = "b", .dtype = SERVING_PROCESSOR_INT64},
	{.alias = "s", .dtype = SERVING_PROCESSOR_STRING},
	{.alias = "u", .dtype = SERVING_PROCESSOR_UINT64},
	{.alias = "d", .dtype = SERVING_PROCESSOR_DOUBLE},
	{.alias = "i", .dtype = SERVING_PROCESSOR_INT32},
	{.alias = "t", .dtype = SERVING_PROCESSOR_BOOL},
	{.alias = "w", .dtype = SERVING_PROCESSOR_UINT8},
};
static const serving_processor_tensor_info *const inputs[] = {
	&infos[0], &infos[1], &infos[2], &infos[3], &infos[4], &infos[5], &infos[6], &infos[7]};

static const sp_host_signature signatures[] = {
	{.name = "serving_default", .inputs = &inputs[0], .input_count = 1},
	{.name = "three", .inputs = &inputs[0], .input_count = 3},
	{.name = "b", .inputs = &inputs[1], .input_count = 1},
	{.name = "s", .inputs = &inputs[2], .input_count = 1},
	{.name = "u", .inputs = &inputs[3], .input_count = 1},
	{.name = "d", .inputs = &inputs[4], .input_count = 1},
	{.name = "i", .inputs = &inputs[5], .input_count = 1},
	{.name = "t", .inputs = &inputs[6], .input_count = 1},
	{.name = "w", .inputs = &inputs[7], .input_count = 1},
};
static const sp_host_signatures set = {signatures, sizeof(signatures) / sizeof(signatures[0]),
				       &signatures[0]};

static void check_count(const serving_processor_tensor *tensor)
{
	size_t count = 1;

	for (int i = 0; i < tensor->rank; i++)
		count *= (size_t)tensor->dims[i];
	if (count != tensor->count)
		abort();
}

static void check_answer(const sp_json_parsed *parsed, bool row)
{
	sp_json_reader reader;
	sp_buffer out;
	sp_error err;

	sp_buffer_init(&out, 1 << 26);
	if (sp_json_response_write(&out, parsed->tensors, parsed->count, row, &err) == SP_OK) {
		sp_json_reader_init(&reader, (sp_bytes){out.data, out.size});
		if (out.failed || sp_json_skip(&reader, &err) != SP_OK || reader.at != reader.end)
			abort();
		sp_json_reader_fini(&reader);
	}
	sp_buffer_fini(&out);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	sp_json_request *request = sp_json_request_create(NULL);
	char *text = malloc(size + 1);
	sp_error err;

	if (text == NULL || request == NULL)
		abort();
	if (size != 0)
		memcpy(text, data, size);
	text[size] = '\0';
	if (sp_json_request_parse(request, &set, (sp_bytes){text, size}, &err) == SP_OK) {
		const sp_json_parsed *parsed = sp_json_request_parsed(request);

		for (size_t i = 0; i < parsed->count; i++)
			check_count(&parsed->tensors[i]);
		check_answer(parsed, false);
		check_answer(parsed, true);
	}
	sp_json_request_destroy(request);
	free(text);
	return 0;
}
