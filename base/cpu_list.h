#ifndef SP_BASE_CPU_LIST_H
#define SP_BASE_CPU_LIST_H

#include <sched.h>
#include <stdbool.h>

#include "base/bytes.h"

/*
 * Lists of processors in Linux's notation: "0-3,8".  Spaces before a number are skipped.  False
 * when it is malformed, empty, or names a processor that a cpu_set_t cannot hold.
 */
bool sp_cpu_list_read(cpu_set_t *out, sp_bytes text);

/* The processors that this thread may run on; empty if the system does not say. */
void sp_cpu_list_allowed(cpu_set_t *out);

#endif
