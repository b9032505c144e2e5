#ifndef SP_TESTS_SUPPORT_REDIS_PROCESS_H
#define SP_TESTS_SUPPORT_REDIS_PROCESS_H

#include <stdbool.h>
#include <sys/types.h>

#include "tests/support/paths.h"

/*
 * A redis-server that a test starts: on 127.0.0.1 with a free port, and on a unix socket, in a
 * folder of its own.  It ends with the test.
 */
typedef struct sp_redis_process {
	pid_t pid; /* 0: not running */
	int port;
	int bus_port; /* of a cluster */
	bool is_cluster;
	const char *const *more; /* further arguments, NULL at the end; may be NULL */
	char folder[SP_PATH_SIZE];
	char socket[SP_PATH_SIZE + 16]; /* path */
} sp_redis_process;

/* Ends the test with 77 where redis-server is not installed. */
void sp_redis_need(void);

/* Chooses folder and port, and starts. */
void sp_redis_start(sp_redis_process *process, bool is_cluster, const char *const *more);

/* Ends it at once, as kill -9 does. */
void sp_redis_kill(sp_redis_process *process);

/* Starts it again with the same folder and port. */
void sp_redis_restart(sp_redis_process *process);

/* Stops and continues the process. */
void sp_redis_pause(sp_redis_process *process);
void sp_redis_continue(sp_redis_process *process);

/* Ends it and removes its folder. */
void sp_redis_end(sp_redis_process *process);

/* "127.0.0.1:PORT" and "unix:PATH"; returns `out`. */
const char *sp_redis_tcp(const sp_redis_process *process, char out[SP_PATH_SIZE + 32]);
const char *sp_redis_unix(const sp_redis_process *process, char out[SP_PATH_SIZE + 32]);

#endif
