#ifndef SP_OBJECT_STORE_PROTOCOL_H
#define SP_OBJECT_STORE_PROTOCOL_H

#include <stdbool.h>
#include <stdint.h>

#include "object_store/account.h"
#include "object_store/http_request.h"
#include "object_store/listing.h"
#include "object_store/object_url.h"

/*
 * Turns operations on objects and folders into the HTTP requests of each kind of store, and its
 * responses into names.
 *
 * Threads: thread-safe.
 */
typedef enum sp_object_op_kind {
	SP_OBJECT_OP_RANGE,     /* reads a range of an object's bytes */
	SP_OBJECT_OP_WHOLE,     /* reads an object in one request without a range */
	SP_OBJECT_OP_STAT,      /* an object's size, time and entity tag */
	SP_OBJECT_OP_LIST,      /* the names in a folder */
	SP_OBJECT_OP_LIST_TREE, /* the names of all objects below a folder; S3 and OSS only */
} sp_object_op_kind;

typedef struct sp_object_op {
	sp_object_op_kind kind;
	uint64_t first, size; /* of the range; size > 0 */
	const char *etag;     /* the request fails if the object has another; NULL or "": unknown */
	const char *after;    /* the page of a listing; NULL: the first */

	/* For SP_OBJECT_OP_LIST of a web server: validators, for a 304; NULL or "": none. */
	const char *if_none_match, *if_modified_since;
} sp_object_op;

/* Whether a folder's whole tree can be listed at once. */
bool sp_protocol_has_trees(sp_object_kind kind);

/* Fills in the request, signed with the credentials that the account has. */
SP_MUST_CHECK sp_status sp_protocol_make_request(sp_http_request *out, const sp_object_url *url,
						 sp_account *account, const sp_object_op *op,
						 sp_error *err);

/* Adds the names of a page of SP_OBJECT_OP_LIST or SP_OBJECT_OP_LIST_TREE, and sets out->next. */
SP_MUST_CHECK sp_status sp_protocol_read_names(sp_listing *out, const sp_object_url *url,
					       sp_bytes document, sp_error *err);

/* Prefixes an error text with the URL, which contains no secret; SP_OK is returned unchanged. */
sp_status sp_protocol_prefix(sp_error *err, sp_status status, const sp_object_url *url);

#endif
