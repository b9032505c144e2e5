#include <string.h>

#include "engine/passes/count_writes.h"
#include "engine/ops/ops.h"
#include "engine/tensor/resource.h"

/*
 * Variables that say only how often they were written (engine/passes/count_writes.h): each session
 * has a value of its own, in words that go on from request to request.  The first of a count's
 * words says whether it was written yet; until then it is what the model version holds.
 *
 *   _ReadCount(handle)            the value
 *   _WriteCount(handle, value)    of the variable's type and shape
 *   _AddToCount(handle, change), _TakeFromCount: of integers, which wrap around
 */
enum { WORDS = SP_COUNT_WORDS - 1 };

static sp_status prepare_count(sp_prepare *prepare, size_t inputs, sp_resource **resource,
			       sp_error *err)
{
	SP_TRY(sp_prepare_inputs(prepare, inputs, err));
	SP_TRY(sp_prepare_input_dtype(prepare, 0, SP_RESOURCE, err));
	if (prepare->in_values[0] == NULL)
		return sp_error_set(err, SP_UNSUPPORTED, "the handle of a count is no constant");
	SP_TRY(sp_resources_get(prepare->resources, prepare->in_values[0], SP_RESOURCE_VARIABLE,
				resource, err));
	if ((*resource)->count_number == 0)
		(*resource)->count_number = ++prepare->resources->count_count;
	return SP_OK;
}

static sp_status prepare_read(sp_prepare *prepare, sp_error *err)
{
	sp_resource *resource;

	SP_TRY(prepare_count(prepare, 1, &resource, err));
	return sp_prepare_outputs(prepare, 1, resource->dtype, err);
}

static sp_status prepare_write(sp_prepare *prepare, sp_error *err)
{
	sp_resource *resource;

	SP_TRY(prepare_count(prepare, 2, &resource, err));
	SP_TRY(sp_prepare_input_dtype(prepare, 1, resource->dtype, err));
	return sp_prepare_outputs(prepare, 0, SP_INVALID_DTYPE, err);
}

static sp_status prepare_change(sp_prepare *prepare, sp_error *err)
{
	SP_TRY(prepare_write(prepare, err));
	if (!sp_dtype_is_integer(prepare->in_dtypes[1]))
		return sp_prepare_unsupported(prepare, prepare->in_dtypes[1], err);
	return SP_OK;
}

/* The variable, whose value fits, and the session's words of it. */
static sp_status find(const sp_call *call, sp_resource **resource, uint64_t **words)
{
	const sp_tensor *value;

	SP_TRY(sp_resources_get(call->resources, call->in[0], SP_RESOURCE_VARIABLE, resource,
				call->err));
	value = &(*resource)->variable;
	if (!sp_tensor_is_set(value))
		return sp_call_invalid(call, "variable '%s' has no value", (*resource)->name);
	if ((*resource)->count_number == 0 ||
	    value->count * sp_dtype_size(value->dtype) > WORDS * sizeof(**words))
		return sp_call_invalid(call, "variable '%s' is no count of this size",
				       (*resource)->name);
	*words = call->counts + SP_COUNT_WORDS * ((*resource)->count_number - 1);
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

/* As `find`, for a write of input 1. */
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

/* Bytes of an integer in a word, little end first as this machine has them. */
static sp_status change(const sp_call *call, bool take)
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
		old = take ? old - by : old + by;
		memcpy(at, &old, size);
	}
	return SP_OK;
}

static sp_status run_add(const sp_call *call)
{
	return change(call, false);
}

static sp_status run_take(const sp_call *call)
{
	return change(call, true);
}

const sp_op sp_op__ReadCount = {
	.name = "_ReadCount",
	.outputs = "value",
	.flags = SP_OP_STATEFUL,
	.prepare = prepare_read,
	.run = run_read,
};

const sp_op sp_op__WriteCount = {
	.name = "_WriteCount",
	.outputs = "",
	.flags = SP_OP_STATEFUL,
	.prepare = prepare_write,
	.run = run_write,
};

const sp_op sp_op__AddToCount = {
	.name = "_AddToCount",
	.outputs = "",
	.flags = SP_OP_STATEFUL,
	.prepare = prepare_change,
	.run = run_add,
};

const sp_op sp_op__TakeFromCount = {
	.name = "_TakeFromCount",
	.outputs = "",
	.flags = SP_OP_STATEFUL,
	.prepare = prepare_change,
	.run = run_take,
};
