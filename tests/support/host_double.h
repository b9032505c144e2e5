#ifndef SP_TESTS_SUPPORT_HOST_DOUBLE_H
#define SP_TESTS_SUPPORT_HOST_DOUBLE_H

#include <stdbool.h>
#include <stdint.h>

#include "tests/support/host_process.h"

/* serving_host with the processor of processor_double.c, which is slow or fails on demand. */

/* A list of flags that ends with NULL. */
#define SP_FLAGS(...) ((const char *const[]){__VA_ARGS__, NULL})

/* The program; the text is static. */
const char *sp_host_double_path(void);

/* Writes a file with the configuration into the folder of the process; its path is static. */
const char *sp_host_double_config(sp_host_process *process, const char *config);

/*
 * Initialises the process and starts it with that configuration, without a drain delay, and
 * with `flags`.  `wait` as sp_host_process_start().
 */
void sp_host_double_start(sp_host_process *process, const char *config, const char *const *flags,
			  bool wait);

/* Ends it by SIGTERM; its exit status must be 0. */
void sp_host_double_stop(sp_host_process *process);

/* Asserts that the host is ready and answers a prediction of the model "default". */
void sp_host_expect_served(uint16_t port);

/* Waits until the log has the text; fails after ten seconds. */
void sp_host_expect_in_log(sp_host_process *process, const char *text);

/* The value of a metric without labels. */
double sp_host_metric(uint16_t port, const char *name);

#endif
