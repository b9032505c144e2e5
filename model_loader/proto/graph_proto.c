#include "model_loader/proto/graph_proto.h"

#include <string.h>

#include "model_loader/proto/unpack.h"
#include "model_loader/proto/proto_internal.h"
#include "model_loader/proto/sorted_names.h"
#include "model_loader/proto/tensor_proto.h"

/* ----------------------------------------------------------------- attributes */

static sp_status read_tensor(sp_attr *out, const SpPb__TensorProto *proto, sp_proto_target *target,
			     sp_error *err)
{
	sp_repeated_values *repeated;
	sp_tensor *tensor;

	SP_TRY(sp_proto__repeated_values(&repeated, proto, target, err));
	if (repeated != NULL) {
		out->kind = SP_ATTR_REPEATED;
		out->repeated = repeated;
		return SP_OK;
	}
	out->kind = SP_ATTR_TENSOR;
	out->tensor = tensor = sp_arena_alloc(target->arena, sizeof(*tensor));
	return tensor != NULL ? sp_proto__tensor(tensor, proto, target, err)
			      : sp_no_memory(err, "the graph");
}

static sp_status read_scalar(sp_attr *out, const SpPb__AttrValue *value, sp_proto_target *target,
			     sp_error *err)
{
	sp_partial_shape *shape;
	char *text;

	switch (value->value_case) {
	case SP_PB__ATTR_VALUE__VALUE_S:
		text = sp_arena_text(target->arena, sp_message_bytes(&value->s));
		out->kind = SP_ATTR_BYTES;
		out->bytes = (sp_bytes){text, value->s.len};
		return text != NULL ? SP_OK : sp_no_memory(err, "the graph");
	case SP_PB__ATTR_VALUE__VALUE_I:
		out->kind = SP_ATTR_INT;
		out->i = value->i;
		return SP_OK;
	case SP_PB__ATTR_VALUE__VALUE_F:
		out->kind = SP_ATTR_FLOAT;
		out->f = value->f;
		return SP_OK;
	case SP_PB__ATTR_VALUE__VALUE_B:
		out->kind = SP_ATTR_BOOL;
		out->b = value->b != 0;
		return SP_OK;
	case SP_PB__ATTR_VALUE__VALUE_TYPE:
		out->kind = SP_ATTR_TYPE;
		return sp_proto__known_dtype(&out->type, value->type, err);
	case SP_PB__ATTR_VALUE__VALUE_SHAPE:
		out->kind = SP_ATTR_SHAPE;
		out->shape = shape = sp_arena_alloc(target->arena, sizeof(*shape));
		return shape != NULL ? sp_proto__partial_shape(shape, value->shape, err)
				     : sp_no_memory(err, "the graph");
	case SP_PB__ATTR_VALUE__VALUE_TENSOR:
		return read_tensor(out, value->tensor, target, err);
	case SP_PB__ATTR_VALUE__VALUE_PLACEHOLDER:
		out->kind = SP_ATTR_PLACEHOLDER;
		return sp_message_text(&out->text, &value->placeholder, "a placeholder",
				       target->arena, err);
	case SP_PB__ATTR_VALUE__VALUE_FUNC:
		out->kind = SP_ATTR_FUNC;
		return sp_message_text(&out->text, &value->func->name, "a function's name",
				       target->arena, err);
	default: /* no value */
		return SP_OK;
	}
}

static sp_status read_element(void *items, size_t i, sp_attr_kind kind,
			      const SpPb__AttrValue__ListValue *list, sp_proto_target *target,
			      sp_error *err)
{
	switch (kind) {
	case SP_ATTR_BYTES:
		((sp_bytes *)items)[i] = (sp_bytes){
			sp_arena_text(target->arena, sp_message_bytes(&list->s[i])),
			list->s[i].len};
		return ((sp_bytes *)items)[i].data != NULL ? SP_OK : sp_no_memory(err, "the graph");
	case SP_ATTR_INT:
		((int64_t *)items)[i] = list->i[i];
		return SP_OK;
	case SP_ATTR_FLOAT:
		((float *)items)[i] = list->f[i];
		return SP_OK;
	case SP_ATTR_BOOL:
		((bool *)items)[i] = list->b[i] != 0;
		return SP_OK;
	case SP_ATTR_TYPE:
		return sp_proto__known_dtype(&((sp_dtype *)items)[i], list->type[i], err);
	case SP_ATTR_SHAPE:
		return sp_proto__partial_shape(&((sp_partial_shape *)items)[i], list->shape[i],
					       err);
	case SP_ATTR_TENSOR:
		return sp_proto__tensor(&((sp_tensor *)items)[i], list->tensor[i], target, err);
	default:
		return sp_message_text(&((const char **)items)[i], &list->func[i]->name,
				       "a function's name", target->arena, err);
	}
}

static sp_status read_list(sp_attr *out, const SpPb__AttrValue__ListValue *list,
			   sp_proto_target *target, sp_error *err)
{
	const struct {
		sp_attr_kind kind;
		size_t count, size;
	} kinds[] = {{SP_ATTR_BYTES, list->n_s, sizeof(sp_bytes)},
		     {SP_ATTR_INT, list->n_i, sizeof(int64_t)},
		     {SP_ATTR_FLOAT, list->n_f, sizeof(float)},
		     {SP_ATTR_BOOL, list->n_b, sizeof(bool)},
		     {SP_ATTR_TYPE, list->n_type, sizeof(sp_dtype)},
		     {SP_ATTR_SHAPE, list->n_shape, sizeof(sp_partial_shape)},
		     {SP_ATTR_TENSOR, list->n_tensor, sizeof(sp_tensor)},
		     {SP_ATTR_FUNC, list->n_func, sizeof(const char *)}};
	void *items = NULL;

	out->kind = SP_ATTR_LIST;
	for (size_t k = 0; k < sizeof(kinds) / sizeof(*kinds); k++) {
		if (kinds[k].count == 0)
			continue;
		if (out->count != 0)
			return sp_error_set(err, SP_CORRUPT,
					    "a list holds values of several kinds");
		out->element = kinds[k].kind;
		out->count = kinds[k].count;
		items = sp_arena_array(target->arena, kinds[k].count, kinds[k].size);
	}
	if (items == NULL)
		return out->count == 0 ? SP_OK : sp_no_memory(err, "the graph");
	for (size_t i = 0; i < out->count; i++)
		SP_TRY(read_element(items, i, out->element, list, target, err));
	out->bytes_list = items; /* all lists of the union share this place */
	return SP_OK;
}

static sp_status read_attr(sp_attr *out, const SpPb__AttrEntry *entry, sp_proto_target *target,
			   sp_error *err)
{
	const SpPb__AttrValue *value = entry->value;
	const char *name;
	sp_status status = SP_OK;
	sp_error reason; /* kept in the graph, also for a caller that asks for none */

	if (err == NULL)
		err = &reason;
	SP_TRY(sp_message_text(&name, &entry->key, "an attribute's name", target->arena, err));
	*out = (sp_attr){.name = name};
	if (value == NULL)
		return SP_OK;
	if (value->value_case == SP_PB__ATTR_VALUE__VALUE_LIST)
		status = read_list(out, value->list, target, err);
	else
		status = read_scalar(out, value, target, err);
	if (status != SP_UNSUPPORTED)
		return sp_error_prefix(err, status, "attribute %s", name);
	/* The operator that needs the attribute reports this reason. */
	*out = (sp_attr){.name = name, .text = sp_arena_printf(target->arena, "%s", err->text)};
	return out->text != NULL ? SP_OK : sp_no_memory(err, "the graph");
}

/* ---------------------------------------------------------------------- nodes */

static sp_status read_attrs(sp_node_def *out, const SpPb__NodeDef *node, sp_proto_target *target,
			    sp_error *err)
{
	sp_attr *attrs = sp_arena_array(target->arena, node->n_attr, sizeof(*attrs));
	const char *twice;

	SP_NEED_MEMORY(attrs, err, "the graph");
	for (size_t i = 0; i < node->n_attr; i++)
		SP_TRY(read_attr(&attrs[i], node->attr[i], target, err));
	twice = sp_sorted_names_make(attrs, node->n_attr, sizeof(*attrs));
	if (twice != NULL)
		return sp_error_set(err, SP_CORRUPT, "attribute %s is given twice", twice);
	out->attrs = attrs;
	out->attr_count = node->n_attr;
	return SP_OK;
}

static sp_status read_inputs(sp_node_def *out, const SpPb__NodeDef *node, sp_arena *arena,
			     sp_error *err)
{
	const char **inputs = sp_arena_array(arena, node->n_input, sizeof(*inputs));

	SP_NEED_MEMORY(inputs, err, "the graph");
	for (size_t i = 0; i < node->n_input; i++)
		SP_TRY(sp_message_text(&inputs[i], &node->input[i], "an input's name", arena, err));
	out->inputs = inputs;
	out->input_count = node->n_input;
	return SP_OK;
}

static sp_status read_node(sp_node_def *out, const SpPb__NodeDef *node, sp_proto_target *target,
			   sp_error *err)
{
	sp_status status;

	SP_TRY(sp_message_text(&out->name, &node->name, "a node's name", target->arena, err));
	if (out->name[0] == '\0')
		return sp_error_set(err, SP_CORRUPT, "a node has no name");
	status = sp_message_text(&out->op, &node->op, "the operator's name", target->arena, err);
	if (status == SP_OK && out->op[0] == '\0')
		status = sp_error_set(err, SP_CORRUPT, "it has no operator");
	if (status == SP_OK)
		status = read_inputs(out, node, target->arena, err);
	if (status == SP_OK)
		status = read_attrs(out, node, target, err);
	return sp_error_prefix(err, status, "node %s", out->name);
}

static sp_status read_nodes(const sp_node_def **out, SpPb__NodeDef *const *nodes, size_t count,
			    sp_proto_target *target, sp_error *err)
{
	sp_node_def *items = sp_arena_array(target->arena, count, sizeof(*items));

	SP_NEED_MEMORY(items, err, "the graph");
	for (size_t i = 0; i < count; i++)
		SP_TRY(read_node(&items[i], nodes[i], target, err));
	*out = items;
	return SP_OK;
}

/* ------------------------------------------------------------------ functions */

static sp_status read_arg(sp_arg_def *out, const SpPb__OpDef__ArgDef *arg, sp_arena *arena,
			  sp_error *err)
{
	SP_TRY(sp_message_text(&out->name, &arg->name, "an argument's name", arena, err));
	if (arg->number_attr.len != 0 || arg->type_list_attr.len != 0)
		return sp_error_set(err, SP_UNSUPPORTED,
				    "argument %s is a list, which is not supported", out->name);
	out->dtype = sp_proto__dtype(arg->type);
	return SP_OK;
}

static sp_status read_args(const sp_arg_def **out, SpPb__OpDef__ArgDef *const *args, size_t count,
			   sp_arena *arena, sp_error *err)
{
	sp_arg_def *items = sp_arena_array(arena, count, sizeof(*items));

	SP_NEED_MEMORY(items, err, "the graph");
	for (size_t i = 0; i < count; i++)
		SP_TRY(read_arg(&items[i], args[i], arena, err));
	*out = items;
	return SP_OK;
}

/* The entries of a map<string, string>, sorted by key. */
static sp_status read_text_map(sp_named_ref **out, SpPb__TextEntry *const *entries, size_t count,
			       sp_arena *arena, sp_error *err)
{
	sp_named_ref *items = sp_arena_array(arena, count, sizeof(*items));
	const char *twice;

	SP_NEED_MEMORY(items, err, "the graph");
	for (size_t i = 0; i < count; i++) {
		SP_TRY(sp_message_text(&items[i].name, &entries[i]->key, "an output's name", arena,
				       err));
		SP_TRY(sp_message_text(&items[i].ref, &entries[i]->value, "a returned name", arena,
				       err));
	}
	twice = sp_sorted_names_make(items, count, sizeof(*items));
	if (twice != NULL)
		return sp_error_set(err, SP_CORRUPT, "output %s is returned twice", twice);
	*out = items;
	return SP_OK;
}

static sp_status read_returns(sp_function_def *out, const SpPb__FunctionDef *function,
			      sp_arena *arena, sp_error *err)
{
	sp_named_ref *map, *returns = sp_arena_array(arena, out->output_count, sizeof(*returns));

	SP_NEED_MEMORY(returns, err, "the graph");
	SP_TRY(read_text_map(&map, function->ret, function->n_ret, arena, err));
	for (size_t i = 0; i < out->output_count; i++) {
		const char *name = out->outputs[i].name;
		const sp_named_ref *found = sp_sorted_names_find(map, function->n_ret, sizeof(*map),
								 name);

		if (found == NULL)
			return sp_error_set(err, SP_CORRUPT, "nothing is returned for output %s",
					    name);
		returns[i] = *found;
	}
	out->returns = returns;
	return SP_OK;
}

static sp_status read_control_returns(sp_function_def *out, const SpPb__FunctionDef *function,
				      sp_arena *arena, sp_error *err)
{
	size_t count = function->n_control_ret;
	const char **names = sp_arena_array(arena, count, sizeof(*names));
	sp_named_ref *map;

	SP_NEED_MEMORY(names, err, "the graph");
	SP_TRY(read_text_map(&map, function->control_ret, count, arena, err));
	for (size_t i = 0; i < count; i++)
		names[i] = map[i].ref;
	out->control_returns = names;
	out->control_return_count = count;
	return SP_OK;
}

/* The interface that it is one of several implementations of. */
static sp_status read_interface(sp_function_def *out, const SpPb__FunctionDef *function,
				sp_arena *arena, sp_error *err)
{
	for (size_t i = 0; i < function->n_attr; i++) {
		const SpPb__AttrEntry *entry = function->attr[i];
		sp_bytes key = {(const char *)entry->key.data, entry->key.len};
		const ProtobufCBinaryData *text;

		if (entry->value == NULL || entry->value->value_case != SP_PB__ATTR_VALUE__VALUE_S)
			continue;
		text = &entry->value->s;
		if (sp_bytes_equal_text(key, "api_implements") && text->len != 0)
			SP_TRY(sp_message_text(&out->implements, text, "an interface's name", arena,
					       err));
		else if (sp_bytes_equal_text(key, "api_preferred_device"))
			out->is_for_cpu = text->len == 3 && memcmp(text->data, "CPU", 3) == 0;
		else if (sp_bytes_equal_text(key, "forward_function_name") ||
			 sp_bytes_equal_text(key, "backward_function_name"))
			out->is_of_gradient = true;
	}
	return SP_OK;
}

static sp_status read_function_body(sp_function_def *out, const SpPb__FunctionDef *function,
				    sp_proto_target *target, sp_error *err)
{
	const SpPb__OpDef *signature = function->signature;

	out->input_count = signature->n_input_arg;
	SP_TRY(read_args(&out->inputs, signature->input_arg, out->input_count, target->arena, err));
	out->output_count = signature->n_output_arg;
	SP_TRY(read_args(&out->outputs, signature->output_arg, out->output_count, target->arena,
			 err));
	out->node_count = function->n_node_def;
	SP_TRY(read_nodes(&out->nodes, function->node_def, out->node_count, target, err));
	SP_TRY(read_returns(out, function, target->arena, err));
	SP_TRY(read_interface(out, function, target->arena, err));
	return read_control_returns(out, function, target->arena, err);
}

static sp_status read_function(sp_function_def *out, const SpPb__FunctionDef *function,
			       sp_proto_target *target, sp_error *err)
{
	sp_status status;

	if (function->signature == NULL || function->signature->name.len == 0)
		return sp_error_set(err, SP_CORRUPT, "a function has no name");
	*out = (sp_function_def){0};
	SP_TRY(sp_message_text(&out->name, &function->signature->name, "a function's name",
			       target->arena, err));
	status = read_function_body(out, function, target, err);
	return sp_error_prefix(err, status, "function %s", out->name);
}

static sp_status read_functions(sp_graph_def *out, const SpPb__FunctionDefLibrary *library,
				sp_proto_target *target, sp_error *err)
{
	sp_function_def *items = sp_arena_array(target->arena, library->n_function, sizeof(*items));

	SP_NEED_MEMORY(items, err, "the graph");
	for (size_t i = 0; i < library->n_function; i++)
		SP_TRY(read_function(&items[i], library->function[i], target, err));
	out->functions = items;
	out->function_count = library->n_function;
	return SP_OK;
}

/* ---------------------------------------------------------------------- graph */

sp_status sp_proto__graph(sp_graph_def *out, const SpPb__GraphDef *proto, sp_proto_target *target,
			  sp_error *err)
{
	*out = (sp_graph_def){.node_count = proto->n_node};
	SP_TRY(read_nodes(&out->nodes, proto->node, proto->n_node, target, err));
	return proto->library != NULL ? read_functions(out, proto->library, target, err) : SP_OK;
}

sp_status sp_graph_def_parse(sp_graph_def *out, sp_bytes bytes, sp_arena *arena, sp_error *err)
{
	sp_proto_target target = {arena, SP_TENSOR_PROTO_MAX_REPEATED};
	sp_arena *scratch = sp_arena_create((size_t)1 << 18);
	ProtobufCMessage *message;
	sp_status status;

	SP_NEED_MEMORY(scratch, err, "the graph");
	status = sp_message_unpack(&message, &sp_pb__graph_def__descriptor, bytes, scratch, err);
	if (status == SP_OK)
		status = sp_proto__graph(out, (const SpPb__GraphDef *)message, &target, err);
	sp_arena_destroy(scratch);
	return status;
}
