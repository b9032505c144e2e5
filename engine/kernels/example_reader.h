#ifndef SP_ENGINE_KERNELS_EXAMPLE_READER_H
#define SP_ENGINE_KERNELS_EXAMPLE_READER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/bytes.h"
#include "engine/tensor/dtype.h"

/*
 * A reader of serialized tf.Example messages from clients.
 *
 *   Example       field 1: Features, repeated; other fields are skipped
 *   Features      field 1: a map entry, repeated; no other fields
 *   entry         field 1: name, field 2: Feature; once each, in either order
 *   Feature       only its first field is read: 1 BytesList, 2 FloatList, 3 Int64List
 *   list          field 1: the elements, packed (only the first block is read) or not
 *
 * These are TensorFlow's rules (example_proto_fast_parsing), which are stricter than protobuf's in
 * places.  One rule is stricter than TensorFlow's: a length that exceeds the enclosing message is
 * malformed, where TensorFlow truncates it.
 *
 * Nothing is copied: names, features, lists and strings are views.
 * Threads: pure.
 * Source: tensorflow/core/example/{example,feature}.proto, protobuf's encoding.
 */
typedef struct sp_example_reader {
	sp_bytes example;  /* unread rest */
	sp_bytes features; /* unread rest of the current Features */
	unsigned field;    /* field number of the Features in `example` */
} sp_example_reader;

typedef enum sp_example_result {
	SP_EXAMPLE_ENTRY,
	SP_EXAMPLE_END,
	SP_EXAMPLE_MALFORMED,
} sp_example_result;

static inline sp_example_reader sp_example_open(sp_bytes serialized)
{
	return (sp_example_reader){.example = serialized, .field = 1};
}

/*
 * Reads the feature lists of a SequenceExample: its field 2, which is encoded like Features with
 * FeatureList values.  Its context, field 1, is read by opening the message as an Example.
 */
static inline sp_example_reader sp_sequence_open(sp_bytes serialized)
{
	return (sp_example_reader){.example = serialized, .field = 2};
}

/* The next entry's name and Feature message. */
sp_example_result sp_example_next(sp_example_reader *reader, sp_bytes *name, sp_bytes *feature);

/*
 * The list of a non-empty Feature and its element type: SP_STRING, SP_FLOAT or SP_INT64.  False
 * when the first field is not one of the three lists.
 */
bool sp_example_feature(sp_bytes feature, sp_dtype *dtype, sp_bytes *list);

/* Takes the next Feature off the front of a FeatureList (field 1, repeated; no other fields). */
sp_example_result sp_feature_list_next(sp_bytes *list, sp_bytes *feature);

/* The element count of a list of that type; false when the list is malformed. */
bool sp_example_list_count(sp_bytes list, sp_dtype dtype, size_t *count);

/* Writes the elements of a list that sp_example_list_count() has accepted. */
void sp_example_list_read(sp_bytes list, sp_dtype dtype, void *out);

#endif
