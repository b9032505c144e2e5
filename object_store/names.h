#ifndef SP_OBJECT_STORE_NAMES_H
#define SP_OBJECT_STORE_NAMES_H

#include <sys/stat.h>

#include "base/folder.h"
#include "object_store/account.h"
#include "object_store/listing.h"
#include "object_store/object_url.h"

/*
 * A cache of listings.  A listing is used until it is refreshed or 30 s old.  For S3 and OSS it
 * covers the whole tree below a folder, unless the tree is large, so that one request lists all of
 * a model's folders.
 *
 * Errors: SP_NOT_FOUND only when the store says so.
 *
 * Threads: thread-safe; not for the transfers' thread.
 */
typedef struct sp_object_attributes {
	bool is_folder;
	uint64_t size;
	int64_t modified_s;
	uint64_t identity;
	char etag[128]; /* "": none */
} sp_object_attributes;

/* `type` as in base/store.h. */
SP_MUST_CHECK sp_status sp_names_find(sp_object_attributes *out, const sp_object_url *url,
				      sp_account *account, mode_t type, sp_error *err);

SP_MUST_CHECK sp_status sp_names_list(sp_folder *out, const sp_object_url *url, sp_account *account,
				      sp_arena *arena, sp_error *err);

void sp_names_refresh(const sp_object_url *url);

/* Frees all listings. */
void sp_names_drop(void);

#endif
