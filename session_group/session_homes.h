#ifndef SP_SESSION_GROUP_SESSION_HOMES_H
#define SP_SESSION_GROUP_SESSION_HOMES_H

#include <sched.h>
#include <stddef.h>
#include <stdint.h>

#include "base/numa.h"
#include "base/status.h"

/*
 * Where sessions belong: the processors of each, and the node that its memory is taken from.
 *
 * With cpusets a session has the processors of its set; without, the sessions are divided evenly
 * among the nodes.  A request runs on its caller's thread, which stays where it is: it prefers the
 * sessions whose set has the processor that the thread is on, then those of its node.
 *
 * Threads: immutable once made.
 */
typedef struct sp_session_homes sp_session_homes;

/* Some sessions: [count] numbers. */
typedef struct sp_session_list {
	const uint16_t *numbers;
	size_t count;
} sp_session_list;

/* The number of sets in `cpusets`: one per session, separated by ';'. */
size_t sp_session_homes_count_sets(const char *cpusets);

/*
 * `cpusets` "0-3;4,5;6": processors of each of `count` sessions; NULL or empty: none.  *out is NULL
 * if all sessions belong everywhere.
 *
 * A set without a processor that this thread may run on counts as all, with a warning.
 *
 * SP_INVALID, naming the configuration key: malformed, or sets for another number of sessions.
 */
SP_MUST_CHECK sp_status sp_session_homes_create(sp_session_homes **out, size_t count,
						const char *cpusets, const sp_numa *numa,
						sp_error *err);

/* NULL is fine. */
void sp_session_homes_destroy(sp_session_homes *homes);

/* The node of session `number`; -1: any.  `homes` may be NULL, and `number` beyond the sessions. */
int sp_session_homes_node(const sp_session_homes *homes, size_t number);

/* The sessions near the processor that this thread is on; never empty. */
sp_session_list sp_session_homes_near(const sp_session_homes *homes);

/* The processors of this thread that no set of `cpusets` has; may be empty. */
void sp_session_homes_others(cpu_set_t *out, const char *cpusets);

#endif
