#ifndef SP_API_HOST_UPKEEP_H
#define SP_API_HOST_UPKEEP_H

#include <stdint.h>

#include "api/host/http/http_server.h"
#include "base/budget.h"

/*
 * Runs once a second: logs refused connections and requests, and returns memory that large requests
 * have freed to the system.
 *
 * Threads: one thread at a time.
 */
enum { SP_UPKEEP_MS = 1000 };

/* All zero is the initial state. */
typedef struct sp_upkeep {
	uint64_t dropped, turned_away, refused; /* counts already logged */
	int64_t connections_ns, memory_ns;      /* time of the last log line; 0: never */
	uint64_t freed;                         /* budget->freed a second ago */
	uint64_t trimmed;                       /* budget->freed at the last malloc_trim() */
} sp_upkeep;

/* Makes malloc() map large blocks, which free() then unmaps.  Call it before starting threads. */
void sp_upkeep_set_allocator(void);

void sp_upkeep_run(sp_upkeep *upkeep, const sp_http_server *server, const sp_budget *memory);

#endif
