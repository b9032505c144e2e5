#ifndef SP_TESTS_SUPPORT_ROW_RUN_H
#define SP_TESTS_SUPPORT_ROW_RUN_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>

#include "api/host/model/models.h"
#include "api/serving_processor.h"

/*
 * Stands in for the library where requests are joined: a model of a fake version whose rows are
 * independent, but on demand.
 *
 * Signature "rows": x, floats [-1, n], and s, texts [-1]; y[i] is the sum of x[i], t[i] is s[i].
 * A negative number in x fails the run as SP_INVALID.
 */
extern const serving_processor_signature sp_row_signature;

/* Another one with the same tensors. */
extern const serving_processor_signature sp_other_signature;

typedef enum sp_row_kind {
	SP_ROWS_INDEPENDENT,
	SP_ROWS_DEPENDENT, /* y[i] is the sum of all of x */
	SP_ROWS_ONE,       /* y has one row */
} sp_row_kind;
extern _Atomic(sp_row_kind) sp_row_kind_of_model;

enum { SP_ROW_LOG = 100000 };

/* The rows of each run, and how many there were. */
extern atomic_size_t sp_row_log[SP_ROW_LOG], sp_row_runs;

/* Runs wait while this is set. */
extern atomic_bool sp_row_gate;

/* How long a run takes; initially 0. */
extern atomic_uint sp_row_run_us;

/* Results that were given out and not freed. */
extern atomic_size_t sp_row_open;

/* A version of a model that is batched by the batcher, with the default parameters. */
typedef struct sp_row_version {
	sp_model model;
	sp_served_model served;
	sp_servable servable;
} sp_row_version;
void sp_row_version_init(sp_row_version *version, struct sp_batcher *batcher, int64_t number);

enum { SP_MAX_ROWS = 16, SP_MAX_ROW_WIDTH = 3 };

/* A request of `rows` rows: all of x[i] are from + i, s[i] is that number as text. */
typedef struct sp_row_request {
	sp_row_version *version;
	const serving_processor_signature *signature;
	size_t rows, width;
	int from;
	bool only_t; /* else both outputs */
	int64_t deadline_ns;
	atomic_bool cancelled;
	pthread_t thread; /* for the test */
	/* The answer. */
	sp_status status;
	bool right;
	sp_error err;
} sp_row_request;

/* Runs it by sp_infer_run(). */
void sp_row_ask(sp_row_request *request);

#endif
