#ifndef SP_API_HOST_MESSAGES_CONFIG_MESSAGE_H
#define SP_API_HOST_MESSAGES_CONFIG_MESSAGE_H

#include "api/host/model/model_config.h"

/*
 * tensorflow.serving.ReloadConfigRequest (proto/serving.proto): the models of its list, checked
 * together.  The caller destroys *out.
 *
 * Errors: SP_INVALID, SP_UNSUPPORTED for a configuration that is no list, SP_NO_MEMORY.
 *
 * Threads: pure.
 */
SP_MUST_CHECK sp_status sp_config_message_decode(sp_model_configs **out, sp_bytes request,
						 sp_error *err);

#endif
