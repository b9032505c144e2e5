#include "engine/ops/parse/proto_message.h"

#include <string.h>

#include "engine/kernels/protobuf_reader.h"
#include "engine/ops/parse/proto_linked.h"
#include "engine/ops/string/text.h"

static sp_status open_described(sp_arena *arena, sp_proto_message *message, size_t *count,
				sp_error *err)
{
	sp_proto_field *fields;
	sp_bytes descriptor;

	SP_TRY(sp_descriptor_message(message->set, message->name, &descriptor, err));
	SP_TRY(sp_descriptor_fields(descriptor, arena, &fields, count, err));
	message->fields = fields;
	return SP_OK;
}

sp_status sp_proto_message__open(sp_prepare *prepare, sp_proto_message *out, sp_error *err)
{
	sp_bytes source;
	size_t count;

	*out = (sp_proto_message){.set = {"", 0}};
	sp_map_init(&out->by_name, prepare->arena);
	SP_TRY(sp_text_attr(prepare, "message_type", &out->name, err));
	SP_TRY(sp_node_attr_bytes(prepare->node, "descriptor_source", "local://", &source, err));
	if (sp_bytes_starts_with(source, "bytes://")) {
		out->set = sp_protobuf_skip(source, strlen("bytes://"));
	} else if (source.size == 0 || sp_bytes_equal_text(source, "local://")) {
		SP_TRY(sp_proto_linked(out->name, prepare->arena, &out->set, err));
	} else {
		return sp_error_set(
			err, SP_INVALID,
			"there is no file of descriptors '%.*s', nor one of its name among "
			"the assets",
			(int)(source.size < 100 ? source.size : 100), source.data);
	}
	SP_TRY(open_described(prepare->arena, out, &count, err));
	for (size_t i = 0; i < count; i++)
		if (sp_map_add(&out->by_name, out->fields[i].name, i) == SP_MAP_NO_MEMORY)
			return sp_error_set(err, SP_NO_MEMORY, "no memory for a message type");
	return SP_OK;
}

sp_status sp_proto_message__field(const sp_proto_message *message, sp_bytes name, bool or_extension,
				  sp_proto_field *out, sp_error *err)
{
	uint64_t i;

	if (sp_map_get(&message->by_name, name, &i)) {
		*out = message->fields[i];
		return SP_OK;
	}
	if (or_extension && name.size != 0 && memchr(name.data, '.', name.size) != NULL)
		return sp_descriptor_extension(message->set, message->name, name, out, err);
	return sp_error_set(err, SP_INVALID, "Unknown field: %.*s in message type %.*s",
			    (int)(name.size < 60 ? name.size : 60), name.data,
			    (int)(message->name.size < 100 ? message->name.size : 100),
			    message->name.data);
}

/* -------------------------------------------------------------- element types */

typedef struct fit {
	sp_dtype first, second; /* the accepted element types */
	uint32_t wire;
} fit;

static const fit fits[SP_PROTO_SINT64 + 1] = {
	[SP_PROTO_DOUBLE] = {SP_DOUBLE, SP_DOUBLE, SP_PROTOBUF_FIXED64},
	[SP_PROTO_FLOAT] = {SP_FLOAT, SP_DOUBLE, SP_PROTOBUF_FIXED32},
	[SP_PROTO_INT64] = {SP_INT64, SP_INT64, SP_PROTOBUF_VARINT},
	[SP_PROTO_UINT64] = {SP_UINT64, SP_UINT64, SP_PROTOBUF_VARINT},
	[SP_PROTO_INT32] = {SP_INT32, SP_INT64, SP_PROTOBUF_VARINT},
	[SP_PROTO_FIXED64] = {SP_UINT64, SP_UINT64, SP_PROTOBUF_FIXED64},
	[SP_PROTO_FIXED32] = {SP_UINT32, SP_UINT64, SP_PROTOBUF_FIXED32},
	[SP_PROTO_BOOL] = {SP_BOOL, SP_BOOL, SP_PROTOBUF_VARINT},
	[SP_PROTO_STRING] = {SP_STRING, SP_STRING, SP_PROTOBUF_DELIMITED},
	[SP_PROTO_GROUP] = {SP_STRING, SP_STRING, SP_PROTO_WIRE_GROUP},
	[SP_PROTO_MESSAGE] = {SP_STRING, SP_STRING, SP_PROTOBUF_DELIMITED},
	[SP_PROTO_BYTES] = {SP_STRING, SP_STRING, SP_PROTOBUF_DELIMITED},
	[SP_PROTO_UINT32] = {SP_UINT32, SP_UINT64, SP_PROTOBUF_VARINT},
	[SP_PROTO_ENUM] = {SP_INT32, SP_INT32, SP_PROTOBUF_VARINT},
	[SP_PROTO_SFIXED32] = {SP_INT32, SP_INT64, SP_PROTOBUF_FIXED32},
	[SP_PROTO_SFIXED64] = {SP_INT64, SP_INT64, SP_PROTOBUF_FIXED64},
	[SP_PROTO_SINT32] = {SP_INT32, SP_INT64, SP_PROTOBUF_VARINT},
	[SP_PROTO_SINT64] = {SP_INT64, SP_INT64, SP_PROTOBUF_VARINT},
};

sp_status sp_proto_message__check(const sp_proto_field *field, sp_dtype dtype, sp_error *err)
{
	if (dtype == fits[field->type].first || dtype == fits[field->type].second)
		return SP_OK;
	return sp_error_set(err, SP_INVALID, "field %.*s of protobuf type %d cannot be %s",
			    (int)(field->name.size < 60 ? field->name.size : 60), field->name.data,
			    field->type, sp_dtype_name(dtype));
}

uint32_t sp_proto_message__wire(sp_proto_type type)
{
	return fits[type].wire;
}
