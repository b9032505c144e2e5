#include "api/host/messages/config_message.h"

#include <string.h>

#include "base/utf8.h"
#include "base/wire.h"

enum {
	RELOAD_CONFIG = 1,
	SERVER_LIST = 1,
	SERVER_CUSTOM = 2,
	LIST_CONFIG = 1,

	MODEL_NAME = 1,
	MODEL_BASE_PATH = 2,
	MODEL_TYPE = 3,
	MODEL_PLATFORM = 4,
	MODEL_POLICY = 7,
	MODEL_LABELS = 8,
	TYPE_TENSORFLOW = 1,

	POLICY_LATEST = 100,
	POLICY_ALL = 101,
	POLICY_SPECIFIC = 102,
	LATEST_NUMBER = 1,
	SPECIFIC_VERSIONS = 1,

	KEY = 1,
	VALUE = 2,
};

/* More than anyone needs; lists grow by copying. */
enum { MAX_MODELS = 10000, MAX_LIST = 1000 };

static sp_status malformed(sp_error *err)
{
	return sp_error_set(err, SP_INVALID, "the message cannot be parsed");
}

/* Appends a number to an array of the arena. */
static sp_status add_number(const int64_t **list, size_t *count, int64_t number, sp_arena *arena,
			    sp_error *err)
{
	int64_t *grown = sp_arena_array(arena, *count + 1, sizeof(*grown));

	if (*count == MAX_LIST)
		return sp_error_set(err, SP_INVALID, "more than %d versions", MAX_LIST);
	if (grown == NULL)
		return sp_no_memory(err, "the configuration");
	if (*count != 0)
		memcpy(grown, *list, *count * sizeof(*grown));
	grown[(*count)++] = number;
	*list = grown;
	return SP_OK;
}

static sp_status read_specific(sp_version_policy *policy, sp_bytes message, sp_arena *arena,
			       sp_error *err)
{
	sp_wire wire = sp_wire_of(message), packed;
	sp_wire_result result;
	sp_wire_field field;
	uint64_t number;

	while ((result = sp_wire_next(&wire, &field)) == SP_WIRE_FIELD) {
		if (field.number != SPECIFIC_VERSIONS)
			continue;
		if (field.type == SP_WIRE_VARINT)
			SP_TRY(add_number(&policy->specific, &policy->specific_count,
					  (int64_t)field.value, arena, err));
		if (field.type != SP_WIRE_BYTES)
			continue;
		packed = sp_wire_of(field.bytes);
		while (packed.at != packed.end) {
			if (!sp_wire_read_varint(&packed, &number))
				return malformed(err);
			SP_TRY(add_number(&policy->specific, &policy->specific_count,
					  (int64_t)number, arena, err));
		}
	}
	return result == SP_WIRE_END ? SP_OK : malformed(err);
}

static sp_status read_latest(sp_version_policy *policy, sp_bytes message, sp_error *err)
{
	sp_wire wire = sp_wire_of(message);
	sp_wire_result result;
	sp_wire_field field;

	policy->latest = 1;
	while ((result = sp_wire_next(&wire, &field)) == SP_WIRE_FIELD)
		if (field.number == LATEST_NUMBER && field.type == SP_WIRE_VARINT &&
		    field.value != 0)
			policy->latest = (int64_t)(uint32_t)field.value;
	return result == SP_WIRE_END ? SP_OK : malformed(err);
}

static sp_status read_policy(sp_version_policy *policy, sp_bytes message, sp_arena *arena,
			     sp_error *err)
{
	sp_wire wire = sp_wire_of(message);
	sp_wire_result result;
	sp_wire_field field;

	while ((result = sp_wire_next(&wire, &field)) == SP_WIRE_FIELD) {
		if (field.type != SP_WIRE_BYTES)
			continue;
		if (field.number == POLICY_LATEST) {
			policy->kind = SP_POLICY_LATEST;
			SP_TRY(read_latest(policy, field.bytes, err));
		} else if (field.number == POLICY_ALL) {
			policy->kind = SP_POLICY_ALL;
		} else if (field.number == POLICY_SPECIFIC) {
			policy->kind = SP_POLICY_SPECIFIC;
			SP_TRY(read_specific(policy, field.bytes, arena, err));
		}
	}
	return result == SP_WIRE_END ? SP_OK : malformed(err);
}

static sp_status read_text(const char **out, sp_bytes text, sp_arena *arena, sp_error *err)
{
	if (!sp_utf8_valid(text) || memchr(text.data, '\0', text.size) != NULL)
		return malformed(err);
	*out = sp_arena_text(arena, text);
	return *out != NULL ? SP_OK : sp_no_memory(err, "the configuration");
}

static sp_status add_label(sp_model_config *model, sp_bytes message, sp_arena *arena, sp_error *err)
{
	size_t count = model->label_count;
	sp_configured_label *labels = sp_arena_array(arena, count + 1, sizeof(*labels));
	sp_wire wire = sp_wire_of(message);
	sp_wire_result result;
	sp_wire_field field;

	if (count == MAX_LIST)
		return sp_error_set(err, SP_INVALID, "more than %d labels", MAX_LIST);
	if (labels == NULL)
		return sp_no_memory(err, "the configuration");
	if (count != 0)
		memcpy(labels, model->labels, count * sizeof(*labels));
	labels[count] = (sp_configured_label){.label = ""};
	while ((result = sp_wire_next(&wire, &field)) == SP_WIRE_FIELD) {
		if (field.number == KEY && field.type == SP_WIRE_BYTES)
			SP_TRY(read_text(&labels[count].label, field.bytes, arena, err));
		else if (field.number == VALUE && field.type == SP_WIRE_VARINT)
			labels[count].version = (int64_t)field.value;
	}
	model->labels = labels;
	model->label_count = count + 1;
	return result == SP_WIRE_END ? SP_OK : malformed(err);
}

static sp_status read_member(sp_model_config *model, const sp_wire_field *field, sp_arena *arena,
			     sp_error *err)
{
	if (field->number == MODEL_TYPE && field->type == SP_WIRE_VARINT) {
		if (field->value == TYPE_TENSORFLOW)
			model->platform = "tensorflow";
		return SP_OK;
	}
	if (field->type != SP_WIRE_BYTES)
		return SP_OK;
	switch (field->number) {
	case MODEL_NAME:
		return read_text(&model->name, field->bytes, arena, err);
	case MODEL_BASE_PATH:
		return read_text(&model->base_path, field->bytes, arena, err);
	case MODEL_PLATFORM:
		return read_text(&model->platform, field->bytes, arena, err);
	case MODEL_POLICY:
		return read_policy(&model->policy, field->bytes, arena, err);
	case MODEL_LABELS:
		return add_label(model, field->bytes, arena, err);
	default:
		return SP_OK;
	}
}

static sp_status read_model(sp_model_config *model, sp_bytes message, sp_arena *arena,
			    sp_error *err)
{
	sp_wire wire = sp_wire_of(message);
	sp_wire_result result;
	sp_wire_field field;

	model->name = model->platform = "";
	model->policy.latest = 1;
	while ((result = sp_wire_next(&wire, &field)) == SP_WIRE_FIELD)
		SP_TRY(read_member(model, &field, arena, err));
	return result == SP_WIRE_END ? SP_OK : malformed(err);
}

/* The only field `number` of a message; empty if there is none, *found then false. */
static sp_status read_only(sp_bytes *out, bool *found, sp_bytes message, uint32_t number,
			   sp_error *err)
{
	sp_wire wire = sp_wire_of(message);
	sp_wire_result result;
	sp_wire_field field;

	*out = (sp_bytes){"", 0};
	*found = false;
	while ((result = sp_wire_next(&wire, &field)) == SP_WIRE_FIELD) {
		if (field.number != number || field.type != SP_WIRE_BYTES)
			continue;
		if (*found)
			return sp_error_set(err, SP_INVALID, "the configuration is in two parts");
		*out = field.bytes;
		*found = true;
	}
	return result == SP_WIRE_END ? SP_OK : malformed(err);
}

static sp_status find_list(sp_bytes *list, sp_bytes request, sp_error *err)
{
	sp_bytes server, custom;
	bool found;

	SP_TRY(read_only(&server, &found, request, RELOAD_CONFIG, err));
	SP_TRY(read_only(&custom, &found, server, SERVER_CUSTOM, err));
	if (found)
		return sp_error_set(err, SP_UNSUPPORTED, "custom_model_config is not supported");
	SP_TRY(read_only(list, &found, server, SERVER_LIST, err));
	return found ? SP_OK
		     : sp_error_set(err, SP_INVALID,
				    "ServerConfig type not supported by HandleReloadConfigRequest."
				    " Only ModelConfigList is currently supported");
}

sp_status sp_config_message_decode(sp_model_configs **out, sp_bytes request, sp_error *err)
{
	sp_status status = SP_OK;
	sp_model_configs *configs;
	sp_wire_field field;
	size_t count = 0;
	sp_bytes list;
	sp_wire wire;

	SP_TRY(find_list(&list, request, err));
	wire = sp_wire_of(list);
	while (sp_wire_next(&wire, &field) == SP_WIRE_FIELD)
		count += field.number == LIST_CONFIG && field.type == SP_WIRE_BYTES;
	if (count > MAX_MODELS)
		return sp_error_set(err, SP_INVALID, "more than %d models", MAX_MODELS);
	configs = sp_model_configs_create(count);
	if (configs == NULL)
		return sp_no_memory(err, "the configuration");
	wire = sp_wire_of(list);
	count = 0;
	while (status == SP_OK && count < configs->count &&
	       sp_wire_next(&wire, &field) == SP_WIRE_FIELD)
		if (field.number == LIST_CONFIG && field.type == SP_WIRE_BYTES)
			status = read_model(&configs->items[count++], field.bytes, configs->arena,
					    err);
	if (status == SP_OK)
		status = sp_model_configs_check(configs, err);
	if (status != SP_OK) {
		sp_model_configs_destroy(configs);
		return status;
	}
	*out = configs;
	return SP_OK;
}
