#include "api/host/messages/examples_message.h"

#include <string.h>

#include "api/host/messages/message_fields.h"
#include "base/size.h"
#include "base/wire.h"

static sp_status malformed(sp_error *err)
{
	return sp_error_set(err, SP_INVALID, "the message cannot be parsed");
}

/* ------------------------------------------------------------------ examples */

/* An Input: of the two kinds the last one counts; repeated, their parts are merged. */
typedef struct input_scan {
	uint32_t kind;
	sp_bytes *examples;
	size_t count, capacity;
	sp_bytes context;
	sp_arena *arena;
} input_scan;

static sp_status add_example(input_scan *scan, sp_bytes example, sp_error *err)
{
	if (scan->count == scan->capacity) {
		size_t capacity = scan->capacity != 0 ? 2 * scan->capacity : 16;
		sp_bytes *grown = sp_arena_array(scan->arena, capacity, sizeof(*grown));

		if (grown == NULL)
			return sp_no_memory(err, "the examples");
		if (scan->count != 0)
			memcpy(grown, scan->examples, scan->count * sizeof(*grown));
		scan->examples = grown;
		scan->capacity = capacity;
	}
	scan->examples[scan->count++] = example;
	return SP_OK;
}

static sp_status join(sp_bytes *out, sp_bytes first, sp_bytes second, sp_arena *arena,
		      sp_error *err)
{
	char *joined = sp_arena_alloc(arena, first.size + second.size);

	if (joined == NULL)
		return sp_no_memory(err, "an example");
	if (first.size != 0)
		memcpy(joined, first.data, first.size);
	if (second.size != 0)
		memcpy(joined + first.size, second.data, second.size);
	*out = (sp_bytes){joined, first.size + second.size};
	return SP_OK;
}

static sp_status scan_list(input_scan *scan, sp_bytes message, sp_error *err)
{
	sp_wire wire = sp_wire_of(message);
	sp_wire_result result;
	sp_wire_field field;

	while ((result = sp_wire_next(&wire, &field)) == SP_WIRE_FIELD) {
		if (field.type != SP_WIRE_BYTES)
			continue;
		if (field.number == SP_LIST_EXAMPLES)
			SP_TRY(add_example(scan, field.bytes, err));
		else if (field.number == SP_LIST_CONTEXT &&
			 scan->kind == SP_INPUT_LIST_WITH_CONTEXT)
			SP_TRY(join(&scan->context, scan->context, field.bytes, scan->arena, err));
	}
	return result == SP_WIRE_END ? SP_OK : malformed(err);
}

static sp_status scan_input(input_scan *scan, sp_bytes message, sp_error *err)
{
	sp_wire wire = sp_wire_of(message);
	sp_wire_result result;
	sp_wire_field field;

	while ((result = sp_wire_next(&wire, &field)) == SP_WIRE_FIELD) {
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
	return result == SP_WIRE_END ? SP_OK : malformed(err);
}

static sp_status scan_request(input_scan *scan, sp_bytes message, sp_error *err)
{
	sp_wire wire = sp_wire_of(message);
	sp_wire_result result;
	sp_wire_field field;

	while ((result = sp_wire_next(&wire, &field)) == SP_WIRE_FIELD)
		if (field.number == SP_EXAMPLES_INPUT && field.type == SP_WIRE_BYTES)
			SP_TRY(scan_input(scan, field.bytes, err));
	return result == SP_WIRE_END ? SP_OK : malformed(err);
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
	for (size_t i = 0; scan.context.size != 0 && i < scan.count; i++)
		SP_TRY(join(&scan.examples[i], scan.context, scan.examples[i], arena, err));
	*out = scan.examples;
	*count = scan.count;
	return SP_OK;
}

/* --------------------------------------------------------------------- tasks */

static sp_status read_task(sp_inference_task *out, sp_bytes message, sp_error *err)
{
	sp_wire wire = sp_wire_of(message);
	sp_wire_result result;
	sp_wire_field field;

	memset(out, 0, sizeof(*out));
	while ((result = sp_wire_next(&wire, &field)) == SP_WIRE_FIELD) {
		if (field.type != SP_WIRE_BYTES)
			continue;
		if (field.number == SP_TASK_SPEC)
			SP_TRY(sp_model_spec_decode(&out->spec, field.bytes, err));
		else if (field.number == SP_TASK_METHOD)
			out->method = field.bytes;
	}
	return result == SP_WIRE_END ? SP_OK : malformed(err);
}

sp_status sp_examples_message_tasks(const sp_inference_task **out, size_t *count, sp_bytes message,
				    sp_arena *arena, sp_error *err)
{
	sp_wire wire = sp_wire_of(message);
	sp_inference_task *tasks;
	sp_wire_field field;
	size_t found = 0, read = 0;

	while (sp_wire_next(&wire, &field) == SP_WIRE_FIELD)
		found += field.number == SP_MULTI_TASKS && field.type == SP_WIRE_BYTES;
	tasks = sp_arena_array(arena, found, sizeof(*tasks));
	if (tasks == NULL)
		return sp_no_memory(err, "the tasks");
	wire = sp_wire_of(message);
	while (read < found && sp_wire_next(&wire, &field) == SP_WIRE_FIELD)
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

	while (sp_wire_next(&wire, &field) == SP_WIRE_FIELD)
		if (field.number == SP_MULTI_TASKS && field.type == SP_WIRE_BYTES)
			return read_task(&task, field.bytes, NULL) == SP_OK ? task.spec.name
									    : (sp_bytes){"", 0};
	return (sp_bytes){"", 0};
}

/* ----------------------------------------------------------------- responses */

/* Zero, as bits, is not written. */
static bool is_zero(float value)
{
	uint32_t bits;

	memcpy(&bits, &value, sizeof(bits));
	return bits == 0;
}

static unsigned char *put_float(unsigned char *at, uint32_t number, float value)
{
	if (is_zero(value))
		return at;
	*at++ = (unsigned char)(number << 3 | SP_WIRE_FIXED32);
	return sp_wire_put_bytes(at, &value, sizeof(value));
}

static size_t float_size(float value)
{
	return is_zero(value) ? 0 : 1 + sizeof(value);
}

static size_t class_size(const sp_examples_result *result, size_t i)
{
	size_t label = result->classes != NULL ? result->classes[i].size : 0;

	return (label != 0 ? sp_wire_field_size(label) : 0) +
	       (result->scores != NULL ? float_size(result->scores[i]) : 0);
}

static unsigned char *put_class(unsigned char *at, const sp_examples_result *result, size_t i)
{
	at = sp_wire_put_header(at, SP_CLASSIFICATIONS_CLASSES, class_size(result, i));
	if (result->classes != NULL && result->classes[i].size != 0) {
		at = sp_wire_put_header(at, SP_CLASS_LABEL, result->classes[i].size);
		at = sp_wire_put_bytes(at, result->classes[i].data, result->classes[i].size);
	}
	return result->scores != NULL ? put_float(at, SP_CLASS_SCORE, result->scores[i]) : at;
}

/* What the result has for one example. */
static size_t item_size(const sp_examples_result *result, size_t example)
{
	size_t size = 0, first = example * result->class_count;

	if (result->method == SP_EXAMPLES_REGRESS)
		return float_size(result->scores[example]);
	for (size_t i = 0; i < result->class_count; i++)
		size += sp_wire_field_size(class_size(result, first + i));
	return size;
}

static size_t result_size(const sp_examples_result *result)
{
	size_t size = 0;

	for (size_t i = 0; i < result->example_count; i++)
		size += sp_wire_field_size(item_size(result, i));
	return size;
}

static unsigned char *put_result(unsigned char *at, const sp_examples_result *result)
{
	for (size_t i = 0; i < result->example_count; i++) {
		at = sp_wire_put_header(at, SP_RESULT_ITEMS, item_size(result, i));
		if (result->method == SP_EXAMPLES_REGRESS)
			at = put_float(at, SP_REGRESSION_VALUE, result->scores[i]);
		for (size_t c = 0; c < result->class_count; c++)
			at = put_class(at, result, i * result->class_count + c);
	}
	return at;
}

/* The result under its number, and the model_spec. */
static unsigned char *put_both(unsigned char *at, uint32_t result_number, uint32_t spec_number,
			       const sp_examples_result *result, const sp_model_spec *spec)
{
	if (spec_number < result_number) {
		at = sp_wire_put_header(at, spec_number, sp_model_spec_size(spec));
		at = sp_model_spec_put(at, spec);
	}
	at = sp_wire_put_header(at, result_number, result_size(result));
	at = put_result(at, result);
	if (spec_number > result_number) {
		at = sp_wire_put_header(at, spec_number, sp_model_spec_size(spec));
		at = sp_model_spec_put(at, spec);
	}
	return at;
}

static size_t both_size(const sp_examples_result *result, const sp_model_spec *spec)
{
	return sp_wire_field_size(result_size(result)) +
	       sp_wire_field_size(sp_model_spec_size(spec));
}

sp_status sp_examples_message_encode(sp_buffer *out, const sp_examples_result *result,
				     const sp_model_spec *spec, sp_error *err)
{
	char *at = sp_buffer_reserve(out, both_size(result, spec));

	if (at == NULL)
		return sp_no_memory(err, "the response");
	put_both((unsigned char *)at, SP_EXAMPLES_RESULT, SP_EXAMPLES_RESULT_SPEC, result, spec);
	return SP_OK;
}

sp_status sp_examples_message_add(sp_buffer *out, const sp_examples_result *result,
				  const sp_model_spec *spec, sp_error *err)
{
	size_t size = both_size(result, spec);
	unsigned char *at = (unsigned char *)sp_buffer_reserve(out, sp_wire_field_size(size));
	uint32_t number = result->method == SP_EXAMPLES_CLASSIFY ? SP_INFERENCE_CLASSIFICATION
								 : SP_INFERENCE_REGRESSION;

	if (at == NULL)
		return sp_no_memory(err, "the response");
	at = sp_wire_put_header(at, SP_MULTI_RESULTS, size);
	put_both(at, number, SP_INFERENCE_SPEC, result, spec);
	return SP_OK;
}
