#ifndef SP_API_HOST_METRICS_CALL_RECORD_H
#define SP_API_HOST_METRICS_CALL_RECORD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * What is known of one request when it is answered: each stage notes the time at which it began.
 * Metrics, the access log, the log of slow requests and traces are made from it.  Times are those
 * of sp_clock_now_ns(); 0: the request did not come so far.
 *
 *	arrived -> (queue) -> begun -> (decode) -> run -> (run) -> ran -> (encode) -> answered
 *
 * Threads: that of the request; all zero is the initial state.
 */
typedef enum sp_stage {
	SP_STAGE_QUEUE,  /* complete, until a thread begins it */
	SP_STAGE_DECODE, /* its body becomes tensors */
	SP_STAGE_RUN,    /* the model runs, and before that waits for a batch or a session */
	SP_STAGE_ENCODE, /* the outputs become the answer, which its connection can send */
	SP_STAGE_COUNT
} sp_stage;

/* Why a request was turned away whose content may be right. */
typedef enum sp_rejection {
	SP_REJECTED_NOT,
	SP_REJECTED_QUEUE_FULL,  /* --max_queue */
	SP_REJECTED_MODEL_FULL,  /* the model's own limit of requests at a time */
	SP_REJECTED_MEMORY,      /* --max_request_memory, before the request was complete */
	SP_REJECTED_TOO_LARGE,   /* --max_body_bytes, or the head */
	SP_REJECTED_SLOW,        /* it did not arrive in time */
	SP_REJECTED_DEADLINE,    /* its time was over before or while it ran */
	SP_REJECTED_UNAVAILABLE, /* any other 503: loading, draining, a full batch queue */
	SP_REJECTED_COUNT
} sp_rejection;

enum { SP_RECORD_SIGNATURE = 48 };

typedef struct sp_call_record {
	int64_t arrived_ns, begun_ns, run_ns, ran_ns;
	int64_t answered_ns;
	size_t bytes_in;        /* of the body */
	size_t bytes_out;       /* of the answer that a handler gave */
	sp_rejection rejection; /* set by the code that refuses a request for a known reason */
	int64_t version;        /* that ran it */
	int64_t rows;           /* first dimension of the first input; -1: it has none */
	char signature[SP_RECORD_SIGNATURE]; /* cut where it is longer */
	int64_t slow_ns; /* the request is slow from so long on; 0: it cannot be */
	char *steps;     /* JSON about the steps of a slow run, from sp_alloc; NULL: none */
	bool profiled;   /* somebody waits for the steps of this run (model/models.h) */
	char *events;    /* JSON of them, from sp_alloc; NULL: none (infer/slow_steps.h) */
} sp_call_record;

/* -1: the request did not come to the end of this stage. */
static inline int64_t sp_call_record_stage(const sp_call_record *r, sp_stage stage)
{
	const int64_t times[] = {r->arrived_ns, r->begun_ns, r->run_ns, r->ran_ns, r->answered_ns};
	int64_t from = times[stage], until = times[stage + 1];

	return from != 0 && until != 0 ? until - from : -1;
}

/* All stages together; 0: the request never was complete. */
static inline int64_t sp_call_record_took(const sp_call_record *r)
{
	return r->arrived_ns != 0 ? r->answered_ns - r->arrived_ns : 0;
}

#endif
