#include "tests/support/cmocka.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/support/golden.h"

/*
 * The shared library as a host of DeepRec's processor sees it: four names from
 * dlsym(), a configuration, requests, and free() for what comes back.
 */
static void *(*initialize)(const char *entry, const char *config, int *state);
static int (*process)(void *model, const void *in, int in_size, void **out, int *out_size);
static int (*batch_process)(void *model, const void *in[], int *in_size, void *out[],
			    int *out_size);
static int (*get_serving_model_info)(void *model, void **out, int *out_size);

static void *plain, *checkpointed; /* models, open for the whole run as in a host */
static char *request, *response;
static size_t request_size, response_size;

static void *symbol(void *library, const char *name)
{
	void *found = dlsym(library, name);

	if (found == NULL)
		fail_msg("%s", dlerror());
	return found;
}

static void *open_model(const sp_golden_case *golden)
{
	char *config = sp_golden_config(golden, NULL, false);
	int state = 7;
	void *model = initialize("", config, &state);

	free(config);
	assert_non_null(model);
	assert_int_equal(state, 0);
	return model;
}

static void open_plain(sp_golden_case *golden)
{
	plain = open_model(golden);
	request = sp_golden_read(golden, "requests/000.request.pb", &request_size);
	response = sp_golden_read(golden, "requests/000.response.pb", &response_size);
	assert_true(request != NULL && response != NULL);
}

static void open_checkpointed(sp_golden_case *golden)
{
	checkpointed = open_model(golden);
}

static int set_up(void **state)
{
	const char *builddir = getenv("builddir");
	char path[SP_PATH_SIZE];
	void *library;

	(void)state;
	snprintf(path, sizeof(path), "%s/.libs/libserving_processor.so",
		 builddir != NULL ? builddir : ".");
	library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
	if (library == NULL)
		fail_msg("%s", dlerror());
	*(void **)&initialize = symbol(library, "initialize");
	*(void **)&process = symbol(library, "process");
	*(void **)&batch_process = symbol(library, "batch_process");
	*(void **)&get_serving_model_info = symbol(library, "get_serving_model_info");
	/* A host of EAS would prefer it to process(). */
	assert_null(dlsym(library, "async_process"));
	sp_golden_each("ev-ctr", open_plain);
	sp_golden_each("ev-ctr-checkpoint", open_checkpointed);
	assert_true(plain != NULL && checkpointed != NULL);
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	free(request);
	free(response);
	return 0;
}

/* What is compared with the true answer by tests/system/test_golden_abi.c is alike here. */
static bool asks_well(void *model, char **answer, int *size)
{
	void *out = NULL;

	if (process(model, request, (int)request_size, &out, size) != 200 || out == NULL)
		return false;
	*answer = out;
	return ((char *)out)[*size] == '\0';
}

static void equal_requests_get_equal_answers(void **state)
{
	char *first, *again;
	int size, size_again;

	(void)state;
	assert_true(asks_well(plain, &first, &size));
	for (int i = 0; i < 10; i++) {
		assert_true(asks_well(plain, &again, &size_again));
		assert_int_equal(size, size_again);
		assert_memory_equal(first, again, (size_t)size);
		free(again);
	}
	free(first);
}

static void damaged_requests_get_a_text(void **state)
{
	static const char prefix[] = "[TensorFlow] Processor predict failed: ";
	size_t refused = 0;

	(void)state;
	for (size_t cut = 1; cut < request_size; cut++) {
		void *out = NULL;
		int size = -1, code = process(plain, request, (int)cut, &out, &size);

		assert_non_null(out);
		assert_true(code == 200 || code == 500);
		assert_int_equal(((char *)out)[size], '\0');
		if (code == 500) {
			assert_memory_equal(out, prefix, sizeof(prefix) - 1);
			assert_int_equal(strlen(out), size);
			refused++;
		}
		free(out);
	}
	assert_true(refused > request_size / 2);
}

static void the_signature_and_the_version(void **state)
{
	static const char path_end[] = "/checkpoints/20240101/model.ckpt-100";
	void *out = NULL;
	int size = -1;

	(void)state;
	assert_int_equal(process(plain, NULL, 0, &out, &size), 200);
	assert_int_equal(
		strncmp(out, "{\"signature_name\": \"serving_default\",\"inputs\": [{", 49), 0);
	free(out);

	assert_int_equal(get_serving_model_info(plain, &out, &size), 200);
	assert_int_equal(size, 0);
	free(out);
	/* Field 1, its length, the path of the checkpoint. */
	assert_int_equal(get_serving_model_info(checkpointed, &out, &size), 200);
	assert_true(size > (int)sizeof(path_end));
	assert_int_equal(((char *)out)[0], 0x0a);
	assert_memory_equal((char *)out + size - sizeof(path_end) + 1, path_end,
			    sizeof(path_end) - 1);
	free(out);
}

static void a_batch_is_one_request(void **state)
{
	const void *in[1] = {request};
	int in_size[1] = {(int)request_size}, out_size[1] = {-1}, size;
	void *out[1] = {NULL};
	char *single;

	(void)state;
	assert_true(asks_well(plain, &single, &size));
	assert_int_equal(batch_process(plain, in, in_size, out, out_size), 200);
	assert_int_equal(out_size[0], size);
	assert_memory_equal(out[0], single, (size_t)size);
	free(out[0]);
	free(single);
}

static void what_does_not_open(void **state)
{
	int outcome = 7;

	(void)state;
	assert_null(initialize("", "{\"savedmodel_dir\": 5}", &outcome));
	assert_int_equal(outcome, -1);
	assert_null(initialize(NULL, NULL, NULL));
}

/* ------------------------------------------------------------------- threads */

enum { THREADS = 6, ROUNDS = 50 };

static atomic_int wrong;

static void *ask(void *unused)
{
	(void)unused;
	for (int i = 0; i < ROUNDS; i++) {
		char *answer;
		int size;

		if (asks_well(i % 2 == 0 ? plain : checkpointed, &answer, &size))
			free(answer);
		else
			atomic_fetch_add(&wrong, 1);
	}
	return NULL;
}

static void many_threads_two_models(void **state)
{
	pthread_t threads[THREADS];

	(void)state;
	for (int i = 0; i < THREADS; i++)
		assert_int_equal(pthread_create(&threads[i], NULL, ask, NULL), 0);
	for (int i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	assert_int_equal(atomic_load(&wrong), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(equal_requests_get_equal_answers),
		cmocka_unit_test(damaged_requests_get_a_text),
		cmocka_unit_test(the_signature_and_the_version),
		cmocka_unit_test(a_batch_is_one_request),
		cmocka_unit_test(what_does_not_open),
		cmocka_unit_test(many_threads_two_models),
	};

	return cmocka_run_group_tests_name("abi", tests, set_up, tear_down);
}
