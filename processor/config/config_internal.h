#ifndef SP_PROCESSOR_CONFIG_CONFIG_INTERNAL_H
#define SP_PROCESSOR_CONFIG_CONFIG_INTERNAL_H

#include <cjson/cJSON.h>

#include "processor/config/config.h"

/*
 * The JSON of a configuration: an object with the processor's keys, or that of an EAS service,
 * whose "model_config" is such an object or a string that contains one.  The service may be the
 * only entry of "models".
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

/* The last member of that name; NULL if it is missing or null. */
const cJSON *sp_config__find(const cJSON *object, const char *name);

/*
 * Derives config->embeddings from the keys about embeddings.  SP_INVALID when sharding is requested
 * without saying which slice of which variables.
 */
SP_MUST_CHECK sp_status sp_config__settle_embeddings(sp_config *config, sp_error *err);

/*
 * Derives config->store, and checks that model_store_type and the paths agree: SP_INVALID; and that
 * nothing is to be written into an object store: SP_UNSUPPORTED.
 */
SP_MUST_CHECK sp_status sp_config__settle_store(sp_config *config, sp_error *err);

/* Fills in config->remarks. */
SP_MUST_CHECK sp_status sp_config__remark(sp_config *config, const sp_config_document *document,
					  sp_error *err);

/* An unknown key of the document that is probably a misspelling of `key`; NULL: none. */
const char *sp_config__misspelt(const sp_config_document *document, const char *key);

#endif
