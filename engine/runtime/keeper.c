#include "engine/runtime/keeper.h"

struct sp_kept {
	struct sp_kept *older;
	void *object;
	sp_keeper_destroy_fn *destroy;
};

void sp_keeper_init(sp_keeper *keeper, sp_arena *arena)
{
	*keeper = (sp_keeper){.arena = arena};
}

void sp_keeper_fini(sp_keeper *keeper)
{
	for (struct sp_kept *k = keeper->newest; k != NULL; k = k->older)
		k->destroy(k->object);
	keeper->newest = NULL;
}

sp_status sp_keeper_add(sp_keeper *keeper, void *object, sp_keeper_destroy_fn *destroy,
			sp_error *err)
{
	struct sp_kept *kept = sp_arena_alloc(keeper->arena, sizeof(*kept));

	if (kept == NULL) {
		destroy(object);
		return sp_error_set(err, SP_NO_MEMORY, "no memory for an object of the version");
	}
	*kept = (struct sp_kept){keeper->newest, object, destroy};
	keeper->newest = kept;
	return SP_OK;
}
