#include "api/host/upkeep.h"

#include <malloc.h>

#include "base/clock.h"
#include "base/log.h"

/* Minimum time between two lines of the same kind. */
static const int64_t quiet_ns = 10 * INT64_C(1000000000);

/* malloc() maps blocks from this size on; malloc_trim() is called after this many freed bytes. */
enum { MAPPED_BYTES = 1 << 20, TRIM_BYTES = 1 << 20 };

void sp_upkeep_set_allocator(void)
{
	mallopt(M_MMAP_THRESHOLD, MAPPED_BYTES);
	mallopt(M_TRIM_THRESHOLD, 2 * MAPPED_BYTES);
}

static bool is_due(int64_t last_ns)
{
	return last_ns == 0 || sp_clock_now_ns() - last_ns >= quiet_ns;
}

static void log_connections(sp_upkeep *upkeep, const sp_http_server *server)
{
	sp_http_server_load load;
	uint64_t dropped, turned_away;

	sp_http_server_get_load(server, &load);
	dropped = load.dropped - upkeep->dropped;
	turned_away = load.turned_away - upkeep->turned_away;
	if ((dropped == 0 && turned_away == 0) || !is_due(upkeep->connections_ns))
		return;
	sp_log(SP_LOG_WARNING,
	       "too many connections: %llu without a whole request were closed to make room, %llu "
	       "new ones were refused; %zu are open (--max_connections, ulimit -n)",
	       (unsigned long long)dropped, (unsigned long long)turned_away, load.open);
	upkeep->dropped = load.dropped;
	upkeep->turned_away = load.turned_away;
	upkeep->connections_ns = sp_clock_now_ns();
}

static void log_memory(sp_upkeep *upkeep, const sp_budget *memory)
{
	uint64_t refused = atomic_load(&memory->refused);

	if (refused == upkeep->refused || !is_due(upkeep->memory_ns))
		return;
	sp_log(SP_LOG_WARNING,
	       "%llu requests were refused for lack of memory: the limit is %zu bytes "
	       "(--max_request_memory), %zu are in use",
	       (unsigned long long)(refused - upkeep->refused), memory->limit,
	       sp_budget_used(memory));
	upkeep->refused = refused;
	upkeep->memory_ns = sp_clock_now_ns();
}

/* Trims after a second without freed large blocks, if enough was freed since the last trim. */
static void trim_memory(sp_upkeep *upkeep, const sp_budget *memory)
{
	uint64_t freed = atomic_load(&memory->freed);

	if (freed == upkeep->freed && freed - upkeep->trimmed >= TRIM_BYTES) {
		malloc_trim(0);
		upkeep->trimmed = freed;
	}
	upkeep->freed = freed;
}

void sp_upkeep_run(sp_upkeep *upkeep, const sp_http_server *server, const sp_budget *memory)
{
	log_connections(upkeep, server);
	log_memory(upkeep, memory);
	trim_memory(upkeep, memory);
}
