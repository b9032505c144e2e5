#include "engine/tensor/object.h"

/* What an SP_OBJECT tensor's data points at. */
struct sp_object {
	struct sp_object *older;
	const sp_object_type *type;
	void *object;
};

void sp_objects_init(sp_object_list *list, sp_arena *arena)
{
	*list = (sp_object_list){.arena = arena};
}

void sp_objects_fini(sp_object_list *list)
{
	for (struct sp_object *o = list->newest; o != NULL; o = o->older)
		o->type->destroy(o->object);
	list->newest = NULL;
}

sp_status sp_objects_add(sp_object_list *list, const sp_object_type *type, void *object,
			 sp_tensor *out, sp_error *err)
{
	struct sp_object *o = sp_arena_alloc(list->arena, sizeof(*o));

	if (o == NULL) {
		type->destroy(object);
		return sp_error_set(err, SP_NO_MEMORY, "no memory for %s", type->name);
	}
	*o = (struct sp_object){list->newest, type, object};
	list->newest = o;
	*out = (sp_tensor){.dtype = SP_OBJECT, .count = 1, .data = o};
	return SP_OK;
}

const void *sp_tensor_object(const sp_tensor *tensor, const sp_object_type *type)
{
	const struct sp_object *o = tensor->dtype == SP_OBJECT ? tensor->data : NULL;

	return o != NULL && o->type == type ? o->object : NULL;
}
