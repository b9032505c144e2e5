#ifndef SP_TESTS_SUPPORT_SHARD_SCENE_H
#define SP_TESTS_SUPPORT_SHARD_SCENE_H

#include <stdbool.h>
#include <stdint.h>

#include "storage/shards/shard_server.h"
#include "storage/shards/shard_tier.h"
#include "tests/support/tiers.h"

/*
 * Two tables with the rows of keys 0, 3, 6 ... in two slices, each held by a server of its own, at
 * unix sockets or ports; and who reads them.  Limits are far above what an answer takes, except
 * where none comes.
 */
enum {
	SP_SHARD_SCENE_KEYS = 900,
	SP_SHARD_SCENE_STEP = 3,
	SP_SHARD_SCENE_DIM = 10,
	SP_SHARD_SCENE_FULL = 42,
	SP_SHARD_SCENE_CONTENT = 77,
	SP_SHARD_SCENE_SLICES = 2,
	SP_SHARD_SCENE_MANY = 1500, /* keys of a request */
	SP_SHARD_SCENE_LONG_MS = 20000,
};

extern const char *const sp_shard_scene_tables[2];
extern char sp_shard_scene_folder[64]; /* of the sockets */
extern sp_shard_server *sp_shard_scene_servers[SP_SHARD_SCENE_SLICES];

/* Start the servers and stop them: for cmocka. */
int sp_shard_scene_set_up(void **state);
int sp_shard_scene_tear_down(void **state);
#define SP_SHARD_SCENE_CASE(name) \
	cmocka_unit_test_setup_teardown(name, sp_shard_scene_set_up, sp_shard_scene_tear_down)

/* ---- what is held ---- */

/* At the socket with the slice's number, with the version; at an address, without any. */
void sp_shard_scene_start(uint32_t slice);
void sp_shard_scene_start_at(uint32_t slice, const char *text);
void sp_shard_scene_publish(uint32_t slice, int64_t full);
void sp_shard_scene_stop(uint32_t slice);

/* ---- who asks ---- */

typedef struct sp_shard_scene {
	sp_shard_client *client;
	sp_shard_store *store;
	sp_tier *tiers[2];
} sp_shard_scene;

/* Both servers; `more` are further replicas of slice 0, ",ADDRESS" each. */
void sp_shard_scene_peers_text(char out[512], const char *more);

/* A client of these peers; NULL: of both servers.  Options may be NULL; their peers do not count.
 */
void sp_shard_scene_connect(sp_shard_scene *s, const char *peers,
			    const sp_shard_client_options *options);

sp_shard_store_options sp_shard_scene_options(const sp_shard_scene *s);
void sp_shard_scene_open_store(sp_shard_scene *s, const sp_shard_store_options *options);

/* Client and store, as usual. */
void sp_shard_scene_open(sp_shard_scene *s);
void sp_shard_scene_close(sp_shard_scene *s);

typedef struct sp_shard_scene_lookup {
	int64_t keys[SP_SHARD_SCENE_MANY];
	float rows[SP_SHARD_SCENE_MANY][SP_SHARD_SCENE_DIM];
	float *places[SP_SHARD_SCENE_MANY];
	bool found[SP_SHARD_SCENE_MANY];
} sp_shard_scene_lookup;

/* Asks both tables for keys from `first` on, each twice. */
sp_status sp_shard_scene_ask(const sp_shard_scene *s, sp_shard_scene_lookup q[2], int64_t first,
			     sp_error *err);

/* All rows that are held, and no others, were found. */
void sp_shard_scene_check_rows(const sp_shard_scene_lookup q[2]);
void sp_shard_scene_ask_well(const sp_shard_scene *s, int64_t first);

/* Keys that nobody has asked for before get no answer. */
sp_status sp_shard_scene_ask_in_vain(const sp_shard_scene *s, int64_t first, sp_error *err);

sp_shard_client_counters sp_shard_scene_client_counters(const sp_shard_scene *s);

/* A few milliseconds. */
void sp_shard_scene_nap(void);

/* ---- other ends of connections: sockets in the folder ---- */

/* A listener that answers nothing by itself. */
int sp_shard_scene_listen_at(const char *name);
int sp_shard_scene_connect_to(const char *name);
void sp_shard_scene_remove_socket(const char *name);

#endif
