#include "api/host/json/json_reader.h"
#include "api/host/model/config_text.h"

enum { MAX_DEPTH = 64 };

typedef struct parser {
	sp_json_reader reader;
	const char *counted; /* lines are counted up to here */
	const char *line_start;
	uint32_t line;
	sp_arena *arena;
	sp_error *err;
} parser;

/* Sets the place of a value that begins at the reader's position. */
static void set_place(parser *p, sp_config_field *field)
{
	for (; p->counted < p->reader.at; p->counted++)
		if (*p->counted == '\n') {
			p->line++;
			p->line_start = p->counted + 1;
		}
	field->line = p->line;
	field->column = (uint32_t)(p->reader.at - p->line_start) + 1;
}

static sp_status take_members(parser *p, const sp_config_field **first, int depth);

/* A string followed by a NUL, as those of the text format are. */
static sp_status take_string(parser *p, sp_bytes *out)
{
	char *copy;

	SP_TRY(sp_json_string(&p->reader, out, p->arena, p->err));
	copy = sp_arena_text(p->arena, *out);
	if (copy == NULL)
		return sp_no_memory(p->err, "a string");
	out->data = copy;
	return SP_OK;
}

static sp_status take_value(parser *p, sp_config_field *field, int depth)
{
	sp_json_kind kind = sp_json_peek(&p->reader);
	const char *start = p->reader.at;
	sp_json_number number;
	char *copy;

	set_place(p, field);
	switch (kind) {
	case SP_JSON_STRING:
		field->kind = SP_CONFIG_STRING;
		return take_string(p, &field->text);
	case SP_JSON_OBJECT:
		field->kind = SP_CONFIG_MESSAGE;
		SP_TRY(take_members(p, &field->first, depth + 1));
		break;
	case SP_JSON_NUMBER:
		field->kind = SP_CONFIG_NUMBER;
		SP_TRY(sp_json_number_read(&p->reader, &number, p->err));
		break;
	case SP_JSON_TRUE:
	case SP_JSON_FALSE:
		field->kind = SP_CONFIG_WORD;
		SP_TRY(sp_json_literal(&p->reader, p->err));
		break;
	default:
		return sp_config_fail(field, "expected a text, a number, true, false or an object",
				      p->err);
	}
	field->text = (sp_bytes){start, (size_t)(p->reader.at - start)};
	copy = sp_arena_text(p->arena, field->text);
	field->text.data = copy;
	return copy != NULL ? SP_OK : sp_no_memory(p->err, "a value");
}

static sp_status append(parser *p, const sp_config_field ***last, sp_bytes name, int depth)
{
	sp_config_field *field = sp_arena_zeros(p->arena, 1, sizeof(*field));

	if (field == NULL)
		return sp_no_memory(p->err, "a field");
	field->name = name;
	SP_TRY(take_value(p, field, depth));
	**last = field;
	*last = &field->next;
	return SP_OK;
}

static sp_status take_member(parser *p, const sp_config_field ***last, sp_bytes name, int depth)
{
	bool more = true;

	if (sp_json_peek(&p->reader) != SP_JSON_ARRAY)
		return append(p, last, name, depth);
	for (size_t i = 0; more; i++) {
		SP_TRY(sp_json_array_next(&p->reader, i, &more, p->err));
		if (more)
			SP_TRY(append(p, last, name, depth));
	}
	return SP_OK;
}

static sp_status take_members(parser *p, const sp_config_field **first, int depth)
{
	const sp_config_field **last = first;
	bool more = true;

	if (depth > MAX_DEPTH)
		return sp_json_fail(&p->reader, "objects are nested too deeply", p->err);
	for (size_t i = 0; more; i++) {
		sp_bytes name;

		SP_TRY(sp_json_object_next(&p->reader, i, &more, &name, p->arena, p->err));
		if (more)
			SP_TRY(take_member(p, &last, name, depth));
	}
	return SP_OK;
}

sp_status sp_config_json_parse(const sp_config_field **out, sp_bytes text, sp_arena *arena,
			       sp_error *err)
{
	parser p = {.counted = text.data,
		    .line_start = text.data,
		    .line = 1,
		    .arena = arena,
		    .err = err};
	sp_status status;

	*out = NULL;
	sp_json_reader_init(&p.reader, text);
	if (sp_json_peek(&p.reader) != SP_JSON_OBJECT)
		status = sp_json_fail(&p.reader, "expected an object", err);
	else
		status = take_members(&p, out, 0);
	if (status == SP_OK &&
	    (sp_json_peek(&p.reader) != SP_JSON_NONE || p.reader.at != p.reader.end))
		status = sp_json_fail(&p.reader, "text follows the object", err);
	sp_json_reader_fini(&p.reader);
	if (status != SP_CORRUPT)
		return status;
	if (err != NULL)
		err->status = SP_INVALID;
	return SP_INVALID;
}
