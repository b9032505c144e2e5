#include <stdlib.h>

#include "base/alloc.h"
#include "processor/request/predict_codec.h"
#include "tests/support/fuzz.h"

/* Any bytes as a request; what is read from them is written as a response. */

static const sp_tensor_info infos[] = {
	{.alias = "x", .tensor_name = "a:0"},
	{.alias = "y", .tensor_name = "b:0"},
	{.alias = "z", .tensor_name = "b:1"},
};
static const sp_signature signature = {.name = "s",
				       .method = "",
				       .inputs = infos,
				       .input_count = 3,
				       .outputs = infos,
				       .output_count = 3};

static void write_back(sp_predict_request *request)
{
	size_t count = 0, size;
	void *block;

	for (size_t i = 0; i < request->output_count; i++) {
		request->outputs[count] = request->outputs[i];
		request->outputs[count].tensor = &request->inputs[request->outputs[i].index];
		count += sp_tensor_is_set(request->outputs[count].tensor);
	}
	if (sp_predict_response_encode(&block, &size, request->outputs, count, NULL) == SP_OK)
		sp_free(block);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	sp_arena *arena = sp_arena_create(4096);
	sp_workspace *workspace = sp_workspace_create(4 << 20);
	sp_bytes message = {(const char *)data, size};
	sp_predict_request request;
	sp_endpoint endpoint;
	sp_error err;

	if (arena == NULL || workspace == NULL ||
	    sp_endpoint_init(&endpoint, &signature, 0, arena, &err) != SP_OK)
		abort();
	if (sp_predict_request_decode(&request, &endpoint, message, workspace, &err) == SP_OK)
		write_back(&request);
	sp_workspace_destroy(workspace);
	sp_arena_destroy(arena);
	return 0;
}
