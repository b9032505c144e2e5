/*
 * Sends one request again and again and tells how long the answers took.
 *
 *   bench_http [--grpc] [--keep FOLDER] PORT PATH BODY CONNECTIONS SECONDS [RATE [TYPE [HEADER]]]
 *
 * BODY is a file, sent over HTTP/1.1 with the content type TYPE (application/json) and the further
 * HEADER, or with --grpc as a call over HTTP/2, one at a time per connection; the file has gRPC's
 * five bytes in front then.  Without a RATE, or with 0, a connection sends its next request when it
 * has the answer to the last.  Otherwise requests arrive at random times, RATE per second on
 * average, whatever the answers do; each takes an idle connection, or waits for one, and its time
 * counts from its arrival.
 *
 * Prints one line of JSON: the rate of good answers, those with status 200 or gRPC's 0, and times
 * in microseconds: p50 to max of good answers from their arrival, sent_ and refused_ from when the
 * request was written, of good answers and of the others.
 *
 * With --keep, FOLDER/0, FOLDER/1, ... are the bodies of the good answers, each different one once,
 * and FOLDER/refused is the first other one; "kept" counts the answers with each body, "unkept"
 * those for which there was no room.
 */
#include <errno.h>
#include <math.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "bench/host/answers.h"
#include "bench/host/http2_call.h"
#include "bench/usage.h"

enum { INPUT = 1 << 20, MOST_CONNECTIONS = 4096, MOST_TIMES = 1 << 23 };

typedef struct connection {
	int fd;
	int64_t since;    /* arrival of its request; 0: idle */
	int64_t sent_ns;  /* when it was written */
	http2_call *call; /* NULL: HTTP/1.1 */
	char *input;
	size_t size;
	size_t sent; /* of the request */
} connection;

typedef struct times {
	float *us; /* [MOST_TIMES] */
	size_t count;
} times;

static struct {
	char *request; /* HTTP/1.1 */
	size_t size;
	http2_request call;
	bool grpc;
	int port, poll;
	connection connections[MOST_CONNECTIONS];
	size_t connection_count;
	connection *idle[MOST_CONNECTIONS];
	size_t idle_count;
	int64_t *waiting; /* arrivals without a connection: a ring */
	size_t first, last;
	times good, sent, bad;
	answers answers;
	size_t broken; /* connections that the server has closed */
} all;

enum { MOST_WAITING = 1 << 22 };

static void fail(const char *what)
{
	perror(what);
	exit(1);
}

/* ------------------------------------------------------------------- sockets */

/* Blocks if the socket's buffer is full.  False when the connection is broken. */
static bool send_all(const connection *c, const char *data, size_t size)
{
	while (size != 0) {
		ssize_t n = send(c->fd, data, size, MSG_NOSIGNAL);

		if (n <= 0)
			return false;
		data += n;
		size -= (size_t)n;
	}
	return true;
}

static bool send_frames(connection *c)
{
	const char *data;
	size_t size;

	while ((data = http2_call_output(c->call, &size)) != NULL)
		if (!send_all(c, data, size))
			return false;
	return true;
}

static void open_connection(connection *c)
{
	struct sockaddr_in address = {.sin_family = AF_INET,
				      .sin_port = htons((uint16_t)all.port),
				      .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	struct epoll_event event = {.events = EPOLLIN, .data.ptr = c};
	int on = 1;

	c->fd = socket(AF_INET, SOCK_STREAM, 0);
	if (c->fd < 0 || connect(c->fd, (struct sockaddr *)&address, sizeof(address)) != 0)
		fail("connect");
	setsockopt(c->fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
	if (epoll_ctl(all.poll, EPOLL_CTL_ADD, c->fd, &event) != 0)
		fail("epoll_ctl");
	c->since = 0;
	c->size = 0;
	if (!all.grpc)
		return;
	c->call = http2_call_new(&all.call);
	if (!send_frames(c)) /* the preface, so that it is no part of the first request */
		fail("send");
}

static void reopen(connection *c)
{
	all.broken++;
	close(c->fd);
	if (c->call != NULL)
		http2_call_free(c->call);
	open_connection(c);
}

/* Sends the whole request. */
static void send_request(connection *c, int64_t since)
{
	for (;; reopen(c)) {
		c->since = since;
		c->sent_ns = sp_clock_now_ns();
		if (c->call != NULL)
			http2_call_begin(c->call);
		if (c->call != NULL ? send_frames(c) : send_all(c, all.request, all.size))
			return;
	}
}

/* The size of the whole answer at the start of the input; 0: not known yet. */
static size_t answer_size(connection *c)
{
	char *end, *length;

	c->input[c->size] = '\0';
	end = strstr(c->input, "\r\n\r\n");
	if (end == NULL)
		return 0;
	length = strcasestr(c->input, "\r\ncontent-length:");
	if (length == NULL || length > end)
		return (size_t)(end - c->input) + 4;
	return (size_t)(end - c->input) + 4 + strtoul(length + 17, NULL, 10);
}

static void note_time(times *to, int64_t ns)
{
	if (to->count < MOST_TIMES)
		to->us[to->count++] = (float)((double)ns / 1e3);
}

static void note(connection *c, bool good, const char *body, size_t size)
{
	int64_t now = sp_clock_now_ns();

	if (good) {
		note_time(&all.good, now - c->since);
		note_time(&all.sent, now - c->sent_ns);
	} else {
		note_time(&all.bad, now - c->sent_ns);
	}
	answers_note(&all.answers, good, body, size);
	c->since = 0;
	c->size = 0;
}

/* Whether the input has the answer. */
static bool read_answer(connection *c)
{
	size_t size = answer_size(c);
	const char *body;

	if (size == 0 || c->size < size || c->since == 0)
		return false;
	body = strstr(c->input, "\r\n\r\n") + 4;
	note(c, strncmp(c->input, "HTTP/1.1 200 ", 13) == 0, body,
	     size - (size_t)(body - c->input));
	return true;
}

static bool read_call(connection *c)
{
	http2_answer answer;

	c->size = 0;
	if (!http2_call_answer(c->call, &answer) || c->since == 0)
		return false;
	note(c, answer.status == 0, answer.body, answer.size);
	return true;
}

/* Whether the connection has its answer. */
static bool receive(connection *c, int flags)
{
	ssize_t n = recv(c->fd, c->input + c->size, INPUT - 1 - c->size, flags);

	if (n < 0 && errno == EAGAIN)
		return false;
	if (n <= 0 || (c->call != NULL &&
		       (!http2_call_input(c->call, c->input, (size_t)n) || !send_frames(c)))) {
		int64_t since = c->since;

		reopen(c);
		if (since != 0)
			send_request(c, since);
		return false;
	}
	c->size += (size_t)n;
	return c->call != NULL ? read_call(c) : read_answer(c);
}

/* ---------------------------------------------------------------------- runs */

/* One connection needs no epoll. */
static void run_one(int64_t end)
{
	connection *c = &all.connections[0];

	for (int64_t now = sp_clock_now_ns(); now < end; now = sp_clock_now_ns()) {
		send_request(c, now);
		while (!receive(c, 0))
			;
	}
}

static void run_closed(int64_t end)
{
	struct epoll_event events[256];

	for (size_t i = 0; i < all.connection_count; i++)
		send_request(&all.connections[i], sp_clock_now_ns());
	while (sp_clock_now_ns() < end) {
		int count = epoll_wait(all.poll, events, 256, 100);

		for (int i = 0; i < count; i++)
			if (receive(events[i].data.ptr, MSG_DONTWAIT))
				send_request(events[i].data.ptr, sp_clock_now_ns());
	}
}

/* Gives idle connections to arrivals. */
static void assign(void)
{
	while (all.idle_count != 0 && all.first != all.last)
		send_request(all.idle[--all.idle_count], all.waiting[all.first++ % MOST_WAITING]);
}

static int64_t arrive(int64_t due, int64_t now, double rate)
{
	while (due <= now && all.last - all.first < MOST_WAITING) {
		all.waiting[all.last++ % MOST_WAITING] = due;
		due += (int64_t)(-log(1 - drand48()) / rate * 1e9);
	}
	return due;
}

static void run_open(int64_t end, double rate)
{
	struct epoll_event events[256];
	int64_t now = sp_clock_now_ns(), due = now;

	prctl(PR_SET_TIMERSLACK, 1);
	for (size_t i = 0; i < all.connection_count; i++)
		all.idle[all.idle_count++] = &all.connections[i];
	for (; now < end; now = sp_clock_now_ns()) {
		struct timespec left = {0, 0};
		int count;

		due = arrive(due, now, rate);
		assign();
		if (due > now)
			left = (struct timespec){(due - now) / 1000000000,
						 (due - now) % 1000000000};
		count = epoll_pwait2(all.poll, events, 256, &left, NULL);
		for (int i = 0; i < count; i++)
			if (receive(events[i].data.ptr, MSG_DONTWAIT))
				all.idle[all.idle_count++] = events[i].data.ptr;
	}
}

/* -------------------------------------------------------------------- report */

static int by_value(const void *a, const void *b)
{
	float x = *(const float *)a, y = *(const float *)b;

	return (x > y) - (x < y);
}

static double quantile(const times *of, double share)
{
	return of->count == 0 ? 0 : (double)of->us[(size_t)(share * (double)(of->count - 1))];
}

static void sort(times *of)
{
	qsort(of->us, of->count, sizeof(float), by_value);
}

static void report(double seconds)
{
	sort(&all.good);
	sort(&all.sent);
	sort(&all.bad);
	printf("{\"rate\":%.1f,\"count\":%zu,\"p50\":%.1f,\"p90\":%.1f,\"p99\":%.1f,\"p999\":%.1f,"
	       "\"max\":%.1f,\"sent_p50\":%.1f,\"sent_p99\":%.1f,\"refused\":%zu,"
	       "\"refused_p50\":%.1f,\"refused_p99\":%.1f,\"broken\":%zu,\"unanswered\":%zu",
	       (double)all.good.count / seconds, all.good.count, quantile(&all.good, 0.5),
	       quantile(&all.good, 0.9), quantile(&all.good, 0.99), quantile(&all.good, 0.999),
	       quantile(&all.good, 1), quantile(&all.sent, 0.5), quantile(&all.sent, 0.99),
	       all.bad.count, quantile(&all.bad, 0.5), quantile(&all.bad, 0.99), all.broken,
	       all.last - all.first);
	answers_report(&all.answers);
	printf("}\n");
}

/* ------------------------------------------------------------------- options */

static void read_body(const char *path, const char *target, const char *type, const char *header)
{
	FILE *file = fopen(path, "rb");
	char *body = malloc(INPUT);
	size_t size, head;

	if (file == NULL || body == NULL)
		fail(path);
	size = fread(body, 1, INPUT, file);
	fclose(file);
	all.call = (http2_request){target, body, size};
	all.request = malloc(size + 2048);
	if (all.request == NULL)
		fail("malloc");
	head = (size_t)snprintf(all.request, 2048,
				"POST %s HTTP/1.1\r\nHost: localhost\r\nContent-Type: %s\r\n%s%s"
				"Content-Length: %zu\r\n\r\n",
				target, type, header, *header != '\0' ? "\r\n" : "", size);
	if (head >= 2048)
		exit(2);
	memcpy(all.request + head, body, size);
	all.size = head + size;
}

/* Returns how many arguments it has used. */
static int read_options(int argc, char **argv)
{
	int used = 0;

	while (used + 1 < argc) {
		const char *option = argv[used + 1];

		if (strcmp(option, "--grpc") == 0) {
			all.grpc = true;
			used++;
		} else if (strcmp(option, "--keep") == 0 && used + 2 < argc) {
			all.answers.folder = argv[used + 2];
			used += 2;
		} else {
			break;
		}
	}
	return used;
}

static void allocate(void)
{
	times *const each[] = {&all.good, &all.sent, &all.bad};

	for (int i = 0; i < 3; i++) {
		each[i]->us = malloc(MOST_TIMES * sizeof(float));
		if (each[i]->us == NULL)
			fail("malloc");
	}
	all.waiting = malloc(MOST_WAITING * sizeof(int64_t));
	all.poll = epoll_create1(0);
	if (all.poll < 0 || all.waiting == NULL)
		fail("bench_http");
	for (size_t i = 0; i < all.connection_count; i++) {
		all.connections[i].input = malloc(INPUT);
		if (all.connections[i].input == NULL)
			fail("malloc");
		open_connection(&all.connections[i]);
	}
}

static const char usage[] = "usage: bench_http [--grpc] [--keep FOLDER] PORT PATH BODY CONNECTIONS "
			    "SECONDS [RATE [TYPE [HEADER]]]\n";

int main(int argc, char **argv)
{
	int used = read_options(argc, argv);
	double seconds, rate;
	int64_t start, end;

	argc -= used;
	argv += used;
	sp_bench_read_options(argc, argv, usage);
	if (argc < 6) {
		fputs(usage, stderr);
		return 2;
	}
	all.port = atoi(argv[1]);
	all.connection_count = (size_t)atoi(argv[4]);
	seconds = atof(argv[5]);
	rate = argc > 6 ? atof(argv[6]) : 0;
	if (all.connection_count == 0 || all.connection_count > MOST_CONNECTIONS)
		return 2;
	read_body(argv[3], argv[2], argc > 7 ? argv[7] : "application/json",
		  argc > 8 ? argv[8] : "");
	allocate();
	start = sp_clock_now_ns();
	end = start + (int64_t)(seconds * 1e9);
	if (rate > 0)
		run_open(end, rate);
	else if (all.connection_count == 1)
		run_one(end);
	else
		run_closed(end);
	report((double)(sp_clock_now_ns() - start) / 1e9);
	return 0;
}
