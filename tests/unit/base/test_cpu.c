#include "tests/support/cmocka.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "base/cpu.h"
#include "base/log.h"
#include "tests/support/child.h"

/* Only children ask sp_cpu_isa(): the answer is made once in a process. */

static void count_warning(void *context, int level, const char *line)
{
	if (level == SP_LOG_WARNING && strstr(line, "SP_CPU=") != NULL)
		++*(int *)context;
}

/* The instruction set, plus 16 for each warning. */
static int ask(void)
{
	int warnings = 0;
	sp_isa isa;

	sp_log_set_sink(count_warning, &warnings);
	isa = sp_cpu_isa();
	if (!sp_cpu_has(isa) || !sp_cpu_has(SP_ISA_SCALAR) || sp_cpu_has(isa + 1))
		return 255;
	return (int)isa + 16 * warnings;
}

/* Whether all of the words stand among the flags that the kernel shows. */
static bool kernel_shows(const char *flags, const char *words)
{
	char word[32];
	int used;

	for (; sscanf(words, " %30s%n", word, &used) == 1; words += used) {
		strcat(word, " ");
		if (strstr(flags, word) == NULL)
			return false;
	}
	return true;
}

/* What the kernel says about the processor; false where it says it another way. */
static bool kernel_isa(sp_isa *isa)
{
	static char line[8192];
	FILE *f = fopen("/proc/cpuinfo", "r");
	bool found = false;

	while (f != NULL && !found && fgets(line, sizeof(line), f) != NULL)
		found = strncmp(line, "flags\t", 6) == 0;
	if (f != NULL)
		fclose(f);
	if (!found)
		return false;
	*strchr(line, '\n') = ' ';
	*isa = SP_ISA_SCALAR;
	if (kernel_shows(line, "sse4_2"))
		*isa = SP_ISA_SSE42;
	if (kernel_shows(line, "avx2 fma"))
		*isa = SP_ISA_AVX2;
	if (kernel_shows(line, "avx512f avx512bw avx512dq avx512vl"))
		*isa = SP_ISA_AVX512;
	return true;
}

static int best(void)
{
	return sp_child_run(ask, "SP_CPU", NULL);
}

static void the_kernel_agrees(void **state)
{
	sp_isa isa;

	(void)state;
	if (!kernel_isa(&isa))
		skip();
	assert_int_equal(best(), isa);
}

static void sp_cpu_caps_the_answer_and_never_raises_it(void **state)
{
	static const char *const words[] = {"scalar", "sse42", "avx2", "avx512"};

	(void)state;
	for (int i = 0; i < 4; i++) {
		assert_string_equal(sp_isa_name((sp_isa)i), words[i]);
		assert_int_equal(sp_child_run(ask, "SP_CPU", words[i]), i < best() ? i : best());
	}
}

static void an_unknown_word_is_ignored_with_a_warning(void **state)
{
	(void)state;
	assert_int_equal(sp_child_run(ask, "SP_CPU", ""), best());
	assert_int_equal(sp_child_run(ask, "SP_CPU", "AVX2"), best() + 16);
	assert_int_equal(sp_child_run(ask, "SP_CPU", "scalar "), best() + 16);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_kernel_agrees),
		cmocka_unit_test(sp_cpu_caps_the_answer_and_never_raises_it),
		cmocka_unit_test(an_unknown_word_is_ignored_with_a_warning),
	};

	return cmocka_run_group_tests_name("cpu", tests, NULL, NULL);
}
