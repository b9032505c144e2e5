#ifndef SP_TESTS_SUPPORT_CHECKPOINT_FOLDER_H
#define SP_TESTS_SUPPORT_CHECKPOINT_FOLDER_H

#include <stddef.h>

/*
 * A folder of versions as a trainer leaves it.  Names are relative to it; what
 * cannot be made ends the test.
 */

/* The folder itself, v1 with its `checkpoint`, and the place of its deltas; no version. */
void sp_checkpoint_folder_make(const char *checkpoints);

void sp_checkpoint_folder_add_folder(const char *checkpoints, const char *name);
void sp_checkpoint_folder_add_file(const char *checkpoints, const char *name, const char *text);

/* When a file was changed last, in seconds since 1970. */
void sp_checkpoint_folder_set_time(const char *checkpoints, const char *name, long seconds);

/* The index of a delta, without content. */
void sp_checkpoint_folder_add_delta(const char *checkpoints, int step);

/*
 * The configuration that serves it under the graph of tests/golden/`golden`; `more` is
 * more of it: ", \"key\": value".  Returns `out`.
 */
const char *sp_checkpoint_folder_config(char *out, size_t room, const char *checkpoints,
					const char *golden, const char *more);

#endif
