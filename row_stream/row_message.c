#include "row_stream/row_message.h"

#include <inttypes.h>

static uint64_t read_number(const char *bytes, size_t size)
{
	uint64_t number = 0;

	for (size_t i = size; i-- != 0;)
		number = number << 8 | (unsigned char)bytes[i];
	return number;
}

/* `rest`: the rows; out->key_size and out->row_size are set. */
static sp_status parse_rows(sp_row_message *out, sp_bytes rest, sp_error *err)
{
	size_t entry = out->key_size + out->row_size;

	if (out->row_size == 0 || out->row_size % sizeof(float) != 0)
		return sp_error_set(err, SP_CORRUPT, "rows of %zu bytes are no float32",
				    out->row_size);
	if (rest.size % entry != 0)
		return sp_error_set(
			err, SP_CORRUPT,
			"%zu bytes of rows are no multiple of the %zu of a key and a row",
			rest.size, entry);
	out->rows = rest.data;
	out->count = rest.size / entry;
	return SP_OK;
}

static sp_status parse_kind(sp_row_message *out, const char *header, size_t name_size,
			    sp_error *err)
{
	unsigned kind = (unsigned char)header[4], key_size = (unsigned char)header[5];
	bool is_commit = kind == SP_ROW_MESSAGE_COMMIT;

	if (kind != SP_ROW_MESSAGE_ROWS && !is_commit)
		return sp_error_set(err, SP_CORRUPT, "a message of kind %u", kind);
	if (is_commit ? key_size != 0 : key_size != 4 && key_size != 8)
		return sp_error_set(err, SP_CORRUPT, "keys of %u bytes", key_size);
	if (is_commit != (name_size == 0))
		return sp_error_set(err, SP_CORRUPT, "a table's name of %zu bytes", name_size);
	out->kind = (sp_row_message_kind)kind;
	out->key_size = key_size;
	return SP_OK;
}

sp_status sp_row_message_parse(sp_row_message *out, sp_bytes message, sp_error *err)
{
	const char *header = message.data;
	size_t name_size, left;
	uint64_t size;

	*out = (sp_row_message){.kind = 0};
	if (message.size < SP_ROW_MESSAGE_HEADER || memcmp(header, "SPR1", 4) != 0)
		return sp_error_set(err, SP_CORRUPT, "%zu bytes that do not begin with SPR1",
				    message.size);
	left = message.size - SP_ROW_MESSAGE_HEADER;
	name_size = (size_t)read_number(header + 6, 2);
	SP_TRY(parse_kind(out, header, name_size, err));
	if (name_size > left)
		return sp_error_set(err, SP_CORRUPT, "a table's name of %zu bytes in %zu",
				    name_size, left);
	out->full_step = (int64_t)read_number(header + 8, 8);
	out->step = (int64_t)read_number(header + 16, 8);
	out->batch = read_number(header + 24, 8);
	size = read_number(header + 32, 4);
	if (out->full_step < 0 || out->step < 0 || out->batch == 0 ||
	    read_number(header + 36, 4) != 0)
		return sp_error_set(err, SP_CORRUPT,
				    "full step %" PRId64 ", step %" PRId64 ", batch %" PRIu64
				    ", reserved bytes %08x",
				    out->full_step, out->step, out->batch,
				    (unsigned)read_number(header + 36, 4));
	if (out->kind == SP_ROW_MESSAGE_COMMIT) {
		out->messages = (uint32_t)size;
		return left == 0 ? SP_OK
				 : sp_error_set(err, SP_CORRUPT, "%zu bytes after a commit", left);
	}
	out->row_size = (size_t)size;
	out->table = (sp_bytes){header + SP_ROW_MESSAGE_HEADER, name_size};
	SP_TRY(parse_rows(out, (sp_bytes){out->table.data + name_size, left - name_size}, err));
	return out->count != 0 ? SP_OK : sp_error_set(err, SP_CORRUPT, "no rows");
}

sp_status sp_row_message_parse_hps(sp_row_message *out, sp_bytes message, size_t key_size,
				   sp_error *err)
{
	const size_t header = SP_ROW_MESSAGE_HPS_HEADER;

	*out = (sp_row_message){
		.kind = SP_ROW_MESSAGE_ROWS, .full_step = -1, .step = -1, .key_size = key_size};
	if (message.size < header || memcmp(message.data, "HCTR", 4) != 0)
		return sp_error_set(err, SP_CORRUPT, "%zu bytes that do not begin with HCTR",
				    message.size);
	out->row_size = (size_t)read_number(message.data + 4, 4);
	return parse_rows(out, (sp_bytes){message.data + header, message.size - header}, err);
}
