#ifndef SP_OBJECT_STORE_NAMES_H
#define SP_OBJECT_STORE_NAMES_H

#include <sys/stat.h>

#include "base/folder.h"
#include "object_store/account.h"
#include "object_store/listing.h"
#include "object_store/object_url.h"

/*
 * What names there are.  Lists of folders are kept until they are refreshed or half a minute old;
 * for S3 and OSS a list has the whole tree below a folder, unless that is large, so that a look at
 * a model's folder is one request.
 *
 * Errors: SP_NOT_FOUND only when the store says so.
 *
 * Threads: thread-safe; not for the transfers' thread.
 */
typedef struct sp_name_about {
	bool is_folder;
	uint64_t size;
	int64_t changed_s;
	uint64_t identity;
	char etag[128]; /* "": none */
} sp_name_about;

/* `type` as in base/store.h. */
SP_MUST_CHECK sp_status sp_names_find(sp_name_about *out, const sp_object_url *url,
				      sp_account *account, mode_t type, sp_error *err);

SP_MUST_CHECK sp_status sp_names_list(sp_folder *out, const sp_object_url *url, sp_account *account,
				      sp_arena *arena, sp_error *err);

void sp_names_refresh(const sp_object_url *url);

/* Forgets all. */
void sp_names_drop(void);

#endif
