#ifndef SP_OBJECT_STORE_CREDENTIALS_H
#define SP_OBJECT_STORE_CREDENTIALS_H

#include <stdint.h>

#include "base/bytes.h"
#include "base/status.h"
#include "object_store/object_url.h"

/*
 * Finds credentials that are not configured.  Sources, in this order:
 *
 *   S3    AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY, AWS_SESSION_TOKEN in the environment;
 *         the profile AWS_PROFILE ("default") in ~/.aws/credentials and ~/.aws/config, or in
 *         AWS_SHARED_CREDENTIALS_FILE and AWS_CONFIG_FILE;
 *         AWS_CONTAINER_CREDENTIALS_RELATIVE_URI or ..._FULL_URI;
 *         the machine's metadata service, version 2, unless AWS_EC2_METADATA_DISABLED is "true";
 *         its address may be in AWS_EC2_METADATA_SERVICE_ENDPOINT
 *   OSS   OSS_ACCESS_KEY_ID, OSS_ACCESS_KEY_SECRET, OSS_SESSION_TOKEN in the environment;
 *         ~/.ossutilconfig, or the file OSS_CONFIG_FILE;
 *         the metadata service of a machine with a RAM role, unless
 *         ALIBABA_CLOUD_ECS_METADATA_DISABLED is "true"
 *
 * Threads: thread-safe; not for the transfers' thread.
 */
typedef struct sp_found_credentials {
	char *id, *key;
	char *session_token; /* NULL: none */
	char *region;        /* in the same file; NULL: none */
	char *endpoint;      /* in the same file; NULL: none */
	int64_t expires_s;   /* Unix time; 0: never */
} sp_found_credentials;

/* SP_IO when there are none; no text has a credential. */
SP_MUST_CHECK sp_status sp_credentials_find(sp_found_credentials *out, sp_object_kind kind,
					    sp_error *err);
void sp_found_credentials_drop(sp_found_credentials *found);

/*
 * The value of a key in a section of a text of the form "[section]\nkey = value"; `section` NULL:
 * in any.  A text for sp_free(); NULL: it is not there.
 */
char *sp_credentials_ini(sp_bytes text, const char *section, const char *key);

#endif
