#ifndef SP_API_HOST_ROUTES_ADMIN_TOKEN_H
#define SP_API_HOST_ROUTES_ADMIN_TOKEN_H

#include <pthread.h>
#include <stdbool.h>

#include "api/host/http/http_head.h"
#include "base/status.h"

/*
 * The token of the admin listener, from --admin_token_file: 16 to 512 printable characters without
 * spaces, and perhaps an end of line.  No error text and no log line has any of it.
 *
 * Threads: thread-safe, except init and fini.
 */

enum { SP_ADMIN_TOKEN_LEAST = 16, SP_ADMIN_TOKEN_MOST = 512 };

typedef struct sp_admin_token {
	pthread_mutex_t lock; /* protects all below */
	size_t size;          /* 0: no file has been read, and no token is accepted */
	char text[SP_ADMIN_TOKEN_MOST];
} sp_admin_token;

void sp_admin_token_init(sp_admin_token *token);
void sp_admin_token_fini(sp_admin_token *token);

/*
 * Takes the token of the file.  After a failure it is as before.
 *
 * Errors: those of the file; SP_INVALID if what is in it is no token.
 */
SP_MUST_CHECK sp_status sp_admin_token_read(sp_admin_token *token, const char *path, sp_error *err);

/*
 * Whether the head has "Authorization: Bearer TOKEN".  The time taken does not depend on how much
 * of a token is right.
 */
bool sp_admin_token_check(sp_admin_token *token, const sp_http_head *head);

#endif
