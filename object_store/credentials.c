#include "object_store/credentials.h"

#include <cjson/cJSON.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/alloc.h"
#include "base/file.h"
#include "object_store/digest.h"
#include "object_store/listing.h"
#include "object_store/transfer.h"

enum { MAX_FILE = 1 << 20, MAX_ANSWER = 64 << 10, METADATA_MS = 2000, PATH_SIZE = 1024 };

void sp_found_credentials_drop(sp_found_credentials *found)
{
	sp_digest_free_secret(&found->id);
	sp_digest_free_secret(&found->key);
	sp_digest_free_secret(&found->session_token);
	sp_digest_free_secret(&found->region);
	sp_digest_free_secret(&found->endpoint);
	found->expires_s = 0;
}

static const char *variable(const char *name)
{
	const char *value = getenv(name);

	return value != NULL && *value != '\0' ? value : NULL;
}

/* Copies the texts; false if the id or the key is missing. */
static bool set_credentials(sp_found_credentials *out, const char *id, const char *key,
			    const char *token)
{
	if (id == NULL || key == NULL)
		return false;
	out->id = sp_alloc_text(id);
	out->key = sp_alloc_text(key);
	out->session_token = token != NULL && *token != '\0' ? sp_alloc_text(token) : NULL;
	return true;
}

/* ---------------------------------------------------------------------- files */

static sp_bytes trim(sp_bytes text)
{
	while (text.size != 0 && strchr(" \t\r", text.data[0]) != NULL)
		text = (sp_bytes){text.data + 1, text.size - 1};
	while (text.size != 0 && strchr(" \t\r", text.data[text.size - 1]) != NULL)
		text.size--;
	return text;
}

static char *copy(sp_bytes text)
{
	char *out = sp_alloc(text.size + 1);

	if (out != NULL) {
		memcpy(out, text.data, text.size);
		out[text.size] = '\0';
	}
	return out;
}

char *sp_credentials_ini(sp_bytes text, const char *section, const char *key)
{
	bool is_in = section == NULL;

	while (text.size != 0) {
		const char *end = memchr(text.data, '\n', text.size), *equals;
		size_t size = end != NULL ? (size_t)(end - text.data) : text.size;
		sp_bytes line = trim((sp_bytes){text.data, size});

		if (line.size > 1 && line.data[0] == '[' && line.data[line.size - 1] == ']')
			is_in = section == NULL ||
				sp_bytes_equal_text(trim((sp_bytes){line.data + 1, line.size - 2}),
						    section);
		equals = line.size != 0 ? memchr(line.data, '=', line.size) : NULL;
		if (is_in && equals != NULL) {
			size_t at = (size_t)(equals - line.data);
			sp_bytes name = trim((sp_bytes){line.data, at});
			sp_bytes value = trim((sp_bytes){equals + 1, line.size - at - 1});

			if (name.size == strlen(key) && strncasecmp(name.data, key, name.size) == 0)
				return copy(value);
		}
		size += end != NULL;
		text = (sp_bytes){text.data + size, text.size - size};
	}
	return NULL;
}

/*
 * The contents of the file that the environment variable `name` gives, else of `in_home` in the
 * home folder; NULL: there is none.
 */
static char *read_settings(const char *name, const char *in_home, size_t *size)
{
	const char *path = variable(name), *home = variable("HOME");
	char text[PATH_SIZE];
	char *out;

	if (path == NULL && home != NULL &&
	    snprintf(text, sizeof(text), "%s/%s", home, in_home) < (int)sizeof(text))
		path = text;
	if (path == NULL || sp_file_read(&out, size, path, MAX_FILE, NULL) != SP_OK)
		return NULL;
	return out;
}

static void drop_settings(char *text, size_t size)
{
	if (text != NULL)
		sp_digest_wipe(text, size);
	sp_free(text);
}

/* Adds what a file's section has and an earlier file had not. */
static void read_profile(sp_found_credentials *out, sp_bytes text, const char *section)
{
	if (out->id == NULL)
		out->id = sp_credentials_ini(text, section, "aws_access_key_id");
	if (out->key == NULL)
		out->key = sp_credentials_ini(text, section, "aws_secret_access_key");
	if (out->session_token == NULL)
		out->session_token = sp_credentials_ini(text, section, "aws_session_token");
	if (out->region == NULL)
		out->region = sp_credentials_ini(text, section, "region");
}

static bool find_aws_files(sp_found_credentials *out)
{
	const char *profile = variable("AWS_PROFILE");
	char section[256];
	size_t size = 0;
	char *text;

	if (profile == NULL)
		profile = "default";
	text = read_settings("AWS_SHARED_CREDENTIALS_FILE", ".aws/credentials", &size);
	if (text != NULL)
		read_profile(out, (sp_bytes){text, size}, profile);
	drop_settings(text, size);
	snprintf(section, sizeof(section), "%s%s",
		 strcmp(profile, "default") == 0 ? "" : "profile ", profile);
	text = read_settings("AWS_CONFIG_FILE", ".aws/config", &size);
	if (text != NULL)
		read_profile(out, (sp_bytes){text, size}, section);
	drop_settings(text, size);
	return out->id != NULL && out->key != NULL;
}

static bool find_oss_file(sp_found_credentials *out)
{
	size_t size = 0;
	char *text = read_settings("OSS_CONFIG_FILE", ".ossutilconfig", &size);
	sp_bytes bytes = {text, size};

	if (text == NULL)
		return false;
	out->id = sp_credentials_ini(bytes, NULL, "accessKeyID");
	out->key = sp_credentials_ini(bytes, NULL, "accessKeySecret");
	out->session_token = sp_credentials_ini(bytes, NULL, "stsToken");
	out->region = sp_credentials_ini(bytes, NULL, "region");
	out->endpoint = sp_credentials_ini(bytes, NULL, "endpoint");
	drop_settings(text, size);
	return out->id != NULL && out->key != NULL;
}

/* ------------------------------------------------------------------- metadata */

typedef struct metadata_request {
	const char *method, *url;
	const char *header, *value; /* NULL: none */
} metadata_request;

static sp_status prepare(void *context, sp_http_request *out, sp_error *err)
{
	const metadata_request *r = context;

	out->method = r->method;
	out->url = sp_alloc_text(r->url);
	SP_NEED_MEMORY(out->url, err, "credentials");
	if (r->header != NULL)
		sp_http_request_add(out, r->header, "%s", r->value);
	return SP_OK;
}

/* The response of a metadata service; sp_digest_free_secret() frees it. */
static sp_status request_text(char **out, const metadata_request *request, sp_error *err)
{
	sp_buffer body;
	sp_transfer_call call = {.prepare = prepare,
				 .context = (void *)request,
				 .timeout_ms = METADATA_MS,
				 .max_attempts = 2,
				 .is_direct = true,
				 .body = &body};
	sp_status status;
	size_t size;

	*out = NULL;
	sp_buffer_init(&body, MAX_ANSWER);
	status = sp_transfer_call_make(&call, err);
	if (status == SP_OK && body.size == 0)
		sp_buffer_append_text(&body, "");
	if (status == SP_OK && (*out = sp_buffer_take(&body, &size)) == NULL)
		status = sp_no_memory(err, "credentials");
	sp_buffer_fini(&body);
	return status;
}

static const char *text_of(const cJSON *root, const char *name)
{
	const cJSON *item = cJSON_GetObjectItemCaseSensitive(root, name);

	return cJSON_IsString(item) ? item->valuestring : NULL;
}

/* The JSON document of every metadata service; OSS's has other names for the key and the token. */
static sp_status parse_document(sp_found_credentials *out, const char *text, sp_error *err)
{
	cJSON *root = cJSON_Parse(text);
	const char *key = text_of(root, "SecretAccessKey"), *token = text_of(root, "Token");
	const char *expires = text_of(root, "Expiration");
	bool good;

	if (key == NULL)
		key = text_of(root, "AccessKeySecret");
	if (token == NULL)
		token = text_of(root, "SecurityToken");
	good = set_credentials(out, text_of(root, "AccessKeyId"), key, token);
	out->expires_s = expires != NULL ? sp_listing_time(expires) : 0;
	cJSON_Delete(root);
	return good ? SP_OK
		    : sp_error_set(err, SP_IO, "the metadata service answers no credentials");
}

static sp_status fetch(sp_found_credentials *out, const metadata_request *request, sp_error *err)
{
	char *text;
	sp_status status = request_text(&text, request, err);

	if (status == SP_OK)
		status = parse_document(out, text, err);
	sp_digest_free_secret(&text);
	return status;
}

static sp_status fetch_from_container(sp_found_credentials *out, sp_error *err)
{
	const char *relative = variable("AWS_CONTAINER_CREDENTIALS_RELATIVE_URI");
	const char *full = variable("AWS_CONTAINER_CREDENTIALS_FULL_URI");
	const char *file = variable("AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE");
	metadata_request request = {.method = "GET",
				    .header = "authorization",
				    .value = variable("AWS_CONTAINER_AUTHORIZATION_TOKEN")};
	char url[PATH_SIZE];
	char *text = NULL;
	size_t size = 0;
	sp_status status;

	if (relative == NULL && full == NULL)
		return SP_NOT_FOUND;
	if (snprintf(url, sizeof(url), "%s%s", relative != NULL ? "http://169.254.170.2" : "",
		     relative != NULL ? relative : full) >= (int)sizeof(url))
		return sp_error_set(err, SP_INVALID,
				    "the address of the container's credentials "
				    "is too long");
	if (file != NULL && sp_file_read(&text, &size, file, MAX_ANSWER, NULL) == SP_OK) {
		text[strcspn(text, "\r\n")] = '\0';
		request.value = text;
	}
	request.url = url;
	if (request.value == NULL)
		request.header = NULL;
	status = fetch(out, &request, err);
	drop_settings(text, size);
	return status;
}

/* Requests the name of the machine's role, then that role's credentials. */
static sp_status fetch_from_role(sp_found_credentials *out, const char *base, const char *path,
				 const char *header, const char *value, sp_error *err)
{
	metadata_request request = {.method = "GET", .header = header, .value = value};
	char url[PATH_SIZE];
	char *role;

	if (snprintf(url, sizeof(url), "%s%s", base, path) >= (int)sizeof(url))
		return sp_error_set(err, SP_INVALID, "the address of the metadata is too long");
	request.url = url;
	SP_TRY(request_text(&role, &request, err));
	role[strcspn(role, "\r\n")] = '\0';
	snprintf(url, sizeof(url), "%s%s%.200s", base, path, role);
	sp_free(role);
	return fetch(out, &request, err);
}

static sp_status fetch_from_ec2(sp_found_credentials *out, sp_error *err)
{
	static const char path[] = "/latest/meta-data/iam/security-credentials/";
	const char *base = variable("AWS_EC2_METADATA_SERVICE_ENDPOINT");
	const char *disabled = variable("AWS_EC2_METADATA_DISABLED");
	metadata_request request = {.method = "PUT",
				    .header = "x-aws-ec2-metadata-token-ttl-seconds",
				    .value = "21600"};
	char url[PATH_SIZE];
	sp_status status;
	char *token;

	if (disabled != NULL && strcasecmp(disabled, "true") == 0)
		return SP_NOT_FOUND;
	if (base == NULL)
		base = "http://169.254.169.254";
	snprintf(url, sizeof(url), "%.900s/latest/api/token", base);
	request.url = url;
	SP_TRY(request_text(&token, &request, err));
	status = fetch_from_role(out, base, path, "x-aws-ec2-metadata-token", token, err);
	sp_digest_free_secret(&token);
	return status;
}

static sp_status fetch_from_ecs(sp_found_credentials *out, sp_error *err)
{
	const char *base = variable("ALIBABA_CLOUD_ECS_METADATA_SERVICE_ENDPOINT");
	const char *disabled = variable("ALIBABA_CLOUD_ECS_METADATA_DISABLED");

	if (disabled != NULL && strcasecmp(disabled, "true") == 0)
		return SP_NOT_FOUND;
	return fetch_from_role(out, base != NULL ? base : "http://100.100.100.200",
			       "/latest/meta-data/ram/security-credentials/", NULL, NULL, err);
}

/* ------------------------------------------------------------------------- all */

static sp_status find_s3(sp_found_credentials *out, sp_error *err)
{
	sp_status status;

	if (set_credentials(out, variable("AWS_ACCESS_KEY_ID"), variable("AWS_SECRET_ACCESS_KEY"),
			    variable("AWS_SESSION_TOKEN")) ||
	    find_aws_files(out))
		return SP_OK;
	status = fetch_from_container(out, err);
	return status == SP_NOT_FOUND ? fetch_from_ec2(out, err) : status;
}

static sp_status find_oss(sp_found_credentials *out, sp_error *err)
{
	if (set_credentials(out, variable("OSS_ACCESS_KEY_ID"), variable("OSS_ACCESS_KEY_SECRET"),
			    variable("OSS_SESSION_TOKEN")) ||
	    find_oss_file(out))
		return SP_OK;
	return fetch_from_ecs(out, err);
}

sp_status sp_credentials_find(sp_found_credentials *out, sp_object_kind kind, sp_error *err)
{
	sp_status status;

	*out = (sp_found_credentials){0};
	sp_error_set(err, SP_NOT_FOUND, "there are none");
	status = kind == SP_OBJECT_OSS ? find_oss(out, err) : find_s3(out, err);
	if (status == SP_OK && (out->id == NULL || out->key == NULL))
		status = sp_no_memory(err, "credentials");
	if (status != SP_OK)
		sp_found_credentials_drop(out);
	if (status == SP_OK || status == SP_NO_MEMORY)
		return status;
	if (err != NULL)
		err->status = SP_IO; /* it is not the object that was not found */
	return sp_error_prefix(err, SP_IO,
			       "none are configured, in the environment or in files, and the "
			       "machine has none");
}
