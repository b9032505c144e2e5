#include "model_loader/embedding/embedding_column.h"

#include "base/alloc.h"
#include "base/size.h"
#include "model_loader/checkpoint/key_numbers.h"
#include "model_loader/embedding/embedding_internal.h"
#include "model_loader/embedding/ssd_record.h"
#include "storage/table/table_builder.h"

/* Replaces a key that is left out. */
enum { NO_KEY = -1 };

static const int64_t absent_numbers[SP_TABLE_COLUMNS] = {
	[SP_TABLE_FREQUENCIES] = 0,
	[SP_TABLE_VERSIONS] = -1,
};

/* Suffixes of the tensors' names. */
typedef struct suffixes {
	const char *keys;
	const char *numbers[SP_TABLE_COLUMNS];
} suffixes;

static const suffixes of_rows = {"-keys", {"-freqs", "-versions"}};
static const suffixes of_refused = {"-keys_filtered", {"-freqs_filtered", "-versions_filtered"}};
static const suffixes of_delta = {"-sparse_incr_keys",
				  {"-sparse_incr_freqs", "-sparse_incr_versions"}};

/* State while one column is read. */
typedef struct reading {
	sp_table_column which;
	const sp_embedding_spec *spec;
	const sp_load_policy *policy;
	sp_embedding_rows rows;
	sp_row_selection selection;
	const sp_table *table; /* NULL: the full checkpoint is read */

	/* For keys with rows: the least number, and the number of a key without one. */
	int64_t floor, unknown;
	bool refused; /* the keys are those that a filter has refused */

	sp_key_column_take *take;
	void *to;
	int64_t keys[SP_KEY_NUMBERS_PIECE], numbers[SP_KEY_NUMBERS_PIECE];
	bool held[SP_KEY_NUMBERS_PIECE];
} reading;

/* -------------------------------------------------------------------- pieces */

static void select_keys(reading *r, size_t count)
{
	bool compares = r->table != NULL && sp_load_policy_compares_rows(r->policy);

	if (compares)
		sp_table_overlay_holds(r->table, r->keys, count, r->held);
	for (size_t i = 0; i < count; i++)
		if (!sp_embedding__selects(&r->selection, r->keys[i]) || (compares && !r->held[i]))
			r->keys[i] = NO_KEY;
}

/* Sets the numbers of keys [first, count), which have none in the tensor. */
static void fill_unknown(reading *r, size_t first, size_t count)
{
	sp_key_column *below = NULL;

	if (r->table != NULL)
		below = sp_key_column_bottom(sp_table_get_column(r->table, r->which));
	if (below != NULL)
		sp_key_column_read(below, r->keys + first, count - first, r->numbers + first);
	for (size_t i = first; i < count; i++)
		if (below == NULL || r->numbers[i] < r->unknown)
			r->numbers[i] = r->unknown;
}

/* Passes on `count` keys, of which the first `known` have numbers. */
static sp_status pass_on(reading *r, size_t count, size_t known, sp_error *err)
{
	SP_TRY(sp_load_policy_go_on(r->policy, err));
	if (r->refused) {
		count = known;
	} else {
		for (size_t i = 0; i < known; i++)
			if (r->numbers[i] < r->floor)
				r->numbers[i] = r->floor;
		fill_unknown(r, known, count);
	}
	select_keys(r, count);
	return r->take(r->to, r->keys, r->numbers, count, err);
}

static sp_status take_piece(void *context, const sp_key_numbers_piece *piece, sp_error *err)
{
	reading *r = context;
	bool reset = r->which == SP_TABLE_VERSIONS && r->table == NULL && r->spec->reset_versions;
	size_t known = reset ? piece->count : piece->known;

	for (size_t i = 0; i < piece->count; i++)
		r->keys[i] = piece->keys[i];
	for (size_t i = 0; i < known; i++)
		r->numbers[i] = reset ? 0 : piece->numbers[i];
	return pass_on(r, piece->count, known, err);
}

static sp_status read_tensors(reading *r, const sp_embedding_part *part, const suffixes *suffix,
			      sp_error *err)
{
	sp_key_numbers from = {.bundle = r->rows.bundle,
			       .name = part->name,
			       .keys = suffix->keys,
			       .numbers = suffix->numbers[r->which],
			       .key_dtype = r->spec->key_dtype};

	return sp_key_numbers_read(&from, take_piece, r, err);
}

/* Keys that are left out are marked already; *known: whether the numbers are known. */
static sp_status read_records(reading *r, sp_ssd_record *ssd, size_t first, size_t count,
			      bool *known, sp_error *err)
{
	SP_TRY(sp_ssd_record_keys(ssd, first, count, r->keys, r->numbers, err));
	*known = sp_ssd_record_has_freqs(ssd);
	if (r->which == SP_TABLE_FREQUENCIES)
		return SP_OK;
	*known = sp_ssd_record_has_versions(ssd);
	return sp_ssd_record_versions(ssd, first, count, r->numbers, err);
}

static sp_status take_records(reading *r, sp_ssd_record *ssd, const char *part, sp_error *err)
{
	size_t total = sp_ssd_record_count(ssd);
	bool filtered = r->spec->filter == SP_TABLE_FILTER_COUNTER;

	if (r->which == SP_TABLE_VERSIONS && total != 0 && !sp_ssd_record_has_versions(ssd))
		return sp_error_set(err, SP_UNSUPPORTED,
				    "rows of '%s' lie on an SSD tier, whose records do not tell "
				    "their versions, for which the model asks",
				    part);
	for (size_t first = 0; first < total; first += SP_KEY_NUMBERS_PIECE) {
		size_t left = total - first;
		size_t count = left < SP_KEY_NUMBERS_PIECE ? left : SP_KEY_NUMBERS_PIECE;
		bool known;

		SP_TRY(read_records(r, ssd, first, count, &known, err));
		/* A key below the floor of a counter filter has not been admitted. */
		r->refused = known && filtered;
		SP_TRY(pass_on(r, count, known ? count : 0, err));
	}
	return sp_ssd_record_check(ssd, err);
}

static sp_status read_ssd(reading *r, const sp_embedding_part *part, sp_error *err)
{
	sp_ssd_record_options options = {.prefix = part->ssd_record,
					 .checkpoint = r->rows.bundle,
					 .name = part->name,
					 .key_dtype = r->spec->key_dtype,
					 .dim = r->spec->dim,
					 .filtered = r->spec->filter != SP_TABLE_FILTER_NONE};
	sp_ssd_record *ssd;
	sp_status status;

	if (part->ssd_record == NULL)
		return SP_OK;
	SP_TRY(sp_ssd_record_open(&ssd, &options, err));
	status = take_records(r, ssd, part->name, err);
	sp_ssd_record_close(ssd);
	return status;
}

/* In DeepRec's order: what is restored later counts. */
static sp_status read_part(reading *r, const sp_embedding_part *part, sp_error *err)
{
	if (r->table == NULL) {
		SP_TRY(read_ssd(r, part, err));
		r->refused = true;
		if (r->which == SP_TABLE_FREQUENCIES || r->spec->filter != SP_TABLE_FILTER_CBF)
			SP_TRY(read_tensors(r, part, &of_refused, err));
	}
	r->refused = false;
	return read_tensors(r, part, r->table != NULL ? &of_delta : &of_rows, err);
}

static sp_status feed(void *context, sp_key_column_take *take, void *to, sp_error *err)
{
	reading *r = context;

	r->take = take;
	r->to = to;
	for (size_t i = 0; i < r->rows.part_count; i++)
		SP_TRY(read_part(r, &r->rows.parts[i], err));
	return SP_OK;
}

/* ------------------------------------------------------------------- columns */

static sp_status create(sp_key_column **out, reading *r, sp_error *err)
{
	sp_key_column_options options = {.absent = absent_numbers[r->which],
					 .threads = r->policy->threads,
					 .stop = r->policy->closing,
					 .feed = feed,
					 .context = r};
	sp_status status;

	if (r->table != NULL)
		options.below = sp_key_column_bottom(sp_table_get_column(r->table, r->which));
	status = sp_key_column_create(out, &options, err);
	return sp_error_prefix(err, status, "embedding '%s'", r->spec->name);
}

sp_status sp_embedding_load_column(sp_key_column **out, sp_table_column which,
				   const sp_embedding *embedding, const sp_embedding_spec *spec,
				   const sp_load_policy *policy, const sp_table *table,
				   sp_error *err)
{
	static const sp_load_policy as_deeprec = {.threads = 1};
	const sp_embedding_rows *rows = table != NULL ? &embedding->delta : &embedding->full;
	reading *r = sp_alloc_zero(1, sizeof(*r));
	sp_status status;

	SP_NEED_MEMORY(r, err, "reading embedding '%s'", spec->name);
	r->which = which;
	r->spec = spec;
	r->policy = policy != NULL ? policy : &as_deeprec;
	r->table = table;
	r->rows = sp_embedding__own_rows(embedding, spec, rows);
	r->floor = r->unknown = absent_numbers[which];
	if (which == SP_TABLE_FREQUENCIES) {
		r->floor = spec->filter_freq;
		r->unknown = spec->filter_freq > 1 ? spec->filter_freq : 1;
	}
	r->selection = sp_embedding__choose_rows(embedding, spec, rows, r->policy);
	status = create(out, r, err);
	sp_free(r);
	return status;
}

/* --------------------------------------------------------------------- given */

typedef struct given {
	sp_table_column which;
	const sp_tensor *keys;
	const sp_tensor *versions;
} given;

static int64_t number_given(const given *rows, size_t i)
{
	if (rows->which == SP_TABLE_FREQUENCIES)
		return 1;
	return i < rows->versions->count ? sp_tensor_i64(rows->versions)[i] : -1;
}

static sp_status feed_given(void *context, sp_key_column_take *take, void *to, sp_error *err)
{
	const given *rows = context;

	for (size_t i = 0; i < rows->keys->count; i++) {
		int64_t key = sp_tensor_index(rows->keys, i), number = number_given(rows, i);

		SP_TRY(take(to, &key, &number, 1, err));
	}
	return SP_OK;
}

sp_status sp_embedding_make_column(sp_key_column **out, sp_table_column which,
				   const sp_tensor *keys, const sp_tensor *versions, sp_error *err)
{
	given rows = {which, keys, versions};
	sp_key_column_options options = {
		.absent = absent_numbers[which], .feed = feed_given, .context = &rows};

	return sp_key_column_create(out, &options, err);
}

/* -------------------------------------------------------------------- memory */

sp_status sp_embedding_expect_column(size_t *bytes, const sp_embedding *embedding,
				     const sp_embedding_spec *spec, sp_error *err)
{
	size_t keys = sp_embedding__count_rows(&embedding->full), refused;

	for (size_t i = 0; i < embedding->full.part_count; i++) {
		const sp_embedding_part *part = &embedding->full.parts[i];
		sp_key_numbers from = {.bundle = embedding->full.bundle,
				       .name = part->name,
				       .keys = of_refused.keys,
				       .key_dtype = spec->key_dtype};

		SP_TRY(sp_key_numbers_count(&from, &refused, err));
		if (!sp_size_add(&keys, keys, refused))
			keys = SIZE_MAX;
	}
	*bytes = sp_key_column_expected_size(keys);
	return SP_OK;
}
