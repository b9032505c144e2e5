/*
 * Every golden case through DeepRec's four functions, found with dlsym() as a
 * host that knows nothing else of us does; with the planned and with the
 * reference execution.
 *
 *   test_golden_abi [CASE [planned|reference]]
 *
 * With $SP_GOLDEN_ANSWERS, a folder, every answer is kept there; one that is
 * there already must be the same, byte for byte.  With $SP_GOLDEN_STEPS, a
 * number, timelines end after so many steps.
 */
#include <cjson/cJSON.h>
#include <dlfcn.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/file.h"
#include "tests/support/golden.h"

typedef void *initialize_fn(const char *entry, const char *config, int *state);
typedef int process_fn(void *model, const void *in, int in_size, void **out, int *out_size);
typedef int info_fn(void *model, void **out, int *out_size);
typedef int version_fn(void *model, int64_t *full, int64_t *delta);

static initialize_fn *initialize;
static process_fn *process;
static info_fn *get_serving_model_info;
static version_fn *model_version; /* an extra */
static size_t passed, failed;
static bool reference;

static void count(const sp_golden_case *golden, const char *what, bool good)
{
	if (good) {
		passed++;
		return;
	}
	failed++;
	printf("^ %s %s%s\n", golden->name, what, reference ? " (reference)" : "");
}

static void keep_answer(const char *path, const void *data, size_t size)
{
	FILE *file = fopen(path, "wb");

	if (file == NULL || fwrite(data, 1, size, file) != size || fclose(file) != 0) {
		fprintf(stderr, "cannot write %s\n", path);
		exit(1);
	}
}

/* Whether it is the answer that another run kept; the first run keeps it. */
static bool same_as_kept(const sp_golden_case *golden, const char *request, const void *answer,
			 size_t size)
{
	const char *folder = getenv("SP_GOLDEN_ANSWERS");
	char path[2 * SP_PATH_SIZE], *kept;
	size_t kept_size, start;
	bool same;

	if (folder == NULL)
		return true;
	start = (size_t)snprintf(path, sizeof(path), "%s/", folder);
	snprintf(path + start, sizeof(path) - start, "%s.%d.%s", golden->name, reference, request);
	for (char *at = path + start; *at != '\0'; at++)
		*at = *at == '/' ? '.' : *at;
	if (sp_file_read(&kept, &kept_size, path, SIZE_MAX, NULL) != SP_OK) {
		keep_answer(path, answer, size);
		return true;
	}
	same = kept_size == size && memcmp(kept, answer, size) == 0;
	if (!same)
		printf("  the answer to %s differs from the one in %s\n", request, path);
	free(kept);
	return same;
}

static bool answers(const sp_golden_case *golden, void *model, const char *request)
{
	char path[512];
	size_t in_size, want_size;
	char *in, *want;
	void *out = NULL;
	int out_size = 0, code;
	bool good;

	snprintf(path, sizeof(path), "%s.request.pb", request);
	in = sp_golden_read(golden, path, &in_size);
	snprintf(path, sizeof(path), "%s.response.pb", request);
	want = sp_golden_read(golden, path, &want_size);
	code = process(model, in, (int)in_size, &out, &out_size);
	good = code == 200 &&
	       sp_golden_same_response(golden, request, out, (size_t)out_size, want, want_size) &&
	       same_as_kept(golden, request, out, (size_t)out_size);
	if (code != 200)
		printf("  %d: %.*s\n", code, out_size, (char *)out);
	free(in);
	free(want);
	free(out);
	return good;
}

/* requests/000, requests/001, ... */
static void check_requests(const sp_golden_case *golden, void *model, const char *folder)
{
	for (int i = 0;; i++) {
		char request[256], path[300], *there;
		size_t size;

		snprintf(request, sizeof(request), "%s/%03d", folder, i);
		snprintf(path, sizeof(path), "%s.request.pb", request);
		there = sp_golden_read(golden, path, &size);
		free(there);
		if (there == NULL)
			break;
		count(golden, request, answers(golden, model, request));
	}
}

/* What TensorFlow refuses is refused, and the next good request is answered. */
static void check_errors(const sp_golden_case *golden, void *model)
{
	for (int i = 0;; i++) {
		char path[64], *in;
		size_t size;
		void *out = NULL;
		int out_size = 0, code;

		snprintf(path, sizeof(path), "errors/%03d.request.pb", i);
		in = sp_golden_read(golden, path, &size);
		if (in == NULL)
			break;
		code = process(model, in, (int)size, &out, &out_size);
		count(golden, path, code == 500 && out_size > 0);
		free(in);
		free(out);
		count(golden, "the request after an error", answers(golden, model, "requests/000"));
	}
}

/* Whether the path of the model that is live ends so. */
static bool path_ends(void *model, const char *ending)
{
	void *out = NULL;
	int size = 0, code = get_serving_model_info(model, &out, &size);
	size_t length = strlen(ending);
	bool ends = code == 200 && (size_t)size > length &&
		    memcmp((char *)out + size - length, ending, length) == 0;

	free(out);
	return ends;
}

static void check_live(const sp_golden_case *golden, void *model)
{
	const cJSON *live = cJSON_GetObjectItem(golden->about, "live");
	const cJSON *path = cJSON_GetObjectItem(live, "model_path");

	if (path != NULL)
		count(golden, "model info", path_ends(model, path->valuestring));
}

/* ---------------------------------------------------------------- timelines */

static bool is_live(void *model, const sp_golden_step *step)
{
	int64_t full, delta;

	return model_version != NULL && model_version(model, &full, &delta) == 0 &&
	       full == step->full_step && delta == step->delta_step &&
	       path_ends(model, step->model_path);
}

static void pause_ms(long ms)
{
	nanosleep(&(struct timespec){.tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000}, NULL);
}

/* A version is live within a polling period; loading it is quick, but the machine may be busy. */
static void check_step(const sp_golden_case *golden, void *model, const sp_golden_step *step)
{
	int waited = 0;

	if (!step->is_new)
		pause_ms(1500);
	for (; step->is_new && !is_live(model, step) && waited < 10000; waited += 10)
		pause_ms(10);
	count(golden, step->requests, is_live(model, step));
	check_requests(golden, model, step->requests);
}

static void play_timeline(sp_golden_case *golden, void *model)
{
	const char *most = getenv("SP_GOLDEN_STEPS");
	int count = most != NULL ? atoi(most) : INT_MAX;
	sp_golden_step step;

	for (int i = 0; i < count && sp_golden_step_of(golden, i, &step); i++) {
		sp_golden_play(golden, i);
		check_step(golden, model, &step);
	}
}

/* A folder of requests under one signature. */
static void check_signature(sp_golden_case *golden, const char *signature, const char *folder)
{
	void (*destroy)(void *) = (void (*)(void *))dlsym(RTLD_DEFAULT,
							  "serving_processor_destroy");
	char *config = sp_golden_config(golden, signature, reference);
	int state = 1;
	void *model = initialize("", config, &state);

	free(config);
	if (model == NULL) {
		count(golden, signature != NULL ? signature : "initialize", false);
		return;
	}
	count(golden, "state", state == 0);
	check_requests(golden, model, folder);
	if (signature == NULL) {
		check_live(golden, model);
		check_errors(golden, model);
		play_timeline(golden, model);
	}
	if (destroy != NULL)
		destroy(model);
}

static void check_case(sp_golden_case *golden)
{
	const cJSON *other;

	check_signature(golden, NULL, "requests");
	cJSON_ArrayForEach (other, cJSON_GetObjectItem(golden->about, "other_signatures"))
		check_signature(golden, other->string, other->valuestring);
}

static void *symbol(void *library, const char *name)
{
	void *found = dlsym(library, name);

	if (found == NULL) {
		fprintf(stderr, "%s\n", dlerror());
		exit(1);
	}
	return found;
}

int main(int argc, char **argv)
{
	void *library = dlopen(".libs/libserving_processor.so", RTLD_NOW | RTLD_GLOBAL);

	if (library == NULL) {
		fprintf(stderr, "%s\n", dlerror());
		return 1;
	}
	initialize = (initialize_fn *)symbol(library, "initialize");
	process = (process_fn *)symbol(library, "process");
	get_serving_model_info = (info_fn *)symbol(library, "get_serving_model_info");
	model_version = (version_fn *)dlsym(library, "serving_processor_model_version");
	for (int round = 0; round < 2; round++) {
		reference = round == 1;
		if (argc > 2 && reference != (strcmp(argv[2], "reference") == 0))
			continue;
		sp_golden_each(argc > 1 ? argv[1] : NULL, check_case);
	}
	printf("[  PASSED  ] %zu test(s).\n", passed);
	if (failed != 0)
		printf("[  FAILED  ] %zu test(s), listed above.\n", failed);
	return failed != 0 || passed == 0;
}
