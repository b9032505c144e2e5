#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/log.h"
#include "storage/redis/redis_internal.h"

/*
 * Which server has which slots, from CLUSTER SLOTS:
 *
 *     [[first, last, [host, port, id, ...], replica...], ...]
 *
 * An empty or absent host is that of the server that replied.  The map is requested at the start,
 * every PERIOD_MS, and when a slot has moved or a connection is lost.
 */

enum {
	MS = 1000000,
	PERIOD_MS = 10000,
	MIN_PERIOD_MS = 100, /* minimum time between two requests */
	TIMEOUT_MS = 2000,   /* timeout of a request */
};

/* ---- finding ---- */

static bool is_usable(const sp_redis_link *link)
{
	return link->state == SP_REDIS_READY;
}

static sp_redis_link *find_replica(sp_redis_client *client, const sp_redis_shard *shard)
{
	for (size_t i = 0; i < shard->replica_count; i++) {
		sp_redis_link *link = shard->replicas[(client->turn + i) % shard->replica_count];

		if (is_usable(link)) {
			client->turn++;
			return link;
		}
	}
	return NULL;
}

static sp_redis_link *find_any(sp_redis_client *client)
{
	for (size_t i = 0; i < client->link_count; i++) {
		sp_redis_link *link = client->links[(client->turn + i) % client->link_count];

		if (is_usable(link)) {
			client->turn++;
			return link;
		}
	}
	return NULL;
}

sp_redis_link *sp_redis__map_find(sp_redis_client *client, uint32_t slot, bool is_read_only)
{
	const sp_redis_shard *shard;
	sp_redis_link *replica = NULL;

	if (slot >= SP_REDIS_SLOTS)
		return find_any(client);
	if (client->shard_of[slot] == SP_REDIS_NO_SHARD)
		return NULL;
	shard = &client->shards[client->shard_of[slot]];
	if (is_read_only && client->options.read_replicas)
		replica = find_replica(client, shard);
	return replica != NULL ? replica : shard->master;
}

/* ---- shards ---- */

/* The shard of a master, created if there is none; SP_REDIS_NO_SHARD: out of memory. */
static uint16_t get_shard(sp_redis_client *client, sp_redis_link *master)
{
	for (size_t i = 0; i < client->shard_count; i++)
		if (client->shards[i].master == master)
			return (uint16_t)i;
	if (client->shard_count == client->shard_capacity) {
		size_t more = client->shard_capacity != 0 ? client->shard_capacity * 2 : 8;
		sp_redis_shard *shards = sp_alloc_resize(client->shards, more,
							 sizeof(*client->shards));

		if (shards == NULL)
			return SP_REDIS_NO_SHARD;
		client->shards = shards;
		client->shard_capacity = more;
	}
	client->shards[client->shard_count] = (sp_redis_shard){.master = master};
	return (uint16_t)client->shard_count++;
}

void sp_redis__map_move(sp_redis_client *client, uint32_t slot, sp_redis_link *to)
{
	client->shard_of[slot] = get_shard(client, to);
	client->map_ns = 0;
}

static void clear_map(sp_redis_client *client)
{
	for (size_t i = 0; i < client->shard_count; i++)
		sp_free(client->shards[i].replicas);
	client->shard_count = 0;
	memset(client->shard_of, 0xff, sizeof(client->shard_of));
}

static void add_replica(sp_redis_shard *shard, sp_redis_link *link)
{
	sp_redis_link **replicas;

	for (size_t i = 0; i < shard->replica_count; i++)
		if (shard->replicas[i] == link)
			return;
	replicas = sp_alloc_resize(shard->replicas, shard->replica_count + 1,
				   sizeof(sp_redis_link *));
	if (replicas == NULL)
		return;
	shard->replicas = replicas;
	replicas[shard->replica_count++] = link;
}

/* ---- redirections ---- */

/*
 * Parses up to five digits, at most `most`, that `end` follows.  Returns what is behind that; NULL:
 * malformed.
 */
static const char *read_number(unsigned long *out, const char *text, unsigned long most, char end)
{
	size_t digits = strspn(text, "0123456789");

	if (digits == 0 || digits > 5 || text[digits] != end)
		return NULL;
	*out = strtoul(text, NULL, 10);
	return *out <= most ? text + digits + (end != '\0') : NULL;
}

bool sp_redis__map_read_redirection(sp_redis_server *out, uint32_t *slot, const char *error,
				    const sp_redis_server *from)
{
	const char *text = strchr(error, ' '), *colon;
	unsigned long number, port;
	size_t size;

	text = text != NULL ? read_number(&number, text + 1, SP_REDIS_SLOTS - 1, ' ') : NULL;
	colon = text != NULL ? strrchr(text, ':') : NULL;
	if (colon == NULL || read_number(&port, colon + 1, UINT16_MAX, '\0') == NULL || port == 0)
		return false;
	size = (size_t)(colon - text);
	if (size >= sizeof(out->host))
		return false;
	*slot = (uint32_t)number;
	*out = *from;
	if (size != 0) {
		memcpy(out->host, text, size);
		out->host[size] = '\0';
	}
	out->port = (int)port;
	return true;
}

/* ---- the reply ---- */

/* A cursor over the reply's values. */
typedef struct reader {
	const sp_redis_value *at, *end;
	sp_redis_client *client;
	const sp_redis_server *from;
} reader;

/* The next value if it has the kind and depth; else NULL. */
static const sp_redis_value *next(reader *r, sp_redis_kind kind, uint32_t depth)
{
	if (r->at == r->end || r->at->kind != kind || r->at->depth != depth)
		return NULL;
	return r->at++;
}

static void skip_below(reader *r, uint32_t depth)
{
	while (r->at != r->end && r->at->depth > depth)
		r->at++;
}

/* [host, port, ...]; NULL: malformed. */
static sp_redis_link *read_link(reader *r)
{
	sp_redis_server server = *r->from;
	const sp_redis_value *host, *port;

	if (next(r, SP_REDIS_ARRAY, 2) == NULL)
		return NULL;
	host = next(r, SP_REDIS_STRING, 3);
	if (host == NULL && next(r, SP_REDIS_NIL, 3) == NULL)
		return NULL;
	port = next(r, SP_REDIS_INTEGER, 3);
	if (port == NULL || port->integer < 1 || port->integer > UINT16_MAX ||
	    (host != NULL && host->size >= sizeof(server.host)))
		return NULL;
	if (host != NULL && host->size != 0 && strcmp(host->text, "?") != 0)
		snprintf(server.host, sizeof(server.host), "%s", host->text);
	server.port = (int)port->integer;
	skip_below(r, 2);
	return sp_redis__client_link(r->client, &server);
}

/* [first, last, master, replica...]; false: malformed. */
static bool read_range(reader *r)
{
	sp_redis_client *client = r->client;
	const sp_redis_value *first, *last;
	sp_redis_link *link;
	uint16_t shard;

	if (next(r, SP_REDIS_ARRAY, 1) == NULL)
		return false;
	first = next(r, SP_REDIS_INTEGER, 2);
	last = next(r, SP_REDIS_INTEGER, 2);
	if (first == NULL || last == NULL || first->integer < 0 || last->integer < first->integer ||
	    last->integer >= SP_REDIS_SLOTS)
		return false;
	link = read_link(r);
	shard = link != NULL ? get_shard(client, link) : SP_REDIS_NO_SHARD;
	if (shard == SP_REDIS_NO_SHARD)
		return false;
	for (int64_t slot = first->integer; slot <= last->integer; slot++)
		client->shard_of[slot] = shard;
	while (r->at != r->end && r->at->depth == 2) {
		link = read_link(r);
		if (link == NULL)
			return false;
		add_replica(&client->shards[shard], link);
	}
	return true;
}

static void close_unlisted(sp_redis_client *client)
{
	size_t listed = 0;

	for (size_t i = 0; i < client->link_count; i++) {
		sp_redis_link *link = client->links[i];

		listed += link->is_listed;
		if (!link->is_listed && link->state != SP_REDIS_DOWN && link->in_flight.count == 0)
			sp_redis__link_disconnect(link, "it has left the cluster");
	}
	atomic_store(&client->servers, listed);
}

static void set_listed(sp_redis_client *client, bool listed)
{
	for (size_t i = 0; i < client->link_count; i++)
		client->links[i]->is_listed = listed;
}

static void log_no_map(const sp_redis_link *from, const sp_redis_value *reply)
{
	char name[SP_REDIS_NAME_SIZE];

	if (from->client->logged_no_map || reply->kind == SP_REDIS_FAILED)
		return;
	from->client->logged_no_map = true;
	sp_log(SP_LOG_WARNING, "Redis at %s does not tell the slots of a cluster: %s",
	       sp_redis_server_name(&from->server, name),
	       reply->kind == SP_REDIS_ERROR ? reply->text : "its answer has another form");
}

/* Links live as long as the client, so `owner` is valid. */
static void on_map(void *owner)
{
	sp_redis_link *from = owner;
	sp_redis_client *client = from->client;
	sp_redis_batch *batch = client->map_batch;
	const sp_redis_value *reply = sp_redis_batch_reply(batch, 0);
	reader r = {.at = reply, .end = reply + 1, .client = client, .from = &from->server};
	bool good = reply->kind == SP_REDIS_ARRAY && reply->integer > 0;

	client->map_batch = NULL;
	if (good) {
		r.end = batch->values + batch->value_count;
		r.at++;
		clear_map(client);
		set_listed(client, false);
		while (good && r.at != r.end)
			good = read_range(&r);
	}
	if (good) {
		close_unlisted(client);
	} else {
		set_listed(client, true);
		log_no_map(from, reply);
	}
	client->has_map = client->has_map || good;
	client->map_read_ns = sp_clock_now_ns();
	client->map_ns = client->map_read_ns + (good ? PERIOD_MS : MIN_PERIOD_MS) * (int64_t)MS;
	sp_redis_batch_release(batch);
}

/* ---- the request ---- */

static void request_map(sp_redis_client *client, sp_redis_link *link)
{
	static const sp_redis_callbacks callbacks = {.on_done = on_map};
	sp_redis_batch *batch = sp_redis_batch_create(client);

	if (batch == NULL)
		return;
	sp_redis_batch_begin(batch, NULL, 0, 2);
	sp_redis_batch_add_text(batch, "CLUSTER");
	sp_redis_batch_add_text(batch, "SLOTS");
	if (!sp_redis__batch_start(batch, &(sp_redis_submit_options){.deadline_ns = 1,
								     .fail_fast = true,
								     .callbacks = &callbacks,
								     .owner = link})) {
		sp_redis_batch_release(batch);
		return;
	}
	client->map_batch = batch;
	if (!sp_redis__link_send(link, batch, 0, false))
		sp_redis__batch_fail(batch, 0, "no memory");
	else
		sp_redis__link_flush(link);
}

int64_t sp_redis__map_on_time(sp_redis_client *client, int64_t now_ns)
{
	int64_t due_ns = client->map_ns;
	sp_redis_link *link;

	if (client->map_batch != NULL)
		return INT64_MAX;
	if (due_ns < client->map_read_ns + MIN_PERIOD_MS * (int64_t)MS && client->map_read_ns != 0)
		due_ns = client->map_read_ns + MIN_PERIOD_MS * (int64_t)MS;
	if (now_ns < due_ns)
		return due_ns;
	link = find_any(client);
	if (link == NULL) {
		/* A link that becomes ready wakes the thread. */
		for (size_t i = 0; i < client->address.count; i++)
			client->links[i]->is_listed = true;
		return INT64_MAX;
	}
	client->map_ns = INT64_MAX;
	request_map(client, link);
	if (client->map_batch == NULL && client->map_ns == INT64_MAX)
		client->map_ns = now_ns + MIN_PERIOD_MS * (int64_t)MS;
	return INT64_MAX;
}

void sp_redis__map_fini(sp_redis_client *client)
{
	clear_map(client);
	sp_free(client->shards);
}
