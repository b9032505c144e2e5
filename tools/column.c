#include "tools/column.h"

#include <string.h>

#include "base/alloc.h"

enum { PIECE_BYTES = 1 << 20 };

static size_t largest_piece(const sp_column *column)
{
	size_t row = column->width * column->span.width;

	return row != 0 && row < PIECE_BYTES ? PIECE_BYTES / row : 1;
}

size_t sp_column_piece(const sp_column *column)
{
	size_t left = column->rows - column->next, most = largest_piece(column);

	return left < most ? left : most;
}

sp_status sp_column_open(sp_column *out, const sp_bundle *bundle, const sp_bundle_entry *entry,
			 size_t width, sp_progress *progress, sp_error *err)
{
	*out = (sp_column){.width = width != 0 ? width : 1, .progress = progress};
	SP_TRY(sp_bundle_span_open(&out->span, bundle, entry->name, err));
	if (out->span.count % out->width != 0)
		return sp_error_set(
			err, SP_CORRUPT, "%.*s: %zu elements do not divide into rows of %zu",
			(int)entry->name.size, entry->name.data, out->span.count, out->width);
	out->rows = out->span.count / out->width;
	out->buffer = sp_alloc(largest_piece(out) * out->width * out->span.width);
	if (out->buffer == NULL)
		return sp_error_set(err, SP_NO_MEMORY, "no memory to read a tensor");
	return SP_OK;
}

const void *sp_column_next(sp_column *column, size_t count)
{
	size_t first = column->next * column->width, elements = count * column->width;

	if (column->status == SP_OK)
		column->status = sp_bundle_span_read(&column->span, first, elements, column->buffer,
						     &column->crc, &column->error);
	if (column->status != SP_OK)
		memset(column->buffer, 0, elements * column->span.width);
	column->next += count;
	if (column->progress != NULL)
		sp_progress_add(column->progress, elements * column->span.width);
	return column->buffer;
}

static sp_status outcome(const sp_column *column, sp_error *err)
{
	if (column->status != SP_OK)
		return sp_error_set(err, column->status, "%s", column->error.text);
	if (column->next != column->rows)
		return SP_OK;
	return sp_bundle_span_check(&column->span, column->crc, err);
}

sp_status sp_columns_close(sp_column *columns, size_t count, sp_status status, sp_error *err)
{
	for (size_t i = 0; i < count; i++) {
		sp_column *column = &columns[i];

		if (column->span.bundle == NULL)
			continue;
		if (status == SP_OK)
			status = outcome(column, err);
		sp_free(column->buffer);
		*column = (sp_column){0};
	}
	return status;
}

int64_t sp_column_key(const sp_column *column, const void *piece, size_t i)
{
	int32_t narrow;
	int64_t key;

	if (column->span.width == sizeof(narrow)) {
		memcpy(&narrow, (const char *)piece + i * sizeof(narrow), sizeof(narrow));
		return narrow;
	}
	memcpy(&key, (const char *)piece + i * sizeof(key), sizeof(key));
	return key;
}
