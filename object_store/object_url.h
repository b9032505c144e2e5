#ifndef SP_OBJECT_STORE_OBJECT_URL_H
#define SP_OBJECT_STORE_OBJECT_URL_H

#include <stdbool.h>

#include "base/buffer.h"
#include "base/bytes.h"
#include "base/status.h"

/*
 * The paths of object stores:
 *
 *   s3://BUCKET/KEY                          Amazon's S3, and what speaks as it does
 *   oss://BUCKET/KEY                         Alibaba Cloud's OSS
 *   hdfs://HOST[:PORT]/PATH                  WebHDFS; PORT is the one of RPC and not used
 *   webhdfs://HOST[:PORT]/PATH               WebHDFS over http, swebhdfs over https
 *   http://HOST[:PORT]/PATH, https://...     a web server whose folders are lists of links
 *
 * KEY and PATH are names as they are, without escapes; in those of http and https an escape such
 * as %20 stays what it is.  Slashes at the end and repeated ones have no effect.  A user, a
 * password, a query, '.' and '..' are refused, and so is a path of more than 2000 bytes.
 *
 * Threads: pure.
 */
typedef enum sp_object_kind {
	SP_OBJECT_S3,
	SP_OBJECT_OSS,
	SP_OBJECT_HDFS,
	SP_OBJECT_HTTP,
} sp_object_kind;

enum { SP_OBJECT_AUTHORITY_SIZE = 260, SP_OBJECT_PATH_SIZE = 2004 };

typedef struct sp_object_url {
	sp_object_kind kind;
	bool is_secure;                           /* https and swebhdfs */
	bool is_rpc;                              /* hdfs: the port is not that of WebHDFS */
	char authority[SP_OBJECT_AUTHORITY_SIZE]; /* the bucket, or HOST[:PORT] */
	char path[SP_OBJECT_PATH_SIZE];           /* without a slash at either end */
} sp_object_url;

/* SP_INVALID; the text has no more of the URL than its scheme if it may hold a secret. */
SP_MUST_CHECK sp_status sp_object_url_parse(sp_object_url *out, const char *text, sp_error *err);

/* Appends the text with all bytes escaped but letters, digits, "-._~" and those of `also`. */
void sp_object_url_escape(sp_buffer *out, sp_bytes text, const char *also);

/* Appends a path of http: as above, but what is an escape already stays. */
void sp_object_url_escape_path(sp_buffer *out, sp_bytes path);

#endif
