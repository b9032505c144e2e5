#include "tests/support/shard_scene.h"

#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "storage/shards/shard_rule.h"
#include "storage/table/table_builder.h"
#include "tests/support/cmocka.h"

const char *const sp_shard_scene_tables[2] = {"user/emb", "item"};
char sp_shard_scene_folder[64];
sp_shard_server *sp_shard_scene_servers[SP_SHARD_SCENE_SLICES];

static sp_error err;

/* ---- what is held ---- */

static void make_row(int64_t key, size_t table, int64_t full, float row[SP_SHARD_SCENE_DIM])
{
	for (size_t d = 0; d < SP_SHARD_SCENE_DIM; d++)
		row[d] = (float)(key % 251 + (int64_t)table * 1000 + full) + (float)d / 8;
}

static sp_table *make_table(size_t table, uint32_t slice, int64_t full)
{
	sp_table_options options = {.name = sp_shard_scene_tables[table],
				    .dim = SP_SHARD_SCENE_DIM};
	static int64_t keys[SP_SHARD_SCENE_KEYS];
	static float rows[SP_SHARD_SCENE_KEYS * SP_SHARD_SCENE_DIM];
	size_t count = 0;
	sp_table *made;

	for (int64_t key = 0; key < (int64_t)SP_SHARD_SCENE_KEYS * SP_SHARD_SCENE_STEP;
	     key += SP_SHARD_SCENE_STEP) {
		if (sp_shard_of_key(key, SP_SHARD_SCENE_SLICES) != slice)
			continue;
		keys[count] = key;
		make_row(key, table, full, rows + count * SP_SHARD_SCENE_DIM);
		count++;
	}
	assert_ok(sp_table_from_rows(&made, &options, keys, rows, count, &err), &err);
	return made;
}

void sp_shard_scene_publish(uint32_t slice, int64_t full)
{
	sp_table *made[] = {make_table(0, slice, full), make_table(1, slice, full)};
	const sp_table *const tables[] = {made[0], made[1]};
	const sp_shard_version version = {.full = full,
					  .content = SP_SHARD_SCENE_CONTENT,
					  .slice = slice,
					  .slices = SP_SHARD_SCENE_SLICES,
					  .tables = tables,
					  .count = 2};

	assert_ok(sp_shard_versions_publish(sp_shard_server_versions(sp_shard_scene_servers[slice]),
					    &version, &err),
		  &err);
	sp_table_destroy(made[0]);
	sp_table_destroy(made[1]);
}

void sp_shard_scene_start_at(uint32_t slice, const char *text)
{
	sp_shard_address address;
	sp_shard_server_options options = {.address = &address};

	assert_ok(sp_shard_address_parse(&address, sp_bytes_of(text), true, &err), &err);
	assert_ok(sp_shard_server_create(&sp_shard_scene_servers[slice], &options, &err), &err);
}

void sp_shard_scene_start(uint32_t slice)
{
	char text[120];

	snprintf(text, sizeof(text), "unix:%s/%u", sp_shard_scene_folder, slice);
	sp_shard_scene_start_at(slice, text);
	sp_shard_scene_publish(slice, SP_SHARD_SCENE_FULL);
}

void sp_shard_scene_stop(uint32_t slice)
{
	sp_shard_server_destroy(sp_shard_scene_servers[slice]);
	sp_shard_scene_servers[slice] = NULL;
}

int sp_shard_scene_set_up(void **state)
{
	(void)state;
	strcpy(sp_shard_scene_folder, "/tmp/sp_shards_XXXXXX");
	assert_non_null(mkdtemp(sp_shard_scene_folder));
	sp_shard_scene_start(0);
	sp_shard_scene_start(1);
	return 0;
}

int sp_shard_scene_tear_down(void **state)
{
	(void)state;
	sp_shard_scene_stop(0);
	sp_shard_scene_stop(1);
	rmdir(sp_shard_scene_folder);
	return 0;
}

/* ---- who asks ---- */

void sp_shard_scene_peers_text(char out[512], const char *more)
{
	snprintf(out, 512, "unix:%s/0%s;unix:%s/1", sp_shard_scene_folder, more,
		 sp_shard_scene_folder);
}

void sp_shard_scene_connect(sp_shard_scene *s, const char *text,
			    const sp_shard_client_options *options)
{
	static sp_shard_peers peers;
	sp_shard_client_options with_peers = {.peers = NULL};
	char usual[512];

	if (options != NULL)
		with_peers = *options;
	with_peers.peers = &peers;
	sp_shard_scene_peers_text(usual, "");
	*s = (sp_shard_scene){.client = NULL};
	assert_ok(sp_shard_peers_parse(&peers, text != NULL ? text : usual, &err), &err);
	assert_ok(sp_shard_client_create(&s->client, &with_peers, &err), &err);
}

sp_shard_store_options sp_shard_scene_options(const sp_shard_scene *s)
{
	return (sp_shard_store_options){.client = s->client,
					.full = SP_SHARD_SCENE_FULL,
					.content = SP_SHARD_SCENE_CONTENT,
					.timeout_ms = SP_SHARD_SCENE_LONG_MS,
					.open_timeout_ms = SP_SHARD_SCENE_LONG_MS,
					.fail_on_timeout = true,
					.cache_bytes = 1 << 20};
}

void sp_shard_scene_open_store(sp_shard_scene *s, const sp_shard_store_options *options)
{
	assert_ok(sp_shard_store_open(&s->store, options, &err), &err);
	for (size_t t = 0; t < 2; t++)
		assert_ok(sp_shard_tier_open(&s->tiers[t], s->store, sp_shard_scene_tables[t],
					     SP_SHARD_SCENE_DIM, &err),
			  &err);
}

void sp_shard_scene_open(sp_shard_scene *s)
{
	sp_shard_store_options options;

	sp_shard_scene_connect(s, NULL, NULL);
	options = sp_shard_scene_options(s);
	sp_shard_scene_open_store(s, &options);
}

void sp_shard_scene_close(sp_shard_scene *s)
{
	for (size_t t = 0; t < 2; t++)
		sp_tier_release(s->tiers[t]);
	sp_shard_store_release(s->store);
	sp_shard_client_destroy(s->client);
}

sp_status sp_shard_scene_ask(const sp_shard_scene *s, sp_shard_scene_lookup q[2], int64_t first,
			     sp_error *why)
{
	sp_tier_read reads[2];

	for (size_t t = 0; t < 2; t++) {
		for (size_t i = 0; i < SP_SHARD_SCENE_MANY; i++) {
			q[t].keys[i] = first + (int64_t)(i / 2);
			q[t].places[i] = q[t].rows[i];
			q[t].found[i] = true;
		}
		reads[t] = (sp_tier_read){.tier = s->tiers[t],
					  .keys = q[t].keys,
					  .count = SP_SHARD_SCENE_MANY,
					  .rows = q[t].places,
					  .found = q[t].found};
	}
	return sp_test_tier_read(reads, 2, 0, why);
}

void sp_shard_scene_check_rows(const sp_shard_scene_lookup q[2])
{
	for (size_t t = 0; t < 2; t++)
		for (size_t i = 0; i < SP_SHARD_SCENE_MANY; i++) {
			int64_t key = q[t].keys[i];
			bool held = key >= 0 && key % SP_SHARD_SCENE_STEP == 0 &&
				    key < (int64_t)SP_SHARD_SCENE_KEYS * SP_SHARD_SCENE_STEP;
			float wanted[SP_SHARD_SCENE_DIM];

			assert_int_equal(q[t].found[i], held);
			make_row(key, t, SP_SHARD_SCENE_FULL, wanted);
			if (held)
				assert_memory_equal(q[t].rows[i], wanted, sizeof(wanted));
		}
}

void sp_shard_scene_ask_well(const sp_shard_scene *s, int64_t first)
{
	sp_shard_scene_lookup *q = malloc(2 * sizeof(*q));

	assert_ok(sp_shard_scene_ask(s, q, first, &err), &err);
	sp_shard_scene_check_rows(q);
	free(q);
}

sp_status sp_shard_scene_ask_in_vain(const sp_shard_scene *s, int64_t first, sp_error *why)
{
	sp_shard_scene_lookup *q = malloc(2 * sizeof(*q));
	sp_status status = sp_shard_scene_ask(s, q, first, why);

	free(q);
	return status;
}

sp_shard_client_counters sp_shard_scene_client_counters(const sp_shard_scene *s)
{
	sp_shard_client_counters c;

	sp_shard_client_count(s->client, &c);
	return c;
}

void sp_shard_scene_nap(void)
{
	(void)poll(NULL, 0, 5);
}

/* ---- other ends of connections ---- */

static struct sockaddr_un address_of(const char *name)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};

	snprintf(address.sun_path, sizeof(address.sun_path), "%s/%s", sp_shard_scene_folder, name);
	return address;
}

int sp_shard_scene_listen_at(const char *name)
{
	const struct sockaddr_un address = address_of(name);
	int fd = socket(AF_UNIX, SOCK_STREAM, 0);

	assert_int_equal(bind(fd, (const struct sockaddr *)&address, sizeof(address)), 0);
	assert_int_equal(listen(fd, 10), 0);
	return fd;
}

int sp_shard_scene_connect_to(const char *name)
{
	const struct sockaddr_un address = address_of(name);
	int fd = socket(AF_UNIX, SOCK_STREAM, 0);

	assert_int_equal(connect(fd, (const struct sockaddr *)&address, sizeof(address)), 0);
	return fd;
}

void sp_shard_scene_remove_socket(const char *name)
{
	unlink(address_of(name).sun_path);
}
