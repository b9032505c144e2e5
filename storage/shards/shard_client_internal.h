#ifndef SP_STORAGE_SHARDS_SHARD_CLIENT_INTERNAL_H
#define SP_STORAGE_SHARDS_SHARD_CLIENT_INTERNAL_H

#include <netinet/in.h>
#include <pthread.h>
#include <stdatomic.h>
#include <sys/socket.h>

#include "base/queue.h"
#include "base/thread.h"
#include "storage/shards/shard_client.h"

/*
 * A client is its thread's: everything in it but what `lock` guards and the counters.  A call goes
 * from the caller to the thread with sp_shard_call_send(), and is free again when nobody owes it an
 * answer any more.
 */

struct sp_shard_call {
	sp_shard_call *next;            /* in the list of those sent, or free */
	sp_shard_call *later, *earlier; /* in the client's list of open ones, by time */
	uint32_t slice;
	const sp_shard_sink *sink;
	void *owner;
	size_t tag;
	uint64_t most; /* bytes of an answer */
	uint8_t kind;  /* of the answer */
	sp_buffer frame;
	uint64_t id;
	int64_t sent_ns;
	uint32_t tried; /* bit i: replica i of the slice */
	uint32_t owed;  /* answers that are still to come */
	bool is_done, is_hedged, no_version;
	char reason[256];
};

typedef enum sp_shard_link_state {
	SP_SHARD_DOWN,      /* until next_ns */
	SP_SHARD_RESOLVING, /* until next_ns the name is looked up */
	SP_SHARD_CONNECTING,
	SP_SHARD_GREETING, /* connected; whether the peer answers is still to be seen */
	SP_SHARD_READY,
} sp_shard_link_state;

enum { SP_SHARD_ADDRESSES = 8 };

typedef struct sp_shard_link {
	sp_shard_client *client;
	sp_shard_address address;
	uint32_t slice, replica;
	sp_shard_link_state state;
	int fd; /* -1: none */
	bool wants_write, told_down;
	uint32_t failed;  /* attempts in a row */
	int64_t next_ns;  /* DOWN: the next attempt; CONNECTING, GREETING: the last moment */
	int64_t heard_ns; /* when bytes last came, or began to be owed */
	sp_buffer out;
	size_t sent;                                  /* of out */
	sp_shard_call **owed;                         /* NULL: the answer to the greeting */
	size_t owed_first, owed_count, owed_capacity; /* a ring; the capacity is a power of two */
	char *in;
	size_t in_size, in_capacity;

	/* Written by the thread that looks names up, guarded by the client's lock. */
	struct sockaddr_storage found[SP_SHARD_ADDRESSES];
	socklen_t found_size[SP_SHARD_ADDRESSES];
	size_t found_count;
	bool is_found; /* or will not be, with found_count 0 */
} sp_shard_link;

struct sp_shard_client {
	sp_shard_client_options options;
	int epoll, wake;
	sp_thread_group *thread, *resolver;
	sp_queue *names; /* links whose name is to be looked up */

	pthread_mutex_t lock; /* guards the next five */
	sp_shard_call *submitted, **submitted_end;
	sp_shard_call *free;
	size_t free_count;
	bool is_asleep;
	atomic_bool closing;

	sp_shard_link *links; /* [link_count] by slice */
	size_t link_count;
	uint32_t slices;
	size_t first_of[SP_SHARD_MAX_PEERS +
			1];             /* links of slice i: first_of[i] to first_of[i+1] */
	sp_shard_call *oldest, *newest; /* open calls that are not hedged */
	uint64_t next_id, random;
	size_t turn_of[SP_SHARD_MAX_PEERS]; /* of a slice: which replica is next */

	atomic_uint_least64_t peers_up, connects, losses, questions, hedges, retries, failures,
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

/* Queues a question; false: no memory, or too much is queued. */
bool sp_shard__link_send(sp_shard_link *link, sp_shard_call *call);
void sp_shard__link_flush(sp_shard_link *link);
void sp_shard__link_on_event(sp_shard_link *link, uint32_t events);

/* Connects, or gives up, when the time has come; returns when to call again. */
int64_t sp_shard__link_on_time(sp_shard_link *link, int64_t now_ns);

/* Closes the connection; what is owed goes to sp_shard__call_missed(). */
void sp_shard__link_lose(sp_shard_link *link, const char *reason);

/* Looks up the name of a link; in the other thread. */
void sp_shard__link_resolve(sp_shard_link *link);

/* ---- shard_client.c ---- */

/* An answer, or an error of the peer (kind SP_SHARD_ERROR); false: it is not what was asked for. */
bool sp_shard__call_answered(sp_shard_call *call, sp_shard_link *link, uint8_t kind, sp_bytes body);

/* The link will not answer. */
void sp_shard__call_missed(sp_shard_call *call, sp_shard_link *link, const char *reason);

void sp_shard__client_wake(sp_shard_client *client);

#endif
