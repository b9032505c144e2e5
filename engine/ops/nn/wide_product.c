#include "engine/ops/nn/wide_product.h"

#include "engine/ops/math/complex.h"

static sp_dtype computed_type(sp_dtype result)
{
	if (result == SP_HALF || result == SP_BFLOAT16)
		return SP_FLOAT;
	return sp_dtype_is_integer(result) && sp_dtype_size(result) < 4 ? SP_INT32 : result;
}

/* Whether `to` holds every value of `from`; for integers, whether it is at least as wide. */
static bool holds(sp_dtype to, sp_dtype from)
{
	bool wider = sp_dtype_size(from) < sp_dtype_size(to);

	if (from == to)
		return true;
	if (sp_dtype_is_integer(from))
		return wider && !sp_dtype_is_complex(to);
	if (sp_dtype_is_floating(from))
		return wider && !sp_dtype_is_integer(to);
	return wider && sp_dtype_is_complex(to);
}

sp_status sp_wide_product__prepare(sp_prepare *prepare, sp_wide_product *out, sp_dtype result,
				   sp_error *err)
{
	out->result = result;
	out->computed = computed_type(result);
	out->multiply = sp_gemm__find(out->computed);
	if (out->multiply == NULL)
		return sp_prepare_unsupported(prepare, result, err);
	if (out->computed != result)
		out->narrow = sp_cast__find(out->computed, result);
	for (size_t i = 0; i < 2; i++) {
		sp_dtype in = prepare->in_dtypes[i];

		if (in != out->computed)
			out->widen[i] = sp_cast__find(in, out->computed);
		if (!holds(result, in) || (in != out->computed && out->widen[i] == NULL))
			return sp_error_set(err, SP_UNSUPPORTED, "%s of %s to %s is not supported",
					    prepare->node->op_name, sp_dtype_name(in),
					    sp_dtype_name(result));
	}
	return sp_prepare_outputs(prepare, 1, result, err);
}

sp_status sp_wide_product__widen(const sp_call *call, const sp_wide_product *product, size_t i,
				 size_t count, const char **data)
{
	void *copy;

	if (product->widen[i] == NULL)
		return SP_OK;
	SP_CALL_BYTES(copy, call, count, sp_dtype_size(product->computed));
	product->widen[i](*data, copy, count);
	*data = copy;
	return SP_OK;
}
