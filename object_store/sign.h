#ifndef SP_OBJECT_STORE_SIGN_H
#define SP_OBJECT_STORE_SIGN_H

#include <time.h>

#include "object_store/http_request.h"

/*
 * The signatures that S3 and OSS ask of a request without a body.  Each adds headers to the
 * request, and signs those that are there already.
 *
 * Sources: "Authenticating Requests: Using the Authorization Header (AWS Signature Version 4)" of
 * Amazon's S3 API reference; "Include signatures in the Authorization header" and "V4 signature" of
 * OSS's API reference.
 *
 * Threads: pure.
 */
typedef struct sp_credentials {
	const char *id, *key;
	const char *token; /* of a session; NULL: none */
} sp_credentials;

typedef struct sp_signed_place {
	const char *host;   /* S3 only: with its port, as the header Host has it */
	const char *path;   /* S3 only: escaped, as the URL has it */
	const char *query;  /* escaped and sorted by name; "": none */
	const char *bucket; /* OSS only */
	const char *key;    /* OSS only: as it is, "" for the bucket itself */
	const char *region; /* NULL for OSS's first version */
	time_t now;
} sp_signed_place;

SP_MUST_CHECK sp_status sp_sign_s3(sp_http_request *request, const sp_signed_place *place,
				   const sp_credentials *credentials, sp_error *err);

/* Version 4 with a region, else the first version. */
SP_MUST_CHECK sp_status sp_sign_oss(sp_http_request *request, const sp_signed_place *place,
				    const sp_credentials *credentials, sp_error *err);

#endif
