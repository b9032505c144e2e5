#ifndef SP_API_HOST_HTTP_HTTP_TLS_H
#define SP_API_HOST_HTTP_HTTP_TLS_H

#include <stdbool.h>

#include "base/status.h"

/*
 * TLS for the connections of a server: its certificate, its key, and which clients it trusts.  TLS
 * 1.2 and 1.3; ALPN chooses HTTP/2 where the client has it.
 *
 * Threads: thread-safe, but for create and destroy.
 */
typedef struct sp_http_tls sp_http_tls;

/* All texts are PEM. */
typedef struct sp_http_tls_options {
	const char *certificate; /* that of the server, then those between it and the authority */
	const char *key;
	const char *client_ca; /* authorities of the clients' certificates; NULL or "": none */
	bool verify_client;    /* a client needs a certificate of these */
} sp_http_tls_options;

/* Errors: SP_INVALID, with what is wrong. */
SP_MUST_CHECK sp_status sp_http_tls_create(sp_http_tls **out, const sp_http_tls_options *options,
					   sp_error *err);

/* New connections use the new options; after an error, still the old ones. */
SP_MUST_CHECK sp_status sp_http_tls_reload(sp_http_tls *tls, const sp_http_tls_options *options,
					   sp_error *err);

/* After the servers that use it.  NULL is fine. */
void sp_http_tls_destroy(sp_http_tls *tls);

#endif
