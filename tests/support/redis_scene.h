#ifndef SP_TESTS_SUPPORT_REDIS_SCENE_H
#define SP_TESTS_SUPPORT_REDIS_SCENE_H

#include "base/arena.h"
#include "storage/redis/redis_tier.h"
#include "tests/support/redis_process.h"
#include "tests/support/tiers.h"

/*
 * Two tables in a real redis-server, with the rows of keys 0, 3, 6 ... in every layout, and who
 * reads them.  Limits are far above what an answer takes, except where none comes.
 */
enum {
	SP_REDIS_SCENE_DIM = 10,
	SP_REDIS_SCENE_FULL = 42,
	SP_REDIS_SCENE_MANY = 400, /* keys of a lookup at most */
	SP_REDIS_SCENE_LONG_MS = 20000,
};

extern sp_redis_process sp_redis_scene_process;
extern sp_redis_client *sp_redis_scene_client; /* for plain commands */
extern sp_arena *sp_redis_scene_arena;
extern char sp_redis_scene_folder[SP_PATH_SIZE]; /* of files of rows */
extern const char *const sp_redis_scene_tables[2];

/* Start the server and end it: for cmocka. */
int sp_redis_scene_set_up(void **state);
int sp_redis_scene_tear_down(void **state);

/* ---- what is in Redis ---- */

void sp_redis_scene_make_row(int64_t key, size_t table, float row[SP_REDIS_SCENE_DIM]);
bool sp_redis_scene_is_there(int64_t key);
sp_redis_version sp_redis_scene_version(sp_row_format format);

/* The hash with the row of a key, in the arena. */
const char *sp_redis_scene_hash(sp_redis_layout layout, size_t table, int64_t key,
				const sp_redis_version *version);

/* Empties Redis, and writes all rows and what makes the version ours, or DeepRec's. */
void sp_redis_scene_fill(sp_redis_layout layout, sp_row_format format);

/* A command of `count` words about a key is begun with two of them; one is added whole. */
void sp_redis_scene_begin(sp_redis_batch *batch, size_t count, const char *command,
			  const char *key);
void sp_redis_scene_put_field(sp_redis_batch *batch, const char *hash, const void *field,
			      size_t field_size, const void *value, size_t size);

/* Runs and releases. */
void sp_redis_scene_run(sp_redis_batch *batch);

/* One command. */
void sp_redis_scene_tell_words(size_t count, const char *const *words);

#define sp_redis_scene_tell(...)                                                               \
	sp_redis_scene_tell_words(sizeof((const char *const[]){__VA_ARGS__}) / sizeof(char *), \
				  (const char *const[]){__VA_ARGS__})

/* ---- what is read ---- */

typedef struct sp_redis_scene {
	sp_redis_store *store;
	sp_tier *tiers[2];
} sp_redis_scene;

/* Of the tables as they are filled; and with little memory and a file of rows. */
sp_redis_store_options sp_redis_scene_options(sp_redis_layout layout);
sp_redis_store_options sp_redis_scene_file_options(sp_redis_layout layout);

void sp_redis_scene_open(sp_redis_scene *s, const sp_redis_store_options *options);
void sp_redis_scene_close(sp_redis_scene *s);

/* The store is not opened, for a reason that has this text. */
void sp_redis_scene_refuse(const sp_redis_store_options *options, sp_status status,
			   const char *reason);

typedef struct sp_redis_scene_lookup {
	int64_t keys[SP_REDIS_SCENE_MANY];
	float rows[SP_REDIS_SCENE_MANY][SP_REDIS_SCENE_DIM];
	float *places[SP_REDIS_SCENE_MANY];
	bool found[SP_REDIS_SCENE_MANY];
} sp_redis_scene_lookup;

/* Keys that are there, and others. */
void sp_redis_scene_choose(sp_redis_scene_lookup q[2], size_t count, unsigned seed);

/* Reads `count` keys of each table in one call. */
sp_status sp_redis_scene_ask(const sp_redis_scene *s, sp_redis_scene_lookup q[2], size_t count,
			     int64_t deadline_ns, sp_error *err);

/* Whether all rows that are there, and no others, were found. */
sp_status sp_redis_scene_check(const sp_redis_scene_lookup q[2], size_t count, sp_row_format format,
			       sp_error *err);

/* All three; anything wrong fails the test. */
void sp_redis_scene_ask_well(const sp_redis_scene *s, sp_row_format format, unsigned seed);

#endif
