#ifndef SP_PROCESSOR_CONFIG_UNUSED_RULES_H
#define SP_PROCESSOR_CONFIG_UNUSED_RULES_H

#include "model_loader/embedding/load_policy.h"
#include "model_loader/version/weights.h"

/*
 * Logs a warning for each pattern of the configuration's rules that matches no table, with the
 * names of some tables.
 */
void sp_unused_rules_log(const sp_load_policy *policy, const sp_weights *weights);

#endif
