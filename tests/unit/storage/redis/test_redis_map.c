#include "tests/support/cmocka.h"

#include <arpa/inet.h>
#include <poll.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/thread.h"
#include "storage/redis/redis_internal.h"

/* What a server that is none, or means harm, says about a cluster. */

enum { MS = 1000000, LONG_MS = 20000, CONNECTIONS = 16, TEXT = 2048 };

/* ---- redirections ---- */

static const sp_redis_server asked = {.host = "asked", .port = 7000};

static void redirections_lead_to_a_server(void **state)
{
	static const struct {
		const char *error, *host;
		uint32_t slot;
		int port;
	} good[] = {
		{"MOVED 3999 127.0.0.1:6381", "127.0.0.1", 3999, 6381},
		{"ASK 0 b.example:1", "b.example", 0, 1},
		{"MOVED 16383 ::1:65535", "::1", 16383, 65535},
		{"MOVED 5 :7001", "asked", 5, 7001},
		{"MOVED 00005 h:1", "h", 5, 1},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(good) / sizeof(*good); i++) {
		sp_redis_server to;
		uint32_t slot;

		assert_true(sp_redis__map_read_redirection(&to, &slot, good[i].error, &asked));
		assert_string_equal(to.host, good[i].host);
		assert_int_equal(slot, good[i].slot);
		assert_int_equal(to.port, good[i].port);
	}
}

static void others_lead_nowhere(void **state)
{
	static const char *const bad[] = {
		"MOVED",
		"MOVED ",
		"MOVED 5",
		"MOVED 5 ",
		"MOVED 5 h",
		"MOVED 5 h:",
		"MOVED 5 :",
		"MOVED 5 h:0",
		"MOVED 5 h:65536",
		"MOVED 5 h:-1",
		"MOVED 5 h:+1",
		"MOVED 5 h: 1",
		"MOVED 5 h:1x",
		"MOVED 5 h:1 ",
		"MOVED 5 h:4294967297",
		"MOVED  5 h:1",
		"MOVED x h:1",
		"MOVED 5x h:1",
		"MOVED -1 h:1",
		"MOVED +5 h:1",
		"MOVED 16384 h:1",
		"MOVED 65536 h:1",
		"MOVED 4294967296 h:1",
		"MOVED 18446744073709551621 h:1",
		"MOVED\t5\th:1",
	};
	char text[SP_REDIS_HOST_SIZE + 32] = "ASK 5 ";
	sp_redis_server to;
	uint32_t slot;

	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++)
		if (sp_redis__map_read_redirection(&to, &slot, bad[i], &asked))
			fail_msg("taken: %s", bad[i]);
	memset(text + 6, 'h', SP_REDIS_HOST_SIZE);
	strcpy(text + 6 + SP_REDIS_HOST_SIZE, ":1");
	assert_false(sp_redis__map_read_redirection(&to, &slot, text, &asked));
	strcpy(text + 6 + SP_REDIS_HOST_SIZE - 1, ":1"); /* the longest host */
	assert_true(sp_redis__map_read_redirection(&to, &slot, text, &asked));
}

/* ---- a server that says what it is told to ---- */

static struct {
	int listener, port;
	atomic_bool stop;
	pthread_mutex_t lock; /* guards the next two */
	char slots[TEXT], value[TEXT];
	atomic_uint maps; /* that were asked for */
	struct pollfd at[CONNECTIONS];
	size_t count;
	sp_thread_group *thread;
} server = {.lock = PTHREAD_MUTEX_INITIALIZER};

/* "@" in the text is the server's port. */
static void say(char out[TEXT], const char *text)
{
	char port[8];
	size_t size = 0;

	snprintf(port, sizeof(port), "%d", server.port);
	pthread_mutex_lock(&server.lock);
	for (; *text != '\0'; text++)
		size += (size_t)snprintf(out + size, TEXT - size, *text == '@' ? "%s" : "%.1s",
					 *text == '@' ? port : text);
	pthread_mutex_unlock(&server.lock);
}

static void send_text(int fd, const char *text)
{
	char copy[TEXT];

	pthread_mutex_lock(&server.lock);
	strcpy(copy, text);
	pthread_mutex_unlock(&server.lock);
	(void)send(fd, copy, strlen(copy), MSG_NOSIGNAL);
}

/* Commands come one or a few at a time, and none in pieces. */
static void answer(int fd, const char *commands)
{
	for (const char *at = commands; *at != '\0'; at++)
		if (strncmp(at, "\nPING\r", 6) == 0 || strncmp(at, "\nASKING\r", 8) == 0)
			send_text(fd, "+OK\r\n");
		else if (strncmp(at, "\nGET\r", 5) == 0)
			send_text(fd, server.value);
		else if (strncmp(at, "\nSLOTS\r", 7) == 0) {
			send_text(fd, server.slots);
			atomic_fetch_add(&server.maps, 1);
		}
}

static void serve(void *context)
{
	char text[TEXT];

	(void)context;
	while (!atomic_load(&server.stop)) {
		poll(server.at, server.count, 20);
		for (size_t i = server.count; i-- > 1;) {
			ssize_t n = (server.at[i].revents & (POLLIN | POLLHUP)) != 0
					    ? recv(server.at[i].fd, text, sizeof(text) - 1, 0)
					    : -1;

			if (n > 0) {
				text[n] = '\0';
				answer(server.at[i].fd, text);
			} else if (n == 0) {
				close(server.at[i].fd);
				server.at[i] = server.at[--server.count];
			}
		}
		if ((server.at[0].revents & POLLIN) != 0 && server.count < CONNECTIONS)
			server.at[server.count++] = (struct pollfd){
				.fd = accept(server.listener, NULL, NULL), .events = POLLIN};
	}
}

static sp_error err;

static sp_redis_client *open_client(void)
{
	sp_redis_address address;
	sp_redis_client *client;
	char text[32];

	snprintf(text, sizeof(text), "127.0.0.1:%d", server.port);
	assert_ok(sp_redis_address_parse(&address, text, &err), &err);
	assert_ok(sp_redis_client_create(
			  &client,
			  &(sp_redis_client_options){.address = &address, .is_cluster = true},
			  &err),
		  &err);
	return client;
}

static sp_status get(sp_redis_client *client)
{
	const sp_redis_submit_options how = {.deadline_ns = sp_clock_now_ns() +
							    (int64_t)LONG_MS * MS};
	sp_redis_batch *batch = sp_redis_batch_create(client);
	sp_status status;

	sp_redis_batch_begin(batch, "k", 1, 2);
	sp_redis_batch_add_text(batch, "GET");
	sp_redis_batch_add_text(batch, "k");
	status = sp_redis_batch_run(batch, &how, &err);
	sp_redis_batch_release(batch);
	return status;
}

/* ---- maps ---- */

#define SERVER             "*3\r\n$9\r\n127.0.0.1\r\n:@\r\n$2\r\nid\r\n"
#define RANGE(first, last) "*3\r\n:" first "\r\n:" last "\r\n"

static const char good_map[] = "*1\r\n" RANGE("0", "16383") SERVER;
static const char good_value[] = "$1\r\nx\r\n";

static void maps_that_are_none_are_asked_for_again(void **state)
{
	static const char *const bad[] = {
		"-ERR unknown command\r\n",
		"+OK\r\n",
		":1\r\n",
		"$-1\r\n",
		"*0\r\n",
		"*-1\r\n",
		"*1\r\n*0\r\n",
		"*1\r\n*2\r\n:0\r\n:16383\r\n",
		"*1\r\n*3\r\n:0\r\n:16383\r\n*0\r\n",
		"*1\r\n*3\r\n:0\r\n:16383\r\n$1\r\nh\r\n",
		"*1\r\n" RANGE("0", "16384") SERVER,
		"*1\r\n" RANGE("-1", "16383") SERVER,
		"*1\r\n" RANGE("16383", "0") SERVER,
		"*1\r\n" RANGE("0", "9223372036854775807") SERVER,
		"*1\r\n*3\r\n$1\r\n0\r\n:16383\r\n" SERVER,
		"*1\r\n" RANGE("0", "16383") "*2\r\n$1\r\nh\r\n:0\r\n",
		"*1\r\n" RANGE("0", "16383") "*2\r\n$1\r\nh\r\n:65536\r\n",
		"*1\r\n" RANGE("0", "16383") "*2\r\n$1\r\nh\r\n$4\r\n7000\r\n",
		"*1\r\n" RANGE("0", "16383") "*2\r\n:1\r\n:7000\r\n",
		"*1\r\n" RANGE("0", "16383") "*2\r\n*1\r\n$1\r\nh\r\n:7000\r\n",
		"*2\r\n" RANGE("0", "9") SERVER "*1\r\n:10\r\n",
		"*1\r\n*4\r\n:0\r\n:9\r\n" SERVER "*2\r\n$1\r\nr\r\n:0\r\n",
	};

	(void)state;
	say(server.value, good_value);
	for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
		unsigned before = atomic_load(&server.maps);
		sp_redis_client *client;

		say(server.slots, bad[i]);
		client = open_client();
		/* One that is taken is not asked for again so soon. */
		while (atomic_load(&server.maps) < before + 2)
			usleep(2000);
		say(server.slots, good_map);
		assert_ok(get(client), &err);
		sp_redis_client_destroy(client);
	}
}

static void a_redirection_that_leads_nowhere_is_the_answer(void **state)
{
	sp_redis_client *client;

	(void)state;
	say(server.slots, good_map);
	client = open_client();
	say(server.value, "-MOVED 5 h:0\r\n");
	assert_int_equal(get(client), SP_IO);
	assert_non_null(strstr(err.text, "MOVED 5 h:0"));
	say(server.value, "-ASK 99999 127.0.0.1:@\r\n");
	assert_int_equal(get(client), SP_IO);
	assert_non_null(strstr(err.text, "ASK 99999"));
	/* In a circle: so many times, and then no more. */
	say(server.value, "-MOVED 5 127.0.0.1:@\r\n");
	assert_int_equal(get(client), SP_IO);
	assert_non_null(strstr(err.text, "MOVED 5"));
	say(server.value, "-ASK 5 :@\r\n");
	assert_int_equal(get(client), SP_IO);
	say(server.value, good_value);
	assert_ok(get(client), &err);
	sp_redis_client_destroy(client);
}

/* ---- all ---- */

static int set_up(void **state)
{
	struct sockaddr_in address = {.sin_family = AF_INET,
				      .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	socklen_t size = sizeof(address);

	(void)state;
	server.listener = socket(AF_INET, SOCK_STREAM, 0);
	if (bind(server.listener, (struct sockaddr *)&address, size) != 0 ||
	    listen(server.listener, CONNECTIONS) != 0 ||
	    getsockname(server.listener, (struct sockaddr *)&address, &size) != 0)
		return -1;
	server.port = ntohs(address.sin_port);
	server.at[server.count++] = (struct pollfd){.fd = server.listener, .events = POLLIN};
	return sp_thread_group_create(&server.thread, 1, "server", serve, NULL, &err) == SP_OK ? 0
											       : -1;
}

static int tear_down(void **state)
{
	(void)state;
	atomic_store(&server.stop, true);
	sp_thread_group_destroy(server.thread);
	for (size_t i = 0; i < server.count; i++)
		close(server.at[i].fd);
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(redirections_lead_to_a_server),
		cmocka_unit_test(others_lead_nowhere),
		cmocka_unit_test(maps_that_are_none_are_asked_for_again),
		cmocka_unit_test(a_redirection_that_leads_nowhere_is_the_answer),
	};

	return cmocka_run_group_tests_name("redis_map", tests, set_up, tear_down);
}
