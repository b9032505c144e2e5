#include "storage/redis/redis_address.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "base/bytes.h"
#include "base/hex.h"

enum { MAX_PORT = 65535, MAX_DB = 1000000, MAX_PATH = 107 /* of a unix socket */ };

static sp_bytes rest_of(sp_bytes text, size_t from)
{
	return (sp_bytes){text.data + from, text.size - from};
}

/* The index of the first or the last `c`; text.size: there is none. */
static size_t find(sp_bytes text, char c)
{
	const char *at = text.size != 0 ? memchr(text.data, c, text.size) : NULL;

	return at != NULL ? (size_t)(at - text.data) : text.size;
}

static size_t find_last(sp_bytes text, char c)
{
	const char *at = text.size != 0 ? memrchr(text.data, c, text.size) : NULL;

	return at != NULL ? (size_t)(at - text.data) : text.size;
}

/* False: no number, or one above `most`. */
static bool read_number(int64_t *out, sp_bytes text, int64_t most)
{
	*out = 0;
	for (size_t i = 0; i < text.size; i++) {
		if (text.data[i] < '0' || text.data[i] > '9')
			return false;
		*out = *out * 10 + (text.data[i] - '0');
		if (*out > most)
			return false;
	}
	return text.size != 0;
}

/* Copies with escapes replaced; false: too long, a wrong escape, or a NUL byte. */
static bool unescape(char out[SP_REDIS_SECRET_SIZE], sp_bytes text)
{
	size_t to = 0;

	for (size_t i = 0; i < text.size; i++) {
		char c = text.data[i];

		if (c == '%') {
			if (text.size - i < 3 || sp_hex_value(text.data[i + 1]) < 0 ||
			    sp_hex_value(text.data[i + 2]) < 0)
				return false;
			c = (char)(sp_hex_value(text.data[i + 1]) << 4 |
				   sp_hex_value(text.data[i + 2]));
			i += 2;
		}
		if (c == '\0' || to + 1 >= SP_REDIS_SECRET_SIZE)
			return false;
		out[to++] = c;
	}
	out[to] = '\0';
	return true;
}

/* "[USER]:PASSWORD", or a user alone. */
static sp_status read_user(sp_redis_address *out, sp_bytes text, sp_error *err)
{
	size_t colon = find(text, ':');
	sp_bytes password = colon < text.size ? rest_of(text, colon + 1) : (sp_bytes){"", 0};

	if (!unescape(out->user, (sp_bytes){text.data, colon}) ||
	    !unescape(out->password, password))
		return sp_error_set(
			err, SP_INVALID,
			"the user or the password in the address of Redis is too long or "
			"has a wrong %%XX");
	return SP_OK;
}

/* HOST, HOST:PORT, [IPV6] or [IPV6]:PORT. */
static bool read_server(sp_redis_server *out, sp_bytes text)
{
	sp_bytes host = text, port = {"", 0};
	int64_t number = SP_REDIS_PORT;

	if (sp_bytes_starts_with(text, "[")) {
		size_t end = find(text, ']');

		if (end == text.size)
			return false;
		host = (sp_bytes){text.data + 1, end - 1};
		port = rest_of(text, end + 1);
		if (port.size != 0 && port.data[0] != ':')
			return false;
	} else {
		size_t colon = find(text, ':');

		host.size = colon;
		port = rest_of(text, colon);
	}
	if (port.size != 0 && (!read_number(&number, rest_of(port, 1), MAX_PORT) || number == 0))
		return false;
	/* A name with '@' is a password in the wrong place, which log lines would show. */
	if (host.size == 0 || host.size >= sizeof(out->host) ||
	    memchr(host.data, '\0', host.size) != NULL || find(host, '@') != host.size)
		return false;
	memcpy(out->host, host.data, host.size);
	out->host[host.size] = '\0';
	out->port = (int)number;
	return true;
}

static sp_status read_servers(sp_redis_address *out, sp_bytes text, sp_error *err)
{
	for (bool more = true; more;) {
		size_t comma = find(text, ',');

		if (out->count == SP_REDIS_SERVERS)
			return sp_error_set(err, SP_INVALID,
					    "the address of Redis has more than %d servers",
					    SP_REDIS_SERVERS);
		if (!read_server(&out->servers[out->count], (sp_bytes){text.data, comma}))
			return sp_error_set(err, SP_INVALID,
					    "server %zu in the address of Redis is not HOST:PORT",
					    out->count + 1);
		out->count++;
		more = comma < text.size;
		text = more ? rest_of(text, comma + 1) : text;
	}
	return SP_OK;
}

static sp_status read_path(sp_redis_address *out, sp_bytes path, sp_error *err)
{
	if (path.size == 0 || path.size > MAX_PATH)
		return sp_error_set(
			err, SP_INVALID,
			"the unix socket in the address of Redis has a path of %zu bytes; "
			"1 to %d are possible",
			path.size, MAX_PATH);
	memcpy(out->servers[0].host, path.data, path.size);
	out->servers[0].host[path.size] = '\0';
	out->count = 1;
	return SP_OK;
}

/* What follows "redis://". */
static sp_status read_url(sp_redis_address *out, sp_bytes text, sp_error *err)
{
	size_t at = find_last(text, '@'), slash;

	if (at < text.size) {
		SP_TRY(read_user(out, (sp_bytes){text.data, at}, err));
		text = rest_of(text, at + 1);
	}
	slash = find(text, '/');
	if (slash < text.size) {
		sp_bytes db = rest_of(text, slash + 1);

		if (db.size != 0 && !read_number(&out->db, db, MAX_DB))
			return sp_error_set(
				err, SP_INVALID,
				"the address of Redis ends in /DB, where DB is no number");
		text.size = slash;
	}
	return read_servers(out, text, err);
}

sp_status sp_redis_address_parse(sp_redis_address *out, const char *text, sp_error *err)
{
	sp_bytes bytes = sp_bytes_of(text);

	memset(out, 0, sizeof(*out));
	if (sp_bytes_starts_with(bytes, "rediss://"))
		return sp_error_set(
			err, SP_UNSUPPORTED,
			"the address of Redis asks for TLS, which this client does not have; use a "
			"TLS tunnel on this machine, for example stunnel");
	if (sp_bytes_starts_with(bytes, "redis://"))
		return read_url(out, rest_of(bytes, strlen("redis://")), err);
	if (sp_bytes_starts_with(bytes, "unix://"))
		return read_path(out, rest_of(bytes, strlen("unix://")), err);
	if (sp_bytes_starts_with(bytes, "unix:"))
		return read_path(out, rest_of(bytes, strlen("unix:")), err);
	return read_servers(out, bytes, err);
}

sp_status sp_redis_address_set_user(sp_redis_address *address, const char *user,
				    const char *password, sp_error *err)
{
	if ((user != NULL && strlen(user) >= sizeof(address->user)) ||
	    (password != NULL && strlen(password) >= sizeof(address->password)))
		return sp_error_set(err, SP_INVALID,
				    "the user or the password for Redis is longer than %zu bytes",
				    sizeof(address->user) - 1);
	if (user != NULL)
		strcpy(address->user, user);
	if (password != NULL)
		strcpy(address->password, password);
	return SP_OK;
}

const char *sp_redis_server_name(const sp_redis_server *server, char out[SP_REDIS_NAME_SIZE])
{
	if (server->port == 0)
		snprintf(out, SP_REDIS_NAME_SIZE, "%s", server->host);
	else
		snprintf(out, SP_REDIS_NAME_SIZE, "%s:%d", server->host, server->port);
	return out;
}

void sp_redis_address_fini(sp_redis_address *address)
{
	explicit_bzero(address->user, sizeof(address->user));
	explicit_bzero(address->password, sizeof(address->password));
}
