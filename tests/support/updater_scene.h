#ifndef SP_TESTS_SUPPORT_UPDATER_SCENE_H
#define SP_TESTS_SUPPORT_UPDATER_SCENE_H

#include <stddef.h>
#include <stdint.h>

#include "processor/updater/updater.h"
#include "tests/support/paths.h"

/*
 * An updater over a folder of checkpoints in files without content, which model_double.h does not
 * read.  Time is the test's own (time_double.h): the updater looks every 20 ms of it, and
 * sp_time_pass() returns when the updater has done all that is due and waits again.  A test that
 * wants it names updater_scene.c and both doubles among its own sources.
 */
enum { SP_SCENE_BEGIN_MS = 1000 };

extern struct sp_updater_scene {
	char checkpoints[SP_PATH_SIZE];
	char savedmodel[SP_PATH_SIZE]; /* of the source tree */
	sp_config config;
	sp_published *published;
	sp_updater *updater; /* NULL: not started */
	sp_error err;
} sp_scene;

int sp_scene_set_up(void **state);
int sp_scene_tear_down(void **state);

/* v1/model.ckpt-100, and a delta on it; the first one is of step 110. */
void sp_scene_make_full(void);
void sp_scene_make_delta(int step);

void sp_scene_remove_file(const char *name);

/* Opens the updater; the first version. */
const sp_version *sp_scene_start(void);

/* Opening fails so, at once. */
void sp_scene_refuse(sp_status status, const char *text);

/* Ten looks. */
void sp_scene_let_it_look(void);

/* Waits until that is live; until the versions' states hold `text`. */
void sp_scene_assert_live(int64_t full_step, int64_t delta_step);
void sp_scene_assert_told(const char *text);

/* They do not hold it now. */
void sp_scene_assert_not_told(const char *text);

/* How often that version is listed now. */
void sp_scene_assert_listed(int64_t full_step, int64_t delta_step, size_t want);

/* How long something newer is known. */
long sp_scene_lag_ms(void);

/* How often the log has held `text`. */
size_t sp_scene_count_lines(const char *text);

#endif
