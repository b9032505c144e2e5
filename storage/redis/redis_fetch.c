#include <string.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "storage/redis/redis_tier_internal.h"

/*
 * Fetches rows from Redis: a command per hash, several for more than 512 keys of one hash.  Replies
 * come in the client's thread, or in that of a call that waits.
 */

enum {
	PIECE = 512, /* keys of a command: a longer one would delay others in Redis */
	MS = 1000000,
	LATE_MS = 1000, /* replies that no call waits for any more are still cached */
};

/* The rows of a command. */
typedef struct redis_piece {
	sp_remote_range rows;
	bool is_version;   /* deeprec: the command reads the version, not rows */
	bool is_malformed; /* the reply is not of the expected form */

	/*
	 * Nothing of the hash has been seen yet: in our layout its mark, in others any row.  If
	 * that stays so, the hash is missing, and its rows are not known to be absent.
	 */
	bool may_be_missing;
	sp_redis_fault fault; /* the first one */
} redis_piece;

/* In fetch->source_state. */
typedef struct fetch_state {
	size_t count;
	redis_piece pieces[];
} fetch_state;

/* At worst each row is a piece, and one more reads the version. */
size_t sp_redis__fetch_state_size(size_t count)
{
	return sizeof(fetch_state) + (count + 1) * sizeof(redis_piece);
}

static fetch_state *state_of(const sp_remote_fetch *fetch)
{
	return fetch->source_state;
}

static sp_redis_store *store_of(const sp_remote_fetch *fetch)
{
	return (sp_redis_store *)fetch->store;
}

static sp_redis_table *table_of(const sp_remote_row *row)
{
	return (sp_redis_table *)row->table;
}

/* ---- replies ---- */

static void set_reason(sp_remote_fetch *fetch, const char *text)
{
	sp_remote_fetch_set_reason(fetch, text, strlen(text));
}

static const char *const TEXTS[SP_REDIS_FAULTS] = {
	[SP_REDIS_LOST] = "Redis does not have all rows of the version any more",
	[SP_REDIS_OTHER_SIZE] = "a row in Redis has another size than the table's",
	[SP_REDIS_OTHER_FORM] = "Redis answers something else than rows",
	[SP_REDIS_OTHER_VERSION] = "the database in Redis has another version now",
};

static void set_fault(sp_remote_fetch *fetch, redis_piece *piece, sp_redis_fault fault)
{
	set_reason(fetch, TEXTS[fault]);
	if (piece->fault == SP_REDIS_NO_FAULT)
		piece->fault = fault;
}

static void set_absent(sp_remote_fetch *fetch, const redis_piece *piece, size_t index)
{
	sp_remote_range_not_found(fetch, &piece->rows, index,
				  store_of(fetch)->layout == SP_REDIS_DEEPREC
					  ? SP_REMOTE_ROW_UNCONFIRMED
					  : SP_REMOTE_ROW_ABSENT);
}

/* The same reply may come again, after a lost connection or from the master. */
static void on_row(sp_remote_fetch *fetch, redis_piece *piece, size_t index,
		   const sp_redis_value *value)
{
	if (piece->may_be_missing && value->kind == SP_REDIS_NIL)
		return; /* until a row is found, or the reply ends */
	for (size_t i = 0; piece->may_be_missing && i < index; i++)
		set_absent(fetch, piece, i);
	piece->may_be_missing = false;
	if (value->kind == SP_REDIS_NIL)
		set_absent(fetch, piece, index);
	else if (value->kind == SP_REDIS_STRING && value->size == piece->rows.table->row_size)
		sp_remote_range_found(fetch, &piece->rows, index, value->text);
	else
		set_fault(fetch, piece, SP_REDIS_OTHER_SIZE);
}

static sp_redis_fault fault_of(const char *error)
{
	static const char *const words[SP_REDIS_FAULTS] = {
		[SP_REDIS_WRONG_TYPE] = "WRONGTYPE ",
		[SP_REDIS_NO_PERMISSION] = "NOPERM ",
		[SP_REDIS_LOADING] = "LOADING ",
		[SP_REDIS_MOVED] = "MOVED ",
	};
	int fault = SP_REDIS_WRONG_TYPE;

	while (words[fault] != NULL && strncmp(error, words[fault], strlen(words[fault])) != 0)
		fault++;
	return fault;
}

/* The first value of a reply. */
static void on_reply_start(sp_remote_fetch *fetch, redis_piece *piece, const sp_redis_value *value)
{
	size_t expected = piece->rows.count + (store_of(fetch)->layout == SP_REDIS_VERSIONED);

	piece->is_malformed = true;
	piece->may_be_missing = false;
	piece->fault = SP_REDIS_NO_FAULT;
	if (value->kind == SP_REDIS_ERROR || value->kind == SP_REDIS_FAILED) {
		sp_remote_fetch_set_reason(fetch, value->text, value->size);
	} else if (value->kind != SP_REDIS_ARRAY || value->integer != (int64_t)expected) {
		set_fault(fetch, piece, SP_REDIS_OTHER_FORM);
	} else {
		piece->is_malformed = false;
		piece->may_be_missing = store_of(fetch)->layout != SP_REDIS_DEEPREC;
	}
}

static void on_version(sp_remote_fetch *fetch, redis_piece *piece, const sp_redis_value *value)
{
	int64_t full, latest;

	if (value->kind == SP_REDIS_STRING &&
	    sp_redis_deeprec_version_read(&full, &latest, (sp_bytes){value->text, value->size},
					  NULL) == SP_OK &&
	    full == store_of(fetch)->version.full)
		fetch->is_confirmed = true;
	else
		set_fault(fetch, piece, SP_REDIS_OTHER_VERSION);
}

static void on_value(void *owner, size_t command, const sp_redis_value *value)
{
	sp_remote_fetch *fetch = owner;
	redis_piece *piece = &state_of(fetch)->pieces[command];
	bool has_mark = store_of(fetch)->layout == SP_REDIS_VERSIONED;

	if (piece->is_version) {
		on_version(fetch, piece, value);
	} else if (value->depth == 0) {
		on_reply_start(fetch, piece, value);
	} else if (piece->is_malformed || value->depth != 1) {
		return;
	} else if (!has_mark) {
		on_row(fetch, piece, value->index, value);
	} else if (value->index == 0) {
		piece->may_be_missing = value->kind != SP_REDIS_STRING ||
					value->size != SP_REDIS_MARK_SIZE ||
					memcmp(value->text, store_of(fetch)->mark, value->size) !=
						0;
	} else if (!piece->may_be_missing) {
		on_row(fetch, piece, value->index - 1, value);
	}
}

/* The master of the hash's slot does not have the hash. */
static void on_hash_missing(sp_remote_fetch *fetch, redis_piece *piece)
{
	if (store_of(fetch)->layout == SP_REDIS_VERSIONED) {
		atomic_store(&store_of(fetch)->has_loss, true);
		set_fault(fetch, piece, SP_REDIS_LOST);
		return;
	}
	for (size_t i = 0; i < piece->rows.count; i++)
		set_absent(fetch, piece, i);
}

static void log_fault(sp_remote_fetch *fetch, const redis_piece *piece,
		      const sp_redis_reply_info *info)
{
	sp_redis_fault fault = info->error != NULL ? fault_of(info->error) : piece->fault;
	char name[SP_REDIS_NAME_SIZE];

	if (fault != SP_REDIS_NO_FAULT)
		sp_log_limited(&store_of(fetch)->log_limits[fault], SP_LOG_WARNING,
			       "table '%s': keys have no answer from Redis at %s: %s",
			       piece->rows.table->name, sp_redis_server_name(info->server, name),
			       info->error != NULL ? info->error : TEXTS[fault]);
}

/*
 * A replica does not report that a slot moves, and may lag behind; so only the master decides that
 * a hash is missing.  A hash moves as a whole, so if it exists, rows that it lacks are absent.
 */
static bool on_reply_end(void *owner, size_t command, const sp_redis_reply_info *info)
{
	sp_remote_fetch *fetch = owner;
	redis_piece *piece = &state_of(fetch)->pieces[command];

	if (piece->may_be_missing && info->by_replica)
		return true;
	if (piece->may_be_missing)
		on_hash_missing(fetch, piece);
	log_fault(fetch, piece, info);
	return false;
}

static void on_done(void *owner)
{
	sp_remote_fetch_finish(owner);
}

/* ---- commands ---- */

static void add_hash(sp_redis_batch *batch, const sp_remote_fetch *fetch, const redis_piece *piece)
{
	const sp_remote_row *rows = &fetch->rows[piece->rows.first];
	const sp_redis_table *table = table_of(rows);
	const char *hash = table->hashes[rows->partition];
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
						  has_mark ? sizeof(field) : table->key_size));
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
							table_of(row)->features[row->partition],
							row->key, table_of(row)->key_size));
	}
}

/* Sent after the rows: if the version is still there, it was there when they were read. */
static void add_version(sp_redis_batch *batch, sp_remote_fetch *fetch)
{
	fetch_state *s = state_of(fetch);

	s->pieces[s->count++] = (redis_piece){.rows = sp_remote_range_at(fetch, 0),
					      .is_version = true};
	sp_redis_batch_begin(batch, NULL, 0, 2);
	sp_redis_batch_add(batch, "GET", 3);
	sp_redis_batch_add_text(batch, SP_REDIS_DEEPREC_VERSION);
}

static bool fits_in_piece(const sp_remote_fetch *fetch, const redis_piece *piece, size_t i)
{
	const sp_remote_row *first = &fetch->rows[piece->rows.first], *row = &fetch->rows[i];

	return piece->rows.count < PIECE && row->table == first->table &&
	       (store_of(fetch)->layout == SP_REDIS_DEEPREC || row->partition == first->partition);
}

static void add_commands(sp_redis_batch *batch, sp_remote_fetch *fetch)
{
	bool by_hash = store_of(fetch)->layout != SP_REDIS_DEEPREC;
	fetch_state *s = state_of(fetch);

	for (size_t i = 0; i < fetch->count;) {
		redis_piece *piece = &s->pieces[s->count++];

		*piece = (redis_piece){.rows = sp_remote_range_at(fetch, i)};
		for (; i < fetch->count && fits_in_piece(fetch, piece, i); i++)
			piece->rows.count++;
		if (by_hash)
			add_hash(batch, fetch, piece);
		else
			add_strings(batch, fetch, piece);
	}
	if (!by_hash)
		add_version(batch, fetch);
}

void sp_redis__send(sp_remote_fetch *fetch)
{
	static const sp_redis_callbacks callbacks = {
		.on_value = on_value, .on_reply_end = on_reply_end, .on_done = on_done};
	const sp_redis_submit_options how = {.deadline_ns = sp_clock_now_ns() +
							    (int64_t)LATE_MS * MS,
					     .is_read_only = true,
					     .fail_fast = true,
					     .caller_reads = true,
					     .callbacks = &callbacks,
					     .owner = fetch};
	sp_redis_batch *batch = sp_redis_batch_create(store_of(fetch)->client);
	sp_error error = {.text = "no memory"};

	*state_of(fetch) = (fetch_state){0};
	if (batch != NULL)
		add_commands(batch, fetch);
	if (batch == NULL || sp_redis_batch_submit(batch, &how, &error) != SP_OK) {
		set_reason(fetch, error.text);
		sp_remote_fetch_finish(fetch);
	}
	sp_redis_batch_release(batch);
}

static bool is_done(void *owner)
{
	return sp_remote_fetch_is_done(owner);
}

void sp_redis__poll(sp_remote_fetch *fetch, int64_t deadline_ns)
{
	sp_redis_client_read(store_of(fetch)->client, deadline_ns, is_done, fetch);
}

void sp_redis__stop_polling(sp_remote_store *store)
{
	sp_redis_client_stop_reading(((sp_redis_store *)store)->client);
}
