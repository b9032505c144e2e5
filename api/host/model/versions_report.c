#include "api/host/model/versions_report.h"

#include <stddef.h>
#include <string.h>

#include "api/host/json/json_reader.h"
#include "api/serving_processor.h"
#include "base/arena_list.h"

typedef struct source {
	sp_json_reader reader;
	sp_arena *arena;
} source;

typedef sp_status read_value(void *out, source *from, sp_error *err);

/* A member of an object, and the offset of the field that receives its value. */
typedef struct member {
	const char *key;
	size_t offset;
	read_value *read;
} member;

static sp_status expect(source *from, sp_json_kind kind, sp_error *err)
{
	if (sp_json_peek(&from->reader) != kind)
		return sp_json_fail(&from->reader, sp_json_kind_name(kind), err);
	return SP_OK;
}

static sp_status read_number(void *out, source *from, sp_error *err)
{
	sp_json_number number;

	SP_TRY(expect(from, SP_JSON_NUMBER, err));
	SP_TRY(sp_json_number_read(&from->reader, &number, err));
	return sp_json_number_to_i64(&number, out)
		       ? SP_OK
		       : sp_json_fail(&from->reader, "not a whole number", err);
}

static sp_status read_flag(void *out, source *from, sp_error *err)
{
	sp_json_kind kind = sp_json_peek(&from->reader);

	if (kind != SP_JSON_TRUE && kind != SP_JSON_FALSE)
		return sp_json_fail(&from->reader, "neither true nor false", err);
	*(bool *)out = kind == SP_JSON_TRUE;
	return sp_json_skip(&from->reader, err);
}

static sp_status read_text(void *out, source *from, sp_error *err)
{
	SP_TRY(expect(from, SP_JSON_STRING, err));
	return sp_json_string(&from->reader, out, from->arena, err);
}

/* Reads an object; `members` ends with one without a key, others are skipped. */
static sp_status read_members(void *out, source *from, const member *members, sp_error *err)
{
	SP_TRY(expect(from, SP_JSON_OBJECT, err));
	for (size_t i = 0;; i++) {
		const member *m = members;
		sp_bytes key;
		bool more;

		SP_TRY(sp_json_object_next(&from->reader, i, &more, &key, from->arena, err));
		if (!more)
			return SP_OK;
		while (m->key != NULL && !sp_bytes_equal_text(key, m->key))
			m++;
		if (m->key != NULL)
			SP_TRY(m->read((char *)out + m->offset, from, err));
		else
			SP_TRY(sp_json_skip(&from->reader, err));
	}
}

static sp_status read_list(sp_reported_list *list, source *from, size_t size, const member *members,
			   sp_error *err)
{
	SP_TRY(expect(from, SP_JSON_ARRAY, err));
	for (size_t i = 0;; i++) {
		void *element;
		bool more;

		SP_TRY(sp_json_array_next(&from->reader, i, &more, err));
		if (!more)
			return SP_OK;
		element = sp_arena_append(from->arena, &list->items, &list->count, size);
		if (element == NULL)
			return sp_no_memory(err, "the versions");
		SP_TRY(read_members(element, from, members, err));
	}
}

/* ------------------------------------------------------------------ the report */

static sp_status read_versions(void *out, source *from, sp_error *err)
{
#define AT(field) offsetof(sp_reported_version, field)
	static const member members[] = {{"full_step", AT(full_step), read_number},
					 {"delta_step", AT(delta_step), read_number},
					 {"for_ms", AT(for_ms), read_number},
					 {"known_ms", AT(known_ms), read_number},
					 {"state", AT(state), read_text},
					 {"why", AT(why), read_text},
					 {"newer", AT(newer), read_flag},
					 {"reason", AT(reason), read_text},
					 {NULL, 0, NULL}};
#undef AT
	return read_list(out, from, sizeof(sp_reported_version), members, err);
}

static sp_status read_steps(void *out, source *from, sp_error *err)
{
#define AT(field) offsetof(sp_reported_steps, field)
	static const member members[] = {{"full_step", AT(full_step), read_number},
					 {"delta_step", AT(delta_step), read_number},
					 {"lag_ms", AT(lag_ms), read_number},
					 {NULL, 0, NULL}};
#undef AT
	((sp_reported_steps *)out)->is_present = true;
	return read_members(out, from, members, err);
}

static sp_status read_failure(void *out, source *from, sp_error *err)
{
#define AT(field) offsetof(sp_reported_failure, field)
	static const member members[] = {
		{"for_ms", AT(for_ms), read_number}, {"why", AT(why), read_text}, {NULL, 0, NULL}};
#undef AT
	return read_members(out, from, members, err);
}

static sp_status read_tables(void *out, source *from, sp_error *err)
{
#define AT(field) offsetof(sp_reported_table, field)
	static const member members[] = {{"table", AT(name), read_text},
					 {"rows", AT(rows), read_number},
					 {"overlay_rows", AT(overlay_rows), read_number},
					 {"memory", AT(memory), read_number},
					 {"keys", AT(keys), read_number},
					 {"absent", AT(absent), read_number},
					 {"tier", AT(tier), read_text},
					 {"in_memory", AT(in_memory), read_number},
					 {"cached", AT(cached), read_number},
					 {"missed", AT(missed), read_number},
					 {"errors", AT(errors), read_number},
					 {"bytes_read", AT(bytes_read), read_number},
					 {"defaulted", AT(defaulted), read_number},
					 {"servers", AT(servers), read_number},
					 {"servers_up", AT(servers_up), read_number},
					 {"round_trips", AT(round_trips), read_number},
					 {"round_trip_us", AT(round_trip_us), read_number},
					 {"disks", AT(disks), read_number},
					 {"disks_up", AT(disks_up), read_number},
					 {"disk_hits", AT(disk_hits), read_number},
					 {"disk_errors", AT(disk_errors), read_number},
					 {"disk_dropped", AT(disk_dropped), read_number},
					 {NULL, 0, NULL}};
#undef AT
	return read_list(out, from, sizeof(sp_reported_table), members, err);
}

/* {"name":count, ...} */
static sp_status read_counts(void *out, source *from, sp_error *err)
{
	sp_reported_list *list = out;

	SP_TRY(expect(from, SP_JSON_OBJECT, err));
	for (size_t i = 0;; i++) {
		sp_reported_count *element;
		sp_bytes key;
		bool more;

		SP_TRY(sp_json_object_next(&from->reader, i, &more, &key, from->arena, err));
		if (!more)
			return SP_OK;
		element = sp_arena_append(from->arena, &list->items, &list->count,
					  sizeof(*element));
		if (element == NULL)
			return sp_no_memory(err, "the versions");
		element->name = key;
		SP_TRY(read_number(&element->count, from, err));
	}
}

static sp_status read_stream(void *out, source *from, sp_error *err)
{
#define AT(field) offsetof(sp_reported_stream, field)
	static const member members[] = {
		{"connected", AT(connected), read_flag},
		{"paused", AT(paused), read_flag},
		{"errors", AT(errors), read_number},
		{"lag_messages", AT(lag_messages), read_number},
		{"lag_ms", AT(lag_ms), read_number},
		{"messages", AT(messages), read_number},
		{"rows", AT(rows), read_number},
		{"states", AT(states), read_number},
		{"incomplete_batches", AT(incomplete_batches), read_number},
		{"keys", AT(keys), read_number},
		{"memory", AT(memory), read_number},
		{"skipped", AT(skipped), read_counts},
		{NULL, 0, NULL}};
#undef AT
	((sp_reported_stream *)out)->is_present = true;
	return read_members(out, from, members, err);
}

#define AT(field) offsetof(sp_versions_report, field)

static sp_status read_all_counts(void *out, source *from, sp_error *err)
{
	static const member members[] = {{"last_load_ms", AT(last_load_ms), read_number},
					 {"refusals", AT(refusals), read_counts},
					 {"moves", AT(moves), read_counts},
					 {"folds", AT(folds), read_number},
					 {"last_fold_ms", AT(last_fold_ms), read_number},
					 {"reloads", AT(reloads), read_number},
					 {"rollbacks", AT(rollbacks), read_number},
					 {"pins", AT(pins), read_number},
					 {NULL, 0, NULL}};

	return read_members(out, from, members, err);
}

sp_status sp_versions_report_read(sp_versions_report *out, const char *json, sp_arena *arena,
				  sp_error *err)
{
	static const member members[] = {{"versions", AT(versions), read_versions},
					 {"newest", AT(newest), read_steps},
					 {"pinned", AT(pinned), read_steps},
					 {"unreadable", AT(unreadable), read_failure},
					 {"counts", 0, read_all_counts},
					 {"memory", AT(memory), read_number},
					 {"owners", AT(owners), read_counts},
					 {"shards", AT(shards), read_counts},
					 {"shard_events", AT(shard_events), read_counts},
					 {"tables", AT(tables), read_tables},
					 {"row_stream", AT(row_stream), read_stream},
					 {NULL, 0, NULL}};
	source from = {.arena = arena};
	sp_status status;

	memset(out, 0, sizeof(*out));
	sp_json_reader_init(&from.reader, sp_bytes_of(json));
	status = read_members(out, &from, members, err);
	sp_json_reader_fini(&from.reader);
	return status;
}

sp_status sp_versions_report_ask(sp_versions_report *out, void *processor, sp_arena *arena,
				 sp_error *err)
{
	char *json = serving_processor_versions(processor);
	const char *copy = json != NULL ? sp_arena_text(arena, sp_bytes_of(json)) : NULL;

	serving_processor_free(json);
	if (copy == NULL)
		return sp_no_memory(err, "the versions");
	return sp_versions_report_read(out, copy, arena, err);
}

const sp_reported_version *sp_versions_report_live(const sp_versions_report *report)
{
	const sp_reported_version *versions = report->versions.items;

	for (size_t i = 0; i < report->versions.count; i++)
		if (sp_bytes_equal_text(versions[i].state, "live"))
			return &versions[i];
	return NULL;
}
