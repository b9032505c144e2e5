#include "processor/warmup/replay.h"

#include <limits.h>
#include <math.h>

#include "base/alloc.h"
#include "base/file.h"

/* The floating-point elements of an answer, output after output. */
typedef struct scores {
	double *at;
	size_t count;
} scores;

static bool is_score(const sp_tensor *tensor)
{
	return tensor->dtype == SP_FLOAT || tensor->dtype == SP_DOUBLE;
}

static sp_status copy_scores(scores *out, const sp_predict_request *request, sp_arena *arena,
			     sp_error *err)
{
	size_t count = 0;

	for (size_t i = 0; i < request->output_count; i++)
		if (is_score(request->outputs[i].tensor))
			count += request->outputs[i].tensor->count;
	*out = (scores){.at = sp_arena_array(arena, count, sizeof(*out->at))};
	SP_NEED_MEMORY(out->at, err, "%zu scores", count);
	for (size_t i = 0; i < request->output_count; i++) {
		const sp_tensor *tensor = request->outputs[i].tensor;

		for (size_t k = 0; is_score(tensor) && k < tensor->count; k++)
			out->at[out->count++] = tensor->dtype == SP_FLOAT
							? (double)sp_tensor_f32(tensor)[k]
							: sp_tensor_f64(tensor)[k];
	}
	return SP_OK;
}

static sp_status answer(const sp_request_target *target, sp_bytes message, scores *out,
			sp_arena *arena, sp_error *err)
{
	sp_predict_request request;
	sp_status status;

	status = sp_predict_request_decode(&request, target->endpoint, message,
					   sp_session_workspace(target->session), err);
	if (status == SP_OK)
		status = sp_request_run(target, &request, err);
	if (status == SP_OK)
		status = copy_scores(out, &request, arena, err);
	sp_session_reset(target->session);
	return status;
}

static sp_status compare(const sp_replay *replay, sp_bytes message, double *change, sp_arena *arena,
			 sp_error *err)
{
	scores old, new;
	double sum = 0;

	SP_TRY(answer(&replay->old, message, &old, arena, err));
	SP_TRY(answer(&replay->new, message, &new, arena, err));
	if (old.count != new.count || old.count == 0)
		return sp_error_set(err, SP_INVALID, "the answers have %zu and %zu scores",
				    old.count, new.count);
	for (size_t i = 0; i < old.count; i++)
		sum += fabs(new.at[i] - old.at[i]);
	*change = sum / (double)old.count;
	return SP_OK;
}

sp_status sp_replay_run(const sp_replay *replay, double *change, sp_arena *arena, sp_error *err)
{
	sp_status status;
	size_t size;
	char *data;

	status = sp_file_read(&data, &size, replay->file, INT_MAX, err);
	if (status == SP_OK) {
		status = compare(replay, (sp_bytes){data, size}, change, arena, err);
		sp_free(data);
	}
	return status == SP_OK ? SP_OK : sp_error_prefix(err, status, "replaying %s", replay->file);
}
