#include <string.h>

#include "engine/ops/ops.h"
#include "engine/tensor/resource.h"

/*
 * Variables of which each session keeps a copy (engine/passes/session_variables.h).  A copy is
 * SP_SESSION_VARIABLE_WORDS words, which are kept between requests: the first says whether it was
 * written; until then the value is that of the model version.
 *
 *   ReadSessionVariable(handle)           the value
 *   WriteSessionVariable(handle, value)   of the variable's type and shape
 *   AddToSessionVariable(handle, change), SubtractFromSessionVariable: integers, modulo 2^bits
 */
enum { VALUE_WORDS = SP_SESSION_VARIABLE_WORDS - 1 };

static sp_status prepare_variable(sp_prepare *prepare, const char *types, sp_resource **resource,
				  sp_error *err)
{
	SP_TRY(sp_prepare_types(prepare, types, err));
	if (prepare->in_values[0] == NULL)
		return sp_error_set(err, SP_UNSUPPORTED,
				    "the handle of a session variable is not a constant");
	SP_TRY(sp_resources_get(prepare->resources, prepare->in_values[0], SP_RESOURCE_VARIABLE,
				resource, err));
	if ((*resource)->session_number == 0)
		(*resource)->session_number = ++prepare->resources->session_variable_count;
	return SP_OK;
}

static sp_status prepare_read(sp_prepare *prepare, sp_error *err)
{
	sp_resource *resource;

	SP_TRY(prepare_variable(prepare, "resource", &resource, err));
	return sp_prepare_outputs(prepare, 1, resource->dtype, err);
}

static sp_status prepare_write(sp_prepare *prepare, sp_error *err)
{
	sp_resource *resource;

	SP_TRY(prepare_variable(prepare, "resource any ->", &resource, err));
	return sp_prepare_input_dtype(prepare, 1, resource->dtype, err);
}

static sp_status prepare_change(sp_prepare *prepare, sp_error *err)
{
	SP_TRY(prepare_write(prepare, err));
	if (!sp_dtype_is_integer(prepare->in_dtypes[1]))
		return sp_prepare_unsupported(prepare, prepare->in_dtypes[1], err);
	return SP_OK;
}

/* Finds the variable and the session's copy, which is set to the version's value on first use. */
static sp_status find(const sp_call *call, sp_resource **resource, uint64_t **words)
{
	const sp_tensor *value;

	SP_TRY(sp_resources_get(call->resources, call->in[0], SP_RESOURCE_VARIABLE, resource,
				call->err));
	value = &(*resource)->variable;
	if (!sp_tensor_is_set(value))
		return sp_call_invalid(call, "variable '%s' has no value", (*resource)->name);
	if ((*resource)->session_number == 0 ||
	    value->count * sp_dtype_size(value->dtype) > VALUE_WORDS * sizeof(**words))
		return sp_call_invalid(call, "variable '%s' is too large for a session variable",
				       (*resource)->name);
	*words = call->session_variables +
		 SP_SESSION_VARIABLE_WORDS * ((*resource)->session_number - 1);
	if (**words == 0 && value->count != 0)
		memcpy(*words + 1, value->data, value->count * sp_dtype_size(value->dtype));
	return SP_OK;
}

static sp_status run_read(const sp_call *call)
{
	sp_resource *resource;
	uint64_t *words;

	SP_TRY(find(call, &resource, &words));
	SP_TRY(sp_call_output(call, 0, resource->variable.dtype, &resource->variable.shape));
	if (call->out[0]->count != 0)
		memcpy(call->out[0]->data, words + 1,
		       call->out[0]->count * sp_dtype_size(call->out[0]->dtype));
	return SP_OK;
}

/* The same for a write of input 1, whose type and shape must be the variable's. */
static sp_status find_to_write(const sp_call *call, uint64_t **words)
{
	const sp_tensor *value = call->in[1];
	sp_resource *resource;

	SP_TRY(find(call, &resource, words));
	if (value->dtype != resource->variable.dtype ||
	    !sp_shape_equal(&value->shape, &resource->variable.shape))
		return sp_call_invalid(call, "variable '%s' is of another type or shape",
				       resource->name);
	return SP_OK;
}

static sp_status run_write(const sp_call *call)
{
	uint64_t *words;

	SP_TRY(find_to_write(call, &words));
	words[0] = 1;
	if (call->in[1]->count != 0)
		memcpy(words + 1, call->in[1]->data,
		       call->in[1]->count * sp_dtype_size(call->in[1]->dtype));
	return SP_OK;
}

/* Integers of any size are computed in 64 bits; the machine is little-endian. */
static sp_status change(const sp_call *call, bool subtract)
{
	size_t size = sp_dtype_size(call->in[1]->dtype);
	uint64_t *words;

	SP_TRY(find_to_write(call, &words));
	words[0] = 1;
	for (size_t i = 0; i < call->in[1]->count; i++) {
		char *at = (char *)(words + 1) + i * size;
		uint64_t old = 0, by = 0;

		memcpy(&old, at, size);
		memcpy(&by, (const char *)call->in[1]->data + i * size, size);
		old = subtract ? old - by : old + by;
		memcpy(at, &old, size);
	}
	return SP_OK;
}

static sp_status run_add(const sp_call *call)
{
	return change(call, false);
}

static sp_status run_subtract(const sp_call *call)
{
	return change(call, true);
}

SP_DEFINE_OP(ReadSessionVariable, "value", SP_OP_STATEFUL, prepare_read, run_read);
SP_DEFINE_OP(WriteSessionVariable, "", SP_OP_STATEFUL, prepare_write, run_write);
SP_DEFINE_OP(AddToSessionVariable, "", SP_OP_STATEFUL, prepare_change, run_add);
SP_DEFINE_OP(SubtractFromSessionVariable, "", SP_OP_STATEFUL, prepare_change, run_subtract);
