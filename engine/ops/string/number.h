#ifndef SP_ENGINE_OPS_NUMBER_H
#define SP_ENGINE_OPS_NUMBER_H

#include <stdbool.h>
#include <stdint.h>

#include "base/bytes.h"

/*
 * Parses numbers as TensorFlow does (StringToNumber, DecodeCSV, tables from text files).  Each
 * function returns false when the text is not such a number, and then leaves *out unchanged.  White
 * space around the number is skipped.
 *
 * Integers: an optional '-' and decimal digits, in the range of the type.
 *
 * Reals: fewer than 32 bytes in all; an optional sign and decimal digits with an optional point and
 * exponent, or "inf", "nan" or "0x" and hexadecimal digits in either case.  White space alone is 0.
 * Rounded to nearest even; overflow gives infinity.  Independent of the locale.
 *
 * Threads: pure.
 */
bool sp_number_read_i32(sp_bytes text, int32_t *out);
bool sp_number_read_i64(sp_bytes text, int64_t *out);
bool sp_number_read_f32(sp_bytes text, float *out);
bool sp_number_read_f64(sp_bytes text, double *out);

#endif
