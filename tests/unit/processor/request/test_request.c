#include "tests/support/cmocka.h"

#include <linux/seccomp.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/alloc.h"
#include "processor/request/request.h"
#include "session_group/published.h"
#include "session_group/session_group.h"
#include "session_group/session_set.h"
#include "tests/support/predict.pb-c.h"
#include "tests/support/small_model.h"

typedef Tensorflow__Eas__PredictResponse predict_response;

#define MESSAGE(text) ((sp_bytes){text, sizeof(text) - 1})

/* a = {1, 2} and b = {10, 20} as float tensors of shape [2] */
#define A                  \
	"\x12\x15\x0a\x01" \
	"a\x12\x10\x08\x01\x12\x02\x08\x02\x1a\x08\0\0\x80\x3f\0\0\0\x40"
#define B                  \
	"\x12\x15\x0a\x01" \
	"b\x12\x10\x08\x01\x12\x02\x08\x02\x1a\x08\0\0\x20\x41\0\0\xa0\x41"

static sp_small_model model;
static sp_session *session;

static int set_up(void **state)
{
	sp_error err;

	(void)state;
	sp_small_model_init(&model);
	assert_ok(sp_session_create(&session, model.program, 8 << 20, &err), &err);
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	sp_session_destroy(session);
	sp_small_model_fini(&model);
	return 0;
}

static sp_request_target target(int entry)
{
	return (sp_request_target){.session = session,
				   .snapshot = model.snapshot,
				   .endpoint = &model.endpoints[entry]};
}

static predict_response *answer(int entry, sp_bytes message)
{
	sp_request_target to = target(entry);
	predict_response *response;
	void *block;
	size_t size;
	sp_error err;

	assert_ok(sp_request_answer(&to, message, &block, &size, &err), &err);
	sp_session_reset(session);
	response = tensorflow__eas__predict_response__unpack(NULL, size, block);
	assert_non_null(response);
	sp_free(block);
	return response;
}

static void refuse(int entry, sp_bytes message, const char *text)
{
	sp_request_target to = target(entry);
	void *block;
	size_t size;
	sp_error err;

	assert_int_equal(sp_request_answer(&to, message, &block, &size, &err), SP_INVALID);
	sp_session_reset(session);
	assert_non_null(strstr(err.text, text));
}

static void all_outputs_by_alias(void **state)
{
	predict_response *response = answer(0, MESSAGE(A B));

	(void)state;
	assert_int_equal(response->n_outputs, 2);
	assert_string_equal(response->outputs[0]->key, "same_a");
	assert_true(response->outputs[0]->value->float_val[1] == 2.0f);
	assert_string_equal(response->outputs[1]->key, "sum");
	assert_int_equal(response->outputs[1]->value->array_shape->dim[0], 2);
	assert_true(response->outputs[1]->value->float_val[0] == 11.0f);
	assert_true(response->outputs[1]->value->float_val[1] == 22.0f);
	tensorflow__eas__predict_response__free_unpacked(response, NULL);
}

static void outputs_in_the_callers_order_and_spelling(void **state)
{
	predict_response *response = answer(0, MESSAGE(A B "\x1a\x09out/sum:0\x1a\x0aout/same_a"
							   "\x1a\x03sum"));

	(void)state;
	assert_int_equal(response->n_outputs, 3);
	assert_string_equal(response->outputs[0]->key, "out/sum:0");
	assert_string_equal(response->outputs[1]->key, "out/same_a");
	assert_string_equal(response->outputs[2]->key, "sum");
	assert_true(response->outputs[0]->value->float_val[0] == 11.0f);
	assert_true(response->outputs[1]->value->float_val[0] == 1.0f);
	assert_true(response->outputs[2]->value->float_val[0] == 11.0f);
	tensorflow__eas__predict_response__free_unpacked(response, NULL);
}

static void only_what_an_output_needs_must_be_fed(void **state)
{
	predict_response *response = answer(0, MESSAGE(A "\x1a\x06same_a"));

	(void)state;
	assert_int_equal(response->n_outputs, 1);
	tensorflow__eas__predict_response__free_unpacked(response, NULL);
	refuse(0, MESSAGE(A), "ph/b");
	refuse(0, MESSAGE(A "\x1a\x03sum"), "ph/b");
}

static void strings_go_through(void **state)
{
	predict_response *response = answer(
		1, MESSAGE("\x12\x17\x0a\x01t\x12\x12\x08\x07\x12\x02\x08\x03"
			   "\x32\x05hello\x32\x00\x32\x01\xff"));

	(void)state;
	assert_int_equal(response->outputs[0]->value->n_string_val, 3);
	assert_int_equal(response->outputs[0]->value->string_val[0].len, 5);
	assert_memory_equal(response->outputs[0]->value->string_val[0].data, "hello", 5);
	assert_int_equal(response->outputs[0]->value->string_val[1].len, 0);
	assert_int_equal(response->outputs[0]->value->string_val[2].data[0], 0xff);
	tensorflow__eas__predict_response__free_unpacked(response, NULL);
}

static void a_wrong_type_or_shape_is_the_requests_fault(void **state)
{
	(void)state;
	/* a as int32, then a of shape [3] beside b of shape [2] */
	refuse(0,
	       MESSAGE("\x12\x09\x0a\x01"
		       "a\x12\x04\x08\x03\x28\x07" B),
	       "DT_FLOAT");
	refuse(0,
	       MESSAGE("\x12\x19\x0a\x01"
		       "a\x12\x14\x08\x01\x12\x02\x08\x03"
		       "\x1a\x0c\0\0\x80\x3f\0\0\0\x40\0\0\0\x40" B),
	       "out/sum");
}

/* -------------------------------------------------------------------- typed */

static float a_values[2] = {1, 2}, b_values[2] = {10, 20};

static sp_named_tensor floats(const char *name, float *values, int64_t count)
{
	return (sp_named_tensor){name,
				 {.dtype = SP_FLOAT,
				  .shape = sp_shape_vector(count),
				  .count = (size_t)count,
				  .data = values}};
}

static void typed_requests(void **state)
{
	sp_request_target to = target(0);
	/* Not aligned to a float: a view needs no alignment. */
	char shifted[1 + sizeof(b_values)];
	sp_named_tensor inputs[2] = {floats("ph/a:0", a_values, 2), floats("b", NULL, 2)};
	const char *names[3] = {"sum", "same_a", "sum"};
	sp_typed_request typed = {.inputs = inputs, .input_count = 2};
	sp_arena *arena = sp_arena_create(1024);
	sp_typed_answer out;
	sp_error err;

	(void)state;
	memcpy(shifted + 1, b_values, sizeof(b_values));
	inputs[1].tensor.data = shifted + 1;
	assert_ok(sp_request_run_typed(&to, &typed, arena, &out, &err), &err);
	sp_session_reset(session);
	assert_int_equal(out.count, 2);
	assert_string_equal(out.outputs[1].name, "sum");
	assert_true(sp_tensor_f32(&out.outputs[1].tensor)[1] == 22.0f);

	typed.outputs = names;
	typed.output_count = 3;
	assert_ok(sp_request_run_typed(&to, &typed, arena, &out, &err), &err);
	sp_session_reset(session);
	assert_int_equal(out.count, 3);
	assert_string_equal(out.outputs[2].name, "sum");
	assert_true(sp_tensor_f32(&out.outputs[0].tensor)[0] == 11.0f);
	assert_true(sp_tensor_f32(&out.outputs[1].tensor)[0] == 1.0f);
	assert_true(sp_tensor_f32(&out.outputs[2].tensor)[0] == 11.0f);
	sp_arena_destroy(arena);
}

static void refuse_typed(const sp_named_tensor *inputs, size_t count, sp_status status,
			 const char *text)
{
	sp_request_target to = target(0);
	sp_typed_request typed = {.inputs = inputs, .input_count = count};
	sp_arena *arena = sp_arena_create(1024);
	sp_typed_answer out;
	sp_error err;

	assert_int_equal(sp_request_run_typed(&to, &typed, arena, &out, &err), status);
	assert_string_equal(err.text, text);
	sp_session_reset(session);
	sp_arena_destroy(arena);
}

static void typed_requests_that_are_wrong(void **state)
{
	sp_named_tensor a = floats("a", a_values, 2), twice[2] = {a, floats("ph/a", a_values, 2)};

	(void)state;
	refuse_typed(twice, 2, SP_INVALID, "input 'ph/a' is given twice");
	a.tensor.count = 3;
	refuse_typed(&a, 1, SP_INVALID, "input 'a' has 3 elements, but shape [2] needs 2");
	a.tensor.count = 2;
	a.tensor.data = NULL;
	refuse_typed(&a, 1, SP_INVALID, "input 'a' has no data");
	a.tensor.shape.dims[0] = -2;
	refuse_typed(&a, 1, SP_INVALID, "input 'a' has a dimension of -2");
	a.tensor.shape.rank = SP_MAX_RANK + 1;
	refuse_typed(&a, 1, SP_UNSUPPORTED, "input 'a' has rank 9, not 0 to 8");
	a.tensor.dtype = SP_VARIANT;
	refuse_typed(&a, 1, SP_UNSUPPORTED, "input 'a' has dtype 21 (DT_VARIANT)");
	a.tensor.dtype = SP_RESOURCE;
	refuse_typed(&a, 1, SP_UNSUPPORTED, "input 'a' has dtype 20 (DT_RESOURCE)");
	a.name = NULL;
	refuse_typed(&a, 1, SP_INVALID, "input 0 has no name");
}

static void typed_strings_need_their_bytes(void **state)
{
	sp_request_target to = target(1);
	sp_bytes texts[2] = {{"ab", 2}, {NULL, 3}};
	sp_named_tensor t = {
		"t", {.dtype = SP_STRING, .shape = sp_shape_vector(2), .count = 2, .data = texts}};
	sp_typed_request typed = {.inputs = &t, .input_count = 1};
	sp_arena *arena = sp_arena_create(1024);
	sp_typed_answer out;
	sp_error err;

	(void)state;
	assert_int_equal(sp_request_run_typed(&to, &typed, arena, &out, &err), SP_INVALID);
	assert_string_equal(err.text, "input 't': string 1 has no data");
	sp_session_reset(session);
	texts[1].size = 0;
	assert_ok(sp_request_run_typed(&to, &typed, arena, &out, &err), &err);
	sp_session_reset(session);
	/* The answer is a copy: the caller's bytes may go. */
	assert_true(sp_tensor_strings(&out.outputs[0].tensor)[0].data != texts[0].data);
	assert_true(sp_bytes_equal_text(sp_tensor_strings(&out.outputs[0].tensor)[0], "ab"));
	sp_arena_destroy(arena);
}

/* --------------------------------------------------------- what a request costs */

static void after_the_first_ones_only_the_answer_is_allocated(void **state)
{
	sp_request_target to = target(0);
	uint64_t before = 0;
	void *block;
	size_t size;
	sp_error err;

	(void)state;
#ifdef SP_ARENA_DEBUG
	skip(); /* every block of the workspace is an allocation */
#endif
	for (int i = -5; i < 1000; i++) {
		if (i == 0)
			before = sp_alloc_count();
		assert_ok(sp_request_answer(&to, MESSAGE(A B), &block, &size, &err), &err);
		sp_session_reset(session);
		sp_free(block);
	}
	assert_int_equal(sp_alloc_count() - before, 1000);
}

enum { EXIT_CANNOT_SEAL = 77, EXIT_REFUSED = 78 };

/* What a request passes through, and takes no lock in. */
typedef struct processor_parts {
	sp_session_group *group;
	sp_session_set *sessions;
	sp_published *published;
} processor_parts;

/* The kernel kills a sealed process at its first system call but exit. */
static void answer_sealed(const processor_parts *parts)
{
	sp_request_target to = target(0);
	sp_status status = SP_OK;
	void *block;
	size_t size;

	if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_STRICT) != 0)
		_exit(EXIT_CANNOT_SEAL);
	for (int i = 0; i < 1000 && status == SP_OK; i++) {
		size_t number;

		if (sp_session_group_acquire(&number, parts->group, 0, NULL) != SP_OK)
			syscall(SYS_exit, EXIT_REFUSED);
		to.session = sp_session_set_get(parts->sessions, number);
		to.snapshot = sp_published_pin(parts->published, number);
		status = sp_request_answer(&to, MESSAGE(A B), &block, &size, NULL);
		sp_session_reset(to.session);
		sp_published_unpin(parts->published, number);
		sp_session_group_release(parts->group, number);
		if (status == SP_OK)
			sp_free(block);
	}
	syscall(SYS_exit, status == SP_OK ? 0 : EXIT_REFUSED);
}

static void no_system_call_but_for_memory(void **state)
{
	sp_request_target to = target(0);
	processor_parts parts;
	int status = 0;
	pid_t child;
	void *block;
	size_t size;
	sp_error err;

	(void)state;
#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
	skip(); /* the sanitizers make calls of their own */
#endif
	assert_ok(sp_session_group_create(
			  &parts.group,
			  &(sp_session_group_options){.count = 2, .policy = SP_SESSION_POLICY_RR},
			  &err),
		  &err);
	assert_ok(sp_session_set_create(&parts.sessions, model.program, 2, 8 << 20, NULL, &err),
		  &err);
	assert_ok(sp_published_create(&parts.published, 2, &err), &err);
	sp_published_swap(parts.published, model.snapshot);
	for (int i = 0; i < 10; i++) {
		to.session = sp_session_set_get(parts.sessions, (size_t)i % 2);
		assert_ok(sp_request_answer(&to, MESSAGE(A B), &block, &size, &err), &err);
		sp_session_reset(to.session);
		sp_free(block);
	}
	child = fork();
	if (child == 0)
		answer_sealed(&parts);
	assert_true(child > 0 && waitpid(child, &status, 0) == child);
	sp_published_destroy(parts.published);
	sp_session_set_destroy(parts.sessions);
	sp_session_group_destroy(parts.group);
	if (WIFEXITED(status) && WEXITSTATUS(status) == EXIT_CANNOT_SEAL)
		skip();
	assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(all_outputs_by_alias),
		cmocka_unit_test(outputs_in_the_callers_order_and_spelling),
		cmocka_unit_test(only_what_an_output_needs_must_be_fed),
		cmocka_unit_test(strings_go_through),
		cmocka_unit_test(a_wrong_type_or_shape_is_the_requests_fault),
		cmocka_unit_test(typed_requests),
		cmocka_unit_test(typed_requests_that_are_wrong),
		cmocka_unit_test(typed_strings_need_their_bytes),
		cmocka_unit_test(after_the_first_ones_only_the_answer_is_allocated),
		cmocka_unit_test(no_system_call_but_for_memory),
	};

	return cmocka_run_group_tests_name("request", tests, set_up, tear_down);
}
