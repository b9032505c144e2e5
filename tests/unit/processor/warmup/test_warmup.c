#include "tests/support/cmocka.h"

#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/hash.h"
#include "base/log.h"
#include "processor/request/request.h"
#include "processor/warmup/warmup.h"
#include "processor/warmup/warmup_recorded.h"
#include "tests/support/paths.h"
#include "tests/support/small_model.h"
#include "tests/support/wire.h"

enum { SESSIONS = 3 };

static sp_small_model model;
static sp_session_set *sessions;
static size_t fresh; /* memory of a session that nobody has used */
static int log_lines;
static sp_error err;

static void count_lines(void *context, int level, const char *line)
{
	(void)context;
	(void)level;
	(void)line;
	log_lines++;
}

static size_t footprint(size_t i)
{
	return sp_workspace_footprint(sp_session_workspace(sp_session_set_get(sessions, i)));
}

/* A session keeps the memory of its requests; the arena's debug twin keeps none. */
static void assert_used(size_t i)
{
#ifdef SP_ARENA_DEBUG
	(void)i;
#else
	assert_true(footprint(i) > fresh);
#endif
}

static sp_status warm(const sp_endpoint *endpoint, const char *file)
{
	sp_warmup_target target = {.sessions = sessions,
				   .count = SESSIONS,
				   .snapshot = model.snapshot,
				   .endpoint = endpoint};

	return sp_warmup(&target, file, &err);
}

static int set_up(void **state)
{
	(void)state;
	sp_small_model_init(&model);
	assert_ok(sp_session_set_create(&sessions, model.program, SESSIONS, 8 << 20, NULL, &err),
		  &err);
	fresh = footprint(0);
	log_lines = 0;
	sp_log_set_sink(count_lines, NULL);
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	sp_log_set_sink(NULL, NULL);
	sp_session_set_destroy(sessions);
	sp_small_model_fini(&model);
	return 0;
}

static void ones_reach_every_session(void **state)
{
	(void)state;
	assert_ok(warm(&model.endpoints[0], NULL), &err);
	for (size_t i = 0; i < SESSIONS; i++)
		assert_used(i);
	assert_int_equal(log_lines, 0);
}

static void string_inputs_are_not_made_up(void **state)
{
	(void)state;
	assert_ok(warm(&model.endpoints[1], NULL), &err);
	for (size_t i = 0; i < SESSIONS; i++)
		assert_int_equal(footprint(i), fresh);
}

/* The model takes floats; a signature that says otherwise makes it refuse. */
static void ones_that_are_refused_are_only_logged(void **state)
{
	sp_endpoint *endpoint = &model.endpoints[0];
	sp_tensor_info infos[2] = {endpoint->signature.inputs[0], endpoint->signature.inputs[1]};

	(void)state;
	endpoint->signature.inputs = infos;
	infos[0].dtype = SP_INT32;
	assert_ok(warm(endpoint, NULL), &err);
	assert_int_equal(log_lines, 1);
	infos[0].dtype = SP_RESOURCE;
	assert_ok(warm(endpoint, NULL), &err);
	assert_int_equal(log_lines, 2);
	infos[0] = infos[1];
	infos[0].shape = (sp_partial_shape){.rank = 2, .dims = {INT64_MAX, 2}};
	assert_ok(warm(endpoint, NULL), &err);
	assert_int_equal(log_lines, 3);
}

static void write_file(const char *path, const char *bytes, size_t size)
{
	FILE *file = fopen(path, "wb");

	assert_non_null(file);
	assert_int_equal(fwrite(bytes, 1, size, file), size);
	assert_int_equal(fclose(file), 0);
}

static void a_file_is_answered_on_every_session(void **state)
{
	static const char request[] = "\x12\x0d\x0a\x01t\x12\x08\x08\x07\x32\x04warm";
	char folder[SP_PATH_SIZE], path[SP_PATH_SIZE + 16];

	(void)state;
	snprintf(path, sizeof(path), "%s/warmup.pb", sp_temp_make(folder));
	write_file(path, request, sizeof(request) - 1);
	assert_ok(warm(&model.endpoints[1], path), &err);
	for (size_t i = 0; i < SESSIONS; i++)
		assert_used(i);

	/* The other signature has no input of that name. */
	assert_int_equal(warm(&model.endpoints[0], path), SP_INVALID);
	assert_non_null(strstr(err.text, "warmup.pb: signature 'numbers' has no input 't'"));

	write_file(path, "{}", 2);
	assert_int_equal(warm(&model.endpoints[1], path), SP_INVALID);
	assert_non_null(strstr(err.text, "warmup.pb: the request is not a PredictRequest"));
	sp_temp_remove(folder);
	assert_int_equal(warm(&model.endpoints[1], path), SP_NOT_FOUND);
	assert_non_null(strstr(err.text, "warmup.pb"));
}

/* ------------------------------------- what TensorFlow Serving's file says */

/* Appends a TFRecord. */
static void add_record(sp_buffer *file, sp_bytes record)
{
	uint64_t length = record.size;
	uint32_t length_crc = sp_crc32c_mask(sp_crc32c(0, &length, sizeof(length)));
	uint32_t crc = sp_crc32c_mask(sp_crc32c(0, record.data, record.size));

	sp_buffer_append(file, &length, sizeof(length));
	sp_buffer_append(file, &length_crc, sizeof(length_crc));
	sp_buffer_append(file, record.data, record.size);
	sp_buffer_append(file, &crc, sizeof(crc));
}

/* model_spec of a PredictRequest. */
static void add_spec(sp_buffer *request, const char *signature)
{
	sp_buffer spec = sp_wire_begin();

	sp_wire_text(&spec, 1, "model");
	if (signature != NULL)
		sp_wire_text(&spec, 3, signature);
	sp_wire_message(request, 1, &spec);
}

/* An input: a string tensor [1]. */
static void add_input(sp_buffer *request, const char *input)
{
	sp_buffer dim = sp_wire_begin(), shape = sp_wire_begin();
	sp_buffer tensor = sp_wire_begin(), entry = sp_wire_begin();

	sp_wire_varint(&dim, 1, 1);
	sp_wire_message(&shape, 2, &dim);
	sp_wire_varint(&tensor, 1, SP_STRING);
	sp_wire_message(&tensor, 2, &shape);
	sp_wire_text(&tensor, 8, "warm");
	sp_wire_text(&entry, 1, input);
	sp_wire_message(&entry, 2, &tensor);
	sp_wire_message(request, 2, &entry);
}

/* The finished `request` in a PredictionLog. */
static void add_request(sp_buffer *record, sp_buffer *request)
{
	sp_buffer log = sp_wire_begin();

	sp_wire_message(&log, 1, request);
	sp_wire_message(record, 6, &log);
}

/* A PredictionLog whose one input is a string tensor [1]. */
static void add_text_request(sp_buffer *file, const char *signature, const char *input)
{
	sp_buffer request = sp_wire_begin(), record = sp_wire_begin();

	add_spec(&request, signature);
	add_input(&request, input);
	sp_wire_text(&request, 3, "same_t");
	add_request(&record, &request);
	add_record(file, sp_wire_view(&record));
	sp_buffer_fini(&record);
}

/* Answers `file`, of a model whose configured signature is "numbers". */
static sp_status warm_recorded(const sp_buffer *file, size_t most)
{
	sp_warmup_target target = {
		.sessions = sessions, .count = SESSIONS, .snapshot = model.snapshot};
	sp_runtime runtime = {.endpoints = model.endpoints,
			      .endpoint_count = 2,
			      .configured = &model.endpoints[0]};
	char folder[SP_PATH_SIZE], path[SP_PATH_SIZE + 16];
	sp_status status;

	assert_false(file->failed);
	snprintf(path, sizeof(path), "%s/recorded", sp_temp_make(folder));
	write_file(path, file->data, file->size);
	status = sp_warmup_recorded(&target, &runtime, path, most, &err);
	sp_temp_remove(folder);
	return status;
}

/*
 * Written by TFRecordWriter of TensorFlow 2.15: PredictionLog{predict_log{request{
 * model_spec{signature_name: "texts"} inputs{"t": make_tensor_proto(["warm"])}}}}.
 */
static const char tensorflow_record[] =
	"\045\000\000\000\000\000\000\000\352\274\066\363\062\043\012\041"
	"\012\012\012\001\155\032\005\164\145\170\164\163\022\023\012\001"
	"\164\022\016\010\007\022\004\022\002\010\001\102\004\167\141\162"
	"\155\360\200\070\100";

static void recorded_requests_reach_every_session(void **state)
{
	sp_buffer file = sp_wire_begin();

	(void)state;
	sp_buffer_append(&file, tensorflow_record, sizeof(tensorflow_record) - 1);
	assert_ok(warm_recorded(&file, SIZE_MAX), &err);
	for (size_t i = 0; i < SESSIONS; i++)
		assert_used(i);
	assert_int_equal(log_lines, 0);
	sp_buffer_fini(&file);
}

static void recorded_requests_name_their_signature(void **state)
{
	sp_buffer file = sp_wire_begin();

	(void)state;
	add_text_request(&file, "texts", "t");
	assert_ok(warm_recorded(&file, SIZE_MAX), &err);
	add_text_request(&file, NULL, "t");
	assert_int_equal(warm_recorded(&file, SIZE_MAX), SP_INVALID);
	assert_non_null(strstr(err.text, "recorded: record 1: signature 'numbers' has no input"));
	/* What is not asked for is not looked at. */
	assert_ok(warm_recorded(&file, 1), &err);
	sp_buffer_fini(&file);
	file = sp_wire_begin();
	add_text_request(&file, "nobody", "t");
	assert_int_equal(warm_recorded(&file, SIZE_MAX), SP_INVALID);
	assert_non_null(strstr(err.text, "record 0: the model has no signature 'nobody'"));
	sp_buffer_fini(&file);
}

static void records_of_other_requests_are_passed_over(void **state)
{
	sp_buffer file = sp_wire_begin();

	(void)state;
	add_record(&file, (sp_bytes){"\x12\x00", 2}); /* classify_log */
	add_record(&file, (sp_bytes){"", 0});
	assert_ok(warm_recorded(&file, SIZE_MAX), &err);
	assert_int_equal(log_lines, 2);
	sp_buffer_fini(&file);
}

/* What one message says in several parts, as protobuf's parsers put them together. */
static void parts_of_a_record_are_merged(void **state)
{
	sp_buffer file = sp_wire_begin(), record = sp_wire_begin();
	sp_buffer first = sp_wire_begin(), second = sp_wire_begin();

	(void)state;
	add_spec(&first, "numbers");
	add_input(&first, "t");
	add_spec(&second, "texts");
	add_input(&second, "t"); /* the last one counts, as the map it is */
	add_request(&record, &first);
	add_request(&record, &second);
	add_record(&file, sp_wire_view(&record));
	assert_ok(warm_recorded(&file, SIZE_MAX), &err);
	for (size_t i = 0; i < SESSIONS; i++)
		assert_used(i);
	assert_int_equal(log_lines, 0);

	/* A log is of one kind: a classify_log behind it takes its place. */
	sp_wire_bytes(&record, 2, (sp_bytes){"", 0});
	file.size = 0;
	add_record(&file, sp_wire_view(&record));
	assert_ok(warm_recorded(&file, SIZE_MAX), &err);
	assert_int_equal(log_lines, 1);
	sp_buffer_fini(&record);
	sp_buffer_fini(&file);
}

/* Broken where nobody reads: what is unknown, the response, a tensor's other fields, a text. */
static void a_record_is_checked_as_a_whole(void **state)
{
	static const struct {
		uint32_t field; /* of a PredictRequest; 0: of the log */
		sp_bytes bytes;
	} cases[] = {
		{0, {"\x12\x02\x0a\x05", 4}},                  /* response, cut off */
		{1, {"\x0a\x01\xff", 3}},                      /* the model's name is no text */
		{1, {"\x12\x01\x08", 3}},                      /* nor is version a number */
		{2, {"\x0a\x01t\x12\x03\x52\x01\x80", 8}},     /* int64_val of an input, */
		{2, {"\x0a\x01t\x12\x04\x72\x02\x0a\x01", 9}}, /* a resource handle, */
		{2, {"\x0a\x01t\x12\x06\x7a\x04\x1a\x02\x2a\x01", 11}}, /* a tensor of a variant */
		{3, {"\xc3", 1}},
		{9, {NULL, 0}}, /* a group that does not end */
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		sp_buffer file = sp_wire_begin(), record = sp_wire_begin();
		sp_buffer request = sp_wire_begin();

		if (cases[i].field == 9)
			sp_buffer_append(&request, "\x4b", 1);
		else if (cases[i].field != 0)
			sp_wire_bytes(&request, cases[i].field, cases[i].bytes);
		add_spec(&request, "texts");
		add_input(&request, "t");
		add_request(&record, &request);
		if (cases[i].field == 0)
			sp_wire_bytes(&record, 6, cases[i].bytes);
		add_record(&file, sp_wire_view(&record));
		assert_int_equal(warm_recorded(&file, SIZE_MAX), SP_INVALID);
		assert_non_null(strstr(err.text, "it is not a PredictionLog message"));
		sp_buffer_fini(&record);
		sp_buffer_fini(&file);
	}
}

static void as_many_records_as_tensorflow_serving_takes(void **state)
{
	sp_buffer file = sp_wire_begin();

	(void)state;
	for (int i = 0; i < 1000; i++)
		add_text_request(&file, "texts", "t");
	assert_ok(warm_recorded(&file, SIZE_MAX), &err);
	add_text_request(&file, "texts", "t");
	assert_int_equal(warm_recorded(&file, SIZE_MAX), SP_INVALID);
	assert_non_null(strstr(err.text, "more than 1000 records"));
	sp_buffer_fini(&file);
}

/* Every byte is under a checksum, so each that is flipped or missing is noticed. */
static void a_damaged_file_is_refused(void **state)
{
	sp_buffer file = sp_wire_begin();
	size_t size;

	(void)state;
	add_text_request(&file, "texts", "t");
	size = file.size;
	for (size_t i = 0; i < size; i++) {
		file.data[i] ^= 0x10;
		assert_int_equal(warm_recorded(&file, SIZE_MAX), SP_INVALID);
		file.data[i] ^= 0x10;
	}
	for (file.size = 1; file.size < size; file.size++)
		assert_int_equal(warm_recorded(&file, SIZE_MAX), SP_INVALID);
	sp_buffer_fini(&file);
}

/* The checksums are right, and the message is not. */
static void damaged_messages_are_refused(void **state)
{
	sp_buffer file = sp_wire_begin(), damaged = sp_wire_begin();
	enum { BEFORE = 12, AFTER = 4 };

	(void)state;
	add_text_request(&file, "texts", "t");
	for (size_t i = BEFORE; i + AFTER < file.size; i++)
		for (int bit = 0; bit < 8; bit++) {
			sp_status status;

			file.data[i] ^= (char)(1 << bit);
			damaged.size = 0;
			add_record(&damaged,
				   (sp_bytes){file.data + BEFORE, file.size - BEFORE - AFTER});
			status = warm_recorded(&damaged, SIZE_MAX);
			assert_true(status == SP_OK || status == SP_INVALID ||
				    status == SP_CORRUPT || status == SP_UNSUPPORTED);
			file.data[i] ^= (char)(1 << bit);
		}
	damaged.size = 0;
	add_record(&damaged, (sp_bytes){"\x32", 1});
	assert_int_equal(warm_recorded(&damaged, SIZE_MAX), SP_INVALID);
	assert_non_null(strstr(err.text, "not a PredictionLog"));
	sp_buffer_fini(&damaged);
	sp_buffer_fini(&file);
}

int main(void)
{
#define CASE(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)
	const struct CMUnitTest tests[] = {
		CASE(ones_reach_every_session),
		CASE(string_inputs_are_not_made_up),
		CASE(ones_that_are_refused_are_only_logged),
		CASE(a_file_is_answered_on_every_session),
		CASE(recorded_requests_reach_every_session),
		CASE(recorded_requests_name_their_signature),
		CASE(records_of_other_requests_are_passed_over),
		CASE(parts_of_a_record_are_merged),
		CASE(a_record_is_checked_as_a_whole),
		CASE(as_many_records_as_tensorflow_serving_takes),
		CASE(a_damaged_file_is_refused),
		CASE(damaged_messages_are_refused),
	};

	return cmocka_run_group_tests_name("warmup", tests, NULL, NULL);
}
