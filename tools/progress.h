#ifndef SP_TOOLS_PROGRESS_H
#define SP_TOOLS_PROGRESS_H

#include <stdbool.h>
#include <stdint.h>

/*
 * A progress bar on standard error, if that is a terminal and the work takes longer than half
 * a second.
 *
 * Threads: one thread at a time.
 */
typedef struct sp_progress {
	const char *what;
	uint64_t total; /* bytes */
	uint64_t done;
	int64_t start_ns;
	int64_t drawn_ns; /* when it was last drawn; 0: never */
	bool silent;
} sp_progress;

void sp_progress_start(sp_progress *progress, const char *what, uint64_t total);
void sp_progress_add(sp_progress *progress, uint64_t bytes);

/* Erases the bar. */
void sp_progress_end(sp_progress *progress);

#endif
