#ifndef SP_ENGINE_OPS_JSON_EXAMPLE_H
#define SP_ENGINE_OPS_JSON_EXAMPLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/bytes.h"

/*
 * A tensorflow.Example in protobuf's JSON to its binary form: in the order of the text,
 * no list packed, which are the bytes that TensorFlow makes.
 *
 * Names are taken in both spellings (int64List, int64_list).  As protobuf's reader is
 * lenient so is this: texts in single quotes, names without quotes, a comma behind the
 * last element, one value where a list belongs, lists in lists, null for what is absent.
 * Numbers of more than 31 bytes that are no 64-bit integers are refused, as are
 * hexadecimal fractions.
 *
 * Threads: pure.
 * Source: protobuf's JSON mapping, as TensorFlow 2.15 answers.
 */

/* The longest text that is read. */
#define SP_JSON_EXAMPLE_MAX ((size_t)1 << 28)

/* A name of the map being read, by where its entry is in the output. */
typedef struct sp_json_key {
	uint32_t map; /* which of the maps; 0: never used */
	uint32_t entry;
} sp_json_key;

/* How large the output may become. */
static inline size_t sp_json_example_room(size_t json_size)
{
	return 4 * json_size + 160;
}

/* How many keys must lie in `keys`: a power of two. */
size_t sp_json_example_keys(size_t json_size);

/*
 * Writes the message to `out` and its size to *size.  `keys` is scratch, zeroed.  NULL, or
 * what is wrong with the text.
 */
const char *sp_json_example_read(sp_bytes json, char *out, size_t *size, sp_json_key *keys);

#endif
