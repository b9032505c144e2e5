#ifndef SP_BENCH_STORAGE_RIVALS_H
#define SP_BENCH_STORAGE_RIVALS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * Key-to-row stores that are measured with the same lookups.
 *
 * Row i < count of the data has the key sp_rival_key(i), which is even, and the elements
 * sp_rival_element(i, d).  Odd keys are absent: a lookup yields zeros.
 */
typedef struct sp_rival_data {
	size_t count, dim;
	const char *folder; /* for stores on disk */
} sp_rival_data;

typedef struct sp_rival {
	const char *name;
	void *(*build)(const sp_rival_data *data);
	void (*look_up)(void *store, const int64_t *keys, size_t count, float *rows);
	/* Bytes of memory, or of files that are mapped. */
	size_t (*footprint)(void *store);
	void (*destroy)(void *store);
} sp_rival;

/* In a NULL-terminated list. */
extern const sp_rival *const sp_rivals[];

/* This library's table, a chain per bucket, one flat table, DeepRec's layout, RocksDB. */
extern const sp_rival sp_rival_ours;
extern const sp_rival sp_rival_flat_map;
extern const sp_rival sp_rival_flat_map_huge;
extern const sp_rival sp_rival_chained_map;
extern const sp_rival sp_rival_deeprec;
extern const sp_rival sp_rival_rocksdb;

/* Distinct keys, spread over 63 bits like hashed features. */
static inline int64_t sp_rival_key(uint64_t i)
{
	return (int64_t)((i * UINT64_C(0x9e3779b97f4a7c15)) >> 1 & ~UINT64_C(1));
}

static inline float sp_rival_element(uint64_t i, size_t d)
{
	return ((float)(i % 65536) - (float)d) * 0x1p-18f;
}

/* Returns `memory`; exits if it is NULL. */
void *sp_rival_need(void *memory);

/* Zeroed memory; `huge`: with madvise(MADV_HUGEPAGE). */
void *sp_rival_map(size_t size, bool huge);
void sp_rival_unmap(void *memory, size_t size);

#endif
