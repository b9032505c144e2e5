/*
 * Broken files and requests: a byte flipped, overwritten, a file cut short.
 * The model opens or is refused; what opens answers or refuses; the checksums
 * of a checkpoint let no wrong number through.  Nothing crashes, hangs or leaks
 * (the sanitizer builds see to that).
 *
 * SP_MUTATIONS says how many per file (200), SP_SEED which ones (1).
 */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/serving_processor.h"
#include "tests/support/golden.h"

static void *(*initialize_model)(const char *, const char *, int *);
static int (*process_request)(void *, const void *, int, void **, int *);
static void (*destroy_model)(void *);
static size_t passed, failed, refused;
static size_t mutations = 200;
static unsigned seed = 1;

static size_t random_below(size_t limit)
{
	return limit != 0 ? ((size_t)rand_r(&seed) << 15 ^ (size_t)rand_r(&seed)) % limit : 0;
}

/* Changes `bytes` in one of several ways; returns the new size. */
static size_t mutate(char *bytes, size_t size)
{
	size_t at = random_below(size), n = random_below(8) + 1;

	switch (random_below(5)) {
	case 0:
		bytes[at] ^= (char)(1 << random_below(8));
		return size;
	case 1:
		bytes[at] = (char)random_below(256);
		return size;
	case 2:
		for (size_t i = at; i < size && i < at + n; i++)
			bytes[i] = (char)0xff;
		return size;
	case 3: /* a run of bytes is missing */
		if (at + n > size)
			n = size - at;
		memmove(bytes + at, bytes + at + n, size - at - n);
		return size - n;
	default:
		return at;
	}
}

static void write_file(const sp_golden_case *golden, const char *relative, const char *bytes,
		       size_t size)
{
	char path[2 * SP_PATH_SIZE];
	FILE *file;

	snprintf(path, sizeof(path), "%s/%s", golden->work, relative);
	file = fopen(path, "wb");
	if (file == NULL || fwrite(bytes, 1, size, file) != size || fclose(file) != 0) {
		perror(path);
		exit(1);
	}
}

/* 0: the right answer; 1: a refusal; 2: another answer. */
static int ask(const sp_golden_case *golden, void *model, const char *request, size_t size)
{
	size_t want_size;
	char *want = sp_golden_read(golden, "requests/001.response.pb", &want_size);
	void *out = NULL;
	int out_size = 0;
	int code = process_request(model, request, (int)size, &out, &out_size);
	int verdict = code != 200 ? 1 : 2;

	if (code == 200 &&
	    sp_golden_same_response(golden, "requests/001", out, (size_t)out_size, want, want_size))
		verdict = 0;
	free(out);
	free(want);
	return verdict;
}

/* The golden case's configuration, but the model is loaded however new its files are. */
static char *unsettled_config(const sp_golden_case *golden)
{
	char *config = sp_golden_config(golden, NULL, false);
	char *longer = malloc(strlen(config) + 64);

	strcpy(longer, config);
	strcpy(strrchr(longer, '}'), ", \"savedmodel_settle_ms\": 0}");
	free(config);
	return longer;
}

/* Opens the model as it now lies there and asks it.  `exact`: a wrong answer is a failure. */
static void check_model(const sp_golden_case *golden, const char *file, bool exact)
{
	size_t size;
	char *request = sp_golden_read(golden, "requests/001.request.pb", &size);
	char *config = unsettled_config(golden);
	int state = 1, verdict = 1;
	void *model = initialize_model("", config, &state);

	if (model != NULL)
		verdict = ask(golden, model, request, size);
	destroy_model(model);
	refused += verdict == 1;
	if ((model == NULL) != (state == -1) || (verdict == 2 && exact)) {
		printf("%s: a wrong answer from a broken file\n", file);
		failed++;
	} else {
		passed++;
	}
	free(config);
	free(request);
}

static void mutate_file(const sp_golden_case *golden, const char *file, bool exact)
{
	size_t size;
	char *good = sp_golden_read(golden, file, &size);
	char *bad = malloc(size);

	for (size_t i = 0; i < mutations; i++) {
		size_t bad_size;

		memcpy(bad, good, size);
		bad_size = mutate(bad, size);
		write_file(golden, file, bad, bad_size);
		check_model(golden, file, exact && memcmp(good, bad, size) != 0);
	}
	write_file(golden, file, good, size);
	free(good);
	free(bad);
}

static void mutate_requests(const sp_golden_case *golden)
{
	char *config = unsettled_config(golden);
	size_t size;
	char *good = sp_golden_read(golden, "requests/001.request.pb", &size);
	char *bad = malloc(size);
	int state;
	void *model = initialize_model("", config, &state);

	for (size_t i = 0; i < mutations; i++) {
		size_t bad_size;

		memcpy(bad, good, size);
		bad_size = mutate(bad, size);
		/* Exactly as large as it says, so that a sanitizer sees a byte too far. */
		char *exact = malloc(bad_size + (bad_size == 0));

		memcpy(exact, bad, bad_size);
		refused += ask(golden, model, exact, bad_size) == 1;
		free(exact);
		/* And the next good one is answered. */
		if (ask(golden, model, good, size) == 0)
			passed++;
		else
			failed++;
	}
	destroy_model(model);
	free(config);
	free(good);
	free(bad);
}

static void check_case(sp_golden_case *golden)
{
	if (!golden->ours)
		return;
	mutate_file(golden, "model/saved_model.pb", false);
	mutate_file(golden, "model/variables/variables.index", true);
	mutate_file(golden, "model/variables/variables.data-00000-of-00001", true);
	mutate_requests(golden);
}

int main(void)
{
	void *library = dlopen(".libs/libserving_processor.so", RTLD_NOW);
	void (*set_log_level)(int);

	if (library == NULL) {
		fprintf(stderr, "%s\n", dlerror());
		return 1;
	}
	*(void **)&initialize_model = dlsym(library, "initialize");
	*(void **)&process_request = dlsym(library, "process");
	*(void **)&destroy_model = dlsym(library, "serving_processor_destroy");
	*(void **)&set_log_level = dlsym(library, "serving_processor_set_log_level");
	set_log_level(4);
	if (getenv("SP_MUTATIONS") != NULL)
		mutations = strtoul(getenv("SP_MUTATIONS"), NULL, 10);
	if (getenv("SP_SEED") != NULL)
		seed = (unsigned)strtoul(getenv("SP_SEED"), NULL, 10);
	sp_golden_each("ev-ctr", check_case);
	sp_golden_each("tf1-example", check_case);
	printf("%zu of %zu refused\n", refused, passed + failed);
	printf("[  PASSED  ] %zu test(s).\n", passed);
	if (failed != 0)
		printf("[  FAILED  ] %zu test(s), listed above.\n", failed);
	return failed != 0 || refused == 0;
}
