#include <inttypes.h>

#include "model_loader/embedding/bucket_offsets.h"
#include "tools/column.h"
#include "tools/key_set.h"
#include "tools/norms.h"
#include "tools/ssd_rows.h"
#include "tools/verify_internal.h"

#define KEY_SET_BYTES ((size_t)256 << 20)

/* What may be wrong with keys or rows of one part. */
enum { MARKED, MISROUTED, MISPLACED, NOT_FINITE, KINDS };

static const char *const sentences[KINDS] = {
	[MARKED] = "keys are -1 or -2, which are never served",
	[MISROUTED] = "keys belong to another part",
	[MISPLACED] = "keys lie outside their bucket",
	[NOT_FINITE] = "rows have NaN or infinity",
};

typedef struct finding {
	size_t count;
	int64_t first; /* key */
} finding;

typedef struct part_check {
	sp_verification *v;
	const sp_catalogue_table *table;
	size_t part;
	sp_bucket_offsets offsets;
	bool has_offsets;
	finding found[KINDS];
} part_check;

static const sp_catalogue_part *part_of(const part_check *c)
{
	return &c->table->parts[c->part];
}

static void count_key(finding *found, int64_t key)
{
	if (found->count++ == 0)
		found->first = key;
}

static void check_key(part_check *c, int64_t key, size_t row)
{
	if (key == -1 || key == -2) {
		count_key(&c->found[MARKED], key);
		return;
	}
	/* Parts without offsets come from other writers, which may partition keys differently. */
	if (c->has_offsets && c->table->partitioned && !c->table->delta &&
	    key % SP_BUCKETS % (int64_t)c->table->part_count != (int64_t)c->part)
		count_key(&c->found[MISROUTED], key);
	if (c->has_offsets && !sp_bucket_offsets_allow(&c->offsets, key, row))
		count_key(&c->found[MISPLACED], key);
}

static void check_rows(part_check *c, sp_column *keys, sp_column *values)
{
	for (size_t count; (count = sp_column_piece(values)) != 0;) {
		size_t first = keys->next;
		const void *piece;
		const char *rows;

		count = count < sp_column_piece(keys) ? count : sp_column_piece(keys);
		piece = sp_column_next(keys, count);
		rows = sp_column_next(values, count);
		for (size_t i = 0; i < count; i++) {
			int64_t key = sp_column_key(keys, piece, i);

			check_key(c, key, first + i);
			if (!sp_row_is_finite(values->width,
					      rows + i * values->width * sizeof(float)))
				count_key(&c->found[NOT_FINITE], key);
		}
	}
}

/* -------------------------------------------------------------------- offsets */

static void read_offsets(part_check *c)
{
	const sp_catalogue_part *part = part_of(c);
	sp_error why;

	if (part->offsets == NULL)
		return;
	c->has_offsets = sp_bucket_offsets_read(&c->offsets, c->v->bundle, part->offsets,
						part->rows, &why) == SP_OK;
	if (!c->has_offsets)
		sp_verify_problem(c->v, part->name, "%s", why.text);
}

/* ------------------------------------------------------------------- one part */

static void report_findings(part_check *c)
{
	const char *name = part_of(c)->name;

	for (int kind = 0; kind < KINDS; kind++) {
		const finding *found = &c->found[kind];

		if (found->count != 0)
			sp_verify_problem(c->v, name, "%zu %s, the first is %s%" PRId64,
					  found->count, sentences[kind],
					  kind == NOT_FINITE ? "that of " : "", found->first);
	}
}

/* The tensor has one element per row, or fewer if an older writer made it. */
static void check_length(part_check *c, const sp_bundle_entry *entry, const char *what)
{
	if (entry != NULL && (entry->dtype != SP_INT64 || entry->shape.rank != 1 ||
			      (size_t)entry->shape.dims[0] > part_of(c)->rows))
		sp_verify_problem(c->v, part_of(c)->name, "its %s are not one int64 per row", what);
}

static sp_status read_part(part_check *c, sp_error *err)
{
	const sp_catalogue_part *part = part_of(c);
	sp_column columns[2] = {0};
	sp_status status;

	status = sp_column_open(&columns[0], c->v->bundle, part->keys, 1, &c->v->progress, err);
	if (status == SP_OK)
		status = sp_column_open(&columns[1], c->v->bundle, part->values, c->table->dim,
					&c->v->progress, err);
	if (status == SP_OK)
		check_rows(c, &columns[0], &columns[1]);
	return sp_columns_close(columns, 2, status, err);
}

static sp_status check_ssd_piece(void *context, const sp_ssd_piece *piece, sp_error *err)
{
	part_check *c = context;
	size_t dim = c->table->dim;

	(void)err;
	for (size_t i = 0; i < piece->count; i++)
		if (piece->keys[i] != -1 && !sp_row_is_finite(dim, piece->rows + i * dim))
			count_key(&c->found[NOT_FINITE], piece->keys[i]);
	return SP_OK;
}

static sp_status read_ssd(part_check *c, sp_error *err)
{
	if (c->table->delta || c->table->dim == 0)
		return SP_OK;
	return sp_ssd_rows_each(c->v->bundle, part_of(c), c->table->dim, c->v->tool->arena,
				check_ssd_piece, c, err);
}

/* True if the keys can be read. */
static bool verify_part(part_check *c)
{
	const sp_catalogue_part *part = part_of(c);
	sp_error why;
	sp_status status;

	if (part->problem != NULL) {
		sp_verify_problem(c->v, part->name, "%s", part->problem);
		return false;
	}
	if ((size_t)part->values->shape.dims[1] != c->table->dim) {
		sp_verify_problem(c->v, part->name, "its rows have %lld elements, not %zu",
				  (long long)part->values->shape.dims[1], c->table->dim);
		return false;
	}
	check_length(c, part->freqs, "frequencies");
	check_length(c, part->versions, "versions");
	read_offsets(c);
	status = read_part(c, &why);
	if (status != SP_OK)
		sp_verify_problem(c->v, part->name, "%s", why.text);
	if (read_ssd(c, &why) != SP_OK)
		sp_verify_problem(c->v, part->name, "%s", why.text);
	report_findings(c);
	return status == SP_OK;
}

/* ----------------------------------------------------------------- duplicates */

static sp_status count_repeats(sp_verification *v, const sp_catalogue_part *part, sp_key_set *set,
			       finding *repeats, sp_error *err)
{
	sp_column keys = {0};
	sp_status status = sp_column_open(&keys, v->bundle, part->keys, 1, NULL, err);

	for (size_t count; status == SP_OK && (count = sp_column_piece(&keys)) != 0;) {
		const void *piece = sp_column_next(&keys, count);

		for (size_t i = 0; i < count; i++) {
			int64_t key = sp_column_key(&keys, piece, i);

			if (key != -1 && sp_key_set_add(set, key))
				count_key(repeats, key);
		}
	}
	return sp_columns_close(&keys, 1, status, err);
}

/* A key in two parts is reported as misrouted if the table routes keys. */
static sp_status find_repeats(sp_verification *v, const sp_catalogue_part *part, sp_error *err)
{
	sp_status status = SP_OK;
	finding repeats = {0};
	sp_key_set set;

	if (!sp_key_set_init(&set, part->rows, KEY_SET_BYTES))
		return sp_error_set(err, SP_NO_MEMORY, "no memory to look for repeated keys");
	for (size_t pass = 0; pass < set.passes && status == SP_OK; pass++) {
		sp_key_set_start(&set, pass);
		status = count_repeats(v, part, &set, &repeats, err);
	}
	sp_key_set_fini(&set);
	if (status == SP_OK && repeats.count != 0)
		sp_verify_problem(v, part->name,
				  "%zu rows repeat an earlier key, the first is %" PRId64,
				  repeats.count, repeats.first);
	return status;
}

sp_status sp_verify_table(sp_verification *v, const sp_catalogue_table *table, sp_error *err)
{
	for (size_t i = 0; i < table->part_count; i++) {
		part_check c = {.v = v, .table = table, .part = i};

		if (verify_part(&c))
			SP_TRY(find_repeats(v, &table->parts[i], err));
	}
	return SP_OK;
}
