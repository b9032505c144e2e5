#include "tests/support/publication_scene.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "tests/support/cmocka.h"

sp_redis_process sp_pub_process;
sp_redis_address sp_pub_address;
sp_redis_client *sp_pub_clients[2];
sp_arena *sp_pub_arena;
int64_t sp_pub_keys[SP_PUB_ROWS];
float sp_pub_rows[SP_PUB_ROWS][SP_PUB_DIM];
const uint64_t sp_pub_features[2] = {3, 5};

static sp_error err;

/* ---------------------------------------------------------------- questions */

const char *sp_pub_ask_in(int database, size_t count, const char *const *words)
{
	sp_redis_batch *batch = sp_redis_batch_create(sp_pub_clients[database]);
	const sp_redis_submit_options how = {.deadline_ns = sp_clock_now_ns() +
							    INT64_C(10000000000)};
	const sp_redis_value *value;
	const char *out;

	assert_non_null(batch);
	sp_redis_batch_begin(batch, NULL, 0, count);
	for (size_t i = 0; i < count; i++)
		sp_redis_batch_add_text(batch, words[i]);
	if (sp_redis_batch_run(batch, &how, &err) != SP_OK)
		fail_msg("%s %s: %s", words[0], count > 1 ? words[1] : "", err.text);
	value = sp_redis_batch_reply(batch, 0);
	if (value->kind == SP_REDIS_INTEGER)
		out = sp_arena_printf(sp_pub_arena, "%" PRId64, value->integer);
	else if (value->kind == SP_REDIS_NIL)
		out = "(nil)";
	else
		out = sp_arena_text(sp_pub_arena, (sp_bytes){value->text, value->size});
	assert_non_null(out);
	sp_redis_batch_release(batch);
	return out;
}

const char *sp_pub_stored(int database, const char *hash, const char *key, size_t key_size,
			  size_t size)
{
	sp_redis_batch *batch = sp_redis_batch_create(sp_pub_clients[database]);
	const sp_redis_submit_options how = {.deadline_ns = sp_clock_now_ns() +
							    INT64_C(10000000000)};
	const sp_redis_value *value;
	char *out = NULL;

	sp_redis_batch_begin(batch, NULL, 0, hash != NULL ? 3 : 2);
	sp_redis_batch_add_text(batch, hash != NULL ? "HGET" : "GET");
	if (hash != NULL)
		sp_redis_batch_add_text(batch, hash);
	sp_redis_batch_add(batch, key, key_size);
	assert_ok(sp_redis_batch_run(batch, &how, &err), &err);
	value = sp_redis_batch_reply(batch, 0);
	if (value->kind == SP_REDIS_STRING) {
		assert_int_equal(value->size, size);
		out = sp_arena_alloc(sp_pub_arena, size);
		memcpy(out, value->text, size);
	}
	sp_redis_batch_release(batch);
	return out;
}

/* -------------------------------------------------------------- publications */

sp_redis_publication_options sp_pub_options(int64_t full, uint64_t checksum)
{
	return (sp_redis_publication_options){.address = &sp_pub_address,
					      .model = "ctr",
					      .version = {.full = full,
							  .checksum = checksum,
							  .partitions = SP_PUB_PARTITIONS,
							  .former = -1},
					      .patience_seconds = 2};
}

sp_redis_publication *sp_pub_open(const sp_redis_publication_options *options)
{
	sp_redis_publication *p = NULL;

	assert_ok(sp_redis_publication_open(&p, options, &err), &err);
	return p;
}

sp_redis_publication_table sp_pub_table(const char *name)
{
	return (sp_redis_publication_table){.name = name,
					    .dim = SP_PUB_DIM,
					    .key_size = 8,
					    .features = sp_pub_features,
					    .feature_count = 1};
}

bool sp_pub_begin(sp_redis_publication *p, const char *name)
{
	sp_redis_publication_table table = sp_pub_table(name);
	bool is_there;

	assert_ok(sp_redis_publication_begin(p, &table, &is_there, &err), &err);
	return !is_there;
}

void sp_pub_put(sp_redis_publication *p, size_t count)
{
	for (size_t i = 0; i < count; i += 1700)
		assert_ok(sp_redis_publication_put(p, sp_pub_keys + i, sp_pub_rows + i,
						   count - i < 1700 ? count - i : 1700, &err),
			  &err);
}

void sp_pub_write(sp_redis_publication *p, const char *name)
{
	if (!sp_pub_begin(p, name))
		return;
	sp_pub_put(p, SP_PUB_ROWS);
	assert_ok(sp_redis_publication_end(p, &err), &err);
}

/* ---------------------------------------------------------------------- life */

int sp_pub_start(void **state)
{
	char text[SP_PATH_SIZE + 32];

	(void)state;
	sp_redis_start(&sp_pub_process, false, NULL);
	sp_pub_arena = sp_arena_create(1 << 20);
	if (sp_redis_address_parse(&sp_pub_address, sp_redis_unix(&sp_pub_process, text), &err) !=
	    SP_OK)
		return -1;
	for (int i = 0; i < 2; i++) {
		sp_redis_address at = sp_pub_address;

		at.db = i;
		if (sp_redis_client_create(&sp_pub_clients[i],
					   &(sp_redis_client_options){.address = &at},
					   &err) != SP_OK)
			return -1;
	}
	for (size_t i = 0; i < SP_PUB_ROWS; i++) {
		sp_pub_keys[i] = (int64_t)i * 7 - 700;
		for (size_t d = 0; d < SP_PUB_DIM; d++)
			sp_pub_rows[i][d] = (float)i + (float)d / 8;
	}
	return 0;
}

int sp_pub_end(void **state)
{
	(void)state;
	sp_redis_client_destroy(sp_pub_clients[0]);
	sp_redis_client_destroy(sp_pub_clients[1]);
	sp_redis_end(&sp_pub_process);
	sp_arena_destroy(sp_pub_arena);
	return 0;
}

int sp_pub_clear(void **state)
{
	(void)state;
	sp_pub_ask("FLUSHALL");
	return 0;
}
