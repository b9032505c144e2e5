#include "engine/graph/op.h"

#include <stdio.h>
#include <string.h>

#include "base/size.h"
#include "engine/graph/environment.h"

static sp_status prepare_restore(sp_prepare *prepare, sp_error *err)
{
	const sp_attr *dtypes;

	SP_TRY(sp_prepare_types(prepare, "string string string", err));
	SP_TRY(sp_node_attr_list(prepare->node, "dtypes", SP_ATTR_TYPE, &dtypes, err));
	SP_TRY(sp_prepare_outputs(prepare, dtypes->count, SP_INVALID_DTYPE, err));
	for (size_t i = 0; i < dtypes->count; i++)
		prepare->out_dtypes[i] = dtypes->type_list[i];
	/* run() needs only this list, which lives as long as the state. */
	prepare->state = prepare->out_dtypes;
	return SP_OK;
}

static sp_status check_restore(const sp_call *call)
{
	if (call->environment == NULL)
		return sp_call_invalid(call, "there is no checkpoint to restore from");
	if (call->in[0]->count != 1)
		return sp_call_invalid(call, "the prefix must be one string, not %zu",
				       call->in[0]->count);
	for (size_t i = 1; i < 3; i++)
		if (call->in[i]->shape.rank != 1 || call->in[i]->count != call->out_count)
			return sp_call_invalid(call, "input %zu must be a vector of %zu strings", i,
					       call->out_count);
	return SP_OK;
}

/* The tensors are allocated in the version's arena, so that assignments copy nothing. */
static sp_status run_restore(const sp_call *call)
{
	const sp_environment *environment = call->environment;
	const sp_dtype *dtypes = call->state;

	SP_TRY(check_restore(call));
	for (size_t i = 0; i < call->out_count; i++)
		SP_TRY(environment->restore(environment->context, sp_tensor_strings(call->in[0])[0],
					    sp_tensor_strings(call->in[1])[i],
					    sp_tensor_strings(call->in[2])[i], dtypes[i],
					    call->resources->arena, call->out[i], call->err));
	return SP_OK;
}

/* "<basename>-00001-of-00002" */
static sp_status run_sharded_filename(const sp_call *call)
{
	sp_shape scalar = sp_shape_scalar();
	sp_bytes base;
	char tail[40], *text;
	size_t tail_size, size;

	for (size_t i = 0; i < 3; i++)
		SP_TRY(sp_call_need_rank(call, i, 0));
	base = *sp_tensor_strings(call->in[0]);
	tail_size = (size_t)snprintf(tail, sizeof(tail), "-%05d-of-%05d",
				     *sp_tensor_i32(call->in[1]), *sp_tensor_i32(call->in[2]));
	if (!sp_size_add(&size, base.size, tail_size) ||
	    (text = sp_call_bytes(call, size, 1)) == NULL)
		return sp_call_no_memory(call);
	if (base.size != 0)
		memcpy(text, base.data, base.size);
	memcpy(text + base.size, tail, tail_size);
	SP_TRY(sp_call_output(call, 0, SP_STRING, &scalar));
	*sp_tensor_strings(call->out[0]) = (sp_bytes){text, size};
	return SP_OK;
}

SP_DEFINE_OP(RestoreV2, "tensors:dtypes", SP_OP_STATEFUL | SP_OP_LOAD_ONLY | SP_OP_READS_FILES,
	     prepare_restore, run_restore);
SP_DEFINE_TYPED_OP(ShardedFilename, NULL, 0, "string int32 int32 -> string", run_sharded_filename);
