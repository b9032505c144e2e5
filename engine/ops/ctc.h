#ifndef SP_ENGINE_OPS_CTC_H
#define SP_ENGINE_OPS_CTC_H

#include "engine/op.h"

/*
 * What decoders of CTC are given: input 0 logits [time, batch, classes], input 1 how long each
 * sequence is, int32 [batch].  SP_INVALID when they do not go together; a length may be negative.
 */
SP_MUST_CHECK sp_status sp_ctc__check_logits(const sp_call *call);

#endif
