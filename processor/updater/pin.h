#ifndef SP_PROCESSOR_UPDATER_PIN_H
#define SP_PROCESSOR_UPDATER_PIN_H

#include <stdbool.h>
#include <stdint.h>

#include "base/status.h"
#include "processor/updater/catalog.h"

/*
 * The version that is served and no other, by whose order.  It outlives the process in a file
 * with one line of text, the steps as log lines have them, "100" or "100+110".  The file is there
 * whole or not at all, also after a crash.
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

/* Makes `pin` the one that holds, and tells the catalog. */
void sp_pin_set(sp_pin *out, const sp_pin *pin, sp_catalog *catalog);

/*
 * Writes it where the next start reads it, or removes the file, which need not be there.  `path`
 * NULL: nowhere.  SP_IO names the file and the system's reason; the file is then as it was.
 */
SP_MUST_CHECK sp_status sp_pin_store(const sp_pin *pin, const char *path, sp_error *err);

/*
 * What was stored; pin->holds is false without a file, or a `path`.  SP_INVALID when the file
 * holds something else, SP_IO when it cannot be read; both name it.
 */
SP_MUST_CHECK sp_status sp_pin_load(sp_pin *pin, const char *path, sp_error *err);

#endif
