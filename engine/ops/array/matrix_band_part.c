#include <string.h>

#include "engine/ops/ops.h"

/*
 * MatrixBandPart: keeps the elements of each innermost matrix that lie at most num_lower below and
 * num_upper above the diagonal (negative: all of them); zeros elsewhere.
 */
typedef struct band {
	int64_t rows, columns;
	int64_t lower, upper;
	size_t size; /* of an element */
} band;

/* Input i as a width of the band, at most `most`; negative stands for `most`. */
static sp_status read_width(const sp_call *call, size_t i, int64_t most, int64_t *out)
{
	SP_TRY(sp_call_need_rank(call, i, 0));
	*out = sp_tensor_index(call->in[i], 0);
	if (*out > most)
		return sp_call_invalid(call, "a band's width of %lld is more than the matrix' %lld",
				       (long long)*out, (long long)most);
	if (*out < 0)
		*out = most;
	return SP_OK;
}

static int64_t clamp(int64_t value, int64_t most)
{
	return value < 0 ? 0 : value > most ? most : value;
}

static void cut_row(const band *b, int64_t row, const char *from, char *to)
{
	size_t first = (size_t)clamp(row - b->lower, b->columns) * b->size;
	size_t end = (size_t)clamp(row + b->upper + 1, b->columns) * b->size;

	memset(to, 0, first);
	if (to != from)
		memcpy(to + first, from + first, end - first);
	memset(to + end, 0, (size_t)b->columns * b->size - end);
}

static sp_status run_band(const sp_call *call)
{
	const sp_tensor *in = call->in[0];
	const char *from = in->data;
	char text[SP_SHAPE_TEXT_SIZE];
	band b = {.size = sp_dtype_size(in->dtype)};
	size_t row;
	char *to;

	if (in->shape.rank < 2)
		return sp_call_invalid(call, "the input must have at least 2 dimensions, not %s",
				       sp_shape_text(&in->shape, text));
	b.rows = in->shape.dims[in->shape.rank - 2];
	b.columns = in->shape.dims[in->shape.rank - 1];
	SP_TRY(read_width(call, 1, b.rows, &b.lower));
	SP_TRY(read_width(call, 2, b.columns, &b.upper));
	SP_TRY(sp_call_output_over(call, 0, 0, in->dtype));
	if (in->count == 0)
		return SP_OK;
	to = call->out[0]->data;
	row = (size_t)b.columns * b.size;
	for (size_t i = 0; i < in->count / (size_t)b.columns; i++)
		cut_row(&b, (int64_t)(i % (size_t)b.rows), from + i * row, to + i * row);
	return SP_OK;
}

SP_DEFINE_TYPED_OP(BatchMatrixBandPart, NULL, 0, "P index index -> P", run_band);
SP_DEFINE_TYPED_OP(MatrixBandPart, NULL, 0, "P index index -> P", run_band);
