#ifndef SP_ENGINE_OBJECT_H
#define SP_ENGINE_OBJECT_H

#include "base/arena.h"
#include "base/status.h"
#include "engine/tensor/tensor.h"

/*
 * Objects that live as long as a model version, such as packed weights.  An operator that runs
 * while a snapshot is built creates one and outputs it as a scalar tensor of SP_OBJECT, which
 * operators read per request.  The object's type is checked at each access.
 *
 * Threads: one thread at a time while a list grows; any number may read an object.
 */
typedef struct sp_object_type {
	const char *name; /* for messages */
	void (*destroy)(void *object);
} sp_object_type;

/* The objects of one model version, newest first. */
typedef struct sp_object_list {
	sp_arena *arena; /* of the version */
	struct sp_object *newest;
} sp_object_list;

void sp_objects_init(sp_object_list *list, sp_arena *arena);

/* Destroys the objects, newest first. */
void sp_objects_fini(sp_object_list *list);

/*
 * The list takes ownership of `object`, and *out becomes a tensor that refers to it and lives as
 * long as the list.  On failure the object is destroyed at once.
 */
SP_MUST_CHECK sp_status sp_objects_add(sp_object_list *list, const sp_object_type *type,
				       void *object, sp_tensor *out, sp_error *err);

/* The object that a tensor refers to; NULL if it is not of that type. */
const void *sp_tensor_object(const sp_tensor *tensor, const sp_object_type *type);

#endif
