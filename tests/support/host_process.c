#include "tests/support/host_process.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/support/paths.h"

enum { TURNS = 1500, TURN_US = 20000, MAX_ARGUMENTS = 30 };

void sp_host_process_init(sp_host_process *process)
{
	memset(process, 0, sizeof(*process));
	sp_temp_make(process->folder);
}

static void path_of(char *out, size_t size, const sp_host_process *process, const char *name)
{
	snprintf(out, size, "%s/%s", process->folder, name);
}

static size_t read_text(char *out, size_t size, const char *path)
{
	FILE *file = fopen(path, "r");
	size_t n = 0;

	if (file != NULL) {
		n = fread(out, 1, size - 1, file);
		fclose(file);
	}
	out[n] = '\0';
	return n;
}

const char *sp_host_process_log(sp_host_process *process)
{
	char path[5000];

	path_of(path, sizeof(path), process, "log");
	read_text(process->log, sizeof(process->log), path);
	return process->log;
}

void sp_host_process_fini(sp_host_process *process)
{
	if (process->pid > 0) {
		kill(process->pid, SIGKILL);
		waitpid(process->pid, NULL, 0);
	}
	if (strstr(sp_host_process_log(process), "s3cr3t") != NULL) {
		printf("the host's log shows a secret\n%s", process->log);
		abort();
	}
	sp_temp_remove(process->folder);
	memset(process, 0, sizeof(*process));
}

static void run_child(sp_host_process *process, const char *program, const char *const *flags)
{
	char log[5000];
	const char *arguments[MAX_ARGUMENTS] = {program, "--rest_api_port=0"};
	size_t count = 2;
	int fd;

	path_of(log, sizeof(log), process, "log");
	for (; *flags != NULL && count + 1 < MAX_ARGUMENTS; flags++)
		arguments[count++] = *flags;
	fd = open(log, O_WRONLY | O_CREAT | O_APPEND, 0600);
	dup2(fd, 1);
	dup2(fd, 2);
	close(fd);
	if (process->descriptors != 0)
		setrlimit(RLIMIT_NOFILE,
			  &(struct rlimit){process->descriptors, process->descriptors});
	prctl(PR_SET_PDEATHSIG, SIGKILL); /* nothing is left of a test that failed */
	execv(program, (char *const *)(uintptr_t)arguments);
	_exit(127);
}

/* Whether it has come as far as the test wants. */
static bool has_started(sp_host_process *process, bool wait)
{
	static const char words[] = "probes are answered on port ";
	const char *log = sp_host_process_log(process), *port = strstr(log, words);

	if (port == NULL || strchr(port, '\n') == NULL)
		return false;
	process->port = (uint16_t)atoi(port + sizeof(words) - 1);
	return !wait || strstr(log, "listening on http://") != NULL;
}

bool sp_host_process_start(sp_host_process *process, const char *program, const char *const *flags,
			   bool wait)
{
	char log[5000];

	path_of(log, sizeof(log), process, "log");
	unlink(log); /* of a process before this one */
	process->pid = fork();
	if (process->pid == 0)
		run_child(process, program, flags);
	for (int turn = 0; turn < TURNS; turn++) {
		siginfo_t info = {0};

		if (has_started(process, wait))
			return true;
		waitid(P_PID, (id_t)process->pid, &info, WEXITED | WNOHANG | WNOWAIT);
		if (info.si_pid != 0)
			return false;
		usleep(TURN_US);
	}
	return false;
}

void sp_host_process_signal(sp_host_process *process, int signal)
{
	kill(process->pid, signal);
}

int sp_host_process_wait(sp_host_process *process)
{
	int status;

	for (int turn = 0; turn < 500; turn++) {
		if (waitpid(process->pid, &status, WNOHANG) == process->pid) {
			process->pid = 0;
			return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
		}
		usleep(TURN_US);
	}
	return -1;
}
