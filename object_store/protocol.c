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

sp_status sp_protocol_prefix(sp_error *err, sp_status status, const sp_object_url *url)
{
	static const char *const schemes[][2] = {[SP_OBJECT_S3] = {"s3", "s3"},
						 [SP_OBJECT_OSS] = {"oss", "oss"},
						 [SP_OBJECT_HDFS] = {"webhdfs", "swebhdfs"},
						 [SP_OBJECT_HTTP] = {"http", "https"}};

	return sp_error_prefix(err, status, "%s://%s/%s",
			       url->is_rpc ? "hdfs" : schemes[url->kind][url->is_secure],
			       url->authority, url->path);
}

static bool is_list(const sp_object_op *op)
{
	return op->kind == SP_OBJECT_OP_LIST || op->kind == SP_OBJECT_OP_LIST_TREE;
}

/* The condition and the range, as headers. */
static void add_range(sp_http_request *out, const sp_object_op *op)
{
	/* A weak tag says nothing about bytes. */
	if (op->etag != NULL && op->etag[0] != '\0' && strncmp(op->etag, "W/", 2) != 0)
		sp_http_request_add(out, "if-match", "%s", op->etag);
	if (op->kind == SP_OBJECT_OP_RANGE)
		sp_http_request_add(out, "range", "bytes=%" PRIu64 "-%" PRIu64, op->first,
				    op->first + op->size - 1);
}

/* An unchanged listing is answered with 304, without a body. */
static void add_validators(sp_http_request *out, const sp_object_op *op)
{
	bool has_etag = op->if_none_match != NULL && op->if_none_match[0] != '\0';
	bool has_time = op->if_modified_since != NULL && op->if_modified_since[0] != '\0';

	if (has_etag)
		sp_http_request_add(out, "if-none-match", "%s", op->if_none_match);
	if (has_time)
		sp_http_request_add(out, "if-modified-since", "%s", op->if_modified_since);
	out->is_conditional = has_etag || has_time;
}

static void add_parameter(sp_buffer *query, const char *name, const char *value)
{
	sp_buffer_printf(query, "%s%s=", query->size != 0 ? "&" : "", name);
	sp_object_url_escape(query, sp_bytes_of(value), "");
}

/* --------------------------------------------------------------- S3 and OSS */

/* The parameters of a list, sorted by name. */
static void add_list_query(sp_buffer *query, const sp_object_url *url, const sp_object_op *op)
{
	char prefix[SP_OBJECT_PATH_SIZE + 1];

	snprintf(prefix, sizeof(prefix), "%s%s", url->path, url->path[0] != '\0' ? "/" : "");
	if (url->kind == SP_OBJECT_S3 && op->after != NULL)
		add_parameter(query, "continuation-token", op->after);
	if (op->kind == SP_OBJECT_OP_LIST)
		add_parameter(query, "delimiter", "/");
	if (url->kind == SP_OBJECT_S3)
		add_parameter(query, "list-type", "2");
	else if (op->after != NULL)
		add_parameter(query, "marker", op->after);
	add_parameter(query, "max-keys", "1000");
	if (prefix[0] != '\0')
		add_parameter(query, "prefix", prefix);
}

static sp_status sign(sp_http_request *out, const sp_object_url *url, const sp_account_view *view,
		      const sp_object_op *op, const char *host, const char *path, const char *query,
		      sp_error *err)
{
	const sp_credentials credentials = {view->id, view->key, view->session_token};
	const sp_signed_place place = {.host = host,
				       .path = path,
				       .query = query,
				       .bucket = url->authority,
				       .key = is_list(op) ? "" : url->path,
				       .region = view->region,
				       .now = time(NULL)};

	if (view->id == NULL)
		return SP_OK;
	return url->kind == SP_OBJECT_S3 ? sp_sign_s3(out, &place, &credentials, err)
					 : sp_sign_oss(out, &place, &credentials, err);
}

static sp_status make_bucket_request(sp_http_request *out, const sp_object_url *url,
				     const sp_account_view *view, const sp_object_op *op,
				     sp_error *err)
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
	if (is_list(op))
		add_list_query(&query, url, op);
	else
		sp_object_url_escape(&path, sp_bytes_of(url->path), "/");
	sp_buffer_printf(&whole, "%.*s%s%s%s%s", (int)(host - view->endpoint), view->endpoint,
			 full_host, path.data, query.size != 0 ? "?" : "",
			 query.size != 0 ? query.data : "");
	if (path.failed || query.failed || whole.failed)
		status = sp_no_memory(err, "a request");
	else
		status = sign(out, url, view, op, full_host, path.data,
			      query.size != 0 ? query.data : "", err);
	out->url = sp_buffer_take(&whole, &(size_t){0});
	sp_buffer_fini(&path);
	sp_buffer_fini(&query);
	sp_buffer_fini(&whole);
	return status;
}

/* ------------------------------------------------------------- WebHDFS and HTTP */

static void add_hdfs(sp_buffer *whole, const sp_object_url *url, const sp_account_view *view,
		     const sp_object_op *op)
{
	static const char *const operations[] = {[SP_OBJECT_OP_RANGE] = "OPEN",
						 [SP_OBJECT_OP_WHOLE] = "OPEN",
						 [SP_OBJECT_OP_STAT] = "GETFILESTATUS",
						 [SP_OBJECT_OP_LIST] = "LISTSTATUS",
						 [SP_OBJECT_OP_LIST_TREE] = "LISTSTATUS"};

	sp_buffer_printf(whole, "%s/webhdfs/v1/", view->endpoint);
	sp_object_url_escape(whole, sp_bytes_of(url->path), "/");
	sp_buffer_printf(whole, "?op=%s", operations[op->kind]);
	if (op->kind == SP_OBJECT_OP_RANGE)
		sp_buffer_printf(whole, "&offset=%" PRIu64 "&length=%" PRIu64, op->first, op->size);
	if (view->token != NULL)
		add_parameter(whole, "delegation", view->token);
	else if (view->user != NULL)
		add_parameter(whole, "user.name", view->user);
}

static void add_http(sp_buffer *whole, const sp_object_url *url, const sp_account_view *view,
		     const sp_object_op *op)
{
	sp_buffer_printf(whole, "%s/", view->endpoint);
	sp_object_url_escape_path(whole, sp_bytes_of(url->path));
	if (is_list(op) && url->path[0] != '\0')
		sp_buffer_append_char(whole, '/');
}

static sp_status make_server_request(sp_http_request *out, const sp_object_url *url,
				     const sp_account_view *view, const sp_object_op *op,
				     sp_error *err)
{
	sp_buffer whole;

	sp_buffer_init(&whole, MAX_URL);
	if (url->kind == SP_OBJECT_HDFS)
		add_hdfs(&whole, url, view, op);
	else
		add_http(&whole, url, view, op);
	out->may_redirect = url->kind == SP_OBJECT_HDFS;
	out->url = sp_buffer_take(&whole, &(size_t){0});
	sp_buffer_fini(&whole);
	return out->url != NULL ? SP_OK : sp_no_memory(err, "a request");
}

/* ------------------------------------------------------------------------- all */

sp_status sp_protocol_make_request(sp_http_request *out, const sp_object_url *url,
				   sp_account *account, const sp_object_op *op, sp_error *err)
{
	sp_account_view view;
	sp_status status;

	SP_TRY(sp_account_get_view(account, &view, err));
	out->method = op->kind == SP_OBJECT_OP_STAT && url->kind != SP_OBJECT_HDFS ? "HEAD" : "GET";
	if (url->kind != SP_OBJECT_HDFS &&
	    (op->kind == SP_OBJECT_OP_RANGE || op->kind == SP_OBJECT_OP_WHOLE))
		add_range(out, op);
	if (url->kind == SP_OBJECT_HTTP && op->kind == SP_OBJECT_OP_LIST)
		add_validators(out, op);
	status = sp_protocol_has_trees(url->kind) ? make_bucket_request(out, url, &view, op, err)
						  : make_server_request(out, url, &view, op, err);
	out->ca_file = view.ca_file;
	view.ca_file = NULL;
	sp_account_view_drop(&view);
	return status;
}

static sp_status read_html(sp_listing *out, const sp_object_url *url, sp_bytes document,
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

sp_status sp_protocol_read_names(sp_listing *out, const sp_object_url *url, sp_bytes document,
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
