#ifndef SP_STORAGE_REDIS_REDIS_REPLY_H
#define SP_STORAGE_REDIS_REDIS_REPLY_H

#include "storage/redis/redis_client.h"

/*
 * Finds the values of answers in the bytes that a server sends (RESP2), without a copy.
 *
 * Threads: one thread at a time.
 */
enum { SP_REDIS_DEEPEST = 8 }; /* arrays in arrays */

/* The arrays that are open in an answer; zero: an answer begins. */
typedef struct sp_redis_reply {
	uint32_t depth;
	struct {
		int64_t index, count;
	} arrays[SP_REDIS_DEEPEST];
} sp_redis_reply;

static const size_t SP_REDIS_NO_REPLY = SIZE_MAX;

/*
 * Reads the value at the begin of `bytes`, whose text stays there.  Returns the number of its
 * bytes; 0: they have not all come yet; SP_REDIS_NO_REPLY: this is not Redis's protocol, or a
 * string of more than 512 MB.  After a value with reply->depth == 0 the answer is complete.
 */
size_t sp_redis_reply_next(sp_redis_reply *reply, const char *bytes, size_t size,
			   sp_redis_value *value);

#endif
