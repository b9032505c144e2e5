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

	/*
	 * Nothing of the hash has come yet, though it may be elsewhere: of our layout its mark, of
	 * others any row.  Its rows are neither there nor absent.
	 */
	bool is_gone;
	sp_redis_cause cause; /* the first one */
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

static const char *const TEXTS[SP_REDIS_CAUSES] = {
	[SP_REDIS_LOST] = "Redis does not have all rows of the version any more",
	[SP_REDIS_OTHER_SIZE] = "a row in Redis has another size than the table's",
	[SP_REDIS_OTHER_FORM] = "Redis answers something else than rows",
	[SP_REDIS_OTHER_VERSION] = "the database in Redis has another version now",
};

static void blame(sp_remote_fetch *fetch, redis_piece *piece, sp_redis_cause cause)
{
	note(fetch, TEXTS[cause]);
	if (piece->cause == SP_REDIS_USEFUL)
		piece->cause = cause;
}

static void lack_row(sp_remote_fetch *fetch, const redis_piece *piece, size_t index)
{
	sp_remote_run_lacks(fetch, &piece->rows, index,
			    store_of(fetch)->layout == SP_REDIS_DEEPREC ? SP_REMOTE_ROW_MISSING
									: SP_REMOTE_ROW_ABSENT);
}

/* After a lost connection, or from the master, the same answer may come again. */
static void take_row(sp_remote_fetch *fetch, redis_piece *piece, size_t index,
		     const sp_redis_value *value)
{
	if (piece->is_gone && value->kind == SP_REDIS_NIL)
		return; /* until a row comes, or the answer ends */
	for (size_t i = 0; piece->is_gone && i < index; i++)
		lack_row(fetch, piece, i);
	piece->is_gone = false;
	if (value->kind == SP_REDIS_NIL)
		lack_row(fetch, piece, index);
	else if (value->kind == SP_REDIS_STRING && value->size == piece->rows.shelf->row_size)
		sp_remote_run_found(fetch, &piece->rows, index, value->text);
	else
		blame(fetch, piece, SP_REDIS_OTHER_SIZE);
}

static sp_redis_cause cause_of(const char *error)
{
	static const char *const words[SP_REDIS_CAUSES] = {
		[SP_REDIS_WRONG_TYPE] = "WRONGTYPE ",
		[SP_REDIS_NO_PERMISSION] = "NOPERM ",
		[SP_REDIS_LOADING] = "LOADING ",
		[SP_REDIS_MOVED] = "MOVED ",
	};
	int cause = SP_REDIS_WRONG_TYPE;

	while (words[cause] != NULL && strncmp(error, words[cause], strlen(words[cause])) != 0)
		cause++;
	return cause;
}

/* The whole answer to a command, or the beginning of it. */
static void take_root(sp_remote_fetch *fetch, redis_piece *piece, const sp_redis_value *value)
{
	size_t wanted = piece->rows.count + (store_of(fetch)->layout == SP_REDIS_VERSIONED);

	piece->is_wrong = true;
	piece->is_gone = false;
	piece->cause = SP_REDIS_USEFUL;
	if (value->kind == SP_REDIS_ERROR || value->kind == SP_REDIS_FAILED) {
		sp_remote_fetch_note(fetch, value->text, value->size);
	} else if (value->kind != SP_REDIS_ARRAY || value->integer != (int64_t)wanted) {
		blame(fetch, piece, SP_REDIS_OTHER_FORM);
	} else {
		piece->is_wrong = false;
		piece->is_gone = store_of(fetch)->layout != SP_REDIS_DEEPREC;
	}
}

static void take_check(sp_remote_fetch *fetch, redis_piece *piece, const sp_redis_value *value)
{
	int64_t full, latest;

	if (value->kind == SP_REDIS_STRING &&
	    sp_redis_deeprec_version_read(&full, &latest, (sp_bytes){value->text, value->size},
					  NULL) == SP_OK &&
	    full == store_of(fetch)->version.full)
		fetch->is_confirmed = true;
	else
		blame(fetch, piece, SP_REDIS_OTHER_VERSION);
}

static void take(void *owner, size_t command, const sp_redis_value *value)
{
	sp_remote_fetch *fetch = owner;
	redis_piece *piece = &question_of(fetch)->pieces[command];
	bool has_mark = store_of(fetch)->layout == SP_REDIS_VERSIONED;

	if (piece->is_check) {
		take_check(fetch, piece, value);
	} else if (value->depth == 0) {
		take_root(fetch, piece, value);
	} else if (piece->is_wrong || value->depth != 1) {
		return;
	} else if (!has_mark) {
		take_row(fetch, piece, value->index, value);
	} else if (value->index == 0) {
		piece->is_gone = value->kind != SP_REDIS_STRING ||
				 value->size != SP_REDIS_MARK_SIZE ||
				 memcmp(value->text, store_of(fetch)->mark, value->size) != 0;
	} else if (!piece->is_gone) {
		take_row(fetch, piece, value->index - 1, value);
	}
}

/* The server that has the hash's slot does not have the hash. */
static void conclude_gone(sp_remote_fetch *fetch, redis_piece *piece)
{
	if (store_of(fetch)->layout == SP_REDIS_VERSIONED) {
		atomic_store(&store_of(fetch)->has_loss, true);
		blame(fetch, piece, SP_REDIS_LOST);
		return;
	}
	for (size_t i = 0; i < piece->rows.count; i++)
		lack_row(fetch, piece, i);
}

static void tell(sp_remote_fetch *fetch, const redis_piece *piece, const sp_redis_ending *ending)
{
	sp_redis_cause cause = ending->error != NULL ? cause_of(ending->error) : piece->cause;
	char name[SP_REDIS_NAME_SIZE];

	if (cause != SP_REDIS_USEFUL)
		sp_log_limited(&store_of(fetch)->told[cause], SP_LOG_WARNING,
			       "table '%s': keys have no answer from Redis at %s: %s",
			       piece->rows.shelf->name, sp_redis_server_name(ending->server, name),
			       ending->error != NULL ? ending->error : TEXTS[cause]);
}

/*
 * A replica does not tell that a slot moves, and may be behind: only the master's word counts that
 * a hash is gone.  A hash moves as a whole, so of one that is there absent rows are absent.
 */
static bool ended(void *owner, size_t command, const sp_redis_ending *ending)
{
	sp_remote_fetch *fetch = owner;
	redis_piece *piece = &question_of(fetch)->pieces[command];

	if (piece->is_gone && ending->by_replica)
		return true;
	if (piece->is_gone)
		conclude_gone(fetch, piece);
	tell(fetch, piece, ending);
	return false;
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

	q->pieces[q->count++] = (redis_piece){.rows = sp_remote_run_at(fetch, 0), .is_check = true};
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
	static const sp_redis_sink sink = {.take = take, .ended = ended, .done = done};
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
