#ifndef SP_ENGINE_KEEPER_H
#define SP_ENGINE_KEEPER_H

#include "base/arena.h"
#include "base/status.h"

/*
 * Objects that live as long as a model version: packed weights, the library
 * objects around them.  Operators at SP_LEVEL_SNAPSHOT leave them here and
 * hand a pointer on as an element of a UINT64 tensor.
 *
 * Threads: one thread at a time.
 */
typedef struct sp_keeper sp_keeper;

typedef void sp_keeper_destroy_fn(void *object);

struct sp_keeper {
	sp_arena *arena; /* of the version */
	struct sp_kept *newest;
};

void sp_keeper_init(sp_keeper *keeper, sp_arena *arena);

/* Destroys the objects, newest first. */
void sp_keeper_fini(sp_keeper *keeper);

/* Takes `object` over; on failure it is destroyed at once. */
SP_MUST_CHECK sp_status sp_keeper_add(sp_keeper *keeper, void *object,
				      sp_keeper_destroy_fn *destroy, sp_error *err);

#endif
