/*
 * Measures how many rows a second a process answers other processors (storage/shards/).
 *
 *   bench_shards [ROWS [DIM [BATCH [SECONDS [ADDRESS]]]]]
 *
 * A process of its own holds a table of ROWS rows of DIM floats and answers at ADDRESS (HOST:PORT,
 * or unix:PATH; 127.0.0.1:0 is any port) with one thread.  This one asks for random rows, BATCH
 * keys at a time, with IN_FLIGHT requests open, checks every answer, and prints one line of JSON:
 *
 *   rows_per_s       answered
 *   asked_cpu_s      processor time of the process that is asked, per second
 *   rows_per_core_s  rows per second of that processor time
 *   round_trip_us    mean time from a request to its answer
 */
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <signal.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "bench/must.h"
#include "bench/usage.h"
#include "storage/shards/shard_client.h"
#include "storage/shards/shard_server.h"
#include "storage/table/table_builder.h"

enum { IN_FLIGHT = 16 };

typedef struct bench {
	size_t rows, dim, batch;
	double seconds;
	const char *address;
	sp_shard_client *client;
	uint64_t token, random;
	atomic_uint_least64_t answered, wrong;
	atomic_int open;
	atomic_bool ending;
} bench;

/* Distinct keys, spread over 63 bits like hashed features. */
static int64_t key_of(uint64_t i)
{
	return (int64_t)((i + 1) * 0x9e3779b97f4a7c15u >> 1);
}

/* ---- who is asked ---- */

static double cpu_seconds(void)
{
	struct rusage use;

	getrusage(RUSAGE_SELF, &use);
	return (double)use.ru_utime.tv_sec + (double)use.ru_stime.tv_sec +
	       ((double)use.ru_utime.tv_usec + (double)use.ru_stime.tv_usec) / 1e6;
}

static sp_table *make_table(const bench *b)
{
	sp_table_options options = {.name = "t", .dim = b->dim};
	int64_t *keys = malloc(b->rows * sizeof(*keys));
	float *rows = malloc(b->rows * b->dim * sizeof(*rows));
	sp_table *table;
	sp_error err;

	if (keys == NULL || rows == NULL)
		sp_bench_fail("no memory");
	for (size_t i = 0; i < b->rows; i++) {
		keys[i] = key_of(i);
		for (size_t d = 0; d < b->dim; d++)
			rows[i * b->dim + d] = (float)(i % 1000) + (float)d;
	}
	sp_bench_check(sp_table_from_rows(&table, &options, keys, rows, b->rows, &err), &err);
	free(keys);
	free(rows);
	return table;
}

/* Says where it listens; then its processor time at each byte that comes, until the end. */
static void answer(const bench *b, int in, int out)
{
	sp_table *table = make_table(b);
	const sp_table *const tables[] = {table};
	const sp_shard_version version = {
		.full = 1, .content = 1, .slices = 1, .tables = tables, .count = 1};
	sp_shard_address address;
	const sp_shard_server_options options = {.address = &address};
	char text[SP_SHARD_ADDRESS_TEXT] = "", byte;
	sp_shard_server *server;
	sp_error err;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	sp_bench_check(sp_shard_address_parse(&address, sp_bytes_of(b->address), true, &err), &err);
	sp_bench_check(sp_shard_server_create(&server, &options, &err), &err);
	sp_bench_check(sp_shard_versions_publish(sp_shard_server_versions(server), &version, &err),
		       &err);
	sp_shard_address_text(sp_shard_server_address(server), text);
	if (write(out, text, sizeof(text)) != (ssize_t)sizeof(text))
		sp_bench_fail("the pipe is broken");
	while (read(in, &byte, 1) == 1) {
		double used = cpu_seconds();

		if (write(out, &used, sizeof(used)) != (ssize_t)sizeof(used))
			sp_bench_fail("the pipe is broken");
	}
	sp_shard_server_destroy(server);
	sp_table_destroy(table);
	exit(0);
}

static double asked_cpu(int to, int from)
{
	double used;

	if (write(to, "", 1) != 1 || read(from, &used, sizeof(used)) != (ssize_t)sizeof(used))
		sp_bench_fail("the pipe is broken");
	return used;
}

/* ---- who asks ---- */

static void ask(bench *b);

static void end(bench *b)
{
	if (atomic_load(&b->ending))
		atomic_fetch_sub(&b->open, 1);
	else
		ask(b);
}

static bool take_rows(void *owner, size_t tag, uint8_t kind, sp_bytes body)
{
	bench *b = owner;
	sp_shard_rows rows;

	(void)tag;
	if (kind != SP_SHARD_ROWS ||
	    !sp_shard_rows_next(&rows, &body, (uint32_t)b->batch, b->dim) || body.size != 0)
		return false;
	for (size_t i = 0; i < b->batch; i++)
		if ((rows.bits[i / 64] >> i % 64 & 1) == 0)
			atomic_fetch_add(&b->wrong, 1);
	atomic_fetch_add(&b->answered, b->batch);
	end(b);
	return true;
}

static void miss_rows(void *owner, size_t tag, bool no_version, const char *reason)
{
	(void)owner;
	(void)tag;
	(void)no_version;
	sp_bench_fail(reason);
}

/* By the client's thread, but for the first ones. */
static void ask(bench *b)
{
	static const sp_shard_callbacks callbacks = {.on_response = take_rows,
						     .on_failure = miss_rows};
	sp_shard_call *call = sp_shard_call_begin(b->client, 0, SP_SHARD_LOOKUP, &callbacks, b, 0);
	sp_buffer *body;

	if (call == NULL)
		sp_bench_fail("no memory");
	body = sp_shard_call_body(call);
	sp_shard_put_u64(body, b->token);
	sp_shard_put_u64(body, 1);
	sp_shard_put_u32(body, 0);
	sp_shard_put_u32(body, (uint32_t)b->batch);
	for (size_t i = 0; i < b->batch; i++) {
		b->random = b->random * 6364136223846793005u + 1442695040888963407u;
		sp_shard_put_u64(body, (uint64_t)key_of((b->random >> 20) % b->rows));
	}
	sp_shard_call_send(b->client, call);
}

static bool take_tables(void *owner, size_t tag, uint8_t kind, sp_bytes body)
{
	bench *b = owner;
	sp_shard_tables tables;

	(void)tag;
	if (kind != SP_SHARD_TABLES || !sp_shard_tables_read(&tables, body))
		return false;
	b->token = tables.token;
	atomic_store(&b->open, 1);
	return true;
}

static void nap(double seconds)
{
	struct timespec time = {(time_t)seconds, (long)((seconds - (double)(time_t)seconds) * 1e9)};

	nanosleep(&time, NULL);
}

static void find_version(bench *b)
{
	static const sp_shard_callbacks callbacks = {.on_response = take_tables,
						     .on_failure = miss_rows};
	sp_shard_client_counters c;
	sp_shard_call *call;

	do {
		nap(0.001);
		sp_shard_client_count(b->client, &c);
	} while (c.peers_up == 0);
	call = sp_shard_call_begin(b->client, 0, SP_SHARD_VERSION, &callbacks, b, 0);
	if (call == NULL)
		sp_bench_fail("no memory");
	sp_shard_put_u64(sp_shard_call_body(call), 1);
	sp_shard_put_u64(sp_shard_call_body(call), 1);
	sp_shard_call_send(b->client, call);
	while (atomic_load(&b->open) == 0)
		nap(0.001);
}

static void measure(bench *b, int to, int from)
{
	sp_shard_client_counters before, after;
	uint64_t answered;
	double cpu, seconds;
	int64_t begun_ns;

	atomic_store(&b->open, IN_FLIGHT);
	for (size_t i = 0; i < IN_FLIGHT; i++) {
		b->random = i;
		ask(b);
	}
	nap(0.5);
	sp_shard_client_count(b->client, &before);
	answered = atomic_load(&b->answered);
	cpu = asked_cpu(to, from);
	begun_ns = sp_clock_now_ns();
	nap(b->seconds);
	answered = atomic_load(&b->answered) - answered;
	cpu = asked_cpu(to, from) - cpu;
	seconds = (double)(sp_clock_now_ns() - begun_ns) / 1e9;
	sp_shard_client_count(b->client, &after);
	atomic_store(&b->ending, true);
	while (atomic_load(&b->open) != 0)
		nap(0.001);
	if (atomic_load(&b->wrong) != 0)
		sp_bench_fail("rows are missing");
	printf("{\"rows\":%zu,\"dim\":%zu,\"batch\":%zu,\"address\":\"%s\",\"rows_per_s\":%.0f,"
	       "\"asked_cpu_s\":%.2f,\"rows_per_core_s\":%.0f,\"round_trip_us\":%.0f}\n",
	       b->rows, b->dim, b->batch, b->address, (double)answered / seconds, cpu / seconds,
	       (double)answered / cpu,
	       (double)(after.round_trip_ns - before.round_trip_ns) / 1e3 /
		       (double)(after.round_trip_count - before.round_trip_count));
}

static const char usage[] =
	"bench_shards [ROWS [DIM [BATCH [SECONDS [ADDRESS]]]]]\n\n"
	"Rows a second that a process of its own answers, with processor time; one line of JSON.\n"
	"ROWS 1000000, DIM 16 floats, BATCH 1000 keys a request, SECONDS 3, ADDRESS "
	"127.0.0.1:0.\n";

static size_t number(int argc, char **argv, int i, size_t otherwise)
{
	return argc > i ? strtoull(argv[i], NULL, 10) : otherwise;
}

int main(int argc, char **argv)
{
	static bench b;
	static sp_shard_peers peers;
	const sp_shard_client_options options = {.peers = &peers};
	char text[SP_SHARD_ADDRESS_TEXT];
	int to[2], from[2];
	sp_error err;
	pid_t pid;

	sp_bench_read_options(argc, argv, usage);
	b.rows = number(argc, argv, 1, 1000000);
	b.dim = number(argc, argv, 2, 16);
	b.batch = number(argc, argv, 3, 1000);
	b.seconds = (double)number(argc, argv, 4, 3);
	b.address = argc > 5 ? argv[5] : "127.0.0.1:0";
	if (b.rows == 0 || b.dim == 0 || b.batch == 0 || b.batch > 100000 || b.seconds == 0)
		sp_bench_fail("numbers from 1 on, and at most 100000 keys at a time");
	if (pipe(to) != 0 || pipe(from) != 0 || (pid = fork()) < 0)
		sp_bench_fail("no process");
	if (pid == 0) {
		close(to[1]);
		answer(&b, to[0], from[1]);
	}
	close(to[0]);
	close(from[1]);
	if (read(from[0], text, sizeof(text)) != (ssize_t)sizeof(text))
		sp_bench_fail("the other process has ended");
	sp_bench_check(sp_shard_peers_parse(&peers, text, &err), &err);
	sp_bench_check(sp_shard_client_create(&b.client, &options, &err), &err);
	find_version(&b);
	measure(&b, to[1], from[0]);
	sp_shard_client_destroy(b.client);
	close(to[1]);
	waitpid(pid, NULL, 0);
	return 0;
}
