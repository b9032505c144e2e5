#ifndef SP_OBJECT_STORE_OBJECT_STORE_H
#define SP_OBJECT_STORE_OBJECT_STORE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/status.h"

/*
 * Reads models from object stores: makes base/file.h and base/folder.h take the paths that
 * object_store/object_url.h lists.
 *
 * Threads: thread-safe.
 */

/*
 * Registers the store (base/store.h) for the first of its users.  A thread and connections are made
 * when they are needed.
 */
void sp_object_store_open(void);

/* For each open.  After the last one no object may be open. */
void sp_object_store_close(void);

typedef enum sp_object_addressing {
	SP_OBJECT_ADDRESSING_AUTO,
	SP_OBJECT_ADDRESSING_PATH,
	SP_OBJECT_ADDRESSING_VIRTUAL,
} sp_object_addressing;

/* What is NULL, false or 0 comes from the environment, from files, or is the default. */
typedef struct sp_object_settings {
	const char *endpoint; /* HOST[:PORT], with or without http:// or https:// before it */
	const char *region;
	const char *access_id, *access_key, *session_token;
	bool is_anonymous; /* requests are not signed */
	sp_object_addressing addressing;
	const char *user, *token; /* of WebHDFS: user.name, a delegation token */
	const char *ca_file;      /* certificates of authorities; NULL: the system's */
	int64_t timeout_ms;       /* of one read, with all its attempts */
	int64_t connections;      /* of the process */
} sp_object_settings;

/*
 * Sets how the bucket or the host of this path is reached, for the whole process; the last call
 * counts.  A local path is fine and has no effect.  SP_INVALID for a path or an endpoint that is
 * wrong.  No text has a credential.
 */
SP_MUST_CHECK sp_status sp_object_store_set(const char *path, const sp_object_settings *settings,
					    sp_error *err);

/* Whether the path is local, or one that can be read: SP_INVALID. */
SP_MUST_CHECK sp_status sp_object_store_check(const char *path, sp_error *err);

/* DeepRec's word for where the path leads: "local", "oss", "hdfs"; or "s3", "http", "https". */
const char *sp_object_store_type(const char *path);

#endif
