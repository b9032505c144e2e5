#ifndef SP_STORAGE_REDIS_REDIS_INTERNAL_H
#define SP_STORAGE_REDIS_REDIS_INTERNAL_H

#include <pthread.h>
#include <stdatomic.h>
#include <sys/types.h>

#include "base/buffer.h"
#include "base/ring.h"
#include "base/thread.h"
#include "storage/redis/redis_client.h"
#include "storage/redis/redis_reply.h"
#include "storage/redis/redis_slots.h"

/*
 * The mutex `work` guards all of a client except what `lock` guards and the counters.  The thread
 * holds it, except while it sleeps or resolves a host name; callers hold it for a short time, to
 * send and to read.  A batch belongs to the client from its submit until its last command is done.
 */

enum { SP_REDIS_ANY_SLOT = SP_REDIS_SLOTS };

/* ---- batches ---- */

typedef struct sp_redis_command {
	size_t offset, size; /* in the batch's bytes */
	uint32_t slot;       /* or SP_REDIS_ANY_SLOT */
	uint32_t attempts;
	bool needs_master; /* a replica could not execute it, or it was redirected */
	size_t reply;      /* index of its first value */
} sp_redis_command;

struct sp_redis_batch {
	sp_redis_client *client;
	sp_redis_batch *next; /* in the list of submitted or of free batches */
	atomic_size_t references;
	sp_buffer bytes;
	sp_redis_command *commands;
	size_t count, capacity;
	size_t arguments; /* of the last command that are not added yet */
	bool is_broken;   /* out of memory, or arguments are missing */
	sp_redis_submit_options options;

	size_t in_flight; /* commands without a result; used by the client */
	uint64_t turn;    /* index of the connection to a single server to use, if that is ready */
	sp_redis_value *values;
	size_t value_count, value_capacity;
	sp_buffer texts; /* of the values, which have offsets into it until the batch is done */
	char reason[512];

	pthread_mutex_t lock; /* guards is_done */
	pthread_cond_t done;
	bool is_done;
};

/* Prepares a batch to be submitted; false: a command is incomplete, or out of memory. */
bool sp_redis__batch_start(sp_redis_batch *batch, const sp_redis_submit_options *options);

/* A value of a reply; the first one has depth 0. */
void sp_redis__batch_on_value(sp_redis_batch *batch, size_t command, const sp_redis_value *value);

/* A command is done; `error`: the text of its error, or NULL. */
void sp_redis__batch_end_command(sp_redis_batch *batch, const char *error);

/* The command is done, without a reply. */
void sp_redis__batch_fail(sp_redis_batch *batch, size_t command, const char *reason);

void sp_redis__batch_free(sp_redis_batch *batch);

/* ---- links: a connection to one server ---- */

typedef enum sp_redis_link_state {
	SP_REDIS_DOWN,       /* until next_ns */
	SP_REDIS_CONNECTING, /* commands are queued */
	SP_REDIS_READY,
} sp_redis_link_state;

/* A command in flight.  batch NULL: a command of the link itself. */
typedef struct sp_redis_sent_command {
	sp_redis_batch *batch;
	uint32_t command;
	bool is_last; /* of the link's commands the last one: after its reply the link is ready */
	int64_t sent_ns;
} sp_redis_sent_command;

typedef struct sp_redis_link {
	sp_redis_client *client;
	sp_redis_server server;
	sp_redis_link_state state;
	int fd; /* -1: none */
	bool wants_write;
	bool is_listed; /* in the cluster's map */
	bool is_extra;  /* one more connection to a server whose first one is counted and logged */
	bool logged_down; /* a warning was logged */
	uint32_t failed;  /* attempts in a row */
	int64_t next_ns;  /* DOWN: the next attempt; CONNECTING: the timeout */
	int64_t heard_ns; /* when bytes last came, or the first command in flight was sent */
	sp_buffer out;
	size_t sent;       /* of out */
	sp_ring in_flight; /* of sp_redis_sent_command */
	sp_buffer in;
	size_t taken; /* of `in`, which are handled */
	sp_redis_reply_parser parser;
	char why[160];   /* why it is down; "": it has not been tried */
	char error[256]; /* the error reply that is being read; "": another reply */
} sp_redis_link;

SP_MUST_CHECK sp_status sp_redis__link_create(sp_redis_link **out, sp_redis_client *client,
					      const sp_redis_server *server, sp_error *err);
void sp_redis__link_destroy(sp_redis_link *link);

/* By the client's thread only. */
void sp_redis__link_connect(sp_redis_link *link);

/* Queues a command, after an ASKING if `asking`; false: out of memory, or too much is queued. */
bool sp_redis__link_send(sp_redis_link *link, sp_redis_batch *batch, size_t command, bool asking);

/* Sends what is queued. */
void sp_redis__link_flush(sp_redis_link *link);

void sp_redis__link_on_event(sp_redis_link *link, uint32_t events);

/* Handles timeouts and reconnects; returns when to call again. */
int64_t sp_redis__link_on_time(sp_redis_link *link, int64_t now_ns);

/* Closes the connection; calls sp_redis__client_on_lost() for the commands in flight. */
void sp_redis__link_disconnect(sp_redis_link *link, const char *reason);

/* ---- the client ---- */

/* A command that is retried at due_ns. */
typedef struct sp_redis_retry {
	sp_redis_batch *batch;
	size_t command;
	int64_t due_ns;
} sp_redis_retry;

/* A master and its replicas. */
typedef struct sp_redis_shard {
	sp_redis_link *master;
	sp_redis_link **replicas; /* [replica_count] */
	size_t replica_count;
} sp_redis_shard;

struct sp_redis_client {
	sp_redis_client_options options;
	sp_redis_address address;
	pid_t owner;     /* the process that has the thread */
	int epoll;       /* of the links */
	int wake;        /* the thread polls this eventfd and `epoll` */
	int reader_wake; /* the caller that reads polls this eventfd and `epoll` */
	sp_thread_group *thread;

	pthread_mutex_t work; /* taken before `lock` */
	bool has_new_timer;   /* something may become due before the thread wakes up */

	pthread_mutex_t lock; /* guards the next nine */
	sp_redis_batch *submitted, **submitted_end;
	sp_redis_batch *free;
	size_t free_count;
	bool is_asleep, ignores_links; /* the thread sleeps; without polling the connections */
	bool has_reader;               /* a caller reads, which is `reader` */
	pthread_t reader;
	atomic_bool closing;

	sp_redis_link **links; /* for a single server, all of them lead to it */
	size_t link_count, link_capacity;
	uint64_t batches; /* sent */
	uint64_t random;

	sp_redis_retry *retries;
	size_t retry_count, retry_capacity;

	sp_redis_shard *shards;
	size_t shard_count, shard_capacity;
	uint16_t shard_of[SP_REDIS_SLOTS]; /* SP_REDIS_NO_SHARD: unknown */
	bool has_map, logged_no_map;
	sp_redis_batch *map_batch; /* the request for the map that is in flight */
	int64_t map_ns;            /* when the map is requested next */
	int64_t map_read_ns;       /* when the last reply came; 0: never */
	size_t turn;               /* round robin over links and replicas */

	atomic_uint_least64_t servers, servers_up, connects, losses, commands, redirections,
		failures, bytes_sent, bytes_received, round_trip_count, round_trip_ns;
};

enum { SP_REDIS_NO_SHARD = UINT16_MAX };

static inline void sp_redis__count(atomic_uint_least64_t *counter, uint64_t more)
{
	atomic_fetch_add_explicit(counter, more, memory_order_relaxed);
}

/* Sends a started batch, or leaves that to another thread. */
void sp_redis__client_submit(sp_redis_client *client, sp_redis_batch *batch);

/* Wakes the caller that reads: a batch is done. */
void sp_redis__client_on_batch_done(sp_redis_client *client);

/*
 * By a link: a reply is complete, and its values were handled.  link->error: the text of an error
 * reply.
 */
void sp_redis__client_on_reply(sp_redis_link *link, const sp_redis_sent_command *sent);

/* By a link: there will be no reply. */
void sp_redis__client_on_lost(sp_redis_client *client, const sp_redis_sent_command *sent,
			      const char *reason);

/* By a link: counts the servers that are up. */
void sp_redis__client_on_link_change(sp_redis_client *client, bool was_up, bool is_up);

/* ---- the map of a cluster ---- */

/* The link for a command; NULL: unknown. */
sp_redis_link *sp_redis__map_find(sp_redis_client *client, uint32_t slot, bool is_read_only);

/* The slot has moved. */
void sp_redis__map_move(sp_redis_client *client, uint32_t slot, sp_redis_link *to);

/*
 * Parses "MOVED 3999 127.0.0.1:6381" or "ASK ..." from the server `from`, whose host is used if the
 * text has none.  False: it is malformed.
 */
bool sp_redis__map_read_redirection(sp_redis_server *out, uint32_t *slot, const char *error,
				    const sp_redis_server *from);

/* Requests the map from a server if it is due; returns when to call again. */
int64_t sp_redis__map_on_time(sp_redis_client *client, int64_t now_ns);

void sp_redis__map_fini(sp_redis_client *client);

/* The link to a server, created if there is none; NULL: out of memory, or too many. */
sp_redis_link *sp_redis__client_link(sp_redis_client *client, const sp_redis_server *server);

#endif
