#ifndef SP_TESTS_SUPPORT_TIERS_H
#define SP_TESTS_SUPPORT_TIERS_H

#include "storage/table/tier.h"

/* Reads with scratch space of the size that the tiers name; base/alloc.h does not count it. */
sp_status sp_test_tier_read(const sp_tier_read *reads, size_t count, int64_t deadline_ns,
			    sp_error *err);

sp_tier_counters sp_test_tier_counters(const sp_tier *tier);

#endif
