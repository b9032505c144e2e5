#include "tests/support/cmocka.h"

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/buffer.h"
#include "base/log.h"
#include "processor/processor.h"
#include "tests/support/golden.h"

/*
 * Golden timelines with deltas: the answers of every version are the true ones,
 * and after its delta has been folded they are the same to the last bit.
 */
static atomic_int folds;
static int played, folded;

static void watch(void *context, int level, const char *line)
{
	(void)context;
	(void)level;
	atomic_fetch_add(&folds, strstr(line, "are folded into") != NULL);
}

/* Folding begins at once, and takes whatever a delta has. */
static sp_processor *open_case(const sp_golden_case *golden, const char *more)
{
	char *config = sp_golden_config(golden, NULL, false);
	sp_processor *processor;
	sp_buffer text;
	sp_error err;

	sp_buffer_init(&text, 1 << 20);
	sp_buffer_printf(&text,
			 "{\"update_fold_after_seconds\": 0.1, \"update_fold_min_percent\": 0,"
			 "\"update_poll_interval_ms\": 20, %s%s",
			 more, strchr(config, '{') + 1);
	assert_ok(sp_processor_open(&processor, text.data, &err), &err);
	sp_buffer_fini(&text);
	free(config);
	return processor;
}

/* All answers, one behind the other.  `is_exact`: rows are held as they are in the files. */
static void ask_all(const sp_golden_case *golden, sp_processor *processor, const char *folder,
		    bool is_exact, sp_buffer *answers)
{
	sp_buffer_clear(answers);
	for (int i = 0;; i++) {
		char name[128], path[160], *request, *want;
		size_t size, want_size, got_size;
		sp_error err;
		void *got;

		snprintf(name, sizeof(name), "%s/%03d", folder, i);
		snprintf(path, sizeof(path), "%s.request.pb", name);
		request = sp_golden_read(golden, path, &size);
		if (request == NULL)
			break;
		snprintf(path, sizeof(path), "%s.response.pb", name);
		want = sp_golden_read(golden, path, &want_size);
		assert_ok(sp_processor_predict(processor, NULL, NULL, (sp_bytes){request, size},
					       NULL, &got, &got_size, &err),
			  &err);
		if (is_exact)
			assert_true(sp_golden_same_response(golden, name, got, got_size, want,
							    want_size));
		sp_buffer_append(answers, got, got_size);
		sp_free(got);
		free(request);
		free(want);
	}
}

static void await_live(sp_processor *processor, const sp_golden_step *step)
{
	bool is_live = false;

	for (int i = 0; i < 2000 && !is_live; i++) {
		sp_version *live = sp_processor_acquire(processor);

		is_live = live->full_step == step->full_step &&
			  live->delta_step == step->delta_step;
		sp_processor_release(live);
		if (!is_live)
			usleep(5000);
	}
	assert_true(is_live);
}

/* Until nothing has been folded for a while. */
static void await_fold(int before)
{
	for (int i = 0; i < 60 && atomic_load(&folds) == before; i++)
		usleep(10000);
	do {
		before = atomic_load(&folds);
		usleep(100000);
	} while (atomic_load(&folds) != before);
}

static void play(sp_golden_case *golden, const char *more)
{
	bool is_exact = more[0] == '\0';
	sp_processor *processor = open_case(golden, more);
	sp_buffer before, after;
	sp_golden_step step;

	sp_buffer_init(&before, 64 << 20);
	sp_buffer_init(&after, 64 << 20);
	for (int i = 0; sp_golden_step_of(golden, i, &step); i++) {
		int count = atomic_load(&folds);

		if (!sp_golden_play(golden, i))
			break;
		await_live(processor, &step);
		if (!step.is_new)
			continue;
		ask_all(golden, processor, step.requests, is_exact, &before);
		if (step.delta_step >= 0)
			await_fold(count);
		ask_all(golden, processor, step.requests, is_exact, &after);
		assert_int_equal(before.size, after.size);
		assert_memory_equal(before.data, after.data, before.size);
		folded += atomic_load(&folds) - count;
	}
	sp_processor_close(processor);
	sp_buffer_fini(&before);
	sp_buffer_fini(&after);
	played++;
}

static void play_as_it_is(sp_golden_case *golden)
{
	play(golden, "");
}

static void play_in_int8(sp_golden_case *golden)
{
	play(golden, "\"ev_row_format\": {\"*\": \"int8\"},");
}

static void play_all(sp_golden_visit *visit)
{
	static const char *const names[] = {"ev-ctr-timeline", "ev-incremental"};

	folds = played = folded = 0;
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		sp_golden_each(names[i], visit);
	assert_true(played >= 1); /* ours is always there */
	assert_true(folded >= 2 * played);
}

static void a_fold_changes_no_bit(void **state)
{
	(void)state;
	play_all(play_as_it_is);
}

static void nor_of_rows_in_few_bits(void **state)
{
	(void)state;
	play_all(play_in_int8);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_fold_changes_no_bit),
		cmocka_unit_test(nor_of_rows_in_few_bits),
	};

	sp_log_set_sink(watch, NULL);
	return cmocka_run_group_tests_name("updater_fold", tests, NULL, NULL);
}
