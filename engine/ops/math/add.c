#include <string.h>

#include "base/size.h"
#include "engine/ops/math/add.h"

/*
 * Add and AddV2: sums of numbers; Add also joins strings.
 */
SP_BINARY_LOOPS(add, a + b)
SP_FOR_INTEGER(SP_BINARY_WRAP, add, a + b)
SP_FOR_COMPLEX(SP_BINARY_WRAP, add, a + b)

const sp_binary sp_add__binary = {.kernels = {SP_TABLE_ARITHMETIC(add)}};

static sp_status prepare_add_v2(sp_prepare *prepare, sp_error *err)
{
	return sp_binary__prepare(prepare, &sp_add__binary, err);
}

/* Strings have no kernel: their state stays empty. */
static sp_status prepare_add(sp_prepare *prepare, sp_error *err)
{
	SP_TRY(sp_prepare_inputs(prepare, 2, err));
	if (prepare->in_dtypes[0] != SP_STRING)
		return sp_binary__prepare(prepare, &sp_add__binary, err);
	SP_TRY(sp_prepare_input_dtype(prepare, 1, SP_STRING, err));
	return sp_prepare_outputs(prepare, 1, SP_STRING, err);
}

static sp_status join(const sp_call *call, sp_bytes left, sp_bytes right, sp_bytes *out)
{
	size_t size;
	char *text;

	if (left.size == 0 || right.size == 0) {
		*out = left.size == 0 ? right : left;
		return SP_OK;
	}
	if (!sp_size_add(&size, left.size, right.size))
		return sp_call_no_memory(call);
	SP_CALL_BYTES(text, call, size, 1);
	memcpy(text, left.data, left.size);
	memcpy(text + left.size, right.data, right.size);
	*out = (sp_bytes){text, size};
	return SP_OK;
}

static sp_status join_strings(const sp_call *call)
{
	const sp_bytes *left = sp_tensor_strings(call->in[0]);
	const sp_bytes *right = sp_tensor_strings(call->in[1]);
	sp_broadcast b;
	sp_bytes *out;

	SP_TRY(sp_broadcast__init(&b, call, 2));
	SP_TRY(sp_broadcast__output(&b, call, SP_STRING));
	out = sp_tensor_strings(call->out[0]);
	for (sp_broadcast__start(&b); b.more; sp_broadcast__next(&b))
		for (size_t i = 0; i < b.run; i++)
			SP_TRY(join(call, left[b.at[0] + i * b.step[0]],
				    right[b.at[1] + i * b.step[1]], &out[b.out + i]));
	return SP_OK;
}

static sp_status run_add(const sp_call *call)
{
	return call->state == NULL ? join_strings(call) : sp_binary__run(call);
}

SP_DEFINE_OP(Add, NULL, 0, prepare_add, run_add);
SP_DEFINE_OP(AddV2, NULL, 0, prepare_add_v2, sp_binary__run);
