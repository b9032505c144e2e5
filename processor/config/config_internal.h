#ifndef SP_PROCESSOR_CONFIG_CONFIG_INTERNAL_H
#define SP_PROCESSOR_CONFIG_CONFIG_INTERNAL_H

#include "processor/config/config.h"

struct sp_config_document;

/*
 * Derives config->embeddings from the keys about embeddings.  SP_INVALID when sharding is requested
 * without saying which slice of which variables.
 */
SP_MUST_CHECK sp_status sp_config__settle_embeddings(sp_config *config, sp_error *err);

/* Fills in config->remarks. */
SP_MUST_CHECK sp_status sp_config__remark(sp_config *config,
					  const struct sp_config_document *document, sp_error *err);

/* An unknown key of the document that is probably a misspelling of `key`; NULL: none. */
const char *sp_config__misspelt(const struct sp_config_document *document, const char *key);

#endif
