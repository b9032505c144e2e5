#ifndef SP_PROCESSOR_VERSION_VERSION_INTERNAL_H
#define SP_PROCESSOR_VERSION_VERSION_INTERNAL_H

#include "base/status.h"
#include "processor/config/config.h"
#include "storage/ssd/ssd_tier.h"

/*
 * Opens the SSD store for the large tables of the version with the full checkpoint
 * checkpoint_prefix; NULL: the SavedModel's own weights.  *out is NULL when all tables stay in
 * memory.
 */
SP_MUST_CHECK sp_status sp_version__open_ssd(sp_ssd_store **out, const sp_config *config,
					     const char *checkpoint_prefix, sp_error *err);

#endif
