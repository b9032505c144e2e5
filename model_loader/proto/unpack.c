#include "model_loader/proto/unpack.h"

#include <string.h>

/* The memory allowed for one message. */
typedef struct allowance {
	sp_arena *arena;
	size_t left;
	sp_status status; /* SP_OK until an allocation fails */
} allowance;

static void *take(void *context, size_t size)
{
	allowance *p = context;
	void *block;

	if (size > p->left) {
		p->status = SP_CORRUPT;
		return NULL;
	}
	block = sp_arena_alloc(p->arena, size);
	if (block == NULL)
		p->status = SP_NO_MEMORY;
	else
		p->left -= size;
	return block;
}

static void keep(void *context, void *block)
{
	(void)context;
	(void)block;
}

sp_status sp_message_unpack(ProtobufCMessage **out, const ProtobufCMessageDescriptor *type,
			    sp_bytes bytes, sp_arena *scratch, sp_error *err)
{
	size_t most = bytes.size * SP_MESSAGE_EXPANSION + SP_MESSAGE_SLACK;
	allowance memory = {.arena = scratch, .left = most};
	ProtobufCAllocator allocator = {.alloc = take, .free = keep, .allocator_data = &memory};

	if (bytes.size > SP_MESSAGE_MAX_SIZE)
		return sp_error_set(err, SP_CORRUPT, "a message of %zu bytes is too large",
				    bytes.size);
	*out = protobuf_c_message_unpack(type, &allocator, bytes.size, (const uint8_t *)bytes.data);
	if (*out != NULL)
		return SP_OK;
	if (memory.status == SP_NO_MEMORY)
		return sp_no_memory(err, "a message of %zu bytes", bytes.size);
	if (memory.status == SP_CORRUPT)
		return sp_error_set(err, SP_CORRUPT,
				    "a message of %zu bytes unpacks to more than %zu bytes",
				    bytes.size, most);
	return sp_error_set(err, SP_CORRUPT, "these %zu bytes are not a message of this type",
			    bytes.size);
}

sp_status sp_message_text(const char **out, const ProtobufCBinaryData *field, const char *what,
			  sp_arena *arena, sp_error *err)
{
	if (field->len != 0 && memchr(field->data, '\0', field->len) != NULL)
		return sp_error_set(err, SP_CORRUPT, "%s holds a NUL byte", what);
	*out = sp_arena_text(arena, sp_message_bytes(field));
	SP_NEED_MEMORY(*out, err, "%s", what);
	return SP_OK;
}
