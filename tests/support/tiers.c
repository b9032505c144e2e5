#include "tests/support/tiers.h"

#include <stdlib.h>

#include "tests/support/cmocka.h"

sp_status sp_test_tier_read(const sp_tier_read *reads, size_t count, int64_t deadline_ns,
			    sp_error *err)
{
	size_t size = 0;
	void *scratch = NULL;
	sp_status status;

	for (size_t i = 0; i < count; i++)
		size += reads[i].tier->kind->scratch(reads[i].tier, reads[i].count);
	/* Not rounded up: a sanitizer sees what is written past it. */
	assert_int_equal(posix_memalign(&scratch, 64, size), 0);
	status = reads[0].tier->kind->read(reads, count, scratch, deadline_ns, err);
	free(scratch);
	return status;
}

sp_tier_counters sp_test_tier_counters(const sp_tier *tier)
{
	sp_tier_counters counters;

	tier->kind->counters(tier, &counters);
	return counters;
}
