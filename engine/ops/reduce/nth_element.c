#include "engine/ops/array/array.h"
#include "engine/ops/array/elements.h"
#include "engine/ops/reduce/rank_key.h"

/*
 * NthElement: the n-th smallest element of each row (the n-th largest with reverse), n counted from
 * 0.  NaN counts as smaller than every number; in TensorFlow its order is unspecified.
 */
typedef struct nth_state {
	bool reverse;
} nth_state;

typedef struct entry {
	uint64_t key;
	size_t index;
} entry;

static sp_status prepare_nth(sp_prepare *prepare, sp_error *err)
{
	nth_state *state = sp_prepare_state(prepare, sizeof(*state));

	if (state == NULL)
		return sp_error_set(err, SP_NO_MEMORY, "no memory for an operator");
	SP_TRY(sp_array__prepare(prepare, 2, err));
	if (!sp_rank_key__has(prepare->in_dtypes[0]))
		return sp_prepare_unsupported(prepare, prepare->in_dtypes[0], err);
	SP_TRY(sp_prepare_input_dtype(prepare, 1, SP_INT32, err));
	return sp_node_attr_bool(prepare->node, "reverse", false, &state->reverse, err);
}

/* Sifts heap[at] down until neither child is larger. */
static void sift_down(entry *heap, size_t n, size_t at)
{
	entry moved = heap[at];

	for (size_t child; (child = 2 * at + 1) < n; at = child) {
		if (child + 1 < n && heap[child + 1].key > heap[child].key)
			child++;
		if (heap[child].key <= moved.key)
			break;
		heap[at] = heap[child];
	}
	heap[at] = moved;
}

/*
 * The index of the n-th smallest key: the top of a max-heap of the n + 1 smallest keys.  O(count *
 * log(n)) for any keys.
 */
static size_t select_nth(entry *heap, const uint64_t *keys, size_t count, size_t n)
{
	for (size_t i = 0; i <= n; i++)
		heap[i] = (entry){keys[i], i};
	for (size_t i = (n + 1) / 2; i-- > 0;)
		sift_down(heap, n + 1, i);
	for (size_t i = n + 1; i < count; i++)
		if (keys[i] < heap[0].key) {
			heap[0] = (entry){keys[i], i};
			sift_down(heap, n + 1, 0);
		}
	return heap[0].index;
}

static sp_status run_nth(const sp_call *call)
{
	const nth_state *state = call->state;
	const sp_tensor *in = call->in[0];
	size_t size = sp_dtype_size(in->dtype), columns;
	sp_shape shape = in->shape;
	uint64_t *keys;
	entry *heap;
	int64_t n;

	if (shape.rank == 0)
		return sp_call_invalid(call, "the input is a scalar");
	SP_TRY(sp_array__need_rank(call, 1, 0));
	n = sp_tensor_index(call->in[1], 0);
	columns = (size_t)shape.dims[--shape.rank];
	if (n < 0 || n >= (int64_t)columns)
		return sp_call_invalid(call, "n is %lld for rows of %zu", (long long)n, columns);
	if (state->reverse)
		n = (int64_t)columns - 1 - n;
	SP_TRY(sp_call_output(call, 0, in->dtype, &shape));
	keys = sp_call_bytes(call, columns, sizeof(*keys));
	heap = sp_call_bytes(call, (size_t)n + 1, sizeof(*heap));
	if (keys == NULL || heap == NULL)
		return sp_call_no_memory(call);
	for (size_t i = 0; i < call->out[0]->count; i++) {
		sp_rank_key__read(keys, in->dtype, in->data, i * columns, columns);
		sp_element__copy(call->out[0]->data, i, in->data,
				 i * columns + select_nth(heap, keys, columns, (size_t)n), size);
	}
	return SP_OK;
}

const sp_op sp_op_NthElement = {.name = "NthElement", .prepare = prepare_nth, .run = run_nth};
