#ifndef SP_MODEL_LOADER_CHECKPOINT_CHECKPOINT_NAME_H
#define SP_MODEL_LOADER_CHECKPOINT_CHECKPOINT_NAME_H

#include <stdbool.h>
#include <stdint.h>

#include "base/bytes.h"

/*
 * Tells by their names which files in a folder belong to a checkpoint:
 *
 *   PREFIX.index
 *   PREFIX.data-NNNNN-of-MMMMM        at least five digits each, NNNNN below MMMMM
 *   PREFIX-NAME-ssd_record.index, .data-NNNNN-of-MMMMM     rows of an SSD tier
 *   PREFIX-NAME-emb_files/NUMBER.emb
 *
 * A name that begins with '.', '#' or '~', or that continues after such an ending, does not belong
 * to it: it is left by a killed save, a copy in progress, an editor or an object store
 * (".tempstate123", ".crc", "._COPYING_", ".tmp", "~").
 *
 * Only names are considered; the caller checks that a file is a regular one.
 *
 * Threads: pure.
 */
typedef enum sp_checkpoint_part {
	SP_CHECKPOINT_NONE = 0,
	SP_CHECKPOINT_INDEX,
	SP_CHECKPOINT_DATA,
} sp_checkpoint_part;

typedef struct sp_checkpoint_name {
	sp_checkpoint_part part; /* NONE for rows of an SSD tier, no checkpoint of their own */
	sp_bytes prefix;         /* of the name: the part before ".index" or ".data-" */
	int64_t step;            /* the number after the last '-' of `prefix`; 0 if there is none */
} sp_checkpoint_name;

sp_checkpoint_name sp_checkpoint_name_of(const char *name);

/* Whether `name` is PREFIX.index or PREFIX.data-NNNNN-of-MMMMM with this prefix. */
bool sp_checkpoint_is_file_of(const char *prefix, const char *name);

/* Whether `name` is any of the above, or a folder PREFIX-NAME-emb_files. */
bool sp_checkpoint_owns(const char *prefix, const char *name);

/* Whether `name` is that of a file in PREFIX-NAME-emb_files: NUMBER.emb. */
bool sp_checkpoint_is_row_file(const char *name);

/*
 * Whether a folder of that name may be a version: all may, except hidden ones, those that begin
 * with '#' or '~', "tmp", "temp", "_temporary", "lost+found", and those that end in "._COPYING_",
 * ".tmp", ".temp", ".part", ".partial", ".bak", "_$folder$" or "~".
 */
bool sp_checkpoint_is_version(const char *name);

/* Parses decimal digits, 0 to 9223372036854775807; false for any other text. */
bool sp_checkpoint_number(int64_t *out, sp_bytes text);

#endif
