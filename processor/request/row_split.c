#include "processor/request/row_split.h"

#include <errno.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <string.h>

#include "base/alloc.h"
#include "base/thread_pool.h"
#include "engine/tensor/workspace.h"

/*
 * Every part but the first has the session number that it acquired, and the place of that number.
 * There are as many threads as there can be such parts.  The thread that takes a part copies its
 * rows of the inputs to the part's session; the thread of the request reads the outputs there, and
 * then gives the session back.
 *
 * Where processors are busy a thread may begin late.  The thread of the request takes those parts
 * itself that no other has taken when its own is done.  A job may so come to a thread when its part
 * is done, or even belongs to the next request of that number, which it then may take as well.
 */
typedef struct part {
	sp_thread_pool_job job;
	atomic_bool taken; /* from then on it belongs to the thread that set it */
	sem_t done;        /* when another thread has taken it */
	size_t number;
	struct part *next; /* the part with the rows behind */

	sp_session *session;
	const sp_endpoint *endpoint;
	const sp_run *whole;
	int64_t first_row, rows;
	const sp_tensor **fetches;
	sp_status status;
	sp_error err;
} part;

struct sp_splitter {
	sp_session_group *group;
	sp_thread_pool *threads;
	size_t least_rows, least_part;
	size_t count; /* of sessions */
	part parts[];
};

/* --------------------------------------------------------------------- one part */

static sp_status no_memory(sp_error *err)
{
	return sp_error_set(err, SP_NO_MEMORY, "the request needs more memory than it may use");
}

/* The part's rows of an input.  The first part reads them in place. */
static sp_status take_rows(const part *p, const sp_tensor *from, sp_tensor *out, sp_error *err)
{
	size_t row = from->count / (size_t)from->shape.dims[0] * sp_dtype_size(from->dtype);
	sp_shape shape = from->shape;

	shape.dims[0] = p->rows;
	if (p->first_row == 0) {
		*out = *from;
		out->shape = shape;
		out->count = from->count / (size_t)from->shape.dims[0] * (size_t)p->rows;
		return SP_OK;
	}
	SP_TRY(sp_workspace_tensor(sp_session_workspace(p->session), out, from->dtype, &shape,
				   err));
	if (out->count != 0)
		memcpy(out->data, (const char *)from->data + (size_t)p->first_row * row,
		       (size_t)p->rows * row);
	return SP_OK;
}

static sp_status run_part(part *p, sp_error *err)
{
	sp_workspace *workspace = sp_session_workspace(p->session);
	size_t inputs = p->endpoint->signature.input_count;
	size_t outputs = p->endpoint->signature.output_count;
	sp_tensor *feeds = sp_workspace_bytes(workspace, inputs, sizeof(*feeds));
	sp_run run = *p->whole;

	p->fetches = sp_workspace_bytes(workspace, outputs, sizeof(*p->fetches));
	if (feeds == NULL || p->fetches == NULL)
		return no_memory(err);
	for (size_t i = 0; i < inputs; i++)
		SP_TRY(take_rows(p, &p->whole->feeds[i], &feeds[i], err));
	run.feeds = feeds;
	if (p->first_row != 0)
		run.trace = NULL;
	return sp_session_run(p->session, &run, p->fetches, err);
}

static void run_job(sp_thread_pool_job *job, bool cancelled)
{
	part *p = (part *)job;

	(void)cancelled; /* no request is running then */
	if (atomic_exchange(&p->taken, true))
		return;
	p->status = run_part(p, &p->err);
	sem_post(&p->done);
}

/* ------------------------------------------------------------------- all parts */

/* The rows that every input has, if a request with these inputs may be split; else 0. */
static int64_t common_rows(const sp_splitter *splitter, const sp_endpoint *endpoint,
			   const sp_tensor *inputs)
{
	const sp_signature *signature = &endpoint->signature;
	int64_t rows = 0;

	for (size_t i = 0; i < signature->input_count; i++) {
		const sp_tensor *input = &inputs[i];

		if (!sp_tensor_is_set(input) || input->shape.rank < 1 ||
		    !sp_partial_shape_matches(&signature->inputs[i].shape, &input->shape) ||
		    (i != 0 && input->shape.dims[0] != rows))
			return 0;
		rows = input->shape.dims[0];
	}
	return rows >= (int64_t)splitter->least_rows && rows >= (int64_t)splitter->least_part * 2
		       ? rows
		       : 0;
}

/* Acquires idle sessions for up to `most` parts; *count is how many. */
static part *acquire_parts(sp_splitter *splitter, size_t most, size_t *count)
{
	part *first = NULL;
	size_t number;

	for (*count = 0; *count < most && sp_session_group_try_acquire(&number, splitter->group);
	     ++*count) {
		splitter->parts[number].next = first;
		first = &splitter->parts[number];
	}
	return first;
}

static void release_parts(sp_splitter *splitter, part *p)
{
	while (p != NULL) {
		part *next = p->next;

		sp_session_reset(p->session);
		sp_session_group_release(splitter->group, p->number);
		p = next;
	}
}

static void wait_for(part *p)
{
	while (sem_wait(&p->done) != 0 && errno == EINTR)
		continue;
}

/* Divides the rows evenly, and hands over all parts but `own`. */
static sp_status run_parts(const sp_split_target *target, part *own, size_t count, int64_t rows,
			   sp_error *err)
{
	int64_t i = 0;

	for (part *p = own; p != NULL; p = p->next, i++) {
		p->first_row = rows * i / (int64_t)count;
		p->rows = rows * (i + 1) / (int64_t)count - p->first_row;
		p->endpoint = own->endpoint;
		p->whole = own->whole;
		if (p == own)
			continue;
		p->session = sp_session_set_get(target->sessions, p->number);
		atomic_store(&p->taken, false);
		(void)sp_thread_pool_try_add(target->splitter->threads, &p->job);
	}
	own->status = run_part(own, &own->err);
	for (part *p = own->next; p != NULL; p = p->next) {
		if (atomic_exchange(&p->taken, true))
			wait_for(p);
		else
			p->status = run_part(p, &p->err);
	}
	for (part *p = own; p != NULL; p = p->next)
		if (p->status != SP_OK)
			return sp_error_set(err, p->status, "%s", p->err.text);
	return SP_OK;
}

/* ------------------------------------------------------------------------ joining */

/* Texts of the part `from` live in its session: copies them. */
static sp_status keep_texts(sp_bytes *texts, size_t count, sp_workspace *workspace, sp_error *err)
{
	for (size_t i = 0; i < count; i++) {
		char *copy = sp_workspace_bytes(workspace, texts[i].size, 1);

		if (copy == NULL && texts[i].size != 0)
			return no_memory(err);
		if (texts[i].size != 0)
			memcpy(copy, texts[i].data, texts[i].size);
		texts[i].data = copy;
	}
	return SP_OK;
}

/* Output i of all parts, one after the other. */
static sp_status join_output(const part *own, size_t i, int64_t rows, sp_tensor *out, sp_error *err)
{
	sp_workspace *workspace = sp_session_workspace(own->session);
	sp_shape shape = own->fetches[i]->shape;
	char *to;

	shape.dims[0] = rows;
	SP_TRY(sp_workspace_tensor(workspace, out, own->fetches[i]->dtype, &shape, err));
	to = out->data;
	for (const part *p = own; p != NULL; p = p->next) {
		const sp_tensor *from = p->fetches[i];
		size_t size = from->count * sp_dtype_size(from->dtype);

		shape.dims[0] = p->rows;
		if (from->dtype != out->dtype || !sp_shape_equal(&from->shape, &shape))
			return sp_error_set(err, SP_INTERNAL,
					    "the parts of output %zu do not fit together", i);
		if (size != 0)
			memcpy(to, from->data, size);
		if (from->dtype == SP_STRING && p != own)
			SP_TRY(keep_texts((sp_bytes *)to, from->count, workspace, err));
		to += size;
	}
	return SP_OK;
}

/* Outputs that no input reaches are the same tensor in all parts. */
static sp_status join(const part *own, int64_t rows, const sp_tensor **fetches, sp_error *err)
{
	size_t count = own->endpoint->signature.output_count;
	sp_tensor *joined = sp_workspace_bytes(sp_session_workspace(own->session), count,
					       sizeof(*joined));

	if (joined == NULL)
		return no_memory(err);
	for (size_t i = 0; i < count; i++) {
		fetches[i] = own->fetches[i];
		if (fetches[i] == NULL || fetches[i] == own->next->fetches[i])
			continue;
		SP_TRY(join_output(own, i, rows, &joined[i], err));
		fetches[i] = &joined[i];
	}
	return SP_OK;
}

sp_status sp_split_run(const sp_split_target *target, sp_session *session,
		       const sp_endpoint *endpoint, const sp_run *run, const sp_tensor **fetches,
		       sp_error *err)
{
	sp_splitter *splitter = target->splitter;
	int64_t rows = common_rows(splitter, endpoint, run->feeds);
	size_t others = 0;
	part own = {.session = session, .endpoint = endpoint, .whole = run};
	sp_status status;

	if (rows != 0)
		own.next = acquire_parts(splitter, (size_t)rows / splitter->least_part - 1,
					 &others);
	if (others == 0)
		return sp_session_run(session, run, fetches, err);
	status = run_parts(target, &own, others + 1, rows, err);
	if (status == SP_OK)
		status = join(&own, rows, fetches, err);
	release_parts(splitter, own.next);
	return status;
}

/* ------------------------------------------------------------------------ set up */

sp_status sp_splitter_create(sp_splitter **out, sp_session_group *group, size_t least_rows,
			     sp_error *err)
{
	size_t count = sp_session_group_count(group);
	sp_splitter *splitter = sp_alloc_zero(1, sizeof(*splitter) +
							 count * sizeof(splitter->parts[0]));
	sp_status status;

	if (splitter == NULL)
		return sp_no_memory(err, "parts of requests");
	splitter->group = group;
	splitter->least_rows = least_rows;
	/* A row alone could broadcast: engine/rows/row_fact.h. */
	splitter->least_part = least_rows > 4 ? (least_rows + 1) / 2 : 2;
	splitter->count = count;
	for (size_t i = 0; i < count; i++) {
		splitter->parts[i] = (part){.job = {run_job}, .number = i};
		atomic_init(&splitter->parts[i].taken, true);
		sem_init(&splitter->parts[i].done, 0, 0);
	}
	status = count > 1 ? sp_thread_pool_create(&splitter->threads, count - 1, count, "sp-part",
						   err)
			   : SP_OK;
	if (status != SP_OK) {
		sp_splitter_destroy(splitter);
		return status;
	}
	*out = splitter;
	return SP_OK;
}

void sp_splitter_destroy(sp_splitter *splitter)
{
	if (splitter == NULL)
		return;
	sp_thread_pool_destroy(splitter->threads);
	for (size_t i = 0; i < splitter->count; i++)
		sem_destroy(&splitter->parts[i].done);
	sp_free(splitter);
}
