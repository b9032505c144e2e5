#ifndef SP_TESTS_SUPPORT_CMOCKA_H
#define SP_TESTS_SUPPORT_CMOCKA_H

/* cmocka.h wants these before it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/status.h"

/* Fails the test with the error's own words. */
#define assert_ok(call, err)                                                            \
	do {                                                                            \
		if ((call) != SP_OK)                                                    \
			fail_msg("%s: %s", sp_status_name((err)->status), (err)->text); \
	} while (0)

#endif
