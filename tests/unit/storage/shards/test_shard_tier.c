#include "tests/support/cmocka.h"

#include <poll.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/parallel.h"
#include "base/thread.h"
#include "storage/shards/shard_rule.h"
#include "storage/shards/shard_server.h"
#include "storage/shards/shard_tier.h"
#include "storage/table/table_builder.h"

/*
 * Two tables with the rows of keys 0, 3, 6 ... in two slices, each held by a server of its own, at
 * unix sockets or ports.  Limits are far above what an answer takes, except where none comes.
 */
enum {
	MS = 1000000,
	KEYS = 900,
	STEP = 3,
	DIM = 10,
	FULL = 42,
	CONTENT = 77,
	SLICES = 2,
	MANY = 1500,
	LONG_MS = 20000,
	SHORT_MS = 30,
};

static const char *const names[] = {"user/emb", "item"};
static char folder[64];
static sp_shard_server *servers[SLICES];
static int64_t silence_ms, connect_ms; /* 0: as usual */
static sp_error err;

/* ---- what is held ---- */

static void make_row(int64_t key, size_t table, int64_t full, float row[DIM])
{
	for (size_t d = 0; d < DIM; d++)
		row[d] = (float)(key % 251 + (int64_t)table * 1000 + full) + (float)d / 8;
}

static sp_table *make_table(size_t table, uint32_t slice, int64_t full)
{
	sp_table_options options = {.name = names[table], .dim = DIM};
	static int64_t keys[KEYS];
	static float rows[KEYS * DIM];
	size_t count = 0;
	sp_table *made;

	for (int64_t key = 0; key < (int64_t)KEYS * STEP; key += STEP) {
		if (sp_shard_of_key(key, SLICES) != slice)
			continue;
		keys[count] = key;
		make_row(key, table, full, rows + count * DIM);
		count++;
	}
	assert_ok(sp_table_from_rows(&made, &options, keys, rows, count, &err), &err);
	return made;
}

static void publish(uint32_t slice, int64_t full)
{
	sp_table *made[] = {make_table(0, slice, full), make_table(1, slice, full)};
	const sp_table *const tables[] = {made[0], made[1]};
	const sp_shard_version version = {.full = full,
					  .content = CONTENT,
					  .slice = slice,
					  .slices = SLICES,
					  .tables = tables,
					  .count = 2};

	assert_ok(
		sp_shard_holdings_publish(sp_shard_server_holdings(servers[slice]), &version, &err),
		&err);
	sp_table_destroy(made[0]);
	sp_table_destroy(made[1]);
}

static void path_of(char out[100], const char *name)
{
	snprintf(out, 100, "%s/%s", folder, name);
}

static void start_at(uint32_t slice, const char *text)
{
	sp_shard_address address;
	sp_shard_server_options options = {.address = &address};

	assert_ok(sp_shard_address_parse(&address, sp_bytes_of(text), true, &err), &err);
	assert_ok(sp_shard_server_create(&servers[slice], &options, &err), &err);
}

static void start(uint32_t slice)
{
	char text[120];

	snprintf(text, sizeof(text), "unix:%s/%u", folder, slice);
	start_at(slice, text);
	publish(slice, FULL);
}

static void stop(uint32_t slice)
{
	sp_shard_server_destroy(servers[slice]);
	servers[slice] = NULL;
}

static int set_up(void **state)
{
	(void)state;
	strcpy(folder, "/tmp/sp_shards_XXXXXX");
	assert_non_null(mkdtemp(folder));
	start(0);
	start(1);
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	stop(0);
	stop(1);
	rmdir(folder);
	return 0;
}

/* ---- who asks ---- */

typedef struct scene {
	sp_shard_client *client;
	sp_shard_store *store;
	sp_tier *tiers[2];
} scene;

static void peers_text(char out[512], const char *more)
{
	snprintf(out, 512, "unix:%s/0%s;unix:%s/1", folder, more, folder);
}

static void connect_scene(scene *s, const char *text, int64_t hedge_ms)
{
	static sp_shard_peers peers;
	sp_shard_client_options options = {.peers = &peers,
					   .hedge_ms = hedge_ms,
					   .connect_ms = connect_ms,
					   .silence_ms = silence_ms};
	char usual[512];

	peers_text(usual, "");
	*s = (scene){.client = NULL};
	assert_ok(sp_shard_peers_parse(&peers, text != NULL ? text : usual, &err), &err);
	assert_ok(sp_shard_client_create(&s->client, &options, &err), &err);
}

static sp_shard_store_options options_of(const scene *s)
{
	return (sp_shard_store_options){.client = s->client,
					.full = FULL,
					.content = CONTENT,
					.limit_ms = LONG_MS,
					.patience_ms = LONG_MS,
					.fails = true,
					.cache_bytes = 1 << 20};
}

static void open_store(scene *s, const sp_shard_store_options *options)
{
	assert_ok(sp_shard_store_open(&s->store, options, &err), &err);
	for (size_t t = 0; t < 2; t++)
		assert_ok(sp_shard_tier_open(&s->tiers[t], s->store, names[t], DIM, &err), &err);
}

static void open_scene(scene *s)
{
	sp_shard_store_options options;

	connect_scene(s, NULL, 0);
	options = options_of(s);
	open_store(s, &options);
}

static void close_scene(scene *s)
{
	for (size_t t = 0; t < 2; t++)
		sp_tier_release(s->tiers[t]);
	sp_shard_store_release(s->store);
	sp_shard_client_destroy(s->client);
}

typedef struct question {
	int64_t keys[MANY];
	float rows[MANY][DIM];
	float *places[MANY];
	bool found[MANY];
} question;

/* Asks both tables for keys from `first` on, each twice. */
static sp_status ask(const scene *s, question *q, int64_t first, sp_error *why)
{
	sp_tier_read reads[2];
	size_t size = s->tiers[0]->kind->scratch(s->tiers[0], MANY) * 2;
	void *scratch = aligned_alloc(64, size);
	sp_status status;

	for (size_t t = 0; t < 2; t++) {
		for (size_t i = 0; i < MANY; i++) {
			q[t].keys[i] = first + (int64_t)(i / 2);
			q[t].places[i] = q[t].rows[i];
			q[t].found[i] = true;
		}
		reads[t] = (sp_tier_read){.tier = s->tiers[t],
					  .keys = q[t].keys,
					  .count = MANY,
					  .rows = q[t].places,
					  .found = q[t].found};
	}
	status = reads[0].tier->kind->read(reads, 2, scratch, 0, why);
	free(scratch);
	return status;
}

static void check_rows(const question *q, int64_t full)
{
	for (size_t t = 0; t < 2; t++)
		for (size_t i = 0; i < MANY; i++) {
			int64_t key = q[t].keys[i];
			bool held = key >= 0 && key % STEP == 0 && key < (int64_t)KEYS * STEP;
			float wanted[DIM];

			assert_int_equal(q[t].found[i], held);
			make_row(key, t, full, wanted);
			if (held)
				assert_memory_equal(q[t].rows[i], wanted, sizeof(wanted));
		}
}

static void ask_well(const scene *s, int64_t first)
{
	question *q = malloc(2 * sizeof(*q));

	assert_ok(ask(s, q, first, &err), &err);
	check_rows(q, FULL);
	free(q);
}

/* Keys that nobody has asked for before get no answer. */
static sp_status ask_in_vain(const scene *s, int64_t first)
{
	question *q = malloc(2 * sizeof(*q));
	sp_status status = ask(s, q, first, &err);

	free(q);
	return status;
}

static sp_tier_counters counters_of(const scene *s)
{
	sp_tier_counters c;

	s->tiers[0]->kind->counters(s->tiers[0], &c);
	return c;
}

static sp_shard_client_counters client_of(const scene *s)
{
	sp_shard_client_counters c;

	sp_shard_client_count(s->client, &c);
	return c;
}

static void nap(void)
{
	(void)poll(NULL, 0, 5);
}

/* ---- rows ---- */

static void rows_come_from_their_slices(void **state)
{
	sp_shard_server_counters c;
	scene s;

	(void)state;
	open_scene(&s);
	assert_int_equal(s.tiers[0]->row_count, KEYS);
	for (int64_t first = -700; first < (int64_t)KEYS * STEP; first += 500)
		ask_well(&s, first);
	for (size_t i = 0; i < SLICES; i++) {
		sp_shard_server_count(servers[i], &c);
		assert_true(c.rows.questions != 0);
		assert_int_equal(c.connections, 1);
		assert_int_equal(c.malformed, 0);
	}
	assert_true(counters_of(&s).hot_hits != 0);
	assert_int_equal(counters_of(&s).defaulted, 0);
	close_scene(&s);
}

static void what_was_read_is_in_memory(void **state)
{
	uint64_t before;
	scene s;

	(void)state;
	open_scene(&s);
	ask_well(&s, 0);
	before = client_of(&s).questions;
	ask_well(&s, 0);
	assert_int_equal(client_of(&s).questions, before);
	close_scene(&s);
}

static void names_are_looked_up(void **state)
{
	char text[600];
	sp_shard_store_options options;
	scene s;

	(void)state;
	stop(0);
	start_at(0, "localhost:0");
	publish(0, FULL);
	snprintf(text, sizeof(text), "localhost:%d;unix:%s/1",
		 sp_shard_server_address(servers[0])->port, folder);
	connect_scene(&s, text, 0);
	options = options_of(&s);
	open_store(&s, &options);
	ask_well(&s, 0);
	close_scene(&s);
}

enum { THREADS = 4, ROUNDS = 20 };

static sp_status ask_often(void *context, size_t part, sp_error *why)
{
	const scene *s = context;
	question *q = malloc(2 * sizeof(*q));
	sp_status status = SP_OK;

	for (size_t i = 0; i < ROUNDS && status == SP_OK; i++) {
		status = ask(s, q, (int64_t)(i * 31 + part * 7), why);
		if (status == SP_OK)
			check_rows(q, FULL);
	}
	free(q);
	return status;
}

static void calls_at_once_get_right_rows(void **state)
{
	sp_shard_store_options options;
	scene s;

	(void)state;
	connect_scene(&s, NULL, 0);
	options = options_of(&s);
	options.cache_bytes = 1;
	open_store(&s, &options);
	assert_ok(sp_parallel_run(THREADS, THREADS, ask_often, &s, &err), &err);
	close_scene(&s);
}

/* ---- versions ---- */

static void a_version_that_is_not_there_is_refused(void **state)
{
	sp_shard_store_options options;
	sp_shard_store *store;
	char text[512];
	scene s;

	(void)state;
	connect_scene(&s, NULL, 0);
	options = options_of(&s);
	options.full = FULL + 1;
	assert_int_equal(sp_shard_store_open(&store, &options, &err), SP_NOT_FOUND);
	assert_non_null(strstr(err.text, "version 43, slice 0 at unix:"));
	publish(0, FULL + 1); /* the other slice still lacks it */
	assert_int_equal(sp_shard_store_open(&store, &options, &err), SP_NOT_FOUND);
	assert_non_null(strstr(err.text, "slice 1 at"));
	publish(1, FULL + 1);
	assert_ok(sp_shard_store_open(&store, &options, &err), &err);
	sp_shard_store_release(store);
	options.content++;
	assert_int_equal(sp_shard_store_open(&store, &options, &err), SP_NOT_FOUND);
	close_scene(&s);
	/* Slices in another order. */
	snprintf(text, sizeof(text), "unix:%s/1;unix:%s/0", folder, folder);
	connect_scene(&s, text, 0);
	options = options_of(&s);
	assert_int_equal(sp_shard_store_open(&store, &options, &err), SP_INVALID);
	assert_non_null(strstr(err.text, "holds slice 1 of 2"));
	close_scene(&s);
}

static void a_version_that_has_gone_is_no_answer(void **state)
{
	scene s;

	(void)state;
	open_scene(&s);
	ask_well(&s, 0);
	publish(1, FULL + 1); /* the former one stays for no time at all */
	(void)sp_shard_holdings_expire(sp_shard_server_holdings(servers[1]), INT64_MAX - 1);
	assert_int_equal(ask_in_vain(&s, 1000), SP_IO);
	assert_non_null(strstr(err.text, "it does not have the version"));
	ask_well(&s, 0); /* in memory */
	close_scene(&s);
}

static void other_tables_are_refused(void **state)
{
	sp_tier *tier;
	scene s;

	(void)state;
	open_scene(&s);
	assert_int_equal(sp_shard_tier_open(&tier, s.store, "other", DIM, &err), SP_INVALID);
	assert_int_equal(sp_shard_tier_open(&tier, s.store, names[0], DIM + 1, &err), SP_INVALID);
	close_scene(&s);
}

/* ---- faults ---- */

static void a_holder_that_is_down_is_used_when_it_is_back(void **state)
{
	sp_shard_store_options options;
	question *q = malloc(2 * sizeof(*q));
	int64_t first = 1000;
	scene s;

	(void)state;
	connect_scene(&s, NULL, 0);
	options = options_of(&s);
	options.fails = false;
	open_store(&s, &options);
	stop(1);
	assert_ok(ask(&s, q, 0, &err), &err);
	for (size_t i = 0; i < MANY; i++) /* the other slice answers */
		assert_int_equal(q[0].found[i], q[0].keys[i] % STEP == 0 &&
							sp_shard_of_key(q[0].keys[i], SLICES) == 0);
	assert_true(counters_of(&s).defaulted != 0);
	while (client_of(&s).slices_down != 1)
		nap();
	assert_int_equal(client_of(&s).peers_up, 1);
	start(1);
	while (client_of(&s).peers_up != 2)
		nap();
	/* Keys without an answer were not taken for absent. */
	assert_ok(ask(&s, q, 0, &err), &err);
	check_rows(q, FULL);
	assert_ok(ask(&s, q, first, &err), &err);
	check_rows(q, FULL);
	free(q);
	close_scene(&s);
}

/* The allocations of the threads fail as well. */
static void no_memory_is_no_crash(void **state)
{
	sp_status status = SP_NO_MEMORY;
	sp_shard_store_options options;
	question *q = malloc(2 * sizeof(*q));
	int64_t n = 0;
	scene s;

	(void)state;
	connect_scene(&s, NULL, 0);
	options = options_of(&s);
	options.patience_ms = options.limit_ms = 2 * SHORT_MS;
	options.cache_bytes = 1;
	for (; status != SP_OK; n++) {
		s.store = NULL;
		s.tiers[0] = NULL;
		sp_alloc_fail_after(n);
		status = sp_shard_store_open(&s.store, &options, &err);
		if (status == SP_OK)
			status = sp_shard_tier_open(&s.tiers[0], s.store, names[0], DIM, &err);
		sp_alloc_fail_after(-1);
		sp_tier_release(s.tiers[0]);
		sp_shard_store_release(s.store);
		assert_true(n < 1000);
	}
	assert_true(n > 5);
	options.patience_ms = LONG_MS;
	open_store(&s, &options);
	for (n = 0; n < 20; n++) {
		sp_alloc_fail_after(n);
		(void)!ask(&s, q, n * 100, &err);
		sp_alloc_fail_after(-1);
	}
	/* It goes on when there is memory again. */
	while (ask(&s, q, 0, &err) != SP_OK)
		nap();
	check_rows(q, FULL);
	free(q);
	close_scene(&s);
}

/* A listener that answers nothing, or what it is given. */
static int listen_at(const char *name)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	char path[100];
	int fd = socket(AF_UNIX, SOCK_STREAM, 0);

	path_of(path, name);
	memcpy(address.sun_path, path, strlen(path));
	assert_int_equal(bind(fd, (struct sockaddr *)&address, sizeof(address)), 0);
	assert_int_equal(listen(fd, 10), 0);
	return fd;
}

static void remove_socket(const char *name)
{
	char path[100];

	path_of(path, name);
	unlink(path);
}

static int connect_to(const char *name)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	char path[100];
	int fd = socket(AF_UNIX, SOCK_STREAM, 0);

	path_of(path, name);
	memcpy(address.sun_path, path, strlen(path));
	assert_int_equal(connect(fd, (struct sockaddr *)&address, sizeof(address)), 0);
	return fd;
}

/*
 * Stands for the holder at "0" as a process that can be stopped: while it hangs, connections stay
 * open and new ones are made by the system, and nothing is read or answered.
 */
enum { MOST_RELAYED = 64 };

typedef struct relay {
	sp_thread_group *thread;
	atomic_bool hangs, ends;
	int listener;
	int ends_of[MOST_RELAYED][2]; /* the client's, the holder's; [count] */
	size_t count;
} relay;

/* Closes both at the end of either. */
static void pass_on(int pair[2], int from)
{
	static char bytes[1 << 16];
	struct pollfd ready = {.fd = pair[from], .events = POLLIN};
	ssize_t n;

	if (pair[0] < 0 || poll(&ready, 1, 0) != 1)
		return;
	n = recv(pair[from], bytes, sizeof(bytes), 0);
	if (n > 0 && send(pair[1 - from], bytes, (size_t)n, MSG_NOSIGNAL) == n)
		return;
	close(pair[0]);
	close(pair[1]);
	pair[0] = pair[1] = -1;
}

static void relay_main(void *context)
{
	relay *r = context;

	while (!atomic_load(&r->ends)) {
		struct pollfd ready = {.fd = r->listener, .events = POLLIN};

		(void)poll(NULL, 0, 1);
		if (atomic_load(&r->hangs))
			continue;
		if (r->count < MOST_RELAYED && poll(&ready, 1, 0) == 1) {
			r->ends_of[r->count][0] = accept(r->listener, NULL, NULL);
			r->ends_of[r->count++][1] = connect_to("0");
		}
		for (size_t i = 0; i < 2 * r->count; i++)
			pass_on(r->ends_of[i / 2], (int)(i % 2));
	}
	for (size_t i = 0; i < 2 * r->count; i++)
		close(r->ends_of[i / 2][i % 2]);
}

static void start_relay(relay *r)
{
	*r = (relay){.listener = listen_at("relay")};
	assert_ok(sp_thread_group_create(&r->thread, 1, "relay", relay_main, r, &err), &err);
}

static void end_relay(relay *r)
{
	atomic_store(&r->ends, true);
	sp_thread_group_destroy(r->thread);
	close(r->listener);
	remove_socket("relay");
}

static atomic_int downs, ups; /* log lines about the relay */

static void count_line(void *context, int level, const char *line)
{
	(void)context;
	(void)level;
	if (strstr(line, "/relay cannot be reached: it does not answer") != NULL)
		atomic_fetch_add(&downs, 1);
	if (strstr(line, "/relay is reached again") != NULL)
		atomic_fetch_add(&ups, 1);
}

static void a_holder_that_hangs_is_down(void **state)
{
	sp_shard_store_options options;
	char text[512];
	int64_t begun_ns;
	relay r;
	scene s;

	(void)state;
	start_relay(&r);
	sp_log_set_sink(count_line, NULL);
	snprintf(text, sizeof(text), "unix:%s/relay;unix:%s/1", folder, folder);
	silence_ms = 600;
	connect_ms = 300;
	connect_scene(&s, text, 0);
	silence_ms = connect_ms = 0;
	options = options_of(&s);
	options.limit_ms = 200;
	open_store(&s, &options);
	downs = ups = 0;
	atomic_store(&r.hangs, true);
	begun_ns = sp_clock_now_ns();
	assert_int_equal(ask_in_vain(&s, 0), SP_DEADLINE);
	assert_true(sp_clock_now_ns() - begun_ns >= options.limit_ms * MS);
	while (client_of(&s).slices_down != 1)
		nap();
	/* It is connected to again and again, in vain; that is no news, and nobody waits for it. */
	for (uint64_t losses = client_of(&s).losses; client_of(&s).losses < losses + 2; nap())
		assert_int_equal(client_of(&s).slices_down, 1);
	assert_int_equal(client_of(&s).peers_up, 1);
	assert_int_equal(ask_in_vain(&s, 1000), SP_IO);
	assert_int_equal(downs, 1);
	assert_int_equal(ups, 0);
	atomic_store(&r.hangs, false);
	while (client_of(&s).peers_up != 2)
		nap();
	assert_int_equal(ups, 1);
	ask_well(&s, 2000);
	close_scene(&s);
	sp_log_set_sink(NULL, NULL);
	end_relay(&r);
}

static void one_that_has_never_answered_is_not_connected(void **state)
{
	sp_shard_store_options options;
	sp_shard_store *store;
	int silent;
	scene s;

	(void)state;
	stop(0);
	silent = listen_at("0");
	connect_ms = 100;
	connect_scene(&s, NULL, 0);
	connect_ms = 0;
	options = options_of(&s);
	options.patience_ms = 1;
	assert_int_equal(sp_shard_store_open(&store, &options, &err), SP_IO);
	assert_non_null(strstr(err.text, "no holder of slice 0 is connected"));
	while (client_of(&s).losses < 2)
		nap();
	assert_int_equal(client_of(&s).slices_down, 1);
	close(silent);
	remove_socket("0");
	start(0);
	options.patience_ms = LONG_MS;
	open_store(&s, &options);
	ask_well(&s, 0);
	close_scene(&s);
}

static void a_slow_replica_is_hedged(void **state)
{
	sp_shard_store_options options;
	char more[120], text[512];
	relay r;
	scene s;

	(void)state;
	start_relay(&r);
	snprintf(more, sizeof(more), ",unix:%s/relay", folder);
	peers_text(text, more);
	connect_scene(&s, text, 1);
	while (client_of(&s).peers_up != 3)
		nap();
	atomic_store(&r.hangs, true);
	options = options_of(&s);
	open_store(&s, &options);
	for (int64_t first = 0; first < 2500; first += 100)
		ask_well(&s, first);
	assert_true(client_of(&s).hedges != 0);
	assert_int_equal(counters_of(&s).defaulted, 0);
	close_scene(&s);
	end_relay(&r);
}

static void a_replica_without_the_version_is_passed_over(void **state)
{
	sp_shard_store_options options;
	sp_shard_server *others[SLICES] = {servers[0], servers[1]};
	char more[120], text[512];
	scene s;

	(void)state;
	snprintf(text, sizeof(text), "unix:%s/new", folder);
	start_at(0, text); /* has no version yet */
	snprintf(more, sizeof(more), ",unix:%s/new", folder);
	peers_text(text, more);
	connect_scene(&s, text, 0);
	while (client_of(&s).peers_up != 3)
		nap();
	options = options_of(&s);
	open_store(&s, &options);
	for (int64_t first = 0; first < 2500; first += 100)
		ask_well(&s, first);
	assert_true(client_of(&s).retries != 0);
	close_scene(&s);
	stop(0);
	servers[0] = others[0];
}

/* ---- hostile bytes ---- */

typedef struct liar {
	int listener;
	const char *bytes;
	size_t size;
	bool echoes_id; /* of the question, into the answer */
	bool greets;    /* it lies later */
} liar;

static void answer_greeting(int fd)
{
	char asked[SP_SHARD_HEADER + 16];
	sp_buffer out;

	(void)!recv(fd, asked, sizeof(asked), MSG_WAITALL);
	sp_buffer_init(&out, 1 << 10);
	sp_shard_error_write(&out, 0, SP_SHARD_NO_VERSION, "no");
	(void)!send(fd, out.data, out.size, MSG_NOSIGNAL);
	sp_buffer_fini(&out);
}

/* Answers one question, or the one after the greeting, of one connection. */
static void lie(void *context)
{
	liar *l = context;
	char asked[4096], answer[4096];
	int fd = accept(l->listener, NULL, NULL);
	ssize_t n;

	if (l->greets)
		answer_greeting(fd);
	n = recv(fd, asked, sizeof(asked), 0);
	memcpy(answer, l->bytes, l->size);
	if (l->echoes_id && n >= SP_SHARD_HEADER)
		memcpy(answer + 8, asked + 8, 8);
	(void)!send(fd, answer, l->size, MSG_NOSIGNAL);
	(void)recv(fd, asked, sizeof(asked), 0); /* until it is disconnected */
	close(fd);
}

static void refuse_lie(const char *bytes, size_t size, bool echoes_id, bool greets)
{
	liar l = {.bytes = bytes, .size = size, .echoes_id = echoes_id, .greets = greets};
	sp_thread_group *thread;
	sp_shard_store_options options;
	sp_shard_store *store;
	scene s;

	l.listener = listen_at("liar");
	assert_ok(sp_thread_group_create(&thread, 1, "liar", lie, &l, &err), &err);
	{
		char text[512];

		snprintf(text, sizeof(text), "unix:%s/liar", folder);
		silence_ms = 100;
		connect_scene(&s, text, 0);
		silence_ms = 0;
	}
	while (greets ? client_of(&s).peers_up != 1 : client_of(&s).losses == 0)
		nap();
	assert_int_equal(client_of(&s).connects, greets);
	options = options_of(&s);
	options.patience_ms = 1;
	assert_int_equal(sp_shard_store_open(&store, &options, &err), SP_IO);
	sp_thread_group_destroy(thread);
	close_scene(&s);
	close(l.listener);
	remove_socket("liar");
}

static void a_lie_is_no_answer(const char *bytes, size_t size, bool echoes_id)
{
	refuse_lie(bytes, size, echoes_id, true);
	refuse_lie(bytes, size, echoes_id, false);
}

static void lies_are_no_answers(void **state)
{
	static const char garbage[] = "HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n";
	static char tables[64], rows[24], other_id[64], too_long[SP_SHARD_HEADER];
	sp_buffer out;

	(void)state;
	sp_buffer_init(&out, 1 << 20);
	/* Two slices of which it holds the third. */
	(void)sp_shard_frame_begin(&out, SP_SHARD_TABLES, 12345);
	sp_shard_put_u64(&out, 1);
	sp_shard_put_u32(&out, 2);
	sp_shard_put_u32(&out, 2);
	sp_shard_put_u64(&out, 0);
	assert_true(sp_shard_frame_end(&out, 0));
	memcpy(tables, out.data, out.size);
	memcpy(other_id, out.data, out.size);
	a_lie_is_no_answer(garbage, sizeof(garbage) - 1, false);
	a_lie_is_no_answer(tables, out.size, true);
	a_lie_is_no_answer(other_id, out.size, false);
	sp_buffer_clear(&out);
	(void)sp_shard_frame_begin(&out, SP_SHARD_ROWS, 1);
	sp_shard_put_u64(&out, 0);
	assert_true(sp_shard_frame_end(&out, 0));
	memcpy(rows, out.data, out.size);
	a_lie_is_no_answer(rows, out.size, true);
	memcpy(too_long, rows, sizeof(too_long));
	too_long[3] = SP_SHARD_TABLES;
	memset(too_long + 4, 0xf8, 4);
	a_lie_is_no_answer(too_long, sizeof(too_long), true);
	sp_buffer_fini(&out);
}

static void hostile_questions_end_their_connection(void **state)
{
	static const char *const hostile[] = {
		"GET / HTTP/1.1\r\n\r\n",
		"\x53\x48\x01\x03\xff\xff\xff\xff........",
		"\x53\x48\x01\x04........................",
	};
	sp_shard_server_counters c;
	char rest[64];
	scene s;

	(void)state;
	open_scene(&s);
	for (size_t i = 0; i < 3; i++) {
		int fd = connect_to("0");

		assert_true(send(fd, hostile[i], strlen(hostile[i]), MSG_NOSIGNAL) > 0);
		assert_true(recv(fd, rest, sizeof(rest), 0) <= 0);
		close(fd);
	}
	sp_shard_server_count(servers[0], &c);
	assert_int_equal(c.malformed, 3);
	ask_well(&s, 0); /* others are answered */
	close_scene(&s);
}

/* Many questions in one write, and byte by byte; answers are read late. */
static void questions_come_in_any_pieces(void **state)
{
	enum { QUESTIONS = 2000 };
	sp_shard_header header;
	sp_buffer out;
	int fd = connect_to("0");
	char *answers;
	size_t size = 0;

	(void)state;
	sp_buffer_init(&out, 1 << 20);
	for (uint64_t i = 0; i < QUESTIONS; i++)
		sp_shard_version_write(&out, i, FULL, CONTENT);
	for (size_t i = 0; i < 40; i++)
		assert_int_equal(send(fd, out.data + i, 1, 0), 1);
	assert_int_equal(send(fd, out.data + 40, out.size - 40, 0), out.size - 40);
	answers = malloc(1 << 20);
	for (uint64_t i = 0; i < QUESTIONS; i++) {
		while (size < SP_SHARD_HEADER || !sp_shard_header_read(&header, answers, false) ||
		       size < SP_SHARD_HEADER + header.size) {
			ssize_t n = recv(fd, answers + size, 1000, 0);

			assert_true(n > 0);
			size += (size_t)n;
		}
		assert_int_equal(header.id, i);
		assert_int_equal(header.kind, SP_SHARD_TABLES);
		size -= SP_SHARD_HEADER + header.size;
		memmove(answers, answers + SP_SHARD_HEADER + header.size, size);
	}
	free(answers);
	close(fd);
	sp_buffer_fini(&out);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
	const struct CMUnitTest tests[] = {
		TEST(rows_come_from_their_slices),
		TEST(what_was_read_is_in_memory),
		TEST(names_are_looked_up),
		TEST(calls_at_once_get_right_rows),
		TEST(a_version_that_is_not_there_is_refused),
		TEST(a_version_that_has_gone_is_no_answer),
		TEST(other_tables_are_refused),
		TEST(a_holder_that_is_down_is_used_when_it_is_back),
		TEST(no_memory_is_no_crash),
		TEST(a_holder_that_hangs_is_down),
		TEST(one_that_has_never_answered_is_not_connected),
		TEST(a_slow_replica_is_hedged),
		TEST(a_replica_without_the_version_is_passed_over),
		TEST(lies_are_no_answers),
		TEST(hostile_questions_end_their_connection),
		TEST(questions_come_in_any_pieces),
	};

	return cmocka_run_group_tests_name("shard_tier", tests, NULL, NULL);
}
