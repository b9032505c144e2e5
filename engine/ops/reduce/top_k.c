#include <string.h>

#include "engine/ops/array/array.h"
#include "engine/ops/array/elements.h"
#include "engine/ops/reduce/rank_key.h"

/*
 * TopK, TopKV2, ApproxTopK: the k largest elements of each row and their indices, largest first,
 * equal ones by index.  With sorted=false and 1 < k < row length they are in the order of the heap
 * that selects them, as in TensorFlow.  NaN compares as neither larger nor smaller than any number,
 * so the result for a row with NaN depends on the order of comparisons, which is TensorFlow's.
 */

typedef struct top_k_state {
	sp_dtype index_dtype;
	int64_t k; /* attribute of TopK */
	bool k_is_input, sorted;
} top_k_state;

typedef struct entry {
	uint64_t key;
	size_t index;
} entry;

/* The key of NaN, below that of any float; an integer may have this key, too. */
static const uint64_t NAN_KEY = 0;

static sp_status prepare(sp_prepare *prepare, sp_error *err)
{
	top_k_state *state = sp_prepare_state(prepare, sizeof(*state));

	SP_NEED_MEMORY(state, err, "an operator");
	state->k_is_input = true;
	SP_TRY(sp_node_attr_bool(prepare->node, "sorted", true, &state->sorted, err));
	SP_TRY(sp_prepare_types(prepare, "E S", err));
	if (!sp_rank_key__has(prepare->in_dtypes[0]))
		return sp_prepare_unsupported(prepare, prepare->in_dtypes[0], err);
	SP_TRY(sp_node_attr_type(prepare->node, "index_type", SP_INT32, &state->index_dtype, err));
	if (state->index_dtype != SP_INT16)
		SP_TRY(sp_array__index_type(prepare, "index_type", SP_INT32, &state->index_dtype,
					    err));
	SP_TRY(sp_prepare_outputs(prepare, 2, prepare->in_dtypes[0], err));
	prepare->out_dtypes[1] = state->index_dtype;
	return SP_OK;
}

static sp_status prepare_top_k(sp_prepare *prepare, sp_error *err)
{
	top_k_state *state = sp_prepare_state(prepare, sizeof(*state));

	SP_NEED_MEMORY(state, err, "an operator");
	SP_TRY(sp_prepare_types(prepare, "E -> E int32", err));
	if (!sp_rank_key__has(prepare->in_dtypes[0]))
		return sp_prepare_unsupported(prepare, prepare->in_dtypes[0], err);
	SP_TRY(sp_node_attr_int(prepare->node, "k", -1, &state->k, err));
	state->index_dtype = SP_INT32;
	return sp_node_attr_bool(prepare->node, "sorted", true, &state->sorted, err);
}

/* TensorFlow on a CPU supports only the largest along the last dimension, and is exact. */
static sp_status prepare_approximate(sp_prepare *prepare, sp_error *err)
{
	int64_t axis;
	bool is_max;

	SP_TRY(prepare_top_k(prepare, err));
	SP_TRY(sp_node_attr_int(prepare->node, "reduction_dimension", -1, &axis, err));
	SP_TRY(sp_node_attr_bool(prepare->node, "is_max_k", true, &is_max, err));
	if (axis != -1 || !is_max)
		return sp_error_set(err, SP_UNSUPPORTED,
				    "ApproxTopK not of the last dimension, or of the smallest");
	return SP_OK;
}

/* Larger, or equal with a smaller index. */
static inline bool is_better(entry a, entry b, bool has_nan)
{
	bool differ = a.key != b.key && !(has_nan && (a.key == NAN_KEY || b.key == NAN_KEY));

	return differ ? a.key > b.key : a.index < b.index;
}

/* Sifts `moved` up from `hole`, at most to `top`, past parents that are better. */
static void sift_up(entry *heap, size_t hole, size_t top, entry moved, bool has_nan)
{
	while (hole > top && is_better(heap[(hole - 1) / 2], moved, has_nan)) {
		heap[hole] = heap[(hole - 1) / 2];
		hole = (hole - 1) / 2;
	}
	heap[hole] = moved;
}

/*
 * Inserts `moved` at `top` of the heap of n: the hole is moved down to a leaf along the worse
 * children, and `moved` is sifted up from there.
 */
static void sift_down(entry *heap, size_t n, size_t top, entry moved, bool has_nan)
{
	size_t hole = top, child;

	while ((child = 2 * hole + 2) < n) {
		if (is_better(heap[child], heap[child - 1], has_nan))
			child--;
		heap[hole] = heap[child];
		hole = child;
	}
	if (child == n) {
		heap[hole] = heap[n - 1];
		hole = n - 1;
	}
	sift_up(heap, hole, top, moved, has_nan);
}

/* Moves the worst of n entries to the end; the others remain a heap. */
static void pop_worst(entry *heap, size_t n, bool has_nan)
{
	entry last = heap[n - 1];

	heap[n - 1] = heap[0];
	sift_down(heap, n - 1, 0, last, has_nan);
}

/*
 * Selects the best k of n > k keys into a heap with the worst on top.  A candidate that is better
 * than the top replaces it.  `heap` has room for k + 1 entries: it starts with that many keys.
 */
static void select_best(entry *heap, size_t k, const uint64_t *keys, size_t n, bool has_nan)
{
	for (size_t i = 0; i <= k; i++)
		heap[i] = (entry){keys[i], i};
	for (size_t i = (k + 1) / 2; i-- > 0;)
		sift_down(heap, k + 1, i, heap[i], has_nan);
	pop_worst(heap, k + 1, has_nan);
	for (size_t i = k + 1; i < n; i++) {
		entry candidate = {keys[i], i};

		if (!is_better(candidate, heap[0], has_nan))
			continue;
		pop_worst(heap, k, has_nan);
		sift_up(heap, k - 1, 0, candidate, has_nan);
	}
}

/* Turns a heap into an array, best first. */
static void sort_heap(entry *heap, size_t n, bool has_nan)
{
	for (; n > 1; n--)
		pop_worst(heap, n, has_nan);
}

/* Sorts a whole row, best first. */
static void sort_all(entry *heap, const uint64_t *keys, size_t n)
{
	for (size_t i = 0; i < n; i++)
		heap[i] = (entry){keys[i], i};
	for (size_t i = n / 2; i-- > 0;)
		sift_down(heap, n, i, heap[i], false);
	sort_heap(heap, n, false);
}

/*
 * With k = n and few numbers, a row is sorted by insertion, as in TensorFlow: the position of NaN
 * depends on the algorithm.
 */
enum { MOST_INSERTED = 16 };

static bool beats(entry a, entry b)
{
	return a.key != NAN_KEY && b.key != NAN_KEY && a.key > b.key;
}

static void sort_few(entry *best, const uint64_t *keys, size_t n)
{
	best[0] = (entry){keys[0], 0};
	for (size_t i = 1; i < n; i++) {
		entry new = {keys[i], i};
		size_t at = i;

		if (beats(new, best[0]))
			for (; at > 0; at--)
				best[at] = best[at - 1];
		else
			for (; at > 0 && beats(new, best[at - 1]); at--)
				best[at] = best[at - 1];
		best[at] = new;
	}
}

/* NaN has the least key, so it is found only in a row of nothing but NaN. */
static void find_largest(entry *best, const uint64_t *keys, size_t n)
{
	*best = (entry){keys[0], 0};
	for (size_t i = 1; i < n; i++)
		if (keys[i] > best->key)
			*best = (entry){keys[i], i};
}

static void find_best(const top_k_state *state, entry *best, size_t k, const uint64_t *keys,
		      size_t n, bool has_nan)
{
	if (k == 1) {
		find_largest(best, keys, n);
	} else if (k == n && k <= MOST_INSERTED && has_nan) {
		sort_few(best, keys, n);
	} else if (k == n) {
		sort_all(best, keys, n);
	} else {
		select_best(best, k, keys, n, has_nan);
		if (state->sorted)
			sort_heap(best, k, has_nan);
	}
}

static void write_row(const sp_call *call, size_t row, const entry *best, size_t k, size_t columns)
{
	const sp_tensor *in = call->in[0];
	size_t size = sp_dtype_size(in->dtype);
	const char *from = (const char *)in->data + row * columns * size;
	char *values = (char *)call->out[0]->data + row * k * size;

	for (size_t i = 0; i < k; i++) {
		memcpy(values + i * size, from + best[i].index * size, size);
		sp_array__put_index(call->out[1], row * k + i, (int64_t)best[i].index);
	}
}

static sp_status read_k(const sp_call *call, int64_t columns, int64_t *k)
{
	const top_k_state *state = call->state;
	int64_t largest = state->index_dtype == SP_INT16   ? INT16_MAX
			  : state->index_dtype == SP_INT32 ? INT32_MAX
							   : INT64_MAX;

	*k = state->k;
	if (state->k_is_input) {
		SP_TRY(sp_call_need_rank(call, 1, 0));
		*k = sp_element__integer(call->in[1], 0);
	}
	if (*k < 0 || *k > columns)
		return sp_call_invalid(call, "k is %lld for rows of %lld", (long long)*k,
				       (long long)columns);
	if (columns > largest)
		return sp_call_invalid(call, "rows of %lld do not fit %s indices",
				       (long long)columns, sp_dtype_name(state->index_dtype));
	return SP_OK;
}

static sp_status run(const sp_call *call)
{
	const top_k_state *state = call->state;
	const sp_tensor *in = call->in[0];
	sp_shape shape = in->shape;
	int64_t columns, k;
	uint64_t *keys;
	entry *best;

	if (shape.rank == 0)
		return sp_call_invalid(call, "the input is a scalar");
	columns = shape.dims[shape.rank - 1];
	SP_TRY(read_k(call, columns, &k));
	shape.dims[shape.rank - 1] = k;
	SP_TRY(sp_call_output(call, 0, in->dtype, &shape));
	SP_TRY(sp_call_output(call, 1, state->index_dtype, &shape));
	if (call->out[0]->count == 0)
		return SP_OK;
	SP_CALL_ARRAY(keys, call, (size_t)columns);
	SP_CALL_ARRAY(best, call, (size_t)k + 1);
	for (size_t row = 0; row < in->count / (size_t)columns; row++) {
		sp_rank_key__read(keys, in->dtype, in->data, row * (size_t)columns,
				  (size_t)columns);
		find_best(state, best, (size_t)k, keys, (size_t)columns,
			  sp_dtype_is_floating(in->dtype));
		write_row(call, row, best, (size_t)k, (size_t)columns);
	}
	return SP_OK;
}

SP_DEFINE_OP(ApproxTopK, "values indices", 0, prepare_approximate, run);
SP_DEFINE_OP(TopK, "values indices", 0, prepare_top_k, run);
SP_DEFINE_OP(TopKV2, "values indices", 0, prepare, run);
