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
	OPEN_TIMEOUT_MS = 5000,
	NAP_MS = 10,
	MAX_KEYS = 8192,     /* of a request: a longer one would delay others */
	MAX_BYTES = 2 << 20, /* of its response, likewise, unless one row is larger */
};

typedef struct sliced_table {
	sp_remote_table base;
	uint32_t *numbers; /* [slices] its index in each slice's list of tables */
} sliced_table;

/* The version at the holders of one slice. */
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
	pthread_mutex_t lock; /* guards `in_flight` */
	size_t in_flight;     /* fetches whose requests have not all ended */
	pthread_cond_t all_done;
};

/* ---- the version ---- */

/* A VERSION request that the opening thread waits for. */
typedef struct opening {
	sp_shard_store *store;
	pthread_mutex_t lock; /* guards the others */
	pthread_cond_t done;
	bool is_done;
	sp_status status;
	sp_error why;
} opening;

static void finish_opening(opening *o, sp_status status, const char *reason)
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

static bool on_tables(void *owner, size_t tag, uint8_t kind, sp_bytes body)
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
		finish_opening(o, SP_INVALID, text);
	} else if (copy_tables(&store->slices[tag], tables, store->remote.arena)) {
		finish_opening(o, SP_OK, NULL);
	} else {
		finish_opening(o, SP_NO_MEMORY, "no memory for the tables of other processors");
	}
	return true;
}

static void on_tables_failed(void *owner, size_t tag, bool no_version, const char *reason)
{
	(void)tag;
	finish_opening(owner, no_version ? SP_NOT_FOUND : SP_IO, reason);
}

/* Requests the version from a holder of a slice, and waits. */
static sp_status request_version(sp_shard_store *store, uint32_t number, uint64_t content,
				 sp_error *err)
{
	static const sp_shard_callbacks callbacks = {.on_response = on_tables,
						     .on_failure = on_tables_failed};
	opening o = {.store = store};
	sp_shard_call *call = sp_shard_call_begin(store->client, number, SP_SHARD_VERSION,
						  &callbacks, &o, number);

	SP_NEED_MEMORY(call, err, "a request");
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

/* Repeats the request while no holder is connected or has the version, for the configured times. */
static sp_status find_version(sp_shard_store *store, const sp_shard_store_options *options,
			      sp_error *err)
{
	const struct timespec nap = {.tv_nsec = (int64_t)NAP_MS * MS};
	int64_t open_timeout_ms = options->open_timeout_ms != 0 ? options->open_timeout_ms
								: OPEN_TIMEOUT_MS;
	int64_t begun_ns = sp_clock_now_ns();

	for (uint32_t i = 0; i < store->slice_count; i++) {
		sp_status status;

		for (;;) {
			int64_t waited_ms = (sp_clock_now_ns() - begun_ns) / MS;

			status = request_version(store, i, options->content, err);
			if ((status != SP_IO && status != SP_NOT_FOUND) ||
			    waited_ms >= (status == SP_IO ? open_timeout_ms
							  : options->version_timeout_ms) ||
			    (options->closing != NULL && atomic_load(options->closing)))
				break;
			nanosleep(&nap, NULL);
		}
		SP_TRY(status);
	}
	return SP_OK;
}

/* ---- responses ---- */

/* Rows of one table and slice: a part of a LOOKUP. */
typedef struct shard_piece {
	sp_remote_range rows;
	uint32_t next; /* piece of the same request; NO_PIECE: none */
} shard_piece;

enum { NO_PIECE = UINT32_MAX };

typedef struct fetch_state {
	uint32_t in_flight; /* calls */
	uint32_t count;
	shard_piece pieces[];
} fetch_state;

static size_t fetch_state_size(size_t count)
{
	return sizeof(fetch_state) + count * sizeof(shard_piece);
}

static void finish_call(sp_remote_fetch *fetch)
{
	sp_shard_store *store = (sp_shard_store *)fetch->store;
	fetch_state *s = fetch->source_state;

	if (--s->in_flight != 0)
		return;
	sp_remote_fetch_finish(fetch);
	pthread_mutex_lock(&store->lock);
	if (--store->in_flight == 0)
		pthread_cond_broadcast(&store->all_done);
	pthread_mutex_unlock(&store->lock);
}

/* Whether the body has exactly the requested rows. */
static bool fits(const sp_remote_fetch *fetch, size_t tag, sp_bytes body)
{
	const fetch_state *s = fetch->source_state;
	sp_shard_rows rows;

	for (size_t p = tag; p != NO_PIECE; p = s->pieces[p].next) {
		const sp_remote_range *range = &s->pieces[p].rows;

		if (!sp_shard_rows_next(&rows, &body, range->count, range->table->dim))
			return false;
	}
	return body.size == 0;
}

static bool on_rows(void *owner, size_t tag, uint8_t kind, sp_bytes body)
{
	sp_remote_fetch *fetch = owner;
	const fetch_state *s = fetch->source_state;

	if (kind != SP_SHARD_ROWS || !fits(fetch, tag, body))
		return false;
	for (size_t p = tag; p != NO_PIECE; p = s->pieces[p].next) {
		const sp_remote_range *range = &s->pieces[p].rows;
		sp_shard_rows rows;

		(void)sp_shard_rows_next(&rows, &body, range->count, range->table->dim);
		for (uint32_t i = 0; i < range->count; i++) {
			if ((rows.bits[i / 64] >> i % 64 & 1) == 0) {
				sp_remote_range_not_found(fetch, range, i, SP_REMOTE_ROW_ABSENT);
				continue;
			}
			sp_remote_range_found(fetch, range, i, rows.rows);
			rows.rows += range->table->row_size;
		}
	}
	finish_call(fetch);
	return true;
}

static void on_rows_failed(void *owner, size_t tag, bool no_version, const char *reason)
{
	sp_remote_fetch *fetch = owner;

	(void)tag;
	(void)no_version;
	sp_remote_fetch_set_reason(fetch, reason, strlen(reason));
	finish_call(fetch);
}

/* ---- requests ---- */

/* A request to a slice to which pieces are being added. */
typedef struct draft {
	sp_shard_call *call; /* NULL: none */
	uint32_t last;       /* piece */
	uint32_t parts, keys;
	uint64_t max_bytes;
} draft;

typedef struct request_builder {
	sp_remote_fetch *fetch;
	draft drafts[SP_SHARD_MAX_PEERS]; /* by slice */
	sp_shard_call *ready;             /* finished calls */
} request_builder;

static void finish_draft(request_builder *b, draft *d)
{
	if (d->call == NULL)
		return;
	if (!sp_shard_call_body(d->call)->failed)
		memcpy(sp_shard_call_body(d->call)->data + SP_SHARD_HEADER + 8, &d->parts,
		       sizeof(d->parts));
	sp_shard_call_set_limit(d->call, d->max_bytes);
	b->ready = sp_shard_call_join(b->ready, d->call);
	*d = (draft){.call = NULL};
}

/* False: out of memory. */
static bool begin_draft(request_builder *b, draft *d, uint32_t number, uint32_t first_piece)
{
	static const sp_shard_callbacks callbacks = {.on_response = on_rows,
						     .on_failure = on_rows_failed};
	sp_shard_store *store = (sp_shard_store *)b->fetch->store;
	fetch_state *s = b->fetch->source_state;

	d->call = sp_shard_call_begin(store->client, number, SP_SHARD_LOOKUP, &callbacks, b->fetch,
				      first_piece);
	if (d->call == NULL)
		return false;
	s->in_flight++;
	sp_shard_put_u64(sp_shard_call_body(d->call), store->slices[number].token);
	sp_shard_put_u64(sp_shard_call_body(d->call), 0);
	return true;
}

/* Adds a piece to its slice's draft. */
static void add_piece(request_builder *b, uint32_t index)
{
	fetch_state *s = b->fetch->source_state;
	shard_piece *piece = &s->pieces[index];
	const sp_remote_row *rows = &b->fetch->rows[piece->rows.first];
	draft *d = &b->drafts[rows->partition];
	uint64_t most = sp_shard_rows_size(piece->rows.count, rows->table->dim);
	sp_buffer *body;

	if (d->call != NULL &&
	    (d->keys + piece->rows.count > MAX_KEYS || d->max_bytes + most > MAX_BYTES))
		finish_draft(b, d);
	if (d->call == NULL && !begin_draft(b, d, rows->partition, index)) {
		sp_remote_fetch_set_reason(b->fetch, "no memory", 9);
		return;
	}
	body = sp_shard_call_body(d->call);
	sp_shard_put_u32(body, ((const sliced_table *)rows->table)->numbers[rows->partition]);
	sp_shard_put_u32(body, piece->rows.count);
	for (uint32_t i = 0; i < piece->rows.count; i++)
		sp_shard_put_u64(body, (uint64_t)rows[i].key);
	if (d->parts++ != 0)
		s->pieces[d->last].next = index;
	d->last = index;
	d->keys += piece->rows.count;
	d->max_bytes += most;
}

static bool fits_in_piece(const sp_remote_fetch *fetch, const shard_piece *piece, size_t i)
{
	const sp_remote_row *first = &fetch->rows[piece->rows.first], *row = &fetch->rows[i];

	return row->table == first->table && row->partition == first->partition &&
	       piece->rows.count < MAX_KEYS &&
	       (piece->rows.count == 0 ||
		sp_shard_rows_size(piece->rows.count + 1, row->table->dim) <= MAX_BYTES);
}

static void send_requests(sp_remote_fetch *fetch)
{
	sp_shard_store *store = (sp_shard_store *)fetch->store;
	fetch_state *s = fetch->source_state;
	request_builder b = {.fetch = fetch};

	*s = (fetch_state){.in_flight = 1};
	pthread_mutex_lock(&store->lock);
	store->in_flight++;
	pthread_mutex_unlock(&store->lock);
	for (size_t i = 0; i < fetch->count;) {
		shard_piece *piece = &s->pieces[s->count++];

		piece->rows = sp_remote_range_at(fetch, i);
		piece->next = NO_PIECE;
		for (; i < fetch->count && fits_in_piece(fetch, piece, i); i++)
			piece->rows.count++;
		add_piece(&b, s->count - 1);
	}
	for (uint32_t i = 0; i < store->slice_count; i++)
		finish_draft(&b, &b.drafts[i]);
	/* Once a call is sent, the fetch belongs to the client's thread. */
	if (b.ready == NULL) {
		finish_call(fetch);
		return;
	}
	s->in_flight--;
	sp_shard_call_send(store->client, b.ready);
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

static uint32_t partition_of(const sp_remote_table *table, int64_t key)
{
	return sp_shard_of_key(key, ((const sp_shard_store *)table->store)->slice_count);
}

/* ---- life ---- */

static void close_store(sp_remote_store *remote)
{
	sp_shard_store *store = (sp_shard_store *)remote;

	/* Requests in flight refer to the store. */
	pthread_mutex_lock(&store->lock);
	while (store->in_flight != 0)
		pthread_cond_wait(&store->all_done, &store->lock);
	pthread_mutex_unlock(&store->lock);
	sp_remote_store_fini(remote);
	pthread_cond_destroy(&store->all_done);
	pthread_mutex_destroy(&store->lock);
	sp_free(store);
}

static const sp_remote_source source = {
	.name = "shards",
	.title = "shard",
	.partition = partition_of,
	.state_size = fetch_state_size,
	.send = send_requests,
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
	const sp_remote_options how = {.timeout_ms = options->timeout_ms,
				       .fail_on_timeout = options->fail_on_timeout,
				       .cache_bytes = options->cache_bytes,
				       .policy = options->policy};
	sp_shard_store *store = sp_alloc_zero(1, sizeof(*store));
	sp_status status;

	SP_NEED_MEMORY(store, err, "tables of other processors");
	pthread_mutex_init(&store->lock, NULL);
	sp_condition_init(&store->all_done);
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

static sp_status find_table(uint32_t *out, const sliced_table *table, const slice *in,
			    uint32_t number, sp_error *err)
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

static sp_status init_table(sliced_table *table, sp_shard_store *store, const char *name,
			    size_t dim, sp_error *err)
{
	table->base.store = &store->remote;
	table->base.dim = dim;
	table->base.row_size = dim * sizeof(float);
	table->base.codec = sp_row_codec_find(SP_ROW_FP32);
	table->base.name = sp_arena_text(store->remote.arena, sp_bytes_of(name));
	table->numbers = sp_arena_array(store->remote.arena, store->slice_count,
					sizeof(*table->numbers));
	SP_NEED_MEMORY(table->base.name != NULL && table->numbers != NULL, err, "table '%s'", name);
	for (uint32_t i = 0; i < store->slice_count; i++) {
		const slice *in = &store->slices[i];

		SP_TRY(find_table(&table->numbers[i], table, in, i, err));
		table->base.row_count += in->tables[table->numbers[i]].row_count;
	}
	return SP_OK;
}

sp_status sp_shard_tier_open(sp_tier **out, sp_shard_store *store, const char *name, size_t dim,
			     sp_error *err)
{
	sp_status status = SP_OK;
	sliced_table *table;

	pthread_mutex_lock(&store->remote.lock);
	table = sp_arena_zeros(store->remote.arena, 1, sizeof(*table));
	if (table == NULL)
		status = sp_no_memory(err, "table '%s'", name);
	else
		status = init_table(table, store, name, dim, err);
	pthread_mutex_unlock(&store->remote.lock);
	SP_TRY(status);
	return sp_remote_tier_open(out, &table->base, err);
}
