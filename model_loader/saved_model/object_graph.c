#include "model_loader/saved_model/object_graph.h"

#include <stdbool.h>

#include "model_loader/proto/unpack.h"
#include "model_loader/proto/object_graph.pb-c.h"

/* The name of a variable's value in a checkpoint. */
#define VALUE_ATTRIBUTE "VARIABLE_VALUE"

/* The same object in the SavedModel and in the checkpoint. */
typedef struct pair {
	size_t saved;
	size_t checkpoint;
} pair;

/* State of the walk through both graphs.  An object is visited once, so the time is linear. */
typedef struct walk {
	const SpPb__SavedObjectGraph *saved;
	const SpPb__TrackableObjectGraph *checkpoint;
	bool *saved_met, *checkpoint_met;
	pair *waiting;
	size_t waiting_count;
	sp_arena *arena;
	sp_error *err;
} walk;

static sp_status no_object(int32_t id, sp_error *err)
{
	return sp_error_set(err, SP_CORRUPT, "there is no object %d in the object graph", id);
}

static sp_status unpack(ProtobufCMessage **out, const ProtobufCMessageDescriptor *type,
			sp_bytes bytes, const char *whose, sp_arena *arena, sp_error *err)
{
	sp_status status = sp_message_unpack(out, type, bytes, arena, err);

	return sp_error_prefix(err, status, "the object graph of %s", whose);
}

/* ---------------------------------------------------------------------- the walk */

static sp_status meet(walk *w, int32_t saved, int32_t checkpoint)
{
	if (saved < 0 || (size_t)saved >= w->saved->n_nodes)
		return no_object(saved, w->err);
	if (checkpoint < 0 || (size_t)checkpoint >= w->checkpoint->n_nodes)
		return no_object(checkpoint, w->err);
	if (w->saved_met[saved] || w->checkpoint_met[checkpoint])
		return SP_OK;
	w->saved_met[saved] = w->checkpoint_met[checkpoint] = true;
	w->waiting[w->waiting_count++] = (pair){(size_t)saved, (size_t)checkpoint};
	return SP_OK;
}

/* Matches children by name; usually both graphs have them in the same order. */
static sp_status meet_children(walk *w, const pair *both)
{
	const SpPb__SavedObject *saved = w->saved->nodes[both->saved];
	const SpPb__TrackableObject *checkpoint = w->checkpoint->nodes[both->checkpoint];
	sp_map names;
	uint64_t id;

	sp_map_init(&names, w->arena);
	for (size_t i = 0; i < checkpoint->n_children; i++) {
		const SpPb__ObjectReference *child = checkpoint->children[i];

		if (sp_map_add(&names, sp_message_bytes(&child->local_name),
			       (uint32_t)child->node_id) == SP_MAP_NO_MEMORY)
			return sp_no_memory(w->err, "the objects of a SavedModel");
	}
	for (size_t i = 0; i < saved->n_children; i++) {
		const SpPb__ObjectReference *child = saved->children[i];

		if (sp_map_get(&names, sp_message_bytes(&child->local_name), &id))
			SP_TRY(meet(w, child->node_id, (int32_t)(uint32_t)id));
	}
	return SP_OK;
}

static sp_bytes key_of(const SpPb__TrackableObject *object)
{
	for (size_t i = 0; i < object->n_attributes; i++)
		if (sp_bytes_equal_text(sp_message_bytes(&object->attributes[i]->name),
					VALUE_ATTRIBUTE))
			return sp_message_bytes(&object->attributes[i]->checkpoint_key);
	return (sp_bytes){NULL, 0};
}

static sp_status match(walk *w, sp_bytes *keys)
{
	if (w->saved->n_nodes == 0 || w->checkpoint->n_nodes == 0)
		return SP_OK;
	SP_TRY(meet(w, 0, 0));
	while (w->waiting_count != 0) {
		pair both = w->waiting[--w->waiting_count];

		keys[both.saved] = key_of(w->checkpoint->nodes[both.checkpoint]);
		SP_TRY(meet_children(w, &both));
	}
	return SP_OK;
}

static sp_status find_keys(sp_object_graph *out, walk *w)
{
	size_t count = w->saved->n_nodes;
	sp_bytes *keys = sp_arena_zeros(w->arena, count, sizeof(*keys));

	w->saved_met = sp_arena_zeros(w->arena, count, sizeof(bool));
	w->checkpoint_met = sp_arena_zeros(w->arena, w->checkpoint->n_nodes, sizeof(bool));
	w->waiting = sp_arena_array(w->arena, count, sizeof(*w->waiting));
	SP_NEED_MEMORY(keys != NULL && w->saved_met != NULL && w->checkpoint_met != NULL &&
			       w->waiting != NULL,
		       w->err, "the objects of a SavedModel");
	out->keys = keys;
	out->count = count;
	return match(w, keys);
}

/* --------------------------------------------------------------------- functions */

static sp_status add_function(sp_object_graph *out, const SpPb__ConcreteFunctionEntry *entry,
			      sp_arena *arena, sp_error *err)
{
	sp_object_captures *captures = sp_arena_zeros(arena, 1, sizeof(*captures));

	SP_NEED_MEMORY(captures, err, "the objects of a SavedModel");
	if (entry->value != NULL) {
		captures->objects = entry->value->bound_inputs;
		captures->count = entry->value->n_bound_inputs;
	}
	for (size_t i = 0; i < captures->count; i++)
		if (captures->objects[i] < 0 || (size_t)captures->objects[i] >= out->count)
			return no_object(captures->objects[i], err);
	if (sp_map_add(&out->functions, sp_message_bytes(&entry->key),
		       (uint64_t)(uintptr_t)captures) == SP_MAP_NO_MEMORY)
		return sp_no_memory(err, "the objects of a SavedModel");
	return SP_OK;
}

sp_status sp_object_graph_read(sp_object_graph *out, sp_bytes saved, sp_bytes checkpoint,
			       sp_arena *arena, sp_error *err)
{
	walk w = {.arena = arena, .err = err};
	ProtobufCMessage *message;

	*out = (sp_object_graph){.keys = NULL};
	sp_map_init(&out->functions, arena);
	SP_TRY(unpack(&message, &sp_pb__saved_object_graph__descriptor, saved, "the SavedModel",
		      arena, err));
	w.saved = (const SpPb__SavedObjectGraph *)message;
	SP_TRY(unpack(&message, &sp_pb__trackable_object_graph__descriptor, checkpoint,
		      "the checkpoint", arena, err));
	w.checkpoint = (const SpPb__TrackableObjectGraph *)message;
	SP_TRY(find_keys(out, &w));
	for (size_t i = 0; i < w.saved->n_concrete_functions; i++)
		SP_TRY(add_function(out, w.saved->concrete_functions[i], arena, err));
	return SP_OK;
}

const sp_object_captures *sp_object_graph_captures(const sp_object_graph *graph,
						   const char *function)
{
	uint64_t at;

	if (!sp_map_get(&graph->functions, sp_bytes_of(function), &at))
		return NULL;
	return (const sp_object_captures *)(uintptr_t)at;
}
