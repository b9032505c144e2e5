#ifndef SP_BASE_STORE_H
#define SP_BASE_STORE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>

#include "base/arena.h"
#include "base/folder.h"
#include "base/status.h"

/*
 * Where paths of the form SCHEME://... lead: to the store that the process has registered.
 * base/file.h and base/folder.h hand such paths to it, so their callers read objects as they read
 * files.  Without a store such a path is refused as SP_UNSUPPORTED.
 *
 * A store is read only.  What it tells of names may be as old as the last refresh().
 */

/* An open object, of the store's own type. */
typedef struct sp_store_object sp_store_object;

/*
 * Errors as in base/file.h: SP_NOT_FOUND only if the store says that there is no such object, SP_IO
 * when the store cannot be asked.  No error text contains a credential.
 *
 * Threads: thread-safe.
 */
typedef struct sp_store {
	sp_status (*open)(sp_store_object **out, uint64_t *size, const char *path, sp_error *err);
	void (*close)(sp_store_object *object);

	/* The range lies within the object. */
	sp_status (*read)(sp_store_object *object, uint64_t offset, void *buffer, size_t size,
			  sp_error *err);

	size_t ahead; /* what sp_file_ahead() tells */

	/* The range, clipped to the object, will be read soon; `once`: and not again. */
	void (*fetch)(sp_store_object *object, uint64_t offset, uint64_t size, bool once);

	/*
	 * Type, size, time of change and, as st_ino, a hash that changes with the content.  `type`
	 * is what is expected (S_IFREG, S_IFDIR; 0: either), and only makes it quicker.
	 */
	sp_status (*find)(struct stat *out, const char *path, mode_t type, sp_error *err);

	/* As sp_folder_list(). */
	sp_status (*list)(sp_folder *out, const char *path, sp_arena *arena, sp_error *err);

	/* What is known of names at or below `path` is asked for anew. */
	void (*refresh)(const char *path);
} sp_store;

/* `store` stays valid for as long as any path is used; NULL: none. */
void sp_store_register(const sp_store *store);

/* Whether the path has a scheme of letters, digits, '+', '-' and '.' before "://". */
bool sp_store_is_remote(const char *path);

/* The registered store; SP_UNSUPPORTED if there is none, with a text about `path`. */
SP_MUST_CHECK sp_status sp_store_get(const sp_store **out, const char *path, sp_error *err);

#endif
