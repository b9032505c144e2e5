#include "processor/warmup/warmup_recorded.h"

#include <limits.h>

#include "base/alloc.h"
#include "base/file.h"
#include "base/log.h"
#include "processor/request/request.h"
#include "processor/warmup/recorded_request.h"

static sp_status answer(const sp_warmup_target *warm, const sp_runtime *runtime,
			const sp_recorded_request *r, sp_arena *arena, sp_error *err)
{
	sp_request_target target = {.snapshot = warm->snapshot,
				    .endpoint = sp_runtime_endpoint(runtime, r->signature)};

	if (target.endpoint == NULL)
		return sp_error_set(err, SP_INVALID, "the model has no signature '%s'",
				    r->signature);
	for (size_t i = 0; i < warm->count; i++) {
		sp_arena_mark mark = sp_arena_here(arena);
		sp_typed_answer unused;
		sp_status status;

		SP_TRY(sp_warmup_check_closing(warm, err));
		target.session = sp_session_set_get(warm->sessions, warm->first + i);
		status = sp_request_run_typed(&target, &r->request, arena, &unused, err);
		sp_session_reset(target.session);
		sp_arena_rewind(arena, mark);
		if (status != SP_OK)
			return status;
	}
	return SP_OK;
}

static sp_status answer_record(const sp_warmup_target *target, const sp_runtime *runtime,
			       sp_bytes record, sp_arena *arena, sp_error *err)
{
	sp_recorded_request r;

	SP_TRY(sp_recorded_read(&r, record, arena, err));
	if (r.is_predict)
		return answer(target, runtime, &r, arena, err);
	sp_log(SP_LOG_INFO, "a warm-up record without a Predict request is passed over");
	return SP_OK;
}

static sp_status answer_all(const sp_warmup_target *target, const sp_runtime *runtime,
			    sp_bytes file, size_t most, sp_arena *arena, sp_error *err)
{
	for (size_t i = 0; file.size != 0 && i < most; i++) {
		sp_bytes record;
		sp_status status = sp_recorded_take(&record, &file, err);

		if (status == SP_OK && i == SP_WARMUP_MAX_RECORDS)
			return sp_error_set(err, SP_INVALID, "it has more than %d records",
					    SP_WARMUP_MAX_RECORDS);
		sp_arena_reset(arena);
		if (status == SP_OK)
			status = answer_record(target, runtime, record, arena, err);
		if (status != SP_OK)
			return sp_error_prefix(err, status, "record %zu", i);
	}
	return SP_OK;
}

sp_status sp_warmup_recorded(const sp_warmup_target *target, const sp_runtime *runtime,
			     const char *file, size_t most, sp_error *err)
{
	sp_arena *arena = sp_arena_create(64 << 10);
	sp_status status;
	size_t size;
	char *data;

	if (arena == NULL)
		return sp_error_set(err, SP_NO_MEMORY, "no memory to warm up");
	status = sp_file_read(&data, &size, file, INT_MAX, err);
	if (status == SP_OK) {
		status = answer_all(target, runtime, (sp_bytes){data, size}, most, arena, err);
		sp_free(data);
	}
	sp_arena_destroy(arena);
	return status == SP_OK ? SP_OK : sp_error_prefix(err, status, "warm-up with %s", file);
}
