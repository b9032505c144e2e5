#include "processor/warmup/warmup.h"

#include <limits.h>
#include <string.h>

#include "base/alloc.h"
#include "base/file.h"
#include "base/log.h"
#include "processor/request/request.h"

enum { ROUNDS = 5 };

/* Runs one request; the caller resets the session. */
typedef sp_status round_of_one(const sp_request_target *target, void *context, sp_error *err);

sp_status sp_warmup_check_closing(const sp_warmup_target *target, sp_error *err)
{
	if (target->closing == NULL || !atomic_load(target->closing))
		return SP_OK;
	return sp_error_set(err, SP_BUSY, "the processor is closing");
}

static sp_status run_rounds(const sp_warmup_target *warm, round_of_one *run, void *context,
			    sp_error *err)
{
	sp_request_target target = {
		.snapshot = warm->snapshot, .endpoint = warm->endpoint, .rehearsal = true};

	for (int round = 0; round < ROUNDS; round++)
		for (size_t i = 0; i < warm->count; i++) {
			sp_status status;

			SP_TRY(sp_warmup_check_closing(warm, err));
			target.session = sp_session_set_get(warm->sessions, warm->first + i);
			sp_session_set_enter_home(warm->sessions, warm->first + i);
			status = run(&target, context, err);
			sp_session_reset(target.session);
			sp_session_set_leave_home(warm->sessions, warm->first + i);
			if (status != SP_OK)
				return status;
		}
	return SP_OK;
}

/* ---------------------------------------------------------------- from a file */

static sp_status answer_message(const sp_request_target *target, void *context, sp_error *err)
{
	const sp_bytes *message = context;
	size_t size;
	void *block;

	SP_TRY(sp_request_answer(target, *message, &block, &size, err));
	sp_free(block);
	return SP_OK;
}

static sp_status warm_with_file(const sp_warmup_target *target, const char *file, sp_error *err)
{
	sp_bytes message;
	sp_status status;
	size_t size;
	char *data;

	status = sp_file_read(&data, &size, file, INT_MAX, err);
	if (status == SP_OK) {
		message = (sp_bytes){data, size};
		status = run_rounds(target, answer_message, &message, err);
		sp_free(data);
	}
	if (status != SP_OK)
		return sp_error_prefix(err, status, "warm-up with %s", file);
	return SP_OK;
}

/* ------------------------------------------------------------------ with ones */

/* Writes a one of that type; false if the type has none. */
static bool one_of(sp_dtype dtype, void *element)
{
	switch (dtype) {
	case SP_FLOAT:
	case SP_COMPLEX64:
		*(float *)element = 1.0f;
		return true;
	case SP_DOUBLE:
	case SP_COMPLEX128:
		*(double *)element = 1.0;
		return true;
	case SP_HALF:
		*(uint16_t *)element = sp_half_from_float(1.0f);
		return true;
	case SP_BFLOAT16:
		*(uint16_t *)element = sp_bfloat16_from_float(1.0f);
		return true;
	default:
		/* Little-endian: the first byte of an integer is the lowest. */
		*(unsigned char *)element = 1;
		return dtype == SP_BOOL || sp_dtype_is_integer(dtype);
	}
}

static sp_status make_ones(sp_tensor *out, const sp_tensor_info *info, sp_workspace *workspace,
			   sp_error *err)
{
	_Alignas(16) unsigned char one[16] = {0};
	size_t size = sp_dtype_size(info->dtype);
	sp_shape shape = sp_shape_vector(1);

	if (!one_of(info->dtype, one))
		return sp_error_set(err, SP_UNSUPPORTED, "input '%s' is %s", info->alias,
				    sp_dtype_name(info->dtype));
	if (info->shape.rank >= 0)
		shape.rank = info->shape.rank;
	for (int d = 0; d < info->shape.rank; d++)
		shape.dims[d] = info->shape.dims[d] < 0 ? 1 : info->shape.dims[d];
	SP_TRY(sp_workspace_tensor(workspace, out, info->dtype, &shape, err));
	for (size_t i = 0; i < out->count; i++)
		memcpy((char *)out->data + i * size, one, size);
	return SP_OK;
}

static sp_status answer_ones(const sp_request_target *target, void *context, sp_error *err)
{
	const sp_signature *signature = &target->endpoint->signature;
	sp_workspace *workspace = sp_session_workspace(target->session);
	sp_predict_request request;

	(void)context;
	/* An empty message requests all outputs and gives no inputs. */
	SP_TRY(sp_predict_request_decode(&request, target->endpoint, (sp_bytes){NULL, 0}, workspace,
					 err));
	for (size_t i = 0; i < signature->input_count; i++)
		SP_TRY(make_ones(&request.inputs[i], &signature->inputs[i], workspace, err));
	return sp_request_run(target, &request, err);
}

static bool has_string_input(const sp_signature *signature)
{
	for (size_t i = 0; i < signature->input_count; i++)
		if (signature->inputs[i].dtype == SP_STRING)
			return true;
	return false;
}

sp_status sp_warmup(const sp_warmup_target *target, const char *file, sp_error *err)
{
	sp_error reason;

	if (file != NULL)
		return warm_with_file(target, file, err);
	if (has_string_input(&target->endpoint->signature))
		return SP_OK;
	if (run_rounds(target, answer_ones, NULL, &reason) != SP_OK)
		sp_log(SP_LOG_INFO, "warm-up with ones was not answered: %s", reason.text);
	return SP_OK;
}
