#include "tools/ssd_rows.h"

#include "base/alloc.h"
#include "base/file.h"
#include "model_loader/embedding/ssd_record.h"

enum { PIECE = 1024 };

static sp_status visit_all(sp_ssd_record *record, size_t dim, sp_ssd_visit *visit, void *context,
			   sp_error *err)
{
	size_t count = sp_ssd_record_count(record);
	bool counted = sp_ssd_record_has_freqs(record);
	int64_t keys[PIECE], freqs[PIECE];
	float *rows = sp_alloc_zero(PIECE * dim, sizeof(*rows));
	sp_status status = SP_OK;

	SP_NEED_MEMORY(rows, err, "rows of an SSD tier");
	for (size_t first = 0, n; first < count && status == SP_OK; first += n) {
		sp_ssd_piece piece = {keys, counted ? freqs : NULL, rows, 0};

		n = piece.count = count - first < PIECE ? count - first : PIECE;
		status = sp_ssd_record_keys(record, first, n, keys, freqs, err);
		if (status == SP_OK)
			status = sp_ssd_record_rows(record, first, n, rows, err);
		if (status == SP_OK)
			status = visit(context, &piece, err);
	}
	sp_free(rows);
	return status == SP_OK ? sp_ssd_record_check(record, err) : status;
}

sp_status sp_ssd_rows_each(const sp_bundle *bundle, const sp_catalogue_part *part, size_t dim,
			   sp_arena *arena, sp_ssd_visit *visit, void *context, sp_error *err)
{
	const char *prefix = sp_ssd_record_prefix(sp_bundle_prefix(bundle), part->name, arena);
	const char *index = prefix != NULL ? sp_arena_printf(arena, "%s.index", prefix) : NULL;
	/* Frequencies are saved if a filter needs them or the trainer was told to. */
	bool counted = part->freqs != NULL && part->freqs->size != 0;
	sp_ssd_record_options options = {.prefix = prefix,
					 .checkpoint = bundle,
					 .name = part->name,
					 .key_dtype = part->keys->dtype,
					 .dim = dim,
					 .filtered = counted};
	sp_ssd_record *record;
	sp_status status;

	SP_NEED_MEMORY(index, err, "a path");
	if (!sp_file_exists(index))
		return SP_OK;
	SP_TRY(sp_ssd_record_open(&record, &options, err));
	status = visit_all(record, dim, visit, context, err);
	sp_ssd_record_close(record);
	return status;
}
