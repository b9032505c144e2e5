#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "storage/redis/redis_internal.h"

enum {
	MAX_BYTES = 1 << 30, /* of a batch, and of its replies */
	FIRST_CAPACITY = 16,
	MAX_FREE_BYTES = 8 << 20, /* a free batch with more is not stored */
	MAX_FREE_BATCHES = 64,
	HEAD_SIZE = 24,
	NS_PER_S = 1000000000,
};

/* ---- life ---- */

static sp_redis_batch *pop_free(sp_redis_client *client)
{
	sp_redis_batch *batch;

	pthread_mutex_lock(&client->lock);
	batch = client->free;
	if (batch != NULL) {
		client->free = batch->next;
		client->free_count--;
	}
	pthread_mutex_unlock(&client->lock);
	return batch;
}

sp_redis_batch *sp_redis_batch_create(sp_redis_client *client)
{
	sp_redis_batch *batch = pop_free(client);

	if (batch == NULL) {
		batch = sp_alloc_zero(1, sizeof(*batch));
		if (batch == NULL)
			return NULL;
		batch->client = client;
		sp_buffer_init(&batch->bytes, MAX_BYTES);
		sp_buffer_init(&batch->texts, MAX_BYTES);
		pthread_mutex_init(&batch->lock, NULL);
		sp_condition_init(&batch->done);
	}
	atomic_init(&batch->references, 1);
	return batch;
}

void sp_redis__batch_free(sp_redis_batch *batch)
{
	pthread_cond_destroy(&batch->done);
	pthread_mutex_destroy(&batch->lock);
	sp_buffer_fini(&batch->bytes);
	sp_buffer_fini(&batch->texts);
	sp_free(batch->commands);
	sp_free(batch->values);
	sp_free(batch);
}

static void reset(sp_redis_batch *batch)
{
	sp_buffer_clear(&batch->bytes);
	sp_buffer_clear(&batch->texts);
	batch->count = batch->arguments = batch->value_count = 0;
	batch->is_broken = batch->is_done = false;
	batch->reason[0] = '\0';
}

void sp_redis_batch_release(sp_redis_batch *batch)
{
	sp_redis_client *client;

	if (batch == NULL ||
	    atomic_fetch_sub_explicit(&batch->references, 1, memory_order_acq_rel) != 1)
		return;
	client = batch->client;
	if (batch->bytes.capacity + batch->texts.capacity > MAX_FREE_BYTES) {
		sp_redis__batch_free(batch);
		return;
	}
	reset(batch);
	pthread_mutex_lock(&client->lock);
	if (client->free_count < MAX_FREE_BATCHES) {
		batch->next = client->free;
		client->free = batch;
		client->free_count++;
		batch = NULL;
	}
	pthread_mutex_unlock(&client->lock);
	if (batch != NULL)
		sp_redis__batch_free(batch);
}

/* ---- commands ---- */

/* Makes room for one more item; false: out of memory. */
static bool grow(void **items, size_t count, size_t *capacity, size_t size)
{
	size_t more = *capacity != 0 ? *capacity * 2 : FIRST_CAPACITY;
	void *bigger;

	if (count < *capacity)
		return true;
	bigger = sp_alloc_resize(*items, more, size);
	if (bigger == NULL)
		return false;
	*items = bigger;
	*capacity = more;
	return true;
}

/* Writes "*12\r\n" and the like, at most HEAD_SIZE bytes; returns where it ends. */
static char *write_head(char *to, char mark, size_t number)
{
	char digits[20], *at = digits + sizeof(digits);
	size_t size;

	do {
		*--at = (char)('0' + number % 10);
		number /= 10;
	} while (number != 0);
	size = (size_t)(digits + sizeof(digits) - at);
	*to++ = mark;
	memcpy(to, at, size);
	memcpy(to + size, "\r\n", 2);
	return to + size + 2;
}

/* Removes the reserved bytes from `end` on. */
static void truncate_at(sp_buffer *bytes, const char *end)
{
	bytes->size = (size_t)(end - bytes->data);
	bytes->data[bytes->size] = '\0';
}

/* Completes the last command. */
static void end_command(sp_redis_batch *batch)
{
	sp_redis_command *last;

	if (batch->arguments != 0)
		batch->is_broken = true;
	if (batch->count == 0)
		return;
	last = &batch->commands[batch->count - 1];
	last->size = batch->bytes.size - last->offset;
}

void sp_redis_batch_begin(sp_redis_batch *batch, const void *key, size_t key_size, size_t count)
{
	void *commands = batch->commands;
	bool fits = grow(&commands, batch->count, &batch->capacity, sizeof(*batch->commands));
	char *to;

	batch->commands = commands;
	end_command(batch);
	if (!fits || batch->count == UINT32_MAX || count == 0) {
		batch->is_broken = true;
		return;
	}
	batch->commands[batch->count++] = (sp_redis_command){
		.offset = batch->bytes.size,
		.slot = key != NULL ? sp_redis_slot(key, key_size) : SP_REDIS_ANY_SLOT};
	batch->arguments = count;
	to = sp_buffer_reserve(&batch->bytes, HEAD_SIZE);
	if (to != NULL)
		truncate_at(&batch->bytes, write_head(to, '*', count));
}

void sp_redis_batch_add(sp_redis_batch *batch, const void *data, size_t size)
{
	char *to;

	if (batch->arguments == 0 || size > MAX_BYTES) {
		batch->is_broken = true;
		return;
	}
	batch->arguments--;
	to = sp_buffer_reserve(&batch->bytes, HEAD_SIZE + size + 2);
	if (to == NULL)
		return;
	to = write_head(to, '$', size);
	if (size != 0)
		memcpy(to, data, size);
	memcpy(to + size, "\r\n", 2);
	truncate_at(&batch->bytes, to + size + 2);
}

void sp_redis_batch_add_text(sp_redis_batch *batch, const char *text)
{
	sp_redis_batch_add(batch, text, strlen(text));
}

size_t sp_redis_batch_count(const sp_redis_batch *batch)
{
	return batch->count;
}

size_t sp_redis_batch_size(const sp_redis_batch *batch)
{
	return batch->bytes.size;
}

/* ---- replies ---- */

static bool stores_replies(const sp_redis_batch *batch)
{
	return batch->options.callbacks == NULL || batch->options.callbacks->on_value == NULL;
}

static void set_reason(sp_redis_batch *batch, const char *reason)
{
	if (batch->reason[0] == '\0')
		snprintf(batch->reason, sizeof(batch->reason), "%s", reason);
}

static void store_value(sp_redis_batch *batch, size_t command, const sp_redis_value *value)
{
	void *values = batch->values;
	sp_redis_value *stored;

	if (!grow(&values, batch->value_count, &batch->value_capacity, sizeof(*batch->values)) ||
	    batch->texts.failed) {
		batch->values = values;
		set_reason(batch, "no memory for the answers of Redis");
		batch->is_broken = true;
		return;
	}
	batch->values = values;
	if (value->depth == 0)
		batch->commands[command].reply = batch->value_count;
	stored = &batch->values[batch->value_count++];
	*stored = *value;
	stored->text = NULL;
	if (value->text == NULL)
		return;
	stored->integer = (int64_t)batch->texts.size; /* the text may still move */
	sp_buffer_append(&batch->texts, value->text, value->size);
	sp_buffer_append_char(&batch->texts, '\0');
}

void sp_redis__batch_on_value(sp_redis_batch *batch, size_t command, const sp_redis_value *value)
{
	if (stores_replies(batch))
		store_value(batch, command, value);
	else
		batch->options.callbacks->on_value(batch->options.owner, command, value);
}

static bool has_text(const sp_redis_value *value)
{
	return value->kind == SP_REDIS_STRING || value->kind == SP_REDIS_STATUS ||
	       value->kind == SP_REDIS_ERROR || value->kind == SP_REDIS_FAILED;
}

static void resolve_texts(sp_redis_batch *batch)
{
	if (batch->texts.failed) {
		set_reason(batch, "no memory for the answers of Redis");
		batch->is_broken = true;
	}
	for (size_t i = 0; i < batch->value_count && !batch->is_broken; i++)
		if (has_text(&batch->values[i])) {
			batch->values[i].text = batch->texts.data + batch->values[i].integer;
			batch->values[i].integer = 0;
		}
}

void sp_redis__batch_end_command(sp_redis_batch *batch, const char *error)
{
	if (error != NULL)
		set_reason(batch, error);
	if (--batch->in_flight != 0)
		return;
	if (stores_replies(batch))
		resolve_texts(batch);
	if (batch->options.callbacks != NULL)
		batch->options.callbacks->on_done(batch->options.owner);
	pthread_mutex_lock(&batch->lock);
	batch->is_done = true;
	pthread_mutex_unlock(&batch->lock);
	pthread_cond_broadcast(&batch->done);
	sp_redis__client_on_batch_done(batch->client);
	sp_redis_batch_release(batch);
}

void sp_redis__batch_fail(sp_redis_batch *batch, size_t command, const char *reason)
{
	const sp_redis_value value = {
		.kind = SP_REDIS_FAILED, .text = reason, .size = strlen(reason)};

	sp_redis__count(&batch->client->failures, 1);
	sp_redis__batch_on_value(batch, command, &value);
	sp_redis__batch_end_command(batch, reason);
}

const sp_redis_value *sp_redis_batch_reply(const sp_redis_batch *batch, size_t command)
{
	static const sp_redis_value none = {.kind = SP_REDIS_FAILED, .text = "no memory"};

	return batch->is_broken ? &none : &batch->values[batch->commands[command].reply];
}

/* ---- the caller ---- */

bool sp_redis__batch_start(sp_redis_batch *batch, const sp_redis_submit_options *options)
{
	end_command(batch);
	if (batch->is_broken || batch->bytes.failed)
		return false;
	batch->options = *options;
	batch->in_flight = batch->count;
	batch->next = NULL;
	atomic_fetch_add_explicit(&batch->references, 1, memory_order_relaxed);
	return true;
}

sp_status sp_redis_batch_submit(sp_redis_batch *batch, const sp_redis_submit_options *options,
				sp_error *err)
{
	if (batch->client->owner != getpid())
		return sp_error_set(err, SP_UNSUPPORTED,
				    "Redis cannot be used in a forked process");
	if (!sp_redis__batch_start(batch, options))
		return sp_no_memory(err, "commands for Redis");
	if (batch->count != 0) {
		sp_redis__client_submit(batch->client, batch);
		return SP_OK;
	}
	batch->in_flight = 1;
	sp_redis__batch_end_command(batch, NULL);
	return SP_OK;
}

sp_status sp_redis_batch_wait(sp_redis_batch *batch, int64_t deadline_ns, sp_error *err)
{
	const struct timespec until = {deadline_ns / NS_PER_S, deadline_ns % NS_PER_S};
	int fault = 0;
	bool is_done;

	pthread_mutex_lock(&batch->lock);
	while (!batch->is_done && fault == 0)
		fault = deadline_ns != 0
				? pthread_cond_timedwait(&batch->done, &batch->lock, &until)
				: pthread_cond_wait(&batch->done, &batch->lock);
	is_done = batch->is_done;
	pthread_mutex_unlock(&batch->lock);
	if (!is_done)
		return sp_error_set(err, SP_DEADLINE,
				    "the deadline has passed before Redis has answered");
	if (batch->reason[0] != '\0')
		return sp_error_set(
			err, SP_IO, "%s%s",
			strncmp(batch->reason, "Redis", 5) == 0 ? "" : "Redis: ", batch->reason);
	return SP_OK;
}

sp_status sp_redis_batch_run(sp_redis_batch *batch, const sp_redis_submit_options *options,
			     sp_error *err)
{
	SP_TRY(sp_redis_batch_submit(batch, options, err));
	return sp_redis_batch_wait(batch, options->deadline_ns, err);
}
