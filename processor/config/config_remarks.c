#include <stdio.h>
#include <string.h>

#include "base/log.h"
#include "processor/config/config_internal.h"
#include "processor/config/config_keys.h"

/*
 * Remarks on keys that have no effect: unknown keys, each with the known key that it may be a
 * misspelling of, and keys of DeepRec or of an earlier release that are ignored here.  Remarks
 * contain no values: one may be a secret.
 */
enum {
	MAX_STRANGE = 32,   /* unknown keys that get a remark */
	MAX_REMARKS = 96,   /* for these and for all of DeepRec's keys */
	MAX_COMPARED = 256, /* keys of one object that are compared with known ones */
	MAX_NAME = 64,      /* bytes of a key that are compared and shown */
	REMARK_SIZE = 256,
};

typedef struct remarks {
	const char **items;
	size_t count;
	const char *strange[MAX_STRANGE]; /* unknown keys with a remark */
	size_t strange_count, more;
	sp_arena *arena;
} remarks;

/* ------------------------------------------------------------- nearest names */

/* Comparison ignores case, and takes '-' as '_'. */
static char fold(char c)
{
	if (c >= 'A' && c <= 'Z')
		return (char)(c - 'A' + 'a');
	return c == '-' ? '_' : c;
}

static size_t least(size_t a, size_t b)
{
	return a < b ? a : b;
}

/*
 * The edit distance of two names: insert, delete or replace a byte, or swap two neighbours; no byte
 * is edited twice (optimal string alignment).
 */
static size_t edits_between(const char *a, const char *b)
{
	size_t rows[3][MAX_NAME + 1];
	size_t a_size = strnlen(a, MAX_NAME), b_size = strnlen(b, MAX_NAME);

	for (size_t j = 0; j <= b_size; j++)
		rows[0][j] = j;
	for (size_t i = 1; i <= a_size; i++) {
		size_t *row = rows[i % 3];
		const size_t *above = rows[(i - 1) % 3], *before = rows[(i + 1) % 3];

		row[0] = i;
		for (size_t j = 1; j <= b_size; j++) {
			bool same = fold(a[i - 1]) == fold(b[j - 1]);

			row[j] = least(above[j], row[j - 1]) + 1;
			row[j] = least(row[j], above[j - 1] + !same);
			if (i > 1 && j > 1 && fold(a[i - 1]) == fold(b[j - 2]) &&
			    fold(a[i - 2]) == fold(b[j - 1]))
				row[j] = least(row[j], before[j - 2] + 1);
		}
	}
	return rows[a_size % 3][b_size];
}

static bool resembles(size_t edits, const char *name)
{
	return edits <= 1 + strnlen(name, MAX_NAME) / 6;
}

/* The known key closest to `name`; NULL: none is close enough. */
static const char *nearest_key(const char *name)
{
	const char *nearest = NULL;
	size_t least_edits = SIZE_MAX;

	for (const sp_config_key *key = sp_config__keys; key->name != NULL; key++) {
		size_t edits = edits_between(name, key->name);

		if (edits < least_edits) {
			least_edits = edits;
			nearest = key->name;
		}
	}
	return resembles(least_edits, name) ? nearest : NULL;
}

static const sp_config_key *find_key(const char *name)
{
	for (const sp_config_key *key = sp_config__keys; key->name != NULL; key++)
		if (strcmp(key->name, name) == 0)
			return key;
	return NULL;
}

const char *sp_config__misspelt(const sp_config_document *document, const char *key)
{
	const cJSON *item = document->keys->child;

	for (int i = 0; item != NULL && i < MAX_COMPARED; i++, item = item->next) {
		const char *nearest = find_key(item->string) == NULL ? nearest_key(item->string)
								     : NULL;

		if (nearest != NULL && strcmp(nearest, key) == 0)
			return item->string;
	}
	return NULL;
}

/* -------------------------------------------------------------------- remarks */

static void add(remarks *r, const char *text)
{
	const char *copy = r->count < MAX_REMARKS ? sp_arena_text(r->arena, sp_bytes_of(text))
						  : NULL;

	if (copy != NULL)
		r->items[r->count++] = copy;
}

/* Records a name that gets a remark; false if it has one already, or there are too many. */
static bool is_new(remarks *r, const char *name)
{
	for (size_t i = 0; i < r->strange_count; i++)
		if (strcmp(r->strange[i], name) == 0)
			return false;
	if (r->strange_count == MAX_STRANGE) {
		r->more++;
		return false;
	}
	r->strange[r->strange_count++] = name;
	return true;
}

static void remark_strange(remarks *r, const char *name)
{
	const char *nearest;
	char text[REMARK_SIZE];

	if (!is_new(r, name))
		return;
	nearest = nearest_key(name);
	snprintf(text, sizeof(text),
		 "configuration key '%.*s' is not known and has no effect%s%s%s", MAX_NAME, name,
		 nearest != NULL ? "; did you mean '" : "", nearest != NULL ? nearest : "",
		 nearest != NULL ? "'?" : "");
	add(r, text);
}

/* A service has many keys of its own; the processor's keys are misplaced there. */
static void remark_misplaced(remarks *r, const cJSON *item)
{
	char text[REMARK_SIZE];

	/* EAS has a key oss_endpoint, too. */
	if (strcmp(item->string, "oss_endpoint") == 0 || find_key(item->string) == NULL ||
	    !is_new(r, item->string))
		return;
	snprintf(text, sizeof(text),
		 "configuration key '%.*s' beside 'model_config' has no effect: the processor's "
		 "keys belong into it",
		 MAX_NAME, item->string);
	add(r, text);
}

static void remark_idle(remarks *r, const sp_config_document *document)
{
	char text[REMARK_SIZE];

	for (const sp_config_key *key = sp_config__keys; key->name != NULL; key++) {
		if (key->has_effect || sp_config__find(document->keys, key->name) == NULL)
			continue;
		snprintf(text, sizeof(text), "configuration key '%s' is %s and has no effect here",
			 key->name, key->was_removed ? "an earlier release's" : "DeepRec's");
		add(r, text);
	}
}

sp_status sp_config__remark(sp_config *config, const sp_config_document *document, sp_error *err)
{
	remarks r = {.items = sp_arena_array(config->arena, MAX_REMARKS, sizeof(*r.items)),
		     .arena = config->arena};
	const cJSON *item;
	char text[REMARK_SIZE];

	SP_NEED_MEMORY(r.items, err, "the configuration");
	cJSON_ArrayForEach (item, document->keys)
		if (find_key(item->string) == NULL)
			remark_strange(&r, item->string);
	item = document->service != NULL ? document->service->child : NULL;
	for (int i = 0; item != NULL && i < MAX_COMPARED; i++, item = item->next)
		if (item != document->keys)
			remark_misplaced(&r, item);
	if (r.more != 0) {
		snprintf(text, sizeof(text), "%zu more configuration keys have no effect", r.more);
		add(&r, text);
	}
	remark_idle(&r, document);
	config->remarks = r.items;
	config->remark_count = r.count;
	return SP_OK;
}

void sp_config_log_remarks(const sp_config *config)
{
	for (size_t i = 0; i < config->remark_count; i++)
		sp_log(SP_LOG_WARNING, "%s", config->remarks[i]);
}
