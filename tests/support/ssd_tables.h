#ifndef SP_TESTS_SUPPORT_SSD_TABLES_H
#define SP_TESTS_SUPPORT_SSD_TABLES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "storage/ssd/ssd_builder.h"
#include "storage/ssd/ssd_tier.h"
#include "tests/support/paths.h"
#include "tests/support/tiers.h"

/*
 * Tables on an SSD whose rows follow from their keys, and lookups to them
 * whose answers are checked.
 */
enum { SP_SSD_TEST_DIM = 6, SP_SSD_TEST_CACHE = 64 << 10 };

extern char sp_ssd_test_root[SP_PATH_SIZE + 16]; /* of all folders of a test */

extern bool sp_ssd_test_no_rings; /* stores read with threads; false before it is set */

int sp_ssd_test_set_up(void **state);
int sp_ssd_test_tear_down(void **state);

sp_status sp_ssd_test_try_store(sp_ssd_store **out, const char *version, sp_row_cache_policy policy,
				sp_error *err);
sp_ssd_store *sp_ssd_test_open_store(const char *version);

sp_ssd_table sp_ssd_test_table_named(const char *name);
void sp_ssd_test_make_row(int64_t key, int generation, float row[SP_SSD_TEST_DIM]);

/* Keys first, first + step, ... with the rows of `generation`; falling frequencies. */
sp_status sp_ssd_test_put_range(sp_ssd_builder *builder, int64_t first, int64_t step, size_t count,
				int generation, sp_error *err);

/* Keys 0, 3, 6 ... of generation 0. */
sp_status sp_ssd_test_try_build(sp_tier **out, sp_ssd_store *store, const char *name, size_t count,
				sp_error *err);
sp_tier *sp_ssd_test_build(sp_ssd_store *store, const char *name, size_t count);

/* One read and all its parts. */
typedef struct sp_ssd_test_lookup {
	sp_tier_read read;
	int64_t *keys;
	float *elements, **rows;
	bool *found;
} sp_ssd_test_lookup;

sp_ssd_test_lookup sp_ssd_test_ask(sp_tier *tier, const int64_t *keys, size_t count);
void sp_ssd_test_free_lookup(sp_ssd_test_lookup *q);

/* As of a table that sp_ssd_test_build() has made of `count` rows, but for the generation. */
void sp_ssd_test_check_answers(const sp_tier_read *read, size_t count, int generation);

/* Asks for keys, or for start ... start + count - 1, of a table of `rows` rows. */
void sp_ssd_test_check_read(sp_tier *tier, const int64_t *keys, size_t count, size_t rows);
void sp_ssd_test_check_range(sp_tier *tier, int64_t start, size_t count, size_t rows);

size_t sp_ssd_test_count_folders(void);

/* The path of the file below `folder` whose name ends so. */
void sp_ssd_test_find_file(const char *folder, const char *ending, char *out, size_t size);

/* Two bytes of that file below the root, at `from` and each `step` behind it, become others. */
void sp_ssd_test_change_bytes(const char *ending, off_t from, off_t step);

#endif
