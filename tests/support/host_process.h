#ifndef SP_TESTS_SUPPORT_HOST_PROCESS_H
#define SP_TESTS_SUPPORT_HOST_PROCESS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/*
 * serving_host as a process of its own, on a free port of the loopback.  Its
 * standard error is kept for the test to look at.
 */
typedef struct sp_host_process {
	pid_t pid;
	uint16_t port;
	unsigned descriptors; /* that it may have; 0: as many as the test */
	char folder[4096];    /* a temporary one, for the test's files, too */
	char log[65536];
} sp_host_process;

/* Makes the temporary folder, for files that the command line names. */
void sp_host_process_init(sp_host_process *process);
void sp_host_process_fini(sp_host_process *process);

/*
 * Starts the program with these flags (ended by NULL) beside those for the
 * port.  `wait` for it to say that it is listening; else until the port is open.
 * False, and ended, when it ends instead.
 */
bool sp_host_process_start(sp_host_process *process, const char *program, const char *const *flags,
			   bool wait);

void sp_host_process_signal(sp_host_process *process, int signal);

/* Waits for its end: the exit status, 128 + signal, or -1 after ten seconds. */
int sp_host_process_wait(sp_host_process *process);

/* What it has written to standard error by now. */
const char *sp_host_process_log(sp_host_process *process);

#endif
