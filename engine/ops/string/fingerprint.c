#include "base/hash.h"
#include "engine/ops/ops.h"
#include "engine/ops/string/text.h"

#include <string.h>

/*
 * Hashes each row: numbers by their bytes in memory, strings by their fingerprints.  In a vector of
 * strings, each string is a row.
 */

static sp_status prepare_fingerprint(sp_prepare *prepare, sp_error *err)
{
	sp_dtype dtype;

	SP_TRY(sp_prepare_inputs(prepare, 2, err));
	dtype = prepare->in_dtypes[0];
	if (dtype == SP_RESOURCE || sp_dtype_size(dtype) == 0)
		return sp_prepare_unsupported(prepare, dtype, err);
	SP_TRY(sp_prepare_input_dtype(prepare, 1, SP_STRING, err));
	return sp_prepare_outputs(prepare, 1, SP_UINT8, err);
}

static sp_status check_method(const sp_call *call)
{
	const sp_tensor *method = call->in[1];

	if (!sp_tensor_is_scalar(method))
		return sp_call_invalid(call, "the fingerprint method must be a scalar");
	if (!sp_bytes_equal_text(sp_tensor_strings(method)[0], "farmhash64"))
		return sp_call_invalid(call, "fingerprint method %.*s is not known",
				       (int)sp_tensor_strings(method)[0].size,
				       sp_tensor_strings(method)[0].data);
	return SP_OK;
}

/* One fingerprint per string; NULL past the request's limit. */
static const uint64_t *hash_strings(const sp_call *call)
{
	const sp_bytes *text = sp_tensor_strings(call->in[0]);
	size_t count = call->in[0]->count;
	uint64_t *hashes = sp_call_bytes(call, count, sizeof(*hashes));

	for (size_t i = 0; hashes != NULL && i < count; i++)
		hashes[i] = sp_fingerprint64(text[i].data, text[i].size);
	return hashes;
}

static sp_status run_fingerprint(const sp_call *call)
{
	const sp_tensor *data = call->in[0];
	const char *bytes = data->data;
	size_t rows, row_size;
	sp_shape shape;
	char *y;

	SP_TRY(check_method(call));
	if (data->shape.rank == 0)
		return sp_call_invalid(call, "the data must have at least one dimension");
	rows = (size_t)data->shape.dims[0];
	shape = sp_shape_matrix((int64_t)rows, 8);
	SP_TRY(sp_call_output(call, 0, SP_UINT8, &shape));
	if (rows == 0)
		return SP_OK;
	y = call->out[0]->data;
	row_size = data->count / rows * sp_dtype_size(data->dtype);
	if (data->dtype == SP_STRING) {
		bytes = (const char *)hash_strings(call);
		if (bytes == NULL)
			return sp_call_no_memory(call);
		if (data->shape.rank == 1) {
			memcpy(y, bytes, rows * 8);
			return SP_OK;
		}
		row_size = data->count / rows * 8;
	}
	for (size_t i = 0; i < rows; i++) {
		uint64_t hash = sp_fingerprint64(bytes + i * row_size, row_size);

		memcpy(y + i * 8, &hash, 8);
	}
	return SP_OK;
}

SP_DEFINE_OP(Fingerprint, "fingerprint", 0, prepare_fingerprint, run_fingerprint);
