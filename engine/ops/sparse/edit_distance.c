#include "engine/graph/op.h"

#include <string.h>

#include "base/size.h"
#include "engine/ops/sparse/sparse.h"

/*
 * EditDistance: the number of insertions, deletions and replacements that turn one sequence into
 * another.  Sequences lie along the last dimension of two sparse tensors of any element type; the
 * result is dense over the other dimensions, 0 where neither has values.  `normalize` divides by
 * the length of the truth: 1 without a hypothesis, infinite without a truth.
 *
 * Values are read in their order: those of a sequence must be consecutive, and the sequences
 * ordered.
 */
typedef struct sequence {
	const int64_t *index; /* its index; NULL when the sequence has no values */
	size_t first, count;  /* its values */
} sequence;

typedef struct distances {
	sp_sparse hypothesis, truth;
	bool normalize;
	size_t dims; /* of the output */
	sp_tensor *out;
	int64_t *line; /* scratch as long as the shorter of two sequences */
} distances;

/* The sequence that begins with value `first`. */
static sequence sequence_at(const sp_sparse *s, size_t first, size_t dims)
{
	sequence q = {.first = first};

	if (first == s->count)
		return q;
	q.index = s->indices + first * s->rank;
	while (first + q.count < s->count &&
	       sp_sparse__compare(q.index, s->indices + (first + q.count) * s->rank, dims) == 0)
		q.count++;
	return q;
}

/* ----------------------------------------------------------------- distances */

#define SAME(type, LOAD) (LOAD(((const type *)a)[i]) == LOAD(((const type *)b)[j]))
#define BOTH(type)                                               \
	(((const type *)a)[2 * i] == ((const type *)b)[2 * j] && \
	 ((const type *)a)[2 * i + 1] == ((const type *)b)[2 * j + 1])

static bool same(sp_dtype dtype, const void *a, size_t i, const void *b, size_t j)
{
	size_t size = sp_dtype_size(dtype);

	switch (dtype) {
	case SP_STRING:
		return sp_bytes_equal(((const sp_bytes *)a)[i], ((const sp_bytes *)b)[j]);
	case SP_FLOAT:
		return SAME(float, );
	case SP_DOUBLE:
		return SAME(double, );
	case SP_HALF:
		return SAME(uint16_t, sp_half_to_float);
	case SP_BFLOAT16:
		return SAME(uint16_t, sp_bfloat16_to_float);
	case SP_COMPLEX64:
		return BOTH(float);
	case SP_COMPLEX128:
		return BOTH(double);
	default:
		return memcmp((const char *)a + i * size, (const char *)b + j * size, size) == 0;
	}
}

/* The table of distances between prefixes is computed row by row; only one row is kept. */
static int64_t distance(const distances *d, const sp_tensor *a, sequence s, const sp_tensor *b,
			sequence t)
{
	if (t.count > s.count)
		return distance(d, b, t, a, s);
	if (t.count == 0)
		return (int64_t)s.count;
	for (size_t j = 0; j < t.count; j++)
		d->line[j] = (int64_t)j + 1;
	for (size_t i = 0; i < s.count; i++) {
		int64_t diagonal = (int64_t)i, left = (int64_t)i + 1;

		for (size_t j = 0; j < t.count; j++) {
			int64_t best = diagonal +
				       !same(a->dtype, a->data, s.first + i, b->data, t.first + j);

			best = left + 1 < best ? left + 1 : best;
			best = d->line[j] + 1 < best ? d->line[j] + 1 : best;
			diagonal = d->line[j];
			d->line[j] = left = best;
		}
	}
	return d->line[t.count - 1];
}

/* Finds the output cell of an index. */
static sp_status find_cell(const sp_call *call, const distances *d, const int64_t *index,
			   float **out)
{
	const sp_shape *shape = &d->out->shape;
	int64_t cell = 0, step;
	char text[SP_SHAPE_TEXT_SIZE];

	for (size_t i = 0; i < d->dims; i++)
		if (!sp_i64_mul(&step, index[i],
				sp_shape_product(shape, (int)i + 1, shape->rank)) ||
		    !sp_i64_add(&cell, cell, step))
			cell = -1;
	if (cell < 0 || (uint64_t)cell >= d->out->count)
		return sp_call_invalid(call, "the sequence at %s is outside the output",
				       sp_sparse__index_text(index, d->dims, text));
	*out = sp_tensor_f32(d->out) + cell;
	return SP_OK;
}

/* Computes one cell; one of the sequences may be absent. */
static sp_status compare(const sp_call *call, const distances *d, sequence h, sequence t)
{
	float *cell = NULL;

	SP_TRY(find_cell(call, d, t.count != 0 ? t.index : h.index, &cell));
	*cell = (float)distance(d, d->truth.values, t, d->hypothesis.values, h);
	if (d->normalize)
		*cell /= (float)t.count;
	return SP_OK;
}

static sp_status compare_all(const sp_call *call, const distances *d)
{
	const sequence none = {.count = 0};
	sequence h = sequence_at(&d->hypothesis, 0, d->dims);
	sequence t = sequence_at(&d->truth, 0, d->dims);

	while (h.count != 0 || t.count != 0) {
		int order = h.count == 0   ? 1
			    : t.count == 0 ? -1
					   : sp_sparse__compare(h.index, t.index, d->dims);

		SP_TRY(compare(call, d, order <= 0 ? h : none, order >= 0 ? t : none));
		if (order <= 0)
			h = sequence_at(&d->hypothesis, h.first + h.count, d->dims);
		if (order >= 0)
			t = sequence_at(&d->truth, t.first + t.count, d->dims);
	}
	return SP_OK;
}

/* ----------------------------------------------------------------- the operator */

static sp_status make_output(const sp_call *call, distances *d)
{
	sp_shape shape = {.rank = 0};

	if (d->truth.rank < 2 || d->truth.rank != d->hypothesis.rank)
		return sp_call_invalid(call,
				       "truth and hypothesis must have the same rank, at least 2, "
				       "not %zu and %zu",
				       d->truth.rank, d->hypothesis.rank);
	d->dims = d->truth.rank - 1;
	if (d->dims > SP_MAX_RANK)
		return sp_error_set(call->err, SP_UNSUPPORTED, "rank %zu is above the supported %d",
				    d->dims, SP_MAX_RANK);
	for (size_t i = 0; i < d->dims; i++) {
		int64_t a = d->truth.dims[i], b = d->hypothesis.dims[i];

		shape.dims[shape.rank++] = a > b ? a : b;
	}
	SP_TRY(sp_call_output(call, 0, SP_FLOAT, &shape));
	d->out = call->out[0];
	if (d->out->count == 0)
		return sp_call_invalid(call, "the output would have no elements");
	memset(d->out->data, 0, d->out->count * sizeof(float));
	return SP_OK;
}

static sp_status run_distance(const sp_call *call)
{
	distances d = {.normalize = *(const bool *)call->state};
	size_t shorter;

	SP_TRY(sp_sparse__read(call, 0, 1, 2, &d.hypothesis));
	SP_TRY(sp_sparse__read(call, 3, 4, 5, &d.truth));
	SP_TRY(make_output(call, &d));
	shorter = d.truth.count < d.hypothesis.count ? d.truth.count : d.hypothesis.count;
	d.line = sp_call_bytes(call, shorter, sizeof(*d.line));
	if (d.line == NULL)
		return sp_call_no_memory(call);
	return compare_all(call, &d);
}

static sp_status prepare_distance(sp_prepare *prepare, sp_error *err)
{
	bool *normalize = sp_prepare_state(prepare, sizeof(*normalize));

	if (normalize == NULL)
		return sp_error_set(err, SP_NO_MEMORY, "no memory for EditDistance");
	SP_TRY(sp_prepare_inputs(prepare, 6, err));
	SP_TRY(sp_sparse__prepare(prepare, 0, 2, err));
	SP_TRY(sp_sparse__prepare(prepare, 3, 5, err));
	SP_TRY(sp_prepare_input_dtype(prepare, 4, prepare->in_dtypes[1], err));
	if (sp_dtype_size(prepare->in_dtypes[1]) == 0 || prepare->in_dtypes[1] == SP_RESOURCE)
		return sp_prepare_unsupported(prepare, prepare->in_dtypes[1], err);
	SP_TRY(sp_node_attr_bool(prepare->node, "normalize", true, normalize, err));
	return sp_prepare_outputs(prepare, 1, SP_FLOAT, err);
}

SP_DEFINE_OP(EditDistance, NULL, 0, prepare_distance, run_distance);
