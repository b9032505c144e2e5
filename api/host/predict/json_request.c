#include "api/host/predict/json_request.h"

#include <stdio.h>
#include <string.h>

#include "api/host/infer/tensors.h"
#include "api/host/json/json_reader.h"
#include "api/host/messages/message.h"
#include "api/host/predict/json_tensor.h"
#include "base/alloc.h"
#include "base/arena.h"

/* Larger blocks are not kept for the next request. */
enum { KEEP_BYTES = 1 << 20, ARENA_CHUNK = 32 << 10 };

typedef struct input {
	sp_json_elements elements;
	sp_json_shape shape; /* of its value, or of its first instance */
	size_t item_count;   /* elements per instance */
	size_t seen;         /* values read so far */
	int64_t dims[SP_JSON_TENSOR_MAX_RANK + 1];
} input;

/*
 * "signature_name" may follow the tensors whose types depend on it.  The tensors are
 * therefore parsed by the signature known so far, and once more in the rare case that a
 * different name follows.
 */
typedef struct data_key {
	const char *start; /* of its value; NULL: the key is missing */
	const sp_host_signature *read_as;
	sp_status status;
	sp_error error;
} data_key;

/*
 * The text between a value and the next one in the first of the "instances", such as `, "age": `.
 * Clients write all objects alike, so that a comparison of bytes replaces the search for the key.
 */
typedef struct member {
	const char *text;
	size_t size;
	size_t input;
} member;

struct sp_json_request {
	sp_budget *budget;
	sp_arena *arena;
	sp_json_reader reader;
	input *inputs;   /* [input_capacity] */
	member *members; /* likewise; the first `member_count` are known */
	size_t member_count;
	sp_message_inputs named; /* of the signature: for finding an input by its key */
	sp_message_memory memory;
	uint16_t order[SP_MESSAGE_ORDER];
	serving_processor_tensor *tensors;
	size_t input_capacity;
	const sp_host_signatures *set;
	sp_bytes signature_name;
	bool signature_seen, signature_bad;
	data_key instances, columns;
	sp_json_parsed parsed;
};

sp_json_request *sp_json_request_create(sp_budget *budget)
{
	sp_json_request *request = sp_alloc_zero(1, sizeof(*request));

	if (request == NULL)
		return NULL;
	request->budget = budget;
	sp_json_reader_init(&request->reader, (sp_bytes){"", 0});
	sp_buffer_set_budget(&request->reader.nesting, budget);
	request->arena = sp_arena_create(ARENA_CHUNK);
	request->memory = (sp_message_memory){request->arena, request->order};
	if (request->arena == NULL) {
		sp_json_request_destroy(request);
		return NULL;
	}
	sp_arena_set_budget(request->arena, budget);
	return request;
}

void sp_json_request_destroy(sp_json_request *request)
{
	if (request == NULL)
		return;
	for (size_t i = 0; i < request->input_capacity; i++)
		sp_json_elements_fini(&request->inputs[i].elements);
	sp_free(request->inputs);
	sp_free(request->members);
	sp_free(request->tensors);
	sp_json_reader_fini(&request->reader);
	sp_arena_destroy(request->arena);
	sp_free(request);
}

const sp_json_parsed *sp_json_request_parsed(const sp_json_request *request)
{
	return &request->parsed;
}

/* ---------------------------------------------------------------- memory */

void sp_json_request_trim(sp_json_request *request)
{
	size_t keep = sp_budget_is_scarce(request->budget) ? SP_BUDGET_SMALL : KEEP_BYTES;

	for (size_t i = 0; i < request->input_capacity; i++)
		if (request->inputs[i].elements.capacity_bytes > keep)
			sp_json_elements_fini(&request->inputs[i].elements);
	if (sp_arena_footprint(request->arena) > keep)
		sp_arena_trim(request->arena);
	if (request->reader.nesting.capacity > keep)
		sp_buffer_fini(&request->reader.nesting);
	request->parsed = (sp_json_parsed){0};
}

static void reset(sp_json_request *request)
{
	sp_json_request_trim(request);
	sp_arena_reset(request->arena);
	request->signature_name = (sp_bytes){"", 0};
	request->signature_seen = request->signature_bad = false;
	request->instances.start = request->columns.start = NULL;
}

static bool grow(sp_json_request *request, size_t need)
{
	size_t have = request->input_capacity;
	serving_processor_tensor *tensors;
	member *members;
	input *inputs;

	inputs = sp_alloc_resize(request->inputs, need, sizeof(*inputs));
	if (inputs == NULL)
		return false;
	memset(inputs + have, 0, (need - have) * sizeof(*inputs));
	request->inputs = inputs;
	members = sp_alloc_resize(request->members, need, sizeof(*members));
	if (members == NULL)
		return false;
	request->members = members;
	tensors = sp_alloc_resize(request->tensors, need, sizeof(*tensors));
	if (tensors == NULL)
		return false;
	request->tensors = tensors;
	request->input_capacity = need;
	return true;
}

/* Makes one empty input per input of the signature. */
static sp_status prepare(sp_json_request *request, const sp_host_signature *signature,
			 sp_error *err)
{
	size_t have = request->input_capacity, need = signature->input_count;

	if (need > have && !grow(request, need))
		return sp_no_memory(err, "%zu inputs", need);
	request->member_count = 0;
	request->named.signature = signature;
	for (size_t i = 0; i < need; i++) {
		request->inputs[i].elements.dtype = signature->inputs[i]->dtype;
		request->inputs[i].elements.budget = request->budget;
		request->inputs[i].elements.count = 0;
		request->inputs[i].seen = 0;
	}
	return SP_OK;
}

/* --------------------------------------------------------------- inputs */

/* Reads the next instance of an input, which must have the shape of the first. */
static sp_status read_instance(sp_json_request *request, input *in, sp_error *err)
{
	size_t before = in->elements.count, n;
	sp_json_shape shape;
	char want[SP_DIMS_TEXT], got[SP_DIMS_TEXT];

	if (in->seen != 0 && in->shape.rank == 0 &&
	    sp_json_tensor_read_plain(&request->reader, &in->elements)) {
		in->seen++;
		return SP_OK;
	}
	SP_TRY(sp_json_tensor_read(&request->reader, &in->elements, &shape, request->arena, err));
	n = in->elements.count - before;
	if (in->seen++ == 0) {
		in->item_count = n;
		in->shape.rank = shape.rank;
		memcpy(in->shape.dims, shape.dims, (size_t)shape.rank * sizeof(shape.dims[0]));
		return SP_OK;
	}
	if (n != in->item_count)
		return sp_error_set(err, SP_INVALID, "Expecting tensor size: %zu but got: %zu",
				    in->item_count, n);
	if (shape.rank == in->shape.rank &&
	    memcmp(shape.dims, in->shape.dims, (size_t)shape.rank * sizeof(shape.dims[0])) == 0)
		return SP_OK;
	return sp_error_set(err, SP_INVALID, "Expecting shape %s but got: %s",
			    sp_dims_print(want, in->shape.dims, in->shape.rank),
			    sp_dims_print(got, shape.dims, shape.rank));
}

/* ---------------------------------------------------------- "instances" */

static sp_status keys_error(const sp_host_signature *signature, size_t item, sp_error *err)
{
	char names[256] = "";
	size_t used = 0;

	for (size_t i = 0; i < signature->input_count && used < sizeof(names); i++)
		used += (size_t)snprintf(names + used, sizeof(names) - used, "%s%s",
					 i == 0 ? "" : ",", signature->inputs[i]->alias);
	return sp_error_set(err, SP_INVALID,
			    "Failed to process element: %zu of 'instances' list. JSON object: "
			    "keys must be equal to: %s",
			    item, names);
}

/* Prefixes the index of the instance; a JSON syntax error already has its offset. */
static sp_status element_error(sp_status status, size_t item, sp_bytes key, sp_error *err)
{
	if (status == SP_CORRUPT)
		return status;
	if (key.data == NULL)
		return sp_error_prefix(err, status,
				       "Failed to process element: %zu of 'instances' list. Error",
				       item);
	return sp_error_prefix(
		err, status, "Failed to process element: %zu key: %.*s of 'instances' list. Error",
		item, sp_bytes_shown(key, 64), key.data);
}

/* Whether the text of the n-th member of the first instance follows. */
static bool is_known(const sp_json_request *request, size_t n)
{
	const sp_json_reader *reader = &request->reader;
	const member *m = &request->members[n];

	return n < request->member_count && (size_t)(reader->end - reader->at) >= m->size &&
	       memcmp(reader->at, m->text, m->size) == 0;
}

/* `text`: where the text before this member starts. */
static sp_status find_member(sp_json_request *request, const sp_host_signature *signature,
			     size_t item, size_t n, sp_bytes key, const char *text, size_t *out,
			     sp_error *err)
{
	int index = sp_message_input_index(&request->named, &request->memory, n, key);

	if (index < 0)
		return sp_error_set(err, SP_INVALID, "JSON object: does not have named input: %.*s",
				    sp_bytes_shown(key, 64), key.data);
	*out = (size_t)index;
	if (item == 0 && n == request->member_count && n < signature->input_count &&
	    (n != 0 || !sp_bytes_equal_text(key, "b64"))) {
		(void)sp_json_peek(&request->reader);
		request->members[n] = (member){text, (size_t)(request->reader.at - text), *out};
		request->member_count++;
	}
	return SP_OK;
}

static sp_status read_member(sp_json_request *request, size_t item, size_t i, sp_error *err)
{
	if (request->inputs[i].seen != item)
		return sp_error_set(err, SP_INVALID, "the key occurs twice");
	return read_instance(request, &request->inputs[i], err);
}

static sp_status read_object_instance(sp_json_request *request, const sp_host_signature *signature,
				      size_t item, sp_error *err)
{
	sp_status status;
	sp_bytes key;
	bool more;
	size_t n, i;

	for (n = 0;; n++) {
		const char *text = request->reader.at;

		if (item != 0 && is_known(request, n)) {
			request->reader.at += request->members[n].size;
			i = request->members[n].input;
			status = read_member(request, item, i, err);
			if (status != SP_OK)
				return element_error(status, item,
						     sp_bytes_of(signature->inputs[i]->alias), err);
			continue;
		}
		SP_TRY(sp_json_object_next(&request->reader, n, &more, &key, request->arena, err));
		if (!more)
			break;
		status = find_member(request, signature, item, n, key, text, &i, err);
		if (status == SP_OK)
			status = read_member(request, item, i, err);
		if (status != SP_OK)
			return element_error(status, item, key, err);
	}
	return n == signature->input_count ? SP_OK : keys_error(signature, item, err);
}

static sp_status read_item(sp_json_request *request, const sp_host_signature *signature,
			   size_t item, bool *objects, sp_error *err)
{
	sp_json_reader *reader = &request->reader;
	bool braces = sp_json_peek(reader) == SP_JSON_OBJECT;
	bool object = braces &&
		      (is_known(request, 0) || !sp_json_is_base64(reader, request->arena));
	sp_status status;

	if (item == 0) {
		*objects = object;
		if (!object && signature->input_count > 1)
			return sp_error_set(err, SP_INVALID,
					    "instances is a plain list, but expecting list of "
					    "objects as multiple input tensors required");
	}
	if (*objects && !object)
		return sp_error_set(err, SP_INVALID,
				    "Expecting object but got list at item %zu of input list",
				    item);
	if (!*objects && object)
		return sp_error_set(err, SP_INVALID,
				    "Expecting value/list but got object at item %zu of input list",
				    item);
	if (object)
		return read_object_instance(request, signature, item, err);
	status = read_instance(request, &request->inputs[0], err);
	return status == SP_OK ? SP_OK : element_error(status, item, (sp_bytes){NULL, 0}, err);
}

static sp_status read_instances(sp_json_request *request, const sp_host_signature *signature,
				sp_error *err)
{
	bool more, objects = false;
	size_t n;

	if (sp_json_peek(&request->reader) != SP_JSON_ARRAY)
		return sp_error_set(err, SP_INVALID, "Expecting 'instances' to be an list/array");
	for (n = 0;; n++) {
		SP_TRY(sp_json_array_next(&request->reader, n, &more, err));
		if (!more)
			break;
		SP_TRY(read_item(request, signature, n, &objects, err));
	}
	if (n == 0)
		return sp_error_set(err, SP_INVALID, "No values in 'instances' array");
	for (size_t i = 0; i < signature->input_count; i++) {
		input *in = &request->inputs[i];

		in->dims[0] = (int64_t)n;
		memcpy(in->dims + 1, in->shape.dims, (size_t)in->shape.rank * sizeof(in->dims[0]));
	}
	return SP_OK;
}

/* ------------------------------------------------------------- "inputs" */

static sp_status read_column(sp_json_request *request, input *in, sp_error *err)
{
	if (in->seen++ != 0)
		return sp_error_set(err, SP_INVALID, "the key occurs twice");
	SP_TRY(sp_json_tensor_read(&request->reader, &in->elements, &in->shape, request->arena,
				   err));
	memcpy(in->dims, in->shape.dims, (size_t)in->shape.rank * sizeof(in->dims[0]));
	return SP_OK;
}

static sp_status read_named_columns(sp_json_request *request, const sp_host_signature *signature,
				    sp_error *err)
{
	sp_bytes key;
	bool more;

	for (size_t n = 0;; n++) {
		sp_status status;
		int at;

		SP_TRY(sp_json_object_next(&request->reader, n, &more, &key, request->arena, err));
		if (!more)
			break;
		at = sp_message_input_index(&request->named, &request->memory, n, key);
		if (at < 0) {
			SP_TRY(sp_json_skip(&request->reader, err));
			continue;
		}
		status = read_column(request, &request->inputs[at], err);
		if (status == SP_CORRUPT)
			return status;
		if (status != SP_OK)
			return sp_error_prefix(err, status, "'inputs' key: %s",
					       signature->inputs[at]->alias);
	}
	for (size_t i = 0; i < signature->input_count; i++)
		if (request->inputs[i].seen == 0)
			return sp_error_set(err, SP_INVALID,
					    "Missing named input: %s in 'inputs' object.",
					    signature->inputs[i]->alias);
	return SP_OK;
}

static sp_status read_columns(sp_json_request *request, const sp_host_signature *signature,
			      sp_error *err)
{
	if (sp_json_peek(&request->reader) == SP_JSON_OBJECT &&
	    !sp_json_is_base64(&request->reader, request->arena))
		return read_named_columns(request, signature, err);
	if (signature->input_count > 1)
		return sp_error_set(err, SP_INVALID,
				    "inputs is a plain value/list, but expecting an object as "
				    "multiple input tensors required");
	return read_column(request, &request->inputs[0], err);
}

/* ------------------------------------------------------------ top level */

static sp_status read_tensors(sp_json_request *request, const sp_host_signature *signature,
			      const data_key *key, sp_error *err)
{
	SP_TRY(prepare(request, signature, err));
	if (signature->input_count == 0)
		return sp_error_set(err, SP_INVALID, "the signature %s has no inputs",
				    signature->name);
	return key == &request->instances ? read_instances(request, signature, err)
					  : read_columns(request, signature, err);
}

/* Reads the value of "instances" or "inputs".  Errors are kept: the signature may still change. */
static sp_status read_data(sp_json_request *request, data_key *key, sp_error *err)
{
	sp_json_reader *reader = &request->reader;

	if (key->start != NULL)
		return sp_error_set(err, SP_INVALID, "'%s' occurs twice",
				    key == &request->instances ? "instances" : "inputs");
	key->start = reader->at;
	key->read_as = sp_host_signature_find(request->set, request->signature_name);
	if (key->read_as == NULL)
		return sp_json_skip(reader, err);
	key->status = read_tensors(request, key->read_as, key, &key->error);
	if (key->status == SP_OK)
		return SP_OK;
	reader->at = key->start;
	return sp_json_skip(reader, err);
}

static sp_status read_signature_name(sp_json_request *request, sp_error *err)
{
	if (request->signature_seen || sp_json_peek(&request->reader) != SP_JSON_STRING) {
		request->signature_bad |= !request->signature_seen;
		request->signature_seen = true;
		return sp_json_skip(&request->reader, err);
	}
	request->signature_seen = true;
	return sp_json_string(&request->reader, &request->signature_name, request->arena, err);
}

static sp_status read_document(sp_json_request *request, sp_error *err)
{
	sp_json_reader *reader = &request->reader;
	sp_bytes key;
	bool more;

	if (sp_json_peek(reader) == SP_JSON_NONE && reader->at == reader->end)
		return sp_error_set(err, SP_CORRUPT, "JSON Parse error: The document is empty");
	if (sp_json_peek(reader) != SP_JSON_OBJECT) {
		SP_TRY(sp_json_skip(reader, err));
		return sp_error_set(err, SP_INVALID, "JSON Value: Is not object");
	}
	for (size_t n = 0;; n++) {
		SP_TRY(sp_json_object_next(reader, n, &more, &key, request->arena, err));
		if (!more)
			return SP_OK;
		if (sp_bytes_equal_text(key, "signature_name"))
			SP_TRY(read_signature_name(request, err));
		else if (sp_bytes_equal_text(key, "instances"))
			SP_TRY(read_data(request, &request->instances, err));
		else if (sp_bytes_equal_text(key, "inputs"))
			SP_TRY(read_data(request, &request->columns, err));
		else
			SP_TRY(sp_json_skip(reader, err));
	}
}

/* Chooses the key and the signature by which the request is read. */
static sp_status choose(sp_json_request *request, data_key **key,
			const sp_host_signature **signature, sp_error *err)
{
	if (request->signature_bad)
		return sp_error_set(err, SP_INVALID,
				    "JSON Value not formatted correctly. 'signature_name' key must "
				    "be a string value.");
	SP_TRY(sp_host_signature_get(signature, request->set, request->signature_name, err));
	if (request->instances.start != NULL && request->columns.start != NULL)
		return sp_error_set(err, SP_INVALID,
				    "Not formatted correctly expecting only one of 'inputs' or "
				    "'instances' keys to exist");
	if (request->instances.start == NULL && request->columns.start == NULL)
		return sp_error_set(err, SP_INVALID, "Missing 'inputs' or 'instances' key");
	*key = request->instances.start != NULL ? &request->instances : &request->columns;
	return SP_OK;
}

static void finish(sp_json_request *request, const sp_host_signature *signature, bool row)
{
	for (size_t i = 0; i < signature->input_count; i++) {
		input *in = &request->inputs[i];

		request->tensors[i] = (serving_processor_tensor){
			.name = signature->inputs[i]->alias,
			.dtype = in->elements.dtype,
			.rank = in->shape.rank + row,
			.dims = in->dims,
			.count = in->elements.count,
			.data = in->elements.data != NULL ? in->elements.data : "",
		};
	}
	request->parsed = (sp_json_parsed){signature, request->tensors, signature->input_count,
					   row};
}

sp_status sp_json_request_parse(sp_json_request *request, const sp_host_signatures *set,
				sp_bytes body, sp_error *err)
{
	const sp_host_signature *signature = NULL;
	data_key *key = NULL;

	reset(request);
	request->set = set;
	sp_json_reader_reset(&request->reader, body);
	SP_TRY(read_document(request, err));
	SP_TRY(choose(request, &key, &signature, err));
	if (signature != key->read_as) {
		request->reader.at = key->start;
		SP_TRY(read_tensors(request, signature, key, err));
	} else if (key->status != SP_OK) {
		if (err != NULL)
			*err = key->error;
		return key->status;
	}
	finish(request, signature, key == &request->instances);
	return SP_OK;
}
