#include "base/numa.h"

#include <linux/mempolicy.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/cpu_list.h"

/* Reads a file that has one list of numbers. */
static bool read_list(cpu_set_t *out, const char *path)
{
	bool found = false;
	char line[4096];
	FILE *file = fopen(path, "re");

	if (file == NULL)
		return false;
	if (fgets(line, sizeof(line), file) != NULL)
		found = sp_cpu_list_read(out, (sp_bytes){line, strcspn(line, "\n")});
	fclose(file);
	return found;
}

void sp_numa_read(sp_numa *out, const char *folder)
{
	cpu_set_t allowed, online;
	char path[4096];

	if (folder == NULL)
		folder = "/sys/devices/system/node";
	out->count = 0;
	sp_cpu_list_allowed(&allowed);
	snprintf(path, sizeof(path), "%s/online", folder);
	if (!read_list(&online, path))
		return;
	for (int number = 0; number < SP_NUMA_MAX_NODES; number++) {
		cpu_set_t *cpus = &out->cpus[out->count];

		snprintf(path, sizeof(path), "%s/node%d/cpulist", folder, number);
		if (!CPU_ISSET(number, &online) || !read_list(cpus, path))
			continue;
		CPU_AND(cpus, cpus, &allowed);
		if (CPU_COUNT(cpus) == 0)
			continue;
		out->numbers[out->count++] = number;
	}
}

void sp_numa_prefer(int node)
{
	unsigned long nodes = node >= 0 ? 1ul << node : 0;

	(void)syscall(SYS_set_mempolicy, node >= 0 ? MPOL_PREFERRED : MPOL_DEFAULT, &nodes,
		      sizeof(nodes) * 8 + 1);
}
