#include "tests/support/tool.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#include "tests/support/cmocka.h"

char sp_tool_folder[SP_PATH_SIZE];
char sp_tool_output[1 << 20];

void sp_tool_print(char *out, size_t size, const char *fmt, ...)
{
	va_list args;
	int length;

	va_start(args, fmt);
	length = vsnprintf(out, size, fmt, args);
	va_end(args);
	assert_true(length >= 0 && (size_t)length < size);
}

int sp_tool_set_up(void **state)
{
	(void)state;
	sp_temp_make(sp_tool_folder);
	return 0;
}

int sp_tool_tear_down(void **state)
{
	(void)state;
	sp_temp_remove(sp_tool_folder);
	return 0;
}

const char *sp_tool_fixture(const char *name)
{
	static char path[SP_PATH_SIZE];
	char relative[256];

	sp_tool_print(relative, sizeof(relative), "tests/golden/embeddings/%s", name);
	return sp_source_path(path, relative);
}

int sp_tool_run(const char *arguments)
{
	const char *build = getenv("builddir");
	char command[4 * SP_PATH_SIZE];
	size_t size;
	FILE *pipe;
	int status;

	sp_tool_print(command, sizeof(command), "%s/serving_tool %s 2>%s/stderr",
		      build != NULL ? build : ".", arguments, sp_tool_folder);
	pipe = popen(command, "r");
	assert_non_null(pipe);
	size = fread(sp_tool_output, 1, sizeof(sp_tool_output) - 1, pipe);
	sp_tool_output[size] = '\0';
	status = pclose(pipe);
	assert_true(WIFEXITED(status));
	return WEXITSTATUS(status);
}

int sp_tool_run_on(const char *command, const char *path, const char *rest)
{
	char arguments[2 * SP_PATH_SIZE];

	sp_tool_print(arguments, sizeof(arguments), "%s %s %s", command, path, rest);
	return sp_tool_run(arguments);
}

cJSON *sp_tool_parsed(void)
{
	cJSON *json = cJSON_Parse(sp_tool_output);

	if (json == NULL)
		fail_msg("not JSON: %.200s", sp_tool_output);
	return json;
}

const cJSON *sp_tool_member(const cJSON *json, const char *key)
{
	const cJSON *found = cJSON_GetObjectItem(json, key);

	if (found == NULL)
		fail_msg("no '%s' in %.300s", key, sp_tool_output);
	return found;
}

double sp_tool_number(const cJSON *json, const char *key)
{
	return sp_tool_member(json, key)->valuedouble;
}

const cJSON *sp_tool_item(const cJSON *list, const char *key, const char *text)
{
	const cJSON *one;

	cJSON_ArrayForEach (one, list)
		if (strcmp(sp_tool_member(one, key)->valuestring, text) == 0)
			return one;
	fail_msg("no %s '%s' in %.300s", key, text, sp_tool_output);
	return NULL;
}

bool sp_tool_error_says(const char *text)
{
	char path[2 * SP_PATH_SIZE], line[2000] = "";
	FILE *f;

	sp_tool_print(path, sizeof(path), "%s/stderr", sp_tool_folder);
	f = fopen(path, "r");
	if (fread(line, 1, sizeof(line) - 1, f) == 0)
		line[0] = '\0';
	fclose(f);
	return strstr(line, text) != NULL;
}
