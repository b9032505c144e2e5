#ifndef SP_TESTS_SUPPORT_CONFIG_TEXTS_H
#define SP_TESTS_SUPPORT_CONFIG_TEXTS_H

#include "processor/config/config.h"

/* What every configuration must have, and a configuration with that and one more member. */
#define REQUIRED                                                               \
	"\"savedmodel_dir\": \"/m\", \"signature_name\": \"serving_default\"," \
	"\"model_store_type\": \"local\", \"feature_store_type\": \"memory\"," \
	"\"serialize_protocol\": \"protobuf\""
#define WITH(member) "{" REQUIRED ", " member "}"

/* It must be right. */
sp_config sp_test_config_parse(const char *json);

/* It must be refused. */
void sp_test_config_refuse(const char *json, sp_status status, const char *text);

#endif
