#ifndef SP_PROCESSOR_CONFIG_CONFIG_JSON_H
#define SP_PROCESSOR_CONFIG_CONFIG_JSON_H

#include <cjson/cJSON.h>

#include "base/arena.h"
#include "base/status.h"

/*
 * The text of a configuration: one JSON object with the processor's keys, or the JSON of
 * an EAS service, which has them in its "model_config", as an object or as a
 * string that holds one; of several "models" it may have one.
 */
typedef struct sp_config_document {
	cJSON *root;    /* the whole document */
	cJSON *service; /* within root, the object that holds "model_config"; NULL: none */
	cJSON *keys;    /* within root, the object with the processor's keys */
} sp_config_document;

/* SP_INVALID when there is no such object; the text says where the keys belong. */
SP_MUST_CHECK sp_status sp_config__read(sp_config_document *out, const char *json, sp_arena *arena,
					sp_error *err);
void sp_config__drop(sp_config_document *document);

/* The last member of that name; NULL when there is none, or when it is null. */
const cJSON *sp_config__find(const cJSON *object, const char *name);

#endif
