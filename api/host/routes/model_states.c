#include "api/host/routes/model_states.h"

/* NULL for a model without versions, and without memory. */
static const sp_version_statuses *read_statuses(const sp_serving *serving, const char *name,
						sp_arena *arena)
{
	const sp_model_selector selector = {.name = sp_bytes_of(name)};
	sp_version_statuses *list = sp_arena_zeros(arena, 1, sizeof(*list));

	if (list == NULL ||
	    sp_models_statuses(serving->models, &selector, list, arena, NULL) != SP_OK)
		return NULL;
	return list;
}

/* What the library reports of the newest version; no report where none is open. */
static sp_status read_report(const sp_serving *serving, sp_model_state *model, sp_arena *arena,
			     sp_error *err)
{
	sp_versions_report *report = sp_arena_zeros(arena, 1, sizeof(*report));
	sp_servable servable;
	sp_status status;

	if (report == NULL)
		return sp_no_memory(err, "what the models do");
	if (sp_models_acquire_processor(serving->models, sp_bytes_of(model->name), &servable,
					err) != SP_OK)
		return SP_OK;
	status = sp_versions_report_ask(report, servable.served->processor, arena, err);
	sp_servable_release(&servable);
	model->report = report;
	return status;
}

sp_status sp_route__model_states(const sp_serving *serving, sp_model_state **out, size_t *count,
				 sp_arena *arena, sp_error *err)
{
	const sp_model_summary *list;
	sp_model_state *models;

	SP_TRY(sp_models_list(serving->models, &list, count, arena, err));
	models = sp_arena_zeros(arena, *count, sizeof(*models));
	if (models == NULL)
		return sp_no_memory(err, "what the models do");
	for (size_t i = 0; i < *count; i++) {
		models[i] = (sp_model_state){
			.name = list[i].model->name,
			.ready = list[i].ready,
			.by_order = list[i].by_order,
			.labels = list[i].labels,
			.label_count = list[i].label_count,
			.counters = &list[i].model->counters,
			.thread_pool_name = serving->thread_pool_name,
			.versions = list[i].versions,
			.runs = list[i].runs,
			.statuses = read_statuses(serving, list[i].model->name, arena),
			.version_count = list[i].version_count};
		SP_TRY(read_report(serving, &models[i], arena, err));
	}
	*out = models;
	return SP_OK;
}
