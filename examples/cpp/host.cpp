// A host in C++17 that loads the library from a path in its configuration, as DeepRec's hosts do.
//
//   host LIBRARY REQUEST.pb CONFIG.json
//
// It plays the scene that ../README.md tells.
#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <dlfcn.h>
#include <exception>
#include <fstream>
#include <iterator>
#include <memory>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include <serving_processor.h>

namespace
{

// The functions of the library.  It is never unloaded: its threads end with the models, but a model
// whose files are mapped may have a handler for signals.
class Library
{
	void *shared;

	template <typename Function> Function *find(const char *name) const
	{
		void *symbol = dlsym(shared, name);

		if (symbol == nullptr)
			throw std::runtime_error(dlerror());
		return reinterpret_cast<Function *>(symbol);
	}

      public:
	explicit Library(const char *path) : shared(dlopen(path, RTLD_NOW | RTLD_LOCAL))
	{
		if (shared == nullptr)
			throw std::runtime_error(dlerror());
		find_all();
		if (abi() != SERVING_PROCESSOR_ABI)
			throw std::runtime_error(std::string(path) + " has another ABI");
	}

#define FUNCTIONS(F)                                            \
	F(initialize, initialize)                               \
	F(process, process)                                     \
	F(abi, serving_processor_abi)                           \
	F(create, serving_processor_create)                     \
	F(destroy, serving_processor_destroy)                   \
	F(free_block, serving_processor_free)                   \
	F(error_code, serving_processor_error_code)             \
	F(error_text, serving_processor_error_text)             \
	F(error_free, serving_processor_error_free)             \
	F(dtype_name, serving_processor_dtype_name)             \
	F(model_version, serving_processor_model_version)       \
	F(acquire, serving_processor_acquire)                   \
	F(release, serving_processor_release)                   \
	F(handle_version, serving_processor_handle_version)     \
	F(handle_signature, serving_processor_handle_signature) \
	F(handle_run_with, serving_processor_handle_run_with)   \
	F(result_tensor, serving_processor_result_tensor)       \
	F(result_free, serving_processor_result_free)

#define DECLARE(name, function) decltype(::function) *name;
	FUNCTIONS(DECLARE)
#undef DECLARE

      private:
	void find_all()
	{
#define FIND(name, function) name = find<decltype(::function)>(#function);
		FUNCTIONS(FIND)
#undef FIND
	}
#undef FUNCTIONS
};

struct Error : std::runtime_error {
	int code;

	// Takes the error over.
	Error(const Library &library, serving_processor_error *error)
	    : std::runtime_error(library.error_text(error)), code(library.error_code(error))
	{
		library.error_free(error);
	}
};

using Model = std::unique_ptr<void, decltype(::serving_processor_destroy) *>;
using Block = std::unique_ptr<char, decltype(::serving_processor_free) *>;
using Handle = std::unique_ptr<serving_processor_handle, decltype(::serving_processor_release) *>;
using Result =
	std::unique_ptr<serving_processor_result, decltype(::serving_processor_result_free) *>;
using Clock = std::chrono::steady_clock; // CLOCK_MONOTONIC, as the library's deadlines are

// What the model is asked; a tensor is a view of it.
struct Sample {
	std::vector<int64_t> users{7, 101};
	std::vector<std::string> items{"item_3", "item_17", "item_5", ""}; // two for each user
	std::vector<float> prices{0.5f, -1.25f};
	int price_dtype = SERVING_PROCESSOR_FLOAT; // another one makes the request wrong
};

// The scores of the sample by the held version; throws Error.
std::vector<float> ask(const Library &library, const Handle &handle, const Sample &sample,
		       Clock::time_point deadline)
{
	const int64_t dims[] = {static_cast<int64_t>(sample.users.size()), 2};
	std::vector<serving_processor_bytes> items;

	for (const std::string &item : sample.items)
		items.push_back({item.data(), item.size()});

	const serving_processor_tensor inputs[] = {
		{"user_id", SERVING_PROCESSOR_INT64, 1, dims, sample.users.size(),
		 sample.users.data()},
		{"items", SERVING_PROCESSOR_STRING, 2, dims, items.size(), items.data()},
		{"price", sample.price_dtype, 1, dims, sample.prices.size(), sample.prices.data()},
	};
	const char *const outputs[] = {"score"};
	serving_processor_run_options options{};
	serving_processor_result *made = nullptr;
	serving_processor_error *error = nullptr;

	options.size = sizeof(options);
	options.deadline_ns = std::chrono::nanoseconds(deadline.time_since_epoch()).count();
	if (library.handle_run_with(handle.get(), nullptr, inputs, 3, outputs, 1, &options, &made,
				    &error) != SERVING_PROCESSOR_OK)
		throw Error(library, error);

	const Result result(made, library.result_free);
	const serving_processor_tensor *score = library.result_tensor(made, 0);

	// The model decides on an output's type and shape.
	if (score->dtype != SERVING_PROCESSOR_FLOAT)
		throw std::runtime_error("the scores are not float");

	const float *scores = static_cast<const float *>(score->data);

	return {scores, scores + score->count};
}

Clock::time_point soon()
{
	return Clock::now() + std::chrono::seconds(60);
}

std::vector<float> ask_version(const Library &library, const Handle &handle)
{
	const serving_processor_signature *signature = library.handle_signature(handle.get(),
										nullptr);
	int64_t full_step, delta_step;

	library.handle_version(handle.get(), &full_step, &delta_step);
	std::printf("version %lld\ninputs", static_cast<long long>(full_step));
	std::for_each_n(signature->inputs, signature->input_count, [&](const auto *input) {
		std::printf(" %s %s", input->alias, library.dtype_name(input->dtype));
	});

	const std::vector<float> scores = ask(library, handle, Sample(), soon());

	std::printf("\nscore");
	for (const float score : scores)
		std::printf(" %.4f", score);
	std::printf("\n");
	return scores;
}

// Several threads at once over one handle.
void ask_in_threads(const Library &library, const Handle &handle, const std::vector<float> &wanted)
{
	std::atomic<int> equal{0};
	std::vector<std::thread> threads;
	const auto ask_often = [&] {
		try {
			for (int i = 0; i < 100; i++)
				equal += ask(library, handle, Sample(), soon()) == wanted;
		} catch (const std::exception &failure) {
			std::fprintf(stderr, "%s\n", failure.what());
		}
	};

	for (int i = 0; i < 4; i++)
		threads.emplace_back(ask_often);
	for (std::thread &thread : threads)
		thread.join();
	std::printf("%zu threads: %d equal answers\n", threads.size(), equal.load());
}

template <typename Function> void tell_failure(const char *what, Function function)
{
	try {
		function();
	} catch (const Error &error) {
		std::printf("%s: error %d: %s\n", what, error.code, error.what());
	}
}

// Forwards a message as a client sent it.  The answer is a block that is ours, whatever the status.
void forward(const Library &library, const Model &model, const std::string &request)
{
	void *data = nullptr;
	int size = 0;
	const int status = library.process(model.get(), request.data(),
					   static_cast<int>(request.size()), &data, &size);
	const Block answer(static_cast<char *>(data), library.free_block);

	if (status == 200)
		std::printf("message: status %d, %d bytes\n", status, size);
	else
		std::printf("broken message: status %d: %s\n", status, answer.get());
}

// Versions come without a call: this one only wants to see it.
void await_version(const Library &library, const Model &model, int64_t wanted)
{
	const Clock::time_point end = soon();
	int64_t full_step = -1, delta_step = -1;

	std::printf("waiting for version %lld\n", static_cast<long long>(wanted));
	while (library.model_version(model.get(), &full_step, &delta_step) == 0 &&
	       full_step != wanted && Clock::now() < end)
		std::this_thread::sleep_for(std::chrono::milliseconds(10));
}

// initialize() is DeepRec's, and tells the reason of a failure in the log only.
Model open_model(const Library &library, const std::string &config)
{
	serving_processor_error *error = nullptr;
	Model model(library.create(config.c_str(), &error), library.destroy);

	if (model == nullptr)
		throw Error(library, error);
	return model;
}

void play(const Library &library, const std::string &request, const std::string &config)
{
	int state = -1;
	// Destroyed last, after all handles.
	const Model model(library.initialize("", config.c_str(), &state), library.destroy);
	Sample wrong;

	if (state != 0)
		throw std::runtime_error("the model was not opened; the log says why");

	Handle handle(library.acquire(model.get()), library.release);

	ask_in_threads(library, handle, ask_version(library, handle));
	wrong.price_dtype = SERVING_PROCESSOR_INT32;
	tell_failure("wrong input", [&] { ask(library, handle, wrong, soon()); });
	tell_failure("late", [&] { ask(library, handle, Sample(), Clock::now()); });
	forward(library, model, request);
	forward(library, model, request.substr(1));
	handle.reset(); // a held version stays in memory
	await_version(library, model, 2);
	handle.reset(library.acquire(model.get()));
	ask_version(library, handle);
}

std::string read_file(const char *path)
{
	std::ifstream file(path, std::ios::binary);

	if (!file)
		throw std::runtime_error(std::string(path) + " cannot be read");
	return {std::istreambuf_iterator<char>(file), {}};
}

} // namespace

int main(int argc, char **argv)
{
	if (argc != 4) {
		std::fprintf(stderr, "host LIBRARY REQUEST.pb CONFIG.json\n");
		return 2;
	}
	std::setvbuf(stdout, nullptr, _IOLBF, 0); // lines are seen as they come, in a pipe as well
	try {
		const Library library(argv[1]);

		tell_failure("wrong configuration", [&] { open_model(library, "{}"); });
		play(library, read_file(argv[2]), read_file(argv[3]));
	} catch (const std::exception &failure) {
		std::fprintf(stderr, "%s\n", failure.what());
		return 1;
	}
	return 0;
}
