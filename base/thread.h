#ifndef SP_BASE_THREAD_H
#define SP_BASE_THREAD_H

#include <pthread.h>
#include <stddef.h>

#include "base/status.h"

/*
 * A group of threads that run one function and are joined together.  All signals are blocked
 * in them, so that the host's threads receive them, except SIGBUS (base/mapping.h).  They
 * inherit the log subject of the creating thread (sp_log_set_subject()), whose text must
 * outlive the group.
 */
typedef struct sp_thread_group sp_thread_group;

typedef void sp_thread_main(void *context);

/*
 * Starts `count` threads that call main(context), named `name` (15 bytes of it).  All start
 * or none: SP_NO_MEMORY, SP_IO.
 */
SP_MUST_CHECK sp_status sp_thread_group_create(sp_thread_group **out, size_t count,
					       const char *name, sp_thread_main *main,
					       void *context, sp_error *err);

/* Joins every thread; the caller has arranged for main() to return.  NULL is fine. */
void sp_thread_group_destroy(sp_thread_group *group);

/* A condition variable whose timed waits use the clock of sp_clock_now_ns(). */
void sp_condition_init(pthread_cond_t *condition);

#endif
