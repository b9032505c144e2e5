#ifndef SP_STORAGE_REDIS_REDIS_REPLY_H
#define SP_STORAGE_REDIS_REDIS_REPLY_H

#include "storage/redis/redis_client.h"

/*
 * Parses replies (RESP2) in the bytes that a server sends, without copying.
 *
 * Threads: one thread at a time.
 */
enum { SP_REDIS_MAX_DEPTH = 8 }; /* of nested arrays */

/* The arrays that are not complete yet; zero at the beginning of a reply. */
typedef struct sp_redis_reply_parser {
	uint32_t depth;
	struct {
		int64_t index, count;
	} arrays[SP_REDIS_MAX_DEPTH];
} sp_redis_reply_parser;

static const size_t SP_REDIS_MALFORMED = SIZE_MAX;

/*
 * Parses the value at the beginning of `bytes`; its text stays there.  Returns the number of its
 * bytes; 0: it is incomplete; SP_REDIS_MALFORMED: it is not RESP2, or a string of more than 512 MB.
 * After a value with depth 0 left in the parser the reply is complete.
 */
size_t sp_redis_reply_next(sp_redis_reply_parser *reply, const char *bytes, size_t size,
			   sp_redis_value *value);

#endif
