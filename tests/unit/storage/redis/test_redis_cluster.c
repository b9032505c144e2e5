#include "tests/support/cmocka.h"

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/clock.h"
#include "base/thread.h"
#include "storage/redis/redis_slots.h"
#include "storage/redis/redis_tier.h"
#include "tests/support/redis_process.h"

/*
 * Three masters, each with a replica.  While two threads read, a slot moves, and a master is
 * killed: a row that is found is right, and a key counts as absent only if it is.
 */
enum {
	MS = 1000000,
	MASTERS = 3,
	SERVERS = 2 * MASTERS,
	PARTITIONS = 16,
	KEYS = 2000,
	STEP = 2,
	DIM = 4,
	FULL = 7,
	READERS = 2,
	MANY = 100,
	LONG_MS = 20000,
};

static sp_redis_process servers[SERVERS];
static sp_redis_client *admins[SERVERS];
static sp_redis_address address;
static sp_redis_client *client;
static sp_arena *arena;
static sp_error err;

static const sp_redis_version version = {
	.full = FULL, .checksum = 5, .partitions = PARTITIONS, .format = SP_ROW_FP32, .former = -1};

/* ---- commands ---- */

static sp_redis_how patiently(void)
{
	return (sp_redis_how){.deadline_ns = sp_clock_now_ns() + (int64_t)LONG_MS * MS};
}

static void add_words(sp_redis_batch *batch, size_t count, const char *const *words)
{
	sp_redis_batch_begin(batch, count > 1 ? words[1] : NULL, count > 1 ? strlen(words[1]) : 0,
			     count);
	for (size_t i = 0; i < count; i++)
		sp_redis_batch_add_text(batch, words[i]);
}

/* Asks one server; copies the answer's text. */
static void ask_server(size_t server, char *out, size_t size, size_t count,
		       const char *const *words)
{
	const sp_redis_how how = patiently();
	sp_redis_batch *batch = sp_redis_batch_create(admins[server]);
	const sp_redis_value *answer;

	add_words(batch, count, words);
	assert_ok(sp_redis_batch_run(batch, &how, &err), &err);
	answer = sp_redis_batch_answer(batch, 0);
	if (out != NULL)
		snprintf(out, size, "%s", answer->text != NULL ? answer->text : "");
	sp_redis_batch_release(batch);
}

#define WORDS(...)                                                                               \
	sizeof((const char *const[]){__VA_ARGS__}) / sizeof(const char *), (const char *const[]) \
	{                                                                                        \
		__VA_ARGS__                                                                      \
	}
#define tell(server, ...) ask_server(server, NULL, 0, WORDS(__VA_ARGS__))

/* Until the text of an answer has `wanted`. */
static void wait_for(size_t server, const char *section, const char *wanted)
{
	char text[8192];

	for (int i = 0; i < 4000; i++) {
		if (strcmp(section, "replication") == 0)
			ask_server(server, text, sizeof(text), WORDS("INFO", section));
		else
			ask_server(server, text, sizeof(text), WORDS("CLUSTER", "INFO"));
		if (strstr(text, wanted) != NULL)
			return;
		usleep(5000);
	}
	fail_msg("server %zu never says %s", server, wanted);
}

/* ---- a cluster ---- */

static sp_redis_client *open_at(const char *text)
{
	sp_redis_address one;
	sp_redis_client *out;

	assert_ok(sp_redis_address_parse(&one, text, &err), &err);
	assert_ok(sp_redis_client_create(&out, &(sp_redis_client_options){.address = &one}, &err),
		  &err);
	return out;
}

static void name_of(size_t server, char out[64])
{
	ask_server(server, out, 64, WORDS("CLUSTER", "MYID"));
}

static void divide_slots(void)
{
	static const char *const ranges[MASTERS][2] = {
		{"0", "5460"}, {"5461", "10922"}, {"10923", "16383"}};

	for (size_t s = 0; s < MASTERS; s++)
		tell(s, "CLUSTER", "ADDSLOTSRANGE", ranges[s][0], ranges[s][1]);
}

static void join_all(void)
{
	char port[16], bus[16], known[64];

	for (size_t s = 1; s < SERVERS; s++) {
		snprintf(port, sizeof(port), "%d", servers[s].port);
		snprintf(bus, sizeof(bus), "%d", servers[s].bus_port);
		tell(0, "CLUSTER", "MEET", "127.0.0.1", port, bus);
	}
	snprintf(known, sizeof(known), "cluster_known_nodes:%d", SERVERS);
	for (size_t s = 0; s < SERVERS; s++) {
		wait_for(s, "cluster", known);
		wait_for(s, "cluster", "cluster_state:ok");
	}
}

static void make_cluster(void)
{
	char text[SP_PATH_SIZE + 32], id[64];

	for (size_t s = 0; s < SERVERS; s++) {
		sp_redis_start(&servers[s], true, NULL);
		admins[s] = open_at(sp_redis_unix(&servers[s], text));
	}
	divide_slots();
	join_all();
	for (size_t s = MASTERS; s < SERVERS; s++) {
		name_of(s - MASTERS, id);
		tell(s, "CLUSTER", "REPLICATE", id);
	}
	for (size_t s = MASTERS; s < SERVERS; s++)
		wait_for(s, "replication", "master_link_status:up");
}

/* ---- rows ---- */

static void make_row(int64_t key, float row[DIM])
{
	for (size_t d = 0; d < DIM; d++)
		row[d] = (float)key + (float)d / 4;
}

static void put(sp_redis_batch *batch, const char *hash, const void *field, size_t field_size,
		const void *value, size_t size)
{
	sp_redis_batch_begin(batch, hash, strlen(hash), 4);
	sp_redis_batch_add_text(batch, "HSET");
	sp_redis_batch_add_text(batch, hash);
	sp_redis_batch_add(batch, field, field_size);
	sp_redis_batch_add(batch, value, size);
}

static void fill(void)
{
	const sp_redis_how how = patiently();
	sp_redis_batch *batch = sp_redis_batch_create(client);
	char record[SP_REDIS_MAX_RECORD], mark[SP_REDIS_MARK_SIZE + 1];
	float row[DIM];

	sp_redis_record_write(record, &version);
	sp_redis_mark(mark, &version);
	add_words(batch, WORDS("SET", "m@7", record));
	for (size_t p = 0; p < PARTITIONS; p++)
		put(batch, sp_redis_hash_name(arena, "m", "t", &version, p), SP_REDIS_MARK_FIELD, 1,
		    mark, SP_REDIS_MARK_SIZE);
	for (int64_t key = 0; key < KEYS; key += STEP) {
		make_row(key, row);
		put(batch,
		    sp_redis_hash_name(arena, "m", "t", &version,
				       sp_redis_partition((uint64_t)key, PARTITIONS)),
		    &key, sizeof(key), row, sizeof(row));
	}
	assert_ok(sp_redis_batch_run(batch, &how, &err), &err);
	sp_redis_batch_release(batch);
}

/* ---- readers ---- */

typedef struct reading {
	sp_redis_store *store;
	sp_tier *tier;
	atomic_bool stop;
	atomic_uint wrong, calls;
} reading;

static void open_reading(reading *r, bool read_replicas)
{
	const sp_redis_store_options options = {.address = &address,
						.is_cluster = true,
						.read_replicas = read_replicas,
						.model = "m",
						.full = FULL,
						.limit_ms = 50,
						.patience_ms = LONG_MS,
						.cache_bytes = 1};
	const sp_redis_table table = {.name = "t", .dim = DIM, .key_size = 8};

	*r = (reading){.store = NULL};
	assert_ok(sp_redis_store_open(&r->store, &options, &err), &err);
	assert_ok(sp_redis_tier_open(&r->tier, r->store, &table, &err), &err);
}

static void close_reading(reading *r)
{
	sp_tier_release(r->tier);
	sp_redis_store_release(r->store);
}

static uint64_t defaulted(const reading *r)
{
	sp_tier_counters c;

	r->tier->kind->counters(r->tier, &c);
	return c.defaulted;
}

/* Asks for some keys; returns the keys that are neither there nor absent as they should be. */
static size_t ask(const reading *r, unsigned seed, uint64_t *unanswered)
{
	int64_t keys[MANY];
	float rows[MANY][DIM], row[DIM];
	float *places[MANY];
	bool found[MANY];
	const sp_tier_read read = {r->tier, keys, MANY, places, found};
	void *scratch = aligned_alloc(64, r->tier->kind->scratch(r->tier, MANY));
	size_t missing = 0, wrong = 0;
	uint64_t before = defaulted(r);

	for (size_t i = 0; i < MANY; i++) {
		keys[i] = (int64_t)((seed * 17 + i * 3) % KEYS);
		places[i] = rows[i];
	}
	wrong += r->tier->kind->read(&read, 1, scratch, 0, NULL) != SP_OK;
	free(scratch);
	for (size_t i = 0; i < MANY; i++) {
		make_row(keys[i], row);
		if (found[i])
			wrong += keys[i] % STEP != 0 || memcmp(row, rows[i], sizeof(row)) != 0;
		else
			missing += keys[i] % STEP == 0;
	}
	*unanswered = defaulted(r) - before;
	/* Other threads count, too: only where nothing is unanswered nothing may be missing. */
	return wrong + (*unanswered == 0 ? missing : 0);
}

static void read_on(void *context)
{
	reading *r = context;
	uint64_t unanswered;

	for (unsigned seed = 0; !atomic_load(&r->stop); seed++) {
		atomic_fetch_add(&r->wrong, (unsigned)ask(r, seed, &unanswered));
		atomic_fetch_add(&r->calls, 1);
		usleep(500); /* the cluster needs time to agree on a new master */
	}
}

/* Until every key of the table is answered again. */
static void wait_until_well(const reading *r)
{
	for (int i = 0; i < 4000; i++) {
		uint64_t sum = 0, unanswered;

		for (unsigned seed = 0; seed < 2 * KEYS / MANY; seed++) {
			assert_int_equal(ask(r, seed * 6, &unanswered), 0);
			sum += unanswered;
			if (unanswered != 0)
				break;
		}
		if (sum == 0)
			return;
		usleep(5000);
	}
	fail_msg("the cluster is not read again");
}

/* ---- what happens to the cluster ---- */

static size_t owner_of(uint32_t slot)
{
	return slot <= 5460 ? 0 : slot <= 10922 ? 1 : 2;
}

/* Moves the slot of a hash to another master, key by key. */
static void move_slot(size_t partition)
{
	const char *hash = sp_redis_hash_name(arena, "m", "t", &version, partition);
	uint32_t number = sp_redis_slot(hash, strlen(hash));
	size_t from = owner_of(number), to = (from + 1) % MASTERS;
	char slot[16], port[16], from_id[64], to_id[64];

	snprintf(slot, sizeof(slot), "%u", number);
	snprintf(port, sizeof(port), "%d", servers[to].port);
	name_of(from, from_id);
	name_of(to, to_id);
	tell(to, "CLUSTER", "SETSLOT", slot, "IMPORTING", from_id);
	tell(from, "CLUSTER", "SETSLOT", slot, "MIGRATING", to_id);
	usleep(5000); /* readers meet a slot that has not moved yet */
	tell(from, "MIGRATE", "127.0.0.1", port, hash, "0", "5000");
	usleep(20000); /* and are told where to ask */
	for (size_t s = 0; s < MASTERS; s++)
		tell((to + s) % MASTERS, "CLUSTER", "SETSLOT", slot, "NODE", to_id);
}

static uint64_t redirections(const reading *r)
{
	sp_redis_counters c;

	sp_redis_store_counters(r->store, &c);
	return c.redirections;
}

static void readers_survive_moves_and_failures(void **state)
{
	static reading r, replicas; /* the threads may outlive a failed test */
	sp_thread_group *threads;
	uint64_t before;

	(void)state;
	fill();
	open_reading(&r, false);
	open_reading(&replicas, true);
	wait_until_well(&r);
	wait_until_well(&replicas);
	assert_ok(sp_thread_group_create(&threads, READERS, "reader", read_on, &r, &err), &err);

	before = redirections(&r);
	for (size_t p = 0; p < 4; p++)
		move_slot(p);
	wait_until_well(&r);
	assert_true(redirections(&r) > before);

	/* Replication does not wait: what a master has just got may be lost with it. */
	tell(0, "SET", "bar", "x");
	tell(0, "WAIT", "1", "10000");
	sp_redis_kill(&servers[0]);
	wait_until_well(&replicas);
	wait_until_well(&r); /* its replica is a master now */
	wait_for(MASTERS, "replication", "role:master");

	atomic_store(&r.stop, true);
	sp_thread_group_destroy(threads);
	assert_int_equal(r.wrong, 0);
	assert_true(r.calls > 10);
	close_reading(&r);
	close_reading(&replicas);
}

static int set_up(void **state)
{
	char text[SP_PATH_SIZE + 32], two[2 * SP_PATH_SIZE];

	(void)state;
	make_cluster();
	snprintf(two, sizeof(two), "%s,", sp_redis_tcp(&servers[4], text));
	strcat(two, sp_redis_tcp(&servers[1], text));
	assert_ok(sp_redis_address_parse(&address, two, &err), &err);
	assert_ok(sp_redis_client_create(
			  &client,
			  &(sp_redis_client_options){.address = &address, .is_cluster = true},
			  &err),
		  &err);
	arena = sp_arena_create(1 << 16);
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	sp_arena_destroy(arena);
	sp_redis_client_destroy(client);
	for (size_t s = 0; s < SERVERS; s++) {
		sp_redis_client_destroy(admins[s]);
		sp_redis_end(&servers[s]);
	}
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(readers_survive_moves_and_failures),
	};

	sp_redis_need();
	return cmocka_run_group_tests_name("redis_cluster", tests, set_up, tear_down);
}
