#ifndef SP_STORAGE_SHARDS_SHARD_CLIENT_H
#define SP_STORAGE_SHARDS_SHARD_CLIENT_H

#include "storage/shards/shard_address.h"
#include "storage/shards/shard_frame.h"

/*
 * Asks the holders of slices (storage/shards/shard_server.h).
 *
 * One thread of the client does all input and output, with one connection per peer, on which many
 * questions are open.  It connects and reconnects by itself, with growing pauses; names are looked
 * up by another thread.  A question goes to one of the slice's replicas that are connected, in
 * turn; if that one is lost or cannot answer, to the next; and to a second one as well when there
 * is no answer after hedge_ms.  The first good answer counts.
 *
 * A peer counts as connected once it has answered a first question, which the connection begins
 * with: the system accepts connections for a process that hangs, too.  A peer that owes answers and
 * sends nothing for silence_ms is given up, and connected to anew in the same way.
 *
 * Memory: calls are used again, with their buffers.
 *
 * Threads: thread-safe, except create and destroy.  In a forked child nothing is answered.
 */
typedef struct sp_shard_client sp_shard_client;

typedef struct sp_shard_client_options {
	const sp_shard_peers *peers; /* copied */
	int64_t hedge_ms;            /* 0: never */
	int64_t connect_ms;          /* for connecting and the first answer; 0: 1000 */
	int64_t silence_ms;          /* 0: 2000 */
	int64_t longest_pause_ms;    /* between attempts to connect; 0: 5000 */
} sp_shard_client_options;

/* Connects in the background: unreachable peers are no failure. */
SP_MUST_CHECK sp_status sp_shard_client_create(sp_shard_client **out,
					       const sp_shard_client_options *options,
					       sp_error *err);

/* Open questions fail.  NULL is fine. */
void sp_shard_client_destroy(sp_shard_client *client);

uint32_t sp_shard_client_slices(const sp_shard_client *client);

/* ---- calls ---- */

typedef struct sp_shard_call sp_shard_call;

/*
 * By the client's thread, once for each call: its answer, a TABLES or ROWS frame, whose body is
 * 8-byte aligned and valid during the call only; or, with kind 0, why there is none.  False: the
 * body is not what was asked for; the peer is then given up, and the question fails with a call to
 * fail().  Neither may wait.
 */
typedef struct sp_shard_sink {
	bool (*take)(void *owner, size_t tag, uint8_t kind, sp_bytes body);
	void (*fail)(void *owner, size_t tag, bool no_version, const char *reason);
} sp_shard_sink;

/*
 * Begins a question to a slice.  Its body is what the caller appends to the buffer that
 * sp_shard_call_body() gives; the answer's has at most `most` bytes.  NULL: no memory.
 */
sp_shard_call *sp_shard_call_begin(sp_shard_client *client, uint32_t slice, sp_shard_kind kind,
				   const sp_shard_sink *sink, void *owner, size_t tag);
sp_buffer *sp_shard_call_body(sp_shard_call *call);
void sp_shard_call_expect(sp_shard_call *call, uint64_t most);

/* The calls of a list, which are the client's from then on. */
sp_shard_call *sp_shard_call_join(sp_shard_call *first, sp_shard_call *more);
void sp_shard_call_send(sp_shard_client *client, sp_shard_call *first);

/* A call that is not sent after all. */
void sp_shard_call_drop(sp_shard_client *client, sp_shard_call *call);

/* ---- state ---- */

typedef struct sp_shard_client_counters {
	uint64_t peers, peers_up; /* now */
	uint64_t slices_down;     /* of which no peer is connected */
	uint64_t connects, losses;
	uint64_t questions; /* calls */
	uint64_t hedges;    /* sent to a second peer, because the first was slow */
	uint64_t retries;   /* sent to another peer, because the first could not answer */
	uint64_t failures;  /* calls without an answer */
	uint64_t bytes_received;
	uint64_t round_trip_count, round_trip_ns; /* a sum */
} sp_shard_client_counters;

void sp_shard_client_count(sp_shard_client *client, sp_shard_client_counters *out);

#endif
