#ifndef SP_STORAGE_SHARDS_SHARD_CLIENT_H
#define SP_STORAGE_SHARDS_SHARD_CLIENT_H

#include "storage/shards/shard_address.h"
#include "storage/shards/shard_frame.h"

/*
 * A client of the holders of slices (storage/shards/shard_server.h).
 *
 * One thread does all input and output, over one connection per peer with many requests in flight.
 * It connects and reconnects by itself, with exponential backoff; another thread resolves host
 * names.  A request goes to one of the slice's connected replicas, round robin; if that one fails,
 * to the next.  If there is no response after hedge_ms, the request is also sent to a second
 * replica (hedging).  The first good response is used.
 *
 * A connection begins with a handshake, a request that the peer must answer before it counts as
 * connected: the system accepts connections for a process that hangs, too.  A peer with requests in
 * flight that sends nothing for silence_ms is disconnected, and connected again.
 *
 * Memory: calls are reused, with their buffers.
 *
 * Threads: thread-safe, except create and destroy.  In a forked child no call ends.
 */
typedef struct sp_shard_client sp_shard_client;

typedef struct sp_shard_client_options {
	const sp_shard_peers *peers; /* copied */
	int64_t hedge_ms;            /* 0: never */
	int64_t connect_ms;          /* timeout for connecting and the handshake; 0: 1000 */
	int64_t silence_ms;          /* 0: 2000 */
	int64_t longest_pause_ms;    /* between attempts to connect; 0: 5000 */
} sp_shard_client_options;

/* Connects in the background, so unreachable peers are no failure. */
SP_MUST_CHECK sp_status sp_shard_client_create(sp_shard_client **out,
					       const sp_shard_client_options *options,
					       sp_error *err);

/* Calls in flight fail.  NULL is fine. */
void sp_shard_client_destroy(sp_shard_client *client);

uint32_t sp_shard_client_slices(const sp_shard_client *client);

/* ---- calls ---- */

typedef struct sp_shard_call sp_shard_call;

/*
 * Called by the client's thread; neither may wait.
 *
 * on_response: a TABLES or ROWS frame, whose body is 8-byte aligned and valid during the callback
 * only.  False: the body does not fit the request; the peer is then disconnected, and another
 * replica is tried. on_failure: no replica gave a good response.  Each call ends with one of the
 * two: an on_response that returned true, or an on_failure.
 */
typedef struct sp_shard_callbacks {
	bool (*on_response)(void *owner, size_t tag, uint8_t kind, sp_bytes body);
	void (*on_failure)(void *owner, size_t tag, bool no_version, const char *reason);
} sp_shard_callbacks;

/*
 * Begins a request to a slice.  The caller appends the request's body to sp_shard_call_body(), and
 * may limit the size of the response's body by sp_shard_call_set_limit().  NULL: no memory.
 */
sp_shard_call *sp_shard_call_begin(sp_shard_client *client, uint32_t slice, sp_shard_kind kind,
				   const sp_shard_callbacks *callbacks, void *owner, size_t tag);
sp_buffer *sp_shard_call_body(sp_shard_call *call);
void sp_shard_call_set_limit(sp_shard_call *call, uint64_t max_bytes);

/* join() prepends a call to a list; send() gives the list to the client. */
sp_shard_call *sp_shard_call_join(sp_shard_call *first, sp_shard_call *more);
void sp_shard_call_send(sp_shard_client *client, sp_shard_call *first);

/* Frees a call that is not sent. */
void sp_shard_call_drop(sp_shard_client *client, sp_shard_call *call);

/* ---- state ---- */

typedef struct sp_shard_client_counters {
	uint64_t peers, peers_up; /* now */
	uint64_t slices_down;     /* of which no peer is connected */
	uint64_t connects, losses;
	uint64_t requests; /* calls */
	uint64_t hedges;   /* sent to a second peer, because the first was slow */
	uint64_t retries;  /* sent to another peer, because one failed */
	uint64_t failures; /* calls that failed */
	uint64_t bytes_received;
	uint64_t round_trip_count, round_trip_ns; /* a sum */
} sp_shard_client_counters;

void sp_shard_client_count(sp_shard_client *client, sp_shard_client_counters *out);

#endif
