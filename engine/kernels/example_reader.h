#ifndef SP_ENGINE_KERNELS_EXAMPLE_READER_H
#define SP_ENGINE_KERNELS_EXAMPLE_READER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/bytes.h"
#include "engine/tensor/dtype.h"

/*
 * A reader of serialized tf.Example messages, as they come from clients.
 *
 *   Example       field 1: Features, any number; other fields are skipped
 *   Features      field 1: a map entry, any number; nothing else
 *   entry         field 1: name, field 2: Feature; once each, in either order
 *   Feature       its first field counts: 1 BytesList, 2 FloatList, 3 Int64List
 *   list          field 1: the elements, packed (then the first block counts) or not
 *
 * These are TensorFlow's rules (example_proto_fast_parsing), which are narrower
 * than protobuf's here and there.  One is narrower still: a length that reaches
 * beyond what holds it is malformed, where TensorFlow takes what is there.
 *
 * Nothing is copied: names, features, lists and texts are views.
 * Threads: pure.
 * Source: tensorflow/core/example/{example,feature}.proto, protobuf's encoding.
 */
typedef struct sp_example_reader {
	sp_bytes example;  /* what is left of it */
	sp_bytes features; /* what is left of the Features at hand */
	unsigned field;    /* that the Features are */
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
 * The feature lists of a SequenceExample, which are field 2 of it and read like
 * Features; its context, field 1, is read as an Example.  What comes with a name
 * is a FeatureList.
 */
static inline sp_example_reader sp_sequence_open(sp_bytes serialized)
{
	return (sp_example_reader){.example = serialized, .field = 2};
}

/* The next entry's name and Feature message. */
sp_example_result sp_example_next(sp_example_reader *reader, sp_bytes *name, sp_bytes *feature);

/*
 * The list of a Feature that is not empty, and its element type: SP_STRING,
 * SP_FLOAT or SP_INT64.  False when it begins with none of the three.
 */
bool sp_example_feature(sp_bytes feature, sp_dtype *dtype, sp_bytes *list);

/* The next Feature of a FeatureList (field 1, any number; nothing else), moving past it. */
sp_example_result sp_feature_list_next(sp_bytes *list, sp_bytes *feature);

/* How many elements a list of that type has; false when it is malformed. */
bool sp_example_list_count(sp_bytes list, sp_dtype dtype, size_t *count);

/* Writes the elements of a list that was counted. */
void sp_example_list_read(sp_bytes list, sp_dtype dtype, void *out);

#endif
