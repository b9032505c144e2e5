#include <math.h>
#include <string.h>

#include "base/size.h"
#include "engine/ops/array.h"
#include "engine/ops/ctc.h"

/*
 * CTCBeamSearchDecoder: of each of the sequences in logits [time, batch, classes] the
 * `top_paths` most likely texts that a beam of `beam_width` finds, the last class being the
 * blank; each a sparse tensor [batch, longest], and their logarithmic probabilities [batch,
 * top_paths].  With `merge_repeated` equal neighbours of a text become one.
 *
 * A text is a leaf of a tree whose edges are classes.  Of each there is the probability
 * that it ends in a blank at this time, that it ends in its last class, and the sum.
 *
 * Numerics: in double precision, logits taken through log-softmax.  Texts of equal
 * probability come in the order in which they were found; TensorFlow's order is that of
 * its heap, as it is with probabilities that are not numbers.
 *
 * Source: A. Graves, Supervised Sequence Labelling with Recurrent Neural Networks, 7.5;
 * ctc_beam_search.h of TensorFlow 2.15.
 */
typedef struct beam_state {
	int64_t width;
	size_t paths;
	bool merges;
} beam_state;

typedef struct chances {
	double total, blank, label; /* logarithms; -INFINITY is none */
} chances;

typedef struct entry {
	uint32_t parent; /* NONE: the root */
	uint32_t first_child, sibling;
	int32_t label;
	chances before, now;
} entry;

#define NONE UINT32_MAX

static const chances nothing = {-INFINITY, -INFINITY, -INFINITY};

typedef struct search {
	const sp_call *call;
	size_t classes;
	size_t width;
	double *logits;     /* [classes] of this time, their sum of exponentials being 1 */
	uint32_t *children; /* [classes] of the entry at hand; NONE */

	entry *entries;
	uint32_t *leaves;   /* the beam: a heap with the least likely in front */
	uint32_t *branches; /* the beam of the time before, most likely first */
	size_t count, capacity, leaf_count;
} search;

/* ------------------------------------------------------------------------ memory */

/* All entries, and as many numbers of them in either list. */
static sp_status grow(search *s)
{
	size_t capacity = s->capacity != 0 ? 2 * s->capacity : 256;
	entry *entries = sp_call_bytes(s->call, capacity, sizeof(*entries));
	uint32_t *leaves = sp_call_bytes(s->call, capacity, sizeof(*leaves));
	uint32_t *branches = sp_call_bytes(s->call, capacity, sizeof(*branches));

	if (entries == NULL || leaves == NULL || branches == NULL || capacity >= NONE)
		return sp_call_no_memory(s->call);
	if (s->capacity != 0) {
		memcpy(entries, s->entries, s->count * sizeof(*entries));
		memcpy(leaves, s->leaves, s->capacity * sizeof(*leaves));
		memcpy(branches, s->branches, s->capacity * sizeof(*branches));
	}
	s->entries = entries;
	s->leaves = leaves;
	s->branches = branches;
	s->capacity = capacity;
	return SP_OK;
}

static sp_status add_entry(search *s, uint32_t parent, int32_t label, uint32_t *out)
{
	entry *to;

	if (s->count == s->capacity)
		SP_TRY(grow(s));
	*out = (uint32_t)s->count;
	to = &s->entries[s->count++];
	*to = (entry){.parent = parent,
		      .first_child = NONE,
		      .sibling = NONE,
		      .label = label,
		      .before = nothing,
		      .now = nothing};
	if (parent != NONE) {
		to->sibling = s->entries[parent].first_child;
		s->entries[parent].first_child = *out;
	}
	return SP_OK;
}

/* -------------------------------------------------------------------------- beam */

/* Of two equally likely ones the one that came later goes first. */
static bool is_less(const search *s, uint32_t a, uint32_t b)
{
	double x = s->entries[a].now.total, y = s->entries[b].now.total;

	return x < y || (x == y && a > b);
}

static void sift_down(const search *s, uint32_t *heap, size_t count, size_t i)
{
	for (size_t child; (child = 2 * i + 1) < count; i = child) {
		uint32_t moved = heap[i];

		if (child + 1 < count && is_less(s, heap[child + 1], heap[child]))
			child++;
		if (!is_less(s, heap[child], moved))
			return;
		heap[i] = heap[child];
		heap[child] = moved;
	}
}

static void push(search *s, uint32_t leaf)
{
	size_t i = s->leaf_count++;

	while (i > 0 && is_less(s, leaf, s->leaves[(i - 1) / 2])) {
		s->leaves[i] = s->leaves[(i - 1) / 2];
		i = (i - 1) / 2;
	}
	s->leaves[i] = leaf;
}

/* The beam's leaves, most likely first; the beam is empty then. */
static size_t take_sorted(search *s)
{
	size_t count = s->leaf_count;

	for (size_t left = count; left > 0; left--) {
		s->branches[left - 1] = s->leaves[0];
		s->leaves[0] = s->leaves[left - 1];
		sift_down(s, s->leaves, left - 1, 0);
	}
	s->leaf_count = 0;
	return count;
}

/* Whether something so likely has a place in the beam. */
static bool is_candidate(const search *s, double total)
{
	return total > -INFINITY &&
	       (s->leaf_count < s->width || total > s->entries[s->leaves[0]].now.total);
}

/* A candidate takes its place, if need be that of the least likely one. */
static void enter(search *s, uint32_t leaf)
{
	if (s->leaf_count == s->width) {
		s->entries[s->leaves[0]].now = nothing;
		s->leaves[0] = s->leaves[--s->leaf_count];
		sift_down(s, s->leaves, s->leaf_count, 0);
	}
	push(s, leaf);
}

/* -------------------------------------------------------------------------- steps */

/* log(exp(a) + exp(b)) */
static double join(double a, double b)
{
	double larger = a > b ? a : b, smaller = a > b ? b : a;

	return larger == -INFINITY ? smaller : larger + log1p(exp(smaller - larger));
}

/* The logits of sequence b at time t, and from each the logarithm of their sum. */
static void read_logits(search *s, size_t t, size_t b)
{
	const sp_tensor *in = s->call->in[0];
	size_t first = (t * (size_t)in->shape.dims[1] + b) * s->classes;
	double largest = -INFINITY, sum = 0;

	for (size_t c = 0; c < s->classes; c++) {
		s->logits[c] = in->dtype == SP_FLOAT ? sp_tensor_f32(in)[first + c]
						     : sp_tensor_f64(in)[first + c];
		largest = s->logits[c] > largest ? s->logits[c] : largest;
	}
	for (size_t c = 0; c < s->classes; c++)
		sum += exp(s->logits[c] - largest);
	for (size_t c = 0; c < s->classes; c++)
		s->logits[c] -= largest + log(sum);
}

/* A text that stays as it is: by a blank, or by its last class once more. */
static void stay(search *s, uint32_t leaf)
{
	entry *e = &s->entries[leaf];

	if (e->parent != NONE) {
		const entry *parent = &s->entries[e->parent];

		if (parent->now.total != -INFINITY)
			e->now.label = join(e->now.label, e->label == parent->label
								  ? parent->before.blank
								  : parent->before.total);
		e->now.label += s->logits[e->label];
	}
	e->now.blank = e->before.total + s->logits[s->classes - 1];
	e->now.total = join(e->now.blank, e->now.label);
	push(s, leaf);
}

/* A text and one class behind it, unless that is in the beam already. */
static sp_status extend_by(search *s, uint32_t leaf, int32_t label)
{
	const entry *e = &s->entries[leaf];
	uint32_t child = s->children[label];
	double total;

	if (child != NONE && s->entries[child].now.total != -INFINITY)
		return SP_OK;
	total = s->logits[label] + (label == e->label ? e->before.blank : e->before.total);
	if (!is_candidate(s, total)) {
		if (child != NONE)
			s->entries[child].before = nothing;
		return SP_OK;
	}
	if (child == NONE)
		SP_TRY(add_entry(s, leaf, label, &child));
	s->entries[child].now = (chances){.total = total, .blank = -INFINITY, .label = total};
	enter(s, child);
	return SP_OK;
}

static sp_status extend(search *s, uint32_t leaf)
{
	sp_status status = SP_OK;

	if (!is_candidate(s, s->entries[leaf].before.total))
		return SP_OK;
	for (uint32_t c = s->entries[leaf].first_child; c != NONE; c = s->entries[c].sibling)
		s->children[s->entries[c].label] = c;
	for (size_t c = 0; c + 1 < s->classes && status == SP_OK; c++)
		status = extend_by(s, leaf, (int32_t)c);
	for (uint32_t c = s->entries[leaf].first_child; c != NONE; c = s->entries[c].sibling)
		s->children[s->entries[c].label] = NONE;
	return status;
}

static sp_status step(search *s, size_t t, size_t b)
{
	size_t count = take_sorted(s);

	read_logits(s, t, b);
	for (size_t i = 0; i < count; i++)
		s->entries[s->branches[i]].before = s->entries[s->branches[i]].now;
	for (size_t i = 0; i < count; i++)
		stay(s, s->branches[i]);
	for (size_t i = 0; i < count; i++)
		SP_TRY(extend(s, s->branches[i]));
	return SP_OK;
}

/* ------------------------------------------------------------------------- paths */

/* A text that was found: its classes from the first on. */
typedef struct path {
	int32_t *labels;
	size_t count;
} path;

/* From the last class to the first, written from behind. */
static sp_status read_path(const search *s, uint32_t leaf, size_t longest, path *out)
{
	const beam_state *state = s->call->state;
	int32_t *room = sp_call_bytes(s->call, longest + 1, sizeof(*room)), last = -1;
	size_t at = longest;

	if (room == NULL)
		return sp_call_no_memory(s->call);
	for (const entry *e = &s->entries[leaf]; e->parent != NONE; e = &s->entries[e->parent]) {
		if (!state->merges || e->label != last)
			room[--at] = e->label;
		last = e->label;
	}
	*out = (path){room + at, longest - at};
	return SP_OK;
}

static void put_chance(const search *s, size_t i, double value)
{
	const sp_tensor *out = s->call->out[s->call->out_count - 1];

	if (out->dtype == SP_FLOAT)
		sp_tensor_f32(out)[i] = (float)value;
	else
		sp_tensor_f64(out)[i] = value;
}

/* The best texts of sequence b. */
static sp_status decode(search *s, size_t b, path *paths)
{
	const beam_state *state = s->call->state;
	int32_t length = sp_tensor_i32(s->call->in[1])[b];
	uint32_t root;

	s->count = s->leaf_count = 0;
	SP_TRY(add_entry(s, NONE, -1, &root));
	s->entries[root].now = (chances){.total = 0, .blank = 0, .label = -INFINITY};
	push(s, root);
	for (int32_t t = 0; t < length; t++)
		SP_TRY(step(s, (size_t)t, b));
	if (take_sorted(s) < state->paths)
		return sp_call_invalid(s->call, "Less leaves in the beam search than requested.");
	for (size_t p = 0; p < state->paths; p++) {
		uint32_t leaf = s->branches[p];

		SP_TRY(read_path(s, leaf, length > 0 ? (size_t)length : 0, &paths[p]));
		put_chance(s, b * state->paths + p, s->entries[leaf].now.total);
	}
	return SP_OK;
}

/* Path p of all sequences, as a sparse tensor. */
static sp_status put_paths(const sp_call *call, const path *paths, size_t batch, size_t p)
{
	const beam_state *state = call->state;
	size_t n = state->paths, total = 0, longest = 0, at = 0;
	sp_shape shape = sp_shape_vector(2);

	for (size_t b = 0; b < batch; b++) {
		size_t count = paths[b * n + p].count;

		total += count;
		longest = count > longest ? count : longest;
	}
	SP_TRY(sp_call_output(call, 2 * n + p, SP_INT64, &shape));
	sp_tensor_i64(call->out[2 * n + p])[0] = (int64_t)batch;
	sp_tensor_i64(call->out[2 * n + p])[1] = (int64_t)longest;
	shape = sp_shape_matrix((int64_t)total, 2);
	SP_TRY(sp_call_output(call, p, SP_INT64, &shape));
	shape = sp_shape_vector((int64_t)total);
	SP_TRY(sp_call_output(call, n + p, SP_INT64, &shape));
	for (size_t b = 0; b < batch; b++)
		for (size_t i = 0; i < paths[b * n + p].count; i++, at++) {
			sp_tensor_i64(call->out[p])[2 * at] = (int64_t)b;
			sp_tensor_i64(call->out[p])[2 * at + 1] = (int64_t)i;
			sp_tensor_i64(call->out[n + p])[at] = paths[b * n + p].labels[i];
		}
	return SP_OK;
}

/* ----------------------------------------------------------------------- running */

static sp_status check_input(const sp_call *call)
{
	const beam_state *state = call->state;
	const sp_shape *shape = &call->in[0]->shape;

	SP_TRY(sp_ctc__check_logits(call));
	if (shape->dims[2] > INT32_MAX)
		return sp_call_invalid(call, "num_classes cannot exceed max int");
	if ((int64_t)state->paths > state->width)
		return sp_call_invalid(call, "requested more paths than the beam width.");
	return SP_OK;
}

static sp_status run_beam(const sp_call *call)
{
	const beam_state *state = call->state;
	size_t batch, classes, n = state->paths, count;
	search s = {.call = call, .width = (size_t)state->width};
	sp_shape shape;
	path *paths;

	SP_TRY(check_input(call));
	batch = (size_t)call->in[0]->shape.dims[1];
	classes = s.classes = (size_t)call->in[0]->shape.dims[2];
	shape = sp_shape_matrix((int64_t)batch, (int64_t)n);
	SP_TRY(sp_call_output(call, 3 * n, call->in[0]->dtype, &shape));
	s.logits = sp_call_bytes(call, classes, sizeof(*s.logits));
	s.children = sp_call_bytes(call, classes, sizeof(*s.children));
	if (!sp_size_mul(&count, batch, n) || s.logits == NULL || s.children == NULL)
		return sp_call_no_memory(call);
	paths = sp_call_bytes(call, count, sizeof(*paths));
	if (paths == NULL)
		return sp_call_no_memory(call);
	memset(s.children, 0xff, classes * sizeof(*s.children));
	for (size_t b = 0; b < batch; b++)
		SP_TRY(decode(&s, b, paths + b * n));
	for (size_t p = 0; p < n; p++)
		SP_TRY(put_paths(call, paths, batch, p));
	return SP_OK;
}

static sp_status prepare_beam(sp_prepare *prepare, sp_error *err)
{
	beam_state *state = sp_prepare_state(prepare, sizeof(*state));
	sp_dtype dtype;

	if (state == NULL)
		return sp_error_set(err, SP_NO_MEMORY, "no memory for CTCBeamSearchDecoder");
	SP_TRY(sp_prepare_inputs(prepare, 2, err));
	dtype = prepare->in_dtypes[0];
	if (dtype != SP_FLOAT && dtype != SP_DOUBLE)
		return sp_prepare_unsupported(prepare, dtype, err);
	SP_TRY(sp_prepare_input_dtype(prepare, 1, SP_INT32, err));
	SP_TRY(sp_node_attr_int(prepare->node, "beam_width", 0, &state->width, err));
	SP_TRY(sp_node_attr_bool(prepare->node, "merge_repeated", true, &state->merges, err));
	SP_TRY(sp_array__output_count(prepare, "top_paths", &state->paths, err));
	if (state->width < 1 || state->width > INT32_MAX)
		return sp_error_set(err, SP_INVALID, "beam_width is %lld", (long long)state->width);
	SP_TRY(sp_prepare_outputs(prepare, 3 * state->paths + 1, SP_INT64, err));
	prepare->out_dtypes[3 * state->paths] = dtype;
	return SP_OK;
}

const sp_op sp_op_CTCBeamSearchDecoder = {
	.name = "CTCBeamSearchDecoder",
	.outputs = "decoded_indices:top_paths decoded_values:top_paths decoded_shape:top_paths "
		   "log_probability",
	.prepare = prepare_beam,
	.run = run_beam,
};
