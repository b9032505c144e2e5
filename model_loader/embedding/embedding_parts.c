#include <string.h>

#include "base/log.h"
#include "model_loader/embedding/embedding_internal.h"

/*
 * Which rows of several parts a handle reads.
 *
 * Where every key lies in part key % 1000 % parts, a key is the same in all parts, and a part
 * is but where it is stored: rows are dealt by their keys, and any number of parts serves
 * with any other.  Where that is not so, a key may be a number of its part's own, and only
 * the handle of that part may read it.
 *
 * The graph tells which of the two it is where it is seen to ask by key % 1000 % parts
 * (model_loader/embedding/part_routes.h).  Else the rows do.  A few may lie so by chance: where the
 * graph has as many parts as the full checkpoint, a table for each part is right in either case.
 */
enum { MANY_ROWS = 16 }; /* so many of each part do not lie so by chance */

/* ---------------------------------------------------------------- how rows were dealt */

static size_t last_number(const sp_embedding_rows *rows)
{
	return rows->parts[rows->part_count - 1].number;
}

static void add_deal(sp_embedding__deals *deals, size_t parts)
{
	deals->parts[deals->count++] = parts;
}

static sp_status rule_out_all(sp_embedding__deals *deals, const sp_embedding_rows *rows,
			      sp_error *err)
{
	for (size_t i = 0; i < rows->part_count && deals->count != 0; i++)
		SP_TRY(sp_embedding__rule_out(deals, rows, i, err));
	return SP_OK;
}

/* Whether all rows lie where they would if there were so many parts. */
static sp_status are_dealt_to(bool *out, const sp_embedding_rows *rows, size_t parts, sp_error *err)
{
	sp_embedding__deals deals = {.count = 0};

	add_deal(&deals, parts);
	SP_TRY(rule_out_all(&deals, rows, err));
	*out = deals.count != 0;
	return SP_OK;
}

static sp_status find_deal_of_full(sp_embedding_rows *rows, sp_routing known, sp_error *err)
{
	bool dealt = known == SP_ROUTED;

	if (rows->part_count > 1 && known == SP_ROUTING_UNKNOWN)
		SP_TRY(are_dealt_to(&dealt, rows, rows->part_count, err));
	else if (known == SP_ROUTING_UNKNOWN)
		dealt = true;
	rows->dealt = dealt ? rows->part_count : 0;
	return SP_OK;
}

/*
 * The last parts of a delta may be missing, so it does not tell how many there were.  It is the
 * graph's number if that is possible, else the least.
 */
static sp_status find_deal_of_delta(sp_embedding_rows *rows, size_t graph, sp_error *err)
{
	size_t least = last_number(rows) + 1;
	sp_embedding__deals deals = {.count = 0};

	if (least == 1)
		return SP_OK; /* it has all rows: they are dealt to 1 */
	add_deal(&deals, least);
	for (size_t parts = least + 1; parts <= SP_BUCKETS; parts++)
		add_deal(&deals, parts);
	SP_TRY(rule_out_all(&deals, rows, err));
	rows->dealt = deals.count != 0 ? deals.parts[0] : 0;
	for (size_t i = 0; i < deals.count; i++)
		if (deals.parts[i] == graph)
			rows->dealt = graph;
	return SP_OK;
}

/* ------------------------------------------------------------------- parts that are lost */

/* Without a number in its name the one part has all rows. */
static bool is_unnumbered(const sp_embedding *embedding)
{
	const sp_embedding_rows *full = &embedding->full;

	return full->part_count == 1 && strcmp(full->parts[0].name, embedding->base) == 0;
}

static bool has_fewer_parts(const sp_embedding *embedding, const sp_part_name *name,
			    const sp_embedding_spec *spec)
{
	return name->numbered && !is_unnumbered(embedding) &&
	       embedding->full.part_count < (size_t)spec->partition_num;
}

/* Whether the rows may be all that a checkpoint of so many parts has: they are in one of them. */
static bool may_be_all(const sp_embedding_rows *rows)
{
	size_t filled = 0;

	for (size_t i = 0; i < rows->part_count; i++)
		filled += rows->parts[i].row_count != 0;
	return rows->dealt != 0 && filled <= 1;
}

/*
 * Where all rows lie as if the checkpoint had the graph's parts, of which it has
 * only the first, the others are lost: what else could have left them out?
 * Of few rows that may be chance.  And rows of one part alone may be all there
 * are, of a trainer with fewer parts and, say, even keys only: these are served,
 * and the handle of the first part that is not there says so.
 */
static sp_status check_none_is_lost(const sp_embedding *embedding, const sp_part_name *name,
				    const sp_embedding_spec *spec, sp_error *err)
{
	const sp_embedding_rows *rows = &embedding->full;
	bool complete = may_be_all(rows), fits;
	long long wanted = spec->partition_num;
	size_t row_count = 0;

	for (size_t i = 0; i < rows->part_count; i++)
		row_count += rows->parts[i].row_count;
	if (!has_fewer_parts(embedding, name, spec) || spec->routing != SP_ROUTING_UNKNOWN ||
	    row_count < MANY_ROWS || (complete && name->number != rows->part_count))
		return SP_OK;
	SP_TRY(are_dealt_to(&fits, rows, (size_t)wanted, err));
	if (!fits)
		return SP_OK;
	if (!complete)
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
/* --------------------------------------------------------------- what a handle reads */

/* By themselves, not only by chance. */
static bool are_surely_dealt(const sp_embedding_rows *rows)
{
	for (size_t i = 0; i < rows->part_count; i++)
		if (rows->parts[i].row_count < MANY_ROWS || rows->parts[i].offsets == NULL)
			return false; /* writers of numbers of their own mostly leave no offsets */
	return rows->dealt != 0;
}

/* Whether each of the graph's handles is that of one part. */
static bool may_be_apart(const sp_embedding_rows *full, const sp_part_name *name,
			 const sp_embedding_spec *spec)
{
	return full->part_count > 1 && spec->partition_num == (int64_t)full->part_count &&
	       name->numbered && spec->partition_id == (int64_t)name->number &&
	       name->number < full->part_count;
}

sp_status sp_embedding__place_full(sp_embedding *embedding, const sp_part_name *name,
				   const sp_embedding_spec *spec, sp_error *err)
{
	sp_embedding_rows *full = &embedding->full;
	bool may_apart = may_be_apart(full, name, spec);

	SP_TRY(find_deal_of_full(full, spec->routing, err));
	SP_TRY(check_none_is_lost(embedding, name, spec, err));
	embedding->whole = spec->by_key || (may_apart ? are_surely_dealt(full) : full->dealt != 0);
	full->by_key = embedding->whole;
	if (embedding->whole || may_apart)
		return SP_OK;
	return sp_error_set(err, SP_UNSUPPORTED,
			    "%s: embedding '%s' has %zu parts whose keys do not follow "
			    "key %% 1000 %% parts, so they cannot serve part %lld of %lld",
			    sp_bundle_prefix(full->bundle), spec->name, full->part_count,
			    (long long)spec->partition_id, (long long)spec->partition_num);
}

/* Part for part, where the full checkpoint's are apart: the handle of its number reads it. */
static bool lies_in_same_parts(const sp_embedding_rows *delta, size_t parts)
{
	return delta->dealt == parts ||
	       (delta->part_count == parts && last_number(delta) == parts - 1);
}

sp_status sp_embedding__place_delta(sp_embedding *embedding, const sp_embedding_spec *spec,
				    sp_error *err)
{
	const sp_embedding_rows *full = &embedding->full;
	sp_embedding_rows *delta = &embedding->delta;
	size_t parts = (size_t)spec->partition_num;
	const sp_embedding_rows *odd;

	delta->by_key = true;
	if (delta->part_count == 0)
		return SP_OK;
	SP_TRY(find_deal_of_delta(delta, parts, err));
	if (!embedding->whole && lies_in_same_parts(delta, parts)) {
		delta->by_key = false;
		return SP_OK;
	}
	if (spec->by_key || (full->dealt != 0 && delta->dealt != 0))
		return SP_OK;
	if (!embedding->whole && last_number(delta) + 1 == parts) { /* some are untouched */
		delta->by_key = false;
		return SP_OK;
	}
	odd = full->dealt != 0 ? delta : full;
	return sp_error_set(
		err, SP_UNSUPPORTED,
		"%s: rows of embedding '%s' lie in parts %zu to %zu, in %s in %zu: keys "
		"of %s do not follow key %% 1000 %% parts, so nothing tells which of "
		"them are part %lld of %lld",
		sp_bundle_prefix(delta->bundle), spec->name, delta->parts[0].number,
		last_number(delta), sp_bundle_prefix(full->bundle), full->part_count,
		odd == full ? "the full checkpoint" : "the delta", (long long)spec->partition_id,
		(long long)spec->partition_num);
}

/* Whether a handle's rows are all in the part of its number. */
static bool has_own_part(const sp_embedding *embedding, const sp_embedding_spec *spec,
			 bool only_own_part, const sp_embedding_rows *rows)
{
	if (embedding->whole && !only_own_part)
		return false;
	return !rows->by_key || (int64_t)rows->dealt == spec->partition_num;
}

sp_embedding_rows sp_embedding__own_rows(const sp_embedding *embedding,
					 const sp_embedding_spec *spec, bool only_own_part,
					 const sp_embedding_rows *rows)
{
	sp_embedding_rows own = *rows;

	if (!has_own_part(embedding, spec, only_own_part, rows))
		return own;
	while (own.part_count != 0 && (int64_t)own.parts->number != spec->partition_id) {
		own.parts++;
		own.part_count--;
	}
	own.part_count = own.part_count != 0;
	return own;
}

/*
 * Parts that stay apart are sliced by the keys that they hold, whatever these
 * mean: each row is in one slice, and that is all that a sum of answers needs.
 */
sp_row_selection sp_embedding__choose_rows(const sp_embedding *embedding,
					   const sp_embedding_spec *spec, bool only_own_part,
					   const sp_embedding_rows *rows,
					   const sp_load_policy *policy)
{
	sp_row_selection s = {.part_count = 1, .slice_count = 1, .filter = spec->filter};

	if (rows->by_key && (only_own_part || !embedding->whole)) {
		s.part = spec->partition_id;
		s.part_count = spec->partition_num;
	}
	if (sp_load_policy_shards(policy, embedding->base)) {
		s.slice = policy->slice;
		s.slice_count = policy->slice_count;
	}
	return s;
}
