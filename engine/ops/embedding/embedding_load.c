#include "engine/graph/op.h"

#include "engine/graph/environment.h"
#include "engine/tensor/resource.h"

/*
 * The operations of a load program that create and fill EmbeddingVariables, in all releases of
 * DeepRec.  Variants of one operation differ in the order of their inputs, which `roles` describes.
 * Absent attributes get the defaults of the later releases; those of earlier releases are equal
 * wherever a result depends on them.
 *
 * Any element type is accepted here: whether a signature needs the embedding is not known yet.
 */
enum { NO_INPUT = -1 };

typedef struct input_roles {
	int prefix;
	int handle;
	int default_rows;
	int name;
} input_roles;

typedef struct load_state {
	input_roles roles;
	sp_embedding_options options; /* default_rows comes with the call */
	int64_t partition_id;
	int64_t partition_num;
	bool reset_versions;
} load_state;

static sp_status read_options(const sp_node *node, sp_embedding_options *out, sp_error *err)
{
	SP_TRY(sp_node_attr_int(node, "default_value_dim", 4096, &out->default_value_dim, err));
	SP_TRY(sp_node_attr_int(node, "filter_freq", 0, &out->filter_freq, err));
	SP_TRY(sp_node_attr_int(node, "max_element_size", 0, &out->max_element_size, err));
	SP_TRY(sp_node_attr_float(node, "false_positive_probability", -1.0f,
				  &out->false_positive_probability, err));
	return sp_node_attr_float(node, "default_value_no_permission", 0.0f,
				  &out->default_value_no_permission, err);
}

static sp_status prepare_load(sp_prepare *prepare, const char *types, const input_roles *roles,
			      sp_error *err)
{
	const sp_node *node = prepare->node;
	load_state *state = sp_prepare_state(prepare, sizeof(*state));
	sp_dtype dtype;

	SP_NEED_MEMORY(state, err, "an operator");
	state->roles = *roles;
	SP_TRY(sp_prepare_types(prepare, types, err));
	SP_TRY(sp_node_attr_type(node, "dtype", SP_FLOAT, &dtype, err));
	if (roles->default_rows != NO_INPUT)
		SP_TRY(sp_prepare_input_dtype(prepare, (size_t)roles->default_rows, dtype, err));
	SP_TRY(read_options(node, &state->options, err));
	SP_TRY(sp_node_attr_int(node, "partition_id", 0, &state->partition_id, err));
	SP_TRY(sp_node_attr_int(node, "partition_num", 1, &state->partition_num, err));
	return sp_node_attr_bool(node, "reset_version", false, &state->reset_versions, err);
}

static sp_status find_embedding(const sp_call *call, sp_resource **out)
{
	const load_state *state = call->state;

	if (call->environment == NULL)
		return sp_call_invalid(call, "there is no checkpoint to load embeddings from");
	return sp_resources_get(call->resources, call->in[state->roles.handle],
				SP_RESOURCE_EMBEDDING, out, call->err);
}

static sp_status create(const sp_call *call, sp_resource *resource)
{
	const load_state *state = call->state;
	sp_embedding_options options = state->options;

	options.default_rows = call->in[state->roles.default_rows];
	return call->environment->create_embedding(call->environment->context, resource, &options,
						   call->err);
}

static sp_status find_text(const sp_call *call, int input, sp_bytes *out)
{
	if (call->in[input]->count != 1)
		return sp_call_invalid(call, "input %d must be one string, not %zu", input,
				       call->in[input]->count);
	*out = *sp_tensor_strings(call->in[input]);
	return SP_OK;
}

static sp_status import(const sp_call *call, sp_resource *resource)
{
	const load_state *state = call->state;
	sp_embedding_import import = {.partition_id = state->partition_id,
				      .partition_num = state->partition_num,
				      .reset_versions = state->reset_versions};

	SP_TRY(find_text(call, state->roles.prefix, &import.prefix));
	SP_TRY(find_text(call, state->roles.name, &import.name));
	return call->environment->import_embedding(call->environment->context, resource, &import,
						   call->err);
}

static sp_status run_initialize(const sp_call *call)
{
	sp_resource *resource;

	SP_TRY(find_embedding(call, &resource));
	return create(call, resource);
}

/* Creates the embedding as well. */
static sp_status run_import_v2(const sp_call *call)
{
	sp_resource *resource;

	SP_TRY(find_embedding(call, &resource));
	SP_TRY(create(call, resource));
	return import(call, resource);
}

static sp_status run_import(const sp_call *call)
{
	sp_resource *resource;

	SP_TRY(find_embedding(call, &resource));
	return import(call, resource);
}

/* The first release has no filters; `value` has the default rows. */
static sp_status run_import_rows(const sp_call *call)
{
	const sp_environment *environment = call->environment;
	sp_embedding_options options = {.default_rows = call->in[1],
					.false_positive_probability = -1.0f};
	sp_resource *resource;
	size_t width;

	SP_TRY(find_embedding(call, &resource));
	width = sp_resource_row_width(resource);
	if (width != 0)
		options.default_value_dim = (int64_t)(call->in[1]->count / width);
	SP_TRY(environment->create_embedding(environment->context, resource, &options, call->err));
	return environment->import_embedding_rows(environment->context, resource, call->in[3],
						  call->in[4], call->in[5], call->err);
}

/* Cache strategies and destruction have no effect: the host decides about both. */
static sp_status run_nothing(const sp_call *call)
{
	(void)call;
	return SP_OK;
}

/* An operation with these types of inputs, and their roles: prefix, handle, default_rows, name. */
#define LOAD_OP(op, run_op, types, ...)                                   \
	static sp_status prepare_##op(sp_prepare *prepare, sp_error *err) \
	{                                                                 \
		static const input_roles roles = {__VA_ARGS__};           \
                                                                          \
		return prepare_load(prepare, types, &roles, err);         \
	}                                                                 \
	SP_DEFINE_OP(op, NULL, SP_OP_STATEFUL | SP_OP_LOAD_ONLY, prepare_##op, run_op)

/* resource_self, resource_primary, value, empty_key */
LOAD_OP(InitializeKvVariableOp, run_initialize, "resource any any any ->", NO_INPUT, 0, 2,
	NO_INPUT);
LOAD_OP(InitializeKvVariableV2Op, run_initialize, "resource any any any ->", NO_INPUT, 0, 2,
	NO_INPUT);

/* resource_handle, value, empty_key, keys, values, versions */
LOAD_OP(KvResourceImport, run_import_rows, "resource any any any any int64 ->", NO_INPUT, 0, 1,
	NO_INPUT);

/* prefix, resource_self, resource_primary, value, tensor_names, empty_key */
LOAD_OP(KvResourceImportV2, run_import_v2, "string resource any any string any ->", 0, 1, 3, 4);

/* prefix, resource_self, tensor_names, empty_key */
LOAD_OP(KvResourceImportV3, run_import, "string resource string any ->", 0, 1, NO_INPUT, 2);

/* prefix, resource_handle, tensor_names, empty_key, value; the embedding exists already. */
LOAD_OP(KvResourceIncrImport, run_import, "string resource string any any ->", 0, 1, NO_INPUT, 2);

#define NOTHING_OP(op) \
	SP_DEFINE_TYPED_OP(op, NULL, SP_OP_STATEFUL | SP_OP_LOAD_ONLY, "resource ->", run_nothing)

NOTHING_OP(KvResourceInitCacheStrategyOp);
NOTHING_OP(KvResourceSetCacheStrategyOp);
NOTHING_OP(DestroyKvResourceOp);
