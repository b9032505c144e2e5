#include "session_group/published.h"

#include <stdatomic.h>
#include <stdint.h>

#include "base/alloc.h"

/*
 * A reader stores the pointer in its slot and then loads the published pointer again.  If that has
 * changed, it starts over.  If not, the store precedes the swap in the single order of sequentially
 * consistent operations; so the writer, which reads the slots after its swap, sees it.
 */

enum { CACHE_LINE = 64 };

/* On its own cache line, because other threads write its neighbours. */
typedef struct hazard_slot {
	_Alignas(CACHE_LINE) _Atomic(void *) object;
} hazard_slot;

struct sp_published {
	_Alignas(CACHE_LINE) _Atomic(void *) object;
	size_t count;
	hazard_slot slots[];
};

sp_status sp_published_create(sp_published **out, size_t count, sp_error *err)
{
	sp_published *published = NULL;

	if (count <= (SIZE_MAX - sizeof(*published)) / sizeof(published->slots[0]))
		published = sp_alloc_aligned(
			CACHE_LINE, sizeof(*published) + count * sizeof(published->slots[0]));
	SP_NEED_MEMORY(published, err, "%zu sessions", count);
	published->count = count;
	atomic_init(&published->object, NULL);
	for (size_t i = 0; i < count; i++)
		atomic_init(&published->slots[i].object, NULL);
	*out = published;
	return SP_OK;
}

void sp_published_destroy(sp_published *published)
{
	sp_free(published);
}

void *sp_published_pin(sp_published *published, size_t slot)
{
	void *object = atomic_load(&published->object), *again;

	for (;; object = again) {
		atomic_store(&published->slots[slot].object, object);
		again = atomic_load(&published->object);
		if (again == object)
			return object;
	}
}

void sp_published_unpin(sp_published *published, size_t slot)
{
	atomic_store_explicit(&published->slots[slot].object, NULL, memory_order_release);
}

void *sp_published_swap(sp_published *published, void *object)
{
	return atomic_exchange(&published->object, object);
}

bool sp_published_is_pinned(const sp_published *published, const void *object)
{
	for (size_t i = 0; i < published->count; i++)
		if (atomic_load(&published->slots[i].object) == object)
			return true;
	return false;
}
