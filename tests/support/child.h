#ifndef SP_TESTS_SUPPORT_CHILD_H
#define SP_TESTS_SUPPORT_CHILD_H

/*
 * Runs body() in a child process with the environment variable `name` set to
 * `value` (NULL: unset), for what the library asks only once in a process.
 * Returns what body() returned (0 to 255), or -1 when the child died of it.
 */
int sp_child_run(int (*body)(void), const char *name, const char *value);

#endif
