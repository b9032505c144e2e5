/*
 * Measures what an update costs, and when it takes effect, under full load.
 *
 *   bench_updates [KEYS [CHANGED [READERS [UPDATES [CONFIGURATION]]]]]
 *
 * for instance: bench_updates 10000000 1000000 2 3 '"model_update_nice": 3'.
 *
 * A model of KEYS keys with 64 floats each (tests/golden/ev-rows).  READERS threads look up 32 keys
 * at a time without a pause.  Meanwhile UPDATES deltas of eight rows, as many of CHANGED rows, and
 * as many full checkpoints are published.  Each is first written under another name; then requests
 * are measured for one second; then the files are renamed into place, and requests are measured
 * until the version is live and for some 200 ms more, in which the previous version is freed.
 * Prints one line of JSON per kind:
 *
 *   {"suite":"updates","case":"delta","rows":100000,"visible_ms":..,"p99_us":..,
 *    "quiet_p99_us":..,"ratio":..,"p999_us":..,"quiet_p999_us":..,"longest_us":..,
 *    "memory_ratio":..,"requests":..,"failed":0}
 *
 * visible_ms is the time from renaming the index to the first answer of the new version, the
 * maximum of UPDATES.  memory_ratio is the peak memory of the process divided by the memory of the
 * old version and the new one together.  The files are in $TMPDIR; a tmpfs excludes the disk from
 * the measurement.
 */
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "api/serving_processor.h"
#include "base/clock.h"
#include "bench/usage.h"
#include "tests/support/row_model.h"

enum { BATCH = 32, MAX_READERS = 64, SAMPLES = 4 << 20 };
enum { QUIET_US = 1000000, SETTLE_US = 500000, AFTER_US = 200000 };

/* Which requests are being measured. */
typedef enum phase {
	NONE,
	QUIET,
	UPDATE,
	PHASES,
} phase;

typedef struct reader {
	struct scene *scene;
	unsigned seed;
	uint32_t *samples[PHASES]; /* nanoseconds */
	atomic_size_t counts[PHASES];
} reader;

typedef struct scene {
	sp_row_model rows;
	sp_row_model written; /* the same model in the folder where files are written first */
	reader readers[MAX_READERS];
	int reader_count;
	int updates;
	int full, delta;      /* the last version */
	atomic_llong newest;  /* greatest value in an answer */
	atomic_llong seen_ns; /* when it was first seen */
	atomic_uint failed;
	atomic_int phase;
	atomic_bool done;
} scene;

static void die(const char *what)
{
	perror(what);
	exit(1);
}

/* ------------------------------------------------------------------ requests */

static void record_sample(reader *r, phase in, int64_t ns)
{
	size_t n = atomic_load(&r->counts[in]);

	if (in == NONE || n == SAMPLES)
		return;
	r->samples[in][n] = (uint32_t)ns;
	atomic_store(&r->counts[in], n + 1);
}

/* Records the time of the first answer of a version. */
static void record_first_answer(scene *s, double value)
{
	long long newest = atomic_load(&s->newest);

	while (value > (double)newest)
		if (atomic_compare_exchange_weak(&s->newest, &newest, (long long)value))
			atomic_store(&s->seen_ns, sp_clock_now_ns());
}

static void *read_on(void *argument)
{
	reader *r = argument;
	scene *s = r->scene;
	int64_t keys[BATCH], ns;

	while (!atomic_load(&s->done)) {
		phase before = (phase)atomic_load(&s->phase);
		double value;

		for (int i = 0; i < BATCH; i++)
			keys[i] = (int64_t)rand_r(&r->seed) % (int64_t)s->rows.key_count;
		value = sp_row_model_time(&s->rows, keys, BATCH, &ns);
		record_sample(r, before, ns);
		s->failed += value < 0;
		record_first_answer(s, value);
	}
	return NULL;
}

static int compare(const void *a, const void *b)
{
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

	return x < y ? -1 : x > y;
}

/* Removes and returns all samples of a phase, in ascending order; free() frees them. */
static uint32_t *take(scene *s, phase of, size_t *count)
{
	uint32_t *all = malloc(sizeof(*all) * SAMPLES * (size_t)s->reader_count);

	if (all == NULL)
		die("memory");
	*count = 0;
	for (int i = 0; i < s->reader_count; i++) {
		size_t n = atomic_exchange(&s->readers[i].counts[of], 0);

		memcpy(all + *count, s->readers[i].samples[of], n * sizeof(*all));
		*count += n;
	}
	qsort(all, *count, sizeof(*all), compare);
	return all;
}

/* In microseconds; `part` is in thousandths. */
static double quantile(const uint32_t *sorted, size_t count, size_t part)
{
	return count != 0 ? sorted[(count - 1) * part / 1000] / 1000.0 : 0;
}

/* ------------------------------------------------------------------ versions */

static double field_kb(const char *name)
{
	FILE *file = fopen("/proc/self/status", "r");
	char line[256];
	double kb = 0;

	if (file == NULL)
		die("/proc/self/status");
	while (fgets(line, sizeof(line), file) != NULL)
		if (strncmp(line, name, strlen(name)) == 0)
			kb = atof(line + strlen(name) + 1);
	fclose(file);
	return kb;
}

/* Resets VmHWM. */
static void reset_peak(void)
{
	FILE *file = fopen("/proc/self/clear_refs", "w");

	if (file == NULL || fputs("5", file) < 0 || fclose(file) != 0)
		die("/proc/self/clear_refs");
}

static void move(const scene *s, const char *ending)
{
	char prefix[SP_PATH_SIZE], from[SP_PATH_SIZE + 32], to[SP_PATH_SIZE + 32];

	sp_row_model_prefix(&s->written, s->full, s->delta, prefix);
	snprintf(from, sizeof(from), "%s.%s", prefix, ending);
	sp_row_model_prefix(&s->rows, s->full, s->delta, prefix);
	snprintf(to, sizeof(to), "%s.%s", prefix, ending);
	if (rename(from, to) != 0)
		die(to);
}

/* Publishes the version s->full, s->delta; returns the milliseconds until its first answer. */
static double update(scene *s)
{
	int64_t start;

	if (s->delta != 0)
		sp_row_model_write_delta(&s->written, s->full, s->delta);
	else
		sp_row_model_write_full(&s->written, s->full);
	move(s, "data-00000-of-00001");
	usleep(SETTLE_US);
	atomic_store(&s->phase, QUIET);
	usleep(QUIET_US);
	atomic_store(&s->phase, UPDATE);
	start = sp_clock_now_ns();
	move(s, "index");
	/* Long sleeps: each wake-up makes the scheduler preempt a reader. */
	do
		usleep(AFTER_US);
	while (atomic_load(&s->newest) < 1000LL * s->full + s->delta);
	usleep(AFTER_US);
	atomic_store(&s->phase, NONE);
	return (double)(atomic_load(&s->seen_ns) - start) / 1e6;
}

static void report(scene *s, const char *name, size_t rows, double visible, double memory)
{
	size_t quiets, requests;
	uint32_t *quiet = take(s, QUIET, &quiets), *all = take(s, UPDATE, &requests);
	double p99 = quantile(all, requests, 990), quiet_p99 = quantile(quiet, quiets, 990);

	printf("{\"suite\":\"updates\",\"case\":\"%s\",\"rows\":%zu,\"visible_ms\":%.1f,"
	       "\"p99_us\":%.1f,\"quiet_p99_us\":%.1f,\"ratio\":%.2f,\"p999_us\":%.1f,"
	       "\"quiet_p999_us\":%.1f,\"longest_us\":%.1f,\"memory_ratio\":%.3f,"
	       "\"requests\":%zu,\"failed\":%u}\n",
	       name, rows, visible, p99, quiet_p99, p99 / quiet_p99, quantile(all, requests, 999),
	       quantile(quiet, quiets, 999), quantile(all, requests, 1000), memory, requests,
	       atomic_load(&s->failed));
	fflush(stdout);
	free(quiet);
	free(all);
}

typedef enum kind {
	SMALL,
	LARGE,
	FULL,
} kind;

static void next_version(scene *s, kind of)
{
	if (of == FULL) {
		s->full++;
		s->delta = 0;
	} else if (of == LARGE && s->delta < SP_LATE_DELTA) {
		s->delta++;
	} else if (of == LARGE) {
		die("small deltas come last");
	} else {
		s->delta = s->delta < SP_LATE_DELTA ? SP_LATE_DELTA : s->delta + 1;
	}
}

static void measure(scene *s, kind of, double own_kb)
{
	static const char *const names[] = {"small delta", "delta", "full"};
	int64_t every = of == SMALL ? s->rows.every_late : s->rows.every;
	size_t rows = of == FULL ? s->rows.key_count : (s->rows.key_count - 1) / (size_t)every + 1;
	double visible = 0, memory = 0;

	for (int i = 0; i < s->updates; i++) {
		double before, ms, both;
		int full = s->full, delta = s->delta;

		next_version(s, of);
		before = field_kb("VmRSS") - own_kb;
		reset_peak();
		ms = update(s);
		both = (field_kb("VmHWM") - own_kb) / (before + field_kb("VmRSS") - own_kb);
		visible = ms > visible ? ms : visible;
		memory = both > memory ? both : memory;
		if (of == FULL || delta != 0)
			sp_row_model_remove(&s->rows, full, delta);
	}
	report(s, names[of], rows, visible, memory);
}

/* --------------------------------------------------------------------- set-up */

static void prepare(scene *s, size_t keys, size_t changed, const char *configuration)
{
	char more[1024], path[SP_PATH_SIZE + 64];

	sp_row_model_init(&s->rows, keys);
	s->rows.every = (int64_t)(keys / changed);
	s->rows.every_late = (int64_t)(keys / 8 + 1);
	s->full = 1;
	s->written = s->rows;
	snprintf(s->written.checkpoints, sizeof(s->written.checkpoints), "%.480s/written",
		 s->rows.work);
	snprintf(path, sizeof(path), "%s", s->written.checkpoints);
	mkdir(path, 0700);
	snprintf(path, sizeof(path), "%s/v1", s->written.checkpoints);
	mkdir(path, 0700);
	snprintf(path, sizeof(path), "%s/v1/.incremental_checkpoint", s->written.checkpoints);
	if (mkdir(path, 0700) != 0)
		die(path);
	snprintf(more, sizeof(more), ", \"session_num\": %d%s%s", s->reader_count,
		 configuration != NULL ? ", " : "", configuration != NULL ? configuration : "");
	sp_row_model_open(&s->rows, more);
	if (s->rows.model == NULL)
		exit(1);
}

static void start(scene *s, pthread_t threads[MAX_READERS])
{
	for (int i = 0; i < s->reader_count; i++) {
		reader *r = &s->readers[i];

		r->scene = s;
		r->seed = (unsigned)i;
		if (pthread_create(&threads[i], NULL, read_on, r) != 0)
			die("pthread_create");
	}
}

/* Allocates the samples before measuring memory.  Returns the memory of the process in kB. */
static double allocate_samples(scene *s)
{
	for (int i = 0; i < s->reader_count; i++)
		for (phase in = QUIET; in < PHASES; in++) {
			uint32_t *samples = malloc(SAMPLES * sizeof(*samples));

			if (samples == NULL)
				die("memory");
			memset(samples, 1, SAMPLES * sizeof(*samples));
			s->readers[i].samples[in] = samples;
		}
	return field_kb("VmRSS");
}

static void ignore_line(void *context, int level, const char *line)
{
	(void)context;
	(void)level;
	(void)line;
}

static const char usage[] =
	"usage: bench_updates [KEYS [CHANGED [READERS [UPDATES [CONFIGURATION]]]]]\n";

int main(int argc, char **argv)
{
	static scene s;
	size_t keys = argc > 1 ? (size_t)atol(argv[1]) : 1000000;
	size_t changed = argc > 2 ? (size_t)atol(argv[2]) : 100000;
	pthread_t threads[MAX_READERS];
	double own_kb;

	sp_bench_read_options(argc, argv, usage);
	s.reader_count = argc > 3 ? atoi(argv[3]) : 2;
	s.updates = argc > 4 ? atoi(argv[4]) : 3;
	if (keys < 2 || changed < 1 || changed > keys || s.reader_count < 1 ||
	    s.reader_count > MAX_READERS || s.updates < 1 || s.updates > 400) {
		fputs(usage, stderr);
		return 2;
	}
	serving_processor_set_log(ignore_line, NULL);
	own_kb = allocate_samples(&s) + (double)keys * sizeof(int64_t) / 1024;
	prepare(&s, keys, changed, argc > 5 ? argv[5] : NULL);
	start(&s, threads);
	sleep(1);
	measure(&s, LARGE, own_kb);
	measure(&s, SMALL, own_kb);
	measure(&s, FULL, own_kb);
	atomic_store(&s.done, true);
	for (int i = 0; i < s.reader_count; i++)
		pthread_join(threads[i], NULL);
	sp_row_model_fini(&s.rows);
	return atomic_load(&s.failed) != 0;
}
