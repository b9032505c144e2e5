#ifndef SP_OBJECT_STORE_HTTP_REQUEST_H
#define SP_OBJECT_STORE_HTTP_REQUEST_H

#include <stdbool.h>
#include <stddef.h>

#include "base/status.h"

/*
 * A request as it is sent.  Its URL and headers hold credentials, so they are never shown.
 *
 * Threads: one thread at a time.
 */
enum { SP_HTTP_HEADERS = 12 };

typedef struct sp_http_header {
	const char *name; /* in lower case; not owned */
	char *value;
} sp_http_header;

typedef struct sp_http_request {
	const char *method; /* not owned: "GET", "HEAD" or "PUT" */
	char *url;
	sp_http_header headers[SP_HTTP_HEADERS];
	size_t header_count;
	char *ca_file;       /* NULL: the system's */
	bool may_redirect;   /* once, to any host: a data node of WebHDFS */
	bool is_conditional; /* status 304, without a body, is a success */
	bool failed;         /* out of memory, or too many headers */
} sp_http_request;

/* Frees it, and overwrites its texts. */
void sp_http_request_fini(sp_http_request *request);

/* Adds a header, its value formatted; a failure is kept in `failed`. */
void sp_http_request_add(sp_http_request *request, const char *name, const char *fmt, ...)
	SP_PRINTF(3, 4);

#endif
