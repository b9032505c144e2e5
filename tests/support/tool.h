#ifndef SP_TESTS_SUPPORT_TOOL_H
#define SP_TESTS_SUPPORT_TOOL_H

#include <cjson/cJSON.h>
#include <stdbool.h>
#include <stddef.h>

#include "tests/support/paths.h"

/*
 * serving_tool as a person runs it, on bundles that TensorFlow has written
 * (scripts/make_embedding_fixtures.py) and on what a test writes.
 *
 * What a function does not find fails the test.
 */

/* Of the case that runs, and what the tool has written last to standard output. */
extern char sp_tool_folder[SP_PATH_SIZE];
extern char sp_tool_output[1 << 20];

/* Make the folder, and remove it. */
int sp_tool_set_up(void **state);
int sp_tool_tear_down(void **state);

/* The path of a bundle in tests/golden/embeddings; valid until the next call. */
const char *sp_tool_fixture(const char *name);

/* snprintf() that fails the test rather than cut something off. */
void sp_tool_print(char *out, size_t size, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

/* The exit status of "serving_tool ARGUMENTS", or of "serving_tool COMMAND PATH REST". */
int sp_tool_run(const char *arguments);
int sp_tool_run_on(const char *command, const char *path, const char *rest);

/* Whether it has written the text to standard error. */
bool sp_tool_error_says(const char *text);

/* The output as JSON; a member of an object; the item of a list whose member `key` is `text`. */
cJSON *sp_tool_parsed(void);
const cJSON *sp_tool_member(const cJSON *json, const char *key);
double sp_tool_number(const cJSON *json, const char *key);
const cJSON *sp_tool_item(const cJSON *list, const char *key, const char *text);

#endif
