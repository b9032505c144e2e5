#include "object_store/sign.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buffer.h"
#include "object_store/digest.h"
#include "object_store/object_url.h"

/* Of no bytes. */
#define EMPTY_SHA256 "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"

enum { MAX_TEXT = 1 << 16 };

/* What the two versions 4 differ in. */
typedef struct dialect {
	const char *algorithm;  /* "AWS4-HMAC-SHA256" */
	const char *key_prefix; /* "AWS4" */
	const char *service;
	const char *ending; /* "aws4_request" */
	const char *payload;
	const char *signed_prefix; /* headers of that beginning are signed; NULL: all */
} dialect;

static int by_name(const void *a, const void *b)
{
	return strcmp(((const sp_http_header *)a)->name, ((const sp_http_header *)b)->name);
}

/* "host:example.com\n..." and "host;..." of the headers that are signed. */
static void list_headers(sp_buffer *lines, sp_buffer *names, const sp_http_request *request,
			 const char *host, const char *prefix)
{
	sp_http_header all[SP_HTTP_HEADERS + 1];
	size_t count = 0;

	if (prefix == NULL)
		all[count++] = (sp_http_header){"host", (char *)host};
	for (size_t i = 0; i < request->header_count; i++)
		if (prefix == NULL ||
		    strncmp(request->headers[i].name, prefix, strlen(prefix)) == 0)
			all[count++] = request->headers[i];
	qsort(all, count, sizeof(all[0]), by_name);
	for (size_t i = 0; i < count; i++) {
		sp_buffer_printf(lines, "%s:%s\n", all[i].name, all[i].value);
		sp_buffer_printf(names, "%s%s", i != 0 ? ";" : "", all[i].name);
	}
}

/* The hash of the canonical request. */
static bool hash_request(char out[SP_SHA256_HEX_SIZE], sp_buffer *names,
			 const sp_http_request *request, const sp_signed_place *place,
			 const dialect *how)
{
	sp_buffer lines, text;
	sp_sha256 digest;
	bool good;

	sp_buffer_init(&lines, MAX_TEXT);
	sp_buffer_init(&text, MAX_TEXT);
	list_headers(&lines, names, request, place->host, how->signed_prefix);
	sp_buffer_printf(&text, "%s\n%s\n%s\n", request->method, place->path, place->query);
	sp_buffer_append(&text, lines.data, lines.size);
	sp_buffer_printf(&text, "\n%s\n%s",
			 how->signed_prefix == NULL && names->data != NULL ? names->data : "",
			 how->payload);
	good = !lines.failed && !text.failed && !names->failed &&
	       sp_digest_sha256(&digest, (sp_bytes){text.data, text.size});
	if (good)
		sp_digest_hex(out, &digest);
	if (lines.data != NULL)
		sp_digest_wipe(lines.data, lines.size);
	if (text.data != NULL)
		sp_digest_wipe(text.data, text.size);
	sp_buffer_fini(&lines);
	sp_buffer_fini(&text);
	return good;
}

static sp_bytes bytes_of(const sp_sha256 *digest)
{
	return (sp_bytes){(const char *)digest->bytes, sizeof(digest->bytes)};
}

/* The key of a day, a region and a service. */
static bool derive_key(sp_sha256 *out, const char *secret, const char *date, const char *region,
		       const dialect *how)
{
	char first[512];
	int size = snprintf(first, sizeof(first), "%s%s", how->key_prefix, secret);
	sp_sha256 next;
	bool good = size > 0 && size < (int)sizeof(first) &&
		    sp_digest_hmac_sha256(out, (sp_bytes){first, (size_t)size},
					  sp_bytes_of(date)) &&
		    sp_digest_hmac_sha256(&next, bytes_of(out), sp_bytes_of(region)) &&
		    sp_digest_hmac_sha256(out, bytes_of(&next), sp_bytes_of(how->service)) &&
		    sp_digest_hmac_sha256(&next, bytes_of(out), sp_bytes_of(how->ending));

	*out = next;
	sp_digest_wipe(first, sizeof(first));
	sp_digest_wipe(&next, sizeof(next));
	return good;
}

static sp_status cannot_sign(sp_error *err)
{
	return sp_error_set(err, SP_IO, "a request to the object store cannot be signed");
}

static sp_status sign_v4(sp_http_request *request, const sp_signed_place *place,
			 const sp_credentials *credentials, const char *stamp, const dialect *how,
			 sp_error *err)
{
	char date[9], hash[SP_SHA256_HEX_SIZE], scope[256], text[512];
	sp_sha256 key, signature;
	sp_buffer names;
	bool good;

	snprintf(date, sizeof(date), "%.8s", stamp);
	sp_buffer_init(&names, MAX_TEXT);
	good = snprintf(scope, sizeof(scope), "%s/%s/%s/%s", date, place->region, how->service,
			how->ending) < (int)sizeof(scope) &&
	       hash_request(hash, &names, request, place, how) &&
	       snprintf(text, sizeof(text), "%s\n%s\n%s\n%s", how->algorithm, stamp, scope, hash) <
		       (int)sizeof(text) &&
	       derive_key(&key, credentials->key, date, place->region, how) &&
	       sp_digest_hmac_sha256(&signature, bytes_of(&key), sp_bytes_of(text));
	sp_digest_wipe(&key, sizeof(key));
	if (good) {
		sp_digest_hex(hash, &signature);
		if (how->signed_prefix == NULL)
			sp_http_request_add(request, "authorization",
					    "%s Credential=%s/%s, SignedHeaders=%s, Signature=%s",
					    how->algorithm, credentials->id, scope, names.data,
					    hash);
		else
			sp_http_request_add(request, "authorization",
					    "%s Credential=%s/%s, Signature=%s", how->algorithm,
					    credentials->id, scope, hash);
	}
	sp_buffer_fini(&names);
	return good && !request->failed ? SP_OK : cannot_sign(err);
}

/* "20130524T000000Z" */
static bool write_stamp(char out[17], time_t now)
{
	struct tm parts;

	return gmtime_r(&now, &parts) != NULL && strftime(out, 17, "%Y%m%dT%H%M%SZ", &parts) == 16;
}

sp_status sp_sign_s3(sp_http_request *request, const sp_signed_place *place,
		     const sp_credentials *credentials, sp_error *err)
{
	static const dialect how = {"AWS4-HMAC-SHA256", "AWS4",       "s3",
				    "aws4_request",     EMPTY_SHA256, NULL};
	char stamp[17];

	if (!write_stamp(stamp, place->now))
		return cannot_sign(err);
	sp_http_request_add(request, "x-amz-content-sha256", "%s", EMPTY_SHA256);
	sp_http_request_add(request, "x-amz-date", "%s", stamp);
	if (credentials->token != NULL)
		sp_http_request_add(request, "x-amz-security-token", "%s", credentials->token);
	if (request->failed)
		return cannot_sign(err);
	return sign_v4(request, place, credentials, stamp, &how, err);
}

/* ------------------------------------------------------------------------ OSS */

static sp_status sign_oss_v1(sp_http_request *request, const sp_signed_place *place,
			     const sp_credentials *credentials, sp_error *err)
{
	char date[40], signature[29];
	sp_buffer text, names;
	struct tm parts;
	bool good;

	if (gmtime_r(&place->now, &parts) == NULL ||
	    strftime(date, sizeof(date), "%a, %d %b %Y %H:%M:%S GMT", &parts) == 0)
		return cannot_sign(err);
	sp_http_request_add(request, "date", "%s", date);
	sp_buffer_init(&text, MAX_TEXT);
	sp_buffer_init(&names, MAX_TEXT);
	sp_buffer_printf(&text, "%s\n\n\n%s\n", request->method, date);
	list_headers(&text, &names, request, NULL, "x-oss-");
	sp_buffer_printf(&text, "/%s/%s", place->bucket, place->key);
	good = !text.failed && !request->failed &&
	       sp_digest_hmac_sha1_base64(signature, sp_bytes_of(credentials->key),
					  (sp_bytes){text.data, text.size});
	if (good)
		sp_http_request_add(request, "authorization", "OSS %s:%s", credentials->id,
				    signature);
	sp_buffer_fini(&text);
	sp_buffer_fini(&names);
	return good && !request->failed ? SP_OK : cannot_sign(err);
}

static sp_status sign_oss_v4(sp_http_request *request, const sp_signed_place *place,
			     const sp_credentials *credentials, sp_error *err)
{
	static const dialect how = {"OSS4-HMAC-SHA256",  "aliyun_v4",        "oss",
				    "aliyun_v4_request", "UNSIGNED-PAYLOAD", "x-oss-"};
	sp_signed_place canonical = *place;
	sp_status status;
	sp_buffer path;
	char stamp[17];

	if (!write_stamp(stamp, place->now))
		return cannot_sign(err);
	sp_buffer_init(&path, MAX_TEXT);
	sp_buffer_printf(&path, "/%s/", place->bucket);
	sp_object_url_escape(&path, sp_bytes_of(place->key), "/");
	canonical.path = path.data;
	sp_http_request_add(request, "x-oss-date", "%s", stamp);
	sp_http_request_add(request, "x-oss-content-sha256", "UNSIGNED-PAYLOAD");
	status = path.failed || request->failed
			 ? cannot_sign(err)
			 : sign_v4(request, &canonical, credentials, stamp, &how, err);
	sp_buffer_fini(&path);
	return status;
}

sp_status sp_sign_oss(sp_http_request *request, const sp_signed_place *place,
		      const sp_credentials *credentials, sp_error *err)
{
	if (credentials->token != NULL)
		sp_http_request_add(request, "x-oss-security-token", "%s", credentials->token);
	return place->region != NULL ? sign_oss_v4(request, place, credentials, err)
				     : sign_oss_v1(request, place, credentials, err);
}
