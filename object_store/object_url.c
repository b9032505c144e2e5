#include "object_store/object_url.h"

#include <string.h>

#include "base/hex.h"

static const struct {
	const char *scheme;
	sp_object_kind kind;
	bool is_secure, is_rpc;
} schemes[] = {
	{"s3", SP_OBJECT_S3, true, false},         {"oss", SP_OBJECT_OSS, true, false},
	{"hdfs", SP_OBJECT_HDFS, false, true},     {"webhdfs", SP_OBJECT_HDFS, false, false},
	{"swebhdfs", SP_OBJECT_HDFS, true, false}, {"http", SP_OBJECT_HTTP, false, false},
	{"https", SP_OBJECT_HTTP, true, false},
};

static bool is_plain(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
	       c == '-' || c == '.' || c == '_';
}

/* A bucket, or a host with or without a port; IPv6 addresses are in brackets. */
static bool is_authority(sp_object_kind kind, sp_bytes text)
{
	bool is_host = kind == SP_OBJECT_HDFS || kind == SP_OBJECT_HTTP;

	for (size_t i = 0; i < text.size; i++)
		if (!is_plain(text.data[i]) &&
		    !(is_host && strchr(":[]", text.data[i]) != NULL && text.data[i] != '\0'))
			return false;
	return text.size != 0 && text.size < SP_OBJECT_AUTHORITY_SIZE;
}

/* Copies the parts of the path; false if one of them is not a name. */
static bool copy_path(sp_object_url *out, const char *at)
{
	size_t size = 0;

	while (*at != '\0') {
		size_t part = strcspn(at, "/");

		if ((part == 1 && at[0] == '.') || (part == 2 && strncmp(at, "..", 2) == 0))
			return false;
		if (part != 0 && size + part + 2 > sizeof(out->path))
			return false;
		for (size_t i = 0; i < part; i++)
			if ((unsigned char)at[i] < 0x20 || at[i] == 0x7f)
				return false;
		if (part != 0 && size != 0)
			out->path[size++] = '/';
		memcpy(out->path + size, at, part);
		size += part;
		at += part + (at[part] == '/');
	}
	out->path[size] = '\0';
	return true;
}

static sp_status find_scheme(sp_object_url *out, sp_bytes name, sp_error *err)
{
	for (size_t i = 0; i < sizeof(schemes) / sizeof(schemes[0]); i++)
		if (sp_bytes_equal_text(name, schemes[i].scheme)) {
			out->kind = schemes[i].kind;
			out->is_secure = schemes[i].is_secure;
			out->is_rpc = schemes[i].is_rpc;
			return SP_OK;
		}
	return sp_error_set(err, SP_INVALID,
			    "no object store is read by '%.*s://'; use s3, oss, hdfs, webhdfs, "
			    "swebhdfs, http or https",
			    (int)(name.size < 20 ? name.size : 20), name.data);
}

sp_status sp_object_url_parse(sp_object_url *out, const char *text, sp_error *err)
{
	const char *end = strstr(text, "://"), *path;
	sp_bytes scheme, authority;

	*out = (sp_object_url){.path = ""};
	if (end == NULL)
		return sp_error_set(err, SP_INVALID, "'%.200s' is not the path of an object", text);
	scheme = (sp_bytes){text, (size_t)(end - text)};
	SP_TRY(find_scheme(out, scheme, err));
	end += 3;
	path = end + strcspn(end, "/");
	authority = (sp_bytes){end, (size_t)(path - end)};
	if (strpbrk(end, "?#\1\2") != NULL || memchr(end, '@', authority.size) != NULL)
		return sp_error_set(err, SP_INVALID,
				    "a path of %.*s:// has a user or a query in it: credentials "
				    "are taken from the configuration, the environment and files",
				    (int)scheme.size, scheme.data);
	if (!is_authority(out->kind, authority))
		return sp_error_set(err, SP_INVALID, "'%.200s' names no %s", text,
				    out->kind == SP_OBJECT_S3 || out->kind == SP_OBJECT_OSS
					    ? "bucket"
					    : "host");
	memcpy(out->authority, authority.data, authority.size);
	if (!copy_path(out, path))
		return sp_error_set(err, SP_INVALID,
				    "'%.200s' is no path: '.', '..', control characters and more "
				    "than 2000 bytes are refused",
				    text);
	return SP_OK;
}

/* ------------------------------------------------------------------- escapes */

static void append_escaped(sp_buffer *out, char c, const char *also)
{
	if (is_plain(c) || c == '~' || (c != '\0' && strchr(also, c) != NULL))
		sp_buffer_append_char(out, c);
	else
		sp_buffer_printf(out, "%%%02X", (unsigned)(unsigned char)c);
}

void sp_object_url_escape(sp_buffer *out, sp_bytes text, const char *also)
{
	for (size_t i = 0; i < text.size; i++)
		append_escaped(out, text.data[i], also);
}

void sp_object_url_escape_path(sp_buffer *out, sp_bytes path)
{
	for (size_t i = 0; i < path.size; i++) {
		bool is_escape = path.data[i] == '%' && i + 2 < path.size &&
				 sp_hex_value(path.data[i + 1]) >= 0 &&
				 sp_hex_value(path.data[i + 2]) >= 0;

		append_escaped(out, path.data[i], is_escape ? "/%" : "/");
	}
}
