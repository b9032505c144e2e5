/*
 * Rows that arrive while they are looked up: no reader sees half a row, or tables of different
 * states.  Meant for --enable-sanitize=thread, too.
 */
#include "tests/support/cmocka.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "storage/fresh/fresh.h"
#include "tests/support/stream_messages.h"

enum { DIM = 16, TABLES = 2, READERS = 3, KEYS = 64, ROUNDS = 1000, MESSAGE = 16 };

typedef struct scene {
	sp_fresh *fresh;
	atomic_bool done;
	atomic_uint seeds, torn, mixed, backwards;
	atomic_ullong read;
} scene;

/* The rows of both tables are those of one state, whole, and never older than the last ones. */
static void check_keys(scene *s, const sp_fresh_view *view, int64_t first, float *last)
{
	const float *found[TABLES][SP_FRESH_BLOCK];
	int64_t keys[MESSAGE];

	for (int i = 0; i < MESSAGE; i++)
		keys[i] = first + i;
	for (size_t t = 0; t < TABLES; t++)
		sp_fresh_find(sp_fresh_table(s->fresh, t), view, keys, MESSAGE, found[t]);
	for (int i = 0; i < MESSAGE; i++) {
		const float *row = found[0][i], *other = found[1][i];

		if ((row == NULL) != (other == NULL) || (row != NULL && row[0] != other[0]) ||
		    (row == NULL) != (found[0][0] == NULL) ||
		    (row != NULL && row[0] != found[0][0][0]))
			atomic_fetch_add(&s->mixed, 1);
		if (row == NULL || other == NULL)
			continue;
		for (int d = 1; d < DIM; d++)
			if (row[d] != row[0] || other[d] != other[0])
				atomic_fetch_add(&s->torn, 1);
		if (row[0] < *last)
			atomic_fetch_add(&s->backwards, 1);
	}
	if (found[0][0] != NULL)
		*last = found[0][0][0];
}

static void *read_on(void *argument)
{
	scene *s = argument;
	size_t slot = atomic_fetch_add(&s->seeds, 1);
	float last[KEYS / MESSAGE] = {0};
	sp_fresh_view view;

	for (unsigned turn = (unsigned)slot; !atomic_load(&s->done); turn++) {
		size_t group = turn % (KEYS / MESSAGE);

		sp_fresh_pin(&view, s->fresh, slot, -1);
		for (int again = 0; again < 3; again++) /* the view stays what it was */
			check_keys(s, &view, (int64_t)group * MESSAGE, &last[group]);
		sp_fresh_unpin(s->fresh, slot);
		atomic_fetch_add(&s->read, 3 * TABLES * MESSAGE);
	}
	return NULL;
}

static void put(scene *s, size_t table, int64_t first, float value)
{
	sp_stream_rows rows = {.first_key = first, .count = MESSAGE, .dim = DIM, .value = value};
	sp_fresh_entries entries = {.count = MESSAGE, .key_size = 8, .step = SP_FRESH_NO_STEP};
	sp_fresh_done done = {0};
	size_t size;
	char *message = sp_stream_message(&size, &rows);

	entries.bytes = message + 8;
	assert_int_equal(sp_fresh_put(s->fresh, table, &entries, &done), SP_OK);
	free(message);
}

static void readers_see_whole_states(void **state)
{
	static const size_t dims[TABLES] = {DIM, DIM};
	const sp_fresh_options options = {.dims = dims,
					  .table_count = TABLES,
					  .reader_count = READERS,
					  .memory_limit = 64 << 20};
	scene s = {.done = false};
	pthread_t threads[READERS];
	sp_error err;

	(void)state;
	assert_ok(sp_fresh_create(&s.fresh, &options, &err), &err);
	for (int i = 0; i < READERS; i++)
		pthread_create(&threads[i], NULL, read_on, &s);
	for (int round = 1; round <= ROUNDS; round++) {
		int64_t first = round % (KEYS / MESSAGE) * MESSAGE;

		for (size_t t = 0; t < TABLES; t++) {
			put(&s, t, first, -1); /* is not seen */
			put(&s, t, first, (float)round);
			/* Others' keys, so that indexes grow meanwhile. */
			put(&s, t, 1000 + round * MESSAGE % 12800, (float)round);
		}
		sp_fresh_commit(s.fresh);
	}
	while (atomic_load(&s.read) < 100000)
		usleep(1000);
	atomic_store(&s.done, true);
	for (int i = 0; i < READERS; i++)
		pthread_join(threads[i], NULL);
	assert_int_equal(s.torn, 0);
	assert_int_equal(s.mixed, 0);
	assert_int_equal(s.backwards, 0);
	sp_fresh_destroy(s.fresh);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(readers_see_whole_states),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
