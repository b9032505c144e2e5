#include "engine/import/front_end.h"

#include <string.h>

#define SP_FRONT_END(name) extern const sp_front_end sp_front_end_##name;
#include "engine/front_ends.inc"
#undef SP_FRONT_END

static const sp_front_end *const front_ends[] = {
#define SP_FRONT_END(name) &sp_front_end_##name,
#include "engine/front_ends.inc"
#undef SP_FRONT_END
	NULL,
};

const sp_front_end *sp_front_end_find(const char *op)
{
	for (const sp_front_end *const *f = front_ends; *f != NULL; f++)
		if (strcmp((*f)->op, op) == 0)
			return *f;
	return NULL;
}

sp_status sp_front_ends_lower(sp_node *node, const sp_node *nodes, sp_arena *arena, sp_error *err)
{
	for (const sp_front_end *const *f = front_ends; *f != NULL; f++)
		SP_TRY((*f)->lower(node, nodes, arena, err));
	return SP_OK;
}
