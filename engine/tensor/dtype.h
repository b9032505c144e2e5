#ifndef SP_ENGINE_DTYPE_H
#define SP_ENGINE_DTYPE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/half.h"

/*
 * Element types, numbered as TensorFlow's DataType (types.proto).  A reference type in a model file
 * (number + 100) is read as its base type.
 *
 * In memory: BOOL is one byte, 0 or 1.  STRING is an sp_bytes.  HALF and BFLOAT16 are their 16 bits
 * in a uint16_t.  RESOURCE is a uint64_t, the index of a resource (engine/tensor/resource.h).
 * COMPLEX64 and COMPLEX128 are two floats or doubles.
 *
 * Files may use the numbers up to SP_FILE_DTYPE_MAX; the types above it are internal.
 */
typedef enum sp_dtype {
	SP_INVALID_DTYPE = 0,
	SP_FLOAT = 1,
	SP_DOUBLE = 2,
	SP_INT32 = 3,
	SP_UINT8 = 4,
	SP_INT16 = 5,
	SP_INT8 = 6,
	SP_STRING = 7,
	SP_COMPLEX64 = 8,
	SP_INT64 = 9,
	SP_BOOL = 10,
	SP_QINT8 = 11,
	SP_QUINT8 = 12,
	SP_QINT32 = 13,
	SP_BFLOAT16 = 14,
	SP_QINT16 = 15,
	SP_QUINT16 = 16,
	SP_UINT16 = 17,
	SP_COMPLEX128 = 18,
	SP_HALF = 19,
	SP_RESOURCE = 20,
	SP_VARIANT = 21,
	SP_UINT32 = 22,
	SP_UINT64 = 23,
	SP_OBJECT, /* internal: engine/tensor/object.h */
	SP_DTYPE_COUNT,
} sp_dtype;

#define SP_FILE_DTYPE_MAX SP_UINT64

/* Bytes of one element; 0 for SP_INVALID_DTYPE, SP_VARIANT, SP_OBJECT and unknown numbers. */
size_t sp_dtype_size(sp_dtype dtype);

/* "DT_FLOAT", ...; "DT_INVALID" for an unknown number.  Never NULL. */
const char *sp_dtype_name(sp_dtype dtype);

/* float, double, half, bfloat16 */
bool sp_dtype_is_floating(sp_dtype dtype);

/* int8 ... int64, uint8 ... uint64; no bool, no quantized types */
bool sp_dtype_is_integer(sp_dtype dtype);

#endif
