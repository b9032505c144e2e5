#include <string.h>

#include "engine/ops/array.h"
#include "engine/ops/box_overlap.h"

/*
 * CombinedNonMaxSuppression: of boxes [batch, n, 1 or classes, 4] with scores [batch, n, classes]
 * the best of every class as of NonMaxSuppression, and of them the best of all classes: boxes,
 * scores, classes, each padded with zeros, and how many there are.  With pad_per_class there is
 * room for max_total_size or as many as classes may give, the smaller; else for the former.
 * With clip_boxes they are cut off at 0 and 1.
 *
 * Of equal scores the first box of the first class comes first; TensorFlow leaves that to its
 * sorting.
 */
typedef struct combined_state {
	bool pads_per_class, clips;
} combined_state;

typedef struct found {
	float score;
	size_t class, box;
} found;

typedef struct images {
	const float *boxes, *scores;
	size_t n, classes, groups; /* of boxes: 1 or classes */
	size_t per_class, total;
	float overlap, score;
	found *all;   /* [n * classes], those chosen in front */
	found *spare; /* [n * classes], for sorting */
} images;

static sp_status prepare_combined(sp_prepare *prepare, sp_error *err)
{
	combined_state *state = sp_prepare_state(prepare, sizeof(*state));

	if (state == NULL)
		return sp_error_set(err, SP_NO_MEMORY, "no memory for an operator");
	SP_TRY(sp_prepare_inputs(prepare, 6, err));
	for (size_t i = 0; i < 6; i++)
		SP_TRY(sp_prepare_input_dtype(prepare, i, i == 2 || i == 3 ? SP_INT32 : SP_FLOAT,
					      err));
	SP_TRY(sp_node_attr_bool(prepare->node, "pad_per_class", false, &state->pads_per_class,
				 err));
	SP_TRY(sp_node_attr_bool(prepare->node, "clip_boxes", true, &state->clips, err));
	SP_TRY(sp_prepare_outputs(prepare, 4, SP_FLOAT, err));
	prepare->out_dtypes[3] = SP_INT32;
	return SP_OK;
}

static const float *box_of(const images *m, const found *f)
{
	return m->boxes + 4 * (f->box * m->groups + (m->groups > 1 ? f->class : 0));
}

static bool comes_before(const found *a, const found *b)
{
	if (a->score != b->score)
		return a->score > b->score;
	return a->class != b->class ? a->class < b->class : a->box < b->box;
}

/* By merging: the scratch is there, and no order of the input makes it slow. */
static void sort(found *items, found *spare, size_t count)
{
	for (size_t width = 1; width < count; width *= 2) {
		for (size_t first = 0; first < count; first += 2 * width) {
			size_t middle = first + width < count ? first + width : count;
			size_t end = middle + width < count ? middle + width : count;
			size_t i = first, j = middle;

			for (size_t k = first; k < end; k++) {
				bool left = j == end ||
					    (i < middle && !comes_before(&items[j], &items[i]));

				spare[k] = left ? items[i++] : items[j++];
			}
		}
		memcpy(items, spare, count * sizeof(*items));
	}
}

/* Adds what is chosen of a class behind `count` others; how many there are then. */
static size_t choose_class(const images *m, size_t class, size_t count)
{
	found *chosen = m->all + count;
	size_t waiting = 0, taken = 0;

	for (size_t i = 0; i < m->n; i++) {
		found f = {.score = m->scores[i * m->classes + class], .class = class, .box = i};

		if (f.score > m->score)
			chosen[waiting++] = f;
	}
	sort(chosen, m->spare, waiting);
	for (size_t i = 0; i < waiting && taken < m->per_class; i++) {
		size_t j = taken;

		while (j > 0 && !(sp_box__overlap(box_of(m, &chosen[i]),
						  box_of(m, &chosen[j - 1])) > m->overlap))
			j--;
		if (j == 0)
			chosen[taken++] = chosen[i];
	}
	return count + taken;
}

static float clip(float x)
{
	x = x < 1 ? x : 1;
	return x > 0 ? x : 0;
}

static void put(const sp_call *call, const images *m, size_t at, const found *f)
{
	const combined_state *state = call->state;

	for (size_t i = 0; i < 4; i++) {
		float x = box_of(m, f)[i];

		sp_tensor_f32(call->out[0])[4 * at + i] = state->clips ? clip(x) : x;
	}
	sp_tensor_f32(call->out[1])[at] = f->score;
	sp_tensor_f32(call->out[2])[at] = (float)f->class;
}

static sp_status check_shapes(const sp_call *call)
{
	const sp_shape *boxes = &call->in[0]->shape, *scores = &call->in[1]->shape;
	char a[SP_SHAPE_TEXT_SIZE], b[SP_SHAPE_TEXT_SIZE];

	SP_TRY(sp_array__need_rank(call, 0, 4));
	SP_TRY(sp_array__need_rank(call, 1, 3));
	if (boxes->dims[0] != scores->dims[0] || boxes->dims[1] != scores->dims[1] ||
	    (boxes->dims[2] != 1 && boxes->dims[2] != scores->dims[2]) || boxes->dims[3] != 4)
		return sp_call_invalid(call, "boxes of shape %s have scores of shape %s",
				       sp_shape_text(boxes, a), sp_shape_text(scores, b));
	for (size_t i = 2; i < 6; i++)
		SP_TRY(sp_array__need_rank(call, i, 0));
	if (*sp_tensor_i32(call->in[2]) < 1 || *sp_tensor_i32(call->in[3]) < 1)
		return sp_call_invalid(call, "the most per class and in all must be positive");
	if (!(*sp_tensor_f32(call->in[4]) >= 0 && *sp_tensor_f32(call->in[4]) <= 1))
		return sp_call_invalid(call, "iou_threshold must be in [0, 1]");
	return SP_OK;
}

static sp_status read_inputs(const sp_call *call, images *m)
{
	const combined_state *state = call->state;
	const sp_shape *boxes = &call->in[0]->shape;
	size_t most, size;

	SP_TRY(check_shapes(call));
	*m = (images){.boxes = call->in[0]->data,
		      .scores = call->in[1]->data,
		      .n = (size_t)boxes->dims[1],
		      .classes = (size_t)call->in[1]->shape.dims[2],
		      .groups = (size_t)boxes->dims[2],
		      .per_class = (size_t)*sp_tensor_i32(call->in[2]),
		      .total = (size_t)*sp_tensor_i32(call->in[3]),
		      .overlap = *sp_tensor_f32(call->in[4]),
		      .score = *sp_tensor_f32(call->in[5])};
	if (m->classes > INT32_MAX || m->n > INT32_MAX)
		return sp_call_invalid(call, "there are too many boxes or classes");
	most = m->per_class * m->classes;
	if (state->pads_per_class && most < m->total)
		m->total = most;
	if (__builtin_mul_overflow(m->classes, sizeof(found), &size))
		return sp_call_no_memory(call);
	m->all = sp_call_bytes(call, m->n, size);
	m->spare = sp_call_bytes(call, m->n, size);
	return m->all == NULL || m->spare == NULL ? sp_call_no_memory(call) : SP_OK;
}

static sp_status make_outputs(const sp_call *call, size_t batch, size_t total)
{
	sp_shape shape = {.rank = 3, .dims = {(int64_t)batch, (int64_t)total, 4}};

	for (size_t i = 0; i < 4; i++) {
		SP_TRY(sp_call_output(call, i, i == 3 ? SP_INT32 : SP_FLOAT, &shape));
		if (call->out[i]->count != 0)
			memset(call->out[i]->data, 0, call->out[i]->count * sizeof(float));
		shape.rank = i == 2 ? 1 : 2;
	}
	return SP_OK;
}

static sp_status run_combined(const sp_call *call)
{
	images m = {0};
	size_t batch;

	SP_TRY(read_inputs(call, &m));
	batch = (size_t)call->in[0]->shape.dims[0];
	SP_TRY(make_outputs(call, batch, m.total));
	for (size_t b = 0; b < batch; b++) {
		size_t count = 0;

		/* Classes without boxes may be any number. */
		for (size_t c = 0; m.n != 0 && c < m.classes; c++)
			count = choose_class(&m, c, count);
		sort(m.all, m.spare, count);
		count = count < m.total ? count : m.total;
		for (size_t i = 0; i < count; i++)
			put(call, &m, b * m.total + i, &m.all[i]);
		sp_tensor_i32(call->out[3])[b] = (int32_t)count;
		m.boxes += 4 * m.n * m.groups;
		m.scores += m.n * m.classes;
	}
	return SP_OK;
}

const sp_op sp_op_CombinedNonMaxSuppression = {
	.name = "CombinedNonMaxSuppression",
	.outputs = "nmsed_boxes nmsed_scores nmsed_classes valid_detections",
	.prepare = prepare_combined,
	.run = run_combined,
};
