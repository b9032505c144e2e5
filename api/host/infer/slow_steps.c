#include "api/host/infer/slow_steps.h"

#include <inttypes.h>
#include <pthread.h>

#include "base/alloc.h"
#include "base/buffer.h"
#include "base/json_text.h"

enum { CAPACITY = 4096, SHOWN = 20, MAX_DEPTH = 64, MAX_TEXT = 64 << 10, MAX_EVENTS = 8 << 20 };

typedef struct list {
	serving_processor_steps steps;
	int64_t own_ns[CAPACITY]; /* time of each step, without that of the steps within it */
	serving_processor_step items[CAPACITY];
} list;

static pthread_key_t key;
static pthread_once_t once = PTHREAD_ONCE_INIT;

static void make_key(void)
{
	(void)pthread_key_create(&key, sp_free);
}

serving_processor_steps *sp_slow_steps_begin(const sp_call_record *record)
{
	list *own;

	if (record == NULL || (record->slow_ns == 0 && !record->profiled))
		return NULL;
	pthread_once(&once, make_key);
	own = pthread_getspecific(key);
	if (own == NULL) {
		own = sp_alloc(sizeof(*own));
		if (own == NULL || pthread_setspecific(key, own) != 0) {
			sp_free(own);
			return NULL;
		}
	}
	own->steps = (serving_processor_steps){.items = own->items, .capacity = CAPACITY};
	return &own->steps;
}

/*
 * Sets own_ns: a step's time is subtracted from the innermost step around it.  Returns the time of
 * all steps together.
 */
static int64_t find_own_times(list *of)
{
	const serving_processor_step *items = of->items;
	size_t around[MAX_DEPTH], depth = 0;
	int64_t total = 0;

	for (size_t i = 0; i < of->steps.count; i++) {
		int64_t ns = items[i].end_ns - items[i].start_ns;

		while (depth != 0 && items[around[depth - 1]].end_ns <= items[i].start_ns)
			depth--;
		of->own_ns[i] = ns;
		if (depth != 0)
			of->own_ns[around[depth - 1]] -= ns;
		else
			total += ns;
		if (depth < MAX_DEPTH)
			around[depth++] = i;
	}
	return total;
}

/* The step with the most time of its own.  Steps that are shown already have a time of -1. */
static size_t find_slowest(const list *of)
{
	size_t best = 0;

	for (size_t i = 1; i < of->steps.count; i++)
		if (of->own_ns[i] > of->own_ns[best])
			best = i;
	return best;
}

static void write_us(sp_buffer *out, const char *name, int64_t ns)
{
	sp_buffer_printf(out, "\"%s\":%" PRId64 ".%03d", name, ns / 1000, (int)(ns % 1000));
}

static void write_steps(sp_buffer *out, list *of, int64_t run_ns)
{
	int64_t total = find_own_times(of), shown = 0;
	size_t count = of->steps.count < SHOWN ? of->steps.count : SHOWN;

	sp_buffer_append_char(out, '{');
	write_us(out, "run_us", run_ns);
	sp_buffer_append_text(out, ",\"slowest\":[");
	for (size_t i = 0; i < count; i++) {
		size_t at = find_slowest(of);

		sp_buffer_append_text(out, i != 0 ? ",{\"node\":" : "{\"node\":");
		sp_json_text_append(out, sp_bytes_of(of->items[at].node));
		sp_buffer_append_text(out, ",\"op\":");
		sp_json_text_append(out, sp_bytes_of(of->items[at].op));
		sp_buffer_append_char(out, ',');
		write_us(out, "us", of->own_ns[at]);
		sp_buffer_append_char(out, '}');
		shown += of->own_ns[at];
		of->own_ns[at] = -1;
	}
	sp_buffer_append_text(out, "],");
	write_us(out, "others_us", total - shown);
	sp_buffer_append_char(out, ',');
	write_us(out, "between_us", run_ns > total ? run_ns - total : 0);
	if (of->steps.left_out != 0)
		sp_buffer_printf(out, ",\"left_out\":%zu", of->steps.left_out);
	sp_buffer_append_char(out, '}');
}

/* Events of Chrome's trace format.  The buffer fails if CAPACITY steps have very long names. */
static void write_events(sp_buffer *out, const list *of)
{
	for (size_t i = 0; i < of->steps.count; i++) {
		const serving_processor_step *step = &of->items[i];

		sp_buffer_append_text(out, i != 0 ? ",{\"name\":" : "{\"name\":");
		sp_json_text_append(out, sp_bytes_of(step->op));
		sp_buffer_append_text(out, ",\"cat\":\"step\",\"ph\":\"X\",\"pid\":1,\"tid\":2,");
		write_us(out, "ts", step->start_ns);
		sp_buffer_append_char(out, ',');
		write_us(out, "dur", step->end_ns - step->start_ns);
		sp_buffer_append_text(out, ",\"args\":{\"node\":");
		sp_json_text_append(out, sp_bytes_of(step->node));
		sp_buffer_append_text(out, "}}");
	}
}

/* NULL if memory is short. */
static char *take_text(sp_buffer *text)
{
	size_t size;
	char *taken = sp_buffer_take(text, &size);

	sp_buffer_fini(text);
	return taken;
}

void sp_slow_steps_end(sp_call_record *record, serving_processor_steps *steps, int64_t began_ns,
		       int64_t ended_ns)
{
	sp_buffer text;

	if (steps == NULL || steps->count == 0)
		return;
	if (record->profiled && record->events == NULL) {
		sp_buffer_init(&text, MAX_EVENTS);
		write_events(&text, (const list *)steps);
		record->events = take_text(&text);
	}
	if (record->slow_ns == 0 || record->steps != NULL ||
	    ended_ns - record->arrived_ns < record->slow_ns)
		return;
	sp_buffer_init(&text, MAX_TEXT);
	write_steps(&text, (list *)steps, ended_ns - began_ns);
	record->steps = take_text(&text);
}
