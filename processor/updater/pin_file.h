#ifndef SP_PROCESSOR_UPDATER_PIN_FILE_H
#define SP_PROCESSOR_UPDATER_PIN_FILE_H

#include <stdint.h>

#include "base/status.h"

/*
 * A pin that outlives the process: one line of text, the steps of a version as log
 * lines have them, "100" or "100+110".  It is there whole or not at all, also after a crash.
 *
 * Threads: one thread at a time per file.
 */

/*
 * delta_step is -1 without a delta.  SP_NOT_FOUND without a file; SP_INVALID when it holds
 * something else, SP_IO when it cannot be read; both name the file.
 */
SP_MUST_CHECK sp_status sp_pin_file_read(const char *path, int64_t *full_step, int64_t *delta_step,
					 sp_error *err);

/* SP_IO names the file and the system's reason; the file is then as it was. */
SP_MUST_CHECK sp_status sp_pin_file_write(const char *path, int64_t full_step, int64_t delta_step,
					  sp_error *err);

/* The same; that there is none is fine. */
SP_MUST_CHECK sp_status sp_pin_file_remove(const char *path, sp_error *err);

#endif
