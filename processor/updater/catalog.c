#include "processor/updater/catalog.h"

#include <assert.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/buffer.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/json_text.h"
#include "processor/updater/found.h"

/* The live version, draining and waiting ones, and the last ones that are finished. */
enum { MAX_RECORDS = 64 };

static const int64_t REMINDER_NS = 60000000000; /* between two log lines about the same wait */

typedef struct record {
	uint64_t number;       /* 0: unused */
	sp_found_version name; /* owns its texts */
	sp_version_state state;
	int64_t known_ns;   /* when it was first seen */
	int64_t since_ns;   /* when it entered its state */
	int64_t told_ns;    /* when it was last logged */
	int64_t loading_ns; /* when its last load began */
	uint64_t rank;      /* order in which full checkpoints became the newest; 0: never */
	uint64_t files;     /* hash of its files; 0: unknown */
	uint64_t look;      /* the last look that found it */
	bool held;          /* waits for the end of a pin */
	bool rolled_back;   /* a rollback has replaced it */
	bool was_refused;   /* with these files and this `reason` */
	sp_status reason;
	int64_t refused_ns;
	char why[SP_ERROR_TEXT_SIZE];
} record;

struct sp_catalog {
	pthread_mutex_t lock; /* protects all fields below */
	uint64_t last_number, last_rank, look;
	uint64_t live;     /* 0: none yet */
	uint64_t newest;   /* on the disk; 0: not looked yet */
	int64_t behind_ns; /* since when the newest version is not live; 0: it is live */

	int64_t unreadable_ns; /* since when no version can be found; 0: they can */
	char unreadable_why[SP_ERROR_TEXT_SIZE];

	/* The pinned version. */
	bool pinned;
	int64_t pinned_full_step, pinned_delta_step, pinned_ns;
	char pinned_by[256];

	/* Counters since the start. */
	uint64_t moves[SP_VERSION_REFUSED + 1]; /* by new state */
	uint64_t refusals[SP_INTERNAL + 1];     /* by status */
	uint64_t events[SP_EVENT_PIN + 1];
	int64_t last_load_ns; /* from loading to live */
	int64_t last_fold_ns;

	record records[MAX_RECORDS];
};

const char *sp_version_state_name(sp_version_state state)
{
	static const char *const names[] = {"discovered", "loading", "warming", "live",
					    "draining",   "retired", "refused"};

	return (size_t)state < sizeof(names) / sizeof(names[0]) ? names[state] : "unknown";
}

sp_catalog *sp_catalog_create(void)
{
	sp_catalog *catalog = sp_alloc_zero(1, sizeof(*catalog));

	if (catalog != NULL)
		pthread_mutex_init(&catalog->lock, NULL);
	return catalog;
}

/* Iterates over the records in use: NULL gives the first, the last gives NULL. */
static record *next_record(sp_catalog *catalog, record *r)
{
	for (r = r == NULL ? catalog->records : r + 1; r < catalog->records + MAX_RECORDS; r++)
		if (r->number != 0)
			return r;
	return NULL;
}

static void clear(record *r)
{
	sp_found_drop(&r->name);
	*r = (record){.number = 0};
}

void sp_catalog_destroy(sp_catalog *catalog)
{
	if (catalog == NULL)
		return;
	for (record *r = NULL; (r = next_record(catalog, r)) != NULL;)
		clear(r);
	pthread_mutex_destroy(&catalog->lock);
	sp_free(catalog);
}

/* ------------------------------------------------------------------- records */

static bool is_same_full(const record *a, const record *b)
{
	return strcmp(a->name.full_prefix, b->name.full_prefix) == 0;
}

static record *find(sp_catalog *catalog, uint64_t number)
{
	if (number != 0)
		for (record *r = NULL; (r = next_record(catalog, r)) != NULL;)
			if (r->number == number)
				return r;
	return NULL;
}

/* The latest record of that name, other than `other`. */
static record *find_name(sp_catalog *catalog, const sp_found_version *name, const record *other)
{
	record *last = NULL;

	for (record *r = NULL; (r = next_record(catalog, r)) != NULL;)
		if (r != other && sp_found_is_same(&r->name, name) &&
		    (last == NULL || r->number > last->number))
			last = r;
	return last;
}

/* Whether it has not been loaded yet. */
static bool is_waiting(const record *r)
{
	return r->state == SP_VERSION_DISCOVERED || r->state == SP_VERSION_REFUSED;
}

/* A free record, or the oldest unneeded one, cleared; NULL: all are needed. */
static record *make_room(sp_catalog *catalog)
{
	record *oldest = NULL;

	for (size_t i = 0; i < MAX_RECORDS; i++) {
		record *r = &catalog->records[i];

		if (r->number == 0)
			return r;
		if ((is_waiting(r) || r->state == SP_VERSION_RETIRED) &&
		    r->number != catalog->newest && (oldest == NULL || r->number < oldest->number))
			oldest = r;
	}
	if (oldest != NULL)
		clear(oldest);
	return oldest;
}

/* Moves to intermediate states are logged for debugging only. */
static sp_log_level level_of(sp_version_state state)
{
	switch (state) {
	case SP_VERSION_REFUSED:
		return SP_LOG_WARNING;
	case SP_VERSION_DISCOVERED:
	case SP_VERSION_LIVE:
	case SP_VERSION_RETIRED:
		return SP_LOG_INFO;
	default:
		return SP_LOG_DEBUG;
	}
}

/* `how` follows the state in the log line. */
static void log_state(record *r, sp_log_level level, const char *how, int64_t now)
{
	const char *full = r->name.full_prefix, *delta = r->name.delta_prefix;
	const char *path = delta != NULL ? delta : full;
	char steps[SP_FOUND_STEPS_SIZE];

	r->told_ns = now;
	sp_log(level, "version %s is %s%s%s%s%s%s",
	       full[0] == '\0' ? "of the SavedModel"
			       : sp_found_steps(steps, r->name.full_step, r->name.delta_step),
	       sp_version_state_name(r->state), how, r->why[0] != '\0' ? ": " : "", r->why,
	       path[0] != '\0' ? ": " : "", path);
}

static void log_move(record *r, sp_version_state from, sp_log_level level, int64_t now)
{
	char how[64];

	snprintf(how, sizeof(how), " (%s for %" PRId64 " ms)", sp_version_state_name(from),
		 (now - r->since_ns) / 1000000);
	log_state(r, level, how, now);
}

/* Updates behind_ns after a change of `newest` or `live`. */
static void update_lag(sp_catalog *catalog, int64_t now)
{
	if (catalog->newest == 0 || catalog->newest == catalog->live)
		catalog->behind_ns = 0;
	else if (catalog->behind_ns == 0)
		catalog->behind_ns = now;
}

static void discover(sp_catalog *catalog, record *r, int64_t now)
{
	r->number = ++catalog->last_number;
	r->state = SP_VERSION_DISCOVERED;
	r->since_ns = now;
	r->look = catalog->look;
	r->why[0] = '\0';
	r->rolled_back = r->was_refused = false;
	catalog->moves[SP_VERSION_DISCOVERED]++;
	log_state(r, level_of(r->state), "", now);
}

static record *add(sp_catalog *catalog, const sp_found_version *found)
{
	record *added = make_room(catalog);
	int64_t now = sp_clock_now_ns();

	if (added == NULL || !sp_found_keep(&added->name, found))
		return NULL;
	added->known_ns = now;
	discover(catalog, added, now);
	for (record *r = NULL; (r = next_record(catalog, r)) != NULL;)
		if (is_same_full(r, added) && r->rank > added->rank)
			added->rank = r->rank;
	return added;
}

/* The record for loading that name: a waiting one, else a retired one, else a new one. */
static record *find_or_add(sp_catalog *catalog, const sp_found_version *found)
{
	record *r = find_name(catalog, found, NULL);
	bool is_newest = r != NULL && r->number == catalog->newest;

	if (r == NULL || (!is_waiting(r) && r->state != SP_VERSION_RETIRED))
		r = add(catalog, found);
	else if (r->state == SP_VERSION_RETIRED)
		discover(catalog, r, sp_clock_now_ns());
	if (r != NULL && is_newest)
		catalog->newest = r->number;
	return r;
}

uint64_t sp_catalog_number(sp_catalog *catalog, const sp_found_version *found)
{
	uint64_t number = 0;
	record *r;

	pthread_mutex_lock(&catalog->lock);
	r = find_or_add(catalog, found);
	if (r != NULL) {
		r->look = catalog->look;
		number = r->number;
		update_lag(catalog, sp_clock_now_ns());
	}
	pthread_mutex_unlock(&catalog->lock);
	return number;
}

/* Whether it is time to log its wait again. */
static bool is_to_be_told(const record *r, int64_t now)
{
	return r->state == SP_VERSION_DISCOVERED && r->why[0] != '\0' &&
	       now - r->told_ns >= REMINDER_NS;
}

uint64_t sp_catalog_remind(sp_catalog *catalog, const sp_found_version *found)
{
	int64_t now = sp_clock_now_ns();
	uint64_t number = 0;
	record *r;

	pthread_mutex_lock(&catalog->lock);
	r = find_name(catalog, found, NULL);
	if (r != NULL && r->state == SP_VERSION_DISCOVERED) {
		number = r->number;
		r->look = catalog->look;
		if (is_to_be_told(r, now))
			log_move(r, r->state, level_of(r->state), now);
	}
	pthread_mutex_unlock(&catalog->lock);
	return number;
}

/* --------------------------------------------------------------------- moves */

/* The transitions shown in catalog.h. */
static bool may_move(sp_version_state from, sp_version_state to)
{
#define TO(state) (1u << SP_VERSION_##state)
	static const unsigned char arrows[] = {
		[SP_VERSION_DISCOVERED] = TO(LOADING) | TO(REFUSED),
		[SP_VERSION_LOADING] = TO(WARMING) | TO(REFUSED) | TO(DISCOVERED),
		[SP_VERSION_WARMING] = TO(LIVE) | TO(REFUSED) | TO(DISCOVERED),
		[SP_VERSION_LIVE] = TO(DRAINING),
		[SP_VERSION_DRAINING] = TO(RETIRED) | TO(REFUSED),
		[SP_VERSION_RETIRED] = TO(REFUSED),
		[SP_VERSION_REFUSED] = TO(DISCOVERED) | TO(LOADING),
	};
#undef TO
	return from == to || (arrows[from] >> to & 1) != 0;
}

/* After a change of state: counts and logs it. */
static void enter(sp_catalog *catalog, record *r, sp_version_state from, int64_t now)
{
	log_move(r, from, level_of(r->state), now);
	r->since_ns = now;
	catalog->moves[r->state]++;
	switch (r->state) {
	case SP_VERSION_DISCOVERED:
		r->was_refused = false;
		break;
	case SP_VERSION_LOADING:
		r->loading_ns = now;
		break;
	case SP_VERSION_LIVE:
		r->was_refused = false;
		catalog->last_load_ns = now - r->loading_ns;
		catalog->live = r->number;
		break;
	case SP_VERSION_REFUSED:
		r->was_refused = true;
		r->refused_ns = now;
		if (!r->rolled_back)
			catalog->refusals[(size_t)r->reason <= SP_INTERNAL ? r->reason
									   : SP_INTERNAL]++;
		break;
	default:
		break;
	}
	update_lag(catalog, now);
}

static void move(sp_catalog *catalog, record *r, sp_version_state to, const sp_error *why)
{
	const char *words = why != NULL ? why->text : "";
	sp_version_state from = r->state;
	int64_t now = sp_clock_now_ns();
	bool told = strcmp(r->why, words) == 0 && !is_to_be_told(r, now), repeated;

	assert(may_move(from, to));
	repeated = to == SP_VERSION_REFUSED && r->was_refused && why != NULL &&
		   r->reason == why->status;
	r->state = to;
	if (to == SP_VERSION_REFUSED)
		r->reason = why != NULL ? why->status : SP_INTERNAL;
	else if (to == SP_VERSION_LOADING)
		r->rolled_back = false;
	r->held = false;
	snprintf(r->why, sizeof(r->why), "%s", words);
	if (from != to && repeated) {
		/* A retry failed for the same reason: not counted or logged again. */
		log_move(r, from, SP_LOG_DEBUG, now);
		r->since_ns = r->refused_ns;
	} else if (from != to) {
		enter(catalog, r, from, now);
	} else if (!told) {
		log_move(r, from, level_of(to), now);
	}
}

static void retire(sp_catalog *catalog, record *r)
{
	sp_error why = {.status = SP_BUSY};
	record *same_name;

	snprintf(why.text, sizeof(why.text), "%s", r->why);
	if (r->rolled_back)
		move(catalog, r, SP_VERSION_REFUSED, &why);
	else
		move(catalog, r, SP_VERSION_RETIRED, NULL);
	/* If the same version was loaded again, only the new one stays listed. */
	same_name = find_name(catalog, &r->name, r);
	if (same_name == NULL)
		return;
	if (catalog->newest == r->number)
		catalog->newest = same_name->number;
	clear(r);
}

void sp_catalog_move(sp_catalog *catalog, uint64_t number, sp_version_state to, const sp_error *why)
{
	record *r;

	pthread_mutex_lock(&catalog->lock);
	r = find(catalog, number);
	if (r != NULL && to == SP_VERSION_RETIRED && r->state == SP_VERSION_DRAINING)
		retire(catalog, r);
	else if (r != NULL && !(to == SP_VERSION_RETIRED && r->rolled_back))
		move(catalog, r, to, why);
	pthread_mutex_unlock(&catalog->lock);
}

void sp_catalog_note_files(sp_catalog *catalog, uint64_t number, uint64_t files)
{
	static const sp_error changed = {.text = "its files have changed"};
	record *r;

	pthread_mutex_lock(&catalog->lock);
	r = find(catalog, number);
	if (r != NULL && r->state == SP_VERSION_REFUSED && r->files != 0 && r->files != files)
		move(catalog, r, SP_VERSION_DISCOVERED, &changed);
	if (r != NULL)
		r->files = files;
	pthread_mutex_unlock(&catalog->lock);
}

void sp_catalog_mark_rolled_back(sp_catalog *catalog, uint64_t number, const char *why)
{
	record *r;

	pthread_mutex_lock(&catalog->lock);
	r = find(catalog, number);
	if (r != NULL && (r->state == SP_VERSION_DRAINING || r->state == SP_VERSION_RETIRED)) {
		r->rolled_back = true;
		snprintf(r->why, sizeof(r->why), "%s", why);
		if (r->state == SP_VERSION_RETIRED)
			retire(catalog, r);
	}
	pthread_mutex_unlock(&catalog->lock);
}

/* ---------------------------------------------------------- what is on the disk */

/* Ranks order full checkpoints; the deltas of one are ordered by their steps. */
static void take_newest(sp_catalog *catalog, const record *newest)
{
	const record *before = find(catalog, catalog->newest);

	if (before == NULL || !is_same_full(before, newest)) {
		catalog->last_rank++;
		for (record *r = NULL; (r = next_record(catalog, r)) != NULL;)
			if (is_same_full(r, newest))
				r->rank = catalog->last_rank;
	}
	catalog->newest = newest->number;
	update_lag(catalog, sp_clock_now_ns());
}

void sp_catalog_set_newest(sp_catalog *catalog, const sp_found_version *found, const char *pinned)
{
	sp_error why = {.status = SP_BUSY};
	record *r, *same_name;

	pthread_mutex_lock(&catalog->lock);
	if (found == NULL) {
		/* The live version is the newest: drop a waiting record of the same name. */
		r = find(catalog, catalog->live);
		same_name = r != NULL ? find_name(catalog, &r->name, r) : NULL;
		if (same_name != NULL && is_waiting(same_name))
			clear(same_name);
	} else {
		r = find_name(catalog, found, NULL);
		if (r == NULL)
			r = add(catalog, found);
	}
	if (r != NULL) {
		r->look = catalog->look;
		take_newest(catalog, r);
	}
	if (r != NULL && pinned != NULL && r->state == SP_VERSION_DISCOVERED) {
		/* It waits for the end of the pin: this replaces any other reason. */
		snprintf(why.text, sizeof(why.text), "%s", pinned);
		move(catalog, r, SP_VERSION_DISCOVERED, &why);
		r->held = true;
	}
	pthread_mutex_unlock(&catalog->lock);
}

uint64_t sp_catalog_next_waiting(sp_catalog *catalog, uint64_t after, sp_found_version *out,
				 sp_arena *arena)
{
	const record *next = NULL;
	uint64_t number = 0;

	pthread_mutex_lock(&catalog->lock);
	for (record *r = NULL; (r = next_record(catalog, r)) != NULL;)
		if (r->number > after && is_waiting(r) && r->look != catalog->look &&
		    (next == NULL || r->number < next->number))
			next = r;
	if (next != NULL && sp_found_copy(out, &next->name, arena))
		number = next->number;
	pthread_mutex_unlock(&catalog->lock);
	return number;
}

void sp_catalog_forget(sp_catalog *catalog, uint64_t number)
{
	record *r;

	pthread_mutex_lock(&catalog->lock);
	r = find(catalog, number);
	if (r != NULL && is_waiting(r)) {
		if (catalog->newest == number)
			catalog->newest = catalog->live;
		clear(r);
		update_lag(catalog, sp_clock_now_ns());
	}
	pthread_mutex_unlock(&catalog->lock);
}

void sp_catalog_end_look(sp_catalog *catalog)
{
	pthread_mutex_lock(&catalog->lock);
	catalog->look++;
	pthread_mutex_unlock(&catalog->lock);
}

void sp_catalog_pin(sp_catalog *catalog, const sp_found_version *found, const char *by)
{
	pthread_mutex_lock(&catalog->lock);
	catalog->pinned = found != NULL;
	if (found != NULL) {
		catalog->pinned_full_step = found->full_step;
		catalog->pinned_delta_step = found->delta_step;
		catalog->pinned_ns = sp_clock_now_ns();
		snprintf(catalog->pinned_by, sizeof(catalog->pinned_by), "%s", by);
	} else {
		/* No version waits for the pin any more. */
		for (record *r = NULL; (r = next_record(catalog, r)) != NULL;) {
			if (r->held)
				r->why[0] = '\0';
			r->held = false;
		}
	}
	pthread_mutex_unlock(&catalog->lock);
}

void sp_catalog_count(sp_catalog *catalog, sp_catalog_event event, int64_t took_ns)
{
	pthread_mutex_lock(&catalog->lock);
	catalog->events[event]++;
	if (event == SP_EVENT_FOLD)
		catalog->last_fold_ns = took_ns;
	pthread_mutex_unlock(&catalog->lock);
}

void sp_catalog_set_unreadable(sp_catalog *catalog, const sp_error *why)
{
	pthread_mutex_lock(&catalog->lock);
	if (why == NULL)
		catalog->unreadable_ns = 0;
	else if (catalog->unreadable_ns == 0)
		catalog->unreadable_ns = sp_clock_now_ns();
	snprintf(catalog->unreadable_why, sizeof(catalog->unreadable_why), "%s",
		 why != NULL ? why->text : "");
	pthread_mutex_unlock(&catalog->lock);
}

sp_version_state sp_catalog_state(sp_catalog *catalog, uint64_t number)
{
	sp_version_state state;
	const record *r;

	pthread_mutex_lock(&catalog->lock);
	r = find(catalog, number);
	state = r != NULL ? r->state : SP_VERSION_RETIRED;
	pthread_mutex_unlock(&catalog->lock);
	return state;
}

/* --------------------------------------------------------------- what is told */

/* Whether it is newer than the live version and not served. */
static bool is_ahead(const sp_catalog *catalog, const record *r, const record *live)
{
	if (r == live || r->number == catalog->newest)
		return r != live;
	if (r->state == SP_VERSION_DRAINING || r->state == SP_VERSION_RETIRED)
		return false;
	if (live != NULL && is_same_full(r, live))
		return r->name.delta_step > live->name.delta_step;
	return live == NULL || r->rank > live->rank;
}

/* How long the oldest newer version has been known, but not longer than since behind_ns. */
static int64_t lag_ns(sp_catalog *catalog, const record *live, int64_t now)
{
	int64_t first = now;

	for (record *r = NULL; (r = next_record(catalog, r)) != NULL;)
		if (is_ahead(catalog, r, live) && r->known_ns < first)
			first = r->known_ns;
	return now - (first > catalog->behind_ns ? first : catalog->behind_ns);
}

static void put_version(sp_buffer *json, const record *r, bool is_newer, int64_t now)
{
	sp_buffer_append_text(json, "{\"full\":");
	sp_json_text_append(json, sp_bytes_of(r->name.full_prefix));
	if (r->name.delta_prefix != NULL) {
		sp_buffer_append_text(json, ",\"delta\":");
		sp_json_text_append(json, sp_bytes_of(r->name.delta_prefix));
	}
	sp_buffer_printf(json,
			 ",\"full_step\":%" PRId64 ",\"delta_step\":%" PRId64
			 ",\"state\":\"%s\",\"for_ms\":%" PRId64 ",\"known_ms\":%" PRId64
			 ",\"why\":",
			 r->name.full_step, r->name.delta_step, sp_version_state_name(r->state),
			 (now - r->since_ns) / 1000000, (now - r->known_ns) / 1000000);
	sp_json_text_append(json, sp_bytes_of(r->why));
	if (is_newer)
		sp_buffer_append_text(json, ",\"newer\":true");
	if (r->state == SP_VERSION_REFUSED)
		sp_buffer_printf(json, ",\"reason\":\"%s\"",
				 r->rolled_back ? "rolled_back" : sp_status_name(r->reason));
	sp_buffer_append_char(json, '}');
}

/* Newest first. */
static void put_versions(sp_buffer *json, sp_catalog *catalog, const record *live, int64_t now)
{
	uint64_t below = UINT64_MAX;
	const char *between = "";

	for (;;) {
		const record *next = NULL;

		for (record *r = NULL; (r = next_record(catalog, r)) != NULL;)
			if (r->number < below && (next == NULL || r->number > next->number))
				next = r;
		if (next == NULL)
			return;
		sp_buffer_append_text(json, between);
		put_version(json, next, is_ahead(catalog, next, live), now);
		below = next->number;
		between = ",";
	}
}

/* Appends ,"NAME":{"full_step":...,"delta_step":...,"WHAT_ms":... without the closing brace. */
static void put_steps(sp_buffer *json, const char *name, int64_t full_step, int64_t delta_step,
		      const char *what, int64_t ns)
{
	sp_buffer_printf(json,
			 ",\"%s\":{\"full_step\":%" PRId64 ",\"delta_step\":%" PRId64
			 ",\"%s_ms\":%" PRId64,
			 name, full_step, delta_step, what, ns / 1000000);
}

static void put_counts(sp_buffer *json, const sp_catalog *c)
{
	const char *between = "";

	sp_buffer_printf(json,
			 ",\"counts\":{\"loads\":%" PRIu64 ",\"published\":%" PRIu64
			 ",\"last_load_ms\":%" PRId64 ",\"refusals\":{",
			 c->moves[SP_VERSION_LOADING], c->moves[SP_VERSION_LIVE],
			 c->last_load_ns / 1000000);
	for (size_t i = 0; i <= SP_INTERNAL; i++)
		if (c->refusals[i] != 0) {
			sp_buffer_printf(json, "%s\"%s\":%" PRIu64, between,
					 sp_status_name((sp_status)i), c->refusals[i]);
			between = ",";
		}
	sp_buffer_append_text(json, "},\"moves\":{");
	for (size_t i = 0; i <= SP_VERSION_REFUSED; i++)
		sp_buffer_printf(json, "%s\"%s\":%" PRIu64, i != 0 ? "," : "",
				 sp_version_state_name((sp_version_state)i), c->moves[i]);
	sp_buffer_printf(json,
			 "},\"folds\":%" PRIu64 ",\"last_fold_ms\":%" PRId64 ",\"reloads\":%" PRIu64
			 ",\"rollbacks\":%" PRIu64 ",\"pins\":%" PRIu64 "}",
			 c->events[SP_EVENT_FOLD], c->last_fold_ns / 1000000,
			 c->events[SP_EVENT_RELOAD], c->events[SP_EVENT_ROLLBACK],
			 c->events[SP_EVENT_PIN]);
}

static void put_all(sp_buffer *json, sp_catalog *c, int64_t now)
{
	const record *live = find(c, c->live);
	const record *newest = c->newest != 0 ? find(c, c->newest) : live;

	sp_buffer_append_text(json, "{\"versions\":[");
	put_versions(json, c, live, now);
	sp_buffer_append_char(json, ']');
	if (live != NULL) {
		put_steps(json, "live", live->name.full_step, live->name.delta_step, "for",
			  now - live->since_ns);
		sp_buffer_append_char(json, '}');
	}
	if (newest != NULL) {
		put_steps(json, "newest", newest->name.full_step, newest->name.delta_step, "lag",
			  lag_ns(c, live, now));
		sp_buffer_append_char(json, '}');
	}
	if (c->unreadable_ns != 0) {
		sp_buffer_printf(json, ",\"unreadable\":{\"for_ms\":%" PRId64 ",\"why\":",
				 (now - c->unreadable_ns) / 1000000);
		sp_json_text_append(json, sp_bytes_of(c->unreadable_why));
		sp_buffer_append_char(json, '}');
	}
	if (c->pinned) {
		put_steps(json, "pinned", c->pinned_full_step, c->pinned_delta_step, "for",
			  now - c->pinned_ns);
		sp_buffer_append_text(json, ",\"by\":");
		sp_json_text_append(json, sp_bytes_of(c->pinned_by));
		sp_buffer_append_char(json, '}');
	}
	put_counts(json, c);
	sp_buffer_append_char(json, '}');
}

char *sp_catalog_json(sp_catalog *catalog)
{
	int64_t now = sp_clock_now_ns();
	sp_buffer json;
	size_t size;
	char *text;

	sp_buffer_init(&json, 4 << 20);
	pthread_mutex_lock(&catalog->lock);
	put_all(&json, catalog, now);
	pthread_mutex_unlock(&catalog->lock);
	text = sp_buffer_take(&json, &size);
	sp_buffer_fini(&json);
	return text;
}
