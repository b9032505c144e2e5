#include "model_loader/embedding/row_versions.h"

#include "model_loader/checkpoint/key_numbers.h"

/* All of a variable's keys and steps on the way to a column. */
typedef struct feeding {
	const sp_embedding_rows *rows;
	bool is_delta;
	bool any; /* a step is known */
	sp_key_column_take *take;
	void *to;
} feeding;

static sp_status take_piece(void *context, const sp_key_numbers_piece *piece, sp_error *err)
{
	feeding *f = context;
	int64_t steps[SP_KEY_NUMBERS_PIECE];

	for (size_t i = 0; i < piece->count; i++) {
		steps[i] = i < piece->known && piece->numbers[i] > 0 ? piece->numbers[i] : 0;
		f->any = f->any || steps[i] != 0;
	}
	return f->take(f->to, piece->keys, steps, piece->count, err);
}

static sp_status feed(void *context, sp_key_column_take *take, void *to, sp_error *err)
{
	feeding *f = context;

	f->take = take;
	f->to = to;
	for (size_t i = 0; i < f->rows->part_count; i++) {
		const sp_embedding_part *part = &f->rows->parts[i];
		sp_key_numbers from = {
			.bundle = f->rows->bundle,
			.name = part->name,
			.keys = f->is_delta ? "-sparse_incr_keys" : "-keys",
			.numbers = f->is_delta ? "-sparse_incr_versions" : "-versions",
			.key_dtype = part->keys->dtype,
		};

		if (part->ssd_record != NULL)
			return sp_error_set(err, SP_UNSUPPORTED,
					    "rows of '%s' lie on an SSD tier, and their versions "
					    "are not known: update_old_key cannot be "
					    "replace_if_newer",
					    part->name);
		SP_TRY(sp_key_numbers_read(&from, take_piece, f, err));
	}
	return SP_OK;
}

sp_status sp_row_versions_create(sp_key_column **out, const sp_embedding_rows *rows, bool is_delta,
				 size_t threads, sp_error *err)
{
	feeding f = {.rows = rows, .is_delta = is_delta};
	sp_key_column_options options = {.threads = threads, .feed = feed, .context = &f};

	*out = NULL;
	SP_TRY(sp_key_column_create(out, &options, err));
	if (!f.any) {
		sp_key_column_release(*out);
		*out = NULL;
	}
	return SP_OK;
}
