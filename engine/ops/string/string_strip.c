#include "engine/ops/string/text.h"

static sp_status run_strip(const sp_call *call)
{
	const sp_bytes *text = sp_tensor_strings(call->in[0]);
	sp_bytes *y;

	SP_TRY(sp_call_output_over(call, 0, 0, SP_STRING));
	y = sp_tensor_strings(call->out[0]);
	for (size_t i = 0; i < call->in[0]->count; i++)
		y[i] = sp_text_strip(text[i]);
	return SP_OK;
}

SP_DEFINE_TYPED_OP(StringStrip, "output", 0, "string -> string", run_strip);
