#include "base/numa.h"

#include <linux/mempolicy.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/cpu_list.h"

static bool read_node(cpu_set_t *out, const char *folder, int number)
{
	char path[4096], line[4096];
	bool found = false;
	FILE *file;

	snprintf(path, sizeof(path), "%s/node%d/cpulist", folder, number);
	file = fopen(path, "re");
	if (file == NULL)
		return false;
	if (fgets(line, sizeof(line), file) != NULL)
		found = sp_cpu_list_read(out, (sp_bytes){line, strcspn(line, "\n")});
	fclose(file);
	return found;
}

void sp_numa_read(sp_numa *out, const char *folder)
{
	cpu_set_t allowed;

	out->count = 0;
	sp_cpu_list_allowed(&allowed);
	for (int number = 0; number < SP_NUMA_MAX_NODES; number++) {
		cpu_set_t *cpus = &out->cpus[out->count];

		if (!read_node(cpus, folder != NULL ? folder : "/sys/devices/system/node", number))
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
