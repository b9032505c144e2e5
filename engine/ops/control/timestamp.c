#include <time.h>

#include "engine/graph/op.h"

/* Timestamp: seconds since the epoch by the system clock. */

static sp_status run_time(const sp_call *call)
{
	struct timespec now;

	SP_TRY(sp_call_output_scalar(call, 0, SP_DOUBLE));
	clock_gettime(CLOCK_REALTIME, &now);
	*sp_tensor_f64(call->out[0]) = (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
	return SP_OK;
}

SP_DEFINE_TYPED_OP(Timestamp, NULL, SP_OP_STATEFUL, "-> double", run_time);
