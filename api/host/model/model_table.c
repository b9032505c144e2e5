#include "api/host/model/model_table.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/alloc.h"

enum { FIRST_ARENA = 4 << 10, CACHE_LINE = 64, SEATS = 64 };

/* -------------------------------------------------------------------- table */

sp_model_table *sp_model_table_create(size_t count)
{
	sp_arena *arena = sp_arena_create(FIRST_ARENA);
	sp_model_table *table = NULL;

	if (arena != NULL)
		table = sp_arena_zeros(arena, 1, sizeof(*table));
	if (table != NULL) {
		table->arena = arena;
		table->count = count;
		table->entries = sp_arena_zeros(arena, count, sizeof(table->entries[0]));
	}
	if (table == NULL || table->entries == NULL) {
		sp_arena_destroy(arena);
		return NULL;
	}
	return table;
}

void sp_model_table_destroy(sp_model_table *table)
{
	if (table != NULL)
		sp_arena_destroy(table->arena);
}

static int compare_names(sp_bytes a, sp_bytes b)
{
	size_t shorter = a.size < b.size ? a.size : b.size;
	int order = shorter != 0 ? memcmp(a.data, b.data, shorter) : 0;

	return order != 0 ? order : (a.size > b.size) - (a.size < b.size);
}

static int compare_entries(const void *a, const void *b)
{
	return compare_names(sp_bytes_of(((const sp_table_entry *)a)->model->name),
			     sp_bytes_of(((const sp_table_entry *)b)->model->name));
}

void sp_model_table_finish(sp_model_table *table)
{
	if (table->count != 0)
		qsort(table->entries, table->count, sizeof(table->entries[0]), compare_entries);
}

const sp_table_entry *sp_model_table_find(const sp_model_table *table, sp_bytes name)
{
	size_t low = 0, high = table->count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;
		const sp_table_entry *entry = &table->entries[middle];
		int order = compare_names(name, sp_bytes_of(entry->model->name));

		if (order == 0)
			return entry;
		if (order < 0)
			high = middle;
		else
			low = middle + 1;
	}
	return NULL;
}

const sp_version_label *sp_table_entry_label(const sp_table_entry *entry, sp_bytes label)
{
	for (size_t i = 0; i < entry->label_count; i++)
		if (sp_bytes_equal(entry->labels[i].label, label))
			return &entry->labels[i];
	return NULL;
}

/* ---------------------------------------------------------------- publishing */

/* On its own cache line, because other threads write its neighbours. */
typedef struct table_seat {
	_Alignas(CACHE_LINE) atomic_size_t readers;
} table_seat;

struct sp_table_readers {
	_Alignas(CACHE_LINE) _Atomic(sp_model_table *) table;
	table_seat seats[SEATS];
};

sp_table_readers *sp_table_readers_create(void)
{
	sp_table_readers *readers = sp_alloc_aligned(CACHE_LINE, sizeof(*readers));

	if (readers == NULL)
		return NULL;
	atomic_init(&readers->table, NULL);
	for (size_t i = 0; i < SEATS; i++)
		atomic_init(&readers->seats[i].readers, 0);
	return readers;
}

void sp_table_readers_destroy(sp_table_readers *readers)
{
	if (readers == NULL)
		return;
	sp_model_table_destroy(atomic_load(&readers->table));
	sp_free(readers);
}

/* Threads share seats only where there are more than SEATS of them. */
static size_t seat_of_thread(void)
{
	static atomic_size_t next;
	static _Thread_local size_t own; /* 0: none yet */

	if (own == 0)
		own = 1 + atomic_fetch_add_explicit(&next, 1, memory_order_relaxed) % SEATS;
	return own - 1;
}

/*
 * Both operations are sequentially consistent, as those of the writer are.  So a reader whose count
 * the writer did not see loads the new table.
 */
const sp_model_table *sp_table_enter(sp_table_readers *readers, size_t *seat)
{
	*seat = seat_of_thread();
	atomic_fetch_add(&readers->seats[*seat].readers, 1);
	return atomic_load(&readers->table);
}

void sp_table_leave(sp_table_readers *readers, size_t seat)
{
	atomic_fetch_sub_explicit(&readers->seats[seat].readers, 1, memory_order_release);
}

void sp_table_publish(sp_table_readers *readers, sp_model_table *table)
{
	static const struct timespec pause = {0, 20000};
	sp_model_table *old = atomic_exchange(&readers->table, table);

	for (size_t i = 0; i < SEATS; i++)
		while (atomic_load(&readers->seats[i].readers) != 0)
			nanosleep(&pause, NULL);
	sp_model_table_destroy(old);
}
