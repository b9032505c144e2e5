#ifndef SP_BASE_THREAD_H
#define SP_BASE_THREAD_H

#include <pthread.h>
#include <stddef.h>

#include "base/status.h"

/*
 * A group of threads that run one function and are joined together.  Signals
 * are blocked in them: they belong to the host's own threads.  Only SIGBUS is
 * not (base/mapping.h).  Their log lines are about what the maker's are about
 * (sp_log_set_subject()): that text outlives the group.
 */
typedef struct sp_thread_group sp_thread_group;

typedef void sp_thread_main(void *context);

/*
 * `count` threads that call main(context), named `name` (at most 15 bytes
 * show in a debugger).  SP_NO_MEMORY or SP_IO when not all of them start; then
 * none runs any more.
 */
SP_MUST_CHECK sp_status sp_thread_group_create(sp_thread_group **out, size_t count,
					       const char *name, sp_thread_main *main,
					       void *context, sp_error *err);

/* Joins every thread: the caller has made main() return.  NULL is fine. */
void sp_thread_group_destroy(sp_thread_group *group);

/* A condition whose timed waits end on sp_clock_now_ns()'s clock. */
void sp_condition_init(pthread_cond_t *condition);

#endif
