#include "engine/ops/string/number.h"
#include "engine/ops/string/text.h"

typedef struct state {
	sp_dtype dtype;
} state;

static sp_status prepare_number(sp_prepare *prepare, sp_error *err)
{
	state *s = sp_prepare_state(prepare, sizeof(*s));

	SP_NEED_MEMORY(s, err, "StringToNumber");
	SP_TRY(sp_node_attr_type(prepare->node, "out_type", SP_FLOAT, &s->dtype, err));
	if (s->dtype != SP_FLOAT && s->dtype != SP_DOUBLE && s->dtype != SP_INT32 &&
	    s->dtype != SP_INT64)
		return sp_prepare_unsupported(prepare, s->dtype, err);
	SP_TRY(sp_prepare_types(prepare, "string", err));
	return sp_prepare_outputs(prepare, 1, s->dtype, err);
}

static bool read_number(sp_bytes text, sp_dtype dtype, void *data, size_t i)
{
	switch (dtype) {
	case SP_FLOAT:
		return sp_number_read_f32(text, (float *)data + i);
	case SP_DOUBLE:
		return sp_number_read_f64(text, (double *)data + i);
	case SP_INT32:
		return sp_number_read_i32(text, (int32_t *)data + i);
	default:
		return sp_number_read_i64(text, (int64_t *)data + i);
	}
}

static sp_status run_number(const sp_call *call)
{
	const state *s = call->state;
	const sp_bytes *text = sp_tensor_strings(call->in[0]);

	SP_TRY(sp_call_output(call, 0, s->dtype, &call->in[0]->shape));
	for (size_t i = 0; i < call->in[0]->count; i++)
		if (!read_number(text[i], s->dtype, call->out[0]->data, i))
			return sp_call_invalid(call, "\"%.*s\" is not a number of type %s",
					       (int)(text[i].size > 64 ? 64 : text[i].size),
					       text[i].data, sp_dtype_name(s->dtype));
	return SP_OK;
}

SP_DEFINE_OP(StringToNumber, "output", 0, prepare_number, run_number);
