#include "tests/support/cmocka.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>

#include "api/host/http/http_tls.h"
#include "base/clock.h"
#include "tests/support/http_client.h"
#include "tests/support/http_scene.h"

/* ---------------------------------------------------------------- certificates */

typedef struct identity {
	X509 *certificate;
	EVP_PKEY *key;
	char *certificate_text, *key_text;
} identity;

static char *text_of(BIO *bio)
{
	char *data;
	size_t size = (size_t)BIO_get_mem_data(bio, &data);
	char *text = strndup(data, size);

	BIO_free(bio);
	return text;
}

/* Signed by `authority`, or by itself if that is NULL. */
static identity make_identity(const char *name, const identity *authority)
{
	identity made = {X509_new(), EVP_EC_gen("P-256"), NULL, NULL};
	X509_NAME *subject = X509_get_subject_name(made.certificate);
	BIO *bio;

	X509_set_version(made.certificate, 2);
	ASN1_INTEGER_set(X509_get_serialNumber(made.certificate), (long)strlen(name));
	X509_gmtime_adj(X509_getm_notBefore(made.certificate), -60);
	X509_gmtime_adj(X509_getm_notAfter(made.certificate), 3600);
	X509_NAME_add_entry_by_txt(subject, "CN", MBSTRING_ASC, (const unsigned char *)name, -1, -1,
				   0);
	X509_set_issuer_name(made.certificate,
			     authority != NULL ? X509_get_subject_name(authority->certificate)
					       : subject);
	X509_set_pubkey(made.certificate, made.key);
	if (authority == NULL) {
		X509_EXTENSION *ca = X509V3_EXT_conf_nid(NULL, NULL, NID_basic_constraints,
							 "critical,CA:TRUE");

		X509_add_ext(made.certificate, ca, -1);
		X509_EXTENSION_free(ca);
	}
	assert_true(X509_sign(made.certificate, authority != NULL ? authority->key : made.key,
			      EVP_sha256()) > 0);
	bio = BIO_new(BIO_s_mem());
	PEM_write_bio_X509(bio, made.certificate);
	made.certificate_text = text_of(bio);
	bio = BIO_new(BIO_s_mem());
	PEM_write_bio_PrivateKey(bio, made.key, NULL, NULL, 0, NULL, NULL);
	made.key_text = text_of(bio);
	return made;
}

static void free_identity(identity *i)
{
	X509_free(i->certificate);
	EVP_PKEY_free(i->key);
	free(i->certificate_text);
	free(i->key_text);
}

static sp_http_tls_options options_of(const identity *i)
{
	return (sp_http_tls_options){.certificate = i->certificate_text, .key = i->key_text};
}

/* --------------------------------------------------------------------- clients */

typedef struct tls_client {
	sp_http_client socket;
	SSL_CTX *context;
	SSL *ssl;
	char protocol[16]; /* that ALPN chose */
	char server[64];   /* name in its certificate */
} tls_client;

/* False if the handshake fails; it is finished with what the server says to the certificate. */
static bool open_client(tls_client *c, uint16_t port, const char *alpn, const identity *own)
{
	const unsigned char *name;
	unsigned size;
	X509 *peer;

	memset(c, 0, sizeof(*c));
	assert_true(sp_http_client_open(&c->socket, port));
	c->context = SSL_CTX_new(TLS_client_method());
	c->ssl = SSL_new(c->context);
	if (alpn != NULL)
		SSL_set_alpn_protos(c->ssl, (const unsigned char *)alpn, (unsigned)strlen(alpn));
	if (own != NULL) {
		SSL_use_certificate(c->ssl, own->certificate);
		SSL_use_PrivateKey(c->ssl, own->key);
	}
	SSL_set_fd(c->ssl, c->socket.fd);
	if (SSL_connect(c->ssl) != 1)
		return false;
	SSL_get0_alpn_selected(c->ssl, &name, &size);
	snprintf(c->protocol, sizeof(c->protocol), "%.*s", (int)size, (const char *)name);
	peer = SSL_get1_peer_certificate(c->ssl);
	X509_NAME_get_text_by_NID(X509_get_subject_name(peer), NID_commonName, c->server,
				  sizeof(c->server));
	X509_free(peer);
	return true;
}

static void close_client(tls_client *c)
{
	SSL_free(c->ssl);
	SSL_CTX_free(c->context);
	sp_http_client_close(&c->socket);
	ERR_clear_error();
}

/* All that comes until the end. */
static size_t read_all(tls_client *c, char *out, size_t room)
{
	size_t all = 0, n;

	while (all < room - 1 && SSL_read_ex(c->ssl, out + all, room - 1 - all, &n) == 1)
		all += n;
	out[all] = '\0';
	return all;
}

static void send_text(tls_client *c, const char *text)
{
	size_t n;

	assert_int_equal(SSL_write_ex(c->ssl, text, strlen(text), &n), 1);
}

static bool is_answered(tls_client *c)
{
	char answer[4096];
	size_t n;

	if (SSL_write_ex(c->ssl, "GET /tls HTTP/1.0\r\n\r\n", 21, &n) != 1)
		return false;
	read_all(c, answer, sizeof(answer));
	return strstr(answer, "\r\n\r\nGET/tls ") != NULL;
}

static void start(sp_http_scene *f, sp_http_tls *tls, sp_http_options options)
{
	static sp_http_address address;

	address = (sp_http_address){.host = "127.0.0.1", .tls = tls};
	options.addresses = &address;
	options.address_count = 1;
	sp_http_scene_start(f, options);
}

/* ----------------------------------------------------------------------- tests */

static void http1_is_spoken_over_tls(void **state)
{
	static char answer[3 << 20];
	identity own = make_identity("server", NULL);
	sp_http_tls_options options = options_of(&own);
	sp_http_scene f = {0};
	sp_http_tls *tls;
	tls_client c;
	sp_error err;
	char text[9000];

	(void)state;
	assert_ok(sp_http_tls_create(&tls, &options, &err), &err);
	start(&f, tls, (sp_http_options){.io_threads = 1});
	assert_true(open_client(&c, f.port, NULL, NULL));
	assert_string_equal(c.protocol, "");
	assert_true(is_answered(&c));
	close_client(&c);

	/* Pipelined, and more than a record; a megabyte comes back. */
	assert_true(open_client(&c, f.port, "\10http/1.1", NULL));
	assert_string_equal(c.protocol, "http/1.1");
	snprintf(text, sizeof(text),
		 "POST /one HTTP/1.1\r\nHost: a\r\nContent-Length: 8000\r\n\r\n%08000d"
		 "GET /large HTTP/1.1\r\nHost: a\r\n\r\n"
		 "GET /last HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n",
		 7);
	send_text(&c, text);
	assert_true(read_all(&c, answer, sizeof(answer)) > 1 << 20);
	assert_non_null(strstr(answer, "\r\n\r\nPOST/one 0000000"));
	assert_non_null(strstr(answer, "\r\n\r\nGET/last "));
	assert_int_equal(SSL_get_shutdown(c.ssl), SSL_RECEIVED_SHUTDOWN);
	close_client(&c);
	sp_http_scene_finish(&f);
	sp_http_tls_destroy(tls);
	free_identity(&own);
}

static void alpn_chooses_the_protocol(void **state)
{
	static const char request[] = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
				      "\0\0\0\4\0\0\0\0\0"
				      "\0\0\6\1\5\0\0\0\1\x82\x87\x84\x41\1a";
	identity own = make_identity("server", NULL);
	sp_http_tls_options options = options_of(&own);
	sp_http_scene f = {0};
	sp_http_tls *tls;
	tls_client c;
	sp_error err;
	char answer[4096];
	size_t n;

	(void)state;
	assert_ok(sp_http_tls_create(&tls, &options, &err), &err);
	start(&f, tls, (sp_http_options){.idle_timeout_ms = 300});
	assert_true(open_client(&c, f.port, "\10http/1.1\2h2", NULL));
	assert_string_equal(c.protocol, "h2");
	assert_int_equal(SSL_write_ex(c.ssl, request, sizeof(request) - 1, &n), 1);
	n = read_all(&c, answer, sizeof(answer));
	assert_non_null(memmem(answer, n, "GET/ ", 5));
	close_client(&c);
	assert_false(open_client(&c, f.port, "\2h3", NULL));
	close_client(&c);
	sp_http_scene_finish(&f);
	sp_http_tls_destroy(tls);
	free_identity(&own);
}

static void clients_may_have_to_show_a_certificate(void **state)
{
	identity authority = make_identity("authority", NULL), other = make_identity("other", NULL);
	identity server = make_identity("server", &authority);
	identity client = make_identity("client", &authority);
	identity stranger = make_identity("stranger", &other);
	sp_http_tls_options options = options_of(&server);
	sp_http_scene f = {0};
	sp_http_tls *tls;
	tls_client c;
	sp_error err;

	(void)state;
	options.client_ca = authority.certificate_text;
	options.verify_client = true;
	assert_ok(sp_http_tls_create(&tls, &options, &err), &err);
	start(&f, tls, (sp_http_options){.io_threads = 1});
	assert_true(open_client(&c, f.port, NULL, &client));
	assert_true(is_answered(&c));
	close_client(&c);
	assert_false(open_client(&c, f.port, NULL, NULL) && is_answered(&c));
	close_client(&c);
	assert_false(open_client(&c, f.port, NULL, &stranger) && is_answered(&c));
	close_client(&c);
	assert_int_equal(f.handled, 1);
	sp_http_scene_finish(&f);
	sp_http_tls_destroy(tls);
	free_identity(&authority);
	free_identity(&other);
	free_identity(&server);
	free_identity(&client);
	free_identity(&stranger);
}

static void certificates_are_changed_while_serving(void **state)
{
	identity first = make_identity("first", NULL), second = make_identity("second", NULL);
	sp_http_tls_options options = options_of(&first), mixed = options;
	sp_http_scene f = {0};
	sp_http_tls *tls;
	tls_client old, c;
	sp_error err;

	(void)state;
	assert_ok(sp_http_tls_create(&tls, &options, &err), &err);
	start(&f, tls, (sp_http_options){.io_threads = 1});
	assert_true(open_client(&old, f.port, NULL, NULL));
	options = options_of(&second);
	assert_ok(sp_http_tls_reload(tls, &options, &err), &err);
	mixed.key = second.key_text;
	assert_int_equal(sp_http_tls_reload(tls, &mixed, &err), SP_INVALID);
	assert_non_null(strstr(err.text, "TLS: key: "));
	assert_true(open_client(&c, f.port, NULL, NULL));
	assert_string_equal(old.server, "first");
	assert_string_equal(c.server, "second");
	assert_true(is_answered(&old));
	assert_true(is_answered(&c));
	close_client(&old);
	close_client(&c);
	sp_http_scene_finish(&f);
	sp_http_tls_destroy(tls);
	free_identity(&first);
	free_identity(&second);
}

static void what_is_no_certificate_is_named(void **state)
{
	identity own = make_identity("server", NULL);
	const sp_http_tls_options good = options_of(&own);
	sp_http_tls_options options = good;
	sp_http_tls *tls;
	sp_error err;
	char *cut = strdup(own.certificate_text);

	(void)state;
	cut[strlen(cut) / 2] = '\0';
	options.certificate = cut;
	assert_int_equal(sp_http_tls_create(&tls, &options, &err), SP_INVALID);
	assert_non_null(strstr(err.text, "TLS: certificate: "));
	options.certificate = NULL;
	assert_int_equal(sp_http_tls_create(&tls, &options, &err), SP_INVALID);
	options = good;
	options.key = "";
	assert_int_equal(sp_http_tls_create(&tls, &options, &err), SP_INVALID);
	assert_non_null(strstr(err.text, "TLS: key: "));
	options = good;
	options.client_ca = "nonsense";
	assert_int_equal(sp_http_tls_create(&tls, &options, &err), SP_INVALID);
	assert_non_null(strstr(err.text, "TLS: certificates of authorities: "));
	options = good;
	options.verify_client = true;
	assert_int_equal(sp_http_tls_create(&tls, &options, &err), SP_INVALID);
	free(cut);
	free_identity(&own);
}

static void a_handshake_is_bounded_in_time_and_refuses_nonsense(void **state)
{
	identity own = make_identity("server", NULL);
	sp_http_tls_options options = options_of(&own);
	int64_t began = sp_clock_now_ns();
	sp_http_scene f = {0};
	sp_http_client silent, plain;
	sp_http_tls *tls;
	tls_client c;
	sp_error err;
	char byte;

	(void)state;
	assert_ok(sp_http_tls_create(&tls, &options, &err), &err);
	start(&f, tls, (sp_http_options){.head_timeout_ms = 300});
	assert_true(sp_http_client_open(&silent, f.port));
	sp_http_client_send(&silent, "\x16\x03\x01", 3);
	assert_true(sp_http_client_open(&plain, f.port));
	sp_http_client_send_text(&plain, "GET / HTTP/1.1\r\nHost: a\r\n\r\n");
	while (sp_http_client_read(&plain, &byte, 1))
		;
	assert_true(plain.ended);
	assert_true(sp_http_client_ends(&silent, 5000));
	assert_true(sp_clock_now_ns() - began < INT64_C(5000000000));
	assert_int_equal(f.handled, 0);
	sp_http_client_close(&silent);
	sp_http_client_close(&plain);
	assert_true(open_client(&c, f.port, NULL, NULL));
	assert_true(is_answered(&c));
	close_client(&c);
	sp_http_scene_finish(&f);
	sp_http_tls_destroy(tls);
	free_identity(&own);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(http1_is_spoken_over_tls),
		cmocka_unit_test(alpn_chooses_the_protocol),
		cmocka_unit_test(clients_may_have_to_show_a_certificate),
		cmocka_unit_test(certificates_are_changed_while_serving),
		cmocka_unit_test(what_is_no_certificate_is_named),
		cmocka_unit_test(a_handshake_is_bounded_in_time_and_refuses_nonsense),
	};

	signal(SIGPIPE, SIG_IGN);
	return cmocka_run_group_tests_name("http_tls", tests, NULL, NULL);
}
