#ifndef SP_BASE_STATUS_H
#define SP_BASE_STATUS_H

/*
 * Status codes and error texts.
 *
 * A function that can fail returns sp_status.  If its last parameter is an sp_error *, that
 * may be NULL; on failure it receives one line that says what is wrong, with the values that
 * matter.  Errors are passed by parameter, never in a global or thread-local variable,
 * because a request moves between threads.
 */

typedef enum sp_status {
	SP_OK = 0,
	SP_NOT_FOUND,
	SP_INVALID,     /* the caller's argument or request is wrong */
	SP_UNSUPPORTED, /* well formed, but this build cannot do it */
	SP_CORRUPT,     /* stored or received bytes break their own format */
	SP_IO,          /* disk, network or RocksDB failed */
	SP_NO_MEMORY,
	SP_BUSY,      /* a bounded queue or pool is full; try later */
	SP_DEADLINE,  /* the deadline of the request has passed */
	SP_INTERNAL,  /* a bug */
	SP_CANCELLED, /* the caller has given the request up */
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
 * Arguments may contain any bytes, as names from a file or a request do: invalid UTF-8 and
 * control characters become '?'.
 */
sp_status sp_error_set(sp_error *err, sp_status status, const char *fmt, ...) SP_PRINTF(3, 4);

/* SP_NO_MEMORY: "no memory for <formatted text>". */
sp_status sp_no_memory(sp_error *err, const char *fmt, ...) SP_PRINTF(2, 3);

/*
 * Prefixes the text with "<formatted text>: ", to say where the failure happened.  Returns
 * err->status, or `status` when err is NULL.  Does nothing if `status` is SP_OK.
 */
sp_status sp_error_prefix(sp_error *err, sp_status status, const char *fmt, ...) SP_PRINTF(3, 4);

/*
 * Returns SP_NO_MEMORY from the calling function if an allocation has given NULL; `given` may join
 * several.
 */
#define SP_NEED_MEMORY(given, err, ...)                          \
	do {                                                     \
		if (!(given))                                    \
			return sp_no_memory((err), __VA_ARGS__); \
	} while (0)

/* Returns from the calling function if `expr` is a failure. */
#define SP_TRY(expr)                        \
	do {                                \
		sp_status sp_try_ = (expr); \
		if (sp_try_ != SP_OK)       \
			return sp_try_;     \
	} while (0)

#endif
