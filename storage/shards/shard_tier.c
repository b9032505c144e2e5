#include "storage/shards/shard_tier.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/thread.h"
#include "storage/shards/shard_rule.h"

enum {
	MS = 1000000,
	PATIENCE_MS = 5000,
	NAP_MS = 10,
	MAX_KEYS = 8192,     /* of a question: a longer one would hold up others */
	MAX_BYTES = 2 << 20, /* of its answer, likewise, unless one row is larger */
	KEYS_AT = 16,        /* where the parts of a question begin, after the header */
};

typedef struct shelf {
	sp_remote_shelf base;
	uint32_t *tables; /* [slices] its number in each slice's list */
} shelf;

/* What a slice's holder says of the version. */
typedef struct slice {
	uint64_t token;
	sp_shard_table *tables; /* [count] names are in the store's arena */
	uint32_t count;
} slice;

struct sp_shard_store {
	sp_remote_store remote;
	sp_shard_client *client;
	int64_t full;
	slice *slices; /* [slice_count] */
	uint32_t slice_count;
	pthread_mutex_t lock; /* guards `asking` */
	size_t asking;        /* fetches without all of their answers */
	pthread_cond_t is_quiet;
};

/* ---- the version ---- */

/* A question that somebody waits for. */
typedef struct opening {
	sp_shard_store *store;
	pthread_mutex_t lock; /* guards the others */
	pthread_cond_t done;
	bool is_done;
	sp_status status;
	sp_error why;
} opening;

static void settle(opening *o, sp_status status, const char *reason)
{
	pthread_mutex_lock(&o->lock);
	o->status = status;
	if (status != SP_OK)
		(void)sp_error_set(&o->why, status, "%s", reason);
	o->is_done = true;
	pthread_cond_signal(&o->done);
	pthread_mutex_unlock(&o->lock);
}

static bool copy_tables(slice *to, sp_shard_tables tables, sp_arena *arena)
{
	to->token = tables.token;
	to->tables = sp_arena_zeros(arena, tables.count + 1, sizeof(*to->tables));
	if (to->tables == NULL)
		return false;
	for (to->count = 0; to->count < tables.count; to->count++) {
		sp_shard_table *table = &to->tables[to->count];

		if (!sp_shard_tables_next(&tables, table))
			return false;
		table->name.data = sp_arena_text(arena, table->name);
		if (table->name.data == NULL)
			return false;
	}
	return true;
}

static bool take_tables(void *owner, size_t tag, uint8_t kind, sp_bytes body)
{
	opening *o = owner;
	sp_shard_store *store = o->store;
	sp_shard_tables tables;
	char text[160];

	if (kind != SP_SHARD_TABLES || !sp_shard_tables_read(&tables, body))
		return false;
	if (tables.slice != tag || tables.slices != store->slice_count) {
		snprintf(text, sizeof(text),
			 "what should hold slice %zu of %u holds slice %u of %u", tag,
			 store->slice_count, tables.slice, tables.slices);
		settle(o, SP_INVALID, text);
	} else if (copy_tables(&store->slices[tag], tables, store->remote.arena)) {
		settle(o, SP_OK, NULL);
	} else {
		settle(o, SP_NO_MEMORY, "no memory for the tables of other processors");
	}
	return true;
}

static void miss_tables(void *owner, size_t tag, bool no_version, const char *reason)
{
	(void)tag;
	settle(owner, no_version ? SP_NOT_FOUND : SP_IO, reason);
}

/* Asks the holders of a slice once. */
static sp_status ask_version(sp_shard_store *store, uint32_t number, uint64_t content,
			     sp_error *err)
{
	static const sp_shard_sink sink = {.take = take_tables, .fail = miss_tables};
	opening o = {.store = store};
	sp_shard_call *call = sp_shard_call_begin(store->client, number, SP_SHARD_VERSION, &sink,
						  &o, number);

	SP_NEED_MEMORY(call, err, "a question");
	sp_shard_put_u64(sp_shard_call_body(call), (uint64_t)store->full);
	sp_shard_put_u64(sp_shard_call_body(call), content);
	pthread_mutex_init(&o.lock, NULL);
	sp_condition_init(&o.done);
	sp_shard_call_send(store->client, call);
	pthread_mutex_lock(&o.lock);
	while (!o.is_done)
		pthread_cond_wait(&o.done, &o.lock);
	pthread_mutex_unlock(&o.lock);
	pthread_cond_destroy(&o.done);
	pthread_mutex_destroy(&o.lock);
	if (o.status != SP_OK)
		return sp_error_set(err, o.status, "version %" PRId64 ", %s", store->full,
				    o.why.text);
	return SP_OK;
}

/* A slice that nobody is connected to, or that lacks the version, is asked again for a while. */
static sp_status find_version(sp_shard_store *store, const sp_shard_store_options *options,
			      sp_error *err)
{
	const struct timespec nap = {.tv_nsec = (int64_t)NAP_MS * MS};
	int64_t patience_ms = options->patience_ms != 0 ? options->patience_ms : PATIENCE_MS;
	int64_t begun_ns = sp_clock_now_ns();

	for (uint32_t i = 0; i < store->slice_count; i++) {
		sp_status status;

		for (;;) {
			int64_t waited_ms = (sp_clock_now_ns() - begun_ns) / MS;

			status = ask_version(store, i, options->content, err);
			if ((status != SP_IO && status != SP_NOT_FOUND) ||
			    waited_ms >= (status == SP_IO ? patience_ms : options->lag_ms) ||
			    (options->closing != NULL && atomic_load(options->closing)))
				break;
			nanosleep(&nap, NULL);
		}
		SP_TRY(status);
	}
	return SP_OK;
}

/* ---- answers ---- */

/* Rows of one table and slice: a part of a question. */
typedef struct shard_piece {
	sp_remote_run rows;
	uint32_t next; /* of the same question, NO_PIECE: none */
} shard_piece;

enum { NO_PIECE = UINT32_MAX };

typedef struct question {
	uint32_t open; /* calls without an answer */
	uint32_t count;
	shard_piece pieces[];
} question;

static size_t question_size(size_t count)
{
	return sizeof(question) + count * sizeof(shard_piece);
}

static void close_question(sp_remote_fetch *fetch)
{
	sp_shard_store *store = (sp_shard_store *)fetch->store;
	question *q = fetch->own;

	if (--q->open != 0)
		return;
	sp_remote_fetch_finish(fetch);
	pthread_mutex_lock(&store->lock);
	if (--store->asking == 0)
		pthread_cond_broadcast(&store->is_quiet);
	pthread_mutex_unlock(&store->lock);
}

/* Whether the body has exactly the rows that were asked for. */
static bool fits(const sp_remote_fetch *fetch, size_t tag, sp_bytes body)
{
	const question *q = fetch->own;
	sp_shard_rows rows;

	for (size_t p = tag; p != NO_PIECE; p = q->pieces[p].next) {
		const sp_remote_run *run = &q->pieces[p].rows;

		if (!sp_shard_rows_next(&rows, &body, run->count, run->shelf->dim))
			return false;
	}
	return body.size == 0;
}

static bool take_rows(void *owner, size_t tag, uint8_t kind, sp_bytes body)
{
	sp_remote_fetch *fetch = owner;
	const question *q = fetch->own;

	if (kind != SP_SHARD_ROWS || !fits(fetch, tag, body))
		return false;
	for (size_t p = tag; p != NO_PIECE; p = q->pieces[p].next) {
		const sp_remote_run *run = &q->pieces[p].rows;
		sp_shard_rows rows;

		(void)sp_shard_rows_next(&rows, &body, run->count, run->shelf->dim);
		for (uint32_t i = 0; i < run->count; i++) {
			if ((rows.bits[i / 64] >> i % 64 & 1) == 0) {
				sp_remote_run_lacks(fetch, run, i, SP_REMOTE_ROW_ABSENT);
				continue;
			}
			sp_remote_run_found(fetch, run, i, rows.rows);
			rows.rows += run->shelf->row_size;
		}
	}
	close_question(fetch);
	return true;
}

static void miss_rows(void *owner, size_t tag, bool no_version, const char *reason)
{
	sp_remote_fetch *fetch = owner;

	(void)tag;
	(void)no_version;
	sp_remote_fetch_note(fetch, reason, strlen(reason));
	close_question(fetch);
}

/* ---- questions ---- */

/* The question to a slice that rows are added to. */
typedef struct draft {
	sp_shard_call *call; /* NULL: none */
	uint32_t last;       /* piece */
	uint32_t parts, keys;
	uint64_t most;
} draft;

typedef struct asking {
	sp_remote_fetch *fetch;
	draft drafts[SP_SHARD_MAX_PEERS]; /* by slice */
	sp_shard_call *ready;             /* complete calls */
} asking;

static void complete(asking *a, draft *d)
{
	if (d->call == NULL)
		return;
	if (!sp_shard_call_body(d->call)->failed)
		memcpy(sp_shard_call_body(d->call)->data + SP_SHARD_HEADER + 8, &d->parts,
		       sizeof(d->parts));
	sp_shard_call_expect(d->call, d->most);
	a->ready = sp_shard_call_join(a->ready, d->call);
	*d = (draft){.call = NULL};
}

/* False: no memory. */
static bool begin(asking *a, draft *d, uint32_t number, uint32_t first_piece)
{
	static const sp_shard_sink sink = {.take = take_rows, .fail = miss_rows};
	sp_shard_store *store = (sp_shard_store *)a->fetch->store;
	question *q = a->fetch->own;

	d->call = sp_shard_call_begin(store->client, number, SP_SHARD_ASK, &sink, a->fetch,
				      first_piece);
	if (d->call == NULL)
		return false;
	q->open++;
	sp_shard_put_u64(sp_shard_call_body(d->call), store->slices[number].token);
	sp_shard_put_u64(sp_shard_call_body(d->call), 0);
	return true;
}

/* Adds a piece to the question to its slice. */
static void add_piece(asking *a, uint32_t index)
{
	question *q = a->fetch->own;
	shard_piece *piece = &q->pieces[index];
	const sp_remote_row *rows = &a->fetch->rows[piece->rows.first];
	draft *d = &a->drafts[rows->partition];
	uint64_t most = sp_shard_rows_size(piece->rows.count, rows->shelf->dim);
	sp_buffer *body;

	if (d->call != NULL &&
	    (d->keys + piece->rows.count > MAX_KEYS || d->most + most > MAX_BYTES))
		complete(a, d);
	if (d->call == NULL && !begin(a, d, rows->partition, index)) {
		sp_remote_fetch_note(a->fetch, "no memory", 9);
		return;
	}
	body = sp_shard_call_body(d->call);
	sp_shard_put_u32(body, ((const shelf *)rows->shelf)->tables[rows->partition]);
	sp_shard_put_u32(body, piece->rows.count);
	for (uint32_t i = 0; i < piece->rows.count; i++)
		sp_shard_put_u64(body, (uint64_t)rows[i].key);
	if (d->parts++ != 0)
		q->pieces[d->last].next = index;
	d->last = index;
	d->keys += piece->rows.count;
	d->most += most;
}

static bool goes_on(const sp_remote_fetch *fetch, const shard_piece *piece, size_t i)
{
	const sp_remote_row *first = &fetch->rows[piece->rows.first], *row = &fetch->rows[i];

	return row->shelf == first->shelf && row->partition == first->partition &&
	       piece->rows.count < MAX_KEYS &&
	       (piece->rows.count == 0 ||
		sp_shard_rows_size(piece->rows.count + 1, row->shelf->dim) <= MAX_BYTES);
}

static void ask(sp_remote_fetch *fetch)
{
	sp_shard_store *store = (sp_shard_store *)fetch->store;
	question *q = fetch->own;
	asking a = {.fetch = fetch};

	*q = (question){.open = 1};
	pthread_mutex_lock(&store->lock);
	store->asking++;
	pthread_mutex_unlock(&store->lock);
	for (size_t i = 0; i < fetch->count;) {
		shard_piece *piece = &q->pieces[q->count++];

		piece->rows = sp_remote_run_at(fetch, i);
		piece->next = NO_PIECE;
		for (; i < fetch->count && goes_on(fetch, piece, i); i++)
			piece->rows.count++;
		add_piece(&a, q->count - 1);
	}
	for (uint32_t i = 0; i < store->slice_count; i++)
		complete(&a, &a.drafts[i]);
	/* From the first call on the fetch is the client's thread's. */
	if (a.ready == NULL) {
		close_question(fetch);
		return;
	}
	q->open--;
	sp_shard_call_send(store->client, a.ready);
}

static void count(const sp_remote_store *store, sp_tier_counters *out)
{
	sp_shard_client_counters client;

	sp_shard_client_count(((const sp_shard_store *)store)->client, &client);
	out->servers = client.peers;
	out->servers_up = client.peers_up;
	out->round_trips = client.round_trip_count;
	out->round_trip_ns = client.round_trip_ns;
}

static uint32_t partition_of(const sp_remote_shelf *table, int64_t key)
{
	return sp_shard_of_key(key, ((const sp_shard_store *)table->store)->slice_count);
}

/* ---- life ---- */

static void close_store(sp_remote_store *remote)
{
	sp_shard_store *store = (sp_shard_store *)remote;

	/* The client outlives the store, and its answers need it. */
	pthread_mutex_lock(&store->lock);
	while (store->asking != 0)
		pthread_cond_wait(&store->is_quiet, &store->lock);
	pthread_mutex_unlock(&store->lock);
	sp_remote_store_fini(remote);
	pthread_cond_destroy(&store->is_quiet);
	pthread_mutex_destroy(&store->lock);
	sp_free(store);
}

static const sp_remote_source source = {
	.name = "shards",
	.title = "shard",
	.partition = partition_of,
	.own_size = question_size,
	.ask = ask,
	.count = count,
	.close = close_store,
};

static sp_status open_store(sp_shard_store *store, const sp_shard_store_options *options,
			    sp_error *err)
{
	store->client = options->client;
	store->full = options->full;
	store->slice_count = sp_shard_client_slices(options->client);
	store->slices = sp_arena_zeros(store->remote.arena, store->slice_count,
				       sizeof(*store->slices));
	SP_NEED_MEMORY(store->slices, err, "the slices of tables");
	return find_version(store, options, err);
}

sp_status sp_shard_store_open(sp_shard_store **out, const sp_shard_store_options *options,
			      sp_error *err)
{
	const sp_remote_options how = {.limit_ms = options->limit_ms,
				       .fails = options->fails,
				       .cache_bytes = options->cache_bytes,
				       .policy = options->policy};
	sp_shard_store *store = sp_alloc_zero(1, sizeof(*store));
	sp_status status;

	SP_NEED_MEMORY(store, err, "tables of other processors");
	pthread_mutex_init(&store->lock, NULL);
	sp_condition_init(&store->is_quiet);
	status = sp_remote_store_init(&store->remote, &source, &how, err);
	if (status == SP_OK)
		status = open_store(store, options, err);
	if (status != SP_OK) {
		close_store(&store->remote);
		return status;
	}
	*out = store;
	return SP_OK;
}

sp_shard_store *sp_shard_store_retain(sp_shard_store *store)
{
	return (sp_shard_store *)sp_remote_store_retain((sp_remote_store *)store);
}

void sp_shard_store_release(sp_shard_store *store)
{
	sp_remote_store_release((sp_remote_store *)store);
}

size_t sp_shard_store_cache_bytes(const sp_shard_store *store)
{
	return store->remote.options.cache_bytes;
}

/* ---- tables ---- */

static sp_status find_table(uint32_t *out, const shelf *table, const slice *in, uint32_t number,
			    sp_error *err)
{
	for (uint32_t i = 0; i < in->count; i++) {
		if (!sp_bytes_equal_text(in->tables[i].name, table->base.name))
			continue;
		if (in->tables[i].dim != table->base.dim)
			return sp_error_set(
				err, SP_INVALID,
				"table '%s' has rows of %zu elements, in slice %u of %u",
				table->base.name, table->base.dim, number, in->tables[i].dim);
		*out = i;
		return SP_OK;
	}
	return sp_error_set(err, SP_INVALID, "the holder of slice %u has no table '%s'", number,
			    table->base.name);
}

static sp_status describe(shelf *table, sp_shard_store *store, const char *name, size_t dim,
			  sp_error *err)
{
	table->base.store = &store->remote;
	table->base.dim = dim;
	table->base.row_size = dim * sizeof(float);
	table->base.codec = sp_row_codec_find(SP_ROW_FP32);
	table->base.name = sp_arena_text(store->remote.arena, sp_bytes_of(name));
	table->tables = sp_arena_array(store->remote.arena, store->slice_count,
				       sizeof(*table->tables));
	SP_NEED_MEMORY(table->base.name != NULL && table->tables != NULL, err, "table '%s'", name);
	for (uint32_t i = 0; i < store->slice_count; i++) {
		const slice *in = &store->slices[i];

		SP_TRY(find_table(&table->tables[i], table, in, i, err));
		table->base.row_count += in->tables[table->tables[i]].row_count;
	}
	return SP_OK;
}

sp_status sp_shard_tier_open(sp_tier **out, sp_shard_store *store, const char *name, size_t dim,
			     sp_error *err)
{
	sp_status status = SP_OK;
	shelf *table;

	pthread_mutex_lock(&store->remote.lock);
	table = sp_arena_zeros(store->remote.arena, 1, sizeof(*table));
	if (table == NULL)
		status = sp_no_memory(err, "table '%s'", name);
	else
		status = describe(table, store, name, dim, err);
	pthread_mutex_unlock(&store->remote.lock);
	SP_TRY(status);
	return sp_remote_tier_open(out, &table->base, err);
}
