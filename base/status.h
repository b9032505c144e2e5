#ifndef SP_BASE_STATUS_H
#define SP_BASE_STATUS_H

/*
 * What happened, and the words that go with it.
 *
 * A function that can fail returns sp_status.  If its last parameter is an
 * sp_error *, that pointer may be NULL; on failure it holds one line saying
 * what was wrong, with the values that made it so.  Errors travel by
 * parameter, never through a global or a thread-local: a request changes
 * threads on its way through the processor, and its words must go with it.
 */

typedef enum sp_status {
	SP_OK = 0,
	SP_NOT_FOUND,   /* absent; for a lookup this is an answer, not a fault */
	SP_INVALID,     /* the caller's argument or request is wrong */
	SP_UNSUPPORTED, /* well formed, but this build cannot do it */
	SP_CORRUPT,     /* stored or received bytes break their own format */
	SP_IO,          /* disk, network or RocksDB failed */
	SP_NO_MEMORY,
	SP_BUSY,     /* a bounded queue or pool is full; try later */
	SP_DEADLINE, /* the request's time ran out */
	SP_INTERNAL, /* a bug of ours */
} sp_status;

#define SP_ERROR_TEXT_SIZE 2048

typedef struct sp_error {
	sp_status status;
	char text[SP_ERROR_TEXT_SIZE]; /* one line, no newline, always terminated */
} sp_error;

#define SP_MUST_CHECK        __attribute__((warn_unused_result))
#define SP_PRINTF(fmt, args) __attribute__((format(printf, fmt, args)))

/* Short lower-case name, for logs and metrics ("not_found").  Never NULL. */
const char *sp_status_name(sp_status status);

/*
 * Fills *err when err is not NULL.  Always returns `status`, so a failing
 * path is one line: return sp_error_set(err, SP_CORRUPT, "...").
 *
 * Names and texts that come from a file or a request may hold any byte:
 * what is not UTF-8, and every control character, is replaced by '?'.
 */
sp_status sp_error_set(sp_error *err, sp_status status, const char *fmt, ...) SP_PRINTF(3, 4);

/* SP_NO_MEMORY: "no memory for <what>". */
sp_status sp_no_memory(sp_error *err, const char *what);

/*
 * Puts "<words>: " in front of the text that is there: the room's edge says
 * where, once, and keeps what the lower function said.  Returns err->status,
 * or `status` when err is NULL.
 */
sp_status sp_error_prefix(sp_error *err, sp_status status, const char *fmt, ...) SP_PRINTF(3, 4);

/* Pass a failure up unchanged. */
#define SP_TRY(expr)                        \
	do {                                \
		sp_status sp_try_ = (expr); \
		if (sp_try_ != SP_OK)       \
			return sp_try_;     \
	} while (0)

#endif
