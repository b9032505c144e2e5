#ifndef SP_SESSION_GROUP_PUBLISHED_H
#define SP_SESSION_GROUP_PUBLISHED_H

#include <stdbool.h>
#include <stddef.h>

#include "base/status.h"

/*
 * A pointer that many threads read while one thread replaces the object, with hazard pointers: an
 * object is not freed while a reader uses it, and readers take no lock and make no system call.
 *
 * A reader pins the current object into a slot of its own, uses it, and unpins it.  The writer
 * swaps in a new object and may free the old one once no slot holds it, because the old one cannot
 * be pinned any more.
 *
 * Threads: any number of readers, each with its own slot, and one writer.
 *
 * Source: M. Michael, "Hazard pointers: safe memory reclamation for lock-free objects", 2004.
 */
typedef struct sp_published sp_published;

/* Slots 0 to count - 1; nothing is published yet. */
SP_MUST_CHECK sp_status sp_published_create(sp_published **out, size_t count, sp_error *err);

/* No object may be pinned.  The published object still belongs to the caller.  NULL is fine. */
void sp_published_destroy(sp_published *published);

/* The published object, valid until the slot is unpinned; NULL before the first swap. */
void *sp_published_pin(sp_published *published, size_t slot);
void sp_published_unpin(sp_published *published, size_t slot);

/* Publishes `object`; returns the previous one, which readers may still be using. */
void *sp_published_swap(sp_published *published, void *object);

/* Whether a reader still uses `object`, which has been replaced. */
bool sp_published_is_pinned(const sp_published *published, const void *object);

#endif
