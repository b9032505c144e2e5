/*
 * Measures rows that arrive while tables are looked up, in memory, without a broker.
 *
 *   bench_fresh [KEYS [READS]]
 *
 * Messages of HPS's format with 2,000 rows of 64 floats, for random ones of KEYS keys, are applied
 * by one thread, with a commit every 50 ms.  Prints a line of JSON each for
 *
 *   apply   new_rows_s, replaced_rows_s   rows per second into an empty table, and over rows
 *           new_rows_cpu_s, ...           the same per second of the thread's processor time
 *           bytes_per_row                 memory after it
 *           longest_ms                    most processor time of a message and a commit
 *   torn    READS rows of two tables read by one thread while another writes: reads, reads_s,
 * rows_s torn, mixed                   rows of two values; tables of different states lookup  ns
 * per key of a table of a million rows, 26 x 100 keys at a time: without a stream, with one that
 * has none of the keys, and one that has them all
 */
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "bench/must.h"
#include "bench/usage.h"
#include "row_stream/row_applier.h"
#include "storage/table/table_builder.h"

enum {
	DIM = 64,
	ROWS = 2000, /* of a message */
	MESSAGES = 64,
	ENTRY = 8 + DIM * 4,
	TABLE_ROWS = 1000000,
	LOOKUP = 2600,
	ROUNDS = 2000,
	COMMIT_NS = 50000000,
};

static uint64_t draw(void)
{
	static uint64_t state = 88172645463325252u;

	state ^= state << 13;
	state ^= state >> 7;
	return state ^= state << 17;
}

typedef struct bench {
	size_t keys;
	uint64_t reads;
	char *messages[MESSAGES];
	sp_fresh *fresh;
	sp_row_applier *applier;
	int64_t longest_ns;
	atomic_bool done;
	uint64_t put; /* while rows are read */
} bench;

static const size_t dims[] = {DIM, DIM};
static const char *const names[] = {"a", "b"};
static const size_t message_size = 8 + (size_t)ROWS * ENTRY;

static void make_messages(bench *b)
{
	const uint32_t row_size = DIM * sizeof(float);

	for (size_t m = 0; m < MESSAGES; m++) {
		b->messages[m] = calloc(1, message_size);
		if (b->messages[m] == NULL)
			sp_bench_fail("no memory");
		memcpy(b->messages[m], "HCTR", 4);
		memcpy(b->messages[m] + 4, &row_size, 4);
	}
}

static void open_tables(bench *b)
{
	sp_fresh_options fresh = {.dims = dims,
				  .table_count = 2,
				  .reader_count = 1,
				  .memory_limit = (size_t)16 << 30};
	sp_row_applier_options options = {.names = names,
					  .dims = dims,
					  .table_count = 2,
					  .is_hps = true,
					  .key_size = 8,
					  .interval_ns = COMMIT_NS};

	if (sp_fresh_create(&b->fresh, &fresh, NULL) != SP_OK)
		sp_bench_fail("no memory");
	options.fresh = b->fresh;
	if (sp_row_applier_create(&b->applier, &options, NULL) != SP_OK ||
	    sp_row_applier_set_partitions(b->applier, 1, NULL) != SP_OK)
		sp_bench_fail("no memory");
}

static void close_tables(bench *b)
{
	sp_row_applier_destroy(b->applier);
	sp_fresh_destroy(b->fresh);
}

static void set_entry(char *message, size_t i, int64_t key, float value)
{
	char *entry = message + 8 + i * ENTRY;

	memcpy(entry, &key, sizeof(key));
	for (size_t d = 0; d < DIM; d++)
		memcpy(entry + 8 + d * sizeof(value), &value, sizeof(value));
}

static int64_t processor_ns(void)
{
	struct timespec spent;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &spent);
	return spent.tv_sec * INT64_C(1000000000) + spent.tv_nsec;
}

static void apply(bench *b, const char *bytes, size_t table)
{
	const sp_received_message message = {
		.bytes = {bytes, message_size}, .topic = table, .topic_name = "t"};
	int64_t start = processor_ns(), took;
	sp_fresh_done done = {0};

	if (sp_row_applier_apply(b->applier, &message, &done) != SP_OK)
		sp_bench_fail("a message is not applied");
	(void)sp_row_applier_tick(b->applier, sp_clock_now_ns());
	took = processor_ns() - start;
	b->longest_ns = took > b->longest_ns ? took : b->longest_ns;
}

typedef struct rates {
	double rows, cpu_rows; /* per second, and per second of processor time */
} rates;

/* Of `count` messages; the keys are new ones in any order, or any. */
static rates apply_many(bench *b, bool is_new, size_t count)
{
	int64_t spent = 0, worked = 0;
	uint64_t next = 0;

	for (size_t done = 0; done < count; done += MESSAGES) {
		size_t n = count - done < MESSAGES ? count - done : MESSAGES;
		int64_t start, began;

		for (size_t m = 0; m < n; m++)
			for (size_t i = 0; i < ROWS; i++) {
				uint64_t key = is_new ? next++ * 0x9e3779b97f4a7c15u
						      : draw() % b->keys * 0x9e3779b97f4a7c15u;

				memcpy(b->messages[m] + 8 + i * ENTRY, &key, sizeof(key));
			}
		start = sp_clock_now_ns();
		began = processor_ns();
		for (size_t m = 0; m < n; m++)
			apply(b, b->messages[m], 0);
		worked += processor_ns() - began;
		spent += sp_clock_now_ns() - start;
	}
	return (rates){(double)(count * ROWS) / (double)spent * 1e9,
		       (double)(count * ROWS) / (double)worked * 1e9};
}

static void measure_applying(bench *b)
{
	size_t count = b->keys / ROWS;
	sp_fresh_counters held;
	rates new_rows, replaced;

	open_tables(b);
	new_rows = apply_many(b, true, count);
	sp_row_applier_tick(b->applier, INT64_MAX);
	sp_fresh_count(b->fresh, &held);
	replaced = apply_many(b, false, count);
	printf("{\"bench\":\"apply\",\"keys\":%zu,\"new_rows_s\":%.0f,\"new_rows_cpu_s\":%.0f,"
	       "\"replaced_rows_s\":%.0f,\"replaced_rows_cpu_s\":%.0f,\"bytes_per_row\":%.0f,"
	       "\"longest_ms\":%.1f}\n",
	       b->keys, new_rows.rows, new_rows.cpu_rows, replaced.rows, replaced.cpu_rows,
	       (double)held.bytes / (double)held.keys, (double)b->longest_ns / 1e6);
	fflush(stdout);
	close_tables(b);
}

/* ------------------------------------------------------------------ torn rows */

/* Message m has keys [m ROWS / 8, ...): few keys, so that rows are replaced all the time. */
static void *write_on(void *argument)
{
	bench *b = argument;

	for (uint64_t round = 1; !atomic_load(&b->done); round++) {
		char *message = b->messages[round % 8];

		for (size_t i = 0; i < ROWS; i++)
			set_entry(message, i, (int64_t)(round % 8 * ROWS + i),
				  (float)(round & 0xffffff));
		apply(b, message, 0);
		apply(b, message, 1);
		sp_row_applier_tick(b->applier, INT64_MAX);
		b->put += 2 * ROWS;
	}
	return NULL;
}

static bool is_whole(const float *row)
{
	uint32_t first, other, differ = 0;

	memcpy(&first, row, sizeof(first));
	for (size_t d = 1; d < DIM; d++) {
		memcpy(&other, row + d, sizeof(other));
		differ |= other ^ first;
	}
	return differ == 0;
}

/* Counts the rows of both tables that are not what one commit has put there. */
static void read_block(bench *b, uint64_t *reads, uint64_t *torn, uint64_t *mixed)
{
	const float *found[2][SP_FRESH_BLOCK];
	int64_t keys[SP_FRESH_BLOCK], first = (int64_t)(draw() % (8 * ROWS / SP_FRESH_BLOCK));
	sp_fresh_view view;

	for (int64_t i = 0; i < SP_FRESH_BLOCK; i++)
		keys[i] = first * SP_FRESH_BLOCK + i;
	sp_fresh_pin(&view, b->fresh, 0, -1);
	for (size_t t = 0; t < 2; t++)
		sp_fresh_find(sp_fresh_table(b->fresh, t), &view, keys, SP_FRESH_BLOCK, found[t]);
	for (size_t i = 0; i < SP_FRESH_BLOCK; i++) {
		if ((found[0][i] == NULL) != (found[1][i] == NULL))
			++*mixed;
		if (found[0][i] == NULL || found[1][i] == NULL)
			continue;
		*torn += !is_whole(found[0][i]) + !is_whole(found[1][i]);
		*mixed += memcmp(found[0][i], found[1][i], sizeof(float)) != 0;
		*reads += 2;
	}
	sp_fresh_unpin(b->fresh, 0);
}

static void measure_torn(bench *b)
{
	uint64_t reads = 0, torn = 0, mixed = 0;
	pthread_t writer;
	int64_t start;
	double seconds;

	open_tables(b);
	if (pthread_create(&writer, NULL, write_on, b) != 0)
		sp_bench_fail("no thread");
	start = sp_clock_now_ns();
	while (reads < b->reads)
		read_block(b, &reads, &torn, &mixed);
	seconds = (double)(sp_clock_now_ns() - start) / 1e9;
	atomic_store(&b->done, true);
	pthread_join(writer, NULL);
	printf("{\"bench\":\"torn\",\"reads\":%llu,\"torn\":%llu,\"mixed\":%llu,\"reads_s\":%.0f,"
	       "\"rows_s\":%.0f}\n",
	       (unsigned long long)reads, (unsigned long long)torn, (unsigned long long)mixed,
	       (double)reads / seconds, (double)b->put / seconds);
	fflush(stdout);
	close_tables(b);
}

/* ------------------------------------------------------------------ lookups */

static double look_up(const sp_table *table, const sp_fresh_view *view)
{
	static int64_t keys[LOOKUP];
	static float rows[LOOKUP * DIM];
	sp_lookup lookup = {.table = table,
			    .keys = keys,
			    .count = LOOKUP,
			    .rows = rows,
			    .stride = DIM,
			    .fresh = view};
	void *scratch = aligned_alloc(64, (sp_lookup_scratch(&lookup, 1) + 64) / 64 * 64);
	int64_t spent = 0;

	for (int r = 0; r < ROUNDS; r++) {
		int64_t start;

		for (size_t i = 0; i < LOOKUP; i++)
			keys[i] = (int64_t)(draw() % TABLE_ROWS);
		start = processor_ns();
		if (sp_lookup_run(&lookup, 1, scratch, 0, NULL) != SP_OK)
			sp_bench_fail("a lookup fails");
		spent += processor_ns() - start;
	}
	free(scratch);
	return (double)spent / ROUNDS / LOOKUP;
}

static void measure_lookups(bench *b)
{
	int64_t *keys = calloc(TABLE_ROWS, sizeof(*keys));
	float *rows = calloc((size_t)TABLE_ROWS * DIM, sizeof(*rows));
	sp_table *table;
	sp_fresh_view view;
	double without, none, all;

	open_tables(b);
	for (int64_t i = 0; i < TABLE_ROWS; i++)
		keys[i] = i;
	if (sp_table_from_rows(&table, &(sp_table_options){.name = "a", .dim = DIM}, keys, rows,
			       TABLE_ROWS, NULL) != SP_OK)
		sp_bench_fail("no table");
	sp_table_set_fresh(table, sp_fresh_table(b->fresh, 0));
	for (size_t i = 0; i < ROWS; i++)
		set_entry(b->messages[0], i, (int64_t)(TABLE_ROWS + i), 1);
	apply(b, b->messages[0], 0);
	sp_row_applier_tick(b->applier, INT64_MAX);
	without = look_up(table, NULL);
	sp_fresh_pin(&view, b->fresh, 0, -1);
	none = look_up(table, &view);
	sp_fresh_unpin(b->fresh, 0);
	for (size_t m = 0; m < TABLE_ROWS / ROWS; m++) {
		for (size_t i = 0; i < ROWS; i++)
			set_entry(b->messages[0], i, (int64_t)(m * ROWS + i), 1);
		apply(b, b->messages[0], 0);
	}
	sp_row_applier_tick(b->applier, INT64_MAX);
	sp_fresh_pin(&view, b->fresh, 0, -1);
	all = look_up(table, &view);
	sp_fresh_unpin(b->fresh, 0);
	printf("{\"bench\":\"lookup\",\"without_ns\":%.1f,\"none_ns\":%.1f,\"all_ns\":%.1f}\n",
	       without, none, all);
	sp_table_destroy(table);
	close_tables(b);
	free(keys);
	free(rows);
}

int main(int argc, char **argv)
{
	static const char usage[] = "bench_fresh [KEYS [READS]]\n";
	bench b = {.keys = 2000000, .reads = 100000000};

	sp_bench_read_options(argc, argv, usage);
	if (argc > 1)
		b.keys = strtoull(argv[1], NULL, 10) / ROWS * ROWS;
	if (argc > 2)
		b.reads = strtoull(argv[2], NULL, 10);
	if (b.keys == 0)
		sp_bench_fail("too few keys");
	make_messages(&b);
	measure_applying(&b);
	measure_lookups(&b);
	measure_torn(&b);
	for (size_t m = 0; m < MESSAGES; m++)
		free(b.messages[m]);
	return 0;
}
