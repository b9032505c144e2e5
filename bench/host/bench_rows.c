/*
 * Writes a version of the model of tests/golden/ev-rows, in which each number of an answer tells
 * the version (tests/support/row_model.h).
 *
 *   bench_rows CHECKPOINTS KEYS FULL DELTA
 *
 * CHECKPOINTS has a folder v1, with .incremental_checkpoint in it.  DELTA 0 writes the full
 * checkpoint FULL, else that delta on it.
 */
#include <stdio.h>
#include <stdlib.h>

#include "bench/usage.h"
#include "tests/support/row_model.h"

static const char usage[] = "usage: bench_rows CHECKPOINTS KEYS FULL DELTA\n";

int main(int argc, char **argv)
{
	sp_row_model rows = {.every = 2, .every_late = 2};
	int full, delta;

	sp_bench_read_options(argc, argv, usage);
	if (argc != 5) {
		fputs(usage, stderr);
		return 2;
	}
	snprintf(rows.checkpoints, sizeof(rows.checkpoints), "%s", argv[1]);
	rows.key_count = (size_t)atol(argv[2]);
	full = atoi(argv[3]);
	delta = atoi(argv[4]);
	rows.keys = malloc((rows.key_count + 1) * sizeof(*rows.keys));
	if (rows.keys == NULL || full < 1 || delta < 0)
		return 2;
	for (size_t i = 0; i < rows.key_count; i++)
		rows.keys[i] = (int64_t)i;
	if (delta == 0)
		sp_row_model_write_full(&rows, full);
	else
		sp_row_model_write_delta(&rows, full, delta);
	free(rows.keys);
	return 0;
}
