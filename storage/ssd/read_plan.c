#include "storage/ssd/read_plan.h"

/* Finds the first run, from `run` on, that may have the key of the read; false when none can. */
static bool locate(sp_block_read *read, size_t run)
{
	const sp_read_request *request = read->request;

	if (request->place != NULL) {
		read->place = request->place(request, read->first);
		return true;
	}
	for (; run < request->run_count; run++) {
		read->run = run;
		if (sp_sst_run_locate(request->runs[run], request->keys[read->first], &read->place))
			return true;
	}
	return false;
}

static bool is_same_block(const sp_block_read *a, const sp_block_read *b)
{
	return a->run == b->run && a->place.fd == b->place.fd && a->place.offset == b->place.offset;
}

/* Extends the read by the next keys, as long as they are in the same block of the oldest run. */
static void extend(sp_read_plan *plan, sp_block_read *read)
{
	const sp_read_request *request = read->request;
	sp_block_read next = {.request = request};

	if (request->place != NULL || read->run + 1 != request->run_count)
		return;
	while (plan->key < request->count) {
		next.first = plan->key;
		if (!locate(&next, 0) || !is_same_block(&next, read))
			return;
		read->count++;
		plan->key++;
	}
}

bool sp_read_plan_next(sp_read_plan *plan, sp_block_read *out)
{
	for (; plan->request < plan->count; plan->request++, plan->key = 0) {
		const sp_read_request *request = &plan->requests[plan->request];

		while (plan->key < request->count) {
			*out = (sp_block_read){
				.request = request, .first = plan->key++, .count = 1};
			if (locate(out, 0)) {
				extend(plan, out);
				return true;
			}
			plan->take(request, out->first, NULL);
		}
	}
	return false;
}

sp_status sp_block_read_finish(sp_block_read *read, const void *bytes, sp_read_take *take,
			       bool *again, sp_error *err)
{
	const sp_read_request *request = read->request;
	const sp_sst_run *run;

	*again = false;
	if (request->place != NULL) {
		take(request, read->first, bytes);
		return SP_OK;
	}
	run = request->runs[read->run];
	atomic_fetch_add_explicit(request->bytes_read, read->place.span, memory_order_relaxed);
	SP_TRY(sp_sst_run_check(&read->place, bytes, err));
	for (size_t i = read->first; i < read->first + read->count; i++) {
		const void *row;

		SP_TRY(sp_sst_run_find(run, &read->place, bytes, request->keys[i], &row, err));
		if (row == NULL && read->count == 1 && locate(read, read->run + 1)) {
			*again = true;
			return SP_OK;
		}
		take(request, i, row);
	}
	return SP_OK;
}
