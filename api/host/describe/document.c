#include "api/host/describe/document.h"

#include <inttypes.h>
#include <stdio.h>

#include "api/host/json/json_writer.h"
#include "api/host/messages/message_writer.h"

/* What goes before a value in JSON. */
static void begin_json(sp_document *d, const char *name)
{
	if (d->has_members)
		sp_buffer_append_char(d->out, ',');
	d->has_members = true;
	if (name == NULL)
		return;
	sp_json_text_append(d->out, sp_bytes_of(name));
	sp_buffer_append_char(d->out, ':');
}

static void open_json(sp_document *d, const char *name, char bracket)
{
	if (!d->is_json)
		return;
	begin_json(d, name);
	sp_buffer_append_char(d->out, bracket);
	d->has_members = false;
}

static void close_json(sp_document *d, char bracket)
{
	if (!d->is_json)
		return;
	sp_buffer_append_char(d->out, bracket);
	d->has_members = true;
}

sp_document_mark sp_document_open(sp_document *d, const char *name, uint32_t number)
{
	open_json(d, name, '{');
	return (sp_document_mark){!d->is_json && number != 0 ? sp_message_open(d->out, number) : 0,
				  0};
}

sp_document_mark sp_document_open_entry(sp_document *d, const char *key, uint32_t number)
{
	enum { KEY = 1, VALUE = 2 };
	sp_document_mark mark = {0, 0};

	open_json(d, key, '{');
	if (d->is_json)
		return mark;
	mark.entry = sp_message_open(d->out, number);
	sp_message_put_text(d->out, KEY, sp_bytes_of(key));
	mark.value = sp_message_open(d->out, VALUE);
	return mark;
}

void sp_document_close(sp_document *d, sp_document_mark mark)
{
	close_json(d, '}');
	if (mark.value != 0)
		sp_message_close(d->out, mark.value);
	if (mark.entry != 0)
		sp_message_close(d->out, mark.entry);
}

void sp_document_open_list(sp_document *d, const char *name)
{
	open_json(d, name, '[');
}

void sp_document_close_list(sp_document *d)
{
	close_json(d, ']');
}

void sp_document_open_map(sp_document *d, const char *name)
{
	open_json(d, name, '{');
}

void sp_document_close_map(sp_document *d)
{
	close_json(d, '}');
}

/* -------------------------------------------------------------------- values */

void sp_document_text(sp_document *d, const char *name, uint32_t number, sp_bytes value)
{
	if (d->is_json) {
		begin_json(d, name);
		sp_json_text_append(d->out, value);
	} else if (number != 0) {
		sp_message_put_text(d->out, number, value);
	}
}

void sp_document_flag(sp_document *d, const char *name, uint32_t number, bool value)
{
	if (d->is_json) {
		begin_json(d, name);
		sp_buffer_append_text(d->out, value ? "true" : "false");
	} else if (number != 0) {
		sp_message_put_number(d->out, number, value);
	}
}

void sp_document_number(sp_document *d, const char *name, uint32_t number, uint64_t value)
{
	if (d->is_json) {
		begin_json(d, name);
		sp_json_write_u64(d->out, value);
	} else if (number != 0) {
		sp_message_put_number(d->out, number, value);
	}
}

void sp_document_int64(sp_document *d, const char *name, uint32_t number, int64_t value)
{
	if (d->is_json)
		sp_document_digits(d, name, number, value);
	else if (number != 0)
		sp_message_put_number(d->out, number, (uint64_t)value);
}

void sp_document_digits(sp_document *d, const char *name, uint32_t number, int64_t value)
{
	char text[24];

	snprintf(text, sizeof(text), "%" PRId64, value);
	sp_document_text(d, name, number, sp_bytes_of(text));
}

void sp_document_word(sp_document *d, const char *name, uint32_t number, const char *word,
		      int value)
{
	if (d->is_json)
		sp_document_text(d, name, number, sp_bytes_of(word));
	else if (number != 0)
		sp_message_put_number(d->out, number, (uint64_t)value);
}

void sp_document_numbers(sp_document *d, const char *name, uint32_t number, const int64_t *values,
			 size_t count)
{
	if (!d->is_json) {
		sp_message_put_numbers(d->out, number, values, count);
		return;
	}
	open_json(d, name, '[');
	for (size_t i = 0; i < count; i++) {
		begin_json(d, NULL);
		sp_json_write_i64(d->out, values[i]);
	}
	close_json(d, ']');
}
