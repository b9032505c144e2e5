#include <netdb.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/log.h"
#include "storage/redis/redis_internal.h"
#include "tests/support/fuzz.h"

/*
 * Any bytes as what a server answers to a client that has asked for values and, if the first byte
 * is odd, for the map of a cluster.  The client's thread is this one.  Maps and redirections lead
 * to servers that nobody knows.
 */

static char folder[] = "/tmp/sp_fuzz_XXXXXX";
static struct sockaddr_un address = {.sun_family = AF_UNIX};
static int listener = -1;

int getaddrinfo(const char *name, const char *service, const struct addrinfo *hints,
		struct addrinfo **list)
{
	(void)name, (void)service, (void)hints;
	*list = NULL;
	return EAI_NONAME;
}

static void clean_up(void)
{
	unlink(address.sun_path);
	rmdir(folder);
}

static void listen_once(void)
{
	if (listener >= 0)
		return;
	if (mkdtemp(folder) == NULL)
		abort();
	atexit(clean_up);
	strcpy(address.sun_path, folder);
	strcat(address.sun_path, "/s");
	listener = socket(AF_UNIX, SOCK_STREAM, 0);
	if (bind(listener, (struct sockaddr *)&address, sizeof(address)) != 0 ||
	    listen(listener, 1) != 0)
		abort();
	sp_log_set_level(SP_LOG_ERROR);
}

static sp_redis_client *make_client(bool is_cluster)
{
	sp_redis_client *client = sp_alloc_zero(1, sizeof(*client));

	if (client == NULL)
		abort();
	client->options = (sp_redis_client_options){.is_cluster = is_cluster,
						    .connect_ms = 1000,
						    .silence_ms = 1000,
						    .longest_pause_ms = 1000};
	client->owner = getpid();
	client->epoll = epoll_create1(0);
	client->wake = eventfd(0, EFD_NONBLOCK);
	client->reader_wake = eventfd(0, EFD_NONBLOCK);
	client->random = 1;
	client->submitted_end = &client->submitted;
	memset(client->shard_of, 0xff, sizeof(client->shard_of));
	pthread_mutex_init(&client->lock, NULL);
	pthread_mutex_init(&client->work, NULL);
	pthread_mutex_lock(&client->work);
	strcpy(client->address.servers[0].host, address.sun_path);
	client->address.count = 1;
	return client;
}

/* Keeps no answer, but looks at all of each. */
static uint64_t seen;

static void take(void *owner, size_t command, const sp_redis_value *value)
{
	(void)owner;
	seen += command + value->depth + value->index;
	for (size_t i = 0; value->text != NULL && i < value->size; i++)
		seen += (unsigned char)value->text[i];
}

static void done(void *owner)
{
	++*(int *)owner;
}

static void ask(sp_redis_link *link, const sp_redis_callbacks *sink, int *ended)
{
	sp_redis_batch *batch = sp_redis_batch_create(link->client);
	const sp_redis_submit_options how = {
		.deadline_ns = 1, .fail_fast = true, .callbacks = sink, .owner = ended};

	if (batch == NULL)
		abort();
	for (int i = 0; i < 3; i++) {
		sp_redis_batch_begin(batch, "k", 1, 2);
		sp_redis_batch_add_text(batch, "GET");
		sp_redis_batch_add_text(batch, "k");
	}
	if (!sp_redis__batch_start(batch, &how))
		abort();
	for (size_t i = 0; i < 3; i++)
		if (!sp_redis__link_send(link, batch, i, false))
			abort();
	sp_redis_batch_release(batch);
}

static void feed(sp_redis_link *link, int peer, const void *data, size_t size)
{
	if (size != 0 && write(peer, data, size) != (ssize_t)size)
		abort();
	for (struct pollfd p = {.fd = link->fd, .events = POLLIN};
	     link->fd >= 0 && poll(&p, 1, 0) > 0;)
		sp_redis__link_on_event(link, EPOLLIN);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const sp_redis_callbacks kept = {.on_done = done},
					taken = {.on_value = take, .on_done = done};
	sp_redis_client *client;
	sp_redis_link *link;
	int peer, ended = 0;

	if (size == 0 || size > 65536)
		return 0;
	listen_once();
	client = make_client(data[0] % 2 != 0);
	link = sp_redis__client_link(client, &client->address.servers[0]);
	sp_redis__link_connect(link);
	peer = accept(listener, NULL, NULL);
	feed(link, peer, "+PONG\r\n", 7);
	if (link->state != SP_REDIS_READY)
		abort();
	if (client->options.is_cluster)
		sp_redis__map_on_time(client, sp_clock_now_ns());
	ask(link, &kept, &ended);
	ask(link, &taken, &ended);
	sp_redis__link_flush(link);
	feed(link, peer, data + 1, size - 1);
	close(peer);
	atomic_store(&client->closing, true);
	if (link->fd >= 0)
		sp_redis__link_disconnect(link, "the end");
	if (ended != 2)
		abort();
	pthread_mutex_unlock(&client->work);
	sp_redis_client_destroy(client);
	return 0;
}
