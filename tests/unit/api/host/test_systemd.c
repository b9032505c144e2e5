#include "tests/support/cmocka.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "api/host/systemd.h"
#include "tests/support/paths.h"

/* ------------------------------------------------------------ notifications */

/* A socket of the service manager; `name` as NOTIFY_SOCKET has it. */
static int open_manager(const char *name)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	size_t size = strlen(name);
	int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_NONBLOCK, 0);

	assert_true(size < sizeof(address.sun_path));
	memcpy(address.sun_path, name, size);
	if (name[0] == '@')
		address.sun_path[0] = '\0';
	assert_int_equal(bind(fd, (struct sockaddr *)&address,
			      (socklen_t)(offsetof(struct sockaddr_un, sun_path) + size)),
			 0);
	setenv("NOTIFY_SOCKET", name, 1);
	return fd;
}

static void expect_message(int manager, const char *wanted)
{
	char text[200];
	ssize_t size = recv(manager, text, sizeof(text) - 1, 0);

	if (wanted == NULL) {
		assert_int_equal(size, -1);
		return;
	}
	assert_true(size >= 0);
	text[size] = '\0';
	assert_string_equal(text, wanted);
}

static void the_manager_is_told_by_its_path(void **state)
{
	char folder[SP_PATH_SIZE], name[SP_PATH_SIZE + 16], text[100] = "";
	int manager;

	(void)state;
	snprintf(name, sizeof(name), "%s/notify", sp_temp_make(folder));
	manager = open_manager(name);
	sp_systemd_notify("READY=1\nSTATUS=serving");
	expect_message(manager, "READY=1\nSTATUS=serving");
	sp_systemd_notify_reloading();
	assert_true(recv(manager, text, sizeof(text) - 1, 0) > 0);
	assert_memory_equal(text, "RELOADING=1\nMONOTONIC_USEC=", 27);
	assert_true(strtoll(text + 27, NULL, 10) > 0);
	close(manager);
	sp_systemd_notify("READY=1"); /* nobody is there any more */
	sp_temp_remove(folder);
}

static void or_by_an_abstract_name(void **state)
{
	char name[64];
	int manager;

	(void)state;
	snprintf(name, sizeof(name), "@serving_host_test_%d", (int)getpid());
	manager = open_manager(name);
	sp_systemd_notify("STOPPING=1");
	expect_message(manager, "STOPPING=1");
	close(manager);
}

static void names_that_are_none_are_ignored(void **state)
{
	char name[300];

	(void)state;
	memset(name, 'a', sizeof(name) - 1);
	name[0] = '/';
	name[sizeof(name) - 1] = '\0';
	setenv("NOTIFY_SOCKET", name, 1);
	sp_systemd_notify("READY=1");
	setenv("NOTIFY_SOCKET", "vsock:2:1234", 1);
	sp_systemd_notify("READY=1");
	setenv("NOTIFY_SOCKET", "", 1);
	sp_systemd_notify("READY=1");
	unsetenv("NOTIFY_SOCKET");
	sp_systemd_notify("READY=1");
}

static void the_watchdog_is_fed_when_it_asks(void **state)
{
	char name[64], pid[32];
	int manager;

	(void)state;
	snprintf(name, sizeof(name), "@serving_host_test_%d", (int)getpid());
	snprintf(pid, sizeof(pid), "%d", (int)getpid());
	manager = open_manager(name);
	sp_systemd_keep_alive();
	expect_message(manager, NULL);
	setenv("WATCHDOG_USEC", "1", 1);
	setenv("WATCHDOG_PID", "1", 1);
	sp_systemd_keep_alive();
	expect_message(manager, NULL); /* it is another process's */
	setenv("WATCHDOG_PID", pid, 1);
	sp_systemd_keep_alive();
	expect_message(manager, "WATCHDOG=1");
	setenv("WATCHDOG_USEC", "3600000000", 1);
	sp_systemd_keep_alive();
	expect_message(manager, NULL); /* there is time */
	setenv("WATCHDOG_USEC", "-5x", 1);
	sp_systemd_keep_alive();
	expect_message(manager, NULL);
	unsetenv("WATCHDOG_USEC");
	unsetenv("WATCHDOG_PID");
	unsetenv("NOTIFY_SOCKET");
	close(manager);
}

/* ------------------------------------------------------------------ sockets */

enum { PASSED = 3 };

/* Passes a socket on any port of this machine, which is returned. */
static uint16_t pass_port(int at)
{
	struct sockaddr_in address = {.sin_family = AF_INET,
				      .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	socklen_t size = sizeof(address);
	int fd = socket(AF_INET, SOCK_STREAM, 0);

	assert_int_equal(bind(fd, (struct sockaddr *)&address, size), 0);
	assert_int_equal(listen(fd, 1), 0);
	assert_int_equal(getsockname(fd, (struct sockaddr *)&address, &size), 0);
	if (fd != at) {
		assert_int_equal(dup2(fd, at), at);
		close(fd);
	}
	return ntohs(address.sin_port);
}

static void set_passed(const char *count)
{
	char pid[32];

	snprintf(pid, sizeof(pid), "%d", (int)getpid());
	setenv("LISTEN_PID", pid, 1);
	setenv("LISTEN_FDS", count, 1);
}

static void sockets_go_to_the_address_of_their_port(void **state)
{
	uint16_t first = pass_port(PASSED), second = pass_port(PASSED + 1);
	sp_http_address addresses[] = {
		{"0.0.0.0", 0, NULL}, {"::", second, NULL}, {"127.0.0.1", first, NULL}};
	int sockets[3] = {0};
	sp_error err;

	(void)state;
	set_passed("2");
	assert_int_equal(sp_systemd_take_sockets(sockets, addresses, 3, &err), SP_OK);
	assert_int_equal(sockets[0], 0);
	assert_int_equal(sockets[1], PASSED + 1);
	assert_int_equal(sockets[2], PASSED);
	assert_true(fcntl(PASSED, F_GETFD) & FD_CLOEXEC);
	assert_true(fcntl(PASSED, F_GETFL) & O_NONBLOCK);
	/* One more on the same port has no address left. */
	assert_int_equal(sp_systemd_take_sockets(sockets, addresses, 3, &err), SP_INVALID);
	assert_non_null(strstr(err.text, "port"));
	close(PASSED);
	close(PASSED + 1);
}

static void a_socket_with_a_path_goes_to_the_address_of_its_path(void **state)
{
	char folder[SP_PATH_SIZE], name[SP_PATH_SIZE + 16];
	struct sockaddr_un path = {.sun_family = AF_UNIX};
	sp_http_address other = {"unix:/run/other", 0, NULL}, address = {name, 0, NULL};
	int fd = socket(AF_UNIX, SOCK_STREAM, 0), taken = 0;
	sp_error err;

	(void)state;
	snprintf(name, sizeof(name), "unix:%s/socket", sp_temp_make(folder));
	assert_true(strlen(name) < sizeof(path.sun_path));
	memcpy(path.sun_path, name + 5, strlen(name) - 5);
	assert_int_equal(bind(fd, (struct sockaddr *)&path, sizeof(path)), 0);
	assert_int_equal(listen(fd, 1), 0);
	if (fd != PASSED) {
		dup2(fd, PASSED);
		close(fd);
	}
	set_passed("1");
	assert_int_equal(sp_systemd_take_sockets(&taken, &other, 1, &err), SP_INVALID);
	assert_non_null(strstr(err.text, folder));
	assert_int_equal(sp_systemd_take_sockets(&taken, &address, 1, &err), SP_OK);
	assert_int_equal(taken, PASSED);
	close(PASSED);
	sp_temp_remove(folder);
}

static void what_does_not_listen_is_refused(void **state)
{
	sp_http_address address = {"127.0.0.1", 8501, NULL};
	int taken = 0;
	sp_error err;

	(void)state;
	close(PASSED);
	set_passed("1");
	assert_int_equal(sp_systemd_take_sockets(&taken, &address, 1, &err), SP_INVALID);
	assert_non_null(strstr(err.text, "descriptor 3"));
	assert_int_equal(dup2(socket(AF_INET, SOCK_STREAM, 0), PASSED), PASSED);
	assert_int_equal(sp_systemd_take_sockets(&taken, &address, 1, &err), SP_INVALID);
	set_passed("99999999999999999999");
	assert_int_equal(sp_systemd_take_sockets(&taken, &address, 1, &err), SP_OK); /* no number */
	set_passed("65");
	assert_int_equal(sp_systemd_take_sockets(&taken, &address, 1, &err), SP_INVALID);
}

static void sockets_of_another_process_are_not_touched(void **state)
{
	sp_http_address address = {"127.0.0.1", pass_port(PASSED), NULL};
	int taken = 0;
	sp_error err;

	(void)state;
	set_passed("1");
	setenv("LISTEN_PID", "1", 1);
	assert_int_equal(sp_systemd_take_sockets(&taken, &address, 1, &err), SP_OK);
	assert_int_equal(taken, 0);
	unsetenv("LISTEN_PID");
	assert_int_equal(sp_systemd_take_sockets(&taken, &address, 1, &err), SP_OK);
	assert_int_equal(taken, 0);
	close(PASSED);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_manager_is_told_by_its_path),
		cmocka_unit_test(or_by_an_abstract_name),
		cmocka_unit_test(names_that_are_none_are_ignored),
		cmocka_unit_test(the_watchdog_is_fed_when_it_asks),
		cmocka_unit_test(sockets_go_to_the_address_of_their_port),
		cmocka_unit_test(a_socket_with_a_path_goes_to_the_address_of_its_path),
		cmocka_unit_test(what_does_not_listen_is_refused),
		cmocka_unit_test(sockets_of_another_process_are_not_touched),
	};

	return cmocka_run_group_tests_name("systemd", tests, NULL, NULL);
}
