#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "api/host/flags.h"
#include "api/host/host.h"
#include "api/host/systemd.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/thread.h"

/*
 * serving_host: serves models over HTTP.
 *
 * The main thread starts everything, then waits for the model and for SIGTERM or SIGINT, which are
 * blocked in all other threads, and runs the upkeep once a second.
 *
 * Exit status: 0 after a signal; 1 if the model or the port cannot be opened, or requests had to be
 * cut off; 2 for a wrong command line.
 */

/* A second signal within this time is a duplicate: timeout(1) sends each signal twice. */
static const int64_t duplicate_ns = 100 * INT64_C(1000000);

/* Time for clients to read their answers after a second signal. */
enum { LAST_WAIT_MS = 2000 };

typedef struct loader {
	sp_host *host;
	int done_fd;
	sp_status status;
	sp_error error;
} loader;

static void load(void *context)
{
	loader *l = context;
	uint64_t one = 1;

	l->status = sp_host_load(l->host, &l->error);
	if (write(l->done_fd, &one, sizeof(one)) < 0)
		abort(); /* a write of 8 bytes to an eventfd cannot fail */
}

typedef struct signals {
	int fd;
	int64_t received_ns; /* when the first SIGTERM or SIGINT came; 0: not yet */
	bool ready;          /* the service manager knows that models are served */
} signals;

static void fill(sigset_t *set)
{
	sigemptyset(set);
	sigaddset(set, SIGTERM);
	sigaddset(set, SIGINT);
	sigaddset(set, SIGHUP);
}

/* Blocks the signals and makes them readable from s->fd. */
static void open_signals(signals *s)
{
	sigset_t set;

	fill(&set);
	pthread_sigmask(SIG_BLOCK, &set, NULL);
	signal(SIGPIPE, SIG_IGN);
	*s = (signals){.fd = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK)};
}

static void end_now(int number)
{
	(void)number;
	_exit(0);
}

/* Makes SIGTERM and SIGINT end the process at once.  Call it when all requests are answered. */
static void close_signals(signals *s)
{
	sigset_t set;

	close(s->fd);
	signal(SIGTERM, end_now);
	signal(SIGINT, end_now);
	fill(&set);
	sigdelset(&set, SIGHUP);
	pthread_sigmask(SIG_UNBLOCK, &set, NULL);
}

static bool is_duplicate(signals *s)
{
	int64_t now_ns = sp_clock_now_ns();

	if (s->received_ns == 0) {
		s->received_ns = now_ns;
		return false;
	}
	return now_ns - s->received_ns < duplicate_ns;
}

static void reload(sp_host *host, const signals *s)
{
	if (s->ready)
		sp_systemd_notify_reloading();
	sp_host_reload(host);
	if (s->ready)
		sp_systemd_notify("READY=1");
}

/* The next SIGTERM or SIGINT that is not a duplicate; 0 if there is none. */
static int read_signal(sp_host *host, signals *s)
{
	struct signalfd_siginfo info;

	while (read(s->fd, &info, sizeof(info)) == sizeof(info)) {
		if (info.ssi_signo == SIGHUP)
			reload(host, s);
		else if (!is_duplicate(s))
			return (int)info.ssi_signo;
	}
	return 0;
}

/*
 * Waits for a signal or until `done_fd` (-1: none) is readable; timeout_ms -1: no timeout.  Returns
 * the signal, or 0.
 */
static int wait_signal(sp_host *host, signals *s, int done_fd, int64_t timeout_ms)
{
	struct pollfd pollers[] = {{s->fd, POLLIN, 0}, {done_fd, POLLIN, 0}};
	int64_t end_ns = sp_clock_now_ns() + timeout_ms * 1000000;
	int received = 0;

	do {
		int64_t left_ms = (end_ns - sp_clock_now_ns() + 999999) / 1000000;

		if (timeout_ms < 0 || left_ms > SP_UPKEEP_MS)
			left_ms = SP_UPKEEP_MS;
		if (poll(pollers, 2, left_ms > 0 ? (int)left_ms : 0) == 0)
			sp_host_upkeep(host);
		sp_systemd_keep_alive();
		received = read_signal(host, s);
	} while (received == 0 && pollers[1].revents == 0 &&
		 (timeout_ms < 0 || sp_clock_now_ns() < end_ns));
	return received;
}

/* Renames a complete file, so that a reader never sees part of it. */
static sp_status write_port(const char *path, uint16_t port, sp_error *err)
{
	char temporary[4096];
	FILE *file;
	bool written;

	if (snprintf(temporary, sizeof(temporary), "%s.tmp", path) >= (int)sizeof(temporary))
		return sp_error_set(err, SP_INVALID, "--port_file is too long");
	file = fopen(temporary, "w");
	if (file == NULL)
		return sp_error_set(err, SP_IO, "%s: %s", temporary, strerror(errno));
	written = fprintf(file, "%u\n", (unsigned)port) > 0;
	written &= fclose(file) == 0;
	if (!written || rename(temporary, path) != 0)
		return sp_error_set(err, SP_IO, "%s: %s", path, strerror(errno));
	return SP_OK;
}

static void say_address(const char *what, const sp_http_address *address, uint16_t port)
{
	bool v6 = strchr(address->host, ':') != NULL;

	if (sp_http_address_path(address) != NULL)
		sp_log(SP_LOG_INFO, "%s on %s", what, address->host);
	else
		sp_log(SP_LOG_INFO, "%s on %s://%s%s%s:%u", what,
		       address->tls != NULL ? "https" : "http", v6 ? "[" : "", address->host,
		       v6 ? "]" : "", (unsigned)port);
}

/* Logs that the model is served and writes --port_file. */
static sp_status say_listening(const sp_host *host, sp_error *err)
{
	if (host->serving.flags->port_file != NULL)
		SP_TRY(write_port(host->serving.flags->port_file,
				  sp_http_server_port(host->serving.server, 0), err));

	for (size_t i = 0; i < host->address_count; i++)
		say_address("listening", &host->addresses[i],
			    sp_http_server_port(host->serving.server, i));
	if (host->admin != NULL)
		say_address("admin listener", &host->addresses[host->address_count],
			    sp_http_server_port(host->admin, 0));
	return SP_OK;
}

/* Stops after a second signal; false if a request is cut off. */
static bool end_at_once(sp_host *host)
{
	return !sp_host_is_busy(host) && sp_host_stop(host, LAST_WAIT_MS);
}

/* Serves for the drain delay, then stops; true if every request was answered. */
static bool drain(sp_host *host, signals *s, int first_signal)
{
	const sp_flags *flags = host->serving.flags;
	int64_t end_ns;

	sp_host_drain(host);
	sp_log(SP_LOG_INFO, "draining");
	s->ready = false;
	sp_systemd_notify("STOPPING=1\nSTATUS=draining");
	/* No delay for SIGINT, which comes from a terminal: there is no load balancer. */
	if (first_signal == SIGTERM && wait_signal(host, s, -1, flags->drain_delay_in_ms) != 0)
		return end_at_once(host);
	end_ns = sp_clock_now_ns() + flags->drain_timeout_in_ms * 1000000;
	while (!sp_host_stop(host, 50)) {
		sp_systemd_keep_alive();
		if (read_signal(host, s) != 0)
			return end_at_once(host);
		if (sp_clock_now_ns() >= end_ns)
			return false;
	}
	return true;
}

/* Passes log lines of the host to the library. */
static void forward_line(void *context, int level, const char *line)
{
	(void)context;
	serving_processor_log(level, sp_log_subject(), line);
}

/* The library filters by level. */
static void start_log(const sp_flags *flags)
{
	sp_log_set_level(SP_LOG_DEBUG);
	sp_log_set_sink(forward_line, NULL);
	/* With several models each line names its own. */
	if (flags->model_config_file == NULL)
		sp_log_set_subject(flags->model_name);
}

static int fail(const sp_error *err)
{
	sp_log(SP_LOG_ERROR, "%s", err->text);
	return 1;
}

static void wait_loaded_or_exit(sp_host *host, signals *s, loader *l)
{
	sp_thread_group *thread;
	sp_error err;

	l->host = host;
	l->done_fd = eventfd(0, EFD_CLOEXEC);
	if (l->done_fd < 0 ||
	    sp_thread_group_create(&thread, 1, "loader", load, l, &err) != SP_OK) {
		sp_log(SP_LOG_ERROR, "cannot start a thread");
		_exit(1);
	}
	if (wait_signal(host, s, l->done_fd, -1) != 0)
		_exit(0); /* loading cannot be interrupted, and nothing is lost */
	sp_thread_group_destroy(thread);
	close(l->done_fd);
}

/* Loads the model, serves, and drains. */
static int serve(sp_host *host, signals *s)
{
	loader l;
	int received;

	sp_systemd_notify("STATUS=loading");
	sp_log(SP_LOG_INFO, "loading; probes are answered on port %u",
	       (unsigned)sp_http_server_port(host->serving.server, 0));
	wait_loaded_or_exit(host, s, &l);
	if (l.status == SP_OK)
		l.status = say_listening(host, &l.error);
	if (l.status != SP_OK) {
		fail(&l.error);
		if (!sp_host_stop(host, 1000))
			_exit(1);
		return 1;
	}
	s->ready = true;
	sp_systemd_notify("READY=1\nSTATUS=serving");
	received = wait_signal(host, s, -1, -1);
	if (!drain(host, s, received)) {
		sp_log(SP_LOG_WARNING, "ended before all requests were answered");
		_exit(1);
	}
	close_signals(s);
	return 0;
}

/* In the form of TensorFlow Serving for who calls the program by its name. */
static void print_version(const sp_flags *flags)
{
	const char *version = serving_processor_version();

	if (flags->tfs)
		printf("TensorFlow ModelServer: %s (serving_host)\n"
		       "TensorFlow Library: %s (libserving_processor; there is no TensorFlow)\n",
		       version, version);
	else
		printf("serving_host %s\n", version);
}

int main(int argc, char **argv)
{
	sp_flags flags;
	sp_host host;
	sp_error err;
	signals s;
	int code;

	if (sp_flags_parse(&flags, argc, argv, &err) != SP_OK) {
		fprintf(stderr, "serving_host: %s (try --help)\n", err.text);
		return 2;
	}
	if (flags.help) {
		sp_flags_print_help(stdout);
		return 0;
	}
	if (flags.version) {
		print_version(&flags);
		return 0;
	}
	start_log(&flags);
	sp_upkeep_set_allocator();
	open_signals(&s);
	if (sp_host_start(&host, &flags, &err) != SP_OK)
		return fail(&err);
	code = serve(&host, &s);
	if (sp_host_is_loading(&host))
		_exit(code); /* loading cannot be interrupted, and nothing is lost */
	sp_host_finish(&host);
	return code;
}
