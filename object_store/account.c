#include "object_store/account.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/alloc.h"
#include "base/backoff.h"
#include "base/clock.h"
#include "object_store/credentials.h"
#include "object_store/digest.h"

enum {
	TIMEOUT_MS = 60000,
	PAUSE_MS = 1000,
	MAX_PAUSE_MS = 30000,
	SOON_S = 300, /* credentials that end sooner are fetched anew */
};

struct sp_account {
	sp_account *next;
	sp_object_kind kind;
	bool is_secure, is_rpc;
	char authority[SP_OBJECT_AUTHORITY_SIZE];

	/* As configured; NULL: not configured. */
	char *endpoint, *region, *access_id, *access_key, *session_token, *user, *token, *ca_file;
	bool is_anonymous;
	sp_object_addressing addressing;
	int64_t timeout_ms;

	sp_found_credentials found; /* .id NULL: not fetched */
	bool is_fetched;

	unsigned failures;
	int64_t blocked_until_ns;
	sp_error why;
};

/* Protects all accounts. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static sp_account *accounts;

/* Credentials are fetched by one thread at a time. */
static pthread_mutex_t fetching = PTHREAD_MUTEX_INITIALIZER;

static void free_settings(sp_account *a)
{
	char **texts[] = {&a->endpoint,      &a->region, &a->access_id, &a->access_key,
			  &a->session_token, &a->user,   &a->token,     &a->ca_file};

	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
		sp_digest_free_secret(texts[i]);
}

static bool is_account_of(const sp_account *a, const sp_object_url *url)
{
	return a->kind == url->kind && a->is_secure == url->is_secure && a->is_rpc == url->is_rpc &&
	       strcmp(a->authority, url->authority) == 0;
}

sp_account *sp_account_of(const sp_object_url *url)
{
	sp_account *a;

	pthread_mutex_lock(&lock);
	a = accounts;
	while (a != NULL && !is_account_of(a, url))
		a = a->next;
	if (a == NULL && (a = sp_alloc_zero(1, sizeof(*a))) != NULL) {
		a->kind = url->kind;
		a->is_secure = url->is_secure;
		a->is_rpc = url->is_rpc;
		memcpy(a->authority, url->authority, sizeof(a->authority));
		a->next = accounts;
		accounts = a;
	}
	pthread_mutex_unlock(&lock);
	return a;
}

void sp_accounts_drop(void)
{
	pthread_mutex_lock(&lock);
	while (accounts != NULL) {
		sp_account *a = accounts;

		accounts = a->next;
		free_settings(a);
		sp_found_credentials_drop(&a->found);
		sp_free(a);
	}
	pthread_mutex_unlock(&lock);
}

/* ------------------------------------------------------------------- settings */

static bool copy(char **out, const char *text)
{
	*out = text != NULL && *text != '\0' ? sp_alloc_text(text) : NULL;
	return text == NULL || *text == '\0' || *out != NULL;
}

/* A host with a port, a scheme before it or not, and nothing behind. */
static bool is_endpoint(const char *text)
{
	if (text == NULL || *text == '\0')
		return true;
	if (strncmp(text, "https://", 8) == 0)
		text += 8;
	else if (strncmp(text, "http://", 7) == 0)
		text += 7;
	return *text != '\0' && strspn(text, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
					     "0123456789.-_:[]") == strlen(text);
}

/* What ends up in a header must be one line. */
static bool is_line(const char *text)
{
	for (; text != NULL && *text != '\0'; text++)
		if ((unsigned char)*text <= 0x20 || *text == 0x7f)
			return false;
	return true;
}

sp_status sp_account_set(sp_account *a, const sp_object_settings *s, sp_error *err)
{
	bool good;

	if (!is_endpoint(s->endpoint))
		return sp_error_set(err, SP_INVALID,
				    "the endpoint of an object store must be HOST[:PORT], with "
				    "http:// or https:// before it or not");
	if (!is_line(s->access_id) || !is_line(s->access_key) || !is_line(s->session_token) ||
	    !is_line(s->region) || !is_line(s->user) || !is_line(s->token))
		return sp_error_set(err, SP_INVALID,
				    "a region or a credential of an object store contains a space "
				    "or a control character");
	pthread_mutex_lock(&lock);
	free_settings(a);
	good = copy(&a->endpoint, s->endpoint) && copy(&a->region, s->region) &&
	       copy(&a->access_id, s->access_id) && copy(&a->access_key, s->access_key) &&
	       copy(&a->session_token, s->session_token) && copy(&a->user, s->user) &&
	       copy(&a->token, s->token) && copy(&a->ca_file, s->ca_file);
	a->is_anonymous = s->is_anonymous;
	a->addressing = s->addressing;
	a->timeout_ms = s->timeout_ms;
	sp_found_credentials_drop(&a->found);
	a->is_fetched = false;
	a->failures = 0;
	a->blocked_until_ns = 0;
	pthread_mutex_unlock(&lock);
	return good ? SP_OK : sp_no_memory(err, "the settings of an object store");
}

/* ---------------------------------------------------------------- credentials */

static bool is_signed(const sp_account *a)
{
	return (a->kind == SP_OBJECT_S3 || a->kind == SP_OBJECT_OSS) && !a->is_anonymous;
}

/* Whether no credentials need to be fetched. */
static bool is_ready(const sp_account *a)
{
	if (!is_signed(a) || a->access_id != NULL)
		return true;
	return a->is_fetched &&
	       (a->found.expires_s == 0 || a->found.expires_s > (int64_t)time(NULL) + SOON_S);
}

sp_status sp_account_prepare(sp_account *a, sp_error *err)
{
	sp_found_credentials found;
	sp_status status = SP_OK;
	bool ready;

	pthread_mutex_lock(&fetching);
	pthread_mutex_lock(&lock);
	ready = is_ready(a);
	pthread_mutex_unlock(&lock);
	if (!ready) {
		status = sp_credentials_find(&found, a->kind, err);
		pthread_mutex_lock(&lock);
		if (status == SP_OK) {
			sp_found_credentials_drop(&a->found);
			a->found = found;
			a->is_fetched = true;
		}
		pthread_mutex_unlock(&lock);
	}
	pthread_mutex_unlock(&fetching);
	return sp_error_prefix(err, status, "credentials for '%s'", a->authority);
}

void sp_account_report_denied(sp_account *a)
{
	pthread_mutex_lock(&lock);
	a->is_fetched = false;
	pthread_mutex_unlock(&lock);
}

/* ----------------------------------------------------------------------- a view */

static const char *first_variable(const char *const *names)
{
	for (; *names != NULL; names++) {
		const char *value = getenv(*names);

		if (value != NULL && *value != '\0')
			return value;
	}
	return NULL;
}

/* The three texts in a row. */
static char *join(const char *one, const char *two, const char *three)
{
	size_t size = strlen(one) + strlen(two) + strlen(three) + 1;
	char *text = sp_alloc(size);

	if (text != NULL)
		snprintf(text, size, "%s%s%s", one, two, three);
	return text;
}

/* The endpoint with a scheme, and without the scheme's default port. */
static char *full_endpoint(const char *text, const char *scheme)
{
	static const char *const ports[][2] = {{"http://", ":80"}, {"https://", ":443"}};
	char *out = strstr(text, "://") != NULL ? sp_alloc_text(text) : join(scheme, "://", text);

	for (size_t i = 0; out != NULL && i < 2; i++) {
		size_t size = strlen(out), tail = strlen(ports[i][1]);

		if (strncmp(out, ports[i][0], strlen(ports[i][0])) == 0 && size > tail &&
		    strcmp(out + size - tail, ports[i][1]) == 0)
			out[size - tail] = '\0';
	}
	return out;
}

/* The region in "oss-cn-hangzhou-internal.aliyuncs.com"; NULL for any other host. */
static char *oss_region(const char *endpoint)
{
	const char *at = strstr(endpoint, "://oss-"), *end;
	char *region;

	if (at == NULL || (end = strstr(at, ".aliyuncs.com")) == NULL)
		return NULL;
	at += strlen("://oss-");
	region = sp_alloc_text(at);
	if (region == NULL)
		return NULL;
	region[end - at] = '\0';
	if (sp_bytes_ends_with(sp_bytes_of(region), "-internal"))
		region[strlen(region) - strlen("-internal")] = '\0';
	return region;
}

static sp_status fill_s3(const sp_account *a, sp_account_view *out, sp_error *err)
{
	static const char *const endpoints[] = {"AWS_ENDPOINT_URL_S3", "AWS_ENDPOINT_URL",
						"S3_ENDPOINT", NULL};
	static const char *const regions[] = {"AWS_REGION", "AWS_DEFAULT_REGION", NULL};
	const char *endpoint = a->endpoint != NULL ? a->endpoint : first_variable(endpoints);
	const char *region = a->region != NULL ? a->region : first_variable(regions);

	out->region = region != NULL            ? sp_alloc_text(region)
		      : a->found.region != NULL ? sp_alloc_text(a->found.region)
						: sp_alloc_text("us-east-1");
	SP_NEED_MEMORY(out->region, err, "an object store");
	out->endpoint = endpoint != NULL ? full_endpoint(endpoint, "https")
					 : join("https://s3.", out->region, ".amazonaws.com");
	out->is_virtual = endpoint == NULL && strchr(a->authority, '.') == NULL;
	return SP_OK;
}

static sp_status fill_oss(const sp_account *a, sp_account_view *out, sp_error *err)
{
	static const char *const endpoints[] = {"OSS_ENDPOINT", NULL};
	static const char *const regions[] = {"OSS_REGION", NULL};
	const char *endpoint = a->endpoint != NULL ? a->endpoint : first_variable(endpoints);
	const char *region = a->region != NULL ? a->region : first_variable(regions);
	const char *host;

	if (endpoint == NULL)
		endpoint = a->found.endpoint;
	if (endpoint == NULL || !is_endpoint(endpoint))
		return sp_error_set(err, SP_INVALID,
				    "bucket '%s' of OSS has no endpoint: configuration key "
				    "'oss_endpoint', or OSS_ENDPOINT in the environment",
				    a->authority);
	out->endpoint = full_endpoint(endpoint, "https");
	SP_NEED_MEMORY(out->endpoint, err, "an object store");
	out->region = region != NULL ? sp_alloc_text(region) : oss_region(out->endpoint);
	host = strstr(out->endpoint, "://") + 3;
	out->is_virtual = strspn(host, "0123456789.:") != strlen(host) && *host != '[' &&
			  strncmp(host, "localhost", 9) != 0;
	return SP_OK;
}

static void fill_hdfs(const sp_account *a, sp_account_view *out)
{
	static const char *const users[] = {"HADOOP_USER_NAME", NULL};
	static const char *const tokens[] = {"WEBHDFS_DELEGATION_TOKEN", NULL};
	const char *scheme = a->is_secure ? "https" : "http";
	const char *user = a->user != NULL ? a->user : first_variable(users);
	const char *token = a->token != NULL ? a->token : first_variable(tokens);
	const char *port = a->authority[0] == '[' ? strchr(a->authority, ']')
						  : strchr(a->authority, ':');
	char host[SP_OBJECT_AUTHORITY_SIZE];

	if (port != NULL && *port == ']')
		port = port[1] == ':' ? port + 1 : NULL;
	snprintf(host, sizeof(host), "%.*s",
		 (int)(port != NULL && a->is_rpc ? (size_t)(port - a->authority)
						 : strlen(a->authority)),
		 a->authority);
	if (a->endpoint != NULL)
		out->endpoint = full_endpoint(a->endpoint, scheme);
	else if (port == NULL || a->is_rpc)
		out->endpoint = a->is_secure ? join("https://", host, ":9871")
					     : join("http://", host, ":9870");
	else
		out->endpoint = full_endpoint(host, scheme);
	out->user = user != NULL ? sp_alloc_text(user) : NULL;
	out->token = token != NULL ? sp_alloc_text(token) : NULL;
}

static sp_status fill_view(const sp_account *a, sp_account_view *out, sp_error *err)
{
	static const char *const bundles[] = {"SSL_CERT_FILE", NULL};
	static const char *const aws_bundles[] = {"AWS_CA_BUNDLE", "SSL_CERT_FILE", NULL};
	const char *ca_file = a->ca_file != NULL
				      ? a->ca_file
				      : first_variable(a->kind == SP_OBJECT_S3 ? aws_bundles
									       : bundles);

	switch (a->kind) {
	case SP_OBJECT_S3:
		SP_TRY(fill_s3(a, out, err));
		break;
	case SP_OBJECT_OSS:
		SP_TRY(fill_oss(a, out, err));
		break;
	case SP_OBJECT_HDFS:
		fill_hdfs(a, out);
		break;
	case SP_OBJECT_HTTP:
		out->endpoint = full_endpoint(a->authority, a->is_secure ? "https" : "http");
		break;
	}
	if (a->addressing != SP_OBJECT_ADDRESSING_AUTO)
		out->is_virtual = a->addressing == SP_OBJECT_ADDRESSING_VIRTUAL;
	out->timeout_ms = a->timeout_ms != 0 ? a->timeout_ms : TIMEOUT_MS;
	out->ca_file = ca_file != NULL ? sp_alloc_text(ca_file) : NULL;
	SP_NEED_MEMORY(out->endpoint != NULL && (ca_file == NULL || out->ca_file != NULL), err,
		       "an object store");
	if (!is_signed(a))
		return SP_OK;
	if (!copy(&out->id, a->access_id != NULL ? a->access_id : a->found.id) ||
	    !copy(&out->key, a->access_id != NULL ? a->access_key : a->found.key) ||
	    !copy(&out->session_token,
		  a->access_id != NULL ? a->session_token : a->found.session_token))
		return sp_no_memory(err, "an object store");
	if (out->id == NULL || out->key == NULL)
		return sp_error_set(err, SP_INVALID, "there are no credentials for bucket '%s'",
				    a->authority);
	return SP_OK;
}

sp_status sp_account_get_view(sp_account *a, sp_account_view *out, sp_error *err)
{
	sp_status status;

	*out = (sp_account_view){0};
	pthread_mutex_lock(&lock);
	status = fill_view(a, out, err);
	pthread_mutex_unlock(&lock);
	if (status != SP_OK)
		sp_account_view_drop(out);
	return status;
}

void sp_account_view_drop(sp_account_view *view)
{
	char **texts[] = {&view->endpoint,      &view->region, &view->id,    &view->key,
			  &view->session_token, &view->user,   &view->token, &view->ca_file};

	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
		sp_digest_free_secret(texts[i]);
}

/* ---------------------------------------------------------------- circuit breaker */

sp_status sp_account_check_breaker(sp_account *a, sp_error *err)
{
	sp_status status = SP_OK;

	pthread_mutex_lock(&lock);
	if (a->blocked_until_ns > sp_clock_now_ns()) {
		status = a->why.status;
		sp_error_set(err, status, "%s", a->why.text);
	}
	pthread_mutex_unlock(&lock);
	return status;
}

void sp_account_report_failure(sp_account *a, const sp_error *why)
{
	int64_t now = sp_clock_now_ns();
	uint64_t random = (uint64_t)now | 1;

	pthread_mutex_lock(&lock);
	a->blocked_until_ns = now + sp_backoff_ns(a->failures++, PAUSE_MS, MAX_PAUSE_MS, &random);
	a->why = *why;
	pthread_mutex_unlock(&lock);
}

void sp_account_report_success(sp_account *a)
{
	pthread_mutex_lock(&lock);
	a->failures = 0;
	a->blocked_until_ns = 0;
	pthread_mutex_unlock(&lock);
}
