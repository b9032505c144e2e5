#ifndef SP_API_HOST_V2_V2_DESCRIBE_H
#define SP_API_HOST_V2_V2_DESCRIBE_H

#include "api/serving_processor.h"
#include "base/buffer.h"

/*
 * JSON of the Open Inference Protocol that describes the server and a version of a model.
 *
 * Threads: pure but for the buffer.
 */

/* {"name", "version", "extensions"} */
void sp_v2_write_server(sp_buffer *out);

/* {"name", "versions", "platform", "inputs", "outputs"} of a signature. */
void sp_v2_write_metadata(sp_buffer *out, const char *model, int64_t version,
			  const serving_processor_signature *signature);

/* Triton's model configuration, as far as it follows from a signature; max_batch_size is 0. */
void sp_v2_write_config(sp_buffer *out, const char *model,
			const serving_processor_signature *signature);

#endif
