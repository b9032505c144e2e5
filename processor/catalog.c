#include "processor/catalog.h"

#include <assert.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/buffer.h"
#include "base/clock.h"
#include "base/log.h"
#include "processor/json_text.h"

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
	char why[SP_ERROR_TEXT_SIZE];
} record;

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
	uint64_t last_number;
	uint64_t live; /* 0: none yet */
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

static record *find(sp_catalog *catalog, uint64_t number)
{
	for (size_t i = 0; number != 0 && i < MAX_RECORDS; i++)
		if (catalog->records[i].number == number)
			return &catalog->records[i];
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

static void log_state(const record *r, const char *how)
{
	char name[64];

	sp_log(level_of(r->state), "version %s is %s%s%s%s: %s", name_of(r, name),
	       sp_version_state_name(r->state), how, r->why[0] != '\0' ? ": " : "", r->why,
	       r->delta != NULL ? r->delta : r->full);
}

static void log_move(record *r, sp_version_state from, int64_t now)
{
	char how[64];

	r->told_ns = now;
	snprintf(how, sizeof(how), " (%s for %" PRId64 " ms)", sp_version_state_name(from),
		 (now - r->since_ns) / 1000000);
	log_state(r, how);
}

static record *add(sp_catalog *catalog, const sp_found_version *found)
{
	record *r = make_room(catalog);

	if (r == NULL)
		return NULL;
	r->full = sp_alloc_text(found != NULL ? found->full_prefix : "");
	if (found != NULL && found->delta_prefix != NULL)
		r->delta = sp_alloc_text(found->delta_prefix);
	if (r->full == NULL || (found != NULL && found->delta_prefix != NULL && r->delta == NULL)) {
		clear(r);
		return NULL;
	}
	r->number = ++catalog->last_number;
	r->full_step = found != NULL ? found->full_step : -1;
	r->delta_step = found != NULL ? found->delta_step : -1;
	r->known_ns = r->since_ns = r->told_ns = sp_clock_now_ns();
	catalog->counts.moves[SP_VERSION_DISCOVERED]++;
	log_state(r, "");
	return r;
}

static record *find_waiting(sp_catalog *catalog, const sp_found_version *found)
{
	for (size_t i = 0; i < MAX_RECORDS; i++)
		if (is_of(&catalog->records[i], found) && is_waiting(&catalog->records[i]))
			return &catalog->records[i];
	return NULL;
}

uint64_t sp_catalog_number(sp_catalog *catalog, const sp_found_version *found)
{
	uint64_t number;
	record *r;

	pthread_mutex_lock(&catalog->lock);
	r = find_waiting(catalog, found);
	if (r == NULL)
		r = add(catalog, found);
	number = r != NULL ? r->number : 0;
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
	r = find_waiting(catalog, found);
	if (r != NULL && r->state == SP_VERSION_DISCOVERED) {
		number = r->number;
		if (is_to_be_told(r, now))
			log_move(r, r->state, now);
	}
	pthread_mutex_unlock(&catalog->lock);
	return number;
}

void sp_catalog_forget(sp_catalog *catalog, uint64_t number)
{
	record *r;

	pthread_mutex_lock(&catalog->lock);
	r = find(catalog, number);
	if (r != NULL && r->state == SP_VERSION_DISCOVERED)
		clear(r);
	pthread_mutex_unlock(&catalog->lock);
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
		[SP_VERSION_DRAINING] = TO(RETIRED),
		[SP_VERSION_RETIRED] = 0,
		[SP_VERSION_REFUSED] = TO(DISCOVERED) | TO(LOADING),
	};
#undef TO
	return from == to || (arrows[from] >> to & 1) != 0;
}

static void count_move(counts *c, record *r, sp_status why, int64_t now)
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
		c->refused[(size_t)why <= SP_INTERNAL ? why : SP_INTERNAL]++;
		break;
	default:
		break;
	}
}

void sp_catalog_move(sp_catalog *catalog, uint64_t number, sp_version_state to, const sp_error *why)
{
	const char *words = why != NULL ? why->text : "";
	int64_t now = sp_clock_now_ns();
	sp_version_state from;
	record *r;
	bool told;

	pthread_mutex_lock(&catalog->lock);
	r = find(catalog, number);
	if (r != NULL) {
		assert(may_move(r->state, to));
		from = r->state;
		told = from == to && strcmp(r->why, words) == 0 && !is_to_be_told(r, now);
		r->state = to;
		if (to == SP_VERSION_LIVE)
			catalog->live = number;
		snprintf(r->why, sizeof(r->why), "%s", words);
		if (!told)
			log_move(r, from, now);
		if (from != to) {
			r->since_ns = now;
			count_move(&catalog->counts, r, why != NULL ? why->status : SP_INTERNAL,
				   now);
		}
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
	*out = (sp_found_version){.full_prefix = sp_arena_text(arena, sp_bytes_of(r->full)),
				  .full_step = r->full_step,
				  .delta_step = r->delta_step};
	if (r->delta != NULL)
		out->delta_prefix = sp_arena_text(arena, sp_bytes_of(r->delta));
	if (out->full_prefix == NULL || (r->delta != NULL && out->delta_prefix == NULL))
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

static void put_record(sp_buffer *json, const record *r, int64_t now)
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
		put_record(json, next, now);
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
	put_counts(&json, &catalog->counts);
	pthread_mutex_unlock(&catalog->lock);
	sp_buffer_append_char(&json, '}');
	text = sp_buffer_take(&json, &size);
	sp_buffer_fini(&json);
	return text;
}
