#ifndef SP_PROCESSOR_UPDATER_PIN_H
#define SP_PROCESSOR_UPDATER_PIN_H

#include <stdbool.h>
#include <stdint.h>

#include "base/status.h"
#include "processor/updater/catalog.h"

/*
 * The version that is served and no other, by whose order.
 *
 * Threads: one thread at a time.
 */
typedef struct sp_pin {
	bool holds; /* false: the newest version is served */
	int64_t full_step;
	int64_t delta_step; /* -1: without a delta */
	char by[256];
} sp_pin;

sp_pin sp_pin_of(int64_t full_step, int64_t delta_step, const char *by);

/* Makes `pin` the one that holds, and tells the catalog. */
void sp_pin_set(sp_pin *out, const sp_pin *pin, sp_catalog *catalog);

/* Writes it where the next start reads it, or removes the file.  `path` NULL: nowhere. */
SP_MUST_CHECK sp_status sp_pin_store(const sp_pin *pin, const char *path, sp_error *err);

/* What was stored; pin->holds is false when nothing was, or `path` is NULL. */
SP_MUST_CHECK sp_status sp_pin_load(sp_pin *pin, const char *path, sp_error *err);

/* "100" or "100+110", as log lines have a version.  Returns `out`. */
enum { SP_PIN_NAME_SIZE = 48 };
const char *sp_pin_name(char out[SP_PIN_NAME_SIZE], int64_t full_step, int64_t delta_step);

#endif
