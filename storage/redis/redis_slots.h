#ifndef SP_STORAGE_REDIS_REDIS_SLOTS_H
#define SP_STORAGE_REDIS_REDIS_SLOTS_H

#include <stddef.h>
#include <stdint.h>

/*
 * The slot of a key in a Redis Cluster: CRC-16 (polynomial 0x1021, initially 0, not reflected) of
 * the key, or of what is between its first '{' and the next '}' if that is not empty, modulo 16384.
 *
 * Threads: pure.  Source: the Redis Cluster specification, "Key distribution model".
 */
enum { SP_REDIS_SLOTS = 16384 };

uint32_t sp_redis_slot(const void *key, size_t size);

#endif
