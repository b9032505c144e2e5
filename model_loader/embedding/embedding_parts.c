#include <string.h>

#include "base/log.h"
#include "base/size.h"
#include "model_loader/embedding/embedding_internal.h"

/*
 * Decides which rows of several parts a handle reads.
 *
 * Rows are routed by key if every key lies in part key % 1000 % parts.  A key then means the same
 * in all parts, parts are only places of storage, and a graph with any number of parts can serve
 * them.  If they are not routed, a key may be a number local to its part, and only the handle of
 * that part may read it.
 *
 * A graph that asks part key % 1000 % parts (model_loader/embedding/part_routes.h) proves that rows
 * are routed.  Otherwise the rows must show it.  A few rows may look routed by chance: if the graph
 * has as many parts as the full checkpoint, a table for each part is right in either case.
 */
enum { MANY_ROWS = 16 }; /* so many rows in each part do not look routed by chance */

enum { KEYS_PIECE = 2048 };

/* ----------------------------------------------------------- how rows are routed */

/* The part counts by which the keys seen so far may have been routed; ascending. */
typedef struct candidates {
	size_t parts[SP_BUCKETS];
	size_t count;
} candidates;

/* Keeps the counts that route keys of that bucket to part `number`; none for a negative bucket. */
static void keep_candidates(candidates *c, int64_t bucket, size_t number)
{
	size_t kept = 0;

	for (size_t i = 0; i < c->count && bucket >= 0; i++)
		if ((size_t)bucket % c->parts[i] == number)
			c->parts[kept++] = c->parts[i];
	c->count = kept;
}

/* Reads the keys of one part until no candidate is left; the checksum is then left to the load. */
static sp_status rule_out_by_part(candidates *c, const sp_embedding_rows *rows,
				  const sp_embedding_part *part, sp_error *err)
{
	bool seen[SP_BUCKETS] = {false};
	int64_t keys[KEYS_PIECE];
	sp_bundle_span span;
	uint32_t crc = 0;

	SP_TRY(sp_bundle_span_open(&span, rows->bundle, part->keys->name, err));
	for (size_t first = 0, count; first < span.count; first += count) {
		count = span.count - first < KEYS_PIECE ? span.count - first : KEYS_PIECE;
		SP_TRY(sp_bundle_span_read_keys(&span, first, count, keys, &crc, err));
		for (size_t k = 0; k < count; k++) {
			int64_t bucket = keys[k] % SP_BUCKETS;

			if (bucket >= 0 && seen[bucket])
				continue;
			keep_candidates(c, bucket, part->number);
			if (c->count == 0)
				return SP_OK;
			seen[bucket] = true;
		}
	}
	return sp_bundle_span_check(&span, crc, err);
}

static sp_status rule_out(candidates *c, const sp_embedding_rows *rows, sp_error *err)
{
	for (size_t i = 0; i < rows->part_count && c->count != 0; i++)
		SP_TRY(rule_out_by_part(c, rows, &rows->parts[i], err));
	return SP_OK;
}

/* Whether all rows are routed to that many parts. */
static sp_status are_routed_to(bool *out, const sp_embedding_rows *rows, size_t parts,
			       sp_error *err)
{
	candidates c = {.parts = {parts}, .count = 1};

	SP_TRY(rule_out(&c, rows, err));
	*out = c.count != 0;
	return SP_OK;
}

static size_t last_number(const sp_embedding_rows *rows)
{
	return rows->parts[rows->part_count - 1].number;
}

/*
 * The last parts of a delta may be missing, so it does not show how many there were.  The graph's
 * number is taken if it is possible, else the smallest one.
 */
static sp_status find_route_of_delta(sp_embedding_rows *rows, size_t graph, sp_error *err)
{
	size_t least = last_number(rows) + 1;
	candidates c = {.parts = {least}, .count = 1};

	if (least == 1)
		return SP_OK; /* one part has all rows */
	for (size_t parts = least + 1; parts <= SP_BUCKETS; parts++)
		c.parts[c.count++] = parts;
	SP_TRY(rule_out(&c, rows, err));
	rows->routed = c.count != 0 ? c.parts[0] : 0;
	for (size_t i = 0; i < c.count; i++)
		if (c.parts[i] == graph)
			rows->routed = graph;
	return SP_OK;
}

/* ---------------------------------------------------------------- lost parts */

/*
 * If all rows lie as in the graph's parts, of which the checkpoint has only the first ones, the
 * others are lost: nothing else explains it.  With few rows it may be chance.  A checkpoint of one
 * part may be complete, of a trainer with fewer parts and, say, only even keys: it is served, and
 * the handle of the first missing part logs it.
 */
static sp_status check_none_is_lost(const sp_embedding *embedding, const sp_part_name *name,
				    const sp_embedding_spec *spec, sp_error *err)
{
	const sp_embedding_rows *rows = &embedding->full;
	long long wanted = spec->partition_num;
	bool is_unnumbered = rows->part_count == 1 &&
			     strcmp(rows->parts[0].name, embedding->base) == 0;
	size_t row_count = 0, filled = 0;
	bool may_be_all, fits;

	for (size_t i = 0; i < rows->part_count; i++) {
		row_count += rows->parts[i].row_count;
		filled += rows->parts[i].row_count != 0;
	}
	may_be_all = rows->routed != 0 && filled <= 1;
	if (!name->numbered || is_unnumbered || rows->part_count >= (size_t)wanted ||
	    spec->routing != SP_ROUTING_UNKNOWN || row_count < MANY_ROWS ||
	    (may_be_all && name->number != rows->part_count))
		return SP_OK;
	SP_TRY(are_routed_to(&fits, rows, (size_t)wanted, err));
	if (!fits)
		return SP_OK;
	if (!may_be_all)
		return sp_error_set(err, SP_CORRUPT,
				    "%s lacks parts %zu to %lld of embedding '%s': its rows lie as "
				    "those of %lld parts do",
				    sp_bundle_prefix(rows->bundle), rows->part_count, wanted - 1,
				    spec->name, wanted);
	sp_log(SP_LOG_WARNING,
	       "%s has rows of embedding '%s' in one part alone, which could also be one of %lld "
	       "parts: were there so many, the others are lost",
	       sp_bundle_prefix(rows->bundle), embedding->base, wanted);
	return SP_OK;
}

/* --------------------------------------------------------- what a handle reads */

/* True only if it is not by chance.  Writers with local key numbers mostly write no offsets. */
static bool are_surely_routed(const sp_embedding_rows *rows)
{
	for (size_t i = 0; i < rows->part_count; i++)
		if (rows->parts[i].row_count < MANY_ROWS || rows->parts[i].offsets == NULL)
			return false;
	return rows->routed != 0;
}

sp_status sp_embedding__place_full(sp_embedding *embedding, const sp_part_name *name,
				   const sp_embedding_spec *spec, sp_error *err)
{
	sp_embedding_rows *full = &embedding->full;
	bool routed = spec->routing != SP_NOT_ROUTED;
	/* Each of the graph's handles may be that of one part. */
	bool may_be_apart = full->part_count > 1 &&
			    spec->partition_num == (int64_t)full->part_count && name->numbered &&
			    spec->partition_id == (int64_t)name->number &&
			    name->number < full->part_count;

	if (full->part_count > 1 && spec->routing == SP_ROUTING_UNKNOWN)
		SP_TRY(are_routed_to(&routed, full, full->part_count, err));
	full->routed = routed ? full->part_count : 0;
	SP_TRY(check_none_is_lost(embedding, name, spec, err));
	embedding->whole = spec->by_key ||
			   (may_be_apart ? are_surely_routed(full) : full->routed != 0);
	full->by_key = embedding->whole;
	if (embedding->whole || may_be_apart)
		return SP_OK;
	return sp_error_set(err, SP_UNSUPPORTED,
			    "%s: embedding '%s' has %zu parts whose keys do not follow "
			    "key %% 1000 %% parts, so they cannot serve part %lld of %lld",
			    sp_bundle_prefix(full->bundle), spec->name, full->part_count,
			    (long long)spec->partition_id, (long long)spec->partition_num);
}

sp_status sp_embedding__place_delta(sp_embedding *embedding, const sp_embedding_spec *spec,
				    sp_error *err)
{
	const sp_embedding_rows *full = &embedding->full;
	sp_embedding_rows *delta = &embedding->delta;
	size_t parts = (size_t)spec->partition_num, last;

	delta->by_key = true;
	if (delta->part_count == 0)
		return SP_OK;
	last = last_number(delta);
	SP_TRY(find_route_of_delta(delta, parts, err));
	/* If the full checkpoint's parts are separate, each is read by the handle of its number. */
	if (!embedding->whole &&
	    (delta->routed == parts || (delta->part_count == parts && last == parts - 1))) {
		delta->by_key = false;
		return SP_OK;
	}
	if (spec->by_key || (full->routed != 0 && delta->routed != 0))
		return SP_OK;
	if (!embedding->whole && last + 1 == parts) { /* some parts are unchanged */
		delta->by_key = false;
		return SP_OK;
	}
	return sp_error_set(
		err, SP_UNSUPPORTED,
		"%s: rows of embedding '%s' lie in parts %zu to %zu, in %s in %zu: keys "
		"of %s do not follow key %% 1000 %% parts, so nothing tells which of "
		"them are part %lld of %lld",
		sp_bundle_prefix(delta->bundle), spec->name, delta->parts[0].number, last,
		sp_bundle_prefix(full->bundle), full->part_count,
		full->routed == 0 ? "the full checkpoint" : "the delta",
		(long long)spec->partition_id, (long long)spec->partition_num);
}

sp_embedding_rows sp_embedding__own_rows(const sp_embedding *embedding,
					 const sp_embedding_spec *spec,
					 const sp_embedding_rows *rows)
{
	bool needs_one_part = !embedding->whole || embedding->own_part;
	bool lie_in_one_part = !rows->by_key || (int64_t)rows->routed == spec->partition_num;
	sp_embedding_rows own = *rows;

	if (!needs_one_part || !lie_in_one_part)
		return own;
	while (own.part_count != 0 && (int64_t)own.parts->number != spec->partition_id) {
		own.parts++;
		own.part_count--;
	}
	own.part_count = own.part_count != 0;
	return own;
}

/*
 * Separate parts are sliced by the keys that they store, whatever these mean: each row is in one
 * slice, which is enough for a sum of answers.
 */
sp_row_selection sp_embedding__choose_rows(const sp_embedding *embedding,
					   const sp_embedding_spec *spec,
					   const sp_embedding_rows *rows,
					   const sp_load_policy *policy)
{
	sp_row_selection s = {.part_count = 1, .slice_count = 1, .filter = spec->filter};

	if (rows->by_key && (embedding->own_part || !embedding->whole)) {
		s.part = spec->partition_id;
		s.part_count = spec->partition_num;
	}
	if (sp_load_policy_shards(policy, embedding->base)) {
		s.slice = policy->slice;
		s.slice_count = policy->slice_count;
	}
	return s;
}

size_t sp_embedding__count_rows(const sp_embedding_rows *rows)
{
	size_t count = 0;

	for (size_t i = 0; i < rows->part_count; i++)
		if (!sp_size_add(&count, count, rows->parts[i].row_count) ||
		    !sp_size_add(&count, count, rows->parts[i].ssd_count))
			return SIZE_MAX;
	return count;
}
