#ifndef SP_TESTS_SUPPORT_GOLDEN_H
#define SP_TESTS_SUPPORT_GOLDEN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tests/support/paths.h"

typedef struct cJSON cJSON;

/*
 * Golden cases: folders with a model, requests and true answers.  Our own are
 * in tests/golden/ (made by scripts/golden/); more of the same form are taken
 * from $SP_GOLDEN_DIR, or from ../shared/golden beside the source tree when
 * that is there.  Those that need a front end which this build lacks are left out.
 */
typedef struct sp_golden_case {
	char name[256];
	char work[SP_PATH_SIZE]; /* a copy that may be changed; goes with the close */
	cJSON *about;            /* case.json */
	bool ours;
	int64_t newest; /* time of the newest `checkpoint`, in seconds */
} sp_golden_case;

typedef void sp_golden_visit(sp_golden_case *golden);

/*
 * Calls visit for every case but those whose answers hang on the requests before ("in_order");
 * unless `only` is NULL, for those of that name, whatever they are; it may be a pattern, such as
 * "ev-!(minimal|bags)".
 */
void sp_golden_each(const char *only, sp_golden_visit *visit);

/*
 * The case's configuration as JSON text with absolute paths, for free().
 * `signature` replaces signature_name unless NULL.  $SP_GOLDEN_CONFIG, an object,
 * has keys to be added or replaced; $SP_GOLDEN_STORE stands before the paths of the model, such as
 * "s3://bucket", and leads to a server of the whole file system.
 */
char *sp_golden_config(const sp_golden_case *golden, const char *signature, bool reference);

/*
 * Plays entry `step` of the case's timeline: copies its files as a trainer
 * writes them (data, then indices, then `checkpoint`; each under another name
 * first), touches and removes what it says.  False when the timeline has no
 * such entry.
 */
bool sp_golden_play(sp_golden_case *golden, int step);

/* What that entry says: where its requests are, what must be live, and whether it must become so.
 */
typedef struct sp_golden_step {
	char requests[64]; /* "timeline/01/requests" */
	bool is_new;       /* else nothing must change */
	char model_path[256];
	int64_t full_step;
	int64_t delta_step; /* -1: none */
} sp_golden_step;

bool sp_golden_step_of(const sp_golden_case *golden, int step, sp_golden_step *out);

/* A file of the case; NULL when it is not there.  For free(); a NUL stands behind it. */
char *sp_golden_read(const sp_golden_case *golden, const char *relative, size_t *size);

/*
 * Compares a serialized PredictResponse with the wanted one, output by output,
 * within the case's tolerance.  `request` ("requests/003") selects its
 * exceptions.  Prints what differs.
 */
bool sp_golden_same_response(const sp_golden_case *golden, const char *request, const void *got,
			     size_t got_size, const void *want, size_t want_size);

/* The same for two REST answers. */
bool sp_golden_same_json(const sp_golden_case *golden, const char *request, const char *got,
			 const char *want);

#endif
