/*
 * Asks the sample model the same N times, after a warm-up.  For test_no_syscalls.sh.
 *
 *   repeat_request MODEL_FOLDER REQUEST.pb N
 */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/file.h"

int main(int argc, char **argv)
{
	void *library = dlopen(".libs/libserving_processor.so", RTLD_NOW);
	void *(*initialize)(const char *, const char *, int *);
	int (*process)(void *, const void *, int, void **, int *);
	char config[4096], *request;
	size_t size;
	void *model;
	int state;

	if (argc != 4 || library == NULL ||
	    sp_file_read(&request, &size, argv[2], 1 << 20, NULL) != SP_OK)
		return 1;
	*(void **)&initialize = dlsym(library, "initialize");
	*(void **)&process = dlsym(library, "process");
	snprintf(config, sizeof(config),
		 "{\"feature_store_type\":\"memory\",\"serialize_protocol\":\"protobuf\","
		 "\"model_store_type\":\"local\",\"signature_name\":\"serving_default\","
		 "\"savedmodel_dir\":\"%s\"}",
		 argv[1]);
	model = initialize("", config, &state);
	if (model == NULL)
		return 1;
	for (long i = -100; i < atol(argv[3]); i++) {
		void *out;
		int out_size;

		if (process(model, request, (int)size, &out, &out_size) != 200)
			return 1;
		free(out);
	}
	free(request);
	return 0;
}
