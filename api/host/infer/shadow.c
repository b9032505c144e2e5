#include "api/host/infer/shadow.h"

#include <stdatomic.h>
#include <sys/resource.h>
#include <unistd.h>

#include "api/host/infer/tensors.h"
#include "base/alloc.h"
#include "base/clock.h"
#include "base/queue.h"
#include "base/thread.h"

enum { MAX_WAITING = 32, MAX_BYTES = 64 << 20, FIRST_ARENA = 4 << 10, LOWEST_PRIORITY = 19 };

struct sp_shadow {
	sp_shadow_sink sink;
	sp_models *models;
	sp_queue *queue;
	sp_thread_group *thread;
	atomic_bool closing;
	atomic_size_t bytes; /* of the requests and answers of all tasks */
};

/* A request and its answer, in its own arena. */
typedef struct task {
	sp_arena *arena;
	size_t bytes;
	sp_model *model;
	int64_t version;
	double tolerance;
	serving_processor_signature signature; /* only its name is set */
	sp_infer_request request;              /* for the outputs that were answered */
	serving_processor_tensor *answered;    /* [request.output_count] */
} task;

/* -------------------------------------------------------------------- copying */

static size_t bytes_of(const sp_infer_request *request, const sp_infer_result *result)
{
	size_t bytes = 0;

	for (size_t i = 0; i < request->input_count; i++)
		bytes += sp_tensor_bytes(&request->inputs[i]);
	for (size_t i = 0; i < result->count; i++)
		bytes += sp_tensor_bytes(&result->tensors[i]);
	return bytes;
}

/* NULL when out of memory. */
static serving_processor_tensor *copy_all(const serving_processor_tensor *tensors, size_t count,
					  sp_arena *arena)
{
	serving_processor_tensor *copies = sp_arena_array(arena, count, sizeof(*copies));

	for (size_t i = 0; copies != NULL && i < count; i++)
		if (!sp_host_tensor_copy(&copies[i], &tensors[i], arena))
			return NULL;
	return copies;
}

static bool copy(task *t, const sp_infer_request *request, const sp_infer_result *result)
{
	const char **names = sp_arena_array(t->arena, result->count, sizeof(*names));

	t->signature.name = sp_arena_text(t->arena, sp_bytes_of(request->signature->name));
	t->answered = copy_all(result->tensors, result->count, t->arena);
	t->request = (sp_infer_request){
		.signature = &t->signature,
		.inputs = copy_all(request->inputs, request->input_count, t->arena),
		.input_count = request->input_count,
		.outputs = names,
		.output_count = result->count};
	if (names == NULL || t->signature.name == NULL || t->answered == NULL ||
	    t->request.inputs == NULL)
		return false;
	for (size_t i = 0; i < result->count; i++)
		names[i] = t->answered[i].name;
	return true;
}

/* NULL when out of memory. */
static task *make_task(const sp_servable *servable, const sp_infer_request *request,
		       const sp_infer_result *result, size_t bytes)
{
	sp_arena *arena = sp_arena_create(FIRST_ARENA);
	task *t = arena != NULL ? sp_arena_zeros(arena, 1, sizeof(*t)) : NULL;

	if (t == NULL) {
		sp_arena_destroy(arena);
		return NULL;
	}
	t->arena = arena;
	t->bytes = bytes;
	t->model = servable->model;
	t->version = servable->shadow_version;
	t->tolerance = servable->shadow_tolerance;
	if (!copy(t, request, result)) {
		sp_arena_destroy(arena);
		return NULL;
	}
	return t;
}

static void end_task(sp_shadow *shadow, task *t)
{
	atomic_fetch_sub(&shadow->bytes, t->bytes);
	sp_arena_destroy(t->arena);
}

static void offer(void *context, const sp_servable *servable, const sp_infer_request *request,
		  const sp_infer_result *result)
{
	sp_shadow *shadow = context;
	size_t bytes = bytes_of(request, result);
	task *t = NULL;

	if (atomic_fetch_add(&shadow->bytes, bytes) + bytes <= MAX_BYTES)
		t = make_task(servable, request, result, bytes);
	if (t != NULL && sp_queue_try_push(shadow->queue, t))
		return;
	sp_counter_add(&servable->model->counters.shadow_dropped, 1);
	if (t != NULL)
		end_task(shadow, t);
	else
		atomic_fetch_sub(&shadow->bytes, bytes);
}

/* -------------------------------------------------------------------- running */

static void run(sp_shadow *shadow, const task *t)
{
	const sp_model_selector selector = {
		.name = sp_bytes_of(t->model->name), .has_version = true, .version = t->version};
	const sp_infer_limits none = {0};
	sp_model_counters *counters = &t->model->counters;
	sp_infer_result result = {0};
	sp_servable candidate;
	int64_t now_ns = sp_clock_now_ns();

	if (sp_models_acquire(shadow->models, &selector, &candidate, NULL) != SP_OK ||
	    sp_infer_call(&result, candidate.handle, &t->request, &none, &now_ns, NULL) != SP_OK)
		sp_counter_add(&counters->shadow_failed, 1);
	else if (sp_tensor_lists_are_alike(t->answered, result.tensors, t->request.output_count,
					   t->tolerance))
		sp_counter_add(&counters->shadow_alike, 1);
	else
		sp_counter_add(&counters->shadow_different, 1);
	sp_infer_result_fini(&result);
	sp_servable_release(&candidate);
}

static void run_all(void *context)
{
	sp_shadow *shadow = context;
	task *t;

	/* Linux sets the priority of the thread alone.  If that is forbidden, nothing changes. */
	(void)setpriority(PRIO_PROCESS, (id_t)gettid(), LOWEST_PRIORITY);
	while ((t = sp_queue_pop(shadow->queue)) != NULL) {
		if (!atomic_load(&shadow->closing))
			run(shadow, t);
		end_task(shadow, t);
	}
}

/* ------------------------------------------------------------------- its life */

sp_status sp_shadow_create(sp_shadow **out, sp_models *models, sp_error *err)
{
	sp_shadow *shadow = sp_alloc_zero(1, sizeof(*shadow));
	sp_status status;

	if (shadow == NULL)
		return sp_no_memory(err, "the shadow requests");
	shadow->models = models;
	shadow->sink = (sp_shadow_sink){offer, shadow};
	shadow->queue = sp_queue_create(MAX_WAITING);
	status = shadow->queue == NULL ? sp_no_memory(err, "the shadow requests")
				       : sp_thread_group_create(&shadow->thread, 1, "shadow",
								run_all, shadow, err);
	if (status != SP_OK) {
		sp_shadow_destroy(shadow);
		return status;
	}
	*out = shadow;
	return SP_OK;
}

const sp_shadow_sink *sp_shadow_get_sink(const sp_shadow *shadow)
{
	return &shadow->sink;
}

void sp_shadow_destroy(sp_shadow *shadow)
{
	if (shadow == NULL)
		return;
	atomic_store(&shadow->closing, true);
	if (shadow->queue != NULL)
		sp_queue_close(shadow->queue);
	sp_thread_group_destroy(shadow->thread);
	sp_queue_destroy(shadow->queue);
	sp_free(shadow);
}
