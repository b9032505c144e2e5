#include <dirent.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/file.h"
#include "tests/support/fuzz.h"
#include "tests/support/paths.h"

/*
 * Stands in for libFuzzer: every file of the target's corpus as it is, cut
 * off, and with a few bytes changed.  The damage is the same in every run.
 */

enum { MAX_FILE = 1 << 20, CUTS = 32, CHANGES = 100 };

static size_t runs;

/* In a block of its own size, so that a memory checker sees its ends. */
static void run(const char *data, size_t size)
{
	uint8_t *copy = malloc(size != 0 ? size : 1);

	if (copy == NULL)
		exit(1);
	if (size != 0)
		memcpy(copy, data, size);
	LLVMFuzzerTestOneInput(copy, size);
	free(copy);
	runs++;
}

static void run_cut(const char *data, size_t size)
{
	size_t step = size / CUTS + 1;

	for (size_t end = 0; end < size; end += step)
		run(data, end);
}

static void run_changed(char *data, size_t size)
{
	for (int change = 0; size != 0 && change < CHANGES; change++) {
		size_t where[3];
		char was[3];

		for (int i = 0; i < 3; i++) {
			where[i] = (size_t)rand() % size;
			was[i] = data[where[i]];
			data[where[i]] = (char)(rand() % 2 == 0 ? rand()
								: was[i] ^ 1 << rand() % 8);
		}
		run(data, size);
		for (int i = 2; i >= 0; i--)
			data[where[i]] = was[i];
	}
}

static bool run_file(const char *path)
{
	size_t size;
	char *data;
	sp_error err;

	if (sp_file_read(&data, &size, path, MAX_FILE, &err) != SP_OK) {
		fprintf(stderr, "%s\n", err.text);
		return false;
	}
	run(data, size);
	run_cut(data, size);
	run_changed(data, size);
	sp_free(data);
	return true;
}

int main(int argc, char **argv)
{
	const char *slash = strrchr(argv[0], '/'), *name = slash != NULL ? slash + 1 : argv[0];
	char relative[256], folder[SP_PATH_SIZE], path[SP_PATH_SIZE + 300];
	struct dirent **names;
	bool ok = argc > 0;
	int count;

	snprintf(relative, sizeof(relative), "tests/fuzz/corpus/%s",
		 strncmp(name, "fuzz_", 5) == 0 ? name + 5 : name);
	sp_source_path(folder, relative);
	count = scandir(folder, &names, NULL, alphasort);
	if (count < 0) {
		perror(folder);
		return 1;
	}
	srand(1);
	run(NULL, 0);
	for (int i = 0; i < count; i++) {
		snprintf(path, sizeof(path), "%s/%s", folder, names[i]->d_name);
		if (names[i]->d_name[0] != '.')
			ok = run_file(path) && ok;
		free(names[i]);
	}
	free(names);
	printf("%s: %zu inputs\n", name, runs);
	return ok && runs > CHANGES ? 0 : 1;
}
