#ifndef SP_STORAGE_REDIS_REDIS_INTERNAL_H
#define SP_STORAGE_REDIS_REDIS_INTERNAL_H

#include <pthread.h>
#include <stdatomic.h>
#include <sys/types.h>

#include "base/buffer.h"
#include "base/thread.h"
#include "storage/redis/redis_client.h"
#include "storage/redis/redis_reply.h"
#include "storage/redis/redis_slots.h"

/*
 * The mutex `work` guards all of a client except what `lock` guards, and the counters.  The thread
 * holds it except while it sleeps or asks for the address of a name; callers take it, for a short
 * time, to send and to read.  A batch belongs to the client from submit() on until its last command
 * is answered.
 */

enum { SP_REDIS_ANY_SLOT = SP_REDIS_SLOTS };

/* ---- batches ---- */

typedef struct sp_redis_command {
	size_t offset, size; /* in the batch's bytes */
	uint32_t slot;       /* or SP_REDIS_ANY_SLOT */
	uint32_t attempts;
	bool needs_master; /* a replica has not answered it, or it was redirected */
	size_t answer;     /* index of its first value */
} sp_redis_command;

struct sp_redis_batch {
	sp_redis_client *client;
	sp_redis_batch *next; /* in the list of those submitted, or of those free */
	atomic_size_t references;
	sp_buffer bytes;
	sp_redis_command *commands;
	size_t count, capacity;
	size_t arguments; /* of the last command that are still to be added */
	bool is_broken;   /* memory was out, or arguments are missing */
	sp_redis_how how;

	size_t open;   /* commands without an answer; the client's */
	uint64_t turn; /* which link of a single server it is for, if that is ready */
	sp_redis_value *values;
	size_t value_count, value_capacity;
	sp_buffer texts; /* values' texts; offsets, until the batch is done */
	char reason[512];

	pthread_mutex_t lock; /* guards is_done */
	pthread_cond_t done;
	bool is_done;
};

/* The batch is the thread's from now on; false: a command is incomplete, or memory was out. */
bool sp_redis__batch_start(sp_redis_batch *batch, const sp_redis_how *how);

/* A value of an answer; the first one has depth 0. */
void sp_redis__batch_take(sp_redis_batch *batch, size_t command, const sp_redis_value *value);

/* One more command is answered; error: by an error, or NULL. */
void sp_redis__batch_close(sp_redis_batch *batch, const char *error);

/* The command has no answer. */
void sp_redis__batch_fail(sp_redis_batch *batch, size_t command, const char *reason);

void sp_redis__batch_free(sp_redis_batch *batch);

/* ---- links: a connection to one server ---- */

typedef enum sp_redis_link_state {
	SP_REDIS_DOWN,       /* until next_ns */
	SP_REDIS_CONNECTING, /* commands are queued */
	SP_REDIS_READY,
} sp_redis_link_state;

/* What an answer belongs to.  batch NULL: to a command of the link itself. */
typedef struct sp_redis_owed {
	sp_redis_batch *batch;
	uint32_t command;
	bool is_last; /* of the link's own: the connection is ready */
	int64_t sent_ns;
} sp_redis_owed;

typedef struct sp_redis_link {
	sp_redis_client *client;
	sp_redis_server server;
	sp_redis_link_state state;
	int fd; /* -1: none */
	bool wants_write;
	bool is_listed;   /* in the cluster's map */
	bool is_extra;    /* to a server that has another one, which is counted and logged */
	bool told_down;   /* has been logged */
	uint32_t failed;  /* attempts in a row */
	int64_t next_ns;  /* DOWN: the next attempt; CONNECTING: the last moment */
	int64_t heard_ns; /* when bytes last came, or began to be owed */
	sp_buffer out;
	size_t sent; /* of out */
	sp_redis_owed *owed;
	size_t owed_first, owed_count, owed_capacity; /* a ring; the capacity is a power of two */
	sp_buffer in;
	size_t taken; /* of in */
	sp_redis_reply reply;
	char why[160];   /* it is down; "": it has not been tried */
	char error[256]; /* the answer that is being read is this error; "": it is none */
} sp_redis_link;

SP_MUST_CHECK sp_status sp_redis__link_create(sp_redis_link **out, sp_redis_client *client,
					      const sp_redis_server *server, sp_error *err);
void sp_redis__link_destroy(sp_redis_link *link);

/* By the thread. */
void sp_redis__link_connect(sp_redis_link *link);

/* Queues a command, after an ASKING if `asking`; false: no memory, or too much is queued. */
bool sp_redis__link_send(sp_redis_link *link, sp_redis_batch *batch, size_t command, bool asking);

/* Writes what is queued. */
void sp_redis__link_flush(sp_redis_link *link);

void sp_redis__link_on_event(sp_redis_link *link, uint32_t events);

/* Connects, or gives up, when the time has come; returns when to call again. */
int64_t sp_redis__link_on_time(sp_redis_link *link, int64_t now_ns);

/* Closes the connection; commands without an answer go to sp_redis__client_lost(). */
void sp_redis__link_lose(sp_redis_link *link, const char *reason);

/* ---- the client ---- */

/* Commands that are sent again later. */
typedef struct sp_redis_parked {
	sp_redis_batch *batch;
	size_t command;
	int64_t due_ns;
} sp_redis_parked;

/* Slots of one master. */
typedef struct sp_redis_shard {
	sp_redis_link *master;
	sp_redis_link **replicas; /* [replica_count] */
	size_t replica_count;
} sp_redis_shard;

struct sp_redis_client {
	sp_redis_client_options options;
	sp_redis_address address;
	pid_t owner; /* the process that has the thread */
	int epoll;   /* of the links */
	int wake;    /* the thread polls it, and epoll */
	int tell;    /* the caller that reads polls it, and epoll */
	sp_thread_group *thread;

	pthread_mutex_t work; /* taken before `lock` */
	bool has_news;        /* something may be due before the thread wakes up */

	pthread_mutex_t lock; /* guards the next nine */
	sp_redis_batch *submitted, **submitted_end;
	sp_redis_batch *free;
	size_t free_count;
	bool is_asleep, is_blind; /* the thread; blind: does not look at the connections */
	bool is_read;             /* a caller reads: */
	pthread_t reader;
	atomic_bool closing;

	sp_redis_link **links; /* of a single server: all to it */
	size_t link_count, link_capacity;
	uint64_t batches; /* sent */
	uint64_t random;

	sp_redis_parked *parked;
	size_t parked_count, parked_capacity;

	sp_redis_shard *shards;
	size_t shard_count, shard_capacity;
	uint16_t shard_of[SP_REDIS_SLOTS]; /* SP_REDIS_NO_SHARD: unknown */
	bool has_map, told_no_map;
	sp_redis_batch *map_batch; /* the question that is open */
	int64_t map_ns;            /* when the map is asked for next */
	int64_t asked_ns;          /* when the last answer came; 0: never */
	size_t turn;               /* which link is asked, which replica reads */

	atomic_uint_least64_t servers, servers_up, connects, losses, commands, redirections,
		failures, bytes_sent, bytes_received, round_trip_count, round_trip_ns;
};

enum { SP_REDIS_NO_SHARD = UINT16_MAX };

static inline void sp_redis__count(atomic_uint_least64_t *counter, uint64_t more)
{
	atomic_fetch_add_explicit(counter, more, memory_order_relaxed);
}

/* Sends a batch that was started, or has the thread send it. */
void sp_redis__client_submit(sp_redis_client *client, sp_redis_batch *batch);

/* A batch is done. */
void sp_redis__client_closed(sp_redis_client *client);

/* By a link: an answer is complete; its values have been taken.  error: link->error. */
void sp_redis__client_answered(sp_redis_link *link, const sp_redis_owed *owed);

/* By a link: there will be no answer. */
void sp_redis__client_lost(sp_redis_client *client, const sp_redis_owed *owed, const char *reason);

/* By a link: it has become ready, or is lost. */
void sp_redis__client_changed(sp_redis_client *client, bool was_up, bool is_up);

/* ---- the map of a cluster ---- */

/* The link for a command; NULL: none is known. */
sp_redis_link *sp_redis__map_find(sp_redis_client *client, uint32_t slot, bool only_reads);

/* The slot has moved. */
void sp_redis__map_move(sp_redis_client *client, uint32_t slot, sp_redis_link *to);

/*
 * "MOVED 3999 127.0.0.1:6381" or "ASK ..." of the server `asked`, whose host an empty one stands
 * for.  False: it leads nowhere.
 */
bool sp_redis__map_read_redirection(sp_redis_server *out, uint32_t *slot, const char *error,
				    const sp_redis_server *asked);

/* Asks a server for the map, if it is time; returns when to call again. */
int64_t sp_redis__map_on_time(sp_redis_client *client, int64_t now_ns);

void sp_redis__map_fini(sp_redis_client *client);

/* The link to a server, made if there is none; NULL: no memory, or too many. */
sp_redis_link *sp_redis__client_link(sp_redis_client *client, const sp_redis_server *server);

#endif
