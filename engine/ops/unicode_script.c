#include "engine/op.h"

/*
 * UnicodeScript: the script of each character, in ICU's numbers; -1 for what is no
 * character's number.
 *
 * Source: the script property of the Unicode Character Database, as TensorFlow 2.15
 * answers it (scripts/make_unicode_scripts.py).
 */
typedef struct script_run {
	uint32_t first; /* up to the next run's */
	uint8_t script;
} script_run;

/* clang-format off */
static const script_run runs[] = {
#include "engine/ops/unicode_scripts.inc"
};
/* clang-format on */

enum { RUN_COUNT = sizeof(runs) / sizeof(runs[0]), LAST_CHARACTER = 0x10ffff };

static int32_t script_of(int32_t character)
{
	size_t low = 0, high = RUN_COUNT;

	if (character < 0 || character > LAST_CHARACTER)
		return -1;
	/* runs[low] begins at the character or before it, runs[high] behind it. */
	while (high - low > 1) {
		size_t middle = low + (high - low) / 2;

		if (runs[middle].first <= (uint32_t)character)
			low = middle;
		else
			high = middle;
	}
	return runs[low].script;
}

static sp_status prepare_script(sp_prepare *prepare, sp_error *err)
{
	SP_TRY(sp_prepare_inputs(prepare, 1, err));
	SP_TRY(sp_prepare_input_dtype(prepare, 0, SP_INT32, err));
	return sp_prepare_outputs(prepare, 1, SP_INT32, err);
}

static sp_status run_script(const sp_call *call)
{
	const int32_t *in = sp_tensor_i32(call->in[0]);

	SP_TRY(sp_call_output_over(call, 0, 0, SP_INT32));
	for (size_t i = 0; i < call->in[0]->count; i++)
		sp_tensor_i32(call->out[0])[i] = script_of(in[i]);
	return SP_OK;
}

const sp_op sp_op_UnicodeScript = {
	.name = "UnicodeScript",
	.prepare = prepare_script,
	.run = run_script,
};
