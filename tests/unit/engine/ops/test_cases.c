/*
 * Replays every file of operator cases.  With arguments: only those families
 * ("test_cases unary" reads cases/unary.cases).
 */
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/support/op_cases.h"
#include "tests/support/paths.h"

static int is_cases(const struct dirent *entry)
{
	const char *dot = strrchr(entry->d_name, '.');

#ifndef SP_STABLEHLO
	if (strncmp(entry->d_name, "xla", 3) == 0)
		return false;
#endif
	return dot != NULL && strcmp(dot, ".cases") == 0;
}

static size_t replay(const char *family, size_t *passed)
{
	char relative[512], path[SP_PATH_SIZE];
	size_t total, failed;

	snprintf(relative, sizeof(relative), "tests/unit/engine/ops/cases/%s.cases", family);
	failed = sp_op_cases_replay(sp_source_path(path, relative), &total);
	printf("%s: %zu of %zu cases\n", family, total - failed, total);
	*passed += total - failed;
	return failed;
}

static size_t replay_all(size_t *passed)
{
	struct dirent **entries;
	char path[SP_PATH_SIZE];
	size_t failed = 0;
	int count = scandir(sp_source_path(path, "tests/unit/engine/ops/cases"), &entries, is_cases,
			    alphasort);

	for (int i = 0; i < count; i++) {
		*strrchr(entries[i]->d_name, '.') = '\0';
		failed += replay(entries[i]->d_name, passed);
		free(entries[i]);
	}
	if (count > 0)
		free(entries);
	return failed;
}

int main(int argc, char **argv)
{
	size_t failed = 0, passed = 0;

	if (argc < 2)
		failed = replay_all(&passed);
	for (int i = 1; i < argc; i++)
		failed += replay(argv[i], &passed);
	/* In cmocka's words, so that every case is counted. */
	printf("[  PASSED  ] %zu test(s).\n", passed);
	if (failed != 0)
		printf("[  FAILED  ] %zu test(s), listed above.\n", failed);
	return failed != 0 || passed == 0;
}
