#ifndef SP_API_HOST_PREDICT_DTYPE_NAME_H
#define SP_API_HOST_PREDICT_DTYPE_NAME_H

#include <stddef.h>

/*
 * Element types by the numbers of serving_processor.h.  Threads: pure.
 */

/* "float", "int64": as TensorFlow Serving's messages spell them; "unknown" else. */
const char *sp_host_dtype_name(int dtype);

/* Bytes of one element of a serving_processor_tensor; 0 for a type that none has. */
size_t sp_host_dtype_size(int dtype);

#endif
