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
	cJSON *root;    /* all of it */
	cJSON *service; /* in it, what "model_config" was found in; NULL: there is none */
	cJSON *keys;    /* in it, the object with the processor's keys */
} sp_config_document;

/* SP_INVALID, in words that say where the keys belong, when there is no such object. */
SP_MUST_CHECK sp_status sp_config__read(sp_config_document *out, const char *json, sp_arena *arena,
					sp_error *err);
void sp_config__drop(sp_config_document *document);

/* The last item of that name that is not null, but NULL if the very last is. */
const cJSON *sp_config__find(const cJSON *object, const char *name);

#endif
