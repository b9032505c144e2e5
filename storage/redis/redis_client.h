#ifndef SP_STORAGE_REDIS_REDIS_CLIENT_H
#define SP_STORAGE_REDIS_REDIS_CLIENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/status.h"
#include "storage/redis/redis_address.h"

/*
 * A client of one Redis server, or of a Redis Cluster.
 *
 * There is one connection per server of a cluster, and there are eight to a single server:
 * read-only batches use them round robin, since Redis executes all that it has read from a
 * connection before it writes the replies.  Replies are read by a caller that waits, or else by the
 * client's thread.  The thread connects and reconnects by itself, with exponential backoff, and in
 * a cluster keeps the map of slots up to date (CLUSTER SLOTS, MOVED, ASK).  A caller submits a
 * batch of commands, which are sent without waiting for replies in between, each to the server that
 * has its key.
 *
 * A command whose connection is lost, or whose slot moves, is retried until the batch's deadline,
 * so commands must be idempotent.  A command that a replica cannot execute now (LOADING,
 * MASTERDOWN) is sent to the slot's master.
 *
 * Memory: batches are reused, with their buffers.  A caller that stops waiting releases its batch;
 * the memory stays until Redis has replied or the connection is lost.  There is no TLS.
 *
 * Threads: thread-safe, except create and destroy; a batch is for one thread at a time.  In a
 * forked child every submit fails with SP_UNSUPPORTED.
 */
typedef struct sp_redis_client sp_redis_client;
typedef struct sp_redis_batch sp_redis_batch;

typedef struct sp_redis_client_options {
	const sp_redis_address *address; /* copied */
	bool is_cluster;
	bool read_replicas;       /* cluster: read-only commands prefer replicas */
	int64_t connect_ms;       /* time for connecting; 0: 1000 */
	int64_t silence_ms;       /* disconnects a server that does not reply; 0: 2000 */
	int64_t longest_pause_ms; /* between attempts to connect; 0: 5000 */
} sp_redis_client_options;

/* Connects in the background, so an unreachable server is no failure. */
SP_MUST_CHECK sp_status sp_redis_client_create(sp_redis_client **out,
					       const sp_redis_client_options *options,
					       sp_error *err);

/* Commands in flight fail.  All batches must have been released.  NULL is fine. */
void sp_redis_client_destroy(sp_redis_client *client);

/* ---- batches ---- */

typedef enum sp_redis_kind {
	SP_REDIS_NIL,
	SP_REDIS_STRING,
	SP_REDIS_STATUS, /* "OK" */
	SP_REDIS_INTEGER,
	SP_REDIS_ARRAY,  /* its elements follow */
	SP_REDIS_ERROR,  /* an error reply: "WRONGTYPE ..." */
	SP_REDIS_FAILED, /* no reply; the text says why */
} sp_redis_kind;

/* A reply, or an element of one. */
typedef struct sp_redis_value {
	sp_redis_kind kind;
	uint32_t depth;  /* 0: the whole reply; 1: an element of it; ... */
	size_t index;    /* of the element in its array */
	int64_t integer; /* ARRAY: the number of elements */
	const char *text;
	size_t size;
} sp_redis_value;

/* About a complete reply. */
typedef struct sp_redis_reply_info {
	const sp_redis_server *server; /* that has replied */
	const char *error;             /* the text of an error reply; NULL: another reply */
	bool by_replica;               /* a replica has replied; the master may have newer data */
} sp_redis_reply_info;

/*
 * Receives replies as they arrive, in the thread that reads or submits, one at a time.  None of
 * them may wait, submit, or destroy the client.
 */
typedef struct sp_redis_callbacks {
	/*
	 * For each value, whose text is valid during the callback only.  If a connection is lost in
	 * the middle of a reply, the reply comes again from its beginning.  NULL: replies are
	 * stored.
	 */
	void (*on_value)(void *owner, size_t command, const sp_redis_value *value);

	/*
	 * After the last value of each reply of a server; may be NULL.  If it returns true for a
	 * reply of a replica, the command is sent to the master, whose reply comes in the same way.
	 */
	bool (*on_reply_end)(void *owner, size_t command, const sp_redis_reply_info *info);

	/* Once, after all commands of the batch. */
	void (*on_done)(void *owner);
} sp_redis_callbacks;

/* An empty batch; NULL: out of memory. */
sp_redis_batch *sp_redis_batch_create(sp_redis_client *client);

/* Also allowed before a submitted batch is done.  NULL is fine. */
void sp_redis_batch_release(sp_redis_batch *batch);

/*
 * Begins a command of `count` arguments, its name included, which are then added by
 * sp_redis_batch_add().  `key` decides the server in a cluster: its slot is that of the key, or of
 * the part of it in braces.  NULL: any server.
 */
void sp_redis_batch_begin(sp_redis_batch *batch, const void *key, size_t key_size, size_t count);
void sp_redis_batch_add(sp_redis_batch *batch, const void *data, size_t size);
void sp_redis_batch_add_text(sp_redis_batch *batch, const char *text);

size_t sp_redis_batch_count(const sp_redis_batch *batch); /* commands */
size_t sp_redis_batch_size(const sp_redis_batch *batch);  /* bytes */

typedef struct sp_redis_submit_options {
	int64_t deadline_ns; /* commands are not retried after it; 0: no deadline */
	bool is_read_only;   /* replicas may execute it, if the client prefers them */
	bool fail_fast;      /* a command fails if its server cannot be reached right now */
	bool caller_reads;   /* it will call sp_redis_client_read() and stop_reading() soon */
	const sp_redis_callbacks *callbacks; /* NULL: replies are stored */
	void *owner;                         /* of the callbacks */
} sp_redis_submit_options;

/* Sends the commands; once per batch.  After a failure on_done() is not called. */
SP_MUST_CHECK sp_status sp_redis_batch_submit(sp_redis_batch *batch,
					      const sp_redis_submit_options *options,
					      sp_error *err);

/*
 * Waits until all commands have a reply or have failed; SP_DEADLINE after deadline_ns on
 * sp_clock_now_ns()'s clock; 0: none.  SP_IO if a command has failed or got an error reply, with
 * the text of the first one; all replies can be read even then.
 */
SP_MUST_CHECK sp_status sp_redis_batch_wait(sp_redis_batch *batch, int64_t deadline_ns,
					    sp_error *err);

/*
 * After the wait, for a batch without on_value: the reply to a command, followed by the elements of
 * an array in the order of the protocol.  Valid until the batch is released.
 */
const sp_redis_value *sp_redis_batch_reply(const sp_redis_batch *batch, size_t command);

/* Submits, and waits until options->deadline_ns. */
SP_MUST_CHECK sp_status sp_redis_batch_run(sp_redis_batch *batch,
					   const sp_redis_submit_options *options, sp_error *err);

/*
 * Reads replies, of all callers, instead of the client's thread, which saves waking up two threads
 * per batch.  Returns after is_done(), at the deadline, or at once if another caller reads.  No
 * other thread reads until the calling thread calls sp_redis_client_stop_reading(), so it must do
 * that soon.
 */
void sp_redis_client_read(sp_redis_client *client, int64_t deadline_ns,
			  bool (*is_done)(void *owner), void *owner);

/*
 * Has no effect unless the calling thread reads.  From then on the client's thread reads the
 * replies.
 */
void sp_redis_client_stop_reading(sp_redis_client *client);

/* ---- state ---- */

typedef struct sp_redis_counters {
	uint64_t servers;      /* known now */
	uint64_t servers_up;   /* of them connected now */
	uint64_t connects;     /* connections made */
	uint64_t losses;       /* connections lost, or attempts that failed */
	uint64_t commands;     /* sent, retries included */
	uint64_t redirections; /* MOVED and ASK */
	uint64_t failures;     /* commands that failed or got an error reply */
	uint64_t bytes_sent, bytes_received;
	uint64_t round_trip_count, round_trip_ns; /* of commands with a reply; a sum */
} sp_redis_counters;

void sp_redis_client_counters(const sp_redis_client *client, sp_redis_counters *out);

#endif
