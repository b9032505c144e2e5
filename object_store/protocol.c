#include "object_store/protocol.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "base/alloc.h"
#include "object_store/sign.h"

enum { MAX_URL = 32 << 10 };

bool sp_protocol_has_trees(sp_object_kind kind)
{
	return kind == SP_OBJECT_S3 || kind == SP_OBJECT_OSS;
}

const char *sp_protocol_name(char out[SP_OBJECT_NAME_SIZE], const sp_object_url *url)
{
	static const char *const schemes[][2] = {[SP_OBJECT_S3] = {"s3", "s3"},
						 [SP_OBJECT_OSS] = {"oss", "oss"},
						 [SP_OBJECT_HDFS] = {"webhdfs", "swebhdfs"},
						 [SP_OBJECT_HTTP] = {"http", "https"}};

	snprintf(out, SP_OBJECT_NAME_SIZE, "%s://%s/%s",
		 url->is_rpc ? "hdfs" : schemes[url->kind][url->is_secure], url->authority,
		 url->path);
	return out;
}

static bool is_list(const sp_question *q)
{
	return q->ask == SP_ASK_FOLDER || q->ask == SP_ASK_TREE;
}

/* The condition and the range, as headers. */
static void add_range(sp_http_request *out, const sp_question *q)
{
	/* A weak tag says nothing about bytes. */
	if (q->etag != NULL && q->etag[0] != '\0' && strncmp(q->etag, "W/", 2) != 0)
		sp_http_request_add(out, "if-match", "%s", q->etag);
	if (q->ask == SP_ASK_RANGE)
		sp_http_request_add(out, "range", "bytes=%" PRIu64 "-%" PRIu64, q->first,
				    q->first + q->size - 1);
}

/* A list that is as it was need not be sent again. */
static void add_known(sp_http_request *out, const sp_question *q)
{
	bool has_etag = q->known_etag != NULL && q->known_etag[0] != '\0';
	bool has_time = q->known_changed != NULL && q->known_changed[0] != '\0';

	if (has_etag)
		sp_http_request_add(out, "if-none-match", "%s", q->known_etag);
	if (has_time)
		sp_http_request_add(out, "if-modified-since", "%s", q->known_changed);
	out->is_conditional = has_etag || has_time;
}

static void add_parameter(sp_buffer *query, const char *name, const char *value)
{
	sp_buffer_printf(query, "%s%s=", query->size != 0 ? "&" : "", name);
	sp_object_url_escape(query, sp_bytes_of(value), "");
}

/* --------------------------------------------------------------- S3 and OSS */

/* The parameters of a list, sorted by name. */
static void add_list_query(sp_buffer *query, const sp_object_url *url, const sp_question *q)
{
	char prefix[SP_OBJECT_PATH_SIZE + 1];

	snprintf(prefix, sizeof(prefix), "%s%s", url->path, url->path[0] != '\0' ? "/" : "");
	if (url->kind == SP_OBJECT_S3 && q->after != NULL)
		add_parameter(query, "continuation-token", q->after);
	if (q->ask == SP_ASK_FOLDER)
		add_parameter(query, "delimiter", "/");
	if (url->kind == SP_OBJECT_S3)
		add_parameter(query, "list-type", "2");
	else if (q->after != NULL)
		add_parameter(query, "marker", q->after);
	add_parameter(query, "max-keys", "1000");
	if (prefix[0] != '\0')
		add_parameter(query, "prefix", prefix);
}

static sp_status sign(sp_http_request *out, const sp_object_url *url, const sp_account_view *view,
		      const sp_question *q, const char *host, const char *path, const char *query,
		      sp_error *err)
{
	const sp_credentials credentials = {view->id, view->key, view->session_token};
	const sp_signed_place place = {.host = host,
				       .path = path,
				       .query = query,
				       .bucket = url->authority,
				       .key = is_list(q) ? "" : url->path,
				       .region = view->region,
				       .now = time(NULL)};

	if (view->id == NULL)
		return SP_OK;
	return url->kind == SP_OBJECT_S3 ? sp_sign_s3(out, &place, &credentials, err)
					 : sp_sign_oss(out, &place, &credentials, err);
}

static sp_status ask_bucket(sp_http_request *out, const sp_object_url *url,
			    const sp_account_view *view, const sp_question *q, sp_error *err)
{
	const char *host = strstr(view->endpoint, "://") + 3;
	char full_host[2 * SP_OBJECT_AUTHORITY_SIZE];
	sp_buffer path, query, whole;
	sp_status status;

	sp_buffer_init(&path, MAX_URL);
	sp_buffer_init(&query, MAX_URL);
	sp_buffer_init(&whole, MAX_URL);
	snprintf(full_host, sizeof(full_host), "%s%s%.259s", view->is_virtual ? url->authority : "",
		 view->is_virtual ? "." : "", host);
	sp_buffer_printf(&path, "/%s", view->is_virtual ? "" : url->authority);
	if (!view->is_virtual)
		sp_buffer_append_char(&path, '/');
	sp_buffer_append_text(&query, "");
	if (is_list(q))
		add_list_query(&query, url, q);
	else
		sp_object_url_escape(&path, sp_bytes_of(url->path), "/");
	sp_buffer_printf(&whole, "%.*s%s%s%s%s", (int)(host - view->endpoint), view->endpoint,
			 full_host, path.data, query.size != 0 ? "?" : "",
			 query.size != 0 ? query.data : "");
	if (path.failed || query.failed || whole.failed)
		status = sp_no_memory(err, "a request");
	else
		status = sign(out, url, view, q, full_host, path.data,
			      query.size != 0 ? query.data : "", err);
	out->url = sp_buffer_take(&whole, &(size_t){0});
	sp_buffer_fini(&path);
	sp_buffer_fini(&query);
	sp_buffer_fini(&whole);
	return status;
}

/* ------------------------------------------------------------- WebHDFS and HTTP */

static void add_hdfs(sp_buffer *whole, const sp_object_url *url, const sp_account_view *view,
		     const sp_question *q)
{
	static const char *const operations[] = {[SP_ASK_RANGE] = "OPEN",
						 [SP_ASK_WHOLE] = "OPEN",
						 [SP_ASK_ABOUT] = "GETFILESTATUS",
						 [SP_ASK_FOLDER] = "LISTSTATUS",
						 [SP_ASK_TREE] = "LISTSTATUS"};

	sp_buffer_printf(whole, "%s/webhdfs/v1/", view->endpoint);
	sp_object_url_escape(whole, sp_bytes_of(url->path), "/");
	sp_buffer_printf(whole, "?op=%s", operations[q->ask]);
	if (q->ask == SP_ASK_RANGE)
		sp_buffer_printf(whole, "&offset=%" PRIu64 "&length=%" PRIu64, q->first, q->size);
	if (view->token != NULL)
		add_parameter(whole, "delegation", view->token);
	else if (view->user != NULL)
		add_parameter(whole, "user.name", view->user);
}

static void add_http(sp_buffer *whole, const sp_object_url *url, const sp_account_view *view,
		     const sp_question *q)
{
	sp_buffer_printf(whole, "%s/", view->endpoint);
	sp_object_url_escape_path(whole, sp_bytes_of(url->path));
	if (is_list(q) && url->path[0] != '\0')
		sp_buffer_append_char(whole, '/');
}

static sp_status ask_server(sp_http_request *out, const sp_object_url *url,
			    const sp_account_view *view, const sp_question *q, sp_error *err)
{
	sp_buffer whole;

	sp_buffer_init(&whole, MAX_URL);
	if (url->kind == SP_OBJECT_HDFS)
		add_hdfs(&whole, url, view, q);
	else
		add_http(&whole, url, view, q);
	out->may_redirect = url->kind == SP_OBJECT_HDFS;
	out->url = sp_buffer_take(&whole, &(size_t){0});
	sp_buffer_fini(&whole);
	return out->url != NULL ? SP_OK : sp_no_memory(err, "a request");
}

/* ------------------------------------------------------------------------- all */

sp_status sp_protocol_ask(sp_http_request *out, const sp_object_url *url, sp_account *account,
			  const sp_question *q, sp_error *err)
{
	sp_account_view view;
	sp_status status;

	SP_TRY(sp_account_look(account, &view, err));
	out->method = q->ask == SP_ASK_ABOUT && url->kind != SP_OBJECT_HDFS ? "HEAD" : "GET";
	if (url->kind != SP_OBJECT_HDFS && (q->ask == SP_ASK_RANGE || q->ask == SP_ASK_WHOLE))
		add_range(out, q);
	if (url->kind == SP_OBJECT_HTTP && q->ask == SP_ASK_FOLDER)
		add_known(out, q);
	status = sp_protocol_has_trees(url->kind) ? ask_bucket(out, url, &view, q, err)
						  : ask_server(out, url, &view, q, err);
	out->ca_file = view.ca_file;
	view.ca_file = NULL;
	sp_account_view_drop(&view);
	return status;
}

static sp_status read_html(sp_listing_of *out, const sp_object_url *url, sp_bytes document,
			   sp_error *err)
{
	sp_status status;
	sp_buffer path;

	sp_buffer_init(&path, MAX_URL);
	sp_buffer_append_char(&path, '/');
	sp_object_url_escape_path(&path, sp_bytes_of(url->path));
	if (url->path[0] != '\0')
		sp_buffer_append_char(&path, '/');
	status = path.failed ? sp_no_memory(err, "the names in a folder")
			     : sp_listing_read_html(out, document, path.data, err);
	sp_buffer_fini(&path);
	return status;
}

sp_status sp_protocol_read_names(sp_listing_of *out, const sp_object_url *url, sp_bytes document,
				 sp_error *err)
{
	char prefix[SP_OBJECT_PATH_SIZE + 1];

	out->has_more = false;
	switch (url->kind) {
	case SP_OBJECT_HDFS:
		return sp_listing_read_json(out, document, err);
	case SP_OBJECT_HTTP:
		return read_html(out, url, document, err);
	default:
		snprintf(prefix, sizeof(prefix), "%s%s", url->path,
			 url->path[0] != '\0' ? "/" : "");
		return sp_listing_read_xml(out, document, prefix, err);
	}
}
