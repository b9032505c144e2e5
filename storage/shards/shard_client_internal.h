#ifndef SP_STORAGE_SHARDS_SHARD_CLIENT_INTERNAL_H
#define SP_STORAGE_SHARDS_SHARD_CLIENT_INTERNAL_H

#include <netinet/in.h>
#include <pthread.h>
#include <stdatomic.h>
#include <sys/socket.h>

#include "base/queue.h"
#include "base/ring.h"
#include "base/thread.h"
#include "storage/shards/shard_client.h"

/*
 * A client belongs to its thread, except for what `lock` guards and the counters.  A call belongs
 * to the caller until sp_shard_call_send(), then to the thread; it is freed when it is done and no
 * link has a response to it in flight.
 */

struct sp_shard_call {
	sp_shard_call *next;            /* in the list of submitted or of free calls */
	sp_shard_call *later, *earlier; /* in the client's list of calls to hedge, by time */
	uint32_t slice;
	const sp_shard_callbacks *callbacks;
	void *owner;
	size_t tag;
	uint64_t max_bytes; /* of the response's body */
	uint8_t kind;       /* of the response */
	sp_buffer frame;
	uint64_t id;
	int64_t sent_ns;
	uint32_t tried;   /* bit i: sent to replica i of the slice */
	uint32_t pending; /* links that have it in flight */
	bool is_done, is_hedged, no_version;
	char reason[256];
};

typedef enum sp_shard_link_state {
	SP_SHARD_DOWN,      /* until next_ns */
	SP_SHARD_RESOLVING, /* the resolver thread looks the name up */
	SP_SHARD_CONNECTING,
	SP_SHARD_HANDSHAKE, /* connected; the peer has not answered yet */
	SP_SHARD_READY,
} sp_shard_link_state;

enum { SP_SHARD_ADDRESSES = 8 };

typedef struct sp_shard_link {
	sp_shard_client *client;
	sp_shard_address address;
	uint32_t slice, replica;
	sp_shard_link_state state;
	int fd; /* -1: none */
	bool wants_write, logged_down;
	uint32_t failed;  /* attempts in a row */
	int64_t next_ns;  /* DOWN: the next attempt; CONNECTING, GREETING: the last moment */
	int64_t heard_ns; /* when bytes last came, or the first request in flight was sent */
	sp_buffer out;
	size_t sent;       /* of out */
	sp_ring in_flight; /* of sp_shard_call *; NULL: the handshake */
	char *in;
	size_t in_size, in_capacity;

	/* Written by the resolver thread, guarded by the client's lock. */
	struct sockaddr_storage found[SP_SHARD_ADDRESSES];
	socklen_t found_size[SP_SHARD_ADDRESSES];
	size_t found_count;
	bool is_found; /* the lookup has ended; if it failed, found_count is 0 */
} sp_shard_link;

struct sp_shard_client {
	sp_shard_client_options options;
	int epoll, wake;
	sp_thread_group *thread, *resolver;
	sp_queue *names; /* links whose name is to be resolved */

	pthread_mutex_t lock; /* guards the next five */
	sp_shard_call *submitted, **submitted_end;
	sp_shard_call *free;
	size_t free_count;
	bool is_asleep;
	atomic_bool closing;

	sp_shard_link *links; /* [link_count] by slice */
	size_t link_count;
	uint32_t slices;
	/* The links of slice i: first_of[i] to first_of[i + 1] - 1. */
	size_t first_of[SP_SHARD_MAX_PEERS + 1];
	sp_shard_call *oldest, *newest; /* calls to hedge: neither done nor hedged */
	uint64_t next_id, random;
	size_t turn_of[SP_SHARD_MAX_PEERS]; /* of a slice: which replica is next */

	atomic_uint_least64_t peers_up, connects, losses, requests, hedges, retries, failures,
		bytes_received, round_trip_count, round_trip_ns;
	atomic_uint_least64_t up_of[SP_SHARD_MAX_PEERS]; /* connected peers of a slice */
};

static inline void sp_shard__count(atomic_uint_least64_t *counter, uint64_t more)
{
	atomic_fetch_add_explicit(counter, more, memory_order_relaxed);
}

/* ---- shard_link.c ---- */

void sp_shard__link_init(sp_shard_link *link, sp_shard_client *client, const sp_shard_address *at);
void sp_shard__link_fini(sp_shard_link *link);

/* Queues a request; false: out of memory, or too much is queued. */
bool sp_shard__link_send(sp_shard_link *link, sp_shard_call *call);
void sp_shard__link_flush(sp_shard_link *link);
void sp_shard__link_on_event(sp_shard_link *link, uint32_t events);

/* Handles timeouts and reconnects; returns when to call again. */
int64_t sp_shard__link_on_time(sp_shard_link *link, int64_t now_ns);

/* Closes the connection; calls sp_shard__call_on_failure() for the calls in flight. */
void sp_shard__link_disconnect(sp_shard_link *link, const char *reason);

/* Resolves a link's host name; by the resolver thread. */
void sp_shard__link_resolve(sp_shard_link *link);

/* ---- shard_client.c ---- */

/* A response or an ERROR frame of a call; false: the body does not fit the request. */
bool sp_shard__call_on_response(sp_shard_call *call, sp_shard_link *link, uint8_t kind,
				sp_bytes body);

/* The link will not respond to the call. */
void sp_shard__call_on_failure(sp_shard_call *call, sp_shard_link *link, const char *reason);

void sp_shard__client_wake(sp_shard_client *client);

#endif
