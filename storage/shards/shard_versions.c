#include "storage/shards/shard_versions.h"

#include <inttypes.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/hash.h"
#include "base/log.h"
#include "base/size.h"
#include "storage/table/table_builder.h"

/*
 * For each served table a second one is made over the same layers, whose default row consists of
 * ABSENT.  So an ordinary lookup also shows which keys are absent; a row that begins with ABSENT is
 * checked once more.
 */

enum { ABSENT = 0x7fedc0de /* as a float, a NaN that no arithmetic makes */ };

typedef struct served_version {
	struct served_version *next;
	atomic_size_t references;
	int64_t full;
	uint64_t content, token;
	uint32_t slice, slices;
	sp_table **tables; /* [count] by name */
	size_t count;
	int64_t ends_ns; /* when it expires; INT64_MAX: it is the live one */
} served_version;

struct sp_shard_versions {
	int64_t keep_ns;
	pthread_mutex_t lock; /* guards `list` */
	served_version *list; /* the live one first */
	atomic_uint_least64_t requests, keys, absent, faults;
};

/* ---- versions ---- */

static void release(served_version *version)
{
	if (version == NULL ||
	    atomic_fetch_sub_explicit(&version->references, 1, memory_order_acq_rel) != 1)
		return;
	for (size_t i = 0; i < version->count; i++)
		sp_table_destroy(version->tables[i]);
	sp_free(version->tables);
	sp_free(version);
}

static sp_status create_marked_table(sp_table **out, const sp_table *table, sp_error *err)
{
	sp_table_layers layers = sp_table_get_layers(table);
	size_t dim = sp_table_dim(table), bytes;
	uint32_t *row = NULL;
	sp_table_options options = {
		.name = sp_table_name(table), .dim = dim, .default_row_count = 1};
	sp_status status;

	if (sp_table_is_folded(table))
		return sp_error_set(err, SP_UNSUPPORTED,
				    "table '%s' has a delta folded into its full checkpoint",
				    options.name);
	if (sp_size_mul(&bytes, dim, sizeof(*row)))
		row = sp_alloc(bytes);
	SP_NEED_MEMORY(row, err, "table '%s'", options.name);
	for (size_t d = 0; d < dim; d++)
		row[d] = ABSENT;
	options.default_rows = (const float *)(const void *)row;
	status = sp_table_create(out, &options, layers.base, layers.below, err);
	sp_free(row);
	return status;
}

static int by_name(const void *a, const void *b)
{
	return strcmp(sp_table_name(*(sp_table *const *)a), sp_table_name(*(sp_table *const *)b));
}

/* Identifies the version and its list of tables, to which a lookup refers by index. */
static uint64_t token_of(const served_version *version)
{
	uint64_t token = sp_fingerprint64_join((uint64_t)version->full, version->content);

	token = sp_fingerprint64_join(token, (uint64_t)version->slice << 32 | version->slices);
	for (size_t i = 0; i < version->count; i++) {
		const char *name = sp_table_name(version->tables[i]);

		token = sp_fingerprint64_join(token, sp_fingerprint64(name, strlen(name)));
		token = sp_fingerprint64_join(token, sp_table_dim(version->tables[i]));
	}
	return token;
}

static sp_status create_version(served_version **out, const sp_shard_version *from, sp_error *err)
{
	served_version *version = sp_alloc_zero(1, sizeof(*version));
	sp_status status = SP_OK;

	SP_NEED_MEMORY(version, err, "a version for other processors");
	*out = version;
	atomic_init(&version->references, 1);
	version->full = from->full;
	version->content = from->content;
	version->slice = from->slice;
	version->slices = from->slices;
	version->ends_ns = INT64_MAX;
	version->tables = sp_alloc_zero(from->count + 1, sizeof(sp_table *));
	SP_NEED_MEMORY(version->tables, err, "a version for other processors");
	for (size_t i = 0; i < from->count && status == SP_OK; i++) {
		status = create_marked_table(&version->tables[i], from->tables[i], err);
		version->count += status == SP_OK;
	}
	qsort(version->tables, version->count, sizeof(sp_table *), by_name);
	version->token = token_of(version);
	return status;
}

sp_status sp_shard_versions_publish(sp_shard_versions *versions, const sp_shard_version *version,
				    sp_error *err)
{
	int64_t ends_ns = sp_clock_now_ns() + versions->keep_ns;
	served_version *made = NULL, *replaced = NULL;
	sp_status status = SP_OK;

	if (version->count > SP_SHARD_MAX_TABLES)
		status = sp_error_set(err, SP_UNSUPPORTED, "%zu tables", version->count);
	else
		status = create_version(&made, version, err);
	if (status != SP_OK) {
		release(made);
		return sp_error_prefix(err, status, "answering other processors");
	}
	pthread_mutex_lock(&versions->lock);
	for (served_version **at = &versions->list; *at != NULL;) {
		served_version *other = *at;

		if (other->ends_ns == INT64_MAX)
			other->ends_ns = ends_ns;
		if (other->token == made->token) {
			*at = other->next;
			other->next = replaced;
			replaced = other;
		} else {
			at = &other->next;
		}
	}
	made->next = versions->list;
	versions->list = made;
	pthread_mutex_unlock(&versions->lock);
	while (replaced != NULL) {
		served_version *next = replaced->next;

		release(replaced);
		replaced = next;
	}
	return SP_OK;
}

int64_t sp_shard_versions_expire(sp_shard_versions *versions, int64_t now_ns)
{
	int64_t next_ns = INT64_MAX;
	served_version *expired = NULL;

	pthread_mutex_lock(&versions->lock);
	for (served_version **at = &versions->list; *at != NULL;) {
		served_version *version = *at;

		if (version->ends_ns <= now_ns) {
			*at = version->next;
			version->next = expired;
			expired = version;
			continue;
		}
		if (version->ends_ns < next_ns)
			next_ns = version->ends_ns;
		at = &version->next;
	}
	pthread_mutex_unlock(&versions->lock);
	while (expired != NULL) {
		served_version *next = expired->next;

		sp_log(SP_LOG_INFO,
		       "other processors are not answered from version %" PRId64 " any more",
		       expired->full);
		release(expired);
		expired = next;
	}
	return next_ns;
}

/* The version with a token, or with a step and content; NULL: there is none. */
static served_version *find(sp_shard_versions *versions, const uint64_t *token, int64_t full,
			    uint64_t content)
{
	served_version *version;

	pthread_mutex_lock(&versions->lock);
	for (version = versions->list; version != NULL; version = version->next)
		if (token != NULL ? version->token == *token
				  : version->full == full && version->content == content)
			break;
	if (version != NULL)
		atomic_fetch_add_explicit(&version->references, 1, memory_order_relaxed);
	pthread_mutex_unlock(&versions->lock);
	return version;
}

sp_status sp_shard_versions_create(sp_shard_versions **out, int64_t keep_ns, sp_error *err)
{
	sp_shard_versions *versions = sp_alloc_zero(1, sizeof(*versions));

	SP_NEED_MEMORY(versions, err, "rows for other processors");
	versions->keep_ns = keep_ns;
	pthread_mutex_init(&versions->lock, NULL);
	*out = versions;
	return SP_OK;
}

void sp_shard_versions_destroy(sp_shard_versions *versions)
{
	if (versions == NULL)
		return;
	while (versions->list != NULL) {
		served_version *version = versions->list;

		versions->list = version->next;
		release(version);
	}
	pthread_mutex_destroy(&versions->lock);
	sp_free(versions);
}

/* ---- responses ---- */

static void count(atomic_uint_least64_t *counter, uint64_t more)
{
	atomic_fetch_add_explicit(counter, more, memory_order_relaxed);
}

static void respond_error(sp_shard_versions *versions, sp_buffer *out, uint64_t id,
			  sp_shard_error_code fault, const char *text)
{
	count(&versions->faults, 1);
	sp_shard_error_write(out, id, fault, text);
}

static void respond_version(sp_shard_versions *versions, uint64_t id, int64_t full,
			    uint64_t content, sp_buffer *out)
{
	served_version *version = find(versions, NULL, full, content);
	size_t start;

	if (version == NULL) {
		/* A handshake is always answered so, which is no fault. */
		if (full != SP_SHARD_HANDSHAKE_STEP)
			count(&versions->faults, 1);
		sp_shard_error_write(out, id, SP_SHARD_NO_VERSION, "it does not have the version");
		return;
	}
	start = sp_shard_frame_begin(out, SP_SHARD_TABLES, id);
	sp_shard_put_u64(out, version->token);
	sp_shard_put_u32(out, version->slice);
	sp_shard_put_u32(out, version->slices);
	sp_shard_put_u32(out, (uint32_t)version->count);
	sp_shard_put_u32(out, 0);
	for (size_t i = 0; i < version->count; i++) {
		const char *name = sp_table_name(version->tables[i]);
		size_t size = strlen(name);
		static const char zeros[8] = {0};

		sp_shard_put_u32(out, (uint32_t)sp_table_dim(version->tables[i]));
		sp_shard_put_u32(out, (uint32_t)size);
		sp_shard_put_u64(out, sp_table_row_count(version->tables[i]));
		sp_buffer_append(out, name, size);
		sp_buffer_append(out, zeros, (8 - size % 8) % 8);
	}
	(void)sp_shard_frame_end(out, start);
	release(version);
}

/* The size of the response if no key is absent; 0: it is too large, or a table does not exist. */
static uint64_t max_response_size(const served_version *version, sp_shard_lookup request)
{
	uint64_t bytes = 0;
	sp_shard_part part;

	for (uint32_t i = 0; i < request.parts && sp_shard_lookup_next(&request, &part); i++) {
		if (part.table >= version->count)
			return 0;
		bytes += sp_shard_rows_size(part.count, sp_table_dim(version->tables[part.table]));
		if (bytes > SP_SHARD_MAX_RESPONSE)
			return 0;
	}
	return bytes;
}

static bool reserve_lookups(sp_shard_memory *memory, size_t parts)
{
	size_t capacity = parts + 64;
	void *lookups;

	if (parts <= memory->capacity)
		return true;
	lookups = sp_alloc_resize(memory->lookups, capacity, sizeof(sp_lookup));
	if (lookups == NULL)
		return false;
	memory->lookups = lookups;
	memory->capacity = capacity;
	return true;
}

static bool reserve_scratch(sp_shard_memory *memory, size_t size)
{
	if (size <= memory->scratch_size)
		return true;
	sp_free(memory->scratch);
	memory->scratch = sp_alloc_aligned(64, size);
	memory->scratch_size = memory->scratch != NULL ? size : 0;
	return memory->scratch != NULL;
}

static sp_status look_up(const served_version *version, sp_shard_lookup request, char *at,
			 sp_shard_memory *memory, sp_error *err)
{
	sp_lookup *lookups = memory->lookups;
	sp_shard_part part;

	for (uint32_t i = 0; i < request.parts && sp_shard_lookup_next(&request, &part); i++) {
		const sp_table *table = version->tables[part.table];
		size_t bits = ((size_t)part.count + 63) / 64 * 8;

		lookups[i] = (sp_lookup){.table = table,
					 .keys = part.keys,
					 .count = part.count,
					 .rows = (float *)(void *)(at + bits),
					 .stride = sp_table_dim(table)};
		at += sp_shard_rows_size(part.count, sp_table_dim(table));
	}
	if (!reserve_scratch(memory, sp_lookup_scratch(lookups, request.parts)))
		return sp_no_memory(err, "a lookup");
	return sp_lookup_run(lookups, request.parts, memory->scratch,
			     sp_clock_now_ns() + SP_TABLE_PATIENCE_NS, err);
}

static sp_status is_held(bool *out, const sp_lookup *lookup, size_t i, sp_error *err)
{
	uint32_t first;

	*out = true;
	memcpy(&first, lookup->rows + i * lookup->stride, sizeof(first));
	if (first != ABSENT)
		return SP_OK;
	return sp_table_contains(lookup->table, lookup->keys + i, 1, out, err);
}

/*
 * Writes the bits of a part at *at, moves the rows of the held keys together after them, and sets
 * *at to the end of the part.
 */
static sp_status compact_rows(char **at, const sp_lookup *lookup, uint64_t *absent, sp_error *err)
{
	size_t row_size = lookup->stride * sizeof(float), bits_size = (lookup->count + 63) / 64 * 8;
	uint64_t *bits = (uint64_t *)(void *)*at;
	char *to = *at + bits_size;

	memset(bits, 0, bits_size);
	for (size_t i = 0; i < lookup->count; i++) {
		const char *row = (const char *)(lookup->rows + i * lookup->stride);
		bool is_there;

		SP_TRY(is_held(&is_there, lookup, i, err));
		if (!is_there) {
			++*absent;
			continue;
		}
		bits[i / 64] |= UINT64_C(1) << i % 64;
		if (to != row)
			memmove(to, row, row_size);
		to += row_size;
	}
	for (; (size_t)(to - *at) % 8 != 0; to++)
		*to = 0;
	*at = to;
	return SP_OK;
}

static sp_status fill(sp_shard_versions *versions, const served_version *version,
		      const sp_shard_lookup *request, sp_buffer *out, sp_shard_memory *memory,
		      sp_error *err)
{
	size_t most = max_response_size(version, *request);
	uint64_t absent = 0, keys = 0;
	char *start = NULL, *at;

	if (most == 0)
		return sp_error_set(err, SP_INVALID, "no such table, or too many rows");
	if (reserve_lookups(memory, request->parts))
		start = sp_buffer_reserve(out, most);
	SP_NEED_MEMORY(start, err, "an answer");
	SP_TRY(look_up(version, *request, start, memory, err));
	at = start;
	for (uint32_t i = 0; i < request->parts; i++) {
		const sp_lookup *lookup = (const sp_lookup *)memory->lookups + i;

		SP_TRY(compact_rows(&at, lookup, &absent, err));
		keys += lookup->count;
	}
	out->size -= most - (size_t)(at - start);
	out->data[out->size] = '\0';
	count(&versions->keys, keys);
	if (absent != 0)
		count(&versions->absent, absent);
	return SP_OK;
}

static void respond_lookup(sp_shard_versions *versions, uint64_t id, const sp_shard_lookup *request,
			   sp_buffer *out, sp_shard_memory *memory)
{
	served_version *version = find(versions, &request->token, 0, 0);
	sp_error err = {.status = SP_OK};
	size_t start = out->size;
	sp_status status;

	count(&versions->requests, 1);
	if (version == NULL) {
		respond_error(versions, out, id, SP_SHARD_NO_VERSION,
			      "it does not have the version");
		return;
	}
	(void)sp_shard_frame_begin(out, SP_SHARD_ROWS, id);
	status = fill(versions, version, request, out, memory, &err);
	release(version);
	if (status == SP_OK) {
		(void)sp_shard_frame_end(out, start);
		return;
	}
	if (out->failed) /* the connection ends */
		return;
	out->size = start;
	respond_error(versions, out, id, status == SP_INVALID ? SP_SHARD_REFUSED : SP_SHARD_FAILED,
		      err.text);
}

bool sp_shard_versions_respond(sp_shard_versions *versions, const sp_shard_header *header,
			       sp_bytes body, sp_buffer *out, sp_shard_memory *memory)
{
	size_t start = out->size;
	sp_shard_lookup request;
	uint64_t content;
	int64_t full;

	if (header->kind == SP_SHARD_VERSION) {
		if (!sp_shard_version_read(&full, &content, body))
			return false;
		respond_version(versions, header->id, full, content, out);
	} else {
		if (header->kind != SP_SHARD_LOOKUP || !sp_shard_lookup_read(&request, body) ||
		    request.parts == 0)
			return false;
		respond_lookup(versions, header->id, &request, out, memory);
	}
	if (!out->failed)
		return true;
	out->size = start;
	return false;
}

void sp_shard_memory_fini(sp_shard_memory *memory)
{
	sp_free(memory->lookups);
	sp_free(memory->scratch);
	*memory = (sp_shard_memory){.lookups = NULL};
}

void sp_shard_versions_count(sp_shard_versions *versions, sp_shard_versions_counters *out)
{
	*out = (sp_shard_versions_counters){.requests = versions->requests,
					    .keys = versions->keys,
					    .absent = versions->absent,
					    .faults = versions->faults};
	pthread_mutex_lock(&versions->lock);
	for (const served_version *version = versions->list; version != NULL;
	     version = version->next)
		out->versions++;
	pthread_mutex_unlock(&versions->lock);
}
