#ifndef SP_TESTS_SUPPORT_KNOWN_TABLES_H
#define SP_TESTS_SUPPORT_KNOWN_TABLES_H

#include <stddef.h>
#include <stdint.h>

#include "storage/table/table.h"
#include "storage/table/table_builder.h"
#include "storage/table/tier.h"

/*
 * Tables whose rows are known: table t holds the even keys below its size, and element d of the
 * row of key k follows from t, k, d.  What goes wrong while they are made fails the test.
 */

/* The same numbers in every run. */
uint64_t sp_known_random(void);

float sp_known_element(size_t table, int64_t key, size_t d);

/* Of tables that are made from now on, 3 or 4: a power of two lets lookups go a shorter way. */
extern int64_t sp_known_default_rows;

/* Sets up, and takes back, that there are four default rows. */
int sp_known_shorter_way(void **state);
int sp_known_usual_way(void **state);

/* What stands for an absent key: its own row of the default matrix. */
float sp_known_absent(int64_t key, size_t d);

/* Element d of the answer of a table of that size. */
float sp_known_expected(size_t table, int64_t size, int64_t key, size_t d);

/* The even keys in [first, end) of a table. */
sp_rows *sp_known_rows(size_t table, size_t dim, int64_t first, int64_t end, sp_row_format format);

/* `dim` <= 128.  Takes over the references, of which either may be NULL. */
sp_table *sp_known_table(size_t dim, sp_rows *base, sp_tier *below);

/* Runs with exactly the scratch that was asked for, so that a checker sees what is beyond. */
sp_status sp_known_run(const sp_lookup *lookups, size_t count, sp_error *err);

/* The same for where keys are. */
sp_status sp_known_locate(const sp_table *table, const int64_t *keys, size_t count, int32_t *places,
			  sp_error *err);

/* A slower tier with the even keys in [first, end) of table `table`. */
typedef struct sp_known_tier {
	sp_tier tier;
	size_t table;
	int64_t first, end;
	sp_status failure; /* of every read, unless SP_OK */
	int calls;
	size_t keys; /* that were asked for */
} sp_known_tier;

sp_known_tier *sp_known_tier_new(size_t table, size_t dim, int64_t first, int64_t end);

extern int sp_known_tier_reads;
extern int sp_known_tiers_destroyed;

#endif
