#include "tests/support/cmocka.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "model_loader/embedding/bucket_offsets.h"
#include "model_loader/embedding/embedding_variable.h"
#include "tests/support/checkpoint.h"
#include "tests/support/paths.h"

/*
 * Full checkpoints, deltas and graphs with every number of parts, against what the files say.
 *
 * The row of key k is k in the full checkpoint, and k + 0.5 in the delta, which has every third
 * key and a new one.
 */
enum { DIM = 2, MOST_KEYS = 400, MOST_PARTS = 8, UNNUMBERED = 0, ABSENT = -1, TENSORS = 64 };

/* How a trainer of so many parts deals its keys. */
typedef struct dealer {
	int64_t (*part)(int64_t id, int64_t parts);
	int64_t (*key)(int64_t id, int64_t parts); /* as the part stores it */
} dealer;

static int64_t by_bucket(int64_t id, int64_t parts)
{
	return id % 1000 % parts;
}

static int64_t itself(int64_t id, int64_t parts)
{
	(void)parts;
	return id;
}

static int64_t by_number(int64_t id, int64_t parts)
{
	return id % parts;
}

static int64_t by_number_backwards(int64_t id, int64_t parts)
{
	return parts - 1 - id % parts;
}

static int64_t quotient(int64_t id, int64_t parts)
{
	return id / parts;
}

static const dealer deeprec = {by_bucket, itself}, dividing = {by_number, quotient};

static char folder[SP_PATH_SIZE];
static sp_bundle *full, *delta;
static bool graph_tells; /* that it asks by key % 1000 % parts */
static sp_arena *arena;
static sp_error err;

static int set_up(void **state)
{
	(void)state;
	sp_log_set_level(SP_LOG_ERROR);
	sp_temp_make(folder);
	graph_tells = false;
	full = delta = NULL;
	arena = sp_arena_create(64 << 10);
	return arena != NULL ? 0 : -1;
}

static int tear_down(void **state)
{
	(void)state;
	sp_bundle_close(full);
	sp_bundle_close(delta);
	sp_arena_destroy(arena);
	sp_temp_remove(folder);
	return 0;
}

/* --------------------------------------------------------------------- checkpoints */

/* One of some ids, which lie in `parts` parts; those of `missing` are not written. */
typedef struct content {
	bool is_delta;
	const dealer *dealer;
	const int64_t *ids;
	size_t count;
	int64_t parts; /* UNNUMBERED: one, without a number */
	int64_t missing;
} content;

typedef struct written {
	sp_checkpoint_tensor tensors[TENSORS];
	char names[TENSORS][48];
	size_t count;
} written;

static void add(written *w, const char *part, const char *suffix, sp_checkpoint_tensor tensor)
{
	snprintf(w->names[w->count], sizeof(w->names[0]), "%s%s", part, suffix);
	tensor.name = w->names[w->count];
	w->tensors[w->count++] = tensor;
}

static int by_name(const void *a, const void *b)
{
	return strcmp(((const sp_checkpoint_tensor *)a)->name,
		      ((const sp_checkpoint_tensor *)b)->name);
}

static int by_key_bucket(const void *a, const void *b)
{
	int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

	return x % 1000 != y % 1000 ? (x % 1000 > y % 1000 ? 1 : -1) : (x > y) - (x < y);
}

/* The ids are found again from the keys that the part stores. */
static int64_t id_of(const content *c, int64_t key, int64_t part)
{
	return c->dealer == &dividing ? key * c->parts + part : key;
}

static void add_part(written *w, const content *c, int64_t part, sp_arena *memory)
{
	int64_t parts = c->parts != UNNUMBERED ? c->parts : 1, count = 0;
	int64_t *keys = sp_arena_zeros(memory, c->count + 1, sizeof(*keys));
	float *rows = sp_arena_zeros(memory, (c->count + 1) * DIM, sizeof(*rows));
	int32_t *offsets = sp_arena_zeros(memory, SP_BUCKETS + 1, sizeof(*offsets));
	char name[24];

	snprintf(name, sizeof(name), c->parts != UNNUMBERED ? "t/part_%d" : "t", (int)part);
	for (size_t i = 0; i < c->count; i++)
		if (c->dealer->part(c->ids[i], parts) == part)
			keys[count++] = c->dealer->key(c->ids[i], parts);
	qsort(keys, (size_t)count, sizeof(*keys), by_key_bucket);
	for (int64_t i = 0; i < count; i++) {
		for (int d = 0; d < DIM; d++)
			rows[i * DIM + d] = (float)id_of(c, keys[i], part) +
					    (c->is_delta ? 0.5f : 0.0f);
		offsets[keys[i] % SP_BUCKETS + 1]++;
	}
	for (int b = 0; b < SP_BUCKETS; b++)
		offsets[b + 1] += offsets[b];
	add(w, name, c->is_delta ? "-sparse_incr_keys" : "-keys",
	    (sp_checkpoint_tensor){.dtype = SP_INT64, .rank = 1, .dims = {count}, .data = keys});
	add(w, name, c->is_delta ? "-sparse_incr_values" : "-values",
	    (sp_checkpoint_tensor){
		    .dtype = SP_FLOAT, .rank = 2, .dims = {count, DIM}, .data = rows});
	add(w, name, c->is_delta ? "-incr_partition_offset" : "-partition_offset",
	    (sp_checkpoint_tensor){
		    .dtype = SP_INT32, .rank = 1, .dims = {SP_BUCKETS + 1}, .data = offsets});
}

static sp_bundle *write_and_open(const content *c)
{
	static written w;
	sp_arena *memory = sp_arena_create(64 << 10);
	char prefix[SP_PATH_SIZE + 16];
	sp_bundle *bundle;

	w.count = 0;
	for (int64_t part = 0; part < c->parts || (part == 0 && c->parts == UNNUMBERED); part++)
		if (part != c->missing)
			add_part(&w, c, part, memory);
	qsort(w.tensors, w.count, sizeof(w.tensors[0]), by_name);
	snprintf(prefix, sizeof(prefix), "%s/%s", folder, c->is_delta ? "delta" : "full");
	sp_checkpoint_write(prefix, w.tensors, w.count, 1);
	assert_ok(sp_bundle_open(&bundle, prefix, &err), &err);
	sp_arena_destroy(memory);
	return bundle;
}

static void write_full(const content *c)
{
	sp_bundle_close(full);
	full = write_and_open(c);
}

static void write_delta(const content *c)
{
	sp_bundle_close(delta);
	delta = write_and_open(c);
}

/* -------------------------------------------------------------------------- answers */

static sp_embedding_spec spec_of(char name[24], int64_t part, int64_t parts)
{
	snprintf(name, 24, parts > 1 ? "t/part_%d" : "t", (int)part);
	return (sp_embedding_spec){.name = name,
				   .key_dtype = SP_INT64,
				   .dtype = SP_FLOAT,
				   .dim = DIM,
				   .partition_id = part,
				   .partition_num = parts,
				   .by_key = graph_tells};
}

static bool has(const content *c, int64_t id)
{
	if (c == NULL || (c->parts > 1 && c->dealer->part(id, c->parts) == c->missing))
		return false;
	for (size_t i = 0; i < c->count; i++)
		if (c->ids[i] == id)
			return true;
	return false;
}

/* By what the files say alone, of every id that the graph asks the part for. */
static void check_part(const sp_table *table, const dealer *graph, int64_t part, int64_t parts,
		       const content *f, const content *d)
{
	for (int64_t id = 0; id < 3 * MOST_KEYS; id++) {
		int64_t key = graph->key(id, parts);
		float row[DIM], want = has(d, id) ? (float)id + 0.5f : (float)id;
		bool found;

		if (graph->part(id, parts) != part)
			continue;
		assert_int_equal(sp_table_contains(table, &key, 1, &found, NULL), SP_OK);
		if (found != (has(f, id) || has(d, id)))
			fail_msg("id %d of part %d of %d, full of %d, delta of %d", (int)id,
				 (int)part, (int)parts, (int)f->parts,
				 d != NULL ? (int)d->parts : -1);
		if (!found)
			continue;
		assert_ok(sp_table_lookup(table, &key, 1, NULL, row, &err), &err);
		if (row[0] != want || row[1] != want)
			fail_msg("id %d of part %d of %d is %g, not %g", (int)id, (int)part,
				 (int)parts, row[0], want);
	}
}

/* At once, and as an update of what was loaded without the delta. */
static void check_handle(const dealer *graph, int64_t part, int64_t parts, bool own,
			 const content *f, const content *d)
{
	char name[24];
	sp_embedding_spec spec = spec_of(name, part, parts);
	sp_embedding found;
	sp_table *table, *base;

	assert_ok(sp_embedding_find(&found, &spec, full, d != NULL ? delta : NULL, arena, &err),
		  &err);
	found.own_part = own;
	assert_ok(sp_embedding_load(&table, &found, &spec, NULL, NULL, &err), &err);
	check_part(table, graph, part, parts, f, d);
	sp_table_destroy(table);
	if (d == NULL)
		return;
	assert_ok(sp_embedding_find(&found, &spec, full, NULL, arena, &err), &err);
	found.own_part = own;
	assert_ok(sp_embedding_load(&base, &found, &spec, NULL, NULL, &err), &err);
	assert_ok(sp_embedding_find_delta(&found, &found, &spec, delta, arena, &err), &err);
	assert_ok(sp_embedding_load(&table, &found, &spec, NULL, base, &err), &err);
	check_part(table, graph, part, parts, f, d);
	sp_table_destroy(table);
	sp_table_destroy(base);
}

static void check_graph(const dealer *graph, int64_t parts, const content *f, const content *d)
{
	for (int64_t part = 0; part < parts; part++)
		for (int own = 0; own < 2; own++)
			check_handle(graph, part, parts, own != 0, f, d);
	sp_arena_destroy(arena);
	arena = sp_arena_create(64 << 10);
}

/* ids[0 ... count - 1], and of the delta every third of them and a new one. */
static size_t choose_ids(int64_t ids[MOST_KEYS], int64_t changed[MOST_KEYS], size_t count)
{
	size_t some = 0;

	for (size_t i = 0; i < count; i++) {
		ids[i] = (int64_t)i;
		if (i % 3 == 1)
			changed[some++] = (int64_t)i;
	}
	changed[some++] = 2 * MOST_KEYS + 5;
	return some;
}

/* ---------------------------------------------------------------------------- tests */

static const int64_t part_counts[] = {UNNUMBERED, 1, 3, 4, MOST_PARTS};
enum { PART_COUNTS = 5 };

static void check_all_parts(size_t key_count)
{
	int64_t ids[MOST_KEYS], changed[MOST_KEYS];
	size_t some = choose_ids(ids, changed, key_count);

	for (size_t i = 0; i < PART_COUNTS; i++) {
		content f = {false, &deeprec, ids, key_count, part_counts[i], ABSENT};

		write_full(&f);
		for (size_t k = 0; k < PART_COUNTS; k++) {
			content d = {true, &deeprec, changed, some, part_counts[k], ABSENT};

			write_delta(&d);
			for (size_t g = 1; g < PART_COUNTS; g++) {
				check_graph(&deeprec, part_counts[g], &f, NULL);
				check_graph(&deeprec, part_counts[g], &f, &d);
			}
		}
	}
}

static void any_number_of_parts_serves_with_any_other(void **state)
{
	(void)state;
	check_all_parts(MOST_KEYS);
}

/* Most parts have a row or none. */
static void so_it_does_of_a_small_table(void **state)
{
	(void)state;
	check_all_parts(3);
	check_all_parts(0);
}

/* A part of which nothing was changed is not written, be it the first or the last one. */
static void parts_of_a_delta_may_be_missing(void **state)
{
	static const size_t key_counts[] = {3, MOST_KEYS};
	int64_t ids[MOST_KEYS], changed[MOST_KEYS];

	(void)state;
	for (size_t s = 0; s < 2; s++) {
		size_t some = choose_ids(ids, changed, key_counts[s]);
		content f = {false, &deeprec, ids, key_counts[s], 4, ABSENT};

		write_full(&f);
		for (size_t k = 2; k < PART_COUNTS; k++)
			for (int64_t part = 0; part < part_counts[k]; part++) {
				content d = {true, &deeprec, changed, some, part_counts[k], part};

				write_delta(&d);
				check_graph(&deeprec, 4, &f, &d);
				check_graph(&deeprec, 3, &f, &d);
				check_graph(&deeprec, 1, &f, &d);
			}
	}
}

/* Graphs of old, whose parts have numbers of their own: few of them look like DeepRec's. */
static void parts_of_numbers_of_their_own_go_part_by_part(void **state)
{
	static const size_t key_counts[] = {0, 2, 3, 5, 40, MOST_KEYS};
	int64_t ids[MOST_KEYS], changed[MOST_KEYS];

	(void)state;
	for (size_t s = 0; s < sizeof(key_counts) / sizeof(key_counts[0]); s++) {
		size_t some = choose_ids(ids, changed, key_counts[s]);

		for (size_t k = 2; k < PART_COUNTS; k++) {
			content f = {false, &dividing, ids, key_counts[s], part_counts[k], ABSENT};
			content d = {true, &dividing, changed, some, part_counts[k], ABSENT};

			write_full(&f);
			write_delta(&d);
			check_graph(&dividing, part_counts[k], &f, NULL);
			check_graph(&dividing, part_counts[k], &f, &d);
		}
	}
}

static void check_refused(int64_t part, int64_t parts, const char *word)
{
	char name[24];
	sp_embedding_spec spec = spec_of(name, part, parts);
	sp_embedding found;

	assert_ok(sp_embedding_find(&found, &spec, full, NULL, arena, &err), &err);
	assert_int_equal(sp_embedding_find_delta(&found, &found, &spec, delta, arena, &err),
			 SP_UNSUPPORTED);
	assert_non_null(strstr(err.text, name));
	if (strstr(err.text, word) == NULL)
		fail_msg("%s", err.text);
}

/* What such keys mean depends on how many parts there are. */
static void parts_of_numbers_of_their_own_are_not_dealt_anew(void **state)
{
	int64_t ids[MOST_KEYS], changed[MOST_KEYS];
	size_t some = choose_ids(ids, changed, MOST_KEYS);
	content f = {false, &dividing, ids, MOST_KEYS, 4, ABSENT};
	content d = {true, &dividing, changed, some, 3, ABSENT};

	(void)state;
	write_full(&f);
	write_delta(&d);
	check_refused(2, 4, "keys of the full checkpoint do not follow key % 1000 % parts");
	d = (content){true, &deeprec, changed, some, UNNUMBERED, ABSENT};
	write_delta(&d);
	check_refused(1, 4, "keys of the full checkpoint do not follow key % 1000 % parts");
	f = (content){false, &deeprec, ids, MOST_KEYS, 4, ABSENT};
	d = (content){true, &dividing, changed, some, 3, ABSENT};
	write_full(&f);
	write_delta(&d);
	check_refused(0, 4, "keys of the delta do not follow key % 1000 % parts");
	check_refused(0, 1, "keys of the delta do not follow key % 1000 % parts");
}

/* Then the rows need not; and the last of five parts, which is not there, can be told from none. */
static void a_graph_may_tell_how_it_asks(void **state)
{
	static const int64_t ids[] = {0, 5, 10}, changed[] = {5, 10};
	static const content f = {false, &deeprec, ids, 3, 4, ABSENT};
	static const content d = {true, &deeprec, changed, 2, 5, 4};

	(void)state;
	graph_tells = true;
	check_all_parts(MOST_KEYS);
	check_all_parts(3);
	write_full(&f);
	write_delta(&d);
	check_graph(&deeprec, 4, &f, &d);
}

/* DeepRec reads all parts, and of them the rows that are a part's by their keys. */
static void rows_in_other_parts_are_found_where_the_graph_tells(void **state)
{
	int64_t ids[MOST_KEYS], changed[MOST_KEYS];
	size_t some = choose_ids(ids, changed, MOST_KEYS);
	const dealer backwards = {by_number_backwards, itself};
	content f = {false, &backwards, ids, MOST_KEYS, 4, ABSENT};
	content d = {true, &backwards, changed, some, 3, ABSENT};

	(void)state;
	graph_tells = true;
	write_full(&f);
	write_delta(&d);
	check_graph(&deeprec, 4, &f, &d);
	check_graph(&deeprec, 3, &f, &d);
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		CASE(any_number_of_parts_serves_with_any_other),
		CASE(so_it_does_of_a_small_table),
		CASE(parts_of_a_delta_may_be_missing),
		CASE(parts_of_numbers_of_their_own_go_part_by_part),
		CASE(parts_of_numbers_of_their_own_are_not_dealt_anew),
		CASE(a_graph_may_tell_how_it_asks),
		CASE(rows_in_other_parts_are_found_where_the_graph_tells),
	};

	return cmocka_run_group_tests_name("parts of embeddings", tests, NULL, NULL);
}
