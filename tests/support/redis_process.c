#include "tests/support/redis_process.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

enum { MAX_ARGUMENTS = 48, ATTEMPTS = 2000, STEP_US = 5000 };

void sp_redis_need(void)
{
	if (system("command -v redis-server >/dev/null 2>&1") == 0)
		return;
	printf("redis-server is not installed\n");
	exit(77);
}

/* A port that is free now. */
static int free_port(void)
{
	struct sockaddr_in address = {.sin_family = AF_INET,
				      .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	socklen_t size = sizeof(address);
	int fd = socket(AF_INET, SOCK_STREAM, 0);

	if (bind(fd, (struct sockaddr *)&address, size) != 0 ||
	    getsockname(fd, (struct sockaddr *)&address, &size) != 0)
		abort();
	close(fd);
	return ntohs(address.sin_port);
}

static bool answers(const sp_redis_process *process)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	char answer[64] = "";
	int fd = socket(AF_UNIX, SOCK_STREAM, 0);
	bool good;

	memcpy(address.sun_path, process->socket,
	       strnlen(process->socket, sizeof(address.sun_path) - 1));
	good = connect(fd, (struct sockaddr *)&address, sizeof(address)) == 0 &&
	       write(fd, "PING\r\n", 6) == 6 && read(fd, answer, sizeof(answer) - 1) > 0 &&
	       (strncmp(answer, "+PONG", 5) == 0 || strncmp(answer, "-NOAUTH", 7) == 0);
	close(fd);
	return good;
}

static void run(const sp_redis_process *process, pid_t parent)
{
	char port[16], bus[16];
	const char *arguments[MAX_ARGUMENTS] = {"redis-server",
						"--port",
						port,
						"--bind",
						"127.0.0.1",
						"--unixsocket",
						process->socket,
						"--dir",
						process->folder,
						"--save",
						"",
						"--appendonly",
						"no",
						"--daemonize",
						"no",
						"--logfile",
						"log"};
	size_t count = 17;
	int log;

	snprintf(port, sizeof(port), "%d", process->port);
	if (process->is_cluster) {
		const char *const cluster[] = {
			"--cluster-enabled", "yes", "--cluster-node-timeout",     "500",
			"--cluster-port",    bus,   "--repl-diskless-sync-delay", "0"};

		snprintf(bus, sizeof(bus), "%d", process->bus_port);
		memcpy(arguments + count, cluster, sizeof(cluster));
		count += sizeof(cluster) / sizeof(*cluster);
	}
	for (const char *const *more = process->more; more != NULL && *more != NULL; more++)
		arguments[count++] = *more;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != parent)
		_exit(1);
	log = open("/dev/null", O_RDWR);
	dup2(log, 1);
	dup2(log, 2);
	execvp(arguments[0], (char *const *)(uintptr_t)arguments);
	_exit(127);
}

static bool launch(sp_redis_process *process)
{
	pid_t parent = getpid();

	process->pid = fork();
	if (process->pid == 0)
		run(process, parent);
	for (int i = 0; i < ATTEMPTS; i++) {
		if (answers(process))
			return true;
		if (waitpid(process->pid, NULL, WNOHANG) != 0)
			break;
		usleep(STEP_US);
	}
	process->pid = 0;
	return false;
}

void sp_redis_restart(sp_redis_process *process)
{
	if (!launch(process)) {
		printf("redis-server does not start again\n");
		abort();
	}
}

void sp_redis_start(sp_redis_process *process, bool is_cluster, const char *const *more)
{
	*process = (sp_redis_process){.is_cluster = is_cluster, .more = more};
	sp_temp_make(process->folder);
	snprintf(process->socket, sizeof(process->socket), "%s/s", process->folder);
	/* Another program may take the port before the server does. */
	for (int i = 0; i < 5; i++) {
		process->port = free_port();
		process->bus_port = free_port();
		if (launch(process))
			return;
	}
	printf("redis-server does not start\n");
	abort();
}

void sp_redis_kill(sp_redis_process *process)
{
	if (process->pid == 0)
		return;
	kill(process->pid, SIGKILL);
	waitpid(process->pid, NULL, 0);
	process->pid = 0;
	unlink(process->socket);
}

void sp_redis_pause(sp_redis_process *process)
{
	if (process->pid != 0)
		kill(process->pid, SIGSTOP);
}

void sp_redis_continue(sp_redis_process *process)
{
	if (process->pid != 0)
		kill(process->pid, SIGCONT);
}

void sp_redis_end(sp_redis_process *process)
{
	sp_redis_kill(process);
	sp_temp_remove(process->folder);
}

const char *sp_redis_tcp(const sp_redis_process *process, char out[SP_PATH_SIZE + 32])
{
	snprintf(out, SP_PATH_SIZE + 32, "127.0.0.1:%d", process->port);
	return out;
}

const char *sp_redis_unix(const sp_redis_process *process, char out[SP_PATH_SIZE + 32])
{
	snprintf(out, SP_PATH_SIZE + 32, "unix:%s", process->socket);
	return out;
}
