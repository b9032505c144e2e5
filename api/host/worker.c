#include "api/host/worker.h"

enum { FIRST_ARENA = 16 << 10 };

sp_status sp_worker_init(sp_worker *worker, sp_budget *budget, sp_error *err)
{
	*worker = (sp_worker){.json = sp_json_request_create(budget),
			      .examples = sp_json_examples_create(budget),
			      .v2 = sp_v2_request_create(budget),
			      .arena = sp_arena_create(FIRST_ARENA)};
	if (worker->json == NULL || worker->examples == NULL || worker->v2 == NULL ||
	    worker->arena == NULL)
		return sp_no_memory(err, "the workers");
	sp_arena_set_budget(worker->arena, budget);
	return SP_OK;
}

void sp_worker_trim(sp_worker *worker)
{
	sp_json_request_trim(worker->json);
	sp_json_examples_trim(worker->examples);
	sp_v2_request_trim(worker->v2);
}

void sp_worker_fini(sp_worker *worker)
{
	sp_json_request_destroy(worker->json);
	sp_json_examples_destroy(worker->examples);
	sp_v2_request_destroy(worker->v2);
	sp_arena_destroy(worker->arena);
}
