#include "tests/support/host_double.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tests/support/cmocka.h"
#include "tests/support/http_client.h"

const char *sp_host_double_path(void)
{
	static char path[4096];
	const char *builddir = getenv("builddir");

	snprintf(path, sizeof(path), "%s/tests/system/serving_host_double",
		 builddir != NULL ? builddir : ".");
	return path;
}

const char *sp_host_double_config(sp_host_process *process, const char *config)
{
	static char path[5000];
	FILE *file;

	snprintf(path, sizeof(path), "%s/config.json", process->folder);
	file = fopen(path, "w");
	fputs(config, file);
	fclose(file);
	return path;
}

void sp_host_double_start(sp_host_process *process, const char *config, const char *const *flags,
			  bool wait)
{
	const char *all[16] = {"--drain_delay_in_ms=0", "--processor_config"};
	size_t count = 2;

	sp_host_process_init(process);
	all[count++] = sp_host_double_config(process, config);
	for (; *flags != NULL; flags++) {
		assert_true(count + 1 < sizeof(all) / sizeof(all[0]));
		all[count++] = *flags;
	}
	assert_true(sp_host_process_start(process, sp_host_double_path(), all, wait));
}

void sp_host_double_stop(sp_host_process *process)
{
	sp_host_process_signal(process, SIGTERM);
	assert_int_equal(sp_host_process_wait(process), 0);
	sp_host_process_fini(process);
}

void sp_host_expect_served(uint16_t port)
{
	sp_http_reply reply;

	sp_http_call(port, "GET", "/healthz/ready", NULL, &reply);
	assert_int_equal(reply.status, 200);
	sp_http_call(port, "POST", "/v1/models/default:predict", "{\"instances\":[2]}", &reply);
	assert_string_equal(reply.body, "{\"predictions\":[3.0]}");
}

void sp_host_expect_in_log(sp_host_process *process, const char *text)
{
	for (int i = 0; i < 500 && strstr(sp_host_process_log(process), text) == NULL; i++)
		usleep(20000);
	if (strstr(process->log, text) == NULL)
		fail_msg("not in the log: %s\n%s", text, process->log);
}

double sp_host_metric(uint16_t port, const char *name)
{
	static sp_http_reply reply;
	char line[128];
	const char *at;

	sp_http_call(port, "GET", "/monitoring/prometheus/metrics", NULL, &reply);
	snprintf(line, sizeof(line), "\n%s ", name);
	at = strstr(reply.body, line);
	assert_non_null(at);
	return atof(at + strlen(line));
}
