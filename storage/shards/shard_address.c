#include "storage/shards/shard_address.h"

#include <stdio.h>
#include <string.h>

#include "base/words.h"

enum { MAX_PORT = 65535, MAX_PATH = 107 /* of a unix socket */ };

static bool read_port(int *out, sp_bytes text, bool any_port)
{
	*out = 0;
	for (size_t i = 0; i < text.size; i++) {
		if (text.data[i] < '0' || text.data[i] > '9')
			return false;
		*out = *out * 10 + (text.data[i] - '0');
		if (*out > MAX_PORT)
			return false;
	}
	return text.size != 0 && (*out != 0 || any_port);
}

static bool copy_host(sp_shard_address *out, sp_bytes text, size_t most)
{
	if (text.size == 0 || text.size > most || memchr(text.data, '\0', text.size) != NULL)
		return false;
	memcpy(out->host, text.data, text.size);
	out->host[text.size] = '\0';
	return true;
}

static bool read_address(sp_shard_address *out, sp_bytes text, bool any_port)
{
	const char *colon;
	sp_bytes host, port;

	if (sp_bytes_starts_with(text, "unix:")) {
		out->port = -1;
		return copy_host(out, (sp_bytes){text.data + 5, text.size - 5}, MAX_PATH);
	}
	colon = text.size != 0 ? memrchr(text.data, ':', text.size) : NULL;
	if (colon == NULL)
		return false;
	host = (sp_bytes){text.data, (size_t)(colon - text.data)};
	if (host.size > 2 && host.data[0] == '[' && host.data[host.size - 1] == ']')
		host = (sp_bytes){host.data + 1, host.size - 2};
	else if (memchr(host.data, ':', host.size) != NULL)
		return false;
	port = (sp_bytes){colon + 1, (size_t)(text.data + text.size - colon - 1)};
	return copy_host(out, host, SP_SHARD_HOST_SIZE - 1) &&
	       read_port(&out->port, port, any_port);
}

sp_status sp_shard_address_parse(sp_shard_address *out, sp_bytes text, bool any_port, sp_error *err)
{
	text = sp_words_trim(text);
	if (read_address(out, text, any_port))
		return SP_OK;
	return sp_error_set(err, SP_INVALID, "'%.*s' is neither HOST:PORT nor unix:PATH",
			    (int)text.size, text.data);
}

const char *sp_shard_address_text(const sp_shard_address *address, char out[SP_SHARD_ADDRESS_TEXT])
{
	const char *format = strchr(address->host, ':') != NULL ? "[%s]:%d" : "%s:%d";

	if (address->port < 0)
		snprintf(out, SP_SHARD_ADDRESS_TEXT, "unix:%s", address->host);
	else
		snprintf(out, SP_SHARD_ADDRESS_TEXT, format, address->host, address->port);
	return out;
}

static sp_status add_peer(sp_shard_peers *out, sp_bytes text, size_t replicas, sp_error *err)
{
	if (out->count == SP_SHARD_MAX_PEERS || replicas == SP_SHARD_MAX_REPLICAS)
		return sp_error_set(err, SP_INVALID,
				    "more than %d addresses, or than %d of one slice",
				    SP_SHARD_MAX_PEERS, SP_SHARD_MAX_REPLICAS);
	SP_TRY(sp_shard_address_parse(&out->items[out->count], text, false, err));
	out->slice_of[out->count++] = out->slices;
	return SP_OK;
}

sp_status sp_shard_peers_parse(sp_shard_peers *out, const char *text, sp_error *err)
{
	size_t replicas = 0;

	out->count = 0;
	out->slices = 0;
	for (bool more = true; more;) {
		size_t size = strcspn(text, ",;");

		SP_TRY(add_peer(out, (sp_bytes){text, size}, replicas, err));
		replicas++;
		if (text[size] != ',') {
			out->slices++;
			replicas = 0;
		}
		more = text[size] != '\0';
		text += size + more;
	}
	return SP_OK;
}
