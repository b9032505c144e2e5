#ifndef SP_OBJECT_STORE_ACCOUNT_H
#define SP_OBJECT_STORE_ACCOUNT_H

#include <stdbool.h>
#include <stdint.h>

#include "object_store/object_store.h"
#include "object_store/object_url.h"
#include "object_store/sign.h"

/*
 * How a bucket or a host is reached: its settings, its credentials and its circuit breaker.
 *
 * Settings that are not given come from the environment and the files that the stores' own tools
 * read (docs/object-stores.md).  Credentials of a machine or a container are fetched again before
 * they expire; all but the configured ones also after a request was denied.
 *
 * Threads: thread-safe.
 */
typedef struct sp_account sp_account;

/* The account of the URL's bucket or host; kept until sp_accounts_drop().  NULL: out of memory. */
sp_account *sp_account_of(const sp_object_url *url);

/* To be called after the last use of the store. */
void sp_accounts_drop(void);

/* Replaces the settings; texts are copied. */
SP_MUST_CHECK sp_status sp_account_set(sp_account *account, const sp_object_settings *settings,
				       sp_error *err);

/*
 * Fetches credentials unless the account has some that do not expire soon.  It may make requests,
 * so the transfers' thread must not call it.
 */
SP_MUST_CHECK sp_status sp_account_prepare(sp_account *account, sp_error *err);

/* After a request was denied: credentials that are not configured will be fetched again. */
void sp_account_report_denied(sp_account *account);

/*
 * A copy of what a request needs; sp_account_view_drop() frees it.  Texts that are not given are
 * NULL.  It holds secrets: never shown.
 */
typedef struct sp_account_view {
	char *endpoint; /* http://HOST[:PORT] or https://... */
	char *region;
	char *id, *key, *session_token; /* NULL: requests are not signed */
	char *user, *token;             /* of WebHDFS */
	char *ca_file;
	bool is_virtual; /* virtual-hosted addressing: the bucket is part of the host's name */
	int64_t timeout_ms;
} sp_account_view;

SP_MUST_CHECK sp_status sp_account_get_view(sp_account *account, sp_account_view *out,
					    sp_error *err);
void sp_account_view_drop(sp_account_view *view);

/*
 * The circuit breaker.  A transient failure opens it for a time that doubles up to 30 s; until then
 * sp_account_check_breaker() fails with that failure.  A success closes it.
 */
SP_MUST_CHECK sp_status sp_account_check_breaker(sp_account *account, sp_error *err);
void sp_account_report_failure(sp_account *account, const sp_error *why);
void sp_account_report_success(sp_account *account);

#endif
