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
 * There is one connection per server of a cluster, and there are eight to a single server: reading
 * batches take turns, since Redis answers all that it has read of a connection before it writes.
 * Answers are read by a caller that waits, or else by the client's thread.  The thread connects
 * and reconnects by itself, with growing pauses, and in a cluster keeps to the map of slots
 * (CLUSTER SLOTS, MOVED, ASK).  A caller submits a batch of commands, which are sent one right
 * after the other, each to the server that has its key, and waits for the answers or leaves.
 *
 * A command whose connection is lost, or whose slot moves, is sent again until the batch's
 * deadline: commands must have the same effect when they are run twice.  What a replica cannot
 * answer now (LOADING, MASTERDOWN) is sent to the slot's master.
 *
 * Memory: batches are used again, with their buffers.  A caller that leaves at its deadline
 * releases its batch; the memory stays until Redis has answered or the connection is lost.  There
 * is no TLS.
 *
 * Threads: thread-safe, except create and destroy; a batch is for one thread at a time.  In a
 * forked child every submit returns SP_UNSUPPORTED.
 */
typedef struct sp_redis_client sp_redis_client;
typedef struct sp_redis_batch sp_redis_batch;

typedef struct sp_redis_client_options {
	const sp_redis_address *address; /* copied */
	bool is_cluster;
	bool read_replicas;       /* cluster: commands that only read prefer replicas */
	int64_t connect_ms;       /* time for connecting; 0: 1000 */
	int64_t silence_ms;       /* a server that owes answers is given up after this, or half as
				     much more; 0: 2000 */
	int64_t longest_pause_ms; /* between attempts to connect; 0: 5000 */
} sp_redis_client_options;

/* Connects in the background: an unreachable server is no failure. */
SP_MUST_CHECK sp_status sp_redis_client_create(sp_redis_client **out,
					       const sp_redis_client_options *options,
					       sp_error *err);

/* Commands without an answer fail.  All batches must have been released.  NULL is fine. */
void sp_redis_client_destroy(sp_redis_client *client);

/* ---- batches ---- */

typedef enum sp_redis_kind {
	SP_REDIS_NIL,
	SP_REDIS_STRING,
	SP_REDIS_STATUS, /* "OK" */
	SP_REDIS_INTEGER,
	SP_REDIS_ARRAY,  /* its elements follow */
	SP_REDIS_ERROR,  /* of the server: "WRONGTYPE ..." */
	SP_REDIS_FAILED, /* no answer; the text says why */
} sp_redis_kind;

/* An answer, or an element of one. */
typedef struct sp_redis_value {
	sp_redis_kind kind;
	uint32_t depth;  /* 0: the whole answer; 1: an element of it; ... */
	size_t index;    /* of the element in its array */
	int64_t integer; /* ARRAY: the number of elements */
	const char *text;
	size_t size;
} sp_redis_value;

/* How an answer has ended. */
typedef struct sp_redis_ending {
	const sp_redis_server *server; /* that has answered */
	const char *error;             /* the text of an error answer; NULL: another answer */
	bool by_replica;               /* the master may have what it lacks */
} sp_redis_ending;

/*
 * Takes answers as they come, in the thread that reads or submits, one at a time: take()
 * for each value, whose text is valid during the call only, done() once, after all of a batch's
 * commands.  If a connection is lost in the middle of an answer, take() gets the answer again from
 * its beginning.  take NULL: answers are kept.
 *
 * ended(), if it is there, is called after the last value of each answer of a server.  True, of an
 * answer by a replica: the command goes to the master, and take() gets that answer, too.
 *
 * None of them may wait, submit, or destroy the client.
 */
typedef struct sp_redis_sink {
	void (*take)(void *owner, size_t command, const sp_redis_value *value);
	bool (*ended)(void *owner, size_t command, const sp_redis_ending *ending);
	void (*done)(void *owner);
} sp_redis_sink;

/* An empty batch; NULL: no memory. */
sp_redis_batch *sp_redis_batch_create(sp_redis_client *client);

/* At any time after a submit, too.  NULL is fine. */
void sp_redis_batch_release(sp_redis_batch *batch);

/*
 * Begins a command of `count` arguments, its name included, which sp_redis_batch_add() then adds.
 * `key` is what routes it in a cluster: its slot is that of the key, or of the part of it in
 * braces. NULL: any server.
 */
void sp_redis_batch_begin(sp_redis_batch *batch, const void *key, size_t key_size, size_t count);
void sp_redis_batch_add(sp_redis_batch *batch, const void *data, size_t size);
void sp_redis_batch_add_text(sp_redis_batch *batch, const char *text);

size_t sp_redis_batch_count(const sp_redis_batch *batch); /* commands */
size_t sp_redis_batch_size(const sp_redis_batch *batch);  /* bytes */

typedef struct sp_redis_how {
	int64_t deadline_ns;       /* nothing is sent again after it; 0: none */
	bool only_reads;           /* replicas may answer, if the client prefers them */
	bool fails_fast;           /* fails when the server cannot be reached right now */
	bool reads;                /* the caller soon reads, until the batch is done, and stops */
	const sp_redis_sink *sink; /* NULL: answers are kept for sp_redis_batch_answer() */
	void *owner;               /* of the sink */
} sp_redis_how;

/* Sends the commands; once per batch.  After a failure done() is not called. */
SP_MUST_CHECK sp_status sp_redis_batch_submit(sp_redis_batch *batch, const sp_redis_how *how,
					      sp_error *err);

/*
 * Waits until all commands are answered; SP_DEADLINE after deadline_ns on sp_clock_now_ns()'s
 * clock; 0: none.  SP_IO when a command has failed or was answered by an error, with the first such
 * text; all answers can be read even so.
 */
SP_MUST_CHECK sp_status sp_redis_batch_wait(sp_redis_batch *batch, int64_t deadline_ns,
					    sp_error *err);

/*
 * After the wait, without a sink: the answer of a command, followed by the elements of an array in
 * the order of the protocol.  Valid until the batch is released.
 */
const sp_redis_value *sp_redis_batch_answer(const sp_redis_batch *batch, size_t command);

/* Submits without a sink, and waits until how->deadline_ns. */
SP_MUST_CHECK sp_status sp_redis_batch_run(sp_redis_batch *batch, const sp_redis_how *how,
					   sp_error *err);

/*
 * Reads answers, of all callers, in the place of the client's thread: two threads fewer wake up for
 * a batch.  Returns after is_done(), at the deadline, or at once if another caller reads.  No other
 * thread reads until the calling thread calls sp_redis_client_stop_reading(): it must do so soon.
 */
void sp_redis_client_read(sp_redis_client *client, int64_t deadline_ns,
			  bool (*is_done)(void *owner), void *owner);

/* If the calling thread has read.  Answers that are still on their way are read by the thread. */
void sp_redis_client_stop_reading(sp_redis_client *client);

/* ---- state ---- */

typedef struct sp_redis_counters {
	uint64_t servers;      /* known now */
	uint64_t servers_up;   /* of them connected now */
	uint64_t connects;     /* connections made */
	uint64_t losses;       /* connections lost, or attempts that failed */
	uint64_t commands;     /* sent, again or for the first time */
	uint64_t redirections; /* MOVED and ASK */
	uint64_t failures;     /* commands that failed or were answered by an error */
	uint64_t bytes_sent, bytes_received;
	uint64_t round_trip_count, round_trip_ns; /* of answered commands; a sum */
} sp_redis_counters;

void sp_redis_client_counters(const sp_redis_client *client, sp_redis_counters *out);

#endif
