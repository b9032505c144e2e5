#ifndef SP_MODEL_LOADER_CHECKPOINT_CHECKPOINT_NAME_H
#define SP_MODEL_LOADER_CHECKPOINT_CHECKPOINT_NAME_H

#include <stdbool.h>
#include <stdint.h>

#include "base/bytes.h"

/*
 * Which files in a folder are a checkpoint's.  Only these names are:
 *
 *   PREFIX.index
 *   PREFIX.data-NNNNN-of-MMMMM        at least five digits each, NNNNN below MMMMM
 *   PREFIX-NAME-ssd_record.index, .data-NNNNN-of-MMMMM     rows of an SSD tier
 *   PREFIX-NAME-emb_files/NUMBER.emb
 *
 * A name that begins with '.', '#' or '~', or that goes on behind such an ending,
 * is somebody else's: what a killed save, a copy under way, an editor or an
 * object store left (".tempstate123", ".crc", "._COPYING_", ".tmp", "~").
 *
 * Names alone; whether it is a regular file is the caller's to ask.
 *
 * Threads: pure.
 */
typedef enum sp_checkpoint_part {
	SP_CHECKPOINT_NONE = 0,
	SP_CHECKPOINT_INDEX,
	SP_CHECKPOINT_DATA,
} sp_checkpoint_part;

typedef struct sp_checkpoint_name {
	sp_checkpoint_part part; /* rows of an SSD tier are no checkpoint of their own: NONE */
	sp_bytes prefix;         /* of the name: what stands before ".index" or ".data-" */
	int64_t step;            /* the number behind the last '-' of `prefix`; 0 without one */
} sp_checkpoint_name;

sp_checkpoint_name sp_checkpoint_name_of(const char *name);

/* Whether `name` is PREFIX.index or PREFIX.data-NNNNN-of-MMMMM of this prefix. */
bool sp_checkpoint_is_file_of(const char *prefix, const char *name);

/* Whether it is any of the above, PREFIX-NAME-emb_files among them. */
bool sp_checkpoint_owns(const char *prefix, const char *name);

/* Whether it is a file of PREFIX-NAME-emb_files: NUMBER.emb. */
bool sp_checkpoint_is_row_file(const char *name);

/*
 * Whether a folder of that name may be a version: any name may, but for hidden
 * ones, those that begin with '#' or '~', "tmp", "temp", "_temporary",
 * "lost+found", and those that end in "._COPYING_", ".tmp", ".temp", ".part",
 * ".partial", ".bak", "_$folder$" or "~".
 */
bool sp_checkpoint_is_version(const char *name);

/* Decimal digits and nothing else, 0 to 9223372036854775807; false for any other text. */
bool sp_checkpoint_number(int64_t *out, sp_bytes text);

#endif
