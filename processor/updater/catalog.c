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
#include "processor/request/json_text.h"

/* One is live, a few drain, some wait; the rest is history. */
enum { MAX_RECORDS = 64 };

/* Between two lines that say what a version waits for. */
static const int64_t REMINDER_NS = 60000000000;

typedef struct record {
	uint64_t number; /* 0: the place is free */
	char *full;      /* "" for the SavedModel's own weights */
	char *delta;     /* NULL: none */
	int64_t full_step;
	int64_t delta_step;
	sp_version_state state;
	int64_t known_ns; /* since when */
	int64_t since_ns;
	int64_t told_ns;    /* the last line in the log */
	int64_t loading_ns; /* when it began to be loaded the last time */
	uint64_t rank; /* of its full checkpoint: the later the newest one, the greater; 0: never */
	uint64_t files;   /* what it is made of; 0: not known */
	uint64_t look;    /* the one that has asked for it last */
	bool held;        /* it waits because another one is pinned */
	bool barred;      /* a rollback has left it */
	bool was_refused; /* as it is on the disk, for this: */
	sp_status reason;
	int64_t refused_ns;
	char why[SP_ERROR_TEXT_SIZE];
} record;

/* What an order holds. */
typedef struct pin {
	bool holds;
	int64_t full_step;
	int64_t delta_step;
	int64_t since_ns;
	char by[256];
} pin;

/* Of all versions there ever were. */
typedef struct counts {
	uint64_t moves[SP_VERSION_REFUSED + 1]; /* by the state they led to */
	uint64_t refused[SP_INTERNAL + 1];      /* by status */
	uint64_t events[SP_EVENT_PIN + 1];
	int64_t last_load_ns; /* from loading to live */
	int64_t last_fold_ns;
} counts;

struct sp_catalog {
	pthread_mutex_t lock; /* protects all of it */
	counts counts;
	uint64_t last_number, last_rank, look;
	uint64_t live;     /* 0: none yet */
	uint64_t newest;   /* on the disk; 0: nobody has looked */
	int64_t behind_ns; /* since when the newest is not live; 0: it is */
	pin pin;
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

static void clear(record *r)
{
	sp_free(r->full);
	sp_free(r->delta);
	*r = (record){0};
}

void sp_catalog_destroy(sp_catalog *catalog)
{
	if (catalog == NULL)
		return;
	for (size_t i = 0; i < MAX_RECORDS; i++)
		clear(&catalog->records[i]);
	pthread_mutex_destroy(&catalog->lock);
	sp_free(catalog);
}

/* ------------------------------------------------------------------- records */

static bool is_of(const record *r, const sp_found_version *found)
{
	const char *full = found != NULL ? found->full_prefix : "";
	const char *delta = found != NULL ? found->delta_prefix : NULL;

	if (r->number == 0 || strcmp(r->full, full) != 0)
		return false;
	return r->delta == NULL || delta == NULL ? r->delta == delta : strcmp(r->delta, delta) == 0;
}

static bool is_same_full(const record *a, const record *b)
{
	return strcmp(a->full, b->full) == 0;
}

static bool is_same_name(const record *a, const record *b)
{
	return is_same_full(a, b) &&
	       (a->delta == NULL || b->delta == NULL ? a->delta == b->delta
						     : strcmp(a->delta, b->delta) == 0);
}

static record *find(const sp_catalog *catalog, uint64_t number)
{
	for (size_t i = 0; number != 0 && i < MAX_RECORDS; i++)
		if (catalog->records[i].number == number)
			return (record *)&catalog->records[i];
	return NULL;
}

/* The last one of that name. */
static record *find_name(sp_catalog *catalog, const sp_found_version *found)
{
	record *last = NULL;

	for (size_t i = 0; i < MAX_RECORDS; i++) {
		record *r = &catalog->records[i];

		if (is_of(r, found) && (last == NULL || r->number > last->number))
			last = r;
	}
	return last;
}

/* Another one of the same name. */
static record *find_twin(sp_catalog *catalog, const record *of)
{
	for (size_t i = 0; i < MAX_RECORDS; i++) {
		record *r = &catalog->records[i];

		if (r != of && r->number != 0 && is_same_name(r, of))
			return r;
	}
	return NULL;
}

/* It has not been loaded. */
static bool is_waiting(const record *r)
{
	return r->state == SP_VERSION_DISCOVERED || r->state == SP_VERSION_REFUSED;
}

/* A free place, or that of the oldest version that is over. */
static record *make_room(sp_catalog *catalog)
{
	record *oldest = NULL;

	for (size_t i = 0; i < MAX_RECORDS; i++) {
		record *r = &catalog->records[i];

		if ((r->number == 0 || is_waiting(r) || r->state == SP_VERSION_RETIRED) &&
		    (r->number == 0 || r->number != catalog->newest) &&
		    (oldest == NULL || r->number < oldest->number))
			oldest = r;
	}
	if (oldest != NULL)
		clear(oldest);
	return oldest;
}

/* "step 100, delta 120" */
static const char *name_of(const record *r, char text[64])
{
	if (r->full[0] == '\0')
		snprintf(text, 64, "of the SavedModel");
	else if (r->delta != NULL)
		snprintf(text, 64, "%" PRId64 "+%" PRId64, r->full_step, r->delta_step);
	else
		snprintf(text, 64, "%" PRId64, r->full_step);
	return text;
}

/* The steps on the way are for who looks for trouble. */
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

static void log_state(const record *r, sp_log_level level, const char *how)
{
	const char *path = r->delta != NULL ? r->delta : r->full;
	char name[64];

	sp_log(level, "version %s is %s%s%s%s%s%s", name_of(r, name),
	       sp_version_state_name(r->state), how, r->why[0] != '\0' ? ": " : "", r->why,
	       path[0] != '\0' ? ": " : "", path);
}

static void log_move(record *r, sp_version_state from, sp_log_level level, int64_t now)
{
	char how[64];

	r->told_ns = now;
	snprintf(how, sizeof(how), " (%s for %" PRId64 " ms)", sp_version_state_name(from),
		 (now - r->since_ns) / 1000000);
	log_state(r, level, how);
}

/* Whether the newest one is live decides since when it is not. */
static void settle(sp_catalog *catalog, int64_t now)
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
	r->since_ns = r->told_ns = now;
	r->look = catalog->look;
	r->why[0] = '\0';
	r->barred = r->was_refused = false;
	catalog->counts.moves[SP_VERSION_DISCOVERED]++;
	log_state(r, level_of(r->state), "");
}

static record *add(sp_catalog *catalog, const sp_found_version *found)
{
	record *r = make_room(catalog);
	int64_t now = sp_clock_now_ns();

	if (r == NULL)
		return NULL;
	r->full = sp_alloc_text(found != NULL ? found->full_prefix : "");
	if (found != NULL && found->delta_prefix != NULL)
		r->delta = sp_alloc_text(found->delta_prefix);
	if (r->full == NULL || (found != NULL && found->delta_prefix != NULL && r->delta == NULL)) {
		clear(r);
		return NULL;
	}
	r->full_step = found != NULL ? found->full_step : -1;
	r->delta_step = found != NULL ? found->delta_step : -1;
	r->known_ns = now;
	discover(catalog, r, now);
	for (size_t i = 0; i < MAX_RECORDS; i++)
		if (catalog->records[i].number != 0 && is_same_full(&catalog->records[i], r) &&
		    catalog->records[i].rank > r->rank)
			r->rank = catalog->records[i].rank;
	return r;
}

/* The one of that name that may be loaded: that waits, else that is over, else a new one. */
static record *claim(sp_catalog *catalog, const sp_found_version *found)
{
	record *r = find_name(catalog, found);
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
	r = claim(catalog, found);
	if (r != NULL) {
		r->look = catalog->look;
		number = r->number;
		settle(catalog, sp_clock_now_ns());
	}
	pthread_mutex_unlock(&catalog->lock);
	return number;
}

/* Whether it waits for something, and the log has not said so for a while. */
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
	r = find_name(catalog, found);
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

/* The arrows of the header. */
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

static void count_move(counts *c, record *r, int64_t now)
{
	c->moves[r->state]++;
	switch (r->state) {
	case SP_VERSION_LOADING:
		r->loading_ns = now;
		break;
	case SP_VERSION_LIVE:
		c->last_load_ns = now - r->loading_ns;
		break;
	case SP_VERSION_REFUSED:
		if (!r->barred)
			c->refused[(size_t)r->reason <= SP_INTERNAL ? r->reason : SP_INTERNAL]++;
		break;
	default:
		break;
	}
}

/* It was tried once more, and nothing is new: as if it had not been. */
static void refuse_again(record *r, sp_version_state from, int64_t now)
{
	log_move(r, from, SP_LOG_DEBUG, now);
	r->since_ns = r->refused_ns;
}

static void enter(sp_catalog *catalog, record *r, sp_version_state from, int64_t now)
{
	log_move(r, from, level_of(r->state), now);
	r->since_ns = now;
	count_move(&catalog->counts, r, now);
	if (r->state == SP_VERSION_REFUSED) {
		r->was_refused = true;
		r->refused_ns = now;
	} else if (r->state == SP_VERSION_DISCOVERED || r->state == SP_VERSION_LIVE) {
		r->was_refused = false;
	}
	if (r->state == SP_VERSION_LIVE)
		catalog->live = r->number;
	settle(catalog, now);
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
		r->barred = false;
	r->held = false;
	snprintf(r->why, sizeof(r->why), "%s", words);
	if (from != to && repeated)
		refuse_again(r, from, now);
	else if (from != to)
		enter(catalog, r, from, now);
	else if (!told)
		log_move(r, from, level_of(to), now);
}

/* What is over is not listed beside what is loaded under its name. */
static void drop_beside_twin(sp_catalog *catalog, record *r)
{
	record *twin = find_twin(catalog, r);

	if (twin == NULL)
		return;
	if (catalog->newest == r->number)
		catalog->newest = twin->number;
	clear(r);
}

static void retire(sp_catalog *catalog, record *r)
{
	sp_error why = {.status = SP_BUSY};

	snprintf(why.text, sizeof(why.text), "%s", r->why);
	if (r->barred)
		move(catalog, r, SP_VERSION_REFUSED, &why);
	else
		move(catalog, r, SP_VERSION_RETIRED, NULL);
	drop_beside_twin(catalog, r);
}

void sp_catalog_move(sp_catalog *catalog, uint64_t number, sp_version_state to, const sp_error *why)
{
	record *r;

	pthread_mutex_lock(&catalog->lock);
	r = find(catalog, number);
	if (r != NULL && to == SP_VERSION_RETIRED && r->state == SP_VERSION_DRAINING)
		retire(catalog, r);
	else if (r != NULL && !(to == SP_VERSION_RETIRED && r->barred))
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

void sp_catalog_bar(sp_catalog *catalog, uint64_t number, const char *why)
{
	record *r;

	pthread_mutex_lock(&catalog->lock);
	r = find(catalog, number);
	if (r != NULL && (r->state == SP_VERSION_DRAINING || r->state == SP_VERSION_RETIRED)) {
		r->barred = true;
		snprintf(r->why, sizeof(r->why), "%s", why);
		if (r->state == SP_VERSION_RETIRED)
			retire(catalog, r);
	}
	pthread_mutex_unlock(&catalog->lock);
}

/* ---------------------------------------------------------- what is on the disk */

/* Deltas of one full checkpoint are as new as their steps say. */
static void take_newest(sp_catalog *catalog, const record *r)
{
	const record *before = find(catalog, catalog->newest);

	if (before == NULL || !is_same_full(before, r)) {
		catalog->last_rank++;
		for (size_t i = 0; i < MAX_RECORDS; i++)
			if (catalog->records[i].number != 0 &&
			    is_same_full(&catalog->records[i], r))
				catalog->records[i].rank = catalog->last_rank;
	}
	catalog->newest = r->number;
	settle(catalog, sp_clock_now_ns());
}

/* The live one is what is on the disk: nothing under its name waits. */
static record *see_live(sp_catalog *catalog)
{
	record *live = find(catalog, catalog->live);
	record *twin = live != NULL ? find_twin(catalog, live) : NULL;

	if (twin != NULL && is_waiting(twin))
		clear(twin);
	return live;
}

static record *see(sp_catalog *catalog, const sp_found_version *found)
{
	record *r = find_name(catalog, found);

	return r != NULL ? r : add(catalog, found);
}

/* It waits for the end of the pin, whatever it has waited for before. */
static void hold(sp_catalog *catalog, record *r, const char *pinned)
{
	sp_error why = {.status = SP_BUSY};

	snprintf(why.text, sizeof(why.text), "%s", pinned);
	move(catalog, r, SP_VERSION_DISCOVERED, &why);
	r->held = true;
}

void sp_catalog_see(sp_catalog *catalog, const sp_found_version *found, const char *pinned)
{
	record *r;

	pthread_mutex_lock(&catalog->lock);
	r = found == NULL ? see_live(catalog) : see(catalog, found);
	if (r != NULL) {
		r->look = catalog->look;
		take_newest(catalog, r);
		if (pinned != NULL && r->state == SP_VERSION_DISCOVERED)
			hold(catalog, r, pinned);
	}
	pthread_mutex_unlock(&catalog->lock);
}

static sp_status copy_name(const record *r, sp_found_version *out, sp_arena *arena)
{
	*out = (sp_found_version){.full_prefix = sp_arena_text(arena, sp_bytes_of(r->full)),
				  .full_step = r->full_step,
				  .delta_step = r->delta_step};
	if (r->delta != NULL)
		out->delta_prefix = sp_arena_text(arena, sp_bytes_of(r->delta));
	return out->full_prefix != NULL && (r->delta == NULL || out->delta_prefix != NULL)
		       ? SP_OK
		       : SP_NO_MEMORY;
}

uint64_t sp_catalog_next_waiting(sp_catalog *catalog, uint64_t after, sp_found_version *out,
				 sp_arena *arena)
{
	const record *next = NULL;
	uint64_t number = 0;

	pthread_mutex_lock(&catalog->lock);
	for (size_t i = 0; i < MAX_RECORDS; i++) {
		const record *r = &catalog->records[i];

		if (r->number > after && is_waiting(r) && r->look != catalog->look &&
		    (next == NULL || r->number < next->number))
			next = r;
	}
	if (next != NULL && copy_name(next, out, arena) == SP_OK)
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
		settle(catalog, sp_clock_now_ns());
	}
	pthread_mutex_unlock(&catalog->lock);
}

void sp_catalog_end_look(sp_catalog *catalog)
{
	pthread_mutex_lock(&catalog->lock);
	catalog->look++;
	pthread_mutex_unlock(&catalog->lock);
}

/* What has waited for the end of a pin waits for nothing now. */
static void release(sp_catalog *catalog)
{
	for (size_t i = 0; i < MAX_RECORDS; i++) {
		record *r = &catalog->records[i];

		if (r->held)
			r->why[0] = '\0';
		r->held = false;
	}
}

void sp_catalog_pin(sp_catalog *catalog, const sp_found_version *found, const char *by)
{
	pthread_mutex_lock(&catalog->lock);
	catalog->pin = (pin){.holds = found != NULL};
	if (found != NULL) {
		catalog->pin.full_step = found->full_step;
		catalog->pin.delta_step = found->delta_step;
		catalog->pin.since_ns = sp_clock_now_ns();
		snprintf(catalog->pin.by, sizeof(catalog->pin.by), "%s", by);
	} else {
		release(catalog);
	}
	pthread_mutex_unlock(&catalog->lock);
}

void sp_catalog_count(sp_catalog *catalog, sp_catalog_event event, int64_t took_ns)
{
	pthread_mutex_lock(&catalog->lock);
	catalog->counts.events[event]++;
	if (event == SP_EVENT_FOLD)
		catalog->counts.last_fold_ns = took_ns;
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

static sp_status copy_live(sp_catalog *catalog, sp_found_version *out, sp_arena *arena,
			   sp_error *err)
{
	const record *r = find(catalog, catalog->live);

	if (r == NULL)
		return sp_error_set(err, SP_NOT_FOUND, "no version is live");
	if (copy_name(r, out, arena) != SP_OK)
		return sp_error_set(err, SP_NO_MEMORY, "no memory for a version's name");
	return SP_OK;
}

sp_status sp_catalog_live(sp_catalog *catalog, sp_found_version *out, sp_arena *arena,
			  sp_error *err)
{
	sp_status status;

	pthread_mutex_lock(&catalog->lock);
	status = copy_live(catalog, out, arena, err);
	pthread_mutex_unlock(&catalog->lock);
	return status;
}

/* Newer than the live one, and not served. */
static bool is_ahead(const sp_catalog *catalog, const record *r)
{
	const record *live = find(catalog, catalog->live);

	if (r == live || r->number == catalog->newest)
		return r != live;
	if (r->state == SP_VERSION_DRAINING || r->state == SP_VERSION_RETIRED)
		return false;
	if (live != NULL && is_same_full(r, live))
		return r->delta_step > live->delta_step;
	return live == NULL || r->rank > live->rank;
}

static int64_t lag_ns(const sp_catalog *catalog, int64_t now)
{
	int64_t first = now;

	for (size_t i = 0; i < MAX_RECORDS; i++) {
		const record *r = &catalog->records[i];

		if (r->number != 0 && is_ahead(catalog, r) && r->known_ns < first)
			first = r->known_ns;
	}
	return now - (first > catalog->behind_ns ? first : catalog->behind_ns);
}

static void put_record(sp_buffer *json, const sp_catalog *catalog, const record *r, int64_t now)
{
	sp_buffer_append_text(json, "{\"full\":");
	sp_json_text_append(json, r->full);
	if (r->delta != NULL) {
		sp_buffer_append_text(json, ",\"delta\":");
		sp_json_text_append(json, r->delta);
	}
	sp_buffer_printf(json,
			 ",\"full_step\":%" PRId64 ",\"delta_step\":%" PRId64
			 ",\"state\":\"%s\",\"for_ms\":%" PRId64 ",\"known_ms\":%" PRId64
			 ",\"why\":",
			 r->full_step, r->delta_step, sp_version_state_name(r->state),
			 (now - r->since_ns) / 1000000, (now - r->known_ns) / 1000000);
	sp_json_text_append(json, r->why);
	if (is_ahead(catalog, r))
		sp_buffer_append_text(json, ",\"newer\":true");
	if (r->state == SP_VERSION_REFUSED)
		sp_buffer_printf(json, ",\"reason\":\"%s\"",
				 r->barred ? "rolled_back" : sp_status_name(r->reason));
	sp_buffer_append_char(json, '}');
}

static void put_versions(sp_buffer *json, const sp_catalog *catalog, int64_t now)
{
	uint64_t below = UINT64_MAX;
	size_t count = 0;

	for (;;) {
		const record *next = NULL;

		for (size_t i = 0; i < MAX_RECORDS; i++) {
			const record *r = &catalog->records[i];

			if (r->number != 0 && r->number < below &&
			    (next == NULL || r->number > next->number))
				next = r;
		}
		if (next == NULL)
			return;
		if (count++ != 0)
			sp_buffer_append_char(json, ',');
		put_record(json, catalog, next, now);
		below = next->number;
	}
}

static void put_live(sp_buffer *json, const record *r, int64_t now)
{
	if (r != NULL)
		sp_buffer_printf(json,
				 "\"live\":{\"full_step\":%" PRId64 ",\"delta_step\":%" PRId64
				 ",\"for_ms\":%" PRId64 "},",
				 r->full_step, r->delta_step, (now - r->since_ns) / 1000000);
}

static void put_newest(sp_buffer *json, const sp_catalog *catalog, int64_t now)
{
	const record *r = find(catalog, catalog->newest != 0 ? catalog->newest : catalog->live);

	if (r != NULL)
		sp_buffer_printf(json,
				 "\"newest\":{\"full_step\":%" PRId64 ",\"delta_step\":%" PRId64
				 ",\"lag_ms\":%" PRId64 "},",
				 r->full_step, r->delta_step, lag_ns(catalog, now) / 1000000);
}

static void put_pin(sp_buffer *json, const pin *p, int64_t now)
{
	if (!p->holds)
		return;
	sp_buffer_printf(json,
			 "\"pinned\":{\"full_step\":%" PRId64 ",\"delta_step\":%" PRId64
			 ",\"for_ms\":%" PRId64 ",\"by\":",
			 p->full_step, p->delta_step, (now - p->since_ns) / 1000000);
	sp_json_text_append(json, p->by);
	sp_buffer_append_text(json, "},");
}

static void put_refusals(sp_buffer *json, const counts *c)
{
	const char *between = "";

	sp_buffer_append_text(json, ",\"refusals\":{");
	for (size_t i = 0; i <= SP_INTERNAL; i++)
		if (c->refused[i] != 0) {
			sp_buffer_printf(json, "%s\"%s\":%" PRIu64, between,
					 sp_status_name((sp_status)i), c->refused[i]);
			between = ",";
		}
	sp_buffer_append_char(json, '}');
}

static void put_moves(sp_buffer *json, const counts *c)
{
	sp_buffer_append_text(json, ",\"moves\":{");
	for (size_t i = 0; i <= SP_VERSION_REFUSED; i++)
		sp_buffer_printf(json, "%s\"%s\":%" PRIu64, i != 0 ? "," : "",
				 sp_version_state_name((sp_version_state)i), c->moves[i]);
	sp_buffer_append_char(json, '}');
}

static void put_counts(sp_buffer *json, const counts *c)
{
	sp_buffer_printf(json,
			 "\"counts\":{\"loads\":%" PRIu64 ",\"published\":%" PRIu64
			 ",\"last_load_ms\":%" PRId64,
			 c->moves[SP_VERSION_LOADING], c->moves[SP_VERSION_LIVE],
			 c->last_load_ns / 1000000);
	put_refusals(json, c);
	put_moves(json, c);
	sp_buffer_printf(json,
			 ",\"folds\":%" PRIu64 ",\"last_fold_ms\":%" PRId64 ",\"reloads\":%" PRIu64
			 ",\"rollbacks\":%" PRIu64 ",\"pins\":%" PRIu64 "}",
			 c->events[SP_EVENT_FOLD], c->last_fold_ns / 1000000,
			 c->events[SP_EVENT_RELOAD], c->events[SP_EVENT_ROLLBACK],
			 c->events[SP_EVENT_PIN]);
}

char *sp_catalog_json(sp_catalog *catalog)
{
	int64_t now = sp_clock_now_ns();
	sp_buffer json;
	size_t size;
	char *text;

	sp_buffer_init(&json, 4 << 20);
	sp_buffer_append_text(&json, "{\"versions\":[");
	pthread_mutex_lock(&catalog->lock);
	put_versions(&json, catalog, now);
	sp_buffer_append_text(&json, "],");
	put_live(&json, find(catalog, catalog->live), now);
	put_newest(&json, catalog, now);
	put_pin(&json, &catalog->pin, now);
	put_counts(&json, &catalog->counts);
	pthread_mutex_unlock(&catalog->lock);
	sp_buffer_append_char(&json, '}');
	text = sp_buffer_take(&json, &size);
	sp_buffer_fini(&json);
	return text;
}
