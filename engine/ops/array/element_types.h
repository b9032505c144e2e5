#ifndef SP_ENGINE_OPS_ELEMENT_TYPES_H
#define SP_ENGINE_OPS_ELEMENT_TYPES_H

#include <complex.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/bytes.h"
#include "engine/tensor/dtype.h"

/*
 * Short names of element types, for kernels that a macro instantiates for each type: f32 f64 f16
 * bf16 c64 c128 (complex) i8 i16 i32 i64 u8 u16 u32 u64 b8 (bool) string.  For each name T:
 *
 *   sp_element_T  the type in memory
 *   sp_value_T    the type that a kernel computes in: float for f16 and bf16, else the element type
 *   sp_wrap_T     as sp_value_T, but for integers an unsigned type of at least 32 bits, in which
 *                 sums, differences and products wrap around
 *   SP_LOAD_T     element to value
 *   SP_STORE_T    value to element; f16 and bf16 round to nearest even, integers keep low bits
 */
typedef float sp_element_f32;
typedef double sp_element_f64;
typedef uint16_t sp_element_f16;
typedef uint16_t sp_element_bf16;
typedef float complex sp_element_c64;
typedef double complex sp_element_c128;
typedef int8_t sp_element_i8;
typedef int16_t sp_element_i16;
typedef int32_t sp_element_i32;
typedef int64_t sp_element_i64;
typedef uint8_t sp_element_u8;
typedef uint16_t sp_element_u16;
typedef uint32_t sp_element_u32;
typedef uint64_t sp_element_u64;
typedef bool sp_element_b8;
typedef sp_bytes sp_element_string;

typedef float sp_value_f32;
typedef double sp_value_f64;
typedef float sp_value_f16;
typedef float sp_value_bf16;
typedef float complex sp_value_c64;
typedef double complex sp_value_c128;
typedef int8_t sp_value_i8;
typedef int16_t sp_value_i16;
typedef int32_t sp_value_i32;
typedef int64_t sp_value_i64;
typedef uint8_t sp_value_u8;
typedef uint16_t sp_value_u16;
typedef uint32_t sp_value_u32;
typedef uint64_t sp_value_u64;
typedef bool sp_value_b8;
typedef sp_bytes sp_value_string;

typedef float sp_wrap_f32;
typedef double sp_wrap_f64;
typedef float sp_wrap_f16;
typedef float sp_wrap_bf16;
typedef float complex sp_wrap_c64;
typedef double complex sp_wrap_c128;
typedef uint32_t sp_wrap_i8;
typedef uint32_t sp_wrap_i16;
typedef uint32_t sp_wrap_i32;
typedef uint64_t sp_wrap_i64;
typedef uint32_t sp_wrap_u8;
typedef uint32_t sp_wrap_u16;
typedef uint32_t sp_wrap_u32;
typedef uint64_t sp_wrap_u64;

#define SP_LOAD_f32(element)    (element)
#define SP_LOAD_f64(element)    (element)
#define SP_LOAD_f16(element)    sp_half_to_float(element)
#define SP_LOAD_bf16(element)   sp_bfloat16_to_float(element)
#define SP_LOAD_c64(element)    (element)
#define SP_LOAD_c128(element)   (element)
#define SP_LOAD_i8(element)     (element)
#define SP_LOAD_i16(element)    (element)
#define SP_LOAD_i32(element)    (element)
#define SP_LOAD_i64(element)    (element)
#define SP_LOAD_u8(element)     (element)
#define SP_LOAD_u16(element)    (element)
#define SP_LOAD_u32(element)    (element)
#define SP_LOAD_u64(element)    (element)
#define SP_LOAD_b8(element)     (element)
#define SP_LOAD_string(element) (element)

#define SP_STORE_f32(value)  ((float)(value))
#define SP_STORE_f64(value)  ((double)(value))
#define SP_STORE_f16(value)  sp_half_from_float(value)
#define SP_STORE_bf16(value) sp_bfloat16_from_float(value)
#define SP_STORE_c64(value)  ((float complex)(value))
#define SP_STORE_c128(value) ((double complex)(value))
#define SP_STORE_i8(value)   ((int8_t)(value))
#define SP_STORE_i16(value)  ((int16_t)(value))
#define SP_STORE_i32(value)  ((int32_t)(value))
#define SP_STORE_i64(value)  ((int64_t)(value))
#define SP_STORE_u8(value)   ((uint8_t)(value))
#define SP_STORE_u16(value)  ((uint16_t)(value))
#define SP_STORE_u32(value)  ((uint32_t)(value))
#define SP_STORE_u64(value)  ((uint64_t)(value))
#define SP_STORE_b8(value)   ((bool)(value))

/* The value rounded to the element type, for kernels that round after every step. */
#define SP_ROUND_f16(value)  sp_half_to_float(sp_half_from_float(value))
#define SP_ROUND_bf16(value) sp_bfloat16_to_float(sp_bfloat16_from_float(value))

/* Expand KERNEL(type, ...) for each type of a group. */
#define SP_FOR_FLOATING(KERNEL, ...) \
	KERNEL(f32, __VA_ARGS__)     \
	KERNEL(f64, __VA_ARGS__)     \
	KERNEL(f16, __VA_ARGS__)     \
	KERNEL(bf16, __VA_ARGS__)

#define SP_FOR_COMPLEX(KERNEL, ...) \
	KERNEL(c64, __VA_ARGS__)    \
	KERNEL(c128, __VA_ARGS__)

#define SP_FOR_SIGNED(KERNEL, ...) \
	KERNEL(i8, __VA_ARGS__)    \
	KERNEL(i16, __VA_ARGS__)   \
	KERNEL(i32, __VA_ARGS__)   \
	KERNEL(i64, __VA_ARGS__)

#define SP_FOR_UNSIGNED(KERNEL, ...) \
	KERNEL(u8, __VA_ARGS__)      \
	KERNEL(u16, __VA_ARGS__)     \
	KERNEL(u32, __VA_ARGS__)     \
	KERNEL(u64, __VA_ARGS__)

#define SP_FOR_INTEGER(KERNEL, ...)        \
	SP_FOR_SIGNED(KERNEL, __VA_ARGS__) \
	SP_FOR_UNSIGNED(KERNEL, __VA_ARGS__)

#define SP_FOR_NUMBER(KERNEL, ...)           \
	SP_FOR_FLOATING(KERNEL, __VA_ARGS__) \
	SP_FOR_INTEGER(KERNEL, __VA_ARGS__)

/* All numeric types, complex ones too. */
#define SP_FOR_ARITHMETIC(KERNEL, ...)     \
	SP_FOR_NUMBER(KERNEL, __VA_ARGS__) \
	SP_FOR_COMPLEX(KERNEL, __VA_ARGS__)

/* The floating and complex types, whose division has no remainder. */
#define SP_FOR_FIELD(KERNEL, ...)            \
	SP_FOR_FLOATING(KERNEL, __VA_ARGS__) \
	SP_FOR_COMPLEX(KERNEL, __VA_ARGS__)

/* The kernels name_f32, name_f64, ... as initialisers of an array by dtype. */
#define SP_TABLE_FLOATING(name)                                                    \
	[SP_FLOAT] = name##_f32, [SP_DOUBLE] = name##_f64, [SP_HALF] = name##_f16, \
	[SP_BFLOAT16] = name##_bf16
#define SP_TABLE_COMPLEX(name) [SP_COMPLEX64] = name##_c64, [SP_COMPLEX128] = name##_c128
#define SP_TABLE_SIGNED(name)                                                    \
	[SP_INT8] = name##_i8, [SP_INT16] = name##_i16, [SP_INT32] = name##_i32, \
	[SP_INT64] = name##_i64
#define SP_TABLE_UNSIGNED(name)                                                     \
	[SP_UINT8] = name##_u8, [SP_UINT16] = name##_u16, [SP_UINT32] = name##_u32, \
	[SP_UINT64] = name##_u64
#define SP_TABLE_INTEGER(name)    SP_TABLE_SIGNED(name), SP_TABLE_UNSIGNED(name)
#define SP_TABLE_NUMBER(name)     SP_TABLE_FLOATING(name), SP_TABLE_INTEGER(name)
#define SP_TABLE_ARITHMETIC(name) SP_TABLE_NUMBER(name), SP_TABLE_COMPLEX(name)
#define SP_TABLE_FIELD(name)      SP_TABLE_FLOATING(name), SP_TABLE_COMPLEX(name)

#endif
