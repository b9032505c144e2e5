#ifndef SP_TESTS_SUPPORT_PUBLICATION_SCENE_H
#define SP_TESTS_SUPPORT_PUBLICATION_SCENE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "storage/redis/publication.h"
#include "storage/redis/redis_client.h"
#include "tests/support/redis_process.h"

/*
 * Publications of a model "ctr" to a real redis-server; what is in it is asked with plain commands.
 * What goes wrong here fails the test.
 */
enum { SP_PUB_DIM = 4, SP_PUB_ROWS = 5000, SP_PUB_PARTITIONS = 8 };

extern sp_redis_process sp_pub_process;
extern sp_redis_address sp_pub_address;
extern sp_redis_client *sp_pub_clients[2]; /* of databases 0 and 1 */
extern sp_arena *sp_pub_arena;
extern int64_t sp_pub_keys[SP_PUB_ROWS];
extern float sp_pub_rows[SP_PUB_ROWS][SP_PUB_DIM];
extern const uint64_t sp_pub_features[2];

/* Start the server, end it, and empty it: for cmocka. */
int sp_pub_start(void **state);
int sp_pub_end(void **state);
int sp_pub_clear(void **state);

/* The answer to a command, in the arena; an integer as its digits, an absent value as "(nil)". */
const char *sp_pub_ask_in(int database, size_t count, const char *const *words);

#define sp_pub_ask_db(database, ...)                                                           \
	sp_pub_ask_in((database), sizeof((const char *const[]){__VA_ARGS__}) / sizeof(char *), \
		      (const char *const[]){__VA_ARGS__})
#define sp_pub_ask(...) sp_pub_ask_db(0, __VA_ARGS__)

/* The stored row of a key, a field of `hash` or, NULL, a key of its own; NULL: absent. */
const char *sp_pub_stored(int database, const char *hash, const char *key, size_t key_size,
			  size_t size);

/* Of our layout. */
sp_redis_publication_options sp_pub_options(int64_t full, uint64_t checksum);
sp_redis_publication *sp_pub_open(const sp_redis_publication_options *options);

sp_redis_publication_table sp_pub_table(const char *name);

/* False if the table was there. */
bool sp_pub_begin(sp_redis_publication *p, const char *name);

/* The first `count` rows. */
void sp_pub_put(sp_redis_publication *p, size_t count);

/* All rows of a table, unless it was there. */
void sp_pub_write(sp_redis_publication *p, const char *name);

#endif
