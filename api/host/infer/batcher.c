#include "api/host/infer/batcher.h"

#include <linux/futex.h>
#include <pthread.h>
#include <stdbool.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "api/host/infer/batch_join.h"
#include "api/host/infer/tensors.h"
#include "base/alloc.h"
#include "base/arena.h"
#include "base/clock.h"
#include "base/log.h"

/*
 * Waiting requests are a list of batches in the order of their first requests; a batch is a list of
 * requests whose first one, the head, has the batch's own members.  All of it is on the stacks of
 * the threads that wait.
 */

enum { FIRST_ARENA = 64 << 10, KNOWN_SIGNATURES = 1024 };

/* A cancelled request does not wake the thread that waits, so this checks for it so often. */
#define CANCEL_CHECK_NS INT64_C(20000000)

/* If the head of a batch has left, the batch's other requests check this long after its timeout. */
#define HEIR_DELAY_NS INT64_C(1000000)

/*
 * Joined and separate answers may differ by this relative difference, as the engine may add up in
 * another order.
 */
#define TOLERANCE 1e-5

#define OTHER_ROWS "an output has other rows than the inputs"

typedef struct runner {
	struct runner *next; /* of the idle ones */
	sp_arena *arena;     /* for a run */
} runner;

/*
 * WAITS: the task is in a batch that waits.  LEADS: its thread runs the batch.  TAKEN: the thread
 * of another task runs it.  DONE: its result and status are set.  The thread of a task sleeps on
 * the state (futex(2)), so that a change wakes this thread only and needs no lock.  A task's memory
 * may be gone as soon as the state is DONE.
 */
typedef enum task_state { WAITS, TAKEN, LEADS, DONE } task_state;

typedef struct task {
	const sp_servable *servable;
	const sp_infer_request *request;
	const sp_infer_limits *limits;
	const sp_batching_config *config;
	size_t rows;  /* 0: it is run alone */
	uint64_t key; /* of the signature */
	int64_t since_ns;
	sp_infer_result *result;
	sp_error *err;
	sp_status status;

	/* The lock protects these while the state is WAITS. */
	atomic_uint state;
	runner *runner;    /* when it leads */
	struct task *next; /* of the batch */
	int64_t ready_ns;  /* when its batch may run; 0: at once */

	bool is_head; /* the members below are set */
	struct task *next_head;
	struct task *last;
	size_t batch_rows;
	bool is_full; /* nothing more is added, and it may run at once */
} task;

/* What is known of a signature, in the low bits of its key. */
typedef enum knowledge { UNKNOWN, JOINABLE, NOT_JOINABLE, KNOWLEDGE_MASK } knowledge;

struct sp_batcher {
	sp_budget *budget;
	sp_batcher_hooks hooks;
	atomic_uint_least64_t known[KNOWN_SIGNATURES]; /* by key; a later one replaces it */

	pthread_mutex_t lock; /* protects what follows */
	task *first;          /* head of the oldest batch */
	runner *idle;

	size_t runner_count;
	runner runners[];
};

/* ------------------------------------------------------------ known signatures */

static uint64_t add_text(uint64_t key, const char *text)
{
	for (; *text != '\0'; text++)
		key = (key ^ (unsigned char)*text) * UINT64_C(0x100000001b3);
	return key * UINT64_C(0x100000001b3);
}

/* A hash of the version, the signature, the requested outputs and the number of inputs. */
static uint64_t key_of(const sp_servable *servable, const sp_infer_request *request)
{
	uint64_t key = add_text(UINT64_C(0xcbf29ce484222325), servable->model->name);

	key = (key ^ servable->served->number) * UINT64_C(0x9e3779b97f4a7c15);
	key = (key ^ (uint64_t)servable->version) * UINT64_C(0x9e3779b97f4a7c15);
	key = add_text(key, request->signature->name);
	for (size_t i = 0; i < request->output_count; i++)
		key = add_text(key, request->outputs[i]);
	key = (key ^ request->input_count) * UINT64_C(0x9e3779b97f4a7c15);
	return (key ^ key >> 32) & ~(uint64_t)KNOWLEDGE_MASK;
}

static atomic_uint_least64_t *place_of(sp_batcher *batcher, uint64_t key)
{
	return &batcher->known[key / (KNOWLEDGE_MASK + 1) % KNOWN_SIGNATURES];
}

static knowledge look_up(sp_batcher *batcher, uint64_t key)
{
	uint64_t found = atomic_load_explicit(place_of(batcher, key), memory_order_relaxed);

	return (found ^ key) <= KNOWLEDGE_MASK ? (knowledge)(found & KNOWLEDGE_MASK) : UNKNOWN;
}

static void remember(sp_batcher *batcher, const task *t, knowledge what, const char *why)
{
	const char *outer;

	atomic_store_explicit(place_of(batcher, t->key), t->key | (uint64_t)what,
			      memory_order_relaxed);
	if (what != NOT_JOINABLE)
		return;
	outer = sp_log_set_subject(t->servable->model->name);
	sp_log(SP_LOG_WARNING, "version %lld: requests of signature %s are not batched: %s",
	       (long long)t->servable->version, t->request->signature->name, why);
	sp_log_set_subject(outer);
}

/* --------------------------------------------------------------------- running */

static size_t largest_batch(const sp_batching_config *config)
{
	int64_t largest = config->enable_large_batch_splitting &&
					  config->max_execution_batch_size != 0
				  ? config->max_execution_batch_size
				  : config->max_batch_size;

	return (size_t)largest;
}

static size_t padded_rows(const sp_batching_config *config, size_t rows)
{
	for (size_t i = 0; i < config->allowed_count; i++)
		if ((size_t)config->allowed_batch_sizes[i] >= rows)
			return (size_t)config->allowed_batch_sizes[i];
	return rows;
}

static void run_alone(task *t)
{
	int64_t now_ns = sp_clock_now_ns();

	t->status = sp_infer_call(t->result, t->servable->handle, t->request, t->limits, &now_ns,
				  t->err);
}

/* A joined run may take as long as the most patient of its requests. */
static sp_infer_limits widest_limits(task *const *tasks, size_t count)
{
	sp_infer_limits limits = *tasks[0]->limits;

	if (count > 1)
		limits.cancelled = NULL;
	for (size_t i = 1; i < count; i++) {
		int64_t deadline = tasks[i]->limits->deadline_ns;

		if (deadline == 0 || limits.deadline_ns == 0)
			limits.deadline_ns = 0;
		else if (deadline > limits.deadline_ns)
			limits.deadline_ns = deadline;
	}
	return limits;
}

/*
 * Runs the rows of all tasks and sets parts[i] to the outputs of tasks[i].  *fits: false if it
 * fails because an output has other rows than the inputs.
 */
static sp_status run_joined(sp_infer_result *const *parts, task *const *tasks, size_t count,
			    sp_arena *arena, bool *fits)
{
	const sp_infer_request **requests = sp_arena_array(arena, count, sizeof(*requests));
	size_t *rows = sp_arena_array(arena, count, sizeof(*rows)), total = 0, padded;
	sp_infer_limits limits = widest_limits(tasks, count);
	sp_infer_request joined;
	sp_infer_result whole;
	sp_status status;
	int64_t now_ns;

	*fits = true;
	if (requests == NULL || rows == NULL)
		return SP_NO_MEMORY;
	for (size_t i = 0; i < count; i++) {
		requests[i] = tasks[i]->request;
		total += rows[i] = tasks[i]->rows;
	}
	padded = padded_rows(tasks[0]->config, total);
	if (!sp_batch_join(&joined, requests, count, padded, arena))
		return SP_NO_MEMORY;
	now_ns = sp_clock_now_ns();
	SP_TRY(sp_infer_call(&whole, tasks[0]->servable->handle, &joined, &limits, &now_ns, NULL));
	*fits = sp_batch_has_rows(&whole, padded);
	if (!*fits)
		status = SP_UNSUPPORTED;
	else
		status = sp_batch_split(parts, rows, count, &whole) ? SP_OK : SP_NO_MEMORY;
	sp_infer_result_fini(&whole);
	return status;
}

static bool are_alike(const sp_infer_result *a, const sp_infer_result *b)
{
	return a->count == b->count &&
	       sp_tensor_lists_are_alike(a->tensors, b->tensors, a->count, TOLERANCE);
}

/* Runs each task alone, then all joined, and remembers whether the answers are the same. */
static void try_joining(sp_batcher *batcher, task *const *tasks, size_t count, sp_arena *arena)
{
	sp_infer_result *results = sp_arena_zeros(arena, count, sizeof(*results));
	sp_infer_result **parts = sp_arena_array(arena, count, sizeof(sp_infer_result *));
	bool all_ran = results != NULL && parts != NULL, alike = true, fits;
	sp_status status;

	for (size_t i = 0; i < count; i++) {
		run_alone(tasks[i]);
		all_ran &= tasks[i]->status == SP_OK;
	}
	if (!all_ran)
		return;
	for (size_t i = 0; i < count; i++)
		parts[i] = &results[i];
	status = run_joined(parts, tasks, count, arena, &fits);
	for (size_t i = 0; status == SP_OK && i < count; i++)
		alike &= are_alike(tasks[i]->result, parts[i]);
	if (status == SP_OK)
		remember(batcher, tasks[0], alike ? JOINABLE : NOT_JOINABLE,
			 "the answers would be others");
	else if (!fits)
		remember(batcher, tasks[0], NOT_JOINABLE, OTHER_ROWS);
	else if (status == SP_INVALID || status == SP_UNSUPPORTED || status == SP_INTERNAL)
		remember(batcher, tasks[0], NOT_JOINABLE, "joined requests fail");
	for (size_t i = 0; i < count; i++)
		sp_infer_result_fini(&results[i]);
}

/* Runs the tasks joined.  If that fails, which one bad request can cause, each runs alone. */
static void join(sp_batcher *batcher, task *const *tasks, size_t count, sp_arena *arena)
{
	sp_infer_result **parts = sp_arena_array(arena, count, sizeof(sp_infer_result *));
	sp_status status = parts != NULL ? SP_OK : SP_NO_MEMORY;
	bool fits = true;

	for (size_t i = 0; status == SP_OK && i < count; i++)
		parts[i] = tasks[i]->result;
	if (status == SP_OK)
		status = run_joined(parts, tasks, count, arena, &fits);
	if (!fits)
		remember(batcher, tasks[0], NOT_JOINABLE, OTHER_ROWS);
	if (status != SP_OK)
		sp_counter_add(&tasks[0]->servable->model->counters.batch_reruns, 1);
	for (size_t i = 0; i < count; i++)
		if (status == SP_OK)
			tasks[i]->status = SP_OK;
		else
			run_alone(tasks[i]);
}

/* Sets `out` to the tasks that may still run; the others get the status that says why not. */
static size_t choose_tasks(task **out, task *head, int64_t now)
{
	size_t count = 0;

	for (task *t = head; t != NULL; t = t->next) {
		sp_histogram_add(&t->servable->model->counters.batch_wait, now - t->since_ns);
		t->status = sp_infer_check(t->limits, now, t->err);
		if (t->status == SP_OK)
			out[count++] = t;
	}
	return count;
}

static void run_batch(sp_batcher *batcher, task *head, sp_arena *arena)
{
	sp_model_counters *counters = &head->servable->model->counters;
	knowledge known = look_up(batcher, head->key);
	size_t count = 0, rows = 0;
	task **tasks;

	for (task *t = head; t != NULL; t = t->next)
		count++;
	tasks = sp_arena_array(arena, count, sizeof(*tasks));
	if (tasks == NULL) {
		for (task *t = head; t != NULL; t = t->next)
			t->status = sp_no_memory(t->err, "a batch");
		return;
	}
	count = choose_tasks(tasks, head, sp_clock_now_ns());
	if (count == 0)
		return;
	for (size_t i = 0; i < count; i++)
		rows += tasks[i]->rows;
	sp_counter_add(&counters->batches, 1);
	sp_counter_add(&counters->batch_requests, count);
	sp_counter_add(&counters->batch_rows, rows);
	sp_size_histogram_add(&counters->run_rows, (int64_t)rows);
	if (known == NOT_JOINABLE || rows == 0 ||
	    (count == 1 && padded_rows(head->config, rows) == rows))
		for (size_t i = 0; i < count; i++)
			run_alone(tasks[i]);
	else if (known == JOINABLE)
		join(batcher, tasks, count, arena);
	else
		try_joining(batcher, tasks, count, arena);
}

/* ------------------------------------------------------- waiting; the lock is held */

static void unlink_head(sp_batcher *batcher, const task *head, task *instead)
{
	task **at = &batcher->first;

	while (*at != head)
		at = &(*at)->next_head;
	*at = instead != NULL ? instead : head->next_head;
}

static void set_and_wake(task *t, task_state state)
{
	atomic_uint *at = &t->state;

	atomic_store(at, state);
	/* The task's memory may be gone by now; the kernel uses only its address. */
	syscall(SYS_futex, at, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
}

/* Gives the oldest batches that may run to idle runners.  `self` is the caller's task, or NULL. */
static void dispatch(sp_batcher *batcher, task *self, int64_t now)
{
	task **at = &batcher->first, *head;

	while (batcher->idle != NULL && (head = *at) != NULL) {
		if (!head->is_full && head->ready_ns > now) {
			at = &head->next_head;
			continue;
		}
		*at = head->next_head;
		for (task *t = head->next; t != NULL; t = t->next)
			atomic_store(&t->state, TAKEN);
		head->runner = batcher->idle;
		batcher->idle = head->runner->next;
		if (head == self)
			atomic_store(&head->state, LEADS);
		else
			set_and_wake(head, LEADS);
	}
}

/*
 * The batch that the task may join, or NULL.  *waiting is set to the number of batches of its
 * signature.
 */
static task *find_batch(const sp_batcher *batcher, const task *t, size_t *waiting)
{
	task *found = NULL;

	*waiting = 0;
	for (task *head = batcher->first; head != NULL; head = head->next_head) {
		if (head->rows == 0 || head->servable->handle != t->servable->handle ||
		    head->request->signature != t->request->signature)
			continue;
		(*waiting)++;
		if (head->is_full || !sp_batch_are_alike(head->request, t->request))
			continue;
		if (head->batch_rows + t->rows <= largest_batch(t->config))
			found = head;
		else
			head->is_full = true;
	}
	return found;
}

static void start_batch(sp_batcher *batcher, task *t)
{
	int64_t timeout_ns = t->config->batch_timeout_micros * 1000;
	task **at = &batcher->first;

	t->is_head = true;
	t->last = t;
	t->batch_rows = t->rows;
	t->is_full = t->rows == 0;
	t->ready_ns = timeout_ns != 0 ? t->since_ns + timeout_ns : 0;
	while (*at != NULL)
		at = &(*at)->next_head;
	*at = t;
}

static sp_status enqueue(sp_batcher *batcher, task *t)
{
	size_t waiting = 0;
	task *head = t->rows != 0 ? find_batch(batcher, t, &waiting) : NULL;

	if (head != NULL) {
		head->last->next = t;
		head->last = t;
		head->batch_rows += t->rows;
		t->ready_ns = head->ready_ns;
	} else if (waiting >= (size_t)t->config->max_enqueued_batches) {
		return sp_error_set(t->err, SP_BUSY,
				    "The batch scheduling queue to which this task was submitted "
				    "is full; %zu batches of signature %s wait",
				    waiting, t->request->signature->name);
	} else {
		start_batch(batcher, t);
		head = t;
	}
	head->is_full |= head->batch_rows >= largest_batch(t->config);
	return SP_OK;
}

static task *head_of(const sp_batcher *batcher, const task *t)
{
	for (task *head = batcher->first; head != NULL; head = head->next_head)
		for (const task *other = head; other != NULL; other = other->next)
			if (other == t)
				return head;
	return NULL;
}

/* Removes a waiting task from its batch.  If it was the head, the next task becomes the head. */
static void leave(sp_batcher *batcher, task *t)
{
	task *head = head_of(batcher, t), *before = head;

	if (t == head && t->next == NULL) {
		unlink_head(batcher, t, NULL);
	} else if (t == head) {
		task *heir = t->next;

		heir->is_head = true;
		heir->next_head = t->next_head;
		heir->last = t->last;
		heir->batch_rows = t->batch_rows - t->rows;
		heir->is_full = t->is_full;
		unlink_head(batcher, t, heir);
	} else {
		while (before->next != t)
			before = before->next;
		before->next = t->next;
		head->batch_rows -= t->rows;
		if (head->last == t)
			head->last = before;
	}
}

/* The time at which a waiting task must check again. */
static int64_t next_check(const task *t, int64_t now)
{
	int64_t ready = t->ready_ns + (t->is_head ? 0 : HEIR_DELAY_NS);
	int64_t next = t->limits->deadline_ns != 0 ? t->limits->deadline_ns : INT64_MAX;

	if (t->limits->cancelled != NULL && now + CANCEL_CHECK_NS < next)
		next = now + CANCEL_CHECK_NS;
	/* Once the batch is ready, the next idle runner takes it. */
	if (ready > now && ready < next)
		next = ready;
	return next;
}

/* ------------------------------------------------------------------ one request */

/* Sleeps while the task has this state, at most until `until_ns`. */
static void sleep_in(task *t, task_state state, int64_t until_ns)
{
	const struct timespec until = {until_ns / 1000000000, until_ns % 1000000000};

	syscall(SYS_futex, &t->state, FUTEX_WAIT_BITSET_PRIVATE, state,
		until_ns != INT64_MAX ? &until : NULL, NULL, FUTEX_BITSET_MATCH_ANY);
}

/*
 * Checks a waiting task's time and whether its batch may run now.  On an error the task has left
 * its batch.
 */
static sp_status check_waiting(sp_batcher *batcher, task *t, int64_t *next_ns)
{
	int64_t now = sp_clock_now_ns();
	sp_status status = SP_OK;

	pthread_mutex_lock(&batcher->lock);
	if (atomic_load(&t->state) == WAITS) {
		status = sp_infer_check(t->limits, now, t->err);
		if (status != SP_OK)
			leave(batcher, t);
		else
			dispatch(batcher, t, now);
		*next_ns = next_check(t, now);
	}
	pthread_mutex_unlock(&batcher->lock);
	return status;
}

/* Sleeps until the task is done or leads, or has left. */
static sp_status wait(sp_batcher *batcher, task *t, int64_t next_ns)
{
	sp_status status = SP_OK;
	unsigned state;

	if (batcher->hooks.pause != NULL)
		batcher->hooks.pause(batcher->hooks.context);
	while (status == SP_OK && (state = atomic_load(&t->state)) != LEADS && state != DONE) {
		sleep_in(t, (task_state)state, state == WAITS ? next_ns : INT64_MAX);
		if (atomic_load(&t->state) == WAITS)
			status = check_waiting(batcher, t, &next_ns);
	}
	if (batcher->hooks.resume != NULL)
		batcher->hooks.resume(batcher->hooks.context);
	return status;
}

static void lead(sp_batcher *batcher, task *head)
{
	runner *r = head->runner;
	task *next;

	run_batch(batcher, head, r->arena);
	sp_arena_reset(r->arena);
	pthread_mutex_lock(&batcher->lock);
	r->next = batcher->idle;
	batcher->idle = r;
	dispatch(batcher, NULL, sp_clock_now_ns());
	pthread_mutex_unlock(&batcher->lock);
	for (task *t = head->next; t != NULL; t = next) {
		next = t->next;
		set_and_wake(t, DONE);
	}
}

static sp_status submit(sp_batcher *batcher, task *t)
{
	int64_t next_ns = 0;
	sp_status status;

	t->since_ns = sp_clock_now_ns();
	pthread_mutex_lock(&batcher->lock);
	status = enqueue(batcher, t);
	if (status == SP_OK) {
		dispatch(batcher, t, t->since_ns);
		next_ns = next_check(t, t->since_ns);
	}
	pthread_mutex_unlock(&batcher->lock);
	SP_TRY(status);
	if (atomic_load(&t->state) != LEADS)
		SP_TRY(wait(batcher, t, next_ns));
	if (atomic_load(&t->state) == LEADS)
		lead(batcher, t);
	return t->status;
}

/*
 * Runs the pieces of a large request one after the other.  *fits is set to false if it fails
 * because an output has other rows than the inputs.
 */
static sp_status run_pieces(sp_batcher *batcher, const task *whole, sp_infer_result *pieces,
			    size_t largest, sp_arena *arena, bool *fits)
{
	for (size_t first = 0; first < whole->rows; first += largest) {
		size_t left = whole->rows - first;
		task piece = *whole;
		sp_infer_request request;

		piece.rows = left < largest ? left : largest;
		piece.request = &request;
		piece.result = &pieces[first / largest];
		if (!sp_batch_slice(&request, whole->request, first, piece.rows, arena))
			return sp_no_memory(whole->err, "a large request");
		SP_TRY(submit(batcher, &piece));
		*fits = sp_batch_has_rows(piece.result, piece.rows);
		if (!*fits)
			return SP_UNSUPPORTED;
	}
	return SP_OK;
}

static sp_status run_divided(sp_batcher *batcher, task *whole, sp_arena *arena, bool *fits)
{
	size_t largest = largest_batch(whole->config),
	       count = (whole->rows + largest - 1) / largest;
	sp_infer_result *pieces = sp_arena_zeros(arena, count, sizeof(*pieces));
	sp_status status;

	*fits = true;
	if (pieces == NULL)
		return sp_no_memory(whole->err, "a large request");
	status = run_pieces(batcher, whole, pieces, largest, arena, fits);
	if (status == SP_OK && !sp_batch_gather(whole->result, pieces, count, batcher->budget))
		status = sp_no_memory(whole->err, "a large answer");
	for (size_t i = 0; i < count; i++)
		sp_infer_result_fini(&pieces[i]);
	return status;
}

/* Answers by a run of the undivided request, and remembers whether pieces give the same answer. */
static sp_status try_splitting(sp_batcher *batcher, task *whole, sp_arena *arena)
{
	sp_infer_result divided = {0};
	task alone = *whole, copy = *whole;
	sp_status status;
	bool fits;

	alone.rows = 0;
	SP_TRY(submit(batcher, &alone));
	copy.result = &divided;
	copy.err = NULL;
	status = run_divided(batcher, &copy, arena, &fits);
	if (status == SP_OK)
		remember(batcher, whole,
			 are_alike(whole->result, &divided) ? JOINABLE : NOT_JOINABLE,
			 "the answers would be others");
	else if (!fits)
		remember(batcher, whole, NOT_JOINABLE, OTHER_ROWS);
	sp_infer_result_fini(&divided);
	return SP_OK;
}

static sp_status run_large(sp_batcher *batcher, task *whole)
{
	sp_arena *arena = sp_arena_create(FIRST_ARENA);
	sp_status status;
	bool fits = true;

	if (arena == NULL)
		return sp_no_memory(whole->err, "a large request");
	if (look_up(batcher, whole->key) == UNKNOWN)
		status = try_splitting(batcher, whole, arena);
	else
		status = run_divided(batcher, whole, arena, &fits);
	sp_arena_destroy(arena);
	if (fits)
		return status;
	remember(batcher, whole, NOT_JOINABLE, OTHER_ROWS);
	whole->rows = 0;
	return submit(batcher, whole);
}

sp_status sp_batcher_run(sp_batcher *batcher, const sp_servable *servable,
			 const sp_infer_request *request, const sp_infer_limits *limits,
			 sp_infer_result *result, sp_error *err)
{
	const sp_batching_config *config = &servable->served->batching;
	task t = {.servable = servable,
		  .request = request,
		  .limits = limits,
		  .config = config,
		  .rows = sp_batch_rows(request),
		  .key = key_of(servable, request),
		  .result = result,
		  .err = err};

	if (t.rows > (size_t)config->max_batch_size && !config->enable_large_batch_splitting)
		return sp_error_set(err, SP_INVALID,
				    "Task size %zu is larger than maximum input batch size %lld",
				    t.rows, (long long)config->max_batch_size);
	if (look_up(batcher, t.key) == NOT_JOINABLE)
		t.rows = 0;
	return t.rows > largest_batch(config) ? run_large(batcher, &t) : submit(batcher, &t);
}

size_t sp_batcher_waiting(sp_batcher *batcher)
{
	size_t count = 0;

	pthread_mutex_lock(&batcher->lock);
	for (const task *head = batcher->first; head != NULL; head = head->next_head)
		for (const task *t = head; t != NULL; t = t->next)
			count++;
	pthread_mutex_unlock(&batcher->lock);
	return count;
}

/* ----------------------------------------------------------------------- its life */

sp_status sp_batcher_create(sp_batcher **out, size_t runners, sp_budget *budget,
			    const sp_batcher_hooks *hooks, sp_error *err)
{
	sp_batcher *batcher = sp_alloc_zero(1, sizeof(*batcher) + runners * sizeof(runner));

	if (batcher == NULL)
		return sp_no_memory(err, "the batches");
	batcher->budget = budget;
	if (hooks != NULL)
		batcher->hooks = *hooks;
	pthread_mutex_init(&batcher->lock, NULL);
	for (; batcher->runner_count < runners; batcher->runner_count++) {
		runner *r = &batcher->runners[batcher->runner_count];

		r->arena = sp_arena_create(FIRST_ARENA);
		if (r->arena == NULL) {
			sp_batcher_destroy(batcher);
			return sp_no_memory(err, "the batches");
		}
		sp_arena_set_budget(r->arena, budget);
		r->next = batcher->idle;
		batcher->idle = r;
	}
	*out = batcher;
	return SP_OK;
}

void sp_batcher_destroy(sp_batcher *batcher)
{
	if (batcher == NULL)
		return;
	for (size_t i = 0; i < batcher->runner_count; i++)
		sp_arena_destroy(batcher->runners[i].arena);
	pthread_mutex_destroy(&batcher->lock);
	sp_free(batcher);
}
