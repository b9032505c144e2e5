#include "model_loader/embedding/row_pace.h"

#include <time.h>

#include "base/clock.h"

enum {
	NS_PER_SECOND = 1000000000,
	NAP_NS = 20000000, /* interval of checks for `closing` */
};

bool sp_row_pace_is_limited(const sp_load_policy *policy)
{
	return (policy->rows_per_second != 0 || policy->bytes_per_second != 0) &&
	       policy->serving != NULL && atomic_load(policy->serving);
}

bool sp_row_pace_is_needed(const sp_load_policy *policy)
{
	return policy->closing != NULL || policy->cancelled != NULL ||
	       sp_row_pace_is_limited(policy);
}

/* Seconds that `rows` rows must take at the allowed rate. */
static double time_for(const sp_row_pace *pace, size_t rows)
{
	const sp_load_policy *policy = pace->policy;
	double by_rows = 0, by_bytes = 0;

	if (policy->rows_per_second != 0)
		by_rows = (double)rows / (double)policy->rows_per_second;
	if (policy->bytes_per_second != 0)
		by_bytes = (double)rows * (double)pace->row_bytes /
			   (double)policy->bytes_per_second;
	return by_rows > by_bytes ? by_rows : by_bytes;
}

/* The time before which no more rows may follow; 0 without a limit. */
static int64_t charge(sp_row_pace *pace, size_t rows)
{
	double ns = time_for(pace, rows) * NS_PER_SECOND;
	int64_t now = sp_clock_now_ns(), until;

	if (!pace->limited)
		return 0;
	pthread_mutex_lock(&pace->lock);
	/* Idle time is not credited. */
	if (pace->paid_until_ns < now)
		pace->paid_until_ns = now;
	pace->paid_until_ns += (int64_t)ns;
	until = pace->paid_until_ns;
	pthread_mutex_unlock(&pace->lock);
	return until;
}

static sp_status wait_until(const sp_row_pace *pace, int64_t until_ns, sp_error *err)
{
	int64_t left;

	while (!sp_load_policy_is_over(pace->policy) && (left = until_ns - sp_clock_now_ns()) > 0) {
		struct timespec nap = {.tv_nsec = left < NAP_NS ? (long)left : NAP_NS};

		nanosleep(&nap, NULL);
	}
	return sp_load_policy_go_on(pace->policy, err);
}

static sp_status add_keys(void *context, const sp_row_piece *piece, sp_error *err)
{
	sp_row_pace *pace = context;

	SP_TRY(sp_load_policy_go_on(pace->policy, err));
	return pace->next.add_keys(pace->next.context, piece, err);
}

static sp_status start_rows(void *context, bool *in_order, sp_error *err)
{
	sp_row_pace *pace = context;

	SP_TRY(sp_load_policy_go_on(pace->policy, err));
	return pace->next.start_rows(pace->next.context, in_order, err);
}

/* Waits after the rows, not before, so that a series of small tables is limited, too. */
static sp_status put_rows(void *context, const sp_row_piece *piece, sp_error *err)
{
	sp_row_pace *pace = context;
	int64_t until = charge(pace, piece->count);

	SP_TRY(sp_load_policy_go_on(pace->policy, err));
	SP_TRY(pace->next.put_rows(pace->next.context, piece, err));
	return wait_until(pace, until, err);
}

static sp_status put_checked(void *context, const sp_row_piece *piece, uint32_t *crc, sp_error *err)
{
	sp_row_pace *pace = context;
	int64_t until = charge(pace, piece->count);

	SP_TRY(sp_load_policy_go_on(pace->policy, err));
	SP_TRY(pace->next.put_checked(pace->next.context, piece, crc, err));
	return wait_until(pace, until, err);
}

void sp_row_pace_init(sp_row_pace *pace, const sp_row_sink *next, size_t dim,
		      const sp_load_policy *policy)
{
	*pace = (sp_row_pace){.next = *next,
			      .policy = policy,
			      .row_bytes = sizeof(int64_t) + dim * sizeof(float),
			      .limited = sp_row_pace_is_limited(policy)};
	pthread_mutex_init(&pace->lock, NULL);
}

void sp_row_pace_fini(sp_row_pace *pace)
{
	pthread_mutex_destroy(&pace->lock);
}

sp_row_sink sp_row_pace_sink(sp_row_pace *pace)
{
	return (sp_row_sink){.context = pace,
			     .wants_freqs = pace->next.wants_freqs,
			     .add_keys = pace->next.add_keys != NULL ? add_keys : NULL,
			     .start_rows = pace->next.start_rows != NULL ? start_rows : NULL,
			     .put_rows = put_rows,
			     .put_checked = pace->next.put_checked != NULL ? put_checked : NULL};
}
