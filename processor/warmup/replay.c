#include "processor/warmup/replay.h"

#include <limits.h>
#include <math.h>

#include "base/alloc.h"
#include "base/file.h"
#include "processor/warmup/recorded_request.h"
#include "processor/warmup/warmup_recorded.h"

/* The floating-point elements of an answer, output after output. */
typedef struct scores {
	double *at;
	size_t count;
} scores;

static bool is_score(const sp_tensor *tensor)
{
	return tensor->dtype == SP_FLOAT || tensor->dtype == SP_DOUBLE;
}

/* Appends the elements of a tensor; without `at` it counts them. */
static void add_scores(scores *out, const sp_tensor *tensor)
{
	if (!is_score(tensor))
		return;
	for (size_t k = 0; out->at != NULL && k < tensor->count; k++)
		out->at[out->count + k] = tensor->dtype == SP_FLOAT
						  ? (double)sp_tensor_f32(tensor)[k]
						  : sp_tensor_f64(tensor)[k];
	out->count += tensor->count;
}

static sp_status make_room(scores *out, sp_arena *arena, sp_error *err)
{
	size_t count = out->count;

	*out = (scores){.at = sp_arena_array(arena, count, sizeof(*out->at))};
	SP_NEED_MEMORY(out->at, err, "%zu scores", count);
	return SP_OK;
}

static sp_status copy_scores(scores *out, const sp_predict_request *request, sp_arena *arena,
			     sp_error *err)
{
	*out = (scores){0};
	for (size_t i = 0; i < request->output_count; i++)
		add_scores(out, request->outputs[i].tensor);
	SP_TRY(make_room(out, arena, err));
	for (size_t i = 0; i < request->output_count; i++)
		add_scores(out, request->outputs[i].tensor);
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

/* By the signature that the record names. */
static sp_status answer_recorded(const sp_request_target *target, const sp_runtime *runtime,
				 const sp_recorded_request *recorded, scores *out, sp_arena *arena,
				 sp_error *err)
{
	sp_request_target named = *target;
	sp_typed_answer answered;
	sp_status status;

	named.endpoint = sp_runtime_endpoint(runtime, recorded->signature);
	if (named.endpoint == NULL)
		return sp_error_set(err, SP_INVALID, "the model has no signature '%s'",
				    recorded->signature);
	status = sp_request_run_typed(&named, &recorded->request, arena, &answered, err);
	sp_session_reset(named.session);
	SP_TRY(status);
	*out = (scores){0};
	for (size_t i = 0; i < answered.count; i++)
		add_scores(out, &answered.outputs[i].tensor);
	SP_TRY(make_room(out, arena, err));
	for (size_t i = 0; i < answered.count; i++)
		add_scores(out, &answered.outputs[i].tensor);
	return SP_OK;
}

/* The changes of all answers so far. */
typedef struct changes {
	double sum;
	size_t count;
} changes;

static sp_status add_changes(changes *all, const scores *old, const scores *new, sp_error *err)
{
	if (old->count != new->count)
		return sp_error_set(err, SP_INVALID, "the answers have %zu and %zu scores",
				    old->count, new->count);
	for (size_t i = 0; i < old->count; i++)
		all->sum += fabs(new->at[i] - old->at[i]);
	all->count += old->count;
	return SP_OK;
}

static sp_status compare(const sp_replay *replay, sp_bytes message, changes *all, sp_arena *arena,
			 sp_error *err)
{
	scores old, new;

	SP_TRY(answer(&replay->old, message, &old, arena, err));
	SP_TRY(answer(&replay->new, message, &new, arena, err));
	return add_changes(all, &old, &new, err);
}

static sp_status compare_record(const sp_replay *replay, sp_bytes record, changes *all,
				sp_arena *arena, sp_error *err)
{
	sp_recorded_request recorded;
	scores old, new;

	SP_TRY(sp_recorded_read(&recorded, record, arena, err));
	if (!recorded.is_predict)
		return SP_OK;
	SP_TRY(answer_recorded(&replay->old, replay->old_runtime, &recorded, &old, arena, err));
	SP_TRY(answer_recorded(&replay->new, replay->new_runtime, &recorded, &new, arena, err));
	return add_changes(all, &old, &new, err);
}

static sp_status compare_records(const sp_replay *replay, sp_bytes file, changes *all,
				 sp_arena *arena, sp_error *err)
{
	for (size_t i = 0; file.size != 0; i++) {
		sp_arena_mark mark = sp_arena_here(arena);
		sp_bytes record;
		sp_status status = sp_recorded_take(&record, &file, err);

		if (status == SP_OK && i == SP_WARMUP_MAX_RECORDS)
			return sp_error_set(err, SP_INVALID, "it has more than %d records",
					    SP_WARMUP_MAX_RECORDS);
		if (status == SP_OK)
			status = compare_record(replay, record, all, arena, err);
		sp_arena_rewind(arena, mark);
		if (status != SP_OK)
			return sp_error_prefix(err, status, "record %zu", i);
	}
	return SP_OK;
}

static sp_status compare_all(const sp_replay *replay, sp_bytes file, double *change,
			     sp_arena *arena, sp_error *err)
{
	changes all = {0};

	if (sp_recorded_is_file(file))
		SP_TRY(compare_records(replay, file, &all, arena, err));
	else
		SP_TRY(compare(replay, file, &all, arena, err));
	if (all.count == 0)
		return sp_error_set(err, SP_INVALID, "the answers have no scores");
	*change = all.sum / (double)all.count;
	return SP_OK;
}

sp_status sp_replay_run(const sp_replay *replay, double *change, sp_arena *arena, sp_error *err)
{
	sp_status status;
	size_t size;
	char *data;

	status = sp_file_read(&data, &size, replay->file, INT_MAX, err);
	if (status == SP_OK) {
		status = compare_all(replay, (sp_bytes){data, size}, change, arena, err);
		sp_free(data);
	}
	return status == SP_OK ? SP_OK : sp_error_prefix(err, status, "replaying %s", replay->file);
}
