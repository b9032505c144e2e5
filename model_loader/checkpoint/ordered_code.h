#ifndef SP_MODEL_LOADER_CHECKPOINT_ORDERED_CODE_H
#define SP_MODEL_LOADER_CHECKPOINT_ORDERED_CODE_H

#include <stdint.h>

#include "base/buffer.h"
#include "base/bytes.h"
#include "model_loader/checkpoint/tensor_slice.h"

/*
 * Encodes keys of single slices in a bundle's index.  The code preserves order: comparing bytes
 * compares numbers and strings.
 *
 *   number   one byte n, then n bytes, big-endian, without leading zeros
 *   string   00 as 00 ff, ff as ff 00, all else unchanged; 00 01 at the end
 *   signed   1 to 10 bytes with 7 bits each, big-endian two's complement; as many
 *            leading bits of the first two bytes are inverted as there are bytes
 *
 * Source: core/lib/strings/ordered_code.h of TensorFlow 2.15.
 */
void sp_ordered_code_number(sp_buffer *out, uint64_t value);
void sp_ordered_code_string(sp_buffer *out, sp_bytes text);
void sp_ordered_code_signed(sp_buffer *out, int64_t value);

/*
 * The key of `slice` of the tensor `name`: 0, the name, the rank, and the slice's start and length
 * in each dimension.  Source: EncodeTensorNameSlice of TensorFlow 2.15.
 */
void sp_ordered_code_slice_key(sp_buffer *out, sp_bytes name, const sp_tensor_slice *slice);

#endif
