#include "tests/support/child.h"

#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

int sp_child_run(int (*body)(void), const char *name, const char *value)
{
	pid_t pid = fork();
	int status;

	if (pid == 0) {
		if (value != NULL)
			setenv(name, value, 1);
		else
			unsetenv(name);
		_exit(body());
	}
	if (pid < 0 || waitpid(pid, &status, 0) != pid || !WIFEXITED(status))
		return -1;
	return WEXITSTATUS(status);
}
