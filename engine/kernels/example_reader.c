#include "engine/kernels/example_reader.h"

#include <string.h>

#include "engine/kernels/protobuf_reader.h"

/* Tags are single bytes here. */
enum {
	VARINT = SP_PROTOBUF_VARINT,
	DELIMITED = SP_PROTOBUF_DELIMITED,
	FIXED32 = SP_PROTOBUF_FIXED32,
	FIELD_1 = 1 << 3,
	FIELD_2 = 2 << 3,
	FIELD_3 = 3 << 3,
};

static bool take_tag(sp_bytes *from, unsigned char tag)
{
	if (from->size == 0 || (unsigned char)from->data[0] != tag)
		return false;
	*from = sp_protobuf_skip(*from, 1);
	return true;
}

static bool read_entry(sp_bytes entry, sp_bytes *name, sp_bytes *feature)
{
	bool has_name = false, has_feature = false;

	while (entry.size > 0) {
		bool is_name = take_tag(&entry, FIELD_1 | DELIMITED);

		if (!is_name && !take_tag(&entry, FIELD_2 | DELIMITED))
			return false;
		if ((is_name ? has_name : has_feature) ||
		    !sp_protobuf_delimited(&entry, is_name ? name : feature))
			return false;
		has_name |= is_name;
		has_feature |= !is_name;
	}
	return has_name && has_feature;
}

sp_example_result sp_example_next(sp_example_reader *reader, sp_bytes *name, sp_bytes *feature)
{
	sp_bytes entry;

	while (reader->features.size == 0) {
		if (reader->example.size == 0)
			return SP_EXAMPLE_END;
		if (take_tag(&reader->example, (unsigned char)(reader->field << 3 | DELIMITED))) {
			if (!sp_protobuf_delimited(&reader->example, &reader->features))
				return SP_EXAMPLE_MALFORMED;
		} else if (!sp_protobuf_skip_field(&reader->example)) {
			return SP_EXAMPLE_MALFORMED;
		}
	}
	if (!take_tag(&reader->features, FIELD_1 | DELIMITED) ||
	    !sp_protobuf_delimited(&reader->features, &entry) || !read_entry(entry, name, feature))
		return SP_EXAMPLE_MALFORMED;
	return SP_EXAMPLE_ENTRY;
}

sp_example_result sp_feature_list_next(sp_bytes *list, sp_bytes *feature)
{
	if (list->size == 0)
		return SP_EXAMPLE_END;
	if (!take_tag(list, FIELD_1 | DELIMITED) || !sp_protobuf_delimited(list, feature))
		return SP_EXAMPLE_MALFORMED;
	return SP_EXAMPLE_ENTRY;
}

bool sp_example_feature(sp_bytes feature, sp_dtype *dtype, sp_bytes *list)
{
	if (take_tag(&feature, FIELD_1 | DELIMITED))
		*dtype = SP_STRING;
	else if (take_tag(&feature, FIELD_2 | DELIMITED))
		*dtype = SP_FLOAT;
	else if (take_tag(&feature, FIELD_3 | DELIMITED))
		*dtype = SP_INT64;
	else
		return false;
	return sp_protobuf_delimited(&feature, list);
}

/* The content of a packed list; false when the list is not packed or malformed. */
static bool packed_block(sp_bytes list, sp_bytes *block)
{
	return take_tag(&list, FIELD_1 | DELIMITED) && sp_protobuf_delimited(&list, block);
}

static bool count_texts(sp_bytes list, size_t *count)
{
	sp_bytes text;

	for (*count = 0; list.size > 0; ++*count)
		if (!take_tag(&list, FIELD_1 | DELIMITED) || !sp_protobuf_delimited(&list, &text))
			return false;
	return true;
}

static bool count_floats(sp_bytes list, size_t *count)
{
	sp_bytes block;

	if (packed_block(list, &block)) {
		*count = block.size / 4;
		return block.size % 4 == 0;
	}
	for (*count = 0; list.size > 0; ++*count) {
		if (!take_tag(&list, FIELD_1 | FIXED32) || list.size < 4)
			return false;
		list = sp_protobuf_skip(list, 4);
	}
	return true;
}

static bool count_integers(sp_bytes list, size_t *count)
{
	sp_bytes block;
	uint64_t value;

	*count = 0;
	if (packed_block(list, &block)) {
		for (; block.size > 0; ++*count)
			if (!sp_protobuf_varint(&block, &value))
				return false;
		return true;
	}
	for (; list.size > 0; ++*count)
		if (!take_tag(&list, FIELD_1 | VARINT) || !sp_protobuf_varint(&list, &value))
			return false;
	return true;
}

bool sp_example_list_count(sp_bytes list, sp_dtype dtype, size_t *count)
{
	switch (dtype) {
	case SP_STRING:
		return count_texts(list, count);
	case SP_FLOAT:
		return count_floats(list, count);
	default:
		return count_integers(list, count);
	}
}

/* The functions below check nothing: sp_example_list_count() has validated the list. */

static void read_texts(sp_bytes list, sp_bytes *out)
{
	for (; list.size > 0; out++) {
		list = sp_protobuf_skip(list, 1);
		if (!sp_protobuf_delimited(&list, out))
			return;
	}
}

static void read_floats(sp_bytes list, float *out)
{
	sp_bytes block;

	if (packed_block(list, &block)) {
		if (block.size > 0)
			memcpy(out, block.data, block.size);
		return;
	}
	for (; list.size > 0; list = sp_protobuf_skip(list, 5))
		memcpy(out++, list.data + 1, 4);
}

static void read_integers(sp_bytes list, int64_t *out)
{
	sp_bytes block;
	uint64_t value = 0;

	if (packed_block(list, &block)) {
		for (; block.size > 0 && sp_protobuf_varint(&block, &value); out++)
			*out = (int64_t)value;
		return;
	}
	while (list.size > 0) {
		list = sp_protobuf_skip(list, 1);
		if (!sp_protobuf_varint(&list, &value))
			return;
		*out++ = (int64_t)value;
	}
}

void sp_example_list_read(sp_bytes list, sp_dtype dtype, void *out)
{
	switch (dtype) {
	case SP_STRING:
		read_texts(list, out);
		break;
	case SP_FLOAT:
		read_floats(list, out);
		break;
	default:
		read_integers(list, out);
	}
}
