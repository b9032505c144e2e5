#include "tests/support/cmocka.h"

#include <string.h>

#include "base/alloc.h"
#include "engine/tensor/workspace.h"

static sp_tensor make(sp_workspace *workspace, int64_t n)
{
	sp_shape shape = sp_shape_vector(n);
	sp_tensor tensor;
	sp_error err;

	assert_ok(sp_workspace_tensor(workspace, &tensor, SP_FLOAT, &shape, &err), &err);
	memset(tensor.data, 1, tensor.count * sizeof(float));
	return tensor;
}

#ifndef SP_ARENA_DEBUG
static void a_released_block_is_used_again(void **state)
{
	sp_workspace *workspace = sp_workspace_create(1 << 20);
	sp_tensor a = make(workspace, 100);
	void *data = a.data;
	sp_tensor b;

	(void)state;
	sp_workspace_release(workspace, &a);
	assert_false(sp_tensor_is_set(&a));
	b = make(workspace, 100);
	assert_ptr_equal(b.data, data);
	sp_workspace_destroy(workspace);
}

static void after_warm_up_nothing_is_allocated(void **state)
{
	sp_workspace *workspace = sp_workspace_create(64 << 20);
	uint64_t before = 0;

	(void)state;
	for (int round = 0; round < 20; round++) {
		if (round == 3)
			before = sp_alloc_count();
		for (int64_t n = 1; n < 200000; n = n * 3 + 1)
			make(workspace, n);
		assert_non_null(sp_workspace_bytes(workspace, 1000, 7));
		sp_workspace_reset(workspace);
	}
	assert_int_equal(sp_alloc_count(), before);
	sp_workspace_destroy(workspace);
}

static void what_one_request_needed_and_others_do_not_goes_back(void **state)
{
	enum { LARGE = 10 << 20, SMALL = 1000 };
	sp_workspace *workspace = sp_workspace_create(1 << 30);
	uint64_t before;

	(void)state;
	for (int i = 0; i < 20; i++) {
		make(workspace, SMALL);
		sp_workspace_reset(workspace);
	}
	make(workspace, LARGE);
	sp_workspace_reset(workspace);
	assert_true(sp_workspace_footprint(workspace) < 1 << 20);
	for (int i = 0; i < 20; i++) {
		make(workspace, LARGE);
		sp_workspace_reset(workspace);
	}
	before = sp_alloc_count();
	for (int i = 0; i < 40; i++) { /* what is usual stays, also if another comes between */
		make(workspace, i % 2 ? LARGE : SMALL);
		sp_workspace_reset(workspace);
	}
	assert_int_equal(sp_alloc_count(), before);
	for (int i = 0; i < 100; i++) {
		make(workspace, SMALL);
		sp_workspace_reset(workspace);
	}
	assert_true(sp_workspace_footprint(workspace) < 1 << 20);
	sp_workspace_destroy(workspace);
}
#endif

/* What a chunk of the system has beside it was never touched. */
static void what_was_touched_is_known_after_a_request(void **state)
{
	enum { SMALL = 1000, LARGER = 50000, BYTES = LARGER * sizeof(float) };
	sp_workspace *workspace = sp_workspace_create(1 << 30);

	(void)state;
	assert_int_equal(sp_workspace_touched(workspace), 0);
	make(workspace, LARGER);
	assert_int_equal(sp_workspace_touched(workspace), 0);
	sp_workspace_reset(workspace);
	assert_true(sp_workspace_touched(workspace) <= sp_workspace_footprint(workspace));
#ifndef SP_ARENA_DEBUG
	assert_true(sp_workspace_touched(workspace) >= BYTES);
	assert_true(sp_workspace_touched(workspace) < 2 * BYTES);
	make(workspace, SMALL);
	sp_workspace_reset(workspace);
	assert_true(sp_workspace_touched(workspace) >= BYTES);
#endif
	sp_workspace_destroy(workspace);
}

static void a_block_with_two_holders_outlives_one(void **state)
{
	sp_workspace *workspace = sp_workspace_create(1 << 20);
	sp_tensor a = make(workspace, 10), b = a, c;

	(void)state;
	assert_true(sp_tensor_is_sole(&a));
	sp_tensor_retain(&b);
	assert_false(sp_tensor_is_sole(&a));
	sp_workspace_release(workspace, &a);
	c = make(workspace, 10);
	assert_ptr_not_equal(c.data, b.data);
	assert_true(sp_tensor_is_sole(&b));
	sp_workspace_destroy(workspace);
}

static void data_is_aligned_and_sizes_do_not_overlap(void **state)
{
	sp_workspace *workspace = sp_workspace_create(64 << 20);
	sp_tensor tensors[300];

	(void)state;
	for (int i = 0; i < 300; i++) {
		tensors[i] = make(workspace, i * i);
		assert_int_equal((uintptr_t)tensors[i].data % 64, 0);
		memset(tensors[i].data, i & 0xff, tensors[i].count * 4);
	}
	for (int i = 1; i < 300; i++)
		for (size_t k = 0; k < tensors[i].count * 4; k++)
			assert_int_equal(((unsigned char *)tensors[i].data)[k], i & 0xff);
	sp_workspace_destroy(workspace);
}

static void what_is_too_large_is_refused(void **state)
{
	sp_workspace *workspace = sp_workspace_create(1 << 20);
	sp_shape huge = sp_shape_vector((int64_t)1 << 61), negative = sp_shape_vector(-1);
	sp_shape over = sp_shape_vector(1 << 19);
	sp_tensor tensor;

	(void)state;
	assert_int_equal(sp_workspace_tensor(workspace, &tensor, SP_DOUBLE, &huge, NULL),
			 SP_INVALID);
	assert_int_equal(sp_workspace_tensor(workspace, &tensor, SP_FLOAT, &negative, NULL),
			 SP_INVALID);
	assert_int_equal(sp_workspace_tensor(workspace, &tensor, SP_FLOAT, &over, NULL),
			 SP_NO_MEMORY);
	assert_null(sp_workspace_bytes(workspace, SIZE_MAX, 2));
	assert_null(sp_workspace_bytes(workspace, 2 << 20, 1));
	make(workspace, 1000); /* and the next request is served */
	sp_workspace_destroy(workspace);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
#ifndef SP_ARENA_DEBUG
		cmocka_unit_test(a_released_block_is_used_again),
		cmocka_unit_test(after_warm_up_nothing_is_allocated),
		cmocka_unit_test(what_one_request_needed_and_others_do_not_goes_back),
#endif
		cmocka_unit_test(what_was_touched_is_known_after_a_request),
		cmocka_unit_test(a_block_with_two_holders_outlives_one),
		cmocka_unit_test(data_is_aligned_and_sizes_do_not_overlap),
		cmocka_unit_test(what_is_too_large_is_refused),
	};

	return cmocka_run_group_tests_name("workspace", tests, NULL, NULL);
}
