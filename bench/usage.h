#ifndef SP_BENCH_USAGE_H
#define SP_BENCH_USAGE_H

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/*
 * Prints the usage and exits for -h, --help or help; exits with an error for any other option: a
 * program that has some reads them before.
 */
static inline void sp_bench_read_options(int argc, char **argv, const char *usage)
{
	for (int i = 1; i < argc; i++) {
		bool asked = strcmp(argv[i], "-h") == 0 || strcmp(argv[i], "--help") == 0 ||
			     (i == 1 && strcmp(argv[i], "help") == 0);

		if (asked) {
			fputs(usage, stdout);
			exit(0);
		}
		if (argv[i][0] == '-') {
			fprintf(stderr, "unknown option %s (try --help)\n%s", argv[i], usage);
			exit(2);
		}
	}
}

#endif
