#ifndef SP_API_HOST_PREDICT_DTYPE_NAME_H
#define SP_API_HOST_PREDICT_DTYPE_NAME_H

/*
 * The name of an element type by its number, that of TensorFlow's DataType: "float", "int64",
 * as TensorFlow Serving's messages spell them; "unknown" for other numbers.
 *
 * Threads: pure.
 */
const char *sp_host_dtype_name(int dtype);

#endif
