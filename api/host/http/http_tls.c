#include "api/host/http/http_tls.h"

#include <errno.h>
#include <pthread.h>
#include <string.h>
#include <sys/uio.h>

#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>

#include "api/host/http/http_internal.h"
#include "base/alloc.h"

struct sp_http_tls {
	pthread_mutex_t lock; /* protects context */
	SSL_CTX *context;
};

/* ------------------------------------------------------------------- options */

/* What OpenSSL says is wrong; the first of its errors. */
static sp_status fail(sp_error *err, const char *what)
{
	unsigned long code = ERR_get_error();
	const char *reason = code != 0 ? ERR_reason_error_string(code) : NULL;

	ERR_clear_error();
	return sp_error_set(err, SP_INVALID, "TLS: %s: %s", what,
			    reason != NULL ? reason : "not usable");
}

/* A key with a passphrase is an error, not a question at the terminal. */
static int no_passphrase(char *out, int size, int writing, void *context)
{
	(void)out;
	(void)size;
	(void)writing;
	(void)context;
	return -1;
}

static bool add_certificates(SSL_CTX *context, BIO *bio)
{
	X509 *leaf = PEM_read_bio_X509_AUX(bio, NULL, no_passphrase, NULL), *more;
	bool added = leaf != NULL && SSL_CTX_use_certificate(context, leaf) == 1;

	X509_free(leaf);
	while (added && (more = PEM_read_bio_X509(bio, NULL, no_passphrase, NULL)) != NULL) {
		added = SSL_CTX_add0_chain_cert(context, more) == 1;
		if (!added)
			X509_free(more);
	}
	if (added && ERR_GET_REASON(ERR_peek_last_error()) != PEM_R_NO_START_LINE)
		return false; /* there is more text, but no certificate */
	if (added)
		ERR_clear_error();
	return added;
}

static bool add_key(SSL_CTX *context, BIO *bio)
{
	EVP_PKEY *key = PEM_read_bio_PrivateKey(bio, NULL, no_passphrase, NULL);
	bool added = key != NULL && SSL_CTX_use_PrivateKey(context, key) == 1;

	EVP_PKEY_free(key);
	return added && SSL_CTX_check_private_key(context) == 1;
}

static bool add_authorities(SSL_CTX *context, BIO *bio)
{
	X509_STORE *store = SSL_CTX_get_cert_store(context);
	size_t count = 0;
	X509 *authority;
	bool added = true;

	while (added && (authority = PEM_read_bio_X509(bio, NULL, no_passphrase, NULL)) != NULL) {
		added = X509_STORE_add_cert(store, authority) == 1 &&
			SSL_CTX_add_client_CA(context, authority) == 1;
		X509_free(authority);
		count++;
	}
	if (added && count != 0)
		ERR_clear_error();
	return added && count != 0;
}

typedef bool add_function(SSL_CTX *context, BIO *bio);

static sp_status add(SSL_CTX *context, const char *text, add_function *function, const char *what,
		     sp_error *err)
{
	BIO *bio = text != NULL ? BIO_new_mem_buf(text, -1) : NULL;
	bool added;

	ERR_clear_error();
	added = bio != NULL && function(context, bio);
	BIO_free(bio);
	return added ? SP_OK : fail(err, what);
}

/* Chooses HTTP/2, else HTTP/1.1, of what the client has. */
static int choose_protocol(SSL *ssl, const unsigned char **out, unsigned char *size,
			   const unsigned char *list, unsigned list_size, void *context)
{
	static const unsigned char ours[] = "\2h2\10http/1.1";

	(void)ssl;
	(void)context;
	if (SSL_select_next_proto((unsigned char **)out, size, ours, sizeof(ours) - 1, list,
				  list_size) != OPENSSL_NPN_NEGOTIATED)
		return SSL_TLSEXT_ERR_ALERT_FATAL;
	return SSL_TLSEXT_ERR_OK;
}

static sp_status set_up(SSL_CTX *context, const sp_http_tls_options *options, sp_error *err)
{
	static const unsigned char id[] = "serving_host";
	bool has_ca = options->client_ca != NULL && *options->client_ca != '\0';

	SSL_CTX_set_options(context, SSL_OP_NO_RENEGOTIATION | SSL_OP_NO_COMPRESSION |
					     SSL_OP_CIPHER_SERVER_PREFERENCE);
	SSL_CTX_set_mode(context, SSL_MODE_ENABLE_PARTIAL_WRITE |
					  SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER |
					  SSL_MODE_RELEASE_BUFFERS);
	SSL_CTX_set_alpn_select_cb(context, choose_protocol, NULL);
	if (SSL_CTX_set_min_proto_version(context, TLS1_2_VERSION) != 1 ||
	    SSL_CTX_set_cipher_list(context, "ECDHE+AESGCM:ECDHE+CHACHA20") != 1 ||
	    SSL_CTX_set_session_id_context(context, id, sizeof(id) - 1) != 1)
		return fail(err, "OpenSSL");
	SP_TRY(add(context, options->certificate, add_certificates, "certificate", err));
	SP_TRY(add(context, options->key, add_key, "key", err));
	if (has_ca)
		SP_TRY(add(context, options->client_ca, add_authorities,
			   "certificates of authorities", err));
	if (!options->verify_client)
		return SP_OK;
	if (!has_ca)
		return sp_error_set(err, SP_INVALID,
				    "TLS: clients cannot be verified without an authority");
	SSL_CTX_set_verify(context, SSL_VERIFY_PEER | SSL_VERIFY_FAIL_IF_NO_PEER_CERT, NULL);
	return SP_OK;
}

static sp_status make_context(SSL_CTX **out, const sp_http_tls_options *options, sp_error *err)
{
	SSL_CTX *context = SSL_CTX_new(TLS_server_method());
	sp_status status = context != NULL ? set_up(context, options, err) : fail(err, "OpenSSL");

	if (status != SP_OK)
		SSL_CTX_free(context);
	else
		*out = context;
	return status;
}

sp_status sp_http_tls_create(sp_http_tls **out, const sp_http_tls_options *options, sp_error *err)
{
	sp_http_tls *tls = sp_alloc_zero(1, sizeof(*tls));
	sp_status status;

	*out = NULL;
	if (tls == NULL)
		return sp_no_memory(err, "TLS");
	status = make_context(&tls->context, options, err);
	if (status != SP_OK) {
		sp_free(tls);
		return status;
	}
	pthread_mutex_init(&tls->lock, NULL);
	*out = tls;
	return SP_OK;
}

sp_status sp_http_tls_reload(sp_http_tls *tls, const sp_http_tls_options *options, sp_error *err)
{
	SSL_CTX *context, *old;

	SP_TRY(make_context(&context, options, err));
	pthread_mutex_lock(&tls->lock);
	old = tls->context;
	tls->context = context;
	pthread_mutex_unlock(&tls->lock);
	SSL_CTX_free(old); /* connections have references of their own */
	return SP_OK;
}

void sp_http_tls_destroy(sp_http_tls *tls)
{
	if (tls == NULL)
		return;
	SSL_CTX_free(tls->context);
	pthread_mutex_destroy(&tls->lock);
	sp_free(tls);
}

/* --------------------------------------------------------------- connections */

void *sp_http__tls_open(sp_http_tls *tls, int fd)
{
	SSL *ssl;

	pthread_mutex_lock(&tls->lock);
	ssl = SSL_new(tls->context);
	pthread_mutex_unlock(&tls->lock);
	if (ssl != NULL && SSL_set_fd(ssl, fd) != 1) {
		SSL_free(ssl);
		ssl = NULL;
	}
	if (ssl != NULL)
		SSL_set_accept_state(ssl);
	ERR_clear_error();
	return ssl;
}

/* What a call has returned, as recv() and send() say it. */
static ssize_t outcome_of(SSL *ssl, int result)
{
	int error = SSL_get_error(ssl, result);

	ERR_clear_error();
	if (error == SSL_ERROR_ZERO_RETURN)
		return 0;
	errno = error == SSL_ERROR_WANT_READ || error == SSL_ERROR_WANT_WRITE ? EAGAIN : ECONNRESET;
	return -1;
}

int sp_http__tls_shake_hands(void *ssl)
{
	int result = SSL_do_handshake(ssl), error;

	if (result == 1)
		return 1;
	error = SSL_get_error(ssl, result);
	ERR_clear_error();
	if (error == SSL_ERROR_WANT_READ)
		return 0;
	return error == SSL_ERROR_WANT_WRITE ? SP_HTTP_TLS_WRITE : -1;
}

bool sp_http__tls_is_http2(const void *ssl)
{
	const unsigned char *name;
	unsigned size;

	SSL_get0_alpn_selected(ssl, &name, &size);
	return size == 2 && memcmp(name, "h2", 2) == 0;
}

bool sp_http__tls_has_more(const void *ssl)
{
	return SSL_pending(ssl) > 0;
}

ssize_t sp_http__tls_receive(void *ssl, void *data, size_t size)
{
	size_t all = 0, n;
	int result = 1;

	while (all < size && (result = SSL_read_ex(ssl, (char *)data + all, size - all, &n)) == 1)
		all += n;
	if (all != 0) {
		ERR_clear_error(); /* an error will come again */
		return (ssize_t)all;
	}
	return outcome_of(ssl, result);
}

/* Copies as much as a record holds, behind the first `skip` bytes of the parts. */
static size_t gather(char *out, size_t room, const struct iovec *parts, size_t count, size_t skip)
{
	size_t size = 0;

	for (size_t i = 0; i < count; i++) {
		size_t from = skip < parts[i].iov_len ? skip : parts[i].iov_len;
		size_t n = parts[i].iov_len - from;

		skip -= from;
		if (n > room - size)
			n = room - size;
		memcpy(out + size, (const char *)parts[i].iov_base + from, n);
		size += n;
	}
	return size;
}

ssize_t sp_http__tls_send(void *ssl, const struct iovec *parts, size_t count)
{
	enum { RECORD = 16 << 10 };
	char record[RECORD];
	size_t all = 0, size, n;
	int result = 1;

	while ((size = gather(record, sizeof(record), parts, count, all)) != 0 &&
	       (result = SSL_write_ex(ssl, record, size, &n)) == 1)
		all += n;
	if (all != 0) {
		ERR_clear_error();
		return (ssize_t)all;
	}
	return size == 0 ? 0 : outcome_of(ssl, result);
}

void sp_http__tls_end(void *ssl)
{
	SSL_shutdown(ssl);
	ERR_clear_error();
}

void sp_http__tls_close(void *ssl)
{
	SSL_free(ssl);
}
