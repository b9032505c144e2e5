#include "api/host/grpc/grpc_reflection.h"

#include <stdio.h>
#include <string.h>

#include "api/host/grpc/grpc_protocol.h"
#include "api/host/messages/message_writer.h"
#include "base/wire.h"

/* Field numbers of descriptors. */
enum {
	SET_FILE = 1,
	FILE_NAME = 1,
	FILE_PACKAGE = 2,
	FILE_MESSAGE = 4,
	FILE_ENUM = 5,
	FILE_SERVICE = 6,
	NAME = 1, /* of messages, enums, services, methods, fields */
	MESSAGE_FIELD = 2,
	MESSAGE_MESSAGE = 3,
	MESSAGE_ENUM = 4,
	SERVICE_METHOD = 2,
};

enum {
	REQUEST_FILE = 3,
	REQUEST_SYMBOL = 4,
	REQUEST_EXTENSION = 5,
	REQUEST_EXTENSIONS = 6,
	REQUEST_LIST = 7,

	RESPONSE_REQUEST = 2,
	RESPONSE_FILES = 4,
	RESPONSE_LIST = 6,
	RESPONSE_ERROR = 7,
};

static sp_bytes all_files(void)
{
	return (sp_bytes){(const char *)sp_grpc_descriptors, sp_grpc_descriptors_size};
}

/* Finds the next length-delimited field with this number; false at the end of the message. */
static bool next(sp_wire *wire, uint32_t number, sp_bytes *out)
{
	sp_wire_field field;

	while (sp_wire_next(wire, &field))
		if (field.number == number && field.type == SP_WIRE_BYTES) {
			*out = field.bytes;
			return true;
		}
	return false;
}

static sp_bytes text_of(sp_bytes message, uint32_t number)
{
	sp_wire wire = sp_wire_of(message);
	sp_bytes text = {"", 0};

	(void)next(&wire, number, &text);
	return text;
}

/* ------------------------------------------------------------------- symbols */

/* Takes "name" or "name." off the front of the symbol; false if it does not begin with it. */
static bool take_name(sp_bytes *symbol, sp_bytes name)
{
	if (symbol->size < name.size || memcmp(symbol->data, name.data, name.size) != 0)
		return false;
	if (symbol->size == name.size) {
		*symbol = (sp_bytes){"", 0};
		return true;
	}
	if (symbol->data[name.size] != '.')
		return false;
	*symbol = (sp_bytes){symbol->data + name.size + 1, symbol->size - name.size - 1};
	return true;
}

typedef enum symbol_kind { IS_LEAF, IS_MESSAGE, IS_SERVICE } symbol_kind;

/* Whether a symbol in field `number` of its parent has this name, or a symbol inside it has it. */
static bool has_symbol(sp_bytes parent, uint32_t number, symbol_kind kind, sp_bytes name)
{
	sp_wire wire = sp_wire_of(parent);
	sp_bytes symbol;

	while (next(&wire, number, &symbol)) {
		sp_bytes rest = name;

		if (!take_name(&rest, text_of(symbol, NAME)))
			continue;
		if (rest.size == 0 ||
		    (kind == IS_SERVICE && has_symbol(symbol, SERVICE_METHOD, IS_LEAF, rest)) ||
		    (kind == IS_MESSAGE && (has_symbol(symbol, MESSAGE_FIELD, IS_LEAF, rest) ||
					    has_symbol(symbol, MESSAGE_ENUM, IS_LEAF, rest) ||
					    has_symbol(symbol, MESSAGE_MESSAGE, IS_MESSAGE, rest))))
			return true;
	}
	return false;
}

static bool file_has(sp_bytes file, sp_bytes symbol)
{
	sp_bytes rest = symbol;

	return take_name(&rest, text_of(file, FILE_PACKAGE)) && rest.size != 0 &&
	       (has_symbol(file, FILE_MESSAGE, IS_MESSAGE, rest) ||
		has_symbol(file, FILE_ENUM, IS_LEAF, rest) ||
		has_symbol(file, FILE_SERVICE, IS_SERVICE, rest));
}

/* ----------------------------------------------------------------- responses */

static void put_error(sp_buffer *out, sp_grpc_code code, const char *text)
{
	enum { CODE = 1, MESSAGE };
	size_t error = sp_message_open(out, RESPONSE_ERROR);

	sp_message_put_number(out, CODE, (uint64_t)code);
	sp_message_put_text(out, MESSAGE, sp_bytes_of(text));
	sp_message_close(out, error);
}

static void put_file(sp_buffer *out, uint32_t by, sp_bytes name)
{
	enum { DESCRIPTOR = 1 };
	sp_bytes set = all_files(), file;
	sp_wire wire = sp_wire_of(set);
	size_t files;

	while (next(&wire, SET_FILE, &file)) {
		if (by == REQUEST_FILE ? !sp_bytes_equal(text_of(file, FILE_NAME), name)
				       : !file_has(file, name))
			continue;
		files = sp_message_open(out, RESPONSE_FILES);
		sp_message_put_bytes(out, DESCRIPTOR, file);
		sp_message_close(out, files);
		return;
	}
	put_error(out, SP_GRPC_NOT_FOUND,
		  by == REQUEST_FILE ? "there is no such file" : "there is no such symbol");
}

static void put_services(sp_buffer *out)
{
	enum { SERVICE = 1, SERVICE_NAME = 1, MAX_NAME = 128 };
	size_t list = sp_message_open(out, RESPONSE_LIST), entry;
	sp_wire files = sp_wire_of(all_files());
	sp_bytes file, service;

	while (next(&files, SET_FILE, &file)) {
		sp_wire wire = sp_wire_of(file);
		sp_bytes package = text_of(file, FILE_PACKAGE);

		while (next(&wire, FILE_SERVICE, &service)) {
			sp_bytes own = text_of(service, NAME);
			char name[MAX_NAME];
			int size = snprintf(name, sizeof(name), "%.*s.%.*s", (int)package.size,
					    package.data, (int)own.size, own.data);

			entry = sp_message_open(out, SERVICE);
			sp_message_put_text(out, SERVICE_NAME, (sp_bytes){name, (size_t)size});
			sp_message_close(out, entry);
		}
	}
	sp_message_close(out, list);
}

sp_status sp_grpc_reflect(sp_buffer *out, sp_bytes request, sp_error *err)
{
	sp_wire wire = sp_wire_of(request);
	sp_wire_field field, asked = {.number = 0};

	while (sp_wire_next(&wire, &field))
		if (field.type == SP_WIRE_BYTES && field.number >= REQUEST_FILE &&
		    field.number <= REQUEST_LIST)
			asked = field;
	if (wire.malformed)
		return sp_error_set(err, SP_INVALID, "the message cannot be parsed");
	sp_message_put_bytes(out, RESPONSE_REQUEST, request);
	switch (asked.number) {
	case REQUEST_FILE:
	case REQUEST_SYMBOL:
		put_file(out, asked.number, asked.bytes);
		break;
	case REQUEST_LIST:
		put_services(out);
		break;
	case REQUEST_EXTENSION:
	case REQUEST_EXTENSIONS:
		put_error(out, SP_GRPC_NOT_FOUND, "there are no extensions");
		break;
	default:
		put_error(out, SP_GRPC_INVALID_ARGUMENT, "the request asks for nothing");
	}
	return SP_OK;
}
