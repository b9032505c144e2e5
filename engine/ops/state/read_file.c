#include "engine/graph/environment.h"
#include "engine/ops/ops.h"

/*
 * ReadFile: the content of a file as one text. It runs while a version is loaded, for init
 * operations that read the model's assets; a request cannot read files. The file must be one of the
 * model's own and not exceed the loader's largest size (engine/graph/environment.h). Its bytes live
 * in the version's arena.
 */

static sp_status run_read(const sp_call *call)
{
	const sp_environment *environment = call->environment;
	sp_shape scalar = sp_shape_scalar();

	SP_TRY(sp_call_need_rank(call, 0, 0));
	if (environment == NULL)
		return sp_call_invalid(call, "there are no files to read");
	SP_TRY(sp_call_output(call, 0, SP_STRING, &scalar));
	return environment->read_file(environment->context, sp_tensor_strings(call->in[0])[0],
				      call->resources->arena, sp_tensor_strings(call->out[0]),
				      call->err);
}

SP_DEFINE_TYPED_OP(ReadFile, NULL, SP_OP_STATEFUL | SP_OP_LOAD_ONLY | SP_OP_READS_FILES,
		   "string -> string", run_read);
