#include "api/host/model/version_status.h"

#include <string.h>

/* -------------------------------------------------------------------- words */

static const struct {
	sp_version_state state;
	const char *name;
	int weight; /* of several entries with the same number the heaviest is reported */
} states[] = {
	{SP_VERSION_UNKNOWN, "UNKNOWN", 0}, {SP_VERSION_START, "START", 1},
	{SP_VERSION_END, "END", 2},         {SP_VERSION_UNLOADING, "UNLOADING", 3},
	{SP_VERSION_LOADING, "LOADING", 4}, {SP_VERSION_AVAILABLE, "AVAILABLE", 5},
};

static size_t index_of(sp_version_state state)
{
	for (size_t i = 0; i < sizeof(states) / sizeof(states[0]); i++)
		if (states[i].state == state)
			return i;
	return 0;
}

const char *sp_version_state_word(sp_version_state state)
{
	return states[index_of(state)].name;
}

const char *sp_version_state_in_index(sp_version_state state)
{
	switch (state) {
	case SP_VERSION_AVAILABLE:
		return "READY";
	case SP_VERSION_START:
	case SP_VERSION_LOADING:
		return "LOADING";
	case SP_VERSION_UNLOADING:
		return "UNLOADING";
	default:
		return "UNAVAILABLE";
	}
}

const char *sp_tensorflow_code_name(int code)
{
	static const char *const names[] = {
		"OK",
		"CANCELLED",
		"UNKNOWN",
		"INVALID_ARGUMENT",
		"DEADLINE_EXCEEDED",
		"NOT_FOUND",
		"ALREADY_EXISTS",
		"PERMISSION_DENIED",
		"RESOURCE_EXHAUSTED",
		"FAILED_PRECONDITION",
		"ABORTED",
		"OUT_OF_RANGE",
		"UNIMPLEMENTED",
		"INTERNAL",
		"UNAVAILABLE",
		"DATA_LOSS",
		"UNAUTHENTICATED",
	};

	return code >= 0 && (size_t)code < sizeof(names) / sizeof(names[0]) ? names[code]
									    : "UNKNOWN";
}

enum { CANCELLED = 1, UNKNOWN = 2 };

/* One table for the names in reports and for statuses. */
static const struct {
	sp_status status;
	int code;
} codes[] = {
	{SP_OK, 0},       {SP_NOT_FOUND, 5}, {SP_INVALID, 3},           {SP_UNSUPPORTED, 12},
	{SP_CORRUPT, 15}, {SP_IO, 14},       {SP_NO_MEMORY, 8},         {SP_BUSY, 14},
	{SP_DEADLINE, 4}, {SP_INTERNAL, 13}, {SP_CANCELLED, CANCELLED},
};

int sp_tensorflow_code(sp_status status)
{
	for (size_t i = 0; i < sizeof(codes) / sizeof(codes[0]); i++)
		if (codes[i].status == status)
			return codes[i].code;
	return UNKNOWN;
}

/* The code for the reason of a refusal. */
static int code_of(sp_bytes reason)
{
	if (sp_bytes_equal_text(reason, "rolled_back"))
		return CANCELLED;
	for (size_t i = 0; i < sizeof(codes) / sizeof(codes[0]); i++)
		if (sp_bytes_equal_text(reason, sp_status_name(codes[i].status)))
			return codes[i].code;
	return UNKNOWN;
}

/* --------------------------------------------------------------------- list */

void sp_version_statuses_put(sp_version_statuses *list, const sp_version_status *status)
{
	size_t at = 0, after;

	while (at < list->count && list->items[at].version > status->version)
		at++;
	if (at < list->count && list->items[at].version == status->version) {
		if (states[index_of(status->state)].weight >
		    states[index_of(list->items[at].state)].weight)
			list->items[at] = *status;
		return;
	}
	if (at == SP_MAX_STATUSES)
		return;
	after = list->count - at - (list->count == SP_MAX_STATUSES);
	memmove(&list->items[at + 1], &list->items[at], after * sizeof(list->items[0]));
	list->items[at] = *status;
	list->count = at + 1 + after;
}

static sp_version_status status_of(const sp_reported_version *v)
{
	static const struct {
		const char *reported;
		sp_version_state state;
	} names[] = {
		{"live", SP_VERSION_AVAILABLE},   {"warming", SP_VERSION_LOADING},
		{"loading", SP_VERSION_LOADING},  {"draining", SP_VERSION_UNLOADING},
		{"retired", SP_VERSION_END},      {"refused", SP_VERSION_END},
		{"discovered", SP_VERSION_START},
	};
	sp_version_status s = {.version = v->full_step};

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (sp_bytes_equal_text(v->state, names[i].reported))
			s.state = names[i].state;
	if (sp_bytes_equal_text(v->state, "refused")) {
		s.code = code_of(v->reason);
		s.message = v->why;
	}
	return s;
}

void sp_version_statuses_put_report(sp_version_statuses *list, const sp_versions_report *report)
{
	const sp_reported_version *versions = report->versions.items;

	for (size_t i = 0; i < report->versions.count; i++) {
		sp_version_status status = status_of(&versions[i]);

		if (status.version >= 0)
			sp_version_statuses_put(list, &status);
	}
}
