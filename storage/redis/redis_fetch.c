#include <string.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "storage/redis/redis_tier_internal.h"

/*
 * Asks Redis for the rows of a fetch, a command per hash, and of a long one per 512 keys.  Answers
 * come in the client's thread, or in that of a call that waits.
 */

enum {
	PIECE = 512, /* keys of a command at most: a longer one would hold up others in Redis */
	MS = 1000000,
	LATE_MS = 1000, /* answers that nobody waits for any more still go to the cache */
};

/* The rows of a command. */
typedef struct redis_piece {
	sp_remote_run rows;
	bool is_check; /* deeprec: asks for the version instead */
	bool is_wrong; /* what comes is not what was asked for */
} redis_piece;

/* A fetch's own. */
typedef struct question {
	size_t count;
	redis_piece pieces[];
} question;

/* At worst each row is a piece, and one asks for the version. */
size_t sp_redis__question_size(size_t count)
{
	return sizeof(question) + (count + 1) * sizeof(redis_piece);
}

static question *question_of(const sp_remote_fetch *fetch)
{
	return fetch->own;
}

static sp_redis_store *store_of(const sp_remote_fetch *fetch)
{
	return (sp_redis_store *)fetch->store;
}

static sp_redis_shelf *shelf_of(const sp_remote_row *row)
{
	return (sp_redis_shelf *)row->shelf;
}

/* ---- answers ---- */

static void note(sp_remote_fetch *fetch, const char *text)
{
	sp_remote_fetch_note(fetch, text, strlen(text));
}

static void take_row(sp_remote_fetch *fetch, const sp_remote_run *rows, size_t index,
		     const sp_redis_value *value)
{
	/* After a lost connection the same answer may come again. */
	if (value->kind == SP_REDIS_NIL)
		sp_remote_run_lacks(fetch, rows, index,
				    store_of(fetch)->layout == SP_REDIS_DEEPREC
					    ? SP_REMOTE_ROW_MISSING
					    : SP_REMOTE_ROW_ABSENT);
	else if (value->kind == SP_REDIS_STRING && value->size == rows->shelf->row_size)
		sp_remote_run_found(fetch, rows, index, value->text);
	else
		note(fetch, "a row in Redis has another size than the table's");
}

/* The whole answer to a command, or the beginning of it. */
static void take_root(sp_remote_fetch *fetch, redis_piece *piece, const sp_redis_value *value)
{
	size_t wanted = piece->rows.count + (store_of(fetch)->layout == SP_REDIS_VERSIONED);

	if (value->kind == SP_REDIS_ERROR || value->kind == SP_REDIS_FAILED)
		sp_remote_fetch_note(fetch, value->text, value->size);
	else if (value->kind != SP_REDIS_ARRAY || value->integer != (int64_t)wanted)
		note(fetch, "Redis answers something else than rows");
	else
		return;
	piece->is_wrong = true;
}

static void take_check(sp_remote_fetch *fetch, const sp_redis_value *value)
{
	int64_t full, latest;

	if (value->kind == SP_REDIS_STRING &&
	    sp_redis_deeprec_version_read(&full, &latest, (sp_bytes){value->text, value->size},
					  NULL) == SP_OK &&
	    full == store_of(fetch)->version.full)
		fetch->is_confirmed = true;
	else
		note(fetch, "the database in Redis has another version now");
}

static void take(void *owner, size_t command, const sp_redis_value *value)
{
	sp_remote_fetch *fetch = owner;
	redis_piece *piece = &question_of(fetch)->pieces[command];
	size_t index = value->index;

	if (piece->is_check) {
		take_check(fetch, value);
		return;
	}
	if (value->depth == 0) {
		piece->is_wrong = false;
		take_root(fetch, piece, value);
		return;
	}
	if (piece->is_wrong || value->depth != 1)
		return;
	if (store_of(fetch)->layout == SP_REDIS_VERSIONED && index-- == 0) {
		piece->is_wrong = value->kind != SP_REDIS_STRING ||
				  value->size != SP_REDIS_MARK_SIZE ||
				  memcmp(value->text, store_of(fetch)->mark, value->size) != 0;
		if (piece->is_wrong) {
			atomic_store(&store_of(fetch)->has_loss, true);
			note(fetch, "Redis does not have all rows of the version any more");
		}
		return;
	}
	take_row(fetch, &piece->rows, index, value);
}

static void done(void *owner)
{
	sp_remote_fetch_finish(owner);
}

/* ---- the question ---- */

static void add_hash(sp_redis_batch *batch, const sp_remote_fetch *fetch, const redis_piece *piece)
{
	const sp_remote_row *rows = &fetch->rows[piece->rows.first];
	const sp_redis_shelf *shelf = shelf_of(rows);
	const char *hash = shelf->hashes[rows->partition];
	bool has_mark = store_of(fetch)->layout == SP_REDIS_VERSIONED;
	size_t size = strlen(hash);
	char field[8];

	sp_redis_batch_begin(batch, hash, size, 2 + has_mark + piece->rows.count);
	sp_redis_batch_add(batch, "HMGET", 5);
	sp_redis_batch_add(batch, hash, size);
	if (has_mark)
		sp_redis_batch_add(batch, SP_REDIS_MARK_FIELD, 1);
	for (size_t i = 0; i < piece->rows.count; i++)
		sp_redis_batch_add(batch, field,
				   sp_redis_field(field, rows[i].key,
						  has_mark ? sizeof(field) : shelf->key_size));
}

static void add_strings(sp_redis_batch *batch, const sp_remote_fetch *fetch,
			const redis_piece *piece)
{
	char key[SP_REDIS_DEEPREC_KEY_MAX];

	sp_redis_batch_begin(batch, NULL, 0, 1 + piece->rows.count);
	sp_redis_batch_add(batch, "MGET", 4);
	for (size_t i = piece->rows.first; i < piece->rows.first + piece->rows.count; i++) {
		const sp_remote_row *row = &fetch->rows[i];

		sp_redis_batch_add(batch, key,
				   sp_redis_deeprec_key(key,
							(uint64_t)store_of(fetch)->version.full,
							shelf_of(row)->features[row->partition],
							row->key, shelf_of(row)->key_size));
	}
}

/* After the rows: if the version is still there, it was when they were read. */
static void add_check(sp_redis_batch *batch, sp_remote_fetch *fetch)
{
	question *q = question_of(fetch);

	q->pieces[q->count++] = (redis_piece){.is_check = true};
	sp_redis_batch_begin(batch, NULL, 0, 2);
	sp_redis_batch_add(batch, "GET", 3);
	sp_redis_batch_add_text(batch, SP_REDIS_DEEPREC_VERSION);
}

static bool goes_on(const sp_remote_fetch *fetch, const redis_piece *piece, size_t i)
{
	const sp_remote_row *first = &fetch->rows[piece->rows.first], *row = &fetch->rows[i];

	return piece->rows.count < PIECE && row->shelf == first->shelf &&
	       (store_of(fetch)->layout == SP_REDIS_DEEPREC || row->partition == first->partition);
}

static void add_commands(sp_redis_batch *batch, sp_remote_fetch *fetch)
{
	bool by_hash = store_of(fetch)->layout != SP_REDIS_DEEPREC;
	question *q = question_of(fetch);

	for (size_t i = 0; i < fetch->count;) {
		redis_piece *piece = &q->pieces[q->count++];

		*piece = (redis_piece){.rows = sp_remote_run_at(fetch, i)};
		for (; i < fetch->count && goes_on(fetch, piece, i); i++)
			piece->rows.count++;
		if (by_hash)
			add_hash(batch, fetch, piece);
		else
			add_strings(batch, fetch, piece);
	}
	if (!by_hash)
		add_check(batch, fetch);
}

void sp_redis__ask(sp_remote_fetch *fetch)
{
	static const sp_redis_sink sink = {.take = take, .done = done};
	const sp_redis_how how = {.deadline_ns = sp_clock_now_ns() + (int64_t)LATE_MS * MS,
				  .only_reads = true,
				  .fails_fast = true,
				  .reads = true,
				  .sink = &sink,
				  .owner = fetch};
	sp_redis_batch *batch = sp_redis_batch_create(store_of(fetch)->client);
	sp_error error = {.text = "no memory"};

	*question_of(fetch) = (question){0};
	if (batch != NULL)
		add_commands(batch, fetch);
	if (batch == NULL || sp_redis_batch_submit(batch, &how, &error) != SP_OK) {
		note(fetch, error.text);
		sp_remote_fetch_finish(fetch);
	}
	sp_redis_batch_release(batch);
}

static bool is_done(void *owner)
{
	return sp_remote_fetch_is_done(owner);
}

void sp_redis__help(sp_remote_fetch *fetch, int64_t deadline_ns)
{
	sp_redis_client_read(store_of(fetch)->client, deadline_ns, is_done, fetch);
}

void sp_redis__stop_helping(sp_remote_store *store)
{
	sp_redis_client_stop_reading(((sp_redis_store *)store)->client);
}
