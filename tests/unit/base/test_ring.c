#include "tests/support/cmocka.h"

#include "base/ring.h"

static void push(sp_ring *ring, int number)
{
	int *item = sp_ring_push(ring, sizeof(*item));

	assert_non_null(item);
	*item = number;
}

static void items_leave_in_the_order_in_which_they_came(void **state)
{
	sp_ring ring = {0};
	int in = 0, out = 0;

	(void)state;
	for (int round = 0; round < 100; round++) { /* grows while it has wrapped around */
		for (int i = 0; i < 7; i++)
			push(&ring, in++);
		for (int i = 0; i < 3; i++) {
			assert_int_equal(*(int *)sp_ring_oldest(&ring, sizeof(int)), out);
			assert_int_equal(*(int *)sp_ring_pop(&ring, sizeof(int)), out++);
		}
	}
	assert_int_equal(ring.count, in - out);
	assert_int_equal(*(int *)sp_ring_at(&ring, ring.count - 1, sizeof(int)), in - 1);
	while (ring.count != 0)
		assert_int_equal(*(int *)sp_ring_pop(&ring, sizeof(int)), out++);
	assert_int_equal(out, in);
	sp_ring_fini(&ring);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(items_leave_in_the_order_in_which_they_came),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
