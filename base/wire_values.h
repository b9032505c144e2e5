#ifndef SP_BASE_WIRE_VALUES_H
#define SP_BASE_WIRE_VALUES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/wire.h"

/*
 * The values of a repeated field of a message (base/wire.h) as an array in memory, and back.  On
 * the wire they are packed, single, or both in turn.
 *
 * Threads: pure.
 */

/* What a value becomes in memory. */
typedef enum sp_wire_conversion {
	SP_WIRE_AS_IS,       /* of a varint its lower bytes */
	SP_WIRE_IN_RANGE,    /* an int32 or uint32 as 8 or 16 bits, which must hold it */
	SP_WIRE_TO_BOOL,     /* whether a varint is not 0 */
	SP_WIRE_TO_HALF,     /* a float, rounded to the nearest */
	SP_WIRE_TO_BFLOAT16, /* a float without its lower half; NaN stays NaN */
} sp_wire_conversion;

typedef struct sp_wire_form {
	unsigned char type;       /* sp_wire_type of a single value */
	unsigned char size;       /* bytes of a value in memory; sizeof(sp_bytes) for BYTES */
	unsigned char conversion; /* sp_wire_conversion */
	bool is_signed;           /* a negative integer is a varint of ten bytes */
} sp_wire_form;

/* Room for values: [at, end).  Those that do not fit are checked, counted and dropped. */
typedef struct sp_wire_sink {
	sp_wire_form form;
	char *at, *end;
	size_t dropped;
	bool out_of_range; /* a value of SP_WIRE_IN_RANGE was */
} sp_wire_sink;

/*
 * Appends the value or the values of a field; false if they are malformed or out of range.  A
 * field of another wire type is an unknown one, and appends nothing.  Of BYTES each value is a view
 * of the message.
 */
bool sp_wire_take_values(sp_wire_sink *out, const sp_wire_field *field);

/*
 * Bytes of `count` values that are packed, and the bytes; not for BYTES.  Halves are written as
 * floats.
 */
size_t sp_wire_values_size(const sp_wire_form *form, const void *data, size_t count);
unsigned char *sp_wire_put_values(unsigned char *at, const sp_wire_form *form, const void *data,
				  size_t count);

#endif
