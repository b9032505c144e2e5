#include "tests/support/cmocka.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "base/cpu_list.h"
#include "base/numa.h"
#include "tests/support/paths.h"

static bool reads(cpu_set_t *set, const char *text)
{
	return sp_cpu_list_read(set, sp_bytes_of(text));
}

static void lists_of_processors(void **state)
{
	static const char *const wrong[] = {"",    " ",   "a",    "1-",  "-1", "1,",
					    "2-1", "1;2", "1024", "0x1", "1 "};
	cpu_set_t set;

	(void)state;
	assert_true(reads(&set, "0-3,8, 10"));
	assert_int_equal(CPU_COUNT(&set), 6);
	assert_true(CPU_ISSET(3, &set) && CPU_ISSET(8, &set) && CPU_ISSET(10, &set));
	assert_true(reads(&set, "1023"));
	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++)
		assert_false(reads(&set, wrong[i]));
	sp_cpu_list_allowed(&set);
	assert_true(CPU_COUNT(&set) > 0);
}

static void write_node(const char *base, const char *name, const char *cpus)
{
	char path[SP_PATH_SIZE + 16], file[32];

	snprintf(path, sizeof(path), "%s/%s", base, name);
	assert_int_equal(mkdir(path, 0700), 0);
	snprintf(file, sizeof(file), "/%s/cpulist", name);
	sp_temp_write(base, file, sp_bytes_of(cpus));
}

static void nodes_of_a_machine(void **state)
{
	char base[SP_PATH_SIZE], cpus[64];
	cpu_set_t allowed;
	int cpu = 0;
	sp_numa numa;

	(void)state;
	sp_cpu_list_allowed(&allowed);
	while (!CPU_ISSET(cpu, &allowed))
		cpu++;
	sp_temp_make(base);
	snprintf(cpus, sizeof(cpus), "%d,1000\n", cpu);
	write_node(base, "node0", "\n"); /* memory only */
	write_node(base, "node2", cpus);
	write_node(base, "node3", "1001-1003\n"); /* not for this process */
	sp_numa_read(&numa, base);
	assert_int_equal(numa.count, 0);
	sp_temp_write(base, "/online", sp_bytes_of("0,2-3\n"));
	sp_numa_read(&numa, base);
	assert_int_equal(numa.count, 1);
	assert_int_equal(numa.numbers[0], 2);
	assert_int_equal(CPU_COUNT(&numa.cpus[0]), 1);
	assert_true(CPU_ISSET(cpu, &numa.cpus[0]));
	sp_temp_remove(base);
	sp_numa_read(&numa, base);
	assert_int_equal(numa.count, 0);
	sp_numa_prefer(0);
	sp_numa_prefer(-1);
	sp_numa_prefer(63); /* there is none: ignored */
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(lists_of_processors),
		cmocka_unit_test(nodes_of_a_machine),
	};

	return cmocka_run_group_tests_name("numa", tests, NULL, NULL);
}
