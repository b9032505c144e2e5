// A host in C++: includes the public header, loads the library, asks the sample model.
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <dlfcn.h>
#include <string>

#include "api/serving_processor.h"

namespace
{

template <typename Function> Function *find(void *library, const char *name)
{
	void *symbol = dlsym(library, name);

	if (symbol == nullptr) {
		std::fprintf(stderr, "%s\n", dlerror());
		std::exit(1);
	}
	return reinterpret_cast<Function *>(symbol);
}

std::string examples()
{
	const char *srcdir = std::getenv("srcdir");

	return std::string(srcdir != nullptr ? srcdir : ".") + "/examples/";
}

std::string config()
{
	std::string folder = examples() + "sample_model";

	return "{\"feature_store_type\": \"memory\", \"serialize_protocol\": \"protobuf\", "
	       "\"model_store_type\": \"local\", \"signature_name\": \"serving_default\", "
	       "\"savedmodel_dir\": \"" +
	       folder + "\"}";
}

// What TensorFlow answers to the sample request.
bool read_answer(float answer[2])
{
	std::FILE *file = std::fopen((examples() + "sample_response.json").c_str(), "r");
	bool good = file != nullptr &&
		    std::fscanf(file, "{\"outputs\": [%f, %f]}", &answer[0], &answer[1]) == 2;

	if (file != nullptr)
		std::fclose(file);
	return good;
}

bool predict(void *library, void *model)
{
	const int64_t users[] = {7, 101}, user_dims[] = {2}, item_dims[] = {2, 2};
	const float prices[] = {0.5f, -1.25f};
	const serving_processor_bytes items[] = {
		{"item_3", 6}, {"item_17", 7}, {"item_5", 6}, {"", 0}};
	const serving_processor_tensor inputs[] = {
		{"user_id", SERVING_PROCESSOR_INT64, 1, user_dims, 2, users},
		{"items", SERVING_PROCESSOR_STRING, 2, item_dims, 4, items},
		{"price:0", SERVING_PROCESSOR_FLOAT, 1, user_dims, 2, prices},
	};
	serving_processor_result *result = nullptr;
	serving_processor_error *error = nullptr;
	auto run = find<decltype(serving_processor_run)>(library, "serving_processor_run");
	auto tensor = find<decltype(serving_processor_result_tensor)>(
		library, "serving_processor_result_tensor");
	auto free_result = find<decltype(serving_processor_result_free)>(
		library, "serving_processor_result_free");
	serving_processor_code code = run(model, nullptr, inputs, 3, nullptr, 0, &result, &error);

	if (code != SERVING_PROCESSOR_OK) {
		auto text = find<decltype(serving_processor_error_text)>(
			library, "serving_processor_error_text");

		std::fprintf(stderr, "%s\n", text(error));
		return false;
	}
	const serving_processor_tensor *score = tensor(result, 0);
	const float *scores = static_cast<const float *>(score->data);
	float wanted[2];
	bool good = read_answer(wanted) && std::strcmp(score->name, "score") == 0 &&
		    score->count == 2 && std::fabs(scores[0] - wanted[0]) < 1e-5 &&
		    std::fabs(scores[1] - wanted[1]) < 1e-5;

	free_result(result);
	return good;
}

} // namespace

int main()
{
	void *library = dlopen(".libs/libserving_processor.so", RTLD_NOW);
	int state = 1, failed = 0;

	if (library == nullptr) {
		std::fprintf(stderr, "%s\n", dlerror());
		return 1;
	}
	auto initialize_model = find<decltype(initialize)>(library, "initialize");
	auto destroy = find<decltype(serving_processor_destroy)>(library,
								 "serving_processor_destroy");
	void *model = initialize_model("", config().c_str(), &state);

	if (model == nullptr || state != 0 || !predict(library, model))
		failed = 1;
	destroy(model);
	std::printf("[  PASSED  ] %d test(s).\n", 1 - failed);
	return failed;
}
