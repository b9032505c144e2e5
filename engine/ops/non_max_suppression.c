#include <float.h>
#include <math.h>
#include <string.h>

#include "engine/ops/array.h"
#include "engine/ops/box_overlap.h"

/*
 * NonMaxSuppression, V2 ... V5 and NonMaxSuppressionWithOverlaps: of boxes [n, 4] with scores
 * [n] the places of the best ones, best first, at most max_output_size, of which no two overlap
 * by more than a threshold.  With overlaps it is given how much two overlap, [n, n].
 *
 *   from V3 on        only those above a score
 *   V4                how many there are, too; on demand padded with 0
 *   V5                their scores, too.  With soft_nms_sigma > 0 a box is not left out for an
 *                     overlap x, but its score falls by exp(-x^2 / (2 sigma))
 *
 * float, and V2 ... V5 also half, with thresholds of float or half.  Of equal scores the first
 * comes first; NaN is no score.
 *
 * Numerics: overlaps in float.  Scores of half are rounded after each step, as in TensorFlow.
 * Source: N. Bodla et al., "Soft-NMS: Improving Object Detection With One Line of Code", 2017.
 */
typedef struct nms_state {
	int version; /* 0: with overlaps */
	float threshold;
	bool half, pads;
} nms_state;

typedef struct candidate {
	float score;
	size_t box, compared; /* with so many of those chosen */
} candidate;

typedef struct search {
	bool half;
	const float *boxes;    /* [n, 4], or NULL */
	const float *overlaps; /* [n, n] */
	size_t n, most;
	float overlap, score, sigma; /* thresholds, and what makes it soft, or 0 */
	candidate *heap;             /* the best in front */
	size_t waiting;
	candidate *chosen;
	size_t count;
} search;

/* -------------------------------------------------------------------- values */

static float round_to(const search *s, float x)
{
	return s->half ? sp_half_to_float(sp_half_from_float(x)) : x;
}

static float get(const sp_tensor *t, size_t i)
{
	return t->dtype == SP_HALF ? sp_half_to_float(((const uint16_t *)t->data)[i])
				   : sp_tensor_f32(t)[i];
}

static float lesser(float a, float b)
{
	return b < a ? b : a;
}

static float greater(float a, float b)
{
	return a < b ? b : a;
}

float sp_box__overlap(const float a[4], const float b[4])
{
	float low[2], high[2], area[2] = {1, 1}, shared = 1;

	for (int d = 0; d < 2; d++) {
		low[0] = lesser(a[d], a[d + 2]);
		high[0] = greater(a[d], a[d + 2]);
		low[1] = lesser(b[d], b[d + 2]);
		high[1] = greater(b[d], b[d + 2]);
		area[0] *= high[0] - low[0];
		area[1] *= high[1] - low[1];
		shared *= greater(lesser(high[0], high[1]) - greater(low[0], low[1]), 0);
	}
	if (area[0] <= 0 || area[1] <= 0)
		return 0;
	return shared / (area[0] + area[1] - shared);
}

static float overlap(const search *s, size_t i, size_t j)
{
	float x = s->boxes != NULL ? sp_box__overlap(s->boxes + 4 * i, s->boxes + 4 * j)
				   : s->overlaps[i * s->n + j];

	return round_to(s, x);
}

/* ---------------------------------------------------------------- candidates */

static bool is_better(const candidate *a, const candidate *b)
{
	return a->score > b->score || (a->score == b->score && a->box < b->box);
}

static void push(search *s, candidate c)
{
	size_t i = s->waiting++;

	for (; i > 0 && is_better(&c, &s->heap[(i - 1) / 2]); i = (i - 1) / 2)
		s->heap[i] = s->heap[(i - 1) / 2];
	s->heap[i] = c;
}

static candidate pop(search *s)
{
	candidate best = s->heap[0], moved = s->heap[--s->waiting];
	size_t i = 0;

	for (size_t child = 1; child < s->waiting; child = 2 * i + 1) {
		if (child + 1 < s->waiting && is_better(&s->heap[child + 1], &s->heap[child]))
			child++;
		if (!is_better(&s->heap[child], &moved))
			break;
		s->heap[i] = s->heap[child];
		i = child;
	}
	s->heap[i] = moved;
	return best;
}

/* Lowers the score for those chosen since the last time; false when it is out for good. */
static bool compare(const search *s, candidate *c)
{
	float scale = s->sigma > 0 ? round_to(s, -0.5F / s->sigma) : 0;

	for (size_t j = s->count; j-- > c->compared;) {
		float x = overlap(s, c->box, s->chosen[j].box);
		float weight = round_to(s, expf(round_to(s, round_to(s, scale * x) * x)));

		if (!(s->sigma > 0) && x > s->overlap)
			return false;
		if (!(s->sigma > 0) && !(x <= s->overlap))
			weight = 0; /* no number */
		c->score = round_to(s, c->score * weight);
		if (c->score <= s->score)
			break;
	}
	c->compared = s->count;
	return true;
}

static void choose(search *s)
{
	while (s->count < s->most && s->waiting > 0) {
		candidate c = pop(s);
		float before = c.score;

		if (!compare(s, &c))
			continue;
		if (c.score == before)
			s->chosen[s->count++] = c;
		else if (c.score > s->score)
			push(s, c);
	}
}

/* ------------------------------------------------------------------- reading */

static sp_status read_scalar(const sp_call *call, size_t i, float *out)
{
	SP_TRY(sp_array__need_rank(call, i, 0));
	*out = get(call->in[i], 0);
	return SP_OK;
}

static sp_status read_thresholds(const sp_call *call, search *s)
{
	const nms_state *state = call->state;

	s->overlap = state->threshold;
	s->score = state->half ? -65504.0F : -FLT_MAX;
	if (state->version != 1) {
		SP_TRY(read_scalar(call, 3, &s->overlap));
		s->overlap = round_to(s, s->overlap);
	}
	if (state->version != 0 && !(s->overlap >= 0 && s->overlap <= 1))
		return sp_call_invalid(call, "iou_threshold must be in [0, 1], not %g",
				       (double)s->overlap);
	if (state->version == 0 || state->version >= 3) {
		SP_TRY(read_scalar(call, 4, &s->score));
		s->score = round_to(s, s->score);
	}
	if (state->version == 5)
		SP_TRY(read_scalar(call, 5, &s->sigma));
	if (!(s->sigma >= 0))
		return sp_call_invalid(call, "soft_nms_sigma must not be %g", (double)s->sigma);
	return SP_OK;
}

static sp_status check_shapes(const sp_call *call)
{
	const nms_state *state = call->state;
	const sp_shape *boxes = &call->in[0]->shape;

	SP_TRY(sp_array__need_rank(call, 0, 2));
	SP_TRY(sp_array__need_rank(call, 1, 1));
	SP_TRY(sp_array__need_rank(call, 2, 0));
	if (boxes->dims[1] != (state->version == 0 ? boxes->dims[0] : 4))
		return sp_call_invalid(call, "there are %lld columns", (long long)boxes->dims[1]);
	if (boxes->dims[0] != call->in[1]->shape.dims[0])
		return sp_call_invalid(call, "%lld boxes have %zu scores",
				       (long long)boxes->dims[0], call->in[1]->count);
	if (*sp_tensor_i32(call->in[2]) < 0)
		return sp_call_invalid(call, "max_output_size is %d", *sp_tensor_i32(call->in[2]));
	return SP_OK;
}

/* Input 0 as float. */
static sp_status read_boxes(const sp_call *call, search *s)
{
	const nms_state *state = call->state;
	const sp_tensor *in = call->in[0];
	float *wide;

	if (!state->half) {
		*(state->version == 0 ? &s->overlaps : &s->boxes) = sp_tensor_f32(in);
		return SP_OK;
	}
	s->boxes = wide = sp_call_bytes(call, in->count, sizeof(*wide));
	if (wide == NULL)
		return sp_call_no_memory(call);
	for (size_t i = 0; i < in->count; i++)
		wide[i] = get(in, i);
	return SP_OK;
}

static sp_status read_candidates(const sp_call *call, search *s)
{
	s->heap = sp_call_bytes(call, s->n, sizeof(*s->heap));
	s->chosen = sp_call_bytes(call, s->n, sizeof(*s->chosen));
	if (s->heap == NULL || s->chosen == NULL)
		return sp_call_no_memory(call);
	for (size_t i = 0; i < s->n; i++)
		if (get(call->in[1], i) > s->score)
			push(s, (candidate){.score = get(call->in[1], i), .box = i});
	return SP_OK;
}

/* ----------------------------------------------------------------- operators */

static void put_score(const sp_tensor *t, size_t i, float score)
{
	if (t->dtype == SP_HALF)
		((uint16_t *)t->data)[i] = sp_half_from_float(score);
	else
		sp_tensor_f32(t)[i] = score;
}

static sp_status make_outputs(const sp_call *call, const search *s)
{
	const nms_state *state = call->state;
	size_t made = state->pads ? s->most : s->count;
	sp_shape shape = sp_shape_vector((int64_t)made), scalar = sp_shape_scalar();

	SP_TRY(sp_call_output(call, 0, SP_INT32, &shape));
	for (size_t i = 0; i < made; i++)
		sp_tensor_i32(call->out[0])[i] = i < s->count ? (int32_t)s->chosen[i].box : 0;
	if (state->version == 5) {
		SP_TRY(sp_call_output(call, 1, call->in[1]->dtype, &shape));
		for (size_t i = 0; i < made; i++)
			put_score(call->out[1], i, i < s->count ? s->chosen[i].score : 0);
	}
	if (state->version < 4)
		return SP_OK;
	SP_TRY(sp_call_output(call, call->out_count - 1, SP_INT32, &scalar));
	*sp_tensor_i32(call->out[call->out_count - 1]) = (int32_t)s->count;
	return SP_OK;
}

static sp_status run_nms(const sp_call *call)
{
	const nms_state *state = call->state;
	search s = {.half = state->half};

	SP_TRY(check_shapes(call));
	SP_TRY(read_thresholds(call, &s));
	s.n = (size_t)call->in[0]->shape.dims[0];
	s.most = (size_t)*sp_tensor_i32(call->in[2]);
	if (s.n > INT32_MAX)
		return sp_call_invalid(call, "%zu boxes are too many", s.n);
	SP_TRY(read_boxes(call, &s));
	SP_TRY(read_candidates(call, &s));
	choose(&s);
	return make_outputs(call, &s);
}

/* Thresholds of V2 ... V4 have a type of their own; that of V5 is the boxes'. */
static sp_status check_thresholds(const sp_prepare *prepare, int version, sp_error *err)
{
	for (size_t i = 3; i < prepare->in_count; i++) {
		sp_dtype dtype = prepare->in_dtypes[i];

		if (dtype != SP_FLOAT && (dtype != SP_HALF || version == 0))
			return sp_prepare_unsupported(prepare, dtype, err);
	}
	if (version == 5)
		SP_TRY(sp_array__same_dtype(prepare, 3, 6, err));
	return version == 5 ? sp_prepare_input_dtype(prepare, 3, prepare->in_dtypes[0], err)
			    : SP_OK;
}

static sp_status prepare_nms(sp_prepare *prepare, int version, size_t inputs, sp_error *err)
{
	nms_state *state = sp_prepare_state(prepare, sizeof(*state));
	sp_dtype dtype;

	if (state == NULL)
		return sp_error_set(err, SP_NO_MEMORY, "no memory for an operator");
	state->version = version;
	SP_TRY(sp_prepare_inputs(prepare, inputs, err));
	dtype = prepare->in_dtypes[0];
	state->half = dtype == SP_HALF;
	if (dtype != SP_FLOAT && (!state->half || version < 2))
		return sp_prepare_unsupported(prepare, dtype, err);
	SP_TRY(sp_prepare_input_dtype(prepare, 1, dtype, err));
	SP_TRY(sp_prepare_input_dtype(prepare, 2, SP_INT32, err));
	SP_TRY(check_thresholds(prepare, version, err));
	SP_TRY(sp_node_attr_float(prepare->node, "iou_threshold", 0.5F, &state->threshold, err));
	if (version >= 4)
		SP_TRY(sp_node_attr_bool(prepare->node, "pad_to_max_output_size", false,
					 &state->pads, err));
	SP_TRY(sp_prepare_outputs(prepare, version < 4 ? 1 : (size_t)version - 2, SP_INT32, err));
	if (version == 5)
		prepare->out_dtypes[1] = dtype;
	return SP_OK;
}

#define NMS_OP(op, version, inputs, outs)                                 \
	static sp_status prepare_##op(sp_prepare *prepare, sp_error *err) \
	{                                                                 \
		return prepare_nms(prepare, version, inputs, err);        \
	}                                                                 \
	const sp_op sp_op_##op = {                                        \
		.name = #op,                                              \
		.outputs = "selected_indices" outs,                       \
		.prepare = prepare_##op,                                  \
		.run = run_nms,                                           \
	};

NMS_OP(NonMaxSuppression, 1, 3, "")
NMS_OP(NonMaxSuppressionV2, 2, 4, "")
NMS_OP(NonMaxSuppressionV3, 3, 5, "")
NMS_OP(NonMaxSuppressionV4, 4, 5, " valid_outputs")
NMS_OP(NonMaxSuppressionV5, 5, 6, " selected_scores valid_outputs")
NMS_OP(NonMaxSuppressionWithOverlaps, 0, 5, "")
