#ifndef SP_BASE_NUMA_H
#define SP_BASE_NUMA_H

#include <sched.h>
#include <stddef.h>

/*
 * The nodes of a machine whose memory is near some processors and far from others.
 */
enum { SP_NUMA_MAX_NODES = 64 };

typedef struct sp_numa {
	size_t count; /* nodes with processors that this thread may run on */
	int numbers[SP_NUMA_MAX_NODES];
	cpu_set_t cpus[SP_NUMA_MAX_NODES]; /* of these only those that it may run on */
} sp_numa;

/*
 * Reads the nodes from `folder`; NULL: /sys/devices/system/node.  Where that says nothing there are
 * none.
 */
void sp_numa_read(sp_numa *out, const char *folder);

/*
 * From now on, memory that this thread is the first to touch is taken from that node while it has
 * some; -1: from the node that the thread runs on.  A failure is ignored.
 */
void sp_numa_prefer(int node);

#endif
