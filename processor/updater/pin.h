#ifndef SP_PROCESSOR_UPDATER_PIN_H
#define SP_PROCESSOR_UPDATER_PIN_H

#include <stdbool.h>
#include <stdint.h>

#include "base/status.h"
#include "processor/updater/catalog.h"

/*
 * The only version to serve, and who ordered it.  It is stored for the next start in a file with
 * one line, the steps as in log lines, "100" or "100+110".  The file is replaced atomically, so
 * that it is complete even after a crash.
 *
 * Threads: one thread at a time per file.
 */
typedef struct sp_pin {
	bool holds; /* false: the newest version is served */
	int64_t full_step;
	int64_t delta_step; /* -1: without a delta */
	char by[256];
} sp_pin;

sp_pin sp_pin_of(int64_t full_step, int64_t delta_step, const char *by);

/* Sets *out to `pin`, and tells the catalog. */
void sp_pin_set(sp_pin *out, const sp_pin *pin, sp_catalog *catalog);

/*
 * Writes the file for the next start, or removes it if pin->holds is false; it may be missing.
 * `path` NULL: does nothing.  SP_IO names the file and the system's reason, and leaves the file
 * unchanged.
 */
SP_MUST_CHECK sp_status sp_pin_store(const sp_pin *pin, const char *path, sp_error *err);

/*
 * Reads the stored pin; pin->holds is false without a file or a `path`.  SP_INVALID for other
 * contents, SP_IO when it cannot be read; both name the file.
 */
SP_MUST_CHECK sp_status sp_pin_load(sp_pin *pin, const char *path, sp_error *err);

#endif
