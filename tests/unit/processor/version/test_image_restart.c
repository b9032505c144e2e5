#include "tests/support/cmocka.h"

#include <dirent.h>
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
 * Golden models with embeddings, opened without images, with a folder that has
 * none yet, and again: all answers are the same to the last bit.
 */
static char folder[SP_PATH_SIZE];
static atomic_int made, used, complaints;
static int played;

static void watch(void *context, int level, const char *line)
{
	(void)context;
	atomic_fetch_add(&made, strstr(line, "made image") != NULL);
	atomic_fetch_add(&used, strstr(line, "come from image") != NULL);
	atomic_fetch_add(&complaints, level >= SP_LOG_WARNING && strstr(line, "image") != NULL);
}

static int set_up(void **state)
{
	(void)state;
	sp_temp_make(folder);
	sp_log_set_sink(watch, NULL);
	made = used = complaints = played = 0;
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	sp_temp_remove(folder);
	sp_log_set_sink(NULL, NULL);
	return played != 0 ? 0 : -1; /* the case was there */
}

/* The case's configuration, with `more` in front: "\"key\": value,". */
static sp_processor *open_case(const sp_golden_case *golden, const char *more)
{
	char *config = sp_golden_config(golden, NULL, false);
	sp_processor *processor;
	sp_buffer text;
	sp_error err;

	sp_buffer_init(&text, 1 << 20);
	sp_buffer_printf(&text, "{%s%s", more, strchr(config, '{') + 1);
	assert_ok(sp_processor_open(&processor, text.data, &err), &err);
	sp_buffer_fini(&text);
	free(config);
	return processor;
}

/* All answers of the case, one behind the other; failures as their texts. */
static void ask_all(const sp_golden_case *golden, sp_processor *processor, sp_buffer *answers)
{
	sp_buffer_clear(answers);
	for (int i = 0;; i++) {
		char name[64], *request;
		size_t size, out_size;
		sp_error err;
		void *out;

		snprintf(name, sizeof(name), "requests/%03d.request.pb", i);
		request = sp_golden_read(golden, name, &size);
		if (request == NULL)
			break;
		if (sp_processor_predict(processor, NULL, NULL, (sp_bytes){request, size}, NULL,
					 &out, &out_size, &err) == SP_OK) {
			sp_buffer_append(answers, out, out_size);
			free(out);
		} else {
			sp_buffer_append_text(answers, err.text);
		}
		free(request);
	}
}

static void answers_of(const sp_golden_case *golden, const char *more, sp_buffer *answers)
{
	sp_processor *processor = open_case(golden, more);

	ask_all(golden, processor, answers);
	sp_processor_close(processor);
	played++;
}

static bool is_same(const sp_buffer *got, const sp_buffer *want)
{
	return got->size == want->size && memcmp(got->data, want->data, got->size) == 0;
}

static void expect_same(const sp_golden_case *golden, const sp_buffer *got, const sp_buffer *want)
{
	if (!is_same(got, want))
		fail_msg("%s: %zu bytes: %.200s", golden->name, got->size, got->data);
}

static void with_images(char more[SP_PATH_SIZE + 64])
{
	snprintf(more, SP_PATH_SIZE + 64, "\"ev_image_path\": \"%s/images\",", folder);
}

static void check_restart(sp_golden_case *golden)
{
	char more[SP_PATH_SIZE + 64];
	sp_buffer plain, got;
	int made_before = made, used_before = used;

	sp_buffer_init(&plain, 64 << 20);
	sp_buffer_init(&got, 64 << 20);
	answers_of(golden, "", &plain);
	assert_true(plain.size != 0);
	with_images(more);
	answers_of(golden, more, &got);
	expect_same(golden, &got, &plain);
	assert_int_equal(made, made_before + 1);
	assert_int_equal(used, used_before);
	answers_of(golden, more, &got);
	expect_same(golden, &got, &plain);
	assert_int_equal(made, made_before + 1);
	assert_int_equal(used, used_before + 1);
	assert_int_equal(complaints, 0);
	sp_buffer_fini(&plain);
	sp_buffer_fini(&got);
}

static void a_restart_answers_the_same_bits(void **state)
{
	static const char *const names[] = {"ev-ctr-checkpoint", "ev-ctr",        "ev-partitioned",
					    "ev-filter-counter", "ev-int32-keys", "ev-incremental"};

	(void)state;
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		sp_golden_each(names[i], check_restart);
	assert_true(made >= 2); /* those of our own are always there */
}

/* After each step of its timeline the case is opened without an image, and with it twice. */
static void check_timeline(sp_golden_case *golden)
{
	char more[SP_PATH_SIZE + 64];
	sp_buffer plain, got;

	sp_buffer_init(&plain, 64 << 20);
	sp_buffer_init(&got, 64 << 20);
	with_images(more);
	for (int step = 0; sp_golden_play(golden, step); step++) {
		answers_of(golden, "", &plain);
		for (int i = 0; i < 2; i++) {
			answers_of(golden, more, &got);
			expect_same(golden, &got, &plain);
		}
	}
	assert_true(used > made);
	assert_int_equal(complaints, 0);
	sp_buffer_fini(&plain);
	sp_buffer_fini(&got);
}

static void deltas_lie_over_an_image(void **state)
{
	(void)state;
	sp_golden_each("ev-ctr-timeline", check_timeline);
}

/* ----------------------------------------------------------- what goes wrong */

static char image_file[2 * SP_PATH_SIZE];

static const char *find_image(void)
{
	char path[2 * SP_PATH_SIZE];
	const struct dirent *entry;
	DIR *dir;

	snprintf(path, sizeof(path), "%s/images", folder);
	image_file[0] = '\0';
	dir = opendir(path);
	while (dir != NULL && (entry = readdir(dir)) != NULL)
		if (strstr(entry->d_name, ".image") != NULL)
			snprintf(image_file, sizeof(image_file), "%.4000s/%.200s", path,
				 entry->d_name);
	if (dir != NULL)
		closedir(dir);
	return image_file[0] != '\0' ? image_file : NULL;
}

static void check_settings(sp_golden_case *golden)
{
	char more[SP_PATH_SIZE + 64], other[SP_PATH_SIZE + 128];
	sp_buffer got, want;

	sp_buffer_init(&got, 1 << 20);
	sp_buffer_init(&want, 1 << 20);
	with_images(more);
	answers_of(golden, more, &got);
	assert_int_equal(made, 1);
	snprintf(other, sizeof(other), "%s\"ev_row_format\": \"int4\",", more);
	answers_of(golden, "\"ev_row_format\": \"int4\",", &want);
	answers_of(golden, other, &got); /* not what the first image holds */
	expect_same(golden, &got, &want);
	assert_int_equal(made, 2);
	answers_of(golden, other, &got);
	expect_same(golden, &got, &want);
	assert_int_equal(used, 1);
	sp_buffer_fini(&got);
	sp_buffer_fini(&want);
}

static void another_setting_is_another_image(void **state)
{
	(void)state;
	sp_golden_each("ev-ctr-checkpoint", check_settings);
}

static void damage(int round)
{
	FILE *f = fopen(find_image(), "r+b");

	assert_non_null(f);
	if (round == 0) {
		fseek(f, 40, SEEK_SET);
		fputc(77, f);
	} else if (round == 1) {
		assert_int_equal(ftruncate(fileno(f), 5000), 0);
	} else {
		assert_int_equal(ftruncate(fileno(f), 0), 0);
	}
	fclose(f);
}

static void check_damage(sp_golden_case *golden)
{
	char more[SP_PATH_SIZE + 64];
	sp_buffer got, want;

	sp_buffer_init(&got, 1 << 20);
	sp_buffer_init(&want, 1 << 20);
	with_images(more);
	answers_of(golden, more, &want);
	for (int round = 0; round < 3; round++) {
		damage(round);
		answers_of(golden, more, &got);
		expect_same(golden, &got, &want);
		assert_int_equal(made, round + 2);
	}
	assert_int_equal(used, 0);
	sp_buffer_fini(&got);
	sp_buffer_fini(&want);
}

static void a_damaged_image_is_made_again(void **state)
{
	(void)state;
	sp_golden_each("ev-ctr-checkpoint", check_damage);
}

/* The last byte of the data belongs to a row. */
static void check_broken(sp_golden_case *golden)
{
	char more[SP_PATH_SIZE + 64];
	sp_processor *processor;
	sp_buffer got, want;
	FILE *f;

	sp_buffer_init(&got, 1 << 20);
	sp_buffer_init(&want, 1 << 20);
	with_images(more);
	answers_of(golden, more, &want);
	f = fopen(find_image(), "r+b");
	fseek(f, -9, SEEK_END);
	fputc(0x5a, f);
	fclose(f);

	processor = open_case(golden, more);
	/* The version is loaded anew while it is served; until then answers are errors. */
	for (int tries = 0; tries < 1000; tries++) {
		ask_all(golden, processor, &got);
		if (made == 2 && is_same(&got, &want))
			break;
		usleep(10000);
	}
	expect_same(golden, &got, &want);
	assert_int_equal(made, 2);
	assert_true(complaints != 0);
	sp_processor_close(processor);
	sp_buffer_fini(&got);
	sp_buffer_fini(&want);
}

static void an_image_that_breaks_is_made_again_while_serving(void **state)
{
	(void)state;
	sp_golden_each("ev-ctr-checkpoint", check_broken);
}

static void check_without_folder(sp_golden_case *golden)
{
	sp_buffer got, want;

	sp_buffer_init(&got, 1 << 20);
	sp_buffer_init(&want, 1 << 20);
	answers_of(golden, "", &want);
	answers_of(golden, "\"ev_image_path\": \"/dev/null/no\",", &got);
	expect_same(golden, &got, &want);
	assert_int_equal(complaints, 1);
	answers_of(golden, "\"ev_image_path\": \"\",", &got);
	assert_int_equal(complaints, 1);
	sp_buffer_fini(&got);
	sp_buffer_fini(&want);
}

static void without_the_folder_the_checkpoint_is_read(void **state)
{
	(void)state;
	sp_golden_each("ev-ctr-checkpoint", check_without_folder);
}

/* n allocations succeed, and no other while the model is opened. */
static bool opens_with(const sp_golden_case *golden, const char *more, int64_t n)
{
	char *config = sp_golden_config(golden, NULL, false);
	sp_processor *processor = NULL;
	sp_buffer text;
	sp_status status;
	sp_error err;

	sp_buffer_init(&text, 1 << 20);
	sp_buffer_printf(&text, "{%s%s", more, strchr(config, '{') + 1);
	sp_alloc_fail_after(n);
	status = sp_processor_open(&processor, text.data, &err);
	sp_alloc_fail_after(-1);
	sp_processor_close(processor);
	sp_buffer_fini(&text);
	free(config);
	return status == SP_OK;
}

/* Ever more memory, with an image there or not; it is right afterwards in any case. */
static void try_with_little(const sp_golden_case *golden, const char *more, bool there,
			    const sp_buffer *want)
{
	sp_buffer got;
	bool opened = false;
	int tries = 0;

	sp_buffer_init(&got, 1 << 20);
	for (int64_t n = 0; !opened; n += n / 6 + 1, tries++) {
		if (!there && find_image() != NULL)
			unlink(image_file);
		opened = opens_with(golden, more, n);
	}
	assert_true(tries > 20);
	answers_of(golden, more, &got);
	expect_same(golden, &got, want);
	sp_buffer_fini(&got);
}

static void check_memory(sp_golden_case *golden)
{
	char more[SP_PATH_SIZE + 128];
	sp_buffer want;

	sp_buffer_init(&want, 1 << 20);
	answers_of(golden, "", &want);
	with_images(more);
	strcat(more, "\"init_timeout_minutes\": 0,");
	try_with_little(golden, more, false, &want);
	try_with_little(golden, more, true, &want);
	sp_buffer_fini(&want);
}

static void without_memory_an_image_does_no_harm(void **state)
{
	(void)state;
	sp_golden_each("ev-ctr-checkpoint", check_memory);
}

#define CASE(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		CASE(a_restart_answers_the_same_bits),
		CASE(deltas_lie_over_an_image),
		CASE(another_setting_is_another_image),
		CASE(a_damaged_image_is_made_again),
		CASE(an_image_that_breaks_is_made_again_while_serving),
		CASE(without_the_folder_the_checkpoint_is_read),
		CASE(without_memory_an_image_does_no_harm),
	};

	return cmocka_run_group_tests_name("image_restart", tests, NULL, NULL);
}
