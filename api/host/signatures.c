#include "api/host/signature.h"

#include <string.h>

#include "base/alloc.h"
#include "base/arena.h"

typedef const serving_processor_tensor_info *info_fn(void *model, const char *signature, size_t i);

typedef struct owned_set {
	sp_host_signatures set; /* what the caller sees */
	sp_arena *arena;
} owned_set;

/* Keeps the list in the order of strcmp(), whatever order it came in. */
static void insert_sorted(const serving_processor_tensor_info **list, size_t count,
			  const serving_processor_tensor_info *info)
{
	while (count > 0 && strcmp(list[count - 1]->alias, info->alias) > 0) {
		list[count] = list[count - 1];
		count--;
	}
	list[count] = info;
}

static sp_status list_tensors(const serving_processor_tensor_info *const **out, size_t *out_count,
			      sp_arena *arena, info_fn *next, void *model, const char *signature,
			      sp_error *err)
{
	const serving_processor_tensor_info **list;
	size_t count = 0;

	while (next(model, signature, count) != NULL)
		count++;
	list = sp_arena_array(arena, count, sizeof(*list));
	if (list == NULL)
		return sp_error_set(err, SP_NO_MEMORY, "no memory for the signatures");
	for (size_t i = 0; i < count; i++)
		insert_sorted(list, i, next(model, signature, i));
	*out = list;
	*out_count = count;
	return SP_OK;
}

static sp_status list_signatures(owned_set *owned, void *model, sp_error *err)
{
	size_t count = serving_processor_signature_count(model);
	sp_host_signature *list = sp_arena_zeros(owned->arena, count, sizeof(*list));

	if (list == NULL)
		return sp_error_set(err, SP_NO_MEMORY, "no memory for the signatures");
	for (size_t i = 0; i < count; i++) {
		const char *name = serving_processor_signature_name(model, i);
		const char *method = serving_processor_signature_method(model, name);

		list[i].name = name;
		list[i].method = method != NULL ? method : "";
		SP_TRY(list_tensors(&list[i].inputs, &list[i].input_count, owned->arena,
				    serving_processor_input, model, name, err));
		SP_TRY(list_tensors(&list[i].outputs, &list[i].output_count, owned->arena,
				    serving_processor_output, model, name, err));
	}
	owned->set.signatures = list;
	owned->set.count = count;
	return SP_OK;
}

static sp_status choose_fallback(sp_host_signatures *set, void *model, const char *fallback,
				 sp_error *err)
{
	if (fallback == NULL)
		fallback = serving_processor_default_signature(model);
	set->fallback = sp_host_signature_find(set, sp_bytes_of(fallback));
	if (set->fallback == NULL)
		return sp_error_set(err, SP_NOT_FOUND, "the model has no signature \"%s\"",
				    fallback);
	return SP_OK;
}

sp_status sp_host_signatures_create(sp_host_signatures **out, void *model, const char *fallback,
				    sp_error *err)
{
	owned_set *owned = sp_alloc_zero(1, sizeof(*owned));
	sp_status status;

	if (owned == NULL)
		return sp_error_set(err, SP_NO_MEMORY, "no memory for the signatures");
	owned->arena = sp_arena_create(4096);
	status = owned->arena != NULL
			 ? SP_OK
			 : sp_error_set(err, SP_NO_MEMORY, "no memory for the signatures");
	if (status == SP_OK)
		status = list_signatures(owned, model, err);
	if (status == SP_OK)
		status = choose_fallback(&owned->set, model, fallback, err);
	if (status != SP_OK) {
		sp_host_signatures_destroy(&owned->set);
		return status;
	}
	*out = &owned->set;
	return SP_OK;
}

void sp_host_signatures_destroy(sp_host_signatures *set)
{
	owned_set *owned = (owned_set *)set;

	if (owned == NULL)
		return;
	sp_arena_destroy(owned->arena);
	sp_free(owned);
}
