#ifndef SP_API_HOST_ROUTES_ADMIN_TOKEN_H
#define SP_API_HOST_ROUTES_ADMIN_TOKEN_H

#include <stdbool.h>

#include "api/host/http/http_head.h"
#include "base/arena.h"
#include "base/status.h"

/*
 * The token of the admin listener, from --admin_token_file: 16 to 512 printable characters without
 * spaces, and perhaps an end of line.  No error text and no log line has any of it.
 */

enum { SP_ADMIN_TOKEN_LEAST = 16, SP_ADMIN_TOKEN_MOST = 512 };

/* Errors: those of the file; SP_INVALID if it is no token. */
SP_MUST_CHECK sp_status sp_admin_token_read(const char **out, const char *path, sp_arena *arena,
					    sp_error *err);

/*
 * Whether the head has "Authorization: Bearer TOKEN"; any head does if `token` is NULL.  The time
 * taken does not depend on how much of a token is right.
 */
bool sp_admin_token_check(const char *token, const sp_http_head *head);

#endif
