#include "tests/support/cmocka.h"

#include <string.h>

#include "base/alloc.h"
#include "engine/rows/row_proof.h"
#include "processor/request/row_split.h"
#include "tests/support/small_model.h"

/* Entry 0 of the small model adds a [-1] and b [-1], entry 1 gives back texts. */

enum { SESSIONS = 4, ROWS = 11, LEAST_ROWS = 4 };

static sp_small_model model;
static sp_session_group *group;
static sp_session_set *set;
static sp_splitter *splitter;
static size_t own;    /* the number of the request */
static size_t unused; /* bytes of a session that has run nothing */
static float a[ROWS], b[ROWS];

static size_t footprint(size_t number)
{
	return sp_workspace_footprint(sp_session_workspace(sp_session_set_get(set, number)));
}

static void make_sessions(size_t workspace_limit)
{
	sp_error err;

	sp_session_set_destroy(set);
	assert_ok(sp_session_set_create(&set, model.program, SESSIONS, workspace_limit, NULL, &err),
		  &err);
	unused = footprint(0);
}

static int set_up(void **state)
{
	sp_session_group_options options = {.count = SESSIONS, .max_waiting = 1};
	sp_error err;

	(void)state;
	sp_small_model_init(&model);
	for (size_t i = 0; i < 2; i++) {
		const sp_signature *signature = &model.endpoints[i].signature;
		sp_partial_shape shapes[2] = {{1, {-1}}, {1, {-1}}};

		assert_true(signature->input_count <= 2);
		assert_ok(sp_program_prove_rows(model.program, i, model.snapshot, shapes, &err),
			  &err);
		model.endpoints[i].splits = true;
	}
	assert_ok(sp_session_group_create(&group, &options, &err), &err);
	assert_ok(sp_splitter_create(&splitter, group, LEAST_ROWS, &err), &err);
	assert_true(sp_session_group_try_acquire(&own, group));
	for (int i = 0; i < ROWS; i++) {
		a[i] = (float)i;
		b[i] = (float)(100 * i);
	}
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	sp_splitter_destroy(splitter);
	sp_session_group_release(group, own);
	sp_session_group_destroy(group); /* asserts that all numbers are given back */
	sp_session_set_destroy(set);
	set = NULL;
	sp_small_model_fini(&model);
	return 0;
}

static sp_tensor floats(float *values, int64_t count)
{
	return (sp_tensor){
		.dtype = SP_FLOAT, .shape = {1, {count}}, .count = (size_t)count, .data = values};
}

static sp_status run(size_t entry, const sp_tensor *feeds, sp_session *session,
		     const sp_tensor **fetches, sp_error *err)
{
	sp_run run = {.snapshot = model.snapshot, .entry = entry, .feeds = feeds};
	sp_split_target target = {splitter, set};

	return sp_split_run(&target, session, &model.endpoints[entry], &run, fetches, err);
}

/*
 * Whether that many sessions beside the request's own have run something.  With SP_ARENA_DEBUG a
 * session keeps no memory that would tell.
 */
static void check_used(size_t wanted)
{
	size_t count = 0;

	for (size_t i = 0; i < SESSIONS; i++)
		count += i != own && footprint(i) > unused;
#ifdef SP_ARENA_DEBUG
	wanted = 0;
#endif
	assert_int_equal(count, wanted);
}

/* Runs on `rows` and `b_rows` rows in `parts` parts, and checks the sums. */
static void add(int64_t rows, int64_t b_rows, size_t parts)
{
	const sp_tensor feeds[] = {floats(a, rows), floats(b, b_rows)};
	const sp_tensor *fetches[2];
	sp_error err;

	make_sessions(8 << 20);
	assert_ok(run(0, feeds, sp_session_set_get(set, own), fetches, &err), &err);
	for (int i = 0; i < 2; i++) {
		assert_int_equal(fetches[i]->shape.rank, 1);
		assert_int_equal(fetches[i]->shape.dims[0],
				 i == 0 || rows > b_rows ? rows : b_rows);
	}
	for (int64_t i = 0; i < rows; i++) {
		assert_true(sp_tensor_f32(fetches[0])[i] == a[i]);
		assert_true(sp_tensor_f32(fetches[1])[i] == a[i] + b[b_rows == 1 ? 0 : i]);
	}
	/* In one piece, an output that is an input has the bytes of the input. */
	assert_true((fetches[0]->data == a) == (parts == 1));
	check_used(parts - 1);
}

static void as_many_parts_as_have_rows(void **state)
{
	(void)state;
	add(5, 5, 2);
}

static void as_many_parts_as_there_are_sessions(void **state)
{
	(void)state;
	add(ROWS, ROWS, SESSIONS);
}

static void sessions_that_are_busy_are_not_waited_for(void **state)
{
	size_t busy[SESSIONS - 1];

	(void)state;
	for (size_t i = 0; i < SESSIONS - 2; i++)
		assert_true(sp_session_group_try_acquire(&busy[i], group));
	add(ROWS, ROWS, 2);
	assert_true(sp_session_group_try_acquire(&busy[SESSIONS - 2], group));
	assert_false(sp_session_group_try_acquire(&busy[0], group));
	add(ROWS, ROWS, 1);
	for (size_t i = 0; i < SESSIONS; i++)
		if (i != own)
			sp_session_group_release(group, i);
}

static void few_rows_stay_together(void **state)
{
	(void)state;
	add(LEAST_ROWS - 1, LEAST_ROWS - 1, 1);
}

static void inputs_of_other_rows_stay_together(void **state)
{
	(void)state;
	add(ROWS, 1, 1);
}

/* Texts of other sessions are copied before these are given back. */
static void texts_outlive_the_parts(void **state)
{
	static const char *const words[] = {"one", "", "three", "four", "5", "sixth", "seven"};
	sp_bytes texts[7];
	const sp_tensor feed = {.dtype = SP_STRING, .shape = {1, {7}}, .count = 7, .data = texts};
	const sp_tensor *fetch;
	sp_error err;

	(void)state;
	make_sessions(8 << 20);
	for (int i = 0; i < 7; i++)
		texts[i] = sp_bytes_of(words[i]);
	assert_ok(run(1, &feed, sp_session_set_get(set, own), &fetch, &err), &err);
	check_used(2);
	assert_int_equal(fetch->count, 7);
	for (int i = 0; i < 7; i++)
		assert_true(sp_bytes_equal(sp_tensor_strings(fetch)[i], sp_bytes_of(words[i])));
}

static void nothing_is_allocated_after_a_few_requests(void **state)
{
	const sp_tensor feeds[] = {floats(a, ROWS), floats(b, ROWS)};
	const sp_tensor *fetches[2];
	uint64_t before = 0;
	sp_error err;

	(void)state;
	make_sessions(8 << 20);
	for (int i = 0; i < 8; i++) {
		if (i == 4)
			before = sp_alloc_count();
		assert_ok(run(0, feeds, sp_session_set_get(set, own), fetches, &err), &err);
		sp_session_reset(sp_session_set_get(set, own));
	}
#ifndef SP_ARENA_DEBUG
	assert_int_equal(sp_alloc_count(), before);
#else
	(void)before;
#endif
}

/* The other sessions have no memory: their error is the request's, and they are idle again. */
static void a_part_that_fails_fails_the_request(void **state)
{
	const sp_tensor feeds[] = {floats(a, ROWS), floats(b, ROWS)};
	const sp_tensor *fetches[2];
	sp_session *session;
	sp_error err;

	(void)state;
	make_sessions(16);
	assert_ok(sp_session_create(&session, model.program, 8 << 20, &err), &err);
	assert_int_equal(run(0, feeds, session, fetches, &err), SP_NO_MEMORY);
	assert_non_null(strstr(err.text, "memory"));
	for (size_t number, i = 1; i < SESSIONS; i++)
		assert_true(sp_session_group_try_acquire(&number, group));
	for (size_t i = 0; i < SESSIONS; i++)
		if (i != own)
			sp_session_group_release(group, i);
	sp_session_destroy(session);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(as_many_parts_as_have_rows),
		TEST(as_many_parts_as_there_are_sessions),
		TEST(sessions_that_are_busy_are_not_waited_for),
		TEST(few_rows_stay_together),
		TEST(inputs_of_other_rows_stay_together),
		TEST(texts_outlive_the_parts),
		TEST(nothing_is_allocated_after_a_few_requests),
		TEST(a_part_that_fails_fails_the_request),
	};

	return cmocka_run_group_tests_name("split", tests, NULL, NULL);
}
