#include <inttypes.h>
#include <librdkafka/rdkafka.h>
#include <poll.h>
#include <stdatomic.h>
#include <stdio.h>
#include <sys/eventfd.h>
#include <time.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/log_limit.h"
#include "row_stream/row_source.h"

enum {
	BATCH = 16,        /* messages taken from librdkafka's queue at once */
	REQUEST_MS = 1000, /* timeout of a request to a broker */
	PROBE_MS = 1000,   /* between two probes of lost brokers */
	MAX_TEXT = 512,
	MAX_PARTITIONS = 4096,
};

typedef enum topic_state { TOPIC_UNKNOWN, TOPIC_ABSENT, TOPIC_FOUND } topic_state;

typedef struct topic {
	char *name;
	rd_kafka_topic_t *handle;
	atomic_int state; /* a topic_state */
} topic;

typedef struct partition {
	size_t topic;
	int32_t number;
	rd_kafka_queue_t *queue;
	rd_kafka_message_t *messages[BATCH];
	size_t count, next;
	int64_t target;                /* the end of the partition when it was found */
	atomic_int_least64_t position; /* of the next message */
	atomic_int_least64_t read_ms;  /* the time of the last message; 0: none */
} partition;

struct sp_row_source {
	rd_kafka_t *kafka;
	topic *topics;
	size_t topic_count;
	sp_stream_mark mark;
	bool from_end;
	int wake_fd;
	int64_t probed_ns;
	sp_log_limit log;

	/* [MAX_PARTITIONS].  Grows while other threads read the lag, so it never moves. */
	partition **partitions;
	atomic_size_t partition_count;
	atomic_bool connected;
	atomic_uint_least64_t errors;
};

bool sp_row_source_is_built(void)
{
	return true;
}

/* ------------------------------------------------------------------ settings */

static sp_status set(rd_kafka_conf_t *settings, const char *name, const char *value, sp_error *err)
{
	char why[MAX_TEXT];

	if (rd_kafka_conf_set(settings, name, value, why, sizeof(why)) == RD_KAFKA_CONF_OK)
		return SP_OK;
	/* librdkafka's text may contain the value, which may be a secret. */
	return sp_error_set(err, SP_INVALID, "librdkafka does not take its property '%s'", name);
}

static sp_status set_pair(rd_kafka_conf_t *settings, char *pair, sp_error *err)
{
	char *value = strchr(pair, '=');

	if (value == NULL)
		return sp_error_set(err, SP_INVALID, "a property has no '='");
	*value++ = '\0';
	return set(settings, pair, value, err);
}

static sp_status set_properties(rd_kafka_conf_t *settings, const char *properties, sp_error *err)
{
	char *text = sp_alloc_text(properties), *rest = text, *pair;
	sp_status status = SP_OK;

	SP_NEED_MEMORY(text, err, "properties of librdkafka");
	while (status == SP_OK && (pair = strsep(&rest, ";")) != NULL) {
		pair += strspn(pair, " ");
		if (*pair != '\0')
			status = set_pair(settings, pair, err);
	}
	sp_free(text);
	return status;
}

/* The configured properties may override these.  "error": restart_at_oldest() handles it. */
static sp_status set_defaults(rd_kafka_conf_t *settings, sp_error *err)
{
	static const char *const defaults[][2] = {
		{"client.id", "serving-processor"},
		{"enable.partition.eof", "true"},
		{"auto.offset.reset", "error"},
		{"queued.min.messages", "1000000"}, /* bounded by bytes alone */
		{"fetch.wait.max.ms", "25"},
		{"fetch.error.backoff.ms", "100"},
		{"reconnect.backoff.max.ms", "1000"},
		{"socket.timeout.ms", "10000"}, /* after which a broker that hangs is lost */
		{"check.crcs", "true"},
	};

	for (size_t i = 0; i < sizeof(defaults) / sizeof(defaults[0]); i++)
		SP_TRY(set(settings, defaults[i][0], defaults[i][1], err));
	return SP_OK;
}

static sp_status make_settings(rd_kafka_conf_t **out, const char *brokers, const char *properties,
			       sp_error *err)
{
	rd_kafka_conf_t *settings = rd_kafka_conf_new();
	sp_status status = set_defaults(settings, err);

	if (status == SP_OK && brokers != NULL)
		status = set(settings, "bootstrap.servers", brokers, err);
	if (status == SP_OK && properties != NULL)
		status = set_properties(settings, properties, err);
	if (status == SP_OK)
		*out = settings;
	else
		rd_kafka_conf_destroy(settings);
	return status;
}

sp_status sp_row_source_check(const char *brokers, const char *properties, sp_error *err)
{
	rd_kafka_conf_t *settings;

	SP_TRY(make_settings(&settings, brokers, properties, err));
	rd_kafka_conf_destroy(settings);
	return SP_OK;
}

/* ------------------------------------------------------------------ failures */

static void count_error(sp_row_source *source, const char *what, const char *why)
{
	atomic_fetch_add_explicit(&source->errors, 1, memory_order_relaxed);
	sp_log_limited(&source->log, SP_LOG_WARNING, "row stream: %s: %s", what, why);
}

/* Called by rd_kafka_poll(). */
static void on_error(rd_kafka_t *kafka, int code, const char *reason, void *context)
{
	sp_row_source *source = context;

	(void)kafka;
	if (code == RD_KAFKA_RESP_ERR__ALL_BROKERS_DOWN &&
	    atomic_exchange(&source->connected, false))
		sp_log(SP_LOG_WARNING, "row stream: no broker can be reached; the rows that came "
				       "so far stay in use");
	count_error(source, rd_kafka_err2name((rd_kafka_resp_err_t)code), reason);
}

/* librdkafka's log lines; its errors come to on_error() as well.  Called by its threads. */
static void on_log(const rd_kafka_t *kafka, int level, const char *facility, const char *line)
{
	(void)kafka;
	(void)level;
	sp_log(SP_LOG_DEBUG, "librdkafka: %s: %s", facility, line);
}

/* ------------------------------------------------------------------ opening */

static sp_status open_topics(sp_row_source *source, const sp_row_source_options *options,
			     sp_error *err)
{
	source->topics = sp_alloc_zero(options->topic_count + 1, sizeof(*source->topics));
	SP_NEED_MEMORY(source->topics, err, "%zu topics", options->topic_count);
	for (size_t i = 0; i < options->topic_count; i++) {
		topic *t = &source->topics[source->topic_count++];

		t->name = sp_alloc_text(options->topics[i]);
		SP_NEED_MEMORY(t->name, err, "%zu topics", options->topic_count);
		t->handle = rd_kafka_topic_new(source->kafka, t->name, NULL);
		if (t->handle == NULL)
			return sp_error_set(err, SP_INVALID, "topic '%s': %s", t->name,
					    rd_kafka_err2str(rd_kafka_last_error()));
	}
	return SP_OK;
}

static sp_status copy_mark(sp_stream_mark *out, const sp_stream_mark *mark, sp_error *err)
{
	*out = (sp_stream_mark){.timestamp_ms = mark->timestamp_ms};
	if (mark->count == 0)
		return SP_OK;
	out->offsets = sp_alloc_resize(NULL, mark->count, sizeof(*out->offsets));
	SP_NEED_MEMORY(out->offsets, err, "%zu offsets", mark->count);
	memcpy(out->offsets, mark->offsets, mark->count * sizeof(*out->offsets));
	out->count = mark->count;
	return SP_OK;
}

static sp_status open_kafka(sp_row_source *source, const sp_row_source_options *options,
			    sp_error *err)
{
	rd_kafka_conf_t *settings;
	char why[MAX_TEXT];

	SP_TRY(make_settings(&settings, options->brokers, options->properties, err));
	rd_kafka_conf_set_opaque(settings, source);
	rd_kafka_conf_set_error_cb(settings, on_error);
	rd_kafka_conf_set_log_cb(settings, on_log);
	source->kafka = rd_kafka_new(RD_KAFKA_CONSUMER, settings, why, sizeof(why));
	if (source->kafka == NULL) {
		rd_kafka_conf_destroy(settings);
		return sp_error_set(err, SP_INVALID, "librdkafka: %s", why);
	}
	return SP_OK;
}

sp_status sp_row_source_open(sp_row_source **out, const sp_row_source_options *options,
			     sp_error *err)
{
	sp_row_source *source = sp_alloc_zero(1, sizeof(*source));
	sp_status status;

	SP_NEED_MEMORY(source, err, "a row stream");
	source->from_end = options->from_end;
	source->partitions = sp_alloc_zero(MAX_PARTITIONS, sizeof(partition *));
	source->wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (source->partitions == NULL)
		status = sp_no_memory(err, "a row stream");
	else if (source->wake_fd < 0)
		status = sp_error_set(err, SP_IO, "no eventfd for a row stream");
	else
		status = open_kafka(source, options, err);
	if (status == SP_OK)
		status = open_topics(source, options, err);
	if (status == SP_OK)
		status = copy_mark(&source->mark, options->mark, err);
	if (status != SP_OK) {
		sp_row_source_close(source);
		return status;
	}
	*out = source;
	return SP_OK;
}

static void drop_messages(partition *p)
{
	while (p->next < p->count)
		rd_kafka_message_destroy(p->messages[p->next++]);
}

void sp_row_source_close(sp_row_source *source)
{
	if (source == NULL)
		return;
	for (size_t i = 0; i < source->partition_count; i++) {
		partition *p = source->partitions[i];

		if (p->next != 0) /* that of the last call */
			p->next--;
		drop_messages(p);
		rd_kafka_consume_stop(source->topics[p->topic].handle, p->number);
		rd_kafka_queue_destroy(p->queue);
		sp_free(p);
	}
	sp_free(source->partitions);
	for (size_t i = 0; i < source->topic_count; i++) {
		if (source->topics[i].handle != NULL)
			rd_kafka_topic_destroy(source->topics[i].handle);
		sp_free(source->topics[i].name);
	}
	sp_free(source->topics);
	if (source->kafka != NULL)
		rd_kafka_destroy(source->kafka);
	if (source->wake_fd >= 0)
		close(source->wake_fd);
	sp_log_limit_end(&source->log, SP_LOG_WARNING);
	sp_stream_mark_fini(&source->mark);
	sp_free(source);
}

/* ------------------------------------------------------------------ partitions */

/* The offset of the first message of the mark's time or later; -1: there is none yet. */
static sp_status find_offset_of_time(sp_row_source *source, const topic *t, int32_t number,
				     int64_t *out, sp_error *err)
{
	rd_kafka_topic_partition_list_t *list = rd_kafka_topic_partition_list_new(1);
	rd_kafka_topic_partition_t *entry = rd_kafka_topic_partition_list_add(list, t->name,
									      number);
	rd_kafka_resp_err_t code;

	entry->offset = source->mark.timestamp_ms;
	code = rd_kafka_offsets_for_times(source->kafka, list, REQUEST_MS);
	if (code == RD_KAFKA_RESP_ERR_NO_ERROR)
		code = entry->err;
	*out = entry->offset >= 0 ? entry->offset : -1;
	rd_kafka_topic_partition_list_destroy(list);
	if (code != RD_KAFKA_RESP_ERR_NO_ERROR)
		return sp_error_set(err, SP_IO, "topic '%s': %s", t->name, rd_kafka_err2str(code));
	return SP_OK;
}

/* Finds the offset to begin at, and the partition's end. */
static sp_status find_offsets(sp_row_source *source, partition *p, int64_t *begin, sp_error *err)
{
	const topic *t = &source->topics[p->topic];
	int64_t first, end, offset = sp_stream_mark_offset(&source->mark, t->name, p->number);
	rd_kafka_resp_err_t code = rd_kafka_query_watermark_offsets(
		source->kafka, t->name, p->number, &first, &end, REQUEST_MS);

	if (code != RD_KAFKA_RESP_ERR_NO_ERROR)
		return sp_error_set(err, SP_IO, "topic '%s': %s", t->name, rd_kafka_err2str(code));
	p->target = end;
	if (offset < 0 && source->mark.timestamp_ms >= 0) {
		SP_TRY(find_offset_of_time(source, t, p->number, &offset, err));
		offset = offset >= 0 ? offset : end;
	}
	/* What did not exist at the start is new from its first message on. */
	if (offset < 0)
		offset = source->from_end && atomic_load(&t->state) == TOPIC_UNKNOWN ? end : first;
	*begin = offset;
	atomic_store(&p->position, offset <= end ? offset : first);
	return SP_OK;
}

static sp_status start_partition(sp_row_source *source, partition *p, sp_error *err)
{
	const topic *t = &source->topics[p->topic];
	static const uint64_t one = 1;
	int64_t begin = RD_KAFKA_OFFSET_BEGINNING;

	SP_TRY(find_offsets(source, p, &begin, err));
	p->queue = rd_kafka_queue_new(source->kafka);
	rd_kafka_queue_io_event_enable(p->queue, source->wake_fd, &one, sizeof(one));
	if (rd_kafka_consume_start_queue(t->handle, p->number, begin, p->queue) == 0)
		return SP_OK;
	rd_kafka_queue_destroy(p->queue);
	return sp_error_set(err, SP_IO, "topic '%s': %s", t->name,
			    rd_kafka_err2str(rd_kafka_last_error()));
}

static sp_status add_partition(sp_row_source *source, size_t topic_index, int32_t number,
			       sp_error *err)
{
	size_t count = source->partition_count;
	partition *p;
	sp_status status;

	for (size_t i = 0; i < count; i++)
		if (source->partitions[i]->topic == topic_index &&
		    source->partitions[i]->number == number)
			return SP_OK;
	if (count == MAX_PARTITIONS)
		return sp_error_set(err, SP_UNSUPPORTED, "more than %d partitions", MAX_PARTITIONS);
	p = sp_alloc_zero(1, sizeof(*p));
	SP_NEED_MEMORY(p, err, "a partition");
	p->topic = topic_index;
	p->number = number;
	status = start_partition(source, p, err);
	if (status != SP_OK) {
		sp_free(p);
		return status;
	}
	source->partitions[count] = p;
	atomic_store(&source->partition_count, count + 1);
	return SP_OK;
}

/* Starts the topic's partitions that are not read yet. */
static sp_status add_partitions(sp_row_source *source, size_t topic_index,
				const struct rd_kafka_metadata_topic *found, sp_error *err)
{
	topic *t = &source->topics[topic_index];
	size_t known = source->partition_count;
	sp_status status = SP_OK;

	if (found == NULL || found->err == RD_KAFKA_RESP_ERR_UNKNOWN_TOPIC_OR_PART)
		status = sp_error_set(err, SP_NOT_FOUND, "there is no topic '%s' yet", t->name);
	else if (found->err != RD_KAFKA_RESP_ERR_NO_ERROR)
		status = sp_error_set(err, SP_NOT_FOUND, "topic '%s': %s", t->name,
				      rd_kafka_err2str(found->err));
	if (status != SP_OK) {
		atomic_store(&t->state, TOPIC_ABSENT);
		return status;
	}
	for (int i = 0; status == SP_OK && i < found->partition_cnt; i++)
		status = add_partition(source, topic_index, found->partitions[i].id, err);
	if (source->partition_count != known)
		sp_log(SP_LOG_INFO, "row stream: new partitions of topic '%s': %zu", t->name,
		       source->partition_count - known);
	if (status == SP_OK)
		atomic_store(&t->state, TOPIC_FOUND);
	return status;
}

static const struct rd_kafka_metadata_topic *find_topic(const struct rd_kafka_metadata *found,
							const char *name)
{
	for (int i = 0; i < found->topic_cnt; i++)
		if (strcmp(found->topics[i].topic, name) == 0)
			return &found->topics[i];
	return NULL;
}

sp_status sp_row_source_find_partitions(sp_row_source *source, sp_error *err)
{
	const struct rd_kafka_metadata *found;
	rd_kafka_resp_err_t code = rd_kafka_metadata(source->kafka, 0, NULL, &found, REQUEST_MS);
	sp_status status = SP_OK;

	if (code != RD_KAFKA_RESP_ERR_NO_ERROR)
		return sp_error_set(err, SP_IO, "no broker: %s", rd_kafka_err2str(code));
	atomic_store(&source->connected, true);
	for (size_t i = 0; i < source->topic_count && (status == SP_OK || status == SP_NOT_FOUND);
	     i++) {
		sp_status added = add_partitions(source, i,
						 find_topic(found, source->topics[i].name), err);

		status = added != SP_OK ? added : status;
	}
	rd_kafka_metadata_destroy(found);
	return status;
}

size_t sp_row_source_partitions(const sp_row_source *source)
{
	return source->partition_count;
}

/* ------------------------------------------------------------------ messages */

/* Kafka deleted what was to be read next, or the topic was created anew and is shorter. */
static void restart_at_oldest(sp_row_source *source, partition *p,
			      const rd_kafka_message_t *message)
{
	const topic *t = &source->topics[p->topic];

	atomic_fetch_add_explicit(&source->errors, 1, memory_order_relaxed);
	sp_log_limited(&source->log, SP_LOG_WARNING,
		       "row stream: partition %d of topic '%s' has no offset %" PRId64
		       " any more: its oldest message is next",
		       (int)p->number, t->name, message->offset);
	rd_kafka_consume_stop(t->handle, p->number);
	if (rd_kafka_consume_start_queue(t->handle, p->number, RD_KAFKA_OFFSET_BEGINNING,
					 p->queue) != 0)
		count_error(source, t->name, rd_kafka_err2str(rd_kafka_last_error()));
}

/* The end of the partition, or an error. */
static void on_event(sp_row_source *source, partition *p, const rd_kafka_message_t *message)
{
	const topic *t = &source->topics[p->topic];

	if (message->err == RD_KAFKA_RESP_ERR__AUTO_OFFSET_RESET) {
		restart_at_oldest(source, p, message);
		return;
	}
	if (message->err != RD_KAFKA_RESP_ERR__PARTITION_EOF) {
		count_error(source, t->name, rd_kafka_message_errstr(message));
		return;
	}
	atomic_store(&p->position, message->offset);
	atomic_store(&source->connected, true);
}

static void on_message(sp_row_source *source, partition *p, const rd_kafka_message_t *message)
{
	int64_t time_ms = rd_kafka_message_timestamp(message, NULL);

	atomic_store_explicit(&p->position, message->offset + 1, memory_order_release);
	atomic_store_explicit(&p->read_ms, time_ms > 0 ? time_ms : 0, memory_order_relaxed);
	atomic_store_explicit(&source->connected, true, memory_order_relaxed);
}

/* Takes the messages that have arrived from librdkafka; false: there are none. */
static bool refill(partition *p)
{
	ssize_t count = rd_kafka_consume_batch_queue(p->queue, 0, p->messages, BATCH);

	p->next = 0;
	p->count = count > 0 ? (size_t)count : 0;
	return p->count != 0;
}

bool sp_row_source_next(sp_row_source *source, size_t index, sp_received_message *out)
{
	partition *p = source->partitions[index];

	if (p->next != 0)
		rd_kafka_message_destroy(p->messages[p->next - 1]);
	for (;;) {
		const rd_kafka_message_t *message;

		if (p->next == p->count && !refill(p))
			return false;
		message = p->messages[p->next++];
		if (message->err == RD_KAFKA_RESP_ERR_NO_ERROR) {
			on_message(source, p, message);
			*out = (sp_received_message){.bytes = {message->payload, message->len},
						     .partition = index,
						     .topic = p->topic,
						     .topic_name = source->topics[p->topic].name,
						     .number = p->number,
						     .offset = message->offset};
			return true;
		}
		on_event(source, p, message);
		rd_kafka_message_destroy(p->messages[p->next - 1]);
	}
}

/* Sends a request to lost brokers, because an idle topic brings no message after they are back. */
static void probe(sp_row_source *source)
{
	const struct rd_kafka_metadata *found;
	int64_t now = sp_clock_now_ns();

	if (atomic_load(&source->connected) || source->partition_count == 0 ||
	    now - source->probed_ns < PROBE_MS * INT64_C(1000000))
		return;
	source->probed_ns = now;
	if (rd_kafka_metadata(source->kafka, 0, source->topics[0].handle, &found, REQUEST_MS) !=
	    RD_KAFKA_RESP_ERR_NO_ERROR)
		return;
	rd_kafka_metadata_destroy(found);
	sp_log(SP_LOG_INFO, "row stream: brokers answer again");
	atomic_store(&source->connected, true);
}

void sp_row_source_wait(sp_row_source *source, int64_t ms)
{
	struct pollfd wake = {.fd = source->wake_fd, .events = POLLIN};
	uint64_t count;

	if (poll(&wake, 1, (int)ms) == 1)
		(void)!read(source->wake_fd, &count, sizeof(count));
	rd_kafka_poll(source->kafka, 0);
	probe(source);
}

void sp_row_source_wake(sp_row_source *source)
{
	static const uint64_t one = 1;

	(void)!write(source->wake_fd, &one, sizeof(one));
}

bool sp_row_source_has_caught_up(const sp_row_source *source)
{
	for (size_t i = 0; i < source->topic_count; i++)
		if (atomic_load(&source->topics[i].state) == TOPIC_UNKNOWN)
			return false;
	for (size_t i = 0; i < source->partition_count; i++)
		if (atomic_load(&source->partitions[i]->position) < source->partitions[i]->target)
			return false;
	return true;
}

/* ------------------------------------------------------------------ lag */

static int64_t unix_ms(void)
{
	struct timespec now;

	clock_gettime(CLOCK_REALTIME, &now);
	return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

void sp_row_source_lag(const sp_row_source *source, sp_source_lag *out)
{
	size_t count = atomic_load(&source->partition_count);

	*out = (sp_source_lag){.connected = atomic_load(&source->connected),
			       .errors = atomic_load(&source->errors)};
	for (size_t i = 0; i < count; i++) {
		const partition *p = source->partitions[i];
		int64_t read_ms = atomic_load(&p->read_ms), first, end, left;

		if (rd_kafka_get_watermark_offsets(source->kafka, source->topics[p->topic].name,
						   p->number, &first,
						   &end) != RD_KAFKA_RESP_ERR_NO_ERROR ||
		    end < p->target)
			end = p->target;
		left = end - atomic_load(&p->position);
		if (left <= 0)
			continue;
		out->messages += (uint64_t)left;
		if (read_ms != 0 && unix_ms() - read_ms > out->behind_ms)
			out->behind_ms = unix_ms() - read_ms;
	}
}
