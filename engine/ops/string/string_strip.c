#include "engine/ops/ops.h"
#include "engine/ops/string/text.h"

static sp_status prepare_strip(sp_prepare *prepare, sp_error *err)
{
	return sp_text_prepare_unary(prepare, SP_STRING, err);
}

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

SP_DEFINE_OP(StringStrip, "output", 0, prepare_strip, run_strip);
