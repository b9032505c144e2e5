#include "tests/support/cmocka.h"

#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include "api/host/limits.h"
#include "tests/support/paths.h"

/* A folder that stands for the root of the file system. */
static char root[SP_PATH_SIZE];

static int set_up(void **state)
{
	(void)state;
	sp_temp_make(root);
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	sp_temp_remove(root);
	return 0;
}

/* Makes a file below the root, and the folders that it is in. */
static void make(const char *path, const char *text)
{
	char folder[2 * SP_PATH_SIZE];

	for (const char *slash = strchr(path + 1, '/'); slash != NULL;
	     slash = strchr(slash + 1, '/')) {
		snprintf(folder, sizeof(folder), "%s%.*s", root, (int)(slash - path), path);
		mkdir(folder, 0700);
	}
	sp_temp_write(root, path, (sp_bytes){text, strlen(text)});
}

static void a_machine_has_what_it_has(void **state)
{
	(void)state;
	make("/proc/meminfo", "MemTotal:       16316412 kB\nMemFree: 5 kB\n");
	assert_int_equal(sp_limits_memory(root), UINT64_C(16316412) * 1024);
	make("/proc/self/cgroup", "0::/user.slice/a\n");
	make("/sys/fs/cgroup/user.slice/a/memory.max", "max\n");
	assert_int_equal(sp_limits_memory(root), UINT64_C(16316412) * 1024);
	assert_true(sp_limits_memory("") > 1 << 20);
}

static void a_cgroup_may_have_less(void **state)
{
	(void)state;
	make("/proc/meminfo", "MemTotal: 16316412 kB\n");
	make("/proc/self/cgroup", "0::/a/b/c\n");
	make("/sys/fs/cgroup/a/b/c/memory.max", "max\n");
	make("/sys/fs/cgroup/a/memory.max", "1073741824\n");
	assert_int_equal(sp_limits_memory(root), 1073741824);
	make("/sys/fs/cgroup/a/b/memory.max", "536870912\n");
	assert_int_equal(sp_limits_memory(root), 536870912);
	make("/sys/fs/cgroup/a/b/c/memory.max", "99999999999999999\n");
	assert_int_equal(sp_limits_memory(root), 536870912);
}

/* In a container the cgroup's name is that outside, its folder the topmost one. */
static void the_topmost_folder_counts_whatever_the_name(void **state)
{
	(void)state;
	make("/proc/meminfo", "MemTotal: 16316412 kB\n");
	make("/proc/self/cgroup", "0::/../kubepods/pod1\n");
	make("/sys/fs/cgroup/memory.max", "268435456\n");
	assert_int_equal(sp_limits_memory(root), 268435456);
}

static void version_1_has_a_line_for_memory(void **state)
{
	(void)state;
	make("/proc/meminfo", "MemTotal: 16316412 kB\n");
	make("/proc/self/cgroup",
	     "12:cpu,cpuacct:/x\n7:memory:/docker/1\n1:name=systemd:/\n0::/\n");
	make("/sys/fs/cgroup/memory/memory.limit_in_bytes", "9223372036854771712\n");
	make("/sys/fs/cgroup/memory/docker/1/memory.limit_in_bytes", "134217728\n");
	make("/sys/fs/cgroup/memory/x/memory.limit_in_bytes", "1\n");
	assert_int_equal(sp_limits_memory(root), 134217728);
	make("/proc/self/cgroup", "rubbish\n7:memory\n7:memoryless:/x\n:\n::\n");
	assert_int_equal(sp_limits_memory(root), UINT64_C(16316412) * 1024);
}

static void connections_leave_descriptors_to_the_rest(void **state)
{
	struct rlimit before, low;
	size_t raised;

	(void)state;
	assert_int_equal(sp_limits_reserve(1024), 128);
	assert_int_equal(sp_limits_reserve(256), 64);
	assert_int_equal(sp_limits_reserve(100), 50);
	assert_int_equal(sp_limits_reserve(1 << 20), 1 << 17);
	assert_in_range(sp_limits_connections(1024), 700, 1024 - 128 - 3);
	assert_int_equal(sp_limits_connections(4), 1);

	assert_int_equal(getrlimit(RLIMIT_NOFILE, &before), 0);
	low = before;
	low.rlim_cur = 64;
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &low), 0);
	raised = sp_limits_raise_descriptors();
	assert_true(raised >= 64);
	assert_int_equal(getrlimit(RLIMIT_NOFILE, &low), 0);
	assert_int_equal(low.rlim_cur, before.rlim_max);
	setrlimit(RLIMIT_NOFILE, &before);
}

#define CASE(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		CASE(a_machine_has_what_it_has),
		CASE(a_cgroup_may_have_less),
		CASE(the_topmost_folder_counts_whatever_the_name),
		CASE(version_1_has_a_line_for_memory),
		CASE(connections_leave_descriptors_to_the_rest),
	};

	return cmocka_run_group_tests_name("limits", tests, NULL, NULL);
}
