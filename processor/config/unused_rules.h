#ifndef SP_PROCESSOR_CONFIG_UNUSED_RULES_H
#define SP_PROCESSOR_CONFIG_UNUSED_RULES_H

#include "model_loader/embedding/load_policy.h"
#include "model_loader/version/weights.h"

/*
 * A warning for each pattern of the configuration's rules that matches none of
 * the tables, with names of some that there are.
 */
void sp_unused_rules_log(const sp_load_policy *policy, const sp_weights *weights);

#endif
