#ifndef SP_API_HOST_EAS_EAS_TOKEN_H
#define SP_API_HOST_EAS_EAS_TOKEN_H

#include <stdbool.h>

#include "base/bytes.h"

/*
 * Tokens of Alibaba's EAS, in the three forms that clients send in the header Authorization:
 *
 *	TOKEN
 *	Bearer TOKEN
 *	EAS SIGNATURE    base64 of HMAC-SHA1 with the token as key, as its Python SDK makes it
 *
 * Threads: pure.
 */

/* What a signature is made of.  Absent headers are empty. */
typedef struct sp_eas_request {
	sp_bytes method, authorization, content_md5, content_type, date, path, body;
} sp_eas_request;

/*
 * Whether the request has one of the tokens, which are separated by commas.  A signature is
 * for the request's method or for POST; its Content-MD5 must be that of the body.  The time taken
 * does not depend on how much of a token is right.  The Date is not compared with the clock, since
 * the SDK sends local time as GMT.
 */
bool sp_eas_token_check(const sp_eas_request *request, const char *tokens);

#endif
