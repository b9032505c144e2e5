#include "tests/support/cmocka.h"

#include <string.h>

#include "engine/graph/graph.h"
#include "model_loader/proto/graph_proto.h"
#include "model_loader/proto/unpack.h"
#include "tests/support/wire.h"

/* Fields of the messages. */
enum { NODE_NAME = 1, NODE_OP = 2, NODE_INPUT = 3, NODE_ATTR = 5 };
enum { KEY = 1, VALUE = 2 };
enum { LIST = 1, S = 2, I = 3, F = 4, B = 5, TYPE = 6, SHAPE = 7, TENSOR = 8 };
enum { PLACEHOLDER = 9, FUNC = 10, LIST_FUNC = 9 };
enum { GRAPH_NODE = 1, GRAPH_LIBRARY = 2, LIBRARY_FUNCTION = 1 };
enum { FUNCTION_SIGNATURE = 1, FUNCTION_NODE = 3, FUNCTION_RET = 4, FUNCTION_CONTROL_RET = 6 };
enum { OP_NAME = 1, OP_INPUT = 2, OP_OUTPUT = 3 };
enum { ARG_NAME = 1, ARG_TYPE = 3, ARG_TYPE_ATTR = 4, ARG_NUMBER_ATTR = 5 };

static int setup(void **state)
{
	*state = sp_arena_create(4096);
	return *state == NULL;
}

static int teardown(void **state)
{
	sp_arena_destroy(*state);
	return 0;
}

static sp_buffer node(const char *name, const char *op)
{
	sp_buffer out = sp_wire_begin();

	sp_wire_text(&out, NODE_NAME, name);
	sp_wire_text(&out, NODE_OP, op);
	return out;
}

static void add_attr(sp_buffer *out, const char *name, sp_buffer *value)
{
	sp_buffer entry = sp_wire_begin();

	sp_wire_text(&entry, KEY, name);
	sp_wire_message(&entry, VALUE, value);
	sp_wire_message(out, NODE_ATTR, &entry);
}

static void add_int_attr(sp_buffer *out, const char *name, int64_t i)
{
	sp_buffer value = sp_wire_begin();

	sp_wire_varint(&value, I, (uint64_t)i);
	add_attr(out, name, &value);
}

static sp_status parse_node(sp_node_def *out, sp_buffer *message, void **state, sp_error *err)
{
	sp_buffer graph = sp_wire_begin();
	sp_graph_def read;
	sp_status status;

	sp_wire_message(&graph, GRAPH_NODE, message);
	status = sp_graph_def_parse(&read, sp_wire_view(&graph), *state, err);
	if (status == SP_OK)
		*out = read.nodes[0];
	sp_buffer_fini(&graph);
	return status;
}

static sp_status parse_graph(sp_graph_def *out, sp_buffer *message, void **state, sp_error *err)
{
	sp_status status = sp_graph_def_parse(out, sp_wire_view(message), *state, err);

	sp_buffer_fini(message);
	return status;
}

/* The node with one attribute of that value, read back. */
static const sp_attr *attr_of(sp_buffer *value, void **state)
{
	sp_buffer m = node("n", "Op");
	sp_error err;
	sp_node_def def;

	add_attr(&m, "a", value);
	assert_ok(parse_node(&def, &m, state, &err), &err);
	assert_int_equal(def.attr_count, 1);
	assert_string_equal(def.attrs[0].name, "a");
	return &def.attrs[0];
}

static const sp_attr *list_attr_of(sp_buffer *list, void **state)
{
	sp_buffer value = sp_wire_begin();
	const sp_attr *attr;

	sp_wire_message(&value, LIST, list);
	attr = attr_of(&value, state);
	assert_int_equal(attr->kind, SP_ATTR_LIST);
	return attr;
}

static void add_dim(sp_buffer *shape, int64_t size)
{
	sp_buffer dim = sp_wire_begin();

	sp_wire_varint(&dim, 1, (uint64_t)size);
	sp_wire_message(shape, 2, &dim);
}

static void a_node_keeps_name_operator_and_inputs(void **state)
{
	sp_buffer m = node("scope/add", "AddV2");
	sp_error err;
	sp_node_def def;

	sp_wire_text(&m, NODE_INPUT, "x");
	sp_wire_text(&m, NODE_INPUT, "y:1");
	sp_wire_text(&m, NODE_INPUT, "^z");
	sp_wire_text(&m, 4, "/device:CPU:0");
	assert_ok(parse_node(&def, &m, state, &err), &err);
	assert_string_equal(def.name, "scope/add");
	assert_string_equal(def.op, "AddV2");
	assert_int_equal(def.input_count, 3);
	assert_string_equal(def.inputs[1], "y:1");
	assert_string_equal(def.inputs[2], "^z");
	assert_int_equal(def.attr_count, 0);
}

static void plain_attributes_are_read(void **state)
{
	sp_buffer s = sp_wire_begin(), i = sp_wire_begin(), f = sp_wire_begin();
	sp_buffer b = sp_wire_begin(), type = sp_wire_begin(), none = sp_wire_begin();
	const sp_attr *attr;

	sp_wire_bytes(&s, S, (sp_bytes){"a\0b", 3});
	attr = attr_of(&s, state);
	assert_int_equal(attr->kind, SP_ATTR_BYTES);
	assert_true(sp_bytes_equal(attr->bytes, (sp_bytes){"a\0b", 3}));
	sp_wire_varint(&i, I, (uint64_t)INT64_MIN);
	attr = attr_of(&i, state);
	assert_int_equal(attr->kind, SP_ATTR_INT);
	assert_true(attr->i == INT64_MIN);
	sp_wire_float(&f, F, -0.25f);
	attr = attr_of(&f, state);
	assert_int_equal(attr->kind, SP_ATTR_FLOAT);
	assert_true(attr->f == -0.25f);
	sp_wire_varint(&b, B, 0);
	attr = attr_of(&b, state);
	assert_int_equal(attr->kind, SP_ATTR_BOOL);
	assert_false(attr->b);
	sp_wire_varint(&type, TYPE, 101);
	attr = attr_of(&type, state);
	assert_int_equal(attr->kind, SP_ATTR_TYPE);
	assert_int_equal(attr->type, SP_FLOAT);
	assert_int_equal(attr_of(&none, state)->kind, SP_ATTR_NONE);
}

static void functions_and_placeholders_are_names(void **state)
{
	sp_buffer func = sp_wire_begin(), name = sp_wire_begin(), placeholder = sp_wire_begin();
	const sp_attr *attr;

	sp_wire_text(&name, 1, "body");
	sp_wire_message(&func, FUNC, &name);
	attr = attr_of(&func, state);
	assert_int_equal(attr->kind, SP_ATTR_FUNC);
	assert_string_equal(attr->text, "body");
	sp_wire_text(&placeholder, PLACEHOLDER, "T");
	attr = attr_of(&placeholder, state);
	assert_int_equal(attr->kind, SP_ATTR_PLACEHOLDER);
	assert_string_equal(attr->text, "T");
}

static void shapes_may_have_holes(void **state)
{
	sp_buffer known = sp_wire_begin(), unknown = sp_wire_begin(), shape = sp_wire_begin();
	const sp_attr *attr;

	add_dim(&shape, -1);
	add_dim(&shape, 7);
	sp_wire_message(&known, SHAPE, &shape);
	attr = attr_of(&known, state);
	assert_int_equal(attr->kind, SP_ATTR_SHAPE);
	assert_int_equal(attr->shape->rank, 2);
	assert_int_equal(attr->shape->dims[0], -1);
	assert_int_equal(attr->shape->dims[1], 7);
	sp_wire_bytes(&unknown, SHAPE, (sp_bytes){"\x18\x01", 2});
	attr = attr_of(&unknown, state);
	assert_int_equal(attr->shape->rank, -1);
}

static void a_constant_is_a_tensor(void **state)
{
	sp_buffer value = sp_wire_begin(), tensor = sp_wire_begin();
	const sp_attr *attr;

	sp_wire_varint(&tensor, 1, SP_INT64);
	sp_wire_varint(&tensor, 10, 42);
	sp_wire_message(&value, TENSOR, &tensor);
	attr = attr_of(&value, state);
	assert_int_equal(attr->kind, SP_ATTR_TENSOR);
	assert_true(*sp_tensor_i64(attr->tensor) == 42);
}

/* Of 2^40 elements three are given. */
static void a_large_constant_of_few_values_is_not_written_out(void **state)
{
	sp_buffer value = sp_wire_begin(), tensor = sp_wire_begin(), shape = sp_wire_begin();
	sp_buffer dim = sp_wire_begin();
	const sp_attr *attr;

	sp_wire_varint(&dim, 1, UINT64_C(1) << 40);
	sp_wire_message(&shape, 2, &dim);
	sp_wire_varint(&tensor, 1, SP_INT64);
	sp_wire_message(&tensor, 2, &shape);
	for (uint64_t i = 41; i < 44; i++)
		sp_wire_varint(&tensor, 10, i);
	sp_wire_message(&value, TENSOR, &tensor);
	attr = attr_of(&value, state);
	assert_int_equal(attr->kind, SP_ATTR_REPEATED);
	assert_int_equal(attr->repeated->shape.dims[0], INT64_C(1) << 40);
	assert_int_equal(attr->repeated->values.count, 3);
	assert_true(sp_tensor_i64(&attr->repeated->values)[2] == 43);
}

/* The attribute is there, and whoever reads it is told the reason. */
static void check_reason(const sp_attr *attr, const char *words)
{
	const sp_node node = {.attrs = attr, .attr_count = 1};
	const sp_tensor *tensor;
	const sp_attr *list;
	sp_dtype dtype;
	sp_error err;

	assert_int_equal(attr->kind, SP_ATTR_NONE);
	assert_int_equal(sp_node_attr_tensor(&node, attr->name, &tensor, &err), SP_UNSUPPORTED);
	assert_non_null(strstr(err.text, words));
	assert_int_equal(sp_node_attr_type(&node, attr->name, SP_FLOAT, &dtype, &err),
			 SP_UNSUPPORTED);
	assert_non_null(strstr(err.text, words));
	assert_int_equal(sp_node_attr_list(&node, attr->name, SP_ATTR_TYPE, &list, &err),
			 SP_UNSUPPORTED);
	assert_non_null(strstr(err.text, words));
}

static void what_cannot_be_held_is_left_to_its_reader(void **state)
{
	sp_buffer value = sp_wire_begin(), tensor = sp_wire_begin(), shape = sp_wire_begin();
	sp_buffer deep = sp_wire_begin(), type = sp_wire_begin(), types = sp_wire_begin();
	sp_buffer list = sp_wire_begin();

	sp_wire_varint(&tensor, 1, SP_VARIANT);
	sp_wire_message(&value, TENSOR, &tensor);
	check_reason(attr_of(&value, state), "a constant of DT_VARIANT is not supported");
	for (int i = 0; i < SP_MAX_RANK + 1; i++)
		add_dim(&shape, 1);
	sp_wire_message(&deep, SHAPE, &shape);
	check_reason(attr_of(&deep, state), "rank");
	sp_wire_varint(&type, TYPE, 25);
	check_reason(attr_of(&type, state), "DT_FLOAT8_E4M3FN");
	sp_wire_bytes(&types, TYPE, (sp_bytes){"\1\35", 2});
	sp_wire_message(&list, LIST, &types);
	check_reason(attr_of(&list, state), "DT_INT4");
}

static void lists_of_numbers_are_read(void **state)
{
	sp_buffer i = sp_wire_begin(), f = sp_wire_begin(), b = sp_wire_begin();
	sp_buffer types = sp_wire_begin(), empty = sp_wire_begin();
	const sp_attr *attr;

	sp_wire_bytes(&i, I, (sp_bytes){"\1\2\3", 3});
	attr = list_attr_of(&i, state);
	assert_int_equal(attr->element, SP_ATTR_INT);
	assert_int_equal(attr->count, 3);
	assert_true(attr->i_list[2] == 3);
	sp_wire_float(&f, F, 0.5f);
	attr = list_attr_of(&f, state);
	assert_int_equal(attr->element, SP_ATTR_FLOAT);
	assert_true(attr->f_list[0] == 0.5f);
	sp_wire_bytes(&b, B, (sp_bytes){"\0\1", 2});
	attr = list_attr_of(&b, state);
	assert_int_equal(attr->element, SP_ATTR_BOOL);
	assert_int_equal(attr->count, 2);
	assert_false(attr->b_list[0]);
	assert_true(attr->b_list[1]);
	sp_wire_bytes(&types, TYPE, (sp_bytes){"\1\x67", 2});
	attr = list_attr_of(&types, state);
	assert_int_equal(attr->element, SP_ATTR_TYPE);
	assert_int_equal(attr->type_list[1], SP_INT32);
	attr = list_attr_of(&empty, state);
	assert_int_equal(attr->element, SP_ATTR_NONE);
	assert_int_equal(attr->count, 0);
}

static void lists_of_messages_are_read(void **state)
{
	sp_buffer texts = sp_wire_begin(), shapes = sp_wire_begin(), shape = sp_wire_begin();
	sp_buffer tensors = sp_wire_begin(), tensor = sp_wire_begin();
	sp_buffer funcs = sp_wire_begin(), func = sp_wire_begin();
	const sp_attr *attr;

	sp_wire_text(&texts, S, "one");
	sp_wire_text(&texts, S, "");
	attr = list_attr_of(&texts, state);
	assert_int_equal(attr->element, SP_ATTR_BYTES);
	assert_int_equal(attr->count, 2);
	assert_true(sp_bytes_equal_text(attr->bytes_list[0], "one"));
	sp_wire_bytes(&shapes, SHAPE, (sp_bytes){"", 0});
	add_dim(&shape, 4);
	sp_wire_message(&shapes, SHAPE, &shape);
	attr = list_attr_of(&shapes, state);
	assert_int_equal(attr->element, SP_ATTR_SHAPE);
	assert_int_equal(attr->shape_list[0].rank, 0);
	assert_int_equal(attr->shape_list[1].dims[0], 4);
	sp_wire_varint(&tensor, 1, SP_BOOL);
	sp_wire_message(&tensors, TENSOR, &tensor);
	attr = list_attr_of(&tensors, state);
	assert_int_equal(attr->element, SP_ATTR_TENSOR);
	assert_int_equal(attr->tensor_list[0].dtype, SP_BOOL);
	sp_wire_text(&func, 1, "branch");
	sp_wire_message(&funcs, LIST_FUNC, &func);
	attr = list_attr_of(&funcs, state);
	assert_int_equal(attr->element, SP_ATTR_FUNC);
	assert_string_equal(attr->text_list[0], "branch");
}

static void attributes_are_sorted(void **state)
{
	sp_buffer m = node("n", "Op");
	sp_error err;
	sp_node_def def;

	add_int_attr(&m, "c", 3);
	add_int_attr(&m, "a", 1);
	add_int_attr(&m, "b", 2);
	assert_ok(parse_node(&def, &m, state, &err), &err);
	for (int64_t i = 0; i < 3; i++)
		assert_true(def.attrs[i].i == i + 1);
}

static void an_attribute_given_twice_is_refused(void **state)
{
	sp_buffer m = node("twice", "Op");
	sp_error err;
	sp_node_def def;

	add_int_attr(&m, "a", 1);
	add_int_attr(&m, "b", 1);
	add_int_attr(&m, "a", 1);
	assert_int_equal(parse_node(&def, &m, state, &err), SP_CORRUPT);
	assert_non_null(strstr(err.text, "node twice"));
}

static void a_list_of_two_kinds_is_refused(void **state)
{
	sp_buffer m = node("n", "Op"), value = sp_wire_begin(), list = sp_wire_begin();
	sp_node_def def;

	sp_wire_varint(&list, I, 1);
	sp_wire_float(&list, F, 1);
	sp_wire_message(&value, LIST, &list);
	add_attr(&m, "a", &value);
	assert_int_equal(parse_node(&def, &m, state, NULL), SP_CORRUPT);
}

static void names_that_are_none_are_refused(void **state)
{
	sp_buffer nameless = node("", "Op"), nul = sp_wire_begin(), input = node("n", "Op");
	sp_buffer op = node("n", "");
	sp_node_def def;

	assert_int_equal(parse_node(&def, &nameless, state, NULL), SP_CORRUPT);
	sp_wire_bytes(&nul, NODE_NAME, (sp_bytes){"a\0b", 3});
	assert_int_equal(parse_node(&def, &nul, state, NULL), SP_CORRUPT);
	sp_wire_bytes(&input, NODE_INPUT, (sp_bytes){"\0", 1});
	assert_int_equal(parse_node(&def, &input, state, NULL), SP_CORRUPT);
	assert_int_equal(parse_node(&def, &op, state, NULL), SP_CORRUPT);
}

static void add_arg(sp_buffer *signature, uint32_t field, const char *name, uint64_t type)
{
	sp_buffer arg = sp_wire_begin();

	sp_wire_text(&arg, ARG_NAME, name);
	sp_wire_varint(&arg, ARG_TYPE, type);
	sp_wire_message(signature, field, &arg);
}

static void add_pair(sp_buffer *out, uint32_t field, const char *key, const char *value)
{
	sp_buffer entry = sp_wire_begin();

	sp_wire_text(&entry, KEY, key);
	sp_wire_text(&entry, VALUE, value);
	sp_wire_message(out, field, &entry);
}

static void add_function(sp_buffer *graph, sp_buffer *signature, sp_buffer *function)
{
	sp_buffer whole = sp_wire_begin(), library = sp_wire_begin();

	sp_wire_message(&whole, FUNCTION_SIGNATURE, signature);
	sp_buffer_append(&whole, function->data, function->size);
	sp_buffer_fini(function);
	sp_wire_message(&library, LIBRARY_FUNCTION, &whole);
	sp_wire_message(graph, GRAPH_LIBRARY, &library);
}

static void a_function_returns_in_the_order_of_its_signature(void **state)
{
	sp_buffer graph = sp_wire_begin(), signature = sp_wire_begin(), function = sp_wire_begin();
	sp_buffer body = node("inner", "Identity"), outer = node("outer", "NoOp");
	const sp_function_def *f;
	sp_error err;
	sp_graph_def def;

	sp_wire_text(&signature, OP_NAME, "f");
	add_arg(&signature, OP_INPUT, "x", SP_FLOAT);
	add_arg(&signature, OP_INPUT, "table", 120);
	add_arg(&signature, OP_OUTPUT, "second", SP_INT64);
	add_arg(&signature, OP_OUTPUT, "first", SP_FLOAT);
	sp_wire_message(&function, FUNCTION_NODE, &body);
	add_pair(&function, FUNCTION_RET, "first", "inner:output:0");
	add_pair(&function, FUNCTION_RET, "second", "x");
	add_pair(&function, FUNCTION_CONTROL_RET, "done", "inner");
	sp_wire_message(&graph, GRAPH_NODE, &outer);
	add_function(&graph, &signature, &function);
	assert_ok(parse_graph(&def, &graph, state, &err), &err);

	assert_int_equal(def.node_count, 1);
	assert_string_equal(def.nodes[0].name, "outer");
	assert_int_equal(def.function_count, 1);
	f = &def.functions[0];
	assert_string_equal(f->name, "f");
	assert_int_equal(f->input_count, 2);
	assert_int_equal(f->inputs[1].dtype, SP_RESOURCE);
	assert_int_equal(f->output_count, 2);
	assert_string_equal(f->returns[0].name, "second");
	assert_string_equal(f->returns[0].ref, "x");
	assert_string_equal(f->returns[1].ref, "inner:output:0");
	assert_int_equal(f->control_return_count, 1);
	assert_string_equal(f->control_returns[0], "inner");
	assert_int_equal(f->node_count, 1);
}

static void an_output_without_return_is_refused(void **state)
{
	sp_buffer graph = sp_wire_begin(), signature = sp_wire_begin(), function = sp_wire_begin();
	sp_error err;
	sp_graph_def def;

	sp_wire_text(&signature, OP_NAME, "f");
	add_arg(&signature, OP_OUTPUT, "y", SP_FLOAT);
	add_pair(&function, FUNCTION_RET, "z", "x");
	add_function(&graph, &signature, &function);
	assert_int_equal(parse_graph(&def, &graph, state, &err), SP_CORRUPT);
	assert_non_null(strstr(err.text, "function f"));
	assert_non_null(strstr(err.text, "output y"));
}

static void a_function_with_list_arguments_is_refused(void **state)
{
	sp_buffer graph = sp_wire_begin(), signature = sp_wire_begin(), function = sp_wire_begin();
	sp_buffer arg = sp_wire_begin();
	sp_graph_def def;

	sp_wire_text(&signature, OP_NAME, "f");
	sp_wire_text(&arg, ARG_NAME, "xs");
	sp_wire_text(&arg, ARG_NUMBER_ATTR, "N");
	sp_wire_message(&signature, OP_INPUT, &arg);
	add_function(&graph, &signature, &function);
	assert_int_equal(parse_graph(&def, &graph, state, NULL), SP_UNSUPPORTED);
}

static void an_attribute_may_decide_an_arguments_type(void **state)
{
	sp_buffer graph = sp_wire_begin(), signature = sp_wire_begin(), function = sp_wire_begin();
	sp_buffer arg = sp_wire_begin();
	sp_error err;
	sp_graph_def def;

	sp_wire_text(&signature, OP_NAME, "f");
	sp_wire_text(&arg, ARG_NAME, "x");
	sp_wire_text(&arg, ARG_TYPE_ATTR, "T");
	sp_wire_message(&signature, OP_INPUT, &arg);
	add_function(&graph, &signature, &function);
	assert_ok(parse_graph(&def, &graph, state, &err), &err);
	assert_int_equal(def.functions[0].inputs[0].dtype, SP_INVALID_DTYPE);
}

/* Each two bytes here would become hundreds. */
static void structures_are_bounded_by_the_input(void **state)
{
	sp_buffer list = sp_wire_begin(), value = sp_wire_begin(), m = node("n", "Op");
	sp_error err;
	sp_node_def def;

	for (int i = 0; i < 200000; i++)
		sp_wire_bytes(&list, TENSOR, (sp_bytes){"", 0});
	sp_wire_message(&value, LIST, &list);
	add_attr(&m, "a", &value);
	assert_int_equal(parse_node(&def, &m, state, &err), SP_CORRUPT);
	assert_non_null(strstr(err.text, "unpacks to more"));
}

/* protobuf merges a repeated singular message; done naively that is quadratic. */
static void a_graph_given_in_many_pieces_is_refused(void **state)
{
	sp_buffer graph = sp_wire_begin();
	sp_graph_def def;

	for (int i = 0; i < 100000; i++)
		sp_wire_bytes(&graph, GRAPH_LIBRARY, (sp_bytes){"\x0a\0", 2});
	assert_int_equal(parse_graph(&def, &graph, state, NULL), SP_CORRUPT);
}

static void constants_share_one_allowance(void **state)
{
	sp_buffer graph = sp_wire_begin();
	sp_graph_def def;

	/* Each alone is allowed; tensors of a list are written out at once. */
	for (int i = 0; i < 3; i++) {
		sp_buffer m = node("n", "Const"), value = sp_wire_begin(), list = sp_wire_begin();
		sp_buffer tensor = sp_wire_begin(), shape = sp_wire_begin();

		sp_wire_varint(&tensor, 1, SP_UINT8);
		add_dim(&shape, (int64_t)100 << 20);
		sp_wire_message(&tensor, 2, &shape);
		sp_wire_message(&list, TENSOR, &tensor);
		sp_wire_message(&value, LIST, &list);
		add_attr(&m, "value", &value);
		sp_wire_message(&graph, GRAPH_NODE, &m);
	}
	assert_int_equal(parse_graph(&def, &graph, state, NULL), SP_CORRUPT);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
	const struct CMUnitTest tests[] = {
		TEST(a_node_keeps_name_operator_and_inputs),
		TEST(plain_attributes_are_read),
		TEST(functions_and_placeholders_are_names),
		TEST(shapes_may_have_holes),
		TEST(a_constant_is_a_tensor),
		TEST(a_large_constant_of_few_values_is_not_written_out),
		TEST(what_cannot_be_held_is_left_to_its_reader),
		TEST(lists_of_numbers_are_read),
		TEST(lists_of_messages_are_read),
		TEST(attributes_are_sorted),
		TEST(an_attribute_given_twice_is_refused),
		TEST(a_list_of_two_kinds_is_refused),
		TEST(names_that_are_none_are_refused),
		TEST(a_function_returns_in_the_order_of_its_signature),
		TEST(an_output_without_return_is_refused),
		TEST(a_function_with_list_arguments_is_refused),
		TEST(an_attribute_may_decide_an_arguments_type),
		TEST(structures_are_bounded_by_the_input),
		TEST(a_graph_given_in_many_pieces_is_refused),
		TEST(constants_share_one_allowance),
	};

	return cmocka_run_group_tests_name("graph_def", tests, NULL, NULL);
}
