#include "engine/static_shapes_internal.h"

/*
 * Loops and branches.  What a variable of a loop is at first is known before the body, what the
 * body gives back only after it; so a loop is gone through until both agree, and each time a
 * variable loses the dimensions in which they do not.  TensorFlow's optimizer does the same with
 * its Merge.
 */

typedef sp_static_shape shape;

/*
 * Not even the number of dimensions stays; TensorFlow knows nothing either, where it does not know
 * one of the two or knows that they differ; and what is given up because it does not settle.
 */
enum { ALL_LOOSE = 1 << SP_MAX_RANK, NOW_OPEN = ALL_LOOSE << 1, GIVEN_UP = UINT16_MAX };

_Static_assert(NOW_OPEN < UINT16_MAX, "a bit for each dimension, and two");

/* What `first` loses where `next` comes to it, too. */
static uint16_t loosened_by(const shape *first, const shape *next)
{
	uint16_t loose = 0;

	if (first->rank != SP_RANK_OPEN && next->rank == SP_RANK_OPEN)
		return NOW_OPEN;
	if (first->rank < 0)
		return 0;
	if (first->rank != next->rank)
		return next->rank == SP_RANK_UNKNOWN ? ALL_LOOSE : NOW_OPEN;
	for (int32_t i = 0; i < first->rank; i++)
		if (first->dims[i] != next->dims[i])
			loose |= (uint16_t)(1 << i);
	return loose;
}

static shape without(sp_shape_inference *in, shape of, uint16_t loose)
{
	if (loose == GIVEN_UP)
		return sp_shapes__unknown();
	if ((loose & NOW_OPEN) != 0 && of.rank != SP_RANK_OPEN)
		return sp_shapes__open();
	if ((loose & ALL_LOOSE) != 0 && of.rank >= 0)
		return sp_shapes__unknown();
	for (int32_t i = 0; i < of.rank; i++) {
		if ((loose >> i & 1) == 0)
			continue;
		of.dims[i] = sp_shapes__new_name(in);
		of.handle = 0;
	}
	return of;
}

void sp_shapes__variable(sp_shape_inference *in, const sp_node *node, shape *out)
{
	shape first = without(in, sp_shapes__input(in, node, 0),
			      in->loose[node - in->graph->nodes]);

	sp_shapes__hand_on(in, &first, out);
}

/* Input k of a node and all of every `step`-th behind it. */
static shape merge_from(sp_shape_inference *in, const sp_node *node, size_t k, size_t step)
{
	shape all = sp_shapes__input(in, node, k);

	for (k += step; k < node->input_count; k += step) {
		shape other = sp_shapes__input(in, node, k);

		all = without(in, all, loosened_by(&all, &other));
		all.handle = all.handle == other.handle ? all.handle : 0;
	}
	return all;
}

void sp_shapes__merged(sp_shape_inference *in, const sp_node *node, shape *out)
{
	shape all = merge_from(in, node, 0, 1);

	sp_shapes__hand_on(in, &all, out);
}

/* ------------------------------------------------------------------ owners */

static void leave_loop(sp_shape_inference *in, const sp_node *node, const sp_loop_inputs *of,
		       sp_static_outputs *outputs)
{
	for (size_t k = 0; k < of->count; k++) {
		uint16_t *loose = &in->loose[node->inputs[of->variables + k].node];
		shape held = sp_shapes__input(in, node, of->variables + k);
		shape result = sp_shapes__input(in, node, of->results + k);
		uint16_t more = loosened_by(&held, &result);

		/* What has a name of its own never is the body's: it stays loose. */
		if ((more & ~*loose) != 0) {
			*loose |= more;
			in->loosened = true;
		}
		outputs->shapes[k] = held;
	}
}

static sp_static_outputs *room_for(sp_shape_inference *in, sp_arena *arena, size_t i, size_t count)
{
	sp_static_outputs *outputs = in->outputs[i];

	if (outputs == NULL) {
		outputs = sp_arena_alloc(arena, sizeof(*outputs) + count * sizeof(shape));
		in->outputs[i] = outputs;
	}
	if (outputs != NULL)
		outputs->count = count;
	return outputs;
}

sp_status sp_shapes__infer_owner(sp_shape_inference *in, sp_arena *arena, size_t i)
{
	const sp_node *node = &in->graph->nodes[i];
	bool loops;
	sp_loop_inputs of;
	size_t count;
	sp_static_outputs *outputs;

	if (node->input_count == 0)
		return SP_OK;
	loops = sp_node_is_loop(node, &of);
	count = loops ? of.count : (node->input_count - 1) / node->region_count;
	outputs = room_for(in, arena, i, count);
	if (outputs == NULL)
		return SP_NO_MEMORY;
	if (loops)
		leave_loop(in, node, &of, outputs);
	for (size_t k = 0; !loops && k < count; k++) {
		outputs->shapes[k] = merge_from(in, node, 1 + k, count);
		sp_shapes__give_handle(in, &outputs->shapes[k]);
	}
	if (count != 0)
		in->shapes[i] = outputs->shapes[0];
	return SP_OK;
}

void sp_shapes__forget_variables(sp_shape_inference *in)
{
	for (size_t i = 0; i < in->graph->node_count; i++)
		in->loose[i] = GIVEN_UP;
}
