#include "tests/support/cmocka.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "tests/support/redis_scene.h"

/* Little memory, and behind it a file of rows that were read before. */
enum { DIM = SP_REDIS_SCENE_DIM, MANY = SP_REDIS_SCENE_MANY };

static sp_error err;

/* Until nearly all rows of sp_redis_scene_ask_well() are in the file. */
static void fill_file(const sp_redis_scene *s)
{
	uint64_t before = 0, now = 0;

	for (int i = 0; i < 4000 && now - before < MANY / 4; i++) {
		before = sp_test_tier_counters(s->tiers[0]).disk_hits;
		sp_redis_scene_ask_well(s, SP_ROW_FP32, 0);
		now = sp_test_tier_counters(s->tiers[0]).disk_hits;
		usleep(2000);
	}
	assert_true(now - before >= MANY / 4);
}

static void rows_on_the_disk_answer_without_redis(void **state)
{
	sp_redis_store_options options = sp_redis_scene_file_options(SP_REDIS_VERSIONED);
	static sp_redis_scene_lookup q[2];
	sp_tier_counters before, after;
	size_t found = 0, wanted = 0;
	sp_redis_scene s;

	(void)state;
	sp_redis_scene_fill(SP_REDIS_VERSIONED, SP_ROW_FP32);
	sp_redis_scene_open(&s, &options);
	fill_file(&s);
	before = sp_test_tier_counters(s.tiers[0]);
	assert_int_equal(before.disks + before.disks_up, 2);
	sp_redis_scene_ask_well(&s, SP_ROW_FP32, 0);
	after = sp_test_tier_counters(s.tiers[0]);
	/* Unknown keys were asked for, and hardly any others. */
	assert_true(after.bytes_read <= before.bytes_read + 3 * DIM * sizeof(float));
	assert_true(after.asked - after.hot_hits - after.disk_hits > 0);

	sp_redis_kill(&sp_redis_scene_process);
	sp_redis_scene_choose(q, MANY, 0);
	assert_ok(sp_redis_scene_ask(&s, q, MANY, 0, &err), &err);
	for (size_t i = 0; i < MANY; i++) {
		float row[DIM];

		sp_redis_scene_make_row(q[0].keys[i], 0, row);
		assert_true(!q[0].found[i] || memcmp(row, q[0].rows[i], sizeof(row)) == 0);
		found += q[0].found[i];
		wanted += sp_redis_scene_is_there(q[0].keys[i]);
	}
	assert_true(found > MANY / 4 && found <= wanted && found + 3 >= wanted);
	sp_redis_scene_close(&s);
	sp_redis_restart(&sp_redis_scene_process);
}

/* Its file is opened once more, to spoil it. */
static void spoil_file(void)
{
	char path[300], target[SP_PATH_SIZE], page[4096];
	int spoilt = 0;

	memset(page, 0x55, sizeof(page));
	for (int fd = 0; fd < 1000; fd++) {
		int file;

		snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
		memset(target, 0, sizeof(target));
		if (readlink(path, target, sizeof(target) - 1) < 0 ||
		    strncmp(target, sp_redis_scene_folder, strlen(sp_redis_scene_folder)) != 0)
			continue;
		file = open(path, O_WRONLY | O_CLOEXEC);
		for (off_t at = 256; at < (off_t)lseek(file, 0, SEEK_END); at += 512)
			assert_int_equal(pwrite(file, page, 16, at), 16);
		close(file);
		spoilt++;
	}
	assert_int_equal(spoilt, 1);
}

static void what_the_file_does_not_answer_redis_does(void **state)
{
	sp_redis_store_options options = sp_redis_scene_file_options(SP_REDIS_VERSIONED);
	sp_redis_scene s;

	(void)state;
	sp_redis_scene_fill(SP_REDIS_VERSIONED, SP_ROW_FP32);
	sp_redis_scene_open(&s, &options);
	fill_file(&s);
	for (int i = 0; i < 4000 && sp_test_tier_counters(s.tiers[0]).disk_errors == 0; i++) {
		spoil_file(); /* what is written later is not spoilt */
		sp_redis_scene_ask_well(&s, SP_ROW_FP32, 0);
	}
	assert_true(sp_test_tier_counters(s.tiers[0]).disk_errors > 0);
	assert_int_equal(sp_test_tier_counters(s.tiers[0]).defaulted, 0);
	assert_int_equal(sp_test_tier_counters(s.tiers[0]).errors, 0);
	sp_redis_scene_close(&s);
	options.file.folder = "/proc/none"; /* a line in the log */
	sp_redis_scene_open(&s, &options);
	assert_int_equal(sp_test_tier_counters(s.tiers[0]).disks, 1);
	assert_int_equal(sp_test_tier_counters(s.tiers[0]).disks_up, 0);
	sp_redis_scene_ask_well(&s, SP_ROW_FP32, 0);
	sp_redis_scene_close(&s);
}

static void rows_on_the_disk_are_of_one_version(void **state)
{
	sp_redis_store_options options = sp_redis_scene_file_options(SP_REDIS_HPS);
	static sp_redis_scene_lookup q[2];
	size_t found = 1;
	sp_redis_scene s, other;

	(void)state;
	sp_redis_scene_fill(SP_REDIS_HPS, SP_ROW_FP32);
	options.max_age_s = 1; /* these age, on the disk, too */
	sp_redis_scene_open(&s, &options);
	sp_redis_scene_ask_well(&s, SP_ROW_FP32, 0);
	options.full++;
	sp_redis_scene_open(&other, &options); /* has a file of its own */
	sp_redis_scene_ask_well(&other, SP_ROW_FP32, 0);
	assert_int_equal(sp_test_tier_counters(other.tiers[0]).disk_hits, 0);
	sp_redis_scene_close(&other);
	fill_file(&s);
	sp_redis_scene_tell("FLUSHALL", "SYNC");
	sp_redis_scene_choose(q, MANY, 0);
	for (int i = 0; i < 4000 && found != 0; i++) {
		assert_ok(sp_redis_scene_ask(&s, q, MANY, 0, &err), &err);
		found = 0;
		for (size_t k = 0; k < MANY; k++)
			found += q[0].found[k];
		usleep(10000);
	}
	assert_int_equal(found, 0);
	sp_redis_scene_close(&s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(rows_on_the_disk_answer_without_redis),
		cmocka_unit_test(what_the_file_does_not_answer_redis_does),
		cmocka_unit_test(rows_on_the_disk_are_of_one_version),
	};

	sp_redis_need();
	return cmocka_run_group_tests_name("redis_file", tests, sp_redis_scene_set_up,
					   sp_redis_scene_tear_down);
}
