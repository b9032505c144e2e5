#include "api/host/v2/v2_request.h"

#include <string.h>

#include "api/host/infer/tensors.h"
#include "api/host/json/json_reader.h"
#include "api/host/messages/infer_message.h"
#include "api/host/messages/tensor_message.h"
#include "api/host/predict/json_tensor.h"
#include "base/alloc.h"

enum { KEEP_BYTES = 1 << 20 };

struct sp_v2_request {
	sp_budget *budget;
	sp_json_reader reader;
	sp_json_elements *elements; /* [capacity] JSON data of the inputs, by index */
	size_t capacity;

	/* Of the current request. */
	const sp_host_signatures *set;
	sp_message_memory *memory;
	sp_v2_parsed *out;
	sp_bytes binary; /* what is left of the binary data */
	sp_bytes signature_name;
};

sp_v2_request *sp_v2_request_create(sp_budget *budget)
{
	sp_v2_request *x = sp_alloc_zero(1, sizeof(*x));

	if (x == NULL)
		return NULL;
	x->budget = budget;
	sp_json_reader_init(&x->reader, (sp_bytes){"", 0});
	sp_buffer_set_budget(&x->reader.nesting, budget);
	return x;
}

void sp_v2_request_destroy(sp_v2_request *x)
{
	if (x == NULL)
		return;
	for (size_t i = 0; i < x->capacity; i++)
		sp_json_elements_fini(&x->elements[i]);
	sp_free(x->elements);
	sp_json_reader_fini(&x->reader);
	sp_free(x);
}

void sp_v2_request_trim(sp_v2_request *x)
{
	size_t keep = sp_budget_is_scarce(x->budget) ? SP_BUDGET_SMALL : KEEP_BYTES;

	for (size_t i = 0; i < x->capacity; i++)
		if (x->elements[i].capacity_bytes > keep)
			sp_json_elements_fini(&x->elements[i]);
	if (x->reader.nesting.capacity > keep)
		sp_buffer_fini(&x->reader.nesting);
}

/* -------------------------------------------------------------- parameters */

typedef enum parameter_kind { P_BOOL, P_NUMBER, P_TEXT } parameter_kind;

/* A parameter that is read.  If the request lacks it, *out keeps its value. */
typedef struct parameter {
	const char *name;
	parameter_kind kind;
	void *out; /* signed char, int64_t or sp_bytes; NULL: the parameter is refused */
} parameter;

static sp_status read_parameter(sp_v2_request *x, const parameter *p, sp_error *err)
{
	static const char *const kinds[] = {"a bool", "an integer", "a string"};
	sp_json_kind kind = sp_json_peek(&x->reader);
	sp_json_number number;

	if (p->out == NULL)
		return sp_error_set(err, SP_UNSUPPORTED, "parameter '%s' is not supported",
				    p->name);
	if (p->kind == P_TEXT && kind == SP_JSON_STRING)
		return sp_json_string(&x->reader, p->out, x->memory->arena, err);
	if (p->kind == P_BOOL && (kind == SP_JSON_TRUE || kind == SP_JSON_FALSE)) {
		*(signed char *)p->out = kind == SP_JSON_TRUE;
		return sp_json_literal(&x->reader, err);
	}
	if (p->kind == P_NUMBER && kind == SP_JSON_NUMBER) {
		SP_TRY(sp_json_number_read(&x->reader, &number, err));
		if (sp_json_number_to_i64(&number, p->out))
			return SP_OK;
	}
	return sp_error_set(err, SP_INVALID, "parameter '%s' must be %s", p->name, kinds[p->kind]);
}

/* Reads an object "parameters"; those not listed are skipped. */
static sp_status read_parameters(sp_v2_request *x, const parameter *known, size_t count,
				 sp_error *err)
{
	bool more;
	sp_bytes key;

	if (sp_json_peek(&x->reader) != SP_JSON_OBJECT)
		return sp_error_set(err, SP_INVALID, "'parameters' must be an object");
	for (size_t n = 0;; n++) {
		size_t i = 0;

		SP_TRY(sp_json_object_next(&x->reader, n, &more, &key, x->memory->arena, err));
		if (!more)
			return SP_OK;
		while (i < count && !sp_bytes_equal_text(key, known[i].name))
			i++;
		if (i < count)
			SP_TRY(read_parameter(x, &known[i], err));
		else
			SP_TRY(sp_json_skip(&x->reader, err));
	}
}

/* ------------------------------------------------------------------ inputs */

/* An element of "inputs".  Its members come in any order. */
typedef struct input {
	sp_bytes name, datatype;
	bool has_shape;
	sp_tensor_dims shape;
	const char *data;                 /* where the JSON data begin; NULL: none */
	int64_t binary_size;              /* -1: no binary data */
	serving_processor_tensor *tensor; /* NULL: not looked up yet */
} input;

static sp_status read_text(sp_v2_request *x, const char *member, sp_bytes *out, sp_error *err)
{
	if (sp_json_peek(&x->reader) != SP_JSON_STRING)
		return sp_error_set(err, SP_INVALID, "'%s' must be a string", member);
	return sp_json_string(&x->reader, out, x->memory->arena, err);
}

static sp_status read_shape(sp_v2_request *x, input *in, sp_error *err)
{
	sp_json_number number;
	int64_t *dim;
	bool more;

	in->has_shape = true;
	in->shape.rank = 0;
	if (sp_json_peek(&x->reader) != SP_JSON_ARRAY)
		return sp_error_set(err, SP_INVALID, "'shape' must be an array");
	for (size_t n = 0;; n++) {
		SP_TRY(sp_json_array_next(&x->reader, n, &more, err));
		if (!more)
			return SP_OK;
		if (in->shape.rank == SP_TENSOR_MAX_DIMS)
			return sp_error_set(err, SP_INVALID, "more than %d dimensions",
					    SP_TENSOR_MAX_DIMS);
		if (sp_json_peek(&x->reader) != SP_JSON_NUMBER)
			return sp_error_set(err, SP_INVALID, "'shape' must hold integers");
		SP_TRY(sp_json_number_read(&x->reader, &number, err));
		dim = &in->shape.dims[in->shape.rank++];
		if (!sp_json_number_to_i64(&number, dim) || *dim < 0)
			return sp_error_set(err, SP_INVALID,
					    "'shape' must hold integers that are not negative");
	}
}

static sp_json_elements *elements_of(const sp_v2_request *x, const input *in)
{
	return &x->elements[in->tensor - x->out->inputs.tensors];
}

/* Looks the input up, and reads its JSON data. */
static sp_status read_data(sp_v2_request *x, input *in, size_t nth, sp_error *err)
{
	sp_json_elements *elements;
	sp_json_shape shape;
	int dtype;

	SP_TRY(sp_infer_take_input(&in->tensor, &x->out->inputs, nth, in->name, in->datatype,
				   x->memory, err));
	if (in->data == NULL)
		return SP_OK;
	dtype = in->tensor->dtype;
	if (dtype == SERVING_PROCESSOR_HALF || dtype == SERVING_PROCESSOR_BFLOAT16)
		return sp_error_set(err, SP_INVALID, "%s data must be sent as binary data",
				    sp_infer_datatype(dtype));
	elements = elements_of(x, in);
	elements->dtype = dtype;
	elements->budget = x->budget;
	elements->count = 0;
	SP_TRY(sp_json_tensor_read(&x->reader, elements, &shape, x->memory->arena, err));
	in->tensor->data = elements->data != NULL ? elements->data : "";
	return SP_OK;
}

static sp_status read_input_parameters(sp_v2_request *x, input *in, sp_error *err)
{
	const parameter known[] = {
		{"binary_data_size", P_NUMBER, &in->binary_size},
		{"shared_memory_region", P_TEXT, NULL},
	};

	SP_TRY(read_parameters(x, known, sizeof(known) / sizeof(known[0]), err));
	return in->binary_size >= -1
		       ? SP_OK
		       : sp_error_set(err, SP_INVALID, "'binary_data_size' must not be negative");
}

static sp_status read_input_member(sp_v2_request *x, input *in, size_t nth, sp_bytes key,
				   sp_error *err)
{
	if (sp_bytes_equal_text(key, "name"))
		return read_text(x, "name", &in->name, err);
	if (sp_bytes_equal_text(key, "datatype"))
		return read_text(x, "datatype", &in->datatype, err);
	if (sp_bytes_equal_text(key, "shape"))
		return read_shape(x, in, err);
	if (sp_bytes_equal_text(key, "parameters"))
		return read_input_parameters(x, in, err);
	if (!sp_bytes_equal_text(key, "data"))
		return sp_json_skip(&x->reader, err);
	if (in->data != NULL)
		return sp_error_set(err, SP_INVALID, "'data' occurs twice");
	in->data = x->reader.at;
	if (in->name.data == NULL || in->datatype.data == NULL)
		return sp_json_skip(&x->reader, err); /* read when the object has ended */
	return read_data(x, in, nth, err);
}

static sp_status take_binary(sp_v2_request *x, const input *in, sp_error *err)
{
	size_t size = (size_t)in->binary_size;

	if (size > x->binary.size)
		return sp_error_set(err, SP_INVALID,
				    "unexpected end of the binary data: %zu bytes of %zu are there",
				    x->binary.size, size);
	SP_TRY(sp_infer_raw_decode(in->tensor, (sp_bytes){x->binary.data, size}, x->memory->arena,
				   err));
	x->binary = (sp_bytes){x->binary.data + size, x->binary.size - size};
	return SP_OK;
}

/* Sets shape and data of the tensor when all members are known. */
static sp_status finish_input(sp_v2_request *x, input *in, size_t nth, sp_error *err)
{
	const char *end = x->reader.at;
	size_t count;

	if (in->name.data == NULL || in->datatype.data == NULL || !in->has_shape)
		return sp_error_set(err, SP_INVALID,
				    "an input must have 'name', 'shape' and 'datatype'");
	if ((in->data != NULL) == (in->binary_size >= 0))
		return sp_error_set(err, SP_INVALID,
				    "an input must have either 'data' or 'binary_data_size'");
	if (in->tensor == NULL) {
		x->reader.at = in->data;
		SP_TRY(read_data(x, in, nth, err));
		x->reader.at = end;
	}
	SP_TRY(sp_tensor_dims_set(in->tensor, &in->shape, x->memory->arena, err));
	if (in->binary_size >= 0)
		return take_binary(x, in, err);
	count = elements_of(x, in)->count;
	return count == in->tensor->count
		       ? SP_OK
		       : sp_error_set(err, SP_INVALID, "%zu values, but the shape needs %zu", count,
				      in->tensor->count);
}

static sp_status read_input(sp_v2_request *x, size_t nth, sp_error *err)
{
	input in = {.binary_size = -1};
	sp_status status = SP_OK;
	sp_bytes key;
	bool more;

	if (sp_json_peek(&x->reader) != SP_JSON_OBJECT)
		return sp_error_set(err, SP_INVALID, "an input must be an object");
	for (size_t n = 0; status == SP_OK; n++) {
		SP_TRY(sp_json_object_next(&x->reader, n, &more, &key, x->memory->arena, err));
		(void)sp_json_peek(&x->reader);
		if (!more)
			break;
		status = read_input_member(x, &in, nth, key, err);
	}
	if (status == SP_OK)
		status = finish_input(x, &in, nth, err);
	if (status != SP_OK && status != SP_CORRUPT && in.name.data != NULL)
		return sp_error_prefix(err, status, "input '%.*s'", sp_message_shown(in.name),
				       in.name.data);
	return status;
}

/* Makes room for the JSON data of every input. */
static sp_status prepare(sp_v2_request *x, size_t count, sp_error *err)
{
	sp_json_elements *elements;

	if (count <= x->capacity)
		return SP_OK;
	elements = sp_alloc_resize(x->elements, count, sizeof(*elements));
	if (elements == NULL)
		return sp_no_memory(err, "the inputs");
	memset(elements + x->capacity, 0, (count - x->capacity) * sizeof(*elements));
	x->elements = elements;
	x->capacity = count;
	return SP_OK;
}

static sp_status read_inputs(sp_v2_request *x, const sp_host_signature *signature, sp_error *err)
{
	bool more;

	SP_TRY(prepare(x, signature->input_count, err));
	SP_TRY(sp_message_inputs_init(&x->out->inputs, signature, x->memory, err));
	if (sp_json_peek(&x->reader) != SP_JSON_ARRAY)
		return sp_error_set(err, SP_INVALID, "'inputs' must be an array");
	for (size_t nth = 0;; nth++) {
		SP_TRY(sp_json_array_next(&x->reader, nth, &more, err));
		if (!more)
			return sp_message_inputs_check(&x->out->inputs, err);
		SP_TRY(read_input(x, nth, err));
	}
}

/* ----------------------------------------------------------------- outputs */

/* One element of "outputs": its name, and whether it is to be binary (-1: by default). */
static sp_status read_output(sp_v2_request *x, sp_bytes *name, signed char *binary, sp_error *err)
{
	bool more;
	sp_bytes key;
	const parameter known[] = {
		{"binary_data", P_BOOL, binary},
		{"classification", P_NUMBER, NULL},
		{"shared_memory_region", P_TEXT, NULL},
	};

	*binary = -1;
	*name = (sp_bytes){NULL, 0};
	if (sp_json_peek(&x->reader) != SP_JSON_OBJECT)
		return sp_error_set(err, SP_INVALID, "an output must be an object");
	for (size_t n = 0;; n++) {
		SP_TRY(sp_json_object_next(&x->reader, n, &more, &key, x->memory->arena, err));
		if (!more)
			break;
		if (sp_bytes_equal_text(key, "name"))
			SP_TRY(read_text(x, "name", name, err));
		else if (sp_bytes_equal_text(key, "parameters"))
			SP_TRY(read_parameters(x, known, sizeof(known) / sizeof(known[0]), err));
		else
			SP_TRY(sp_json_skip(&x->reader, err));
	}
	return name->data != NULL ? SP_OK
				  : sp_error_set(err, SP_INVALID, "an output must have 'name'");
}

static sp_status read_outputs(sp_v2_request *x, sp_error *err)
{
	sp_message_inputs *inputs = &x->out->inputs;
	size_t most = inputs->signature->output_count; /* each at most once */
	signed char *flags = sp_arena_array(x->memory->arena, most, 1), binary;
	sp_bytes name;
	bool more;

	inputs->outputs = sp_arena_array(x->memory->arena, most, sizeof(*inputs->outputs));
	if (inputs->outputs == NULL || flags == NULL)
		return sp_no_memory(err, "the outputs");
	x->out->binary = flags;
	if (sp_json_peek(&x->reader) != SP_JSON_ARRAY)
		return sp_error_set(err, SP_INVALID, "'outputs' must be an array");
	for (size_t n = 0;; n++) {
		SP_TRY(sp_json_array_next(&x->reader, n, &more, err));
		if (!more)
			return SP_OK;
		SP_TRY(read_output(x, &name, &binary, err));
		SP_TRY(sp_infer_take_output(inputs, name, err));
		flags[inputs->output_count - 1] = binary;
	}
}

/* ---------------------------------------------------------------- document */

/* Where the members that need the signature begin; NULL: missing. */
typedef struct members {
	const char *inputs, *outputs;
} members;

static sp_status read_request_parameters(sp_v2_request *x, sp_error *err)
{
	signed char binary = 0;
	const parameter known[] = {
		{"binary_data_output", P_BOOL, &binary},
		{"timeout", P_NUMBER, &x->out->timeout_us},
		{"signature_name", P_TEXT, &x->signature_name},
	};

	SP_TRY(read_parameters(x, known, sizeof(known) / sizeof(known[0]), err));
	x->out->binary_by_default = binary;
	return SP_OK;
}

static sp_status note_member(sp_v2_request *x, const char **at, const char *name, sp_error *err)
{
	if (*at != NULL)
		return sp_error_set(err, SP_INVALID, "'%s' occurs twice", name);
	(void)sp_json_peek(&x->reader);
	*at = x->reader.at;
	return sp_json_skip(&x->reader, err);
}

static sp_status read_document(sp_v2_request *x, members *found, sp_error *err)
{
	sp_bytes key;
	bool more;

	if (sp_json_peek(&x->reader) != SP_JSON_OBJECT)
		return sp_json_peek(&x->reader) == SP_JSON_NONE
			       ? sp_json_fail(&x->reader, "no object", err)
			       : sp_error_set(err, SP_INVALID, "the request must be an object");
	for (size_t n = 0;; n++) {
		SP_TRY(sp_json_object_next(&x->reader, n, &more, &key, x->memory->arena, err));
		if (!more)
			return SP_OK;
		if (sp_bytes_equal_text(key, "id"))
			SP_TRY(read_text(x, "id", &x->out->id, err));
		else if (sp_bytes_equal_text(key, "parameters"))
			SP_TRY(read_request_parameters(x, err));
		else if (sp_bytes_equal_text(key, "inputs"))
			SP_TRY(note_member(x, &found->inputs, "inputs", err));
		else if (sp_bytes_equal_text(key, "outputs"))
			SP_TRY(note_member(x, &found->outputs, "outputs", err));
		else
			SP_TRY(sp_json_skip(&x->reader, err));
	}
}

static sp_status parse_json(sp_v2_request *x, sp_error *err)
{
	const sp_host_signature *signature;
	members found = {NULL, NULL};

	SP_TRY(read_document(x, &found, err));
	SP_TRY(sp_host_signature_get(&signature, x->set, x->signature_name, err));
	if (found.inputs == NULL)
		return sp_error_set(err, SP_INVALID, "'inputs' is missing");
	if (x->out->timeout_us < 0)
		return sp_error_set(err, SP_INVALID, "parameter 'timeout' must not be negative");
	x->reader.at = found.inputs;
	SP_TRY(read_inputs(x, signature, err));
	if (x->binary.size != 0)
		return sp_error_set(err, SP_INVALID,
				    "unexpected additional input data: %zu bytes are left",
				    x->binary.size);
	x->reader.at = found.outputs;
	return found.outputs != NULL ? read_outputs(x, err) : SP_OK;
}

/* -------------------------------------------------------- one binary input */

/*
 * Sets the shape of the only input from the size of its data.  An unknown first dimension becomes
 * 1; one other dimension may be unknown.
 */
static sp_status raw_shape(serving_processor_tensor *tensor, int64_t *dims,
			   const serving_processor_tensor_info *info, size_t size, sp_error *err)
{
	size_t element = tensor->dtype != SERVING_PROCESSOR_STRING
				 ? sp_tensor_element_size(tensor->dtype)
				 : size;
	int unknown = -1;
	size_t bytes;

	for (int i = 0; i < info->rank; i++) {
		dims[i] = info->dims[i] >= 0 ? info->dims[i] : 1;
		if (info->dims[i] < 0 && i > 0 && unknown >= 0)
			return sp_error_set(err, SP_INVALID,
					    "the shape of input '%s' does not follow from its size",
					    info->alias);
		if (info->dims[i] < 0 && i > 0)
			unknown = i;
	}
	if (sp_tensor_message_size(dims, info->rank, element, &tensor->count, &bytes) &&
	    unknown >= 0 && bytes != 0)
		dims[unknown] = (int64_t)(size / bytes);
	tensor->rank = info->rank;
	tensor->dims = dims;
	return sp_tensor_message_size(dims, info->rank, element, &tensor->count, &bytes)
		       ? SP_OK
		       : sp_error_set(err, SP_INVALID, "the shape is too large");
}

static sp_status parse_raw(sp_v2_request *x, sp_bytes body, sp_error *err)
{
	const sp_host_signature *signature = x->set->fallback;
	const serving_processor_tensor_info *info;
	serving_processor_tensor *tensor;
	serving_processor_bytes *text;
	int64_t *dims;

	if (signature == NULL || signature->input_count != 1 || signature->inputs[0]->rank < 0)
		return sp_error_set(err, SP_INVALID,
				    "a raw request needs a signature with one input of known rank");
	SP_TRY(sp_message_inputs_init(&x->out->inputs, signature, x->memory, err));
	info = signature->inputs[0];
	tensor = &x->out->inputs.tensors[0];
	tensor->name = info->alias;
	tensor->dtype = info->dtype;
	x->out->inputs.given = 1;
	x->out->binary_by_default = true;
	dims = sp_arena_array(x->memory->arena, (size_t)info->rank, sizeof(*dims));
	text = sp_arena_alloc(x->memory->arena, sizeof(*text));
	if (dims == NULL || text == NULL)
		return sp_no_memory(err, "an input");
	SP_TRY(raw_shape(tensor, dims, info, body.size, err));
	if (tensor->dtype != SERVING_PROCESSOR_STRING)
		return sp_infer_raw_decode(tensor, body, x->memory->arena, err);
	if (tensor->count != 1)
		return sp_error_set(err, SP_INVALID, "a raw request has one string");
	*text = (serving_processor_bytes){body.data, body.size};
	tensor->data = text;
	return SP_OK;
}

sp_status sp_v2_request_parse(sp_v2_parsed *out, sp_v2_request *x, const sp_host_signatures *set,
			      sp_bytes body, int64_t json_size, sp_message_memory *memory,
			      sp_error *err)
{
	size_t size = json_size < 0 ? body.size : (size_t)json_size;

	memset(out, 0, sizeof(*out));
	sp_v2_request_trim(x);
	x->set = set;
	x->memory = memory;
	x->out = out;
	x->signature_name = (sp_bytes){"", 0};
	if (json_size == 0)
		return parse_raw(x, body, err);
	if (size > body.size)
		return sp_error_set(err, SP_INVALID,
				    "Inference-Header-Content-Length %zu exceeds the body of %zu "
				    "bytes",
				    size, body.size);
	x->binary = (sp_bytes){body.data + size, body.size - size};
	body.size = size;
	if (x->binary.size != 0) /* the reader needs a NUL behind the text */
		body.data = sp_arena_text(memory->arena, body);
	if (body.data == NULL)
		return sp_no_memory(err, "the request");
	sp_json_reader_reset(&x->reader, body);
	return parse_json(x, err);
}
