#include <stdlib.h>
#include <string.h>

#include "engine/graph/op.h"
#include "engine/tensor/workspace.h"
#include "tests/support/fuzz.h"

/*
 * DecodeProtoV2 as a model file and a client make it: two bytes say how long a
 * descriptor set is, then come the set and a message of its type M.  The fields asked for
 * are those named a, b, c and d, each in the type that stands behind the name.
 */
static const sp_dtype types[] = {SP_INT32, SP_INT64, SP_FLOAT, SP_STRING};
static const sp_bytes names[] = {{"a", 1}, {"b", 1}, {"c", 1}, {"d", 1}};

enum { FIELDS = sizeof(types) / sizeof(types[0]) };

/* Every byte of every value is looked at. */
static void look(const sp_tensor *t)
{
	volatile char seen = 0;

	for (size_t i = 0; i < t->count * sp_dtype_size(t->dtype); i++)
		seen ^= ((const char *)t->data)[i];
	for (size_t i = 0; t->dtype == SP_STRING && i < t->count; i++)
		for (size_t k = 0; k < sp_tensor_strings(t)[i].size; k++)
			seen ^= sp_tensor_strings(t)[i].data[k];
	(void)seen;
}

static void run(const sp_op *op, const void *state, sp_bytes message)
{
	sp_bytes texts[] = {message, {"", 0}, message};
	sp_tensor in = {.dtype = SP_STRING, .shape = sp_shape_vector(3), .count = 3, .data = texts};
	const sp_tensor *ins[] = {&in};
	sp_tensor out[FIELDS + 1] = {0}, *outs[FIELDS + 1];
	sp_workspace *workspace = sp_workspace_create(1 << 24);
	sp_error err;
	sp_call call = {.state = state,
			.in = ins,
			.in_count = 1,
			.out = outs,
			.workspace = workspace,
			.err = &err};

	if (workspace == NULL)
		abort();
	while (call.out_count <= FIELDS) {
		outs[call.out_count] = &out[call.out_count];
		call.out_count++;
	}
	if (op->run(&call) == SP_OK)
		for (size_t i = 0; i <= FIELDS; i++)
			look(&out[i]);
	sp_workspace_destroy(workspace);
}

static void decode(sp_bytes source, sp_bytes message)
{
	const sp_op *op = sp_op_find("DecodeProtoV2");
	sp_arena *arena = sp_arena_create(4096);
	sp_dtype in_dtype = SP_STRING;
	const sp_tensor *in_value = NULL;
	sp_error err;
	sp_attr attrs[] = {
		{.name = "message_type", .kind = SP_ATTR_BYTES, .bytes = {"M", 1}},
		{.name = "descriptor_source", .kind = SP_ATTR_BYTES, .bytes = source},
		{.name = "field_names",
		 .kind = SP_ATTR_LIST,
		 .element = SP_ATTR_BYTES,
		 .count = FIELDS,
		 .bytes_list = names},
		{.name = "output_types",
		 .kind = SP_ATTR_LIST,
		 .element = SP_ATTR_TYPE,
		 .count = FIELDS,
		 .type_list = types},
	};
	sp_node node = {.name = "n",
			.op_name = op->name,
			.op = op,
			.input_count = 1,
			.attrs = attrs,
			.attr_count = sizeof(attrs) / sizeof(attrs[0])};
	sp_prepare prepare = {.node = &node,
			      .in_dtypes = &in_dtype,
			      .in_values = &in_value,
			      .in_count = 1,
			      .arena = arena};

	if (arena == NULL)
		abort();
	if (op->prepare(&prepare, &err) == SP_OK)
		run(op, prepare.state, message);
	sp_arena_destroy(arena);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	size_t set_size = size >= 2 ? (size_t)data[0] << 8 | data[1] : 0;
	char *source;
	sp_bytes message;

	if (size < 2 || set_size > size - 2)
		return 0;
	source = malloc(set_size + 8);
	if (source == NULL)
		return 0;
	memcpy(source, "bytes://", 8);
	memcpy(source + 8, data + 2, set_size);
	message = (sp_bytes){(const char *)data + 2 + set_size, size - 2 - set_size};
	decode((sp_bytes){source, set_size + 8}, message);
	free(source);
	return 0;
}
