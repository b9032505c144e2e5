#include <inttypes.h>

#include "api/host/model/config_text.h"
#include "base/utf8.h"
#include "base/wire.h"

/* A member of a message; the last one has no number. */
typedef struct member {
	uint32_t number;
	const char *name;
	sp_config_kind kind;
	const struct member *members; /* of a message; NULL: none that counts */
} member;

/* Of proto/serving.proto. */
static const member latest[] = {{1, "num_versions", SP_CONFIG_NUMBER, NULL}, {0}};
static const member specific[] = {{1, "versions", SP_CONFIG_NUMBER, NULL}, {0}};
static const member policy[] = {{100, "latest", SP_CONFIG_MESSAGE, latest},
				{101, "all", SP_CONFIG_MESSAGE, NULL},
				{102, "specific", SP_CONFIG_MESSAGE, specific},
				{0}};
static const member label[] = {
	{1, "key", SP_CONFIG_STRING, NULL}, {2, "value", SP_CONFIG_NUMBER, NULL}, {0}};
static const member model[] = {{1, "name", SP_CONFIG_STRING, NULL},
			       {2, "base_path", SP_CONFIG_STRING, NULL},
			       {4, "model_platform", SP_CONFIG_STRING, NULL},
			       {7, "model_version_policy", SP_CONFIG_MESSAGE, policy},
			       {8, "version_labels", SP_CONFIG_MESSAGE, label},
			       {0}};
static const member list[] = {{1, "config", SP_CONFIG_MESSAGE, model}, {0}};
static const member server[] = {{1, "model_config_list", SP_CONFIG_MESSAGE, list},
				{2, "custom_model_config", SP_CONFIG_MESSAGE, NULL},
				{0}};

typedef struct target {
	const sp_config_field **last; /* where the next field goes */
	sp_arena *arena;
	sp_error *err;
} target;

static sp_status malformed(sp_error *err)
{
	return sp_error_set(err, SP_INVALID, "the message cannot be parsed");
}

static sp_status append(target *to, const member *m, sp_config_field **out)
{
	sp_config_field *field = sp_arena_zeros(to->arena, 1, sizeof(*field));

	if (field == NULL)
		return sp_no_memory(to->err, "the configuration");
	field->name = sp_bytes_of(m->name);
	field->kind = m->kind;
	*to->last = field;
	to->last = &field->next;
	*out = field;
	return SP_OK;
}

static sp_status take_number(target *to, const member *m, uint64_t value)
{
	sp_config_field *field;
	const char *text = sp_arena_printf(to->arena, "%" PRId64, (int64_t)value);

	if (text == NULL)
		return sp_no_memory(to->err, "the configuration");
	SP_TRY(append(to, m, &field));
	field->text = sp_bytes_of(text);
	return SP_OK;
}

static sp_status take_packed(target *to, const member *m, sp_bytes run)
{
	sp_wire wire = sp_wire_of(run);
	uint64_t value;

	while (wire.at != wire.end) {
		if (!sp_wire_read_varint(&wire, &value))
			return malformed(to->err);
		SP_TRY(take_number(to, m, value));
	}
	return SP_OK;
}

static sp_status take_text(target *to, const member *m, sp_bytes text)
{
	sp_config_field *field;

	if (!sp_utf8_valid(text))
		return malformed(to->err);
	SP_TRY(append(to, m, &field));
	field->text = (sp_bytes){sp_arena_text(to->arena, text), text.size};
	return field->text.data != NULL ? SP_OK : sp_no_memory(to->err, "the configuration");
}

static sp_status take_message(target *to, const member *members, sp_bytes message);

/* A field whose wire type is not that of the member is an unknown one. */
static sp_status take_field(target *to, const member *m, const sp_wire_field *from)
{
	sp_config_field *field;
	target inner = *to;

	if (m->kind == SP_CONFIG_NUMBER && from->type == SP_WIRE_VARINT)
		return take_number(to, m, from->value);
	if (from->type != SP_WIRE_BYTES)
		return SP_OK;
	if (m->kind == SP_CONFIG_NUMBER)
		return take_packed(to, m, from->bytes);
	if (m->kind == SP_CONFIG_STRING)
		return take_text(to, m, from->bytes);
	SP_TRY(append(to, m, &field));
	inner.last = &field->first;
	return take_message(&inner, m->members, from->bytes);
}

/* The recursion is as deep as the tables above. */
static sp_status take_message(target *to, const member *members, sp_bytes message)
{
	sp_wire wire = sp_wire_of(message);
	sp_wire_field field;

	while (sp_wire_next(&wire, &field))
		for (const member *m = members; m != NULL && m->number != 0; m++)
			if (m->number == field.number)
				SP_TRY(take_field(to, m, &field));
	return !wire.malformed ? SP_OK : malformed(to->err);
}

sp_status sp_config_wire_parse(const sp_config_field **out, sp_bytes message, sp_arena *arena,
			       sp_error *err)
{
	target to = {out, arena, err};

	*out = NULL;
	return take_message(&to, server, message);
}
