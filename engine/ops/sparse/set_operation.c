#include <string.h>

#include "base/size.h"
#include "engine/ops/array/array.h"
#include "engine/ops/array/elements.h"
#include "engine/ops/sparse/sparse.h"

/*
 * DenseToDenseSetOperation, DenseToSparseSetOperation, SparseToSparseSetOperation: differences,
 * intersections and unions of sets, which lie along the last dimension.  The result is a sparse
 * tensor; each set is ascending from index 0 on.  SetSize: the number of distinct values of each
 * set of a sparse tensor.
 *
 * The indices of a sparse tensor must be in the order of their sets, and with validate_indices in
 * strictly ascending row-major order.
 */
typedef enum set_operation { A_MINUS_B, B_MINUS_A, INTERSECTION, UNION } set_operation;

typedef struct set_state {
	set_operation operation;
	bool validate;
	bool is_sparse[2];
} set_state;

static bool is_set_dtype(sp_dtype dtype)
{
	return dtype == SP_STRING || dtype == SP_INT8 || dtype == SP_INT16 || dtype == SP_INT32 ||
	       dtype == SP_INT64 || dtype == SP_UINT8 || dtype == SP_UINT16;
}

static sp_status read_operation(const sp_prepare *prepare, set_operation *out, sp_error *err)
{
	static const char *const names[] = {"a-b", "b-a", "intersection", "union"};
	sp_bytes name;

	SP_TRY(sp_node_attr_bytes(prepare->node, "set_operation", "", &name, err));
	for (size_t i = 0; i < 4; i++)
		if (sp_bytes_equal_text(name, names[i])) {
			*out = (set_operation)i;
			return SP_OK;
		}
	return sp_error_set(err, SP_INVALID, "set_operation '%.*s' is unknown", (int)name.size,
			    name.data);
}

static sp_status prepare_any(sp_prepare *prepare, bool first_sparse, bool second_sparse,
			     sp_error *err)
{
	set_state *state = sp_prepare_state(prepare, sizeof(*state));
	size_t a = first_sparse ? 3 : 1, b = second_sparse ? 3 : 1;
	sp_dtype dtype;

	if (state == NULL)
		return sp_error_set(err, SP_NO_MEMORY, "no memory for an operator");
	*state = (set_state){.is_sparse = {first_sparse, second_sparse}};
	SP_TRY(sp_prepare_inputs(prepare, a + b, err));
	SP_TRY(read_operation(prepare, &state->operation, err));
	SP_TRY(sp_node_attr_bool(prepare->node, "validate_indices", true, &state->validate, err));
	if (first_sparse)
		SP_TRY(sp_sparse__prepare(prepare, 0, 2, err));
	if (second_sparse)
		SP_TRY(sp_sparse__prepare(prepare, a, a + 2, err));
	dtype = prepare->in_dtypes[first_sparse ? 1 : 0];
	SP_TRY(sp_prepare_input_dtype(prepare, a + (second_sparse ? 1 : 0), dtype, err));
	if (!is_set_dtype(dtype))
		return sp_prepare_unsupported(prepare, dtype, err);
	SP_TRY(sp_prepare_outputs(prepare, 3, SP_INT64, err));
	prepare->out_dtypes[1] = dtype;
	return SP_OK;
}

static sp_status prepare_dense(sp_prepare *prepare, sp_error *err)
{
	return prepare_any(prepare, false, false, err);
}

static sp_status prepare_mixed(sp_prepare *prepare, sp_error *err)
{
	return prepare_any(prepare, false, true, err);
}

static sp_status prepare_sparse(sp_prepare *prepare, sp_error *err)
{
	return prepare_any(prepare, true, true, err);
}

/* ---------------------------------------------------------------- the values */

/* Compares element i of `a` with element j of `b`: negative, zero or positive. */
static int compare(const sp_tensor *a, size_t i, const sp_tensor *b, size_t j)
{
	if (a->dtype == SP_STRING) {
		sp_bytes x = sp_tensor_strings(a)[i], y = sp_tensor_strings(b)[j];
		size_t size = x.size < y.size ? x.size : y.size;
		int order = size == 0 ? 0 : memcmp(x.data, y.data, size);

		return order != 0 ? order : (x.size > y.size) - (x.size < y.size);
	}
	int64_t x = sp_element__integer(a, i), y = sp_element__integer(b, j);

	return (x > y) - (x < y);
}

/* Restores the heap order below places[at]. */
static void sift_down(const sp_tensor *values, size_t *places, size_t n, size_t at)
{
	size_t moved = places[at];

	for (size_t child; (child = 2 * at + 1) < n; at = child) {
		if (child + 1 < n && compare(values, places[child + 1], values, places[child]) > 0)
			child++;
		if (compare(values, places[child], values, moved) <= 0)
			break;
		places[at] = places[child];
	}
	places[at] = moved;
}

/* Sorts places by their values and removes duplicates; returns how many remain. */
static size_t make_set(const sp_tensor *values, size_t *places, size_t n)
{
	size_t kept = 0;

	for (size_t i = n / 2; i-- > 0;)
		sift_down(values, places, n, i);
	for (size_t left = n; left-- > 1;) {
		size_t largest = places[0];

		places[0] = places[left];
		places[left] = largest;
		sift_down(values, places, left, 0);
	}
	for (size_t i = 0; i < n; i++)
		if (i == 0 || compare(values, places[i], values, places[kept - 1]) != 0)
			places[kept++] = places[i];
	return kept;
}

/* ------------------------------------------------------------------ the sets */

/* A nonempty set of one operand. */
typedef struct set {
	int64_t number;
	size_t start, count; /* in places */
} set;

typedef struct sets {
	const sp_tensor *values;
	int64_t dims[SP_SPARSE_MAX_RANK]; /* of the whole tensor */
	size_t rank;
	size_t *places; /* of values, sorted within each set */
	set *list;
	size_t count;
} sets;

static sp_status make_room(const sp_call *call, sets *s, size_t values)
{
	if (s->rank < 2)
		return sp_call_invalid(call, "sets of rank %zu: they take at least 2 dimensions",
				       s->rank);
	s->places = sp_call_bytes(call, values, sizeof(*s->places));
	s->list = sp_call_bytes(call, values, sizeof(*s->list));
	if (s->places == NULL || s->list == NULL)
		return sp_call_no_memory(call);
	for (size_t i = 0; i < values; i++)
		s->places[i] = i;
	return SP_OK;
}

static sp_status read_dense(const sp_call *call, size_t input, sets *s)
{
	const sp_tensor *in = call->in[input];
	size_t width;

	*s = (sets){.values = in, .rank = (size_t)in->shape.rank};
	memcpy(s->dims, in->shape.dims, s->rank * sizeof(*s->dims));
	SP_TRY(make_room(call, s, in->count));
	if (in->count == 0)
		return SP_OK;
	width = (size_t)s->dims[s->rank - 1];
	for (size_t at = 0; at < in->count; at += width, s->count++)
		s->list[s->count] = (set){(int64_t)(at / width), at,
					  make_set(in, s->places + at, width)};
	return SP_OK;
}

/* The number of the set of index i. */
static sp_status number_of(const sp_call *call, const sp_sparse *in, size_t i, int64_t *out)
{
	const int64_t *index = in->indices + i * in->rank;
	char text[SP_SHAPE_TEXT_SIZE];

	*out = 0;
	for (size_t d = 0; d < in->rank; d++) {
		if (index[d] < 0 || index[d] >= in->dims[d])
			return sp_call_invalid(call, "index %zu, %s, is outside the shape", i,
					       sp_sparse__index_text(index, in->rank, text));
		if (d + 1 < in->rank && (__builtin_mul_overflow(*out, in->dims[d], out) ||
					 __builtin_add_overflow(*out, index[d], out)))
			return sp_call_invalid(call, "there are too many sets");
	}
	return SP_OK;
}

static sp_status read_sparse(const sp_call *call, size_t input, sets *s)
{
	const set_state *state = call->state;
	int64_t number, last = -1;
	sp_sparse in;

	SP_TRY(sp_sparse__read(call, input, input + 1, input + 2, &in));
	*s = (sets){.values = in.values, .rank = in.rank};
	memcpy(s->dims, in.dims, s->rank * sizeof(*s->dims));
	SP_TRY(make_room(call, s, in.count));
	for (size_t i = 0; i < in.count; i++, last = number) {
		SP_TRY(number_of(call, &in, i, &number));
		if (number < last || (state->validate && i > 0 &&
				      sp_sparse__compare(in.indices + (i - 1) * in.rank,
							 in.indices + i * in.rank, in.rank) >= 0))
			return sp_call_invalid(call, "index %zu is out of order", i);
		if (number != last)
			s->list[s->count++] = (set){number, i, 0};
		s->list[s->count - 1].count++;
	}
	for (size_t i = 0; i < s->count; i++)
		s->list[i].count = make_set(in.values, s->places + s->list[i].start,
					    s->list[i].count);
	return SP_OK;
}

/* ---------------------------------------------------------------- the result */

/* Values of one result set, and the operand they come from. */
typedef struct result {
	const sets *from;
	size_t place;
	int64_t number, index; /* of the set, in the set */
} result;

typedef struct results {
	result *list;
	size_t count;
	int64_t largest; /* set */
} results;

static void put(results *r, const sets *from, size_t place, int64_t number, size_t first)
{
	int64_t index = (int64_t)(r->count - first);

	r->list[r->count++] = (result){from, place, number, index};
	if (index + 1 > r->largest)
		r->largest = index + 1;
}

/* Walks both sets, either of which may be empty, in the order of their values. */
static void combine(set_operation operation, const sets *a, const set *x, const sets *b,
		    const set *y, int64_t number, results *r)
{
	size_t i = 0, j = 0, n = x != NULL ? x->count : 0, m = y != NULL ? y->count : 0;
	size_t first = r->count;

	while (i < n || j < m) {
		size_t p = i < n ? a->places[x->start + i] : 0;
		size_t q = j < m ? b->places[y->start + j] : 0;
		int order = i == n ? 1 : j == m ? -1 : compare(a->values, p, b->values, q);
		bool wanted = operation == UNION || (operation == INTERSECTION && order == 0) ||
			      (operation == A_MINUS_B && order < 0) ||
			      (operation == B_MINUS_A && order > 0);

		if (wanted)
			put(r, order <= 0 ? a : b, order <= 0 ? p : q, number, first);
		i += order <= 0;
		j += order >= 0;
	}
}

static void combine_all(set_operation operation, const sets *a, const sets *b, results *r)
{
	size_t i = 0, j = 0;

	while (i < a->count || j < b->count) {
		const set *x = i < a->count ? &a->list[i] : NULL;
		const set *y = j < b->count ? &b->list[j] : NULL;
		int64_t number = x == NULL || (y != NULL && y->number < x->number) ? y->number
										   : x->number;

		if (x != NULL && x->number != number)
			x = NULL;
		if (y != NULL && y->number != number)
			y = NULL;
		combine(operation, a, x, b, y, number, r);
		i += x != NULL;
		j += y != NULL;
	}
}

static sp_status check_alike(const sp_call *call, const sets *a, const sets *b)
{
	bool alike = a->rank == b->rank;

	for (size_t d = 0; alike && d + 1 < a->rank; d++)
		alike = a->dims[d] == b->dims[d];
	return alike ? SP_OK
		     : sp_call_invalid(call, "the operands have different dimensions of sets");
}

static sp_status write_results(const sp_call *call, const sets *a, const results *r)
{
	sp_shape indices = sp_shape_matrix((int64_t)r->count, (int64_t)a->rank);
	sp_shape values = sp_shape_vector((int64_t)r->count);
	sp_shape shape = sp_shape_vector((int64_t)a->rank);
	size_t size = sp_dtype_size(a->values->dtype);

	SP_TRY(sp_call_output(call, 0, SP_INT64, &indices));
	SP_TRY(sp_call_output(call, 1, a->values->dtype, &values));
	SP_TRY(sp_call_output(call, 2, SP_INT64, &shape));
	memcpy(call->out[2]->data, a->dims, a->rank * sizeof(*a->dims));
	sp_tensor_i64(call->out[2])[a->rank - 1] = r->largest;
	for (size_t i = 0; i < r->count; i++) {
		int64_t *index = sp_tensor_i64(call->out[0]) + i * a->rank, rest;

		sp_element__copy(call->out[1]->data, i, r->list[i].from->values->data,
				 r->list[i].place, size);
		index[a->rank - 1] = r->list[i].index;
		rest = r->list[i].number;
		for (size_t d = a->rank - 1; d-- > 0; rest /= a->dims[d])
			index[d] = rest % a->dims[d];
	}
	return SP_OK;
}

static sp_status run_operation(const sp_call *call)
{
	const set_state *state = call->state;
	size_t second = state->is_sparse[0] ? 3 : 1, most;
	results r = {.count = 0};
	sets a, b;

	SP_TRY(state->is_sparse[0] ? read_sparse(call, 0, &a) : read_dense(call, 0, &a));
	SP_TRY(state->is_sparse[1] ? read_sparse(call, second, &b) : read_dense(call, second, &b));
	SP_TRY(check_alike(call, &a, &b));
	if (!sp_size_add(&most, a.values->count, b.values->count))
		return sp_call_no_memory(call);
	r.list = sp_call_bytes(call, most, sizeof(*r.list));
	if (r.list == NULL)
		return sp_call_no_memory(call);
	combine_all(state->operation, &a, &b, &r);
	return write_results(call, &a, &r);
}

/* ------------------------------------------------------------------- SetSize */

static sp_status prepare_size(sp_prepare *prepare, sp_error *err)
{
	set_state *state = sp_prepare_state(prepare, sizeof(*state));

	if (state == NULL)
		return sp_error_set(err, SP_NO_MEMORY, "no memory for an operator");
	SP_TRY(sp_prepare_inputs(prepare, 3, err));
	SP_TRY(sp_sparse__prepare(prepare, 0, 2, err));
	SP_TRY(sp_node_attr_bool(prepare->node, "validate_indices", true, &state->validate, err));
	if (!is_set_dtype(prepare->in_dtypes[1]))
		return sp_prepare_unsupported(prepare, prepare->in_dtypes[1], err);
	return sp_prepare_outputs(prepare, 1, SP_INT32, err);
}

static sp_status run_size(const sp_call *call)
{
	sp_shape shape = {.rank = 0};
	sets s;

	SP_TRY(read_sparse(call, 0, &s));
	SP_TRY(sp_array__rank(call, (int64_t)s.rank - 1));
	for (size_t d = 0; d + 1 < s.rank; d++)
		shape.dims[shape.rank++] = s.dims[d];
	SP_TRY(sp_call_output(call, 0, SP_INT32, &shape));
	memset(call->out[0]->data, 0, call->out[0]->count * sizeof(int32_t));
	for (size_t i = 0; i < s.count; i++)
		sp_tensor_i32(call->out[0])[s.list[i].number] = (int32_t)s.list[i].count;
	return SP_OK;
}

#define OUTPUTS "result_indices result_values result_shape"

SP_DEFINE_OP(DenseToDenseSetOperation, OUTPUTS, 0, prepare_dense, run_operation);
SP_DEFINE_OP(DenseToSparseSetOperation, OUTPUTS, 0, prepare_mixed, run_operation);
SP_DEFINE_OP(SparseToSparseSetOperation, OUTPUTS, 0, prepare_sparse, run_operation);
SP_DEFINE_OP(SetSize, "size", 0, prepare_size, run_size);
