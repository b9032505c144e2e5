#ifndef SP_PROCESSOR_CONFIG_CONFIG_INTERNAL_H
#define SP_PROCESSOR_CONFIG_CONFIG_INTERNAL_H

#include "processor/config/config.h"

struct sp_config_document;

/*
 * What the keys about embeddings come to, as config->embeddings.  SP_INVALID
 * when sharding is asked for and does not say which slice of what.
 */
SP_MUST_CHECK sp_status sp_config__settle_embeddings(sp_config *config, sp_error *err);

/* Fills in config->remarks. */
SP_MUST_CHECK sp_status sp_config__remark(sp_config *config,
					  const struct sp_config_document *document, sp_error *err);

/* A key of the document that is not known and was most likely meant to be `key`; NULL: none. */
const char *sp_config__misspelt(const struct sp_config_document *document, const char *key);

#endif
