#ifndef SP_API_HOST_UPKEEP_H
#define SP_API_HOST_UPKEEP_H

#include <stdint.h>

#include "api/host/http/http_server.h"
#include "base/budget.h"

/*
 * What the host does beside requests, once a second: it says in the log what it had
 * to refuse, and gives memory that large requests have left back to the system.
 *
 * Threads: one thread at a time.
 */
enum { SP_UPKEEP_MS = 1000 };

/* All zero is the beginning. */
typedef struct sp_upkeep {
	uint64_t dropped, turned_away, refused; /* that the log has been told of */
	int64_t connections_ns, memory_ns;      /* when that was; 0: never */
	uint64_t freed;                         /* of the budget, at the last look */
	uint64_t trimmed;                       /* the same, when memory was given back */
} sp_upkeep;

/* Before any thread is started: large blocks are the system's own and go back at once. */
void sp_upkeep_set_allocator(void);

void sp_upkeep_run(sp_upkeep *upkeep, const sp_http_server *server, const sp_budget *memory);

#endif
