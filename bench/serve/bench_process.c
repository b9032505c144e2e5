/*
 * Measures the time of one process() call on one core.
 *
 *   bench_process CONFIG.json REQUEST.pb...
 *
 * Prints one line of JSON per request file.
 */
#include <stdio.h>
#include <stdlib.h>

#include "api/serving_processor.h"
#include "bench/harness.h"
#include "bench/usage.h"

typedef struct request {
	void *model;
	char *bytes;
	size_t size;
	const char *path;
} request;

static void run(void *context)
{
	request *r = context;
	void *out;
	int size;

	if (process(r->model, r->bytes, (int)r->size, &out, &size) != 200) {
		fprintf(stderr, "%s: %.*s\n", r->path, size, (char *)out);
		exit(1);
	}
	free(out);
}

static const char usage[] = "usage: bench_process CONFIG.json REQUEST.pb...\n";

int main(int argc, char **argv)
{
	sp_bench_options options = {.suite = "serve"};
	char *config;
	size_t size;
	int state;
	request r;

	sp_bench_read_options(argc, argv, usage);
	if (argc < 3) {
		fputs(usage, stderr);
		return 2;
	}
	sp_bench_pin(0);
	sp_bench_read_file(&config, &size, argv[1]);
	r.model = initialize("", config, &state);
	free(config);
	if (r.model == NULL)
		return 1;
	for (int i = 2; i < argc; i++) {
		r.path = argv[i];
		sp_bench_read_file(&r.bytes, &r.size, argv[i]);
		sp_bench_case(&options, argv[i], run, &r);
		free(r.bytes);
	}
	serving_processor_destroy(r.model);
	return 0;
}
