#include "api/host/messages/examples_message.h"

#include <string.h>

#include "api/host/messages/message_fields.h"
#include "api/host/messages/message_writer.h"
#include "base/arena_list.h"

/* ------------------------------------------------------------------ examples */

/* An Input: of the two kinds the last one counts; repeated, their parts are merged. */
typedef struct input_scan {
	uint32_t kind;
	sp_bytes *examples;
	size_t count;
	sp_bytes context;
	sp_arena *arena;
} input_scan;

static sp_status add_example(input_scan *scan, sp_bytes example, sp_error *err)
{
	sp_bytes *added = sp_arena_append(scan->arena, &scan->examples, &scan->count,
					  sizeof(*added));

	if (added == NULL)
		return sp_no_memory(err, "the examples");
	*added = example;
	return SP_OK;
}

static sp_status scan_list(input_scan *scan, sp_bytes message, sp_error *err)
{
	sp_wire wire = sp_wire_of(message);
	sp_wire_field field;

	while (sp_wire_next(&wire, &field)) {
		if (field.type != SP_WIRE_BYTES)
			continue;
		if (field.number == SP_LIST_EXAMPLES)
			SP_TRY(add_example(scan, field.bytes, err));
		else if (field.number == SP_LIST_CONTEXT &&
			 scan->kind == SP_INPUT_LIST_WITH_CONTEXT)
			SP_TRY(sp_message_join(&scan->context, field.bytes, scan->arena, err));
	}
	return sp_message_end(&wire, err);
}

static sp_status scan_input(input_scan *scan, sp_bytes message, sp_error *err)
{
	sp_wire wire = sp_wire_of(message);
	sp_wire_field field;

	while (sp_wire_next(&wire, &field)) {
		if (field.type != SP_WIRE_BYTES ||
		    (field.number != SP_INPUT_LIST && field.number != SP_INPUT_LIST_WITH_CONTEXT))
			continue;
		if (field.number != scan->kind) {
			scan->kind = field.number;
			scan->count = 0;
			scan->context = (sp_bytes){NULL, 0};
		}
		SP_TRY(scan_list(scan, field.bytes, err));
	}
	return sp_message_end(&wire, err);
}

static sp_status scan_request(input_scan *scan, sp_bytes message, sp_error *err)
{
	sp_wire wire = sp_wire_of(message);
	sp_wire_field field;

	while (sp_wire_next(&wire, &field))
		if (field.number == SP_EXAMPLES_INPUT && field.type == SP_WIRE_BYTES)
			SP_TRY(scan_input(scan, field.bytes, err));
	return sp_message_end(&wire, err);
}

sp_status sp_examples_message_first(sp_bytes *example, sp_bytes *context, sp_bytes message,
				    sp_arena *arena, sp_error *err)
{
	input_scan scan = {.arena = arena};

	SP_TRY(scan_request(&scan, message, err));
	*example = scan.count != 0 ? scan.examples[0] : (sp_bytes){NULL, 0};
	*context = scan.context;
	return SP_OK;
}

sp_status sp_examples_message_decode(const sp_bytes **out, size_t *count, sp_bytes message,
				     sp_arena *arena, sp_error *err)
{
	input_scan scan = {.arena = arena};

	SP_TRY(scan_request(&scan, message, err));
	/* Two serialized messages after each other are one: the example's features win. */
	for (size_t i = 0; scan.context.size != 0 && i < scan.count; i++) {
		sp_bytes whole = scan.context;

		SP_TRY(sp_message_join(&whole, scan.examples[i], arena, err));
		scan.examples[i] = whole;
	}
	*out = scan.examples;
	*count = scan.count;
	return SP_OK;
}

/* --------------------------------------------------------------------- tasks */

static sp_status read_task(sp_inference_task *out, sp_bytes message, sp_error *err)
{
	sp_wire wire = sp_wire_of(message);
	sp_wire_field field;

	memset(out, 0, sizeof(*out));
	while (sp_wire_next(&wire, &field)) {
		if (field.type != SP_WIRE_BYTES)
			continue;
		if (field.number == SP_TASK_SPEC)
			SP_TRY(sp_model_spec_decode(&out->spec, field.bytes, err));
		else if (field.number == SP_TASK_METHOD)
			out->method = field.bytes;
	}
	return sp_message_end(&wire, err);
}

sp_status sp_examples_message_tasks(const sp_inference_task **out, size_t *count, sp_bytes message,
				    sp_arena *arena, sp_error *err)
{
	sp_wire wire = sp_wire_of(message);
	sp_inference_task *tasks;
	sp_wire_field field;
	size_t found = 0, read = 0;

	while (sp_wire_next(&wire, &field))
		found += field.number == SP_MULTI_TASKS && field.type == SP_WIRE_BYTES;
	tasks = sp_arena_array(arena, found, sizeof(*tasks));
	if (tasks == NULL)
		return sp_no_memory(err, "the tasks");
	wire = sp_wire_of(message);
	while (read < found && sp_wire_next(&wire, &field))
		if (field.number == SP_MULTI_TASKS && field.type == SP_WIRE_BYTES)
			SP_TRY(read_task(&tasks[read++], field.bytes, err));
	*out = tasks;
	*count = found;
	return SP_OK;
}

sp_bytes sp_examples_message_model(sp_bytes message)
{
	sp_wire wire = sp_wire_of(message);
	sp_inference_task task;
	sp_wire_field field;

	while (sp_wire_next(&wire, &field))
		if (field.number == SP_MULTI_TASKS && field.type == SP_WIRE_BYTES)
			return read_task(&task, field.bytes, NULL) == SP_OK ? task.spec.name
									    : (sp_bytes){"", 0};
	return (sp_bytes){"", 0};
}

/* ----------------------------------------------------------------- responses */

/* A float whose bits are all zero is not written, as proto3 has it. */
static void put_float(sp_buffer *out, uint32_t number, float value)
{
	unsigned char bytes[1 + sizeof(value)] = {(unsigned char)(number << 3 | SP_WIRE_FIXED32)};
	uint32_t bits;

	memcpy(&bits, &value, sizeof(bits));
	memcpy(bytes + 1, &value, sizeof(value));
	if (bits != 0)
		sp_buffer_append(out, bytes, sizeof(bytes));
}

static void put_class(sp_buffer *out, const sp_examples_result *result, size_t i)
{
	size_t class = sp_message_open(out, SP_CLASSIFICATIONS_CLASSES);

	if (result->classes != NULL)
		sp_message_put_text(out, SP_CLASS_LABEL,
				    (sp_bytes){result->classes[i].data, result->classes[i].size});
	if (result->scores != NULL)
		put_float(out, SP_CLASS_SCORE, result->scores[i]);
	sp_message_close(out, class);
}

static void put_result(sp_buffer *out, uint32_t number, const sp_examples_result *result)
{
	size_t whole = sp_message_open(out, number), item;

	for (size_t i = 0; i < result->example_count; i++) {
		item = sp_message_open(out, SP_RESULT_ITEMS);
		if (result->method == SP_EXAMPLES_REGRESS)
			put_float(out, SP_REGRESSION_VALUE, result->scores[i]);
		for (size_t c = 0; c < result->class_count; c++)
			put_class(out, result, i * result->class_count + c);
		sp_message_close(out, item);
	}
	sp_message_close(out, whole);
}

sp_status sp_examples_message_encode(sp_buffer *out, const sp_examples_result *result,
				     const sp_model_spec *spec, sp_error *err)
{
	put_result(out, SP_EXAMPLES_RESULT, result);
	sp_model_spec_append(out, SP_EXAMPLES_RESULT_SPEC, spec);
	return out->failed ? sp_no_memory(err, "the response") : SP_OK;
}

sp_status sp_examples_message_add(sp_buffer *out, const sp_examples_result *result,
				  const sp_model_spec *spec, sp_error *err)
{
	size_t opened = sp_message_open(out, SP_MULTI_RESULTS);

	sp_model_spec_append(out, SP_INFERENCE_SPEC, spec);
	put_result(out,
		   result->method == SP_EXAMPLES_CLASSIFY ? SP_INFERENCE_CLASSIFICATION
							  : SP_INFERENCE_REGRESSION,
		   result);
	sp_message_close(out, opened);
	return out->failed ? sp_no_memory(err, "the response") : SP_OK;
}
