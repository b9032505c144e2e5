#include "api/host/model/traffic.h"

#include <stdatomic.h>
#include <string.h>

#include "base/clock.h"
#include "base/hash.h"

uint32_t sp_traffic_threshold(double percent)
{
	return percent >= 100 ? UINT32_MAX : (uint32_t)(percent / 100 * 4294967296.0);
}

void sp_traffic_add(sp_traffic *traffic, int64_t version, double percent)
{
	uint32_t before = traffic->share_count != 0
				  ? traffic->shares[traffic->share_count - 1].below
				  : 0;
	uint32_t more = sp_traffic_threshold(percent);

	if (traffic->share_count == SP_MAX_SHARES)
		return;
	traffic->shares[traffic->share_count++] = (sp_traffic_share){
		version, more > UINT32_MAX - before ? UINT32_MAX : before + more};
}

int64_t sp_traffic_choose(const sp_traffic *traffic, uint32_t point)
{
	for (size_t i = 0; i < traffic->share_count; i++)
		if (point < traffic->shares[i].below)
			return traffic->shares[i].version;
	return -1;
}

bool sp_traffic_has(const sp_traffic *traffic, int64_t version)
{
	for (size_t i = 0; i < traffic->share_count; i++)
		if (traffic->shares[i].version == version)
			return true;
	return false;
}

uint32_t sp_traffic_point(const char *model, sp_bytes key)
{
	uint64_t hash = sp_fingerprint64_join(sp_fingerprint64(model, strlen(model)),
					      sp_fingerprint64(key.data, key.size));

	return (uint32_t)(hash >> 32);
}

/* xorshift64*, one generator per thread. */
uint32_t sp_traffic_random(void)
{
	static atomic_uint_least64_t next_seed;
	static _Thread_local uint64_t state; /* 0: not seeded yet */

	while (state == 0)
		state = ((uint64_t)sp_clock_now_ns() ^ sp_hash_process_key()[0]) +
			atomic_fetch_add(&next_seed, UINT64_C(0x9e3779b97f4a7c15));
	state ^= state >> 12;
	state ^= state << 25;
	state ^= state >> 27;
	return (uint32_t)((state * UINT64_C(0x2545f4914f6cdd1d)) >> 32);
}
