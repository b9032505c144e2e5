#ifndef SP_OBJECT_STORE_PROTOCOL_H
#define SP_OBJECT_STORE_PROTOCOL_H

#include <stdbool.h>
#include <stdint.h>

#include "object_store/account.h"
#include "object_store/http_request.h"
#include "object_store/listing.h"
#include "object_store/object_url.h"

/*
 * What each kind of store is asked, and what it answers.
 *
 * Threads: thread-safe.
 */
typedef enum sp_ask {
	SP_ASK_RANGE,  /* bytes of an object */
	SP_ASK_WHOLE,  /* all of them, in a request without a range */
	SP_ASK_ABOUT,  /* its size and the like */
	SP_ASK_FOLDER, /* the names in a folder */
	SP_ASK_TREE,   /* those of all objects below a folder; S3 and OSS only */
} sp_ask;

typedef struct sp_question {
	sp_ask ask;
	uint64_t first, size; /* of the range; size > 0 */
	const char *etag;     /* the object must still have it; NULL or "": not known */
	const char *after;    /* the page of a list; NULL: the first */

	/* SP_ASK_FOLDER of a web server: 304 if these are its tag and time; NULL or "": none. */
	const char *known_etag, *known_changed;
} sp_question;

/* Whether a folder's whole tree can be listed at once. */
bool sp_protocol_has_trees(sp_object_kind kind);

/* Makes the request, signed with the credentials that the account has. */
SP_MUST_CHECK sp_status sp_protocol_ask(sp_http_request *out, const sp_object_url *url,
					sp_account *account, const sp_question *question,
					sp_error *err);

/* Adds the page of names that answers SP_ASK_FOLDER or SP_ASK_TREE, and sets out->next. */
SP_MUST_CHECK sp_status sp_protocol_read_names(sp_listing_of *out, const sp_object_url *url,
					       sp_bytes document, sp_error *err);

/* A few words for error texts: the URL, which has no secret.  `out` has room for any. */
enum { SP_OBJECT_NAME_SIZE = SP_OBJECT_AUTHORITY_SIZE + SP_OBJECT_PATH_SIZE + 16 };
const char *sp_protocol_name(char out[SP_OBJECT_NAME_SIZE], const sp_object_url *url);

#endif
