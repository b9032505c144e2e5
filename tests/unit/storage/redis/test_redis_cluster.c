#include "tests/support/cmocka.h"

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/arena.h"
#include "base/clock.h"
#include "base/file.h"
#include "base/thread.h"
#include "storage/redis/redis_slots.h"
#include "storage/redis/redis_tier_internal.h"
#include "tests/support/redis_process.h"

/*
 * Three masters, each with a replica.  A replica loses its master.  While two threads read, a slot
 * moves, and a master is killed: a row that is found is right, and a key counts as absent only if
 * it is.  Another one is killed while serving_tool publishes, and rows are lost: nobody sees the
 * version before it is published again.
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

static sp_redis_submit_options patiently(void)
{
	return (sp_redis_submit_options){.deadline_ns = sp_clock_now_ns() + (int64_t)LONG_MS * MS};
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
	const sp_redis_submit_options how = patiently();
	sp_redis_batch *batch = sp_redis_batch_create(admins[server]);
	const sp_redis_value *answer;

	add_words(batch, count, words);
	assert_ok(sp_redis_batch_run(batch, &how, &err), &err);
	answer = sp_redis_batch_reply(batch, 0);
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

/* How many replicas a server names beside the masters of slots. */
static size_t replicas_told_by(size_t server)
{
	static const char *const words[] = {"CLUSTER", "SLOTS"};
	const sp_redis_submit_options how = patiently();
	sp_redis_batch *batch = sp_redis_batch_create(admins[server]);
	const sp_redis_value *value;
	size_t told = 0;

	add_words(batch, 2, words);
	assert_ok(sp_redis_batch_run(batch, &how, &err), &err);
	value = sp_redis_batch_reply(batch, 0);
	for (int64_t left = value->integer; left > 0; value++)
		if (value->depth == 1) { /* [first, last, master, replica...] */
			told += (size_t)value->integer - 3;
			left--;
		}
	sp_redis_batch_release(batch);
	return told;
}

/* One that has not heard yet how far a replica is leaves it out. */
static void wait_for_replicas(size_t server)
{
	int left = 4000;

	while (replicas_told_by(server) != MASTERS && left-- != 0)
		usleep(5000);
	assert_true(left >= 0);
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
	for (size_t s = 0; s < SERVERS; s++)
		wait_for_replicas(s);
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
	const sp_redis_submit_options how = patiently();
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
						.timeout_ms = 50,
						.open_timeout_ms = LONG_MS,
						.cache_bytes = 1};
	const sp_redis_table_options table = {.name = "t", .dim = DIM, .key_size = 8};

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

	sp_redis_client_counters(r->store->client, &c);
	return c.redirections;
}

/* Keys that are absent from hashes that are there are asked for once. */
static void assert_masters_are_spared(const reading *r)
{
	sp_redis_counters before, after;
	uint64_t unanswered;

	sp_redis_client_counters(r->store->client, &before);
	assert_int_equal(ask(r, 1, &unanswered), 0);
	sp_redis_client_counters(r->store->client, &after);
	assert_in_range(after.commands - before.commands, 1, PARTITIONS + 1); /* one for the map */
}

/* Until replicas answer, too. */
static void wait_for_connections(const reading *r)
{
	sp_redis_counters c = {0};

	for (int i = 0; i < 4000 && c.servers_up != SERVERS; i++) {
		sp_redis_client_counters(r->store->client, &c);
		usleep(1000);
	}
	assert_int_equal(c.servers_up, SERVERS);
}

/* A replica that has no link to its master, and refuses to answer without one. */
static void cut_off(size_t replica)
{
	tell(replica, "CONFIG", "SET", "replica-serve-stale-data", "no");
	tell(replica, "CONFIG", "SET", "masterauth", "wrong");
	tell(replica - MASTERS, "CLIENT", "KILL", "TYPE", "replica");
	wait_for(replica, "replication", "master_link_status:down");
}

static void join_again(size_t replica)
{
	tell(replica, "CONFIG", "SET", "masterauth", "");
	wait_for(replica, "replication", "master_link_status:up");
}

static void what_a_replica_cannot_answer_its_master_does(void **state)
{
	reading r;
	uint64_t unanswered;

	(void)state;
	open_reading(&r, true);
	wait_for_connections(&r);
	wait_until_well(&r);
	cut_off(MASTERS);
	for (unsigned seed = 0; seed < 2 * KEYS / MANY; seed++) {
		assert_int_equal(ask(&r, seed * 6, &unanswered), 0);
		assert_int_equal(unanswered, 0);
	}
	join_again(MASTERS);
	close_reading(&r);
}

static void readers_survive_moves_and_failures(void **state)
{
	static reading r, replicas; /* the threads may outlive a failed test */
	sp_thread_group *threads, *others;
	uint64_t before;

	(void)state;
	open_reading(&r, false);
	open_reading(&replicas, true);
	wait_until_well(&r);
	wait_until_well(&replicas);
	assert_ok(sp_thread_group_create(&threads, READERS, "reader", read_on, &r, &err), &err);
	assert_ok(sp_thread_group_create(&others, 1, "reader", read_on, &replicas, &err), &err);

	before = redirections(&r);
	for (size_t p = 0; p < 4; p++)
		move_slot(p);
	wait_until_well(&r);
	assert_true(redirections(&r) > before);
	atomic_store(&replicas.stop, true);
	sp_thread_group_destroy(others);
	/* Replicas do not have what moves: their masters are asked before it counts as lost. */
	assert_false(sp_redis_store_had_loss(replicas.store));
	wait_until_well(&replicas);
	assert_masters_are_spared(&replicas);

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
	assert_int_equal(replicas.wrong, 0);
	assert_true(r.calls > 10);
	close_reading(&r);
	close_reading(&replicas);
}

/* ---- a publication ---- */

enum { USERS = 30, USER_DIM = 3, USER_KEYS = 5000, OLD_STEP = 10, NEW_STEP = 20, SHORT_MS = 50 };

static char folder[SP_PATH_SIZE]; /* two full checkpoints of the same rows */

/* Rows of the table `user/block0` of version 10 as they were at first. */
static int64_t user_keys[USERS];
static float user_rows[USERS][USER_DIM];

static void make_checkpoints(void)
{
	char from[SP_PATH_SIZE], command[4 * SP_PATH_SIZE];

	sp_temp_make(folder);
	sp_source_path(from, "tests/golden/ev-parts/checkpoints/v1");
	snprintf(command, sizeof(command),
		 "cd '%s' && for f in model.ckpt-10.*; do cp $f '%s'/$f && "
		 "cp $f '%s'/model.ckpt-20.${f#model.ckpt-10.}; done",
		 from, folder, folder);
	assert_int_equal(system(command), 0);
}

/* Starts `serving_tool publish`; what it says is in "out" in the folder. */
static pid_t start_publishing(int step, const char *rate)
{
	char model[SP_PATH_SIZE], redis[SP_PATH_SIZE + 32], command[8 * SP_PATH_SIZE];
	const char *build = getenv("builddir");
	pid_t pid;

	sp_source_path(model, "tests/golden/ev-parts/model");
	snprintf(command, sizeof(command),
		 "exec '%s/serving_tool' publish --cluster --name=parts --lock_seconds=10 %s "
		 "'--model=%s' '%s/model.ckpt-%d' %s >'%s/out' 2>&1",
		 build != NULL ? build : ".", rate, model, folder, step,
		 sp_redis_tcp(&servers[2], redis), folder);
	pid = fork();
	if (pid == 0) {
		execl("/bin/sh", "sh", "-c", command, (char *)NULL);
		_exit(127);
	}
	return pid;
}

static bool has_ended(pid_t pid, int options, int *status)
{
	pid_t ended = waitpid(pid, status, options);

	assert_true(ended == 0 || ended == pid);
	*status = ended == pid && WIFEXITED(*status) ? WEXITSTATUS(*status) : -1;
	return ended == pid;
}

static int publish(int step)
{
	int status;

	has_ended(start_publishing(step, ""), 0, &status);
	return status;
}

static bool publisher_says(const char *text)
{
	char path[2 * SP_PATH_SIZE], *said;
	size_t size;
	bool found;

	snprintf(path, sizeof(path), "%s/out", folder);
	assert_ok(sp_file_read(&said, &size, path, 1 << 20, &err), &err);
	found = strstr(said, text) != NULL;
	sp_free(said);
	return found;
}

/* The answers to a command of the cluster, joined; "" for none. */
static void ask_cluster(char *out, size_t size, size_t count, const char *const *words)
{
	const sp_redis_submit_options how = patiently();
	sp_redis_batch *batch = sp_redis_batch_create(client);
	const sp_redis_value *answer;
	size_t used = 0;

	add_words(batch, count, words);
	assert_ok(sp_redis_batch_run(batch, &how, &err), &err);
	answer = sp_redis_batch_reply(batch, 0);
	out[0] = '\0';
	for (int64_t i = 0; i <= (answer->kind == SP_REDIS_ARRAY ? answer->integer : 0); i++)
		if (answer[i].text != NULL && used < size)
			used += (size_t)snprintf(out + used, size - used, "%s\n", answer[i].text);
	sp_redis_batch_release(batch);
}

static bool is_current(int step)
{
	char text[SP_REDIS_MAX_RECORD + 2], wanted[32];

	snprintf(wanted, sizeof(wanted), "full=%d ", step);
	ask_cluster(text, sizeof(text), WORDS("GET", "parts.current"));
	return strncmp(text, wanted, strlen(wanted)) == 0;
}

/* A hash of a table whose master is never killed.  Slots of the first partitions have moved. */
static const char *choose_hash(const char *table, const sp_redis_version *its)
{
	for (size_t p = PARTITIONS; p < its->partitions; p++) {
		const char *hash = sp_redis_hash_name(arena, "parts", table, its, p);

		if (owner_of(sp_redis_slot(hash, strlen(hash))) == 2)
			return hash;
	}
	fail_msg("no partition of '%s' is on server 2", table);
	return NULL;
}

/* Until the first of its tables is complete: a hash of it. */
static const char *wait_for_a_table(void)
{
	char records[2048], tables[2048], *record, *name, *state;
	sp_redis_version its;

	for (int i = 0; i < 4000; i++) {
		ask_cluster(records, sizeof(records), WORDS("SMEMBERS", "parts.versions"));
		record = strstr(records, "full=20 ");
		if (record != NULL) {
			*strchrnul(record, '\n') = '\0';
			assert_ok(sp_redis_record_read(&its, sp_bytes_of(record), &err), &err);
			ask_cluster(tables, sizeof(tables),
				    WORDS("HGETALL", sp_redis_tables_name(arena, "parts", &its)));
			for (name = tables; (state = strchr(name, '\n')) != NULL;
			     name = strchr(state + 1, '\n') + 1) {
				*state = '\0';
				if (strncmp(state + 1, "done ", 5) == 0)
					return choose_hash(name, &its);
			}
		}
		usleep(2000);
	}
	fail_msg("no table is ever published");
	return NULL;
}

static sp_status open_users(reading *r, int step, int64_t limit_ms)
{
	const sp_redis_store_options options = {.address = &address,
						.is_cluster = true,
						.model = "parts",
						.full = step,
						.timeout_ms = limit_ms,
						.open_timeout_ms = LONG_MS,
						.cache_bytes = 1};
	const sp_redis_table_options table = {
		.name = "user/block0", .dim = USER_DIM, .key_size = 8};
	sp_status status;

	*r = (reading){.store = NULL};
	status = sp_redis_store_open(&r->store, &options, &err);
	if (status == SP_OK)
		status = sp_redis_tier_open(&r->tier, r->store, &table, &err);
	if (status != SP_OK)
		sp_redis_store_release(r->store);
	return status;
}

/* Reads keys; returns how many were found. */
static size_t read_users(const reading *r, const int64_t *keys, size_t count,
			 float rows[][USER_DIM], bool *found)
{
	float *places[MANY];
	const sp_tier_read read = {r->tier, keys, count, places, found};
	void *scratch = aligned_alloc(64, r->tier->kind->scratch(r->tier, MANY));
	size_t there = 0;

	for (size_t i = 0; i < count; i++)
		places[i] = rows[i];
	assert_int_equal(r->tier->kind->read(&read, 1, scratch, 0, NULL), SP_OK);
	free(scratch);
	for (size_t i = 0; i < count; i++)
		there += found[i];
	return there;
}

static void learn_users(void)
{
	reading r;
	int64_t keys[MANY];
	float rows[MANY][USER_DIM];
	bool found[MANY];
	size_t count = 0;

	assert_ok(open_users(&r, OLD_STEP, LONG_MS), &err);
	for (int64_t first = 0; first < USER_KEYS; first += MANY) {
		for (size_t i = 0; i < MANY; i++)
			keys[i] = first + (int64_t)i;
		read_users(&r, keys, MANY, rows, found);
		for (size_t i = 0; i < MANY && count < USERS; i++)
			if (found[i]) {
				user_keys[count] = keys[i];
				memcpy(user_rows[count++], rows[i], sizeof(rows[i]));
			}
	}
	assert_int_equal(count, USERS);
	close_reading(&r);
}

/* Those that are found are right; returns whether all are. */
static bool users_are_right(const reading *r)
{
	float rows[USERS][USER_DIM];
	bool found[USERS];
	size_t there = read_users(r, user_keys, USERS, rows, found);

	for (size_t i = 0; i < USERS; i++)
		assert_true(!found[i] || memcmp(rows[i], user_rows[i], sizeof(rows[i])) == 0);
	return there == USERS;
}

/* A single question may find that its time is over. */
static void wait_for_right_users(const reading *r)
{
	int left = 4000;

	while (!users_are_right(r) && left-- != 0)
		usleep(5000);
	assert_true(left >= 0);
}

/* While it runs: the former version is read; a version that is there is whole. */
static int watch_publisher(pid_t publisher, const reading *former)
{
	reading now;
	int status;

	while (!has_ended(publisher, WNOHANG, &status)) {
		users_are_right(former);
		if (is_current(NEW_STEP)) {
			assert_ok(open_users(&now, NEW_STEP, SHORT_MS), &err);
			close_reading(&now);
		}
		usleep(5000);
	}
	return status;
}

static void a_publication_is_whole_or_not_seen(void **state)
{
	char text[SP_REDIS_MAX_RECORD + 2];
	reading former, now;
	pid_t publisher;

	(void)state;
	make_checkpoints();
	assert_int_equal(publish(OLD_STEP), 0);
	assert_true(is_current(OLD_STEP));
	learn_users();
	assert_ok(open_users(&former, OLD_STEP, SHORT_MS), &err);

	publisher = start_publishing(NEW_STEP, "--rows_per_second=60");
	/* As where a master is lost with what its replica has not got yet, but certainly. */
	ask_cluster(text, sizeof(text), WORDS("DEL", wait_for_a_table()));
	assert_true(is_current(OLD_STEP));
	sp_redis_kill(&servers[1]);
	assert_int_equal(watch_publisher(publisher, &former), 1);
	assert_true(publisher_says("Redis"));
	assert_true(is_current(OLD_STEP));
	ask_cluster(text, sizeof(text), WORDS("GET", "parts@20"));
	assert_string_equal(text, "");

	publisher = start_publishing(NEW_STEP, "");
	assert_int_equal(watch_publisher(publisher, &former), 0);
	assert_true(is_current(NEW_STEP));
	assert_int_equal(publish(NEW_STEP), 0);
	assert_true(publisher_says("rows_sent: 0\n"));

	wait_for_right_users(&former);
	assert_ok(open_users(&now, NEW_STEP, SHORT_MS), &err);
	wait_for_right_users(&now);
	close_reading(&now);
	close_reading(&former);
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
	fill();
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	sp_arena_destroy(arena);
	sp_redis_client_destroy(client);
	sp_temp_remove(folder);
	for (size_t s = 0; s < SERVERS; s++) {
		sp_redis_client_destroy(admins[s]);
		sp_redis_end(&servers[s]);
	}
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_a_replica_cannot_answer_its_master_does),
		cmocka_unit_test(readers_survive_moves_and_failures),
		cmocka_unit_test(a_publication_is_whole_or_not_seen),
	};

	sp_redis_need();
	return cmocka_run_group_tests_name("redis_cluster", tests, set_up, tear_down);
}
