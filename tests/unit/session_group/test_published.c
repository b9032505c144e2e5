#include "tests/support/cmocka.h"

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "base/alloc.h"
#include "session_group/published.h"

#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
enum { OBJECTS = 500 };
#else
enum { OBJECTS = 4000 };
#endif
enum { READERS = 4, LIVING = 0x600d, FREED = 0xdead };

/* Its second half says whether it is the first half's, and whether it may still be read. */
typedef struct object {
	atomic_uint state;
	unsigned number;
	unsigned twin;
} object;

static object *make(unsigned number)
{
	object *made = malloc(sizeof(*made));

	assert_non_null(made);
	atomic_init(&made->state, LIVING);
	made->number = made->twin = number;
	return made;
}

static void what_is_swapped_in_is_pinned(void **state)
{
	sp_published *published;
	object *a = make(1), *b = make(2);
	sp_error err;

	(void)state;
	assert_ok(sp_published_create(&published, 2, &err), &err);
	assert_null(sp_published_pin(published, 0));
	sp_published_unpin(published, 0);
	assert_null(sp_published_swap(published, a));
	assert_ptr_equal(sp_published_pin(published, 0), a);
	assert_ptr_equal(sp_published_swap(published, b), a);
	assert_ptr_equal(sp_published_pin(published, 1), b);
	assert_true(sp_published_is_pinned(published, a));
	sp_published_unpin(published, 0);
	assert_false(sp_published_is_pinned(published, a));
	assert_true(sp_published_is_pinned(published, b));
	sp_published_unpin(published, 1);
	sp_published_destroy(published);
	sp_published_destroy(NULL);
	free(a);
	free(b);
}

/* ------------------------------------------------------------------ threads */

typedef struct scene {
	sp_published *published;
	atomic_size_t next_place;
	atomic_uint wrong;
	atomic_bool done;
} scene;

static void *read_on(void *argument)
{
	scene *s = argument;
	size_t place = atomic_fetch_add(&s->next_place, 1);
	unsigned last = 0;

	while (!atomic_load(&s->done)) {
		const object *o = sp_published_pin(s->published, place);

		/* Whole, alive, and never older than what this thread has seen before. */
		if (atomic_load(&o->state) != LIVING || o->number != o->twin || o->number < last)
			atomic_fetch_add(&s->wrong, 1);
		last = o->number;
		sp_published_unpin(s->published, place);
	}
	return NULL;
}

static void nothing_is_freed_under_a_reader(void **state)
{
	scene s = {.published = NULL};
	pthread_t threads[READERS];
	sp_error err;

	(void)state;
	assert_ok(sp_published_create(&s.published, READERS, &err), &err);
	sp_published_swap(s.published, make(0));
	for (int i = 0; i < READERS; i++)
		assert_int_equal(pthread_create(&threads[i], NULL, read_on, &s), 0);
	for (unsigned i = 1; i < OBJECTS; i++) {
		object *old = sp_published_swap(s.published, make(i));

		while (sp_published_is_pinned(s.published, old))
			sched_yield();
		atomic_store(&old->state, FREED);
		free(old);
	}
	atomic_store(&s.done, true);
	for (int i = 0; i < READERS; i++)
		pthread_join(threads[i], NULL);
	assert_int_equal(atomic_load(&s.wrong), 0);
	free(sp_published_swap(s.published, NULL));
	sp_published_destroy(s.published);
}

static void no_memory_is_an_error(void **state)
{
	sp_published *published = NULL;
	sp_error err;

	(void)state;
	sp_alloc_fail_after(0);
	assert_int_equal(sp_published_create(&published, 2, &err), SP_NO_MEMORY);
	sp_alloc_fail_after(-1);
	assert_int_equal(sp_published_create(&published, SIZE_MAX, &err), SP_NO_MEMORY);
	assert_null(published);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_is_swapped_in_is_pinned),
		cmocka_unit_test(nothing_is_freed_under_a_reader),
		cmocka_unit_test(no_memory_is_an_error),
	};

	return cmocka_run_group_tests_name("published", tests, NULL, NULL);
}
