#include "session_group/session_homes.h"

#include <stdbool.h>
#include <string.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/cpu_list.h"
#include "base/log.h"

struct sp_session_homes {
	sp_arena *arena; /* holds everything, this struct too */
	size_t count;
	int *nodes;            /* [count]; -1: any */
	sp_session_list *near; /* [cpu_count] */
	size_t cpu_count;
	sp_session_list all;
};

/* ------------------------------------------------------------------ the key */

static sp_bytes next_set(const char **at)
{
	size_t size = strcspn(*at, ";");
	sp_bytes set = {*at, size};

	*at += size + ((*at)[size] != '\0');
	return set;
}

size_t sp_session_homes_count_sets(const char *cpusets)
{
	size_t count = 1;

	for (; *cpusets != '\0'; cpusets++)
		count += *cpusets == ';';
	return count;
}

static sp_status read_sets(cpu_set_t *out, size_t count, const char *cpusets, sp_error *err)
{
	size_t found = sp_session_homes_count_sets(cpusets);
	cpu_set_t allowed;

	if (found != count)
		return sp_error_set(err, SP_INVALID,
				    "configuration key 'cpusets' has %zu sets for %zu sessions",
				    found, count);
	sp_cpu_list_allowed(&allowed);
	for (size_t i = 0; i < count; i++) {
		sp_bytes set = next_set(&cpusets);

		if (!sp_cpu_list_read(&out[i], set))
			return sp_error_set(err, SP_INVALID,
					    "configuration key 'cpusets': '%.*s' is no list of "
					    "processors such as 0-3,8",
					    (int)(set.size < 40 ? set.size : 40), set.data);
		CPU_AND(&out[i], &out[i], &allowed);
		if (CPU_COUNT(&out[i]) != 0)
			continue;
		out[i] = allowed;
		sp_log(SP_LOG_WARNING,
		       "configuration key 'cpusets': the process may not run on any of '%.*s'; "
		       "session %zu belongs to no processor",
		       (int)(set.size < 40 ? set.size : 40), set.data, i);
	}
	return SP_OK;
}

void sp_session_homes_others(cpu_set_t *out, const char *cpusets)
{
	cpu_set_t set;

	sp_cpu_list_allowed(out);
	for (size_t i = sp_session_homes_count_sets(cpusets); i != 0; i--) {
		if (!sp_cpu_list_read(&set, next_set(&cpusets)))
			continue;
		CPU_AND(&set, &set, out);
		CPU_XOR(out, out, &set);
	}
}

/* ------------------------------------------------------------------ the homes */

static bool overlap(const cpu_set_t *a, const cpu_set_t *b)
{
	cpu_set_t both;

	CPU_AND(&both, a, b);
	return CPU_COUNT(&both) != 0;
}

static const cpu_set_t *node_cpus_of(const sp_numa *numa, size_t cpu)
{
	for (size_t n = 0; n < numa->count; n++)
		if (CPU_ISSET(cpu, &numa->cpus[n]))
			return &numa->cpus[n];
	return NULL;
}

/* The sessions that have one of `cpus`. */
static size_t list_sessions(uint16_t *out, const cpu_set_t *sets, size_t count,
			    const cpu_set_t *cpus)
{
	size_t found = 0;

	for (size_t i = 0; i < count; i++)
		if (overlap(&sets[i], cpus))
			out[found++] = (uint16_t)i;
	return found;
}

/* Sets homes->near[cpu]; the lists of neighbours are mostly equal and are then one. */
static bool set_near(sp_session_homes *homes, size_t cpu, const cpu_set_t *sets,
		     const sp_numa *numa, uint16_t *scratch)
{
	const cpu_set_t *node = node_cpus_of(numa, cpu);
	sp_session_list *list = &homes->near[cpu];
	uint16_t *numbers;
	cpu_set_t alone;
	size_t size;

	CPU_ZERO(&alone);
	CPU_SET(cpu, &alone);
	list->count = list_sessions(scratch, sets, homes->count, &alone);
	if (list->count == 0 && node != NULL)
		list->count = list_sessions(scratch, sets, homes->count, node);
	if (list->count == 0) {
		*list = homes->all;
		return true;
	}
	size = list->count * sizeof(*scratch);
	for (size_t i = 0; i < cpu; i++)
		if (homes->near[i].count == list->count &&
		    memcmp(homes->near[i].numbers, scratch, size) == 0) {
			list->numbers = homes->near[i].numbers;
			return true;
		}
	numbers = sp_arena_array(homes->arena, list->count, sizeof(*numbers));
	if (numbers == NULL)
		return false;
	memcpy(numbers, scratch, size);
	list->numbers = numbers;
	return true;
}

static bool fill(sp_session_homes *homes, const cpu_set_t *sets, const sp_numa *numa)
{
	size_t count = homes->count;
	uint16_t *all = sp_arena_array(homes->arena, count, sizeof(*all));
	uint16_t *scratch = sp_arena_array(homes->arena, count, sizeof(*scratch));
	long cpus = sysconf(_SC_NPROCESSORS_CONF);

	homes->cpu_count = cpus < 1 ? 1 : cpus > CPU_SETSIZE ? CPU_SETSIZE : (size_t)cpus;
	homes->nodes = sp_arena_array(homes->arena, count, sizeof(*homes->nodes));
	homes->near = sp_arena_zeros(homes->arena, homes->cpu_count, sizeof(*homes->near));
	if (all == NULL || scratch == NULL || homes->nodes == NULL || homes->near == NULL)
		return false;
	for (size_t i = 0; i < count; i++) {
		all[i] = (uint16_t)i;
		homes->nodes[i] = -1;
		for (size_t n = numa->count; numa->count > 1 && n-- > 0;)
			if (overlap(&sets[i], &numa->cpus[n]))
				homes->nodes[i] = numa->numbers[n];
	}
	homes->all = (sp_session_list){all, count};
	for (size_t cpu = 0; cpu < homes->cpu_count; cpu++)
		if (!set_near(homes, cpu, sets, numa, scratch))
			return false;
	return true;
}

sp_status sp_session_homes_create(sp_session_homes **out, size_t count, const char *cpusets,
				  const sp_numa *numa, sp_error *err)
{
	bool given = cpusets != NULL && *cpusets != '\0';
	sp_status status = SP_OK;
	sp_session_homes *homes;
	cpu_set_t *sets;
	sp_arena *arena;

	*out = NULL;
	if (!given && (numa->count < 2 || count < 2))
		return SP_OK;
	arena = sp_arena_create(16 << 10);
	SP_NEED_MEMORY(arena != NULL, err, "the homes of %zu sessions", count);
	homes = sp_arena_zeros(arena, 1, sizeof(*homes));
	sets = sp_arena_array(arena, count, sizeof(*sets));
	if (homes == NULL || sets == NULL)
		status = sp_no_memory(err, "the homes of %zu sessions", count);
	else if (given)
		status = read_sets(sets, count, cpusets, err);
	for (size_t i = 0; status == SP_OK && !given && i < count; i++)
		sets[i] = numa->cpus[i * numa->count / count];
	if (status == SP_OK) {
		*homes = (sp_session_homes){.arena = arena, .count = count};
		if (!fill(homes, sets, numa))
			status = sp_no_memory(err, "the homes of %zu sessions", count);
	}
	if (status != SP_OK) {
		sp_arena_destroy(arena);
		return status;
	}
	*out = homes;
	return SP_OK;
}

void sp_session_homes_destroy(sp_session_homes *homes)
{
	if (homes != NULL)
		sp_arena_destroy(homes->arena);
}

int sp_session_homes_node(const sp_session_homes *homes, size_t number)
{
	return homes != NULL && number < homes->count ? homes->nodes[number] : -1;
}

sp_session_list sp_session_homes_near(const sp_session_homes *homes)
{
	int cpu = sched_getcpu();

	return cpu >= 0 && (size_t)cpu < homes->cpu_count ? homes->near[cpu] : homes->all;
}
