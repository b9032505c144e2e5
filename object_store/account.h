#ifndef SP_OBJECT_STORE_ACCOUNT_H
#define SP_OBJECT_STORE_ACCOUNT_H

#include <stdbool.h>
#include <stdint.h>

#include "object_store/object_store.h"
#include "object_store/object_url.h"
#include "object_store/sign.h"

/*
 * How a bucket, or a host, is reached: its settings, its credentials, and whether it can be asked
 * at present.
 *
 * Settings that are not given come from the environment and the files that the stores' own tools
 * read (docs/object-stores.md).  Credentials of a machine or a container are fetched again before
 * they expire; all but the configured ones also after a request was denied.
 *
 * Threads: thread-safe.
 */
typedef struct sp_account sp_account;

/* That of the URL's bucket or host, made at first; NULL when out of memory.  It stays. */
sp_account *sp_account_of(const sp_object_url *url);

/* After the last use of the store. */
void sp_accounts_drop(void);

/* Replaces the settings; texts are copied. */
SP_MUST_CHECK sp_status sp_account_set(sp_account *account, const sp_object_settings *settings,
				       sp_error *err);

/*
 * Fetches credentials if it has none that are good for a while.  May make requests, so it is not
 * for the transfers' thread.
 */
SP_MUST_CHECK sp_status sp_account_prepare(sp_account *account, sp_error *err);

/* A request was denied: credentials that may have been replaced are forgotten. */
void sp_account_was_denied(sp_account *account);

/*
 * A copy of what a request needs, for sp_account_view_drop().  Texts that are not given are NULL.
 * Never shown.
 */
typedef struct sp_account_view {
	char *endpoint; /* http://HOST[:PORT] or https://... */
	char *region;
	char *id, *key, *session_token; /* NULL: requests are not signed */
	char *user, *token;             /* of WebHDFS */
	char *ca_file;
	bool is_virtual; /* the bucket is part of the host's name */
	int64_t timeout_ms;
} sp_account_view;

/* SP_NO_MEMORY. */
SP_MUST_CHECK sp_status sp_account_look(sp_account *account, sp_account_view *out, sp_error *err);
void sp_account_view_drop(sp_account_view *view);

/*
 * After a request that failed and may pass, the store is not asked for a pause that doubles up to
 * half a minute: sp_account_may_ask() then fails as that request did.
 */
SP_MUST_CHECK sp_status sp_account_may_ask(sp_account *account, sp_error *err);
void sp_account_has_failed(sp_account *account, const sp_error *why);
void sp_account_has_answered(sp_account *account);

#endif
